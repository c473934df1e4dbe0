"""Where the letters of a vector environment come from, in every autoreset mode."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, GroundingError, near
from safe_rl.wrappers.labels import KEY, Grounding, described, failed, no_source

Bools = NDArray[np.bool_]

WAY_OUT = (
    "use AutoresetMode.NEXT_STEP or DISABLED, or wrap each sub-environment in "
    "safe_rl.wrappers.GroundingInfo(env, grounding) and pass no grounding here"
)


class Letters(NamedTuple):
    """One letter per environment.

    ``named`` maps every proposition of the source to bool ``[num_envs]``; ``array`` is bool
    ``[num_envs, P]``, the columns being the propositions that the monitors read.
    """

    named: dict[str, Bools]
    array: Bools


class VectorLabelSource:
    """Reads the letters of all sub-environments.

    With ``grounding``, they are ``grounding(envs) -> {name: bool [num_envs]}``. Without one, the
    first of these that exists: ``propositions_array()`` beside ``proposition_names`` of the vector
    environment, its ``propositions()``, what the sub-environments write into
    ``infos["propositions"]``, and the sub-environments' own ``propositions()``.

    In ``SAME_STEP`` mode a finished episode's last state is gone once ``step`` returns, so its
    letter is read from ``infos["final_info"]["propositions"]``.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        grounding: Grounding | None,
        propositions: Sequence[str],
        mode: AutoresetMode,
    ) -> None:
        """Choose the source.

        Args:
            envs: The vector environment.
            grounding: A callable, or ``None``.
            propositions: The ``P`` propositions that the monitors read.
            mode: When ``envs`` resets a sub-environment that has ended.

        Raises:
            ConfigurationError: ``grounding`` cannot be called, or cannot see the last state of an
                episode because ``mode`` is ``SAME_STEP``.
        """
        self._envs = envs
        self._grounding = grounding
        self._propositions = tuple(propositions)
        self._read: Callable[[Mapping[str, Any]], Any]
        base: Any = envs.unwrapped
        self._names: tuple[str, ...] = ()  # of the columns, where a source gives one array
        self._columns: NDArray[np.intp] | None = None  # where each proposition stands among them
        if grounding is not None:
            if not callable(grounding):
                raise ConfigurationError(
                    "grounding must be a callable envs -> {name: bool [num_envs]}, "
                    f"but is {grounding!r}"
                )
            if mode is AutoresetMode.SAME_STEP:
                raise ConfigurationError(
                    f"the grounding {described(grounding)} is called after step(), when a vector "
                    "environment in AutoresetMode.SAME_STEP has already left the last state of a "
                    f"finished episode; {WAY_OUT}"
                )
            self.described = f"the grounding {described(grounding)}"
            self._read = lambda infos: grounding(envs)
        elif callable(getattr(base, "propositions_array", None)):
            self.described = f"{type(base).__name__}.propositions_array()"
            self._names = tuple(base.proposition_names)
            self._read = lambda infos: base.propositions_array()
        elif callable(getattr(base, KEY, None)):
            self.described = f"{type(base).__name__}.propositions()"
            self._read = lambda infos: base.propositions()
        elif mode is not AutoresetMode.SAME_STEP and _sub_envs_only_tell_when_asked(base):
            self.described = "the sub-environments' propositions()"
            self._read = lambda infos: _stacked(base.call(KEY))
        else:
            self.described = 'infos["propositions"]'
            self._read = self._from_infos

    def start(self, rows: Bools) -> None:
        """Tell a grounding that remembers the past that new episodes begin in ``rows``.

        Its method ``reset(rows)``, if it has one, is called before it is asked for their letters.
        """
        restart = getattr(self._grounding, "reset", None)
        if callable(restart):
            restart(rows)

    def read(self, infos: Mapping[str, Any], rows: Bools) -> Letters:
        """Return the letters of the present states; only ``rows`` (bool ``[num_envs]``) count.

        Raises:
            GroundingError: the source raised (the cause is chained), lacks a proposition, or gives
                it a value that is not Boolean.
        """
        try:
            found = self._read(infos)
        except GroundingError:
            raise
        except Exception as error:
            raise failed(self.described, error) from error
        return self._letters(found, self.described, rows)

    def read_final(self, infos: Mapping[str, Any], rows: Bools) -> Letters:
        """Return the letters of the last states of the episodes that ended in ``rows``.

        Raises:
            GroundingError: ``infos["final_info"]`` does not hold them.
        """
        final = infos.get("final_info")
        found = final.get(KEY) if isinstance(final, Mapping) else None
        where = 'infos["final_info"]["propositions"]'
        if found is None:
            raise GroundingError(
                f"environments {np.flatnonzero(rows)[:8].tolist()} ended and were reset within the "
                f"same step, and {where} does not hold the letter of their last state; {WAY_OUT}"
            )
        return self._letters(found, where, rows)

    def get_state(self) -> Any:
        """Return the grounding's own state, or ``None`` where it has none."""
        save = getattr(self._grounding, "get_state", None)
        return save() if callable(save) else None

    def set_state(self, state: Any) -> None:
        """Restore what :meth:`get_state` returned."""
        load = getattr(self._grounding, "set_state", None)
        if callable(load):
            load(state)

    def _from_infos(self, infos: Mapping[str, Any]) -> Any:
        if KEY not in infos:
            raise no_source(f"{type(self._envs.unwrapped).__name__} with its sub-environments")
        return infos[KEY]

    def _letters(self, found: Any, source: str, rows: Bools) -> Letters:
        if isinstance(found, np.ndarray):
            return self._from_columns(found, source)
        if not isinstance(found, Mapping):
            raise GroundingError(
                f"{source} must give a mapping name -> bool [num_envs], but gave {found!r}"
            )
        # Gymnasium writes beside each key of infos a mask of the rows in which it means something.
        masks = {name: found[f"_{name}"] for name in found if f"_{name}" in found}
        named = {n: v for n, v in found.items() if not (n.startswith("_") and n[1:] in masks)}
        self._require(named, source)
        checked = {name: self._boolean(name, value, source) for name, value in named.items()}
        array = np.empty((self._envs.num_envs, len(self._propositions)), np.bool_)
        for column, name in enumerate(self._propositions):
            if name in masks and not np.all(np.asarray(masks[name])[rows]):
                silent = np.flatnonzero(rows & ~np.asarray(masks[name]))[:8].tolist()
                raise GroundingError(f"{source} lacks {name!r} in environments {silent}")
            array[:, column] = checked[name]
        return Letters(checked, array)

    def _from_columns(self, found: NDArray[Any], source: str) -> Letters:
        shape = (self._envs.num_envs, len(self._names))
        if found.shape != shape or found.dtype != np.bool_:
            raise GroundingError(
                f"{source} must be bool of shape {shape} with one column for each of "
                f"proposition_names, but is {found.dtype} of shape {found.shape}"
            )
        if self._columns is None:
            self._require(self._names, source)
            self._columns = np.array([self._names.index(n) for n in self._propositions], np.intp)
        own = found.copy()  # a source may hand out its own buffer
        return Letters(dict(zip(self._names, own.T, strict=True)), own[:, self._columns])

    def _require(self, given: Collection[str], source: str) -> None:
        missing = [name for name in self._propositions if name not in given]
        if missing:
            listed = ", ".join(repr(n) + near(n, given) for n in missing)
            raise GroundingError(
                f"{source} lacks the propositions {listed}; "
                "every proposition of the specifications must be given at every step"
            )

    def _boolean(self, name: str, value: Any, source: str) -> Bools:
        given = np.asarray(value)
        if given.shape != (self._envs.num_envs,):
            raise GroundingError(
                f"{source} must give {name!r} the shape ({self._envs.num_envs},), one value for "
                f"each environment, but its shape is {given.shape}"
            )
        if given.dtype == np.bool_:
            return given
        if name not in self._propositions:
            return given  # nothing reads it; it is shown in infos as it came
        values = [0 if v is None else v for v in given.tolist()]  # None: a row that is masked out
        if not all(isinstance(v, bool | int | np.bool_) and v in (0, 1) for v in values):
            strange = next(v for v in values if not isinstance(v, bool | int) or v not in (0, 1))
            raise GroundingError(
                f"{source} must give {name!r} Boolean values, but one is {strange!r} "
                f"({type(strange).__name__})"
            )
        return np.array(values, np.bool_)


def _sub_envs_only_tell_when_asked(base: Any) -> bool:
    """Whether the sub-environments have ``propositions()`` and do not write it into their infos."""
    if not callable(getattr(base, "call", None)):
        return False
    writes = base.call("has_wrapper_attr", "writes_propositions")
    tells = base.call("has_wrapper_attr", KEY)
    return all(tells) and not all(writes)


def _stacked(letters: Sequence[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """Turn one mapping per environment into one array per proposition."""
    names = letters[0].keys()
    for i, letter in enumerate(letters):
        if letter.keys() != names:
            raise GroundingError(
                f"sub-environment {i} gives the propositions {sorted(letter)}, "
                f"but sub-environment 0 gives {sorted(names)}"
            )
    return {name: np.array([letter[name] for letter in letters]) for name in names}
