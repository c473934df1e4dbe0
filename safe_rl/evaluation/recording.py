"""Recording the episodes of an evaluation, so that they can be audited, and learned from.

What the policy saw is kept where it is a state, or a dictionary of a state and images.

Environments of robosuite and LIBERO tell their simulator's state, which is kept beside the letters:
with it an episode can be shown, grounded and stepped again. It is read after each step, so the
environments must run in this process and may not reset themselves within the step that ends an
episode (``same_step``); elsewhere episodes are recorded without states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from safe_rl.data import Episode, ShowsStates
from safe_rl.data.episode import Placements
from safe_rl.errors import ConfigurationError
from safe_rl.policies.observations import named_observation
from safe_rl.wrappers import VectorProductMDP

Bools = NDArray[np.bool_]


class Tape:
    """The episodes under way, frame by frame, one per environment."""

    def __init__(
        self,
        envs: VectorProductMDP,
        on_recorded: Callable[[Episode], object],
        seeds: Sequence[int | None],
    ) -> None:
        """Begin with nothing.

        Args:
            envs: the environments, for what stays the same: names, objects, instruction.
            on_recorded: called with each episode as it ends.
            seeds: of the first reset, one for each environment.
        """
        count = envs.num_envs
        base: Any = envs.unwrapped
        self._told = on_recorded
        self._seeds = list(seeds)
        self._names: tuple[str, ...] | None = None
        self._env_id = str(getattr(getattr(base, "spec", None), "id", "") or "")
        # Environments of the same task side by side know it; the vector around them does not.
        task = next((env.unwrapped for env in getattr(base, "envs", ())), base)
        self._instruction = str(getattr(task, "instruction", "") or "")
        found = getattr(task, "objects", None)
        every = {**(found if isinstance(found, Mapping) else {}), **(envs.specs.objects or {})}
        self._objects = {kind: tuple(names) for kind, names in every.items()}
        self._letters: list[list[Bools]] = [[] for _ in range(count)]
        self._engaged: list[list[bool | None]] = [[] for _ in range(count)]
        self._rewards: list[list[float]] = [[] for _ in range(count)]
        self._actions: list[list[NDArray[Any]]] = [[] for _ in range(count)]
        self._observations: list[list[dict[str, NDArray[Any]]]] = [[] for _ in range(count)]
        self._simulators = _simulators(envs)
        self._states: list[list[NDArray[np.float64]]] = [[] for _ in range(count)]
        self._placements: list[Placements] = [{} for _ in range(count)]

    def begin(
        self, rows: Bools, observations: Any, letters: Mapping[str, Bools], touched: Bools | None
    ) -> None:
        """Start the episodes of ``rows`` with what is seen first, and their first letters."""
        array, seen = self._array(letters), _named(observations)
        for row in np.flatnonzero(rows):
            self._letters[row] = [array[row]]
            self._engaged[row] = [None if touched is None else bool(touched[row])]
            self._observations[row] = [_row(seen, row)]
            self._rewards[row], self._actions[row] = [], []
            if self._simulators:
                self._states[row] = [self._simulators[row].recorded_state()]
                self._placements[row] = self._simulators[row].placements()

    def step(
        self,
        rows: Bools,
        observations: Any,
        last: Any,
        actions: Any,
        rewards: NDArray[Any],
        ended: Bools,
        letters: Mapping[str, Bools],
        final: Mapping[str, Bools] | None,
        touched: Bools | None,
    ) -> None:
        """Take in a step of ``rows``.

        ``final`` holds the last letters of those that ``ended``, and ``last`` what they saw last,
        where ``observations`` are already those of the next episode; else both are ``None``.
        """
        array = self._array(letters)
        if final is not None:
            array = np.where(ended[:, None], self._array(final), array)
        taken, seen = np.asarray(actions), _named(observations)
        for row in np.flatnonzero(rows):
            self._letters[row].append(array[row])
            self._engaged[row].append(None if touched is None else bool(touched[row]))
            self._rewards[row].append(float(rewards[row]))
            self._actions[row].append(taken[row])
            if last is not None and ended[row]:
                self._observations[row].append(_row(_named(last[row], alone=True), 0))
            else:
                self._observations[row].append(_row(seen, row))
            if self._simulators:
                self._states[row].append(self._simulators[row].recorded_state())

    def finish(self, row: int, terminated: bool, success: bool | None) -> None:
        """Hand over the episode of ``row``, which has ended."""
        engaged = self._engaged[row]
        known = all(flag is not None for flag in engaged)
        assert self._names is not None
        self._told(
            Episode(
                propositions=self._names,
                letters=np.array(self._letters[row], np.bool_).reshape(len(engaged), -1),
                rewards=np.array(self._rewards[row], np.float64),
                terminated=terminated,
                truncated=not terminated,
                success=success,
                engaged=np.array(engaged, np.bool_) if known else None,
                objects=self._objects,
                env_id=self._env_id,
                instruction=self._instruction,
                seed=self._seeds[row],
                actions=np.array(self._actions[row]),
                states=np.array(self._states[row]) if self._simulators else None,
                placements=self._placements[row],
                observations=_stacked(self._observations[row]),
            )
        )
        self._seeds[row] = None  # the next episode of this environment continues its stream

    def _array(self, letters: Mapping[str, Bools]) -> Bools:
        """Return ``[num_envs, P]``, with every proposition that the environment tells."""
        if self._names is None:
            boolean = (name for name, value in letters.items() if value.dtype == np.bool_)
            self._names = tuple(boolean)
        columns = [np.asarray(letters[name]).astype(np.bool_) for name in self._names]
        return np.stack(columns, axis=1)


def _named(observations: Any, *, alone: bool = False) -> dict[str, NDArray[Any]]:
    """Return what policies are given, ``[num_envs, ...]``; nothing where it is of another kind.

    ``alone`` says that the observation is of one environment, and has no leading axis.
    """
    if alone and isinstance(observations, Mapping):
        observations = {name: np.asarray(value)[None] for name, value in observations.items()}
    elif alone:
        observations = np.asarray(observations)[None]
    try:
        return named_observation(observations)
    except ConfigurationError:
        return {}


def _row(named: Mapping[str, NDArray[Any]], row: int) -> dict[str, NDArray[Any]]:
    return {name: values[row].copy() for name, values in named.items()}


def _stacked(seen: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    known = set.intersection(*(set(frame) for frame in seen))  # some tell nothing of the last
    return {name: np.stack([frame[name] for frame in seen]) for name in seen[0] if name in known}


def _simulators(envs: VectorProductMDP) -> tuple[ShowsStates, ...]:
    """Return the environments whose states can be read after every step, or nothing."""
    own = [env.unwrapped for env in getattr(envs.unwrapped, "envs", ())]
    tells = own and all(hasattr(env, "recorded_state") for env in own)
    if not tells or envs.autoreset_mode is AutoresetMode.SAME_STEP:
        return ()
    return tuple(own)
