"""Where the letters of one environment come from: a callable, the environment, or its info."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from safe_rl.errors import ConfigurationError, GroundingError

Grounding = Callable[[Any], Mapping[str, Any]]
"""``grounding(env) -> {name: bool}``, called after reset and after every step.

A grounding that remembers the past may have a method ``reset()``, which is called before the first
letter of each episode, and ``get_state()`` and ``set_state(state)``.
"""

KEY = "propositions"


class LabelSource:
    """Reads the letter of the environment's present state.

    The letter comes from ``grounding(env)``; without one, from the ``propositions()`` method of the
    environment or of a wrapper around it; and where there is none, from ``info["propositions"]``.
    """

    def __init__(self, env: gym.Env[Any, Any], grounding: Grounding | None) -> None:
        """Choose the source for ``env``.

        Raises:
            ConfigurationError: ``grounding`` cannot be called.
        """
        if grounding is not None and not callable(grounding):
            raise ConfigurationError(
                f"grounding must be a callable env -> {{name: bool}}, but is {grounding!r}"
            )
        self._env = env
        self._grounding = grounding
        self._own: Callable[[], Mapping[str, Any]] | None = None
        if grounding is None and env.has_wrapper_attr(KEY):
            own = env.get_wrapper_attr(KEY)
            self._own = own if callable(own) else None

    @property
    def described(self) -> str:
        """The source, in words for messages."""
        if self._grounding is not None:
            return f"the grounding {described(self._grounding)}"
        if self._own is not None:
            return f"{type(self._env.unwrapped).__name__}.propositions()"
        return 'info["propositions"]'

    def start(self) -> None:
        """Tell a grounding that remembers the past that a new episode begins."""
        restart = getattr(self._grounding, "reset", None)
        if callable(restart):
            restart()

    def read(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """Return the letter of the present state; ``info`` is the environment's own.

        Raises:
            GroundingError: the grounding raised (the cause is chained), returned no mapping, or
                there is no source of letters at all.
        """
        try:
            if self._grounding is not None:
                letter = self._grounding(self._env)
            elif self._own is not None:
                letter = self._own()
            else:
                letter = info[KEY]
        except KeyError as error:
            if self._grounding is None and self._own is None:
                raise no_source(type(self._env.unwrapped).__name__) from error
            raise failed(self.described, error) from error
        except Exception as error:
            raise failed(self.described, error) from error
        if not isinstance(letter, Mapping):
            raise GroundingError(
                f"{self.described} must return a mapping name -> bool, but returned {letter!r} "
                f"({type(letter).__name__})"
            )
        return {name: v if v.__class__ is bool else plain(v) for name, v in letter.items()}

    def get_state(self) -> Any:
        """Return the grounding's own state, or ``None`` where it has none."""
        save = getattr(self._grounding, "get_state", None)
        return save() if callable(save) else None

    def set_state(self, state: Any) -> None:
        """Restore what :meth:`get_state` returned."""
        load = getattr(self._grounding, "set_state", None)
        if callable(load):
            load(state)


def described(grounding: object) -> str:
    """Return a name for a grounding that a reader of a message can find."""
    name = getattr(grounding, "__qualname__", type(grounding).__qualname__)
    return f"{getattr(grounding, '__module__', '?')}.{name}"


def failed(source: str, error: BaseException) -> GroundingError:
    """Return the error for a source of letters that raised ``error``."""
    return GroundingError(
        f"{source} raised {type(error).__name__}: {error}; a letter that cannot be read is never "
        "taken as false, so the episode stops here: repair the grounding"
    )


def no_source(env_name: str) -> GroundingError:
    """Return the error for an environment that tells no propositions."""
    return GroundingError(
        f"{env_name} has neither a method propositions() nor info['propositions'], so the "
        "monitors have nothing to read; pass grounding=, a callable env -> {name: bool}"
    )


def plain(value: Any) -> Any:
    """Return NumPy's Booleans as Python's, and anything else as it is."""
    if type(value) is bool:
        return value
    if isinstance(value, np.bool_) or (isinstance(value, np.ndarray) and value.shape == ()):
        return value.item()
    return value
