"""Rolling a policy out in a monitored vector environment, one row of records per episode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.recording import Tape
from safe_rl.evaluation.records import EpisodeRecords, SpecificationColumns
from safe_rl.wrappers import VectorProductMDP

Bools = NDArray[np.bool_]

FRAMES = "grounding"
"""Key of ``info`` under which an environment may put facts of the step, for explanations."""


class Policy(Protocol):
    """What chooses the actions of an evaluation."""

    def act(self, observations: Any, starts: Bools) -> Any:
        """Return one action per environment.

        Args:
            observations: of every environment, as the vector environment gives them.
            starts: bool ``[num_envs]``, true where the observation is the first of an episode, so
                that a policy with a memory can forget.
        """


class RandomPolicy:
    """Uniform actions from the action space, seeded."""

    def __init__(self, envs: VectorProductMDP, seed: int) -> None:
        """Seed the action space; the random generators of the environments are not touched."""
        self._space = envs.action_space
        self._space.seed(seed)

    def act(self, observations: Any, starts: Bools) -> Any:
        """Return one sample per environment."""
        return self._space.sample()


class Recording(NamedTuple):
    """The letters of one episode.

    Attributes:
        episode: row of the episode in the records.
        letters: bool ``[T, P]``, the columns being ``specs.propositions``; the reset's first.
        truncated: the episode was cut off.
        frames: what the environment put into ``info["grounding"]`` at each step, the reset's
            first; empty where it records nothing.
    """

    episode: int
    letters: Bools
    truncated: bool
    frames: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Rollouts:
    """What :func:`roll_out` returns.

    Attributes:
        records: one row per episode, in the order in which they ended.
        recordings: the letters of some of them; violated ones first.
        rows: which environment each episode was in, int64 ``[E]``.
    """

    records: EpisodeRecords
    recordings: tuple[Recording, ...]
    rows: NDArray[np.int64]


def roll_out(
    envs: VectorProductMDP,
    policy: Policy,
    episodes: int,
    *,
    seed: int | Sequence[int] | None = 0,
    keep_letters: int = 0,
    on_episode: Callable[[int], None] | None = None,
    on_recorded: Callable[[Episode], object] | None = None,
) -> Rollouts:
    """Run complete episodes and record what the monitors counted.

    Every environment runs its own share of the episodes, so that short episodes are not
    over-represented (taking the first ones to end would favour them). All autoreset modes of
    Gymnasium give the same records.

    Args:
        envs: a monitored vector environment.
        policy: chooses the actions.
        episodes: how many episodes to record.
        seed: of the first reset; environment ``i`` takes ``seed + i``, or ``seed[i]``.
        keep_letters: how many episodes to keep letter by letter; the first ones with a violation,
            then the first ones without.
        on_episode: called with the number of episodes recorded so far, for a progress bar.
        on_recorded: called with each episode as it ends, with everything that an audit of it needs
            (see :mod:`safe_rl.data`), in the order of the records.

    Raises:
        ConfigurationError: ``episodes`` is less than 1.
    """
    if episodes < 1:
        raise ConfigurationError(f"episodes must be at least 1, got {episodes}")
    seeds = _seeds(seed, envs.num_envs)
    collector = _Collector(envs, episodes, keep_letters, on_recorded, seeds)
    observations, infos = envs.reset(seed=list(seeds))
    everywhere = np.ones(envs.num_envs, np.bool_)
    collector.begin(everywhere, observations, infos["safety"]["events"], infos)
    starts = everywhere
    nowhere = np.zeros(envs.num_envs, np.bool_)
    resetting = nowhere
    while collector.missing:
        actions = policy.act(observations, starts)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        ended = np.logical_or(terminated, truncated)
        if resetting.any():  # next-step mode: in these rows the step was a reset
            collector.begin(resetting, observations, infos["safety"]["events"], infos)
        collector.step(~resetting, observations, actions, rewards, ended, terminated, infos)
        starts, resetting = resetting, nowhere
        if ended.any():
            if on_episode is not None:
                on_episode(collector.finished)
            if envs.autoreset_mode is AutoresetMode.NEXT_STEP:
                resetting = ended
            elif envs.autoreset_mode is AutoresetMode.SAME_STEP:
                collector.begin(ended, observations, infos["safety"]["reset_events"], infos)
                starts = ended
            elif collector.missing:
                observations, infos = envs.reset(options={"reset_mask": ended.copy()})
                collector.begin(ended, observations, infos["safety"]["events"], infos)
                starts = ended
    return Rollouts(collector.records(), collector.recordings(), collector.rows())


def _seeds(seed: int | Sequence[int] | None, count: int) -> tuple[int | None, ...]:
    if seed is None or isinstance(seed, int | np.integer):
        return tuple(None if seed is None else int(seed) + i for i in range(count))
    if len(seed) != count:
        raise ConfigurationError(f"{len(seed)} seeds for {count} environments; give one for each")
    return tuple(int(own) for own in seed)


class _Collector:
    """The episodes under way, one row per environment, and those that have ended."""

    def __init__(
        self,
        envs: VectorProductMDP,
        episodes: int,
        keep_letters: int,
        on_recorded: Callable[[Episode], object] | None,
        seeds: Sequence[int | None],
    ) -> None:
        n, instances = envs.num_envs, len(envs.specs.instances)
        self._envs = envs
        self._names = tuple(envs.specs.propositions)
        self._tape = None if on_recorded is None else Tape(envs, on_recorded, seeds)
        self._same_step = envs.autoreset_mode is AutoresetMode.SAME_STEP
        self._quota = np.full(n, episodes // n) + (np.arange(n) < episodes % n)
        self._returns = np.zeros(n)
        self._lengths = np.zeros(n, np.int64)
        self._engaged = np.zeros(n, np.bool_)
        self._first_charged = np.full((n, instances), -1, np.int64)
        self._at_reset = np.zeros((n, instances), np.int64)
        self._first = np.full((n, instances), -1, np.int64)
        self._costs = np.zeros((n, len(envs.constraints)))
        self._keep = keep_letters
        self._letters: list[list[Bools]] = [[] for _ in range(n)]
        self._frames: list[list[Any]] = [[] for _ in range(n)]
        self._kept: dict[bool, list[Recording]] = {True: [], False: []}
        self._rows: list[dict[str, Any]] = []

    @property
    def missing(self) -> bool:
        """Whether some environment still owes episodes."""
        return bool((self._quota > 0).any())

    @property
    def finished(self) -> int:
        """Number of recorded episodes."""
        return len(self._rows)

    def begin(self, rows: Bools, observations: Any, events: Any, infos: Mapping[str, Any]) -> None:
        """Start the episodes of ``rows``; ``events`` are those of their first letters."""
        self._returns[rows] = 0.0
        self._lengths[rows] = 0
        self._costs[rows] = 0.0
        violated = np.asarray(events.violated)[rows]
        self._at_reset[rows] = violated
        self._first[rows] = np.where(violated, 0, -1)
        touched = self._known(infos, "engaged", rows)
        self._engaged[rows] = False if touched is None else touched[rows]
        # what is violated at the reset is charged only if the robot already touches an object
        reported = touched is not None
        counts = self._engaged[rows] | (not reported)
        self._first_charged[rows] = np.where(violated & counts[:, None], 0, -1)
        if self._tape is not None:
            self._tape.begin(rows, observations, infos["propositions"], touched)
        if self._keep:
            letters = self._letter(infos["propositions"])
            frames = infos.get(FRAMES)
            for row in np.flatnonzero(rows):
                self._letters[row] = [letters[row]]
                self._frames[row] = [] if frames is None else [frames[row]]

    def step(
        self,
        rows: Bools,
        observations: Any,
        actions: Any,
        rewards: NDArray[Any],
        ended: Bools,
        terminated: Bools,
        infos: Mapping[str, Any],
    ) -> None:
        """Take in one step of ``rows``, and the records of the episodes that ended in it."""
        safety = infos["safety"]
        happened = np.asarray(safety["happened"].violated)
        # the costs of the first letter are paid with the first step, but happened before it
        happened = happened - np.where((self._lengths == 0)[:, None], self._at_reset, 0)
        self._returns += np.where(rows, rewards, 0.0)
        self._lengths += rows
        self._costs += np.where(rows[:, None], infos["constraint_costs"], 0.0)
        new = (happened > 0) & rows[:, None]
        self._first = np.where(new & (self._first < 0), self._lengths[:, None], self._first)
        touched = self._at_step(infos, "engaged", ended)
        if touched is not None:
            self._engaged |= touched & rows
        charged = new & (self._engaged | (touched is None))[:, None] & (self._first_charged < 0)
        self._first_charged[charged] = np.broadcast_to(self._lengths[:, None], new.shape)[charged]
        if self._keep:
            letters = self._letter(infos["propositions"])
            if self._same_step and ended.any():
                final = self._letter(infos["final_info"]["propositions"])
                letters = np.where(ended[:, None], final, letters)
            for row in np.flatnonzero(rows):
                self._letters[row].append(letters[row])
                frame = self._frame(infos, row, ended)
                if frame is not None:
                    self._frames[row].append(frame)
        success = self._at_step(infos, "success", ended)
        if self._tape is not None:
            over = self._same_step and bool(ended.any())
            self._tape.step(
                rows,
                observations,
                infos["final_obs"] if over else None,
                actions,
                rewards,
                ended,
                infos["propositions"],
                infos["final_info"]["propositions"] if over else None,
                touched,
            )
        for row in np.flatnonzero(ended & (self._quota > 0)):
            self._quota[row] -= 1
            self._finish(int(row), bool(terminated[row]), safety["counts"], touched, success)
            if self._tape is not None:
                won = None if success is None else bool(success[row])
                self._tape.finish(int(row), bool(terminated[row]), won)

    def _finish(
        self,
        row: int,
        terminated: bool,
        counts: Mapping[str, NDArray[Any]],
        touched: Bools | None,
        success: Bools | None,
    ) -> None:
        violated = bool((counts["V"][row] > 0).any())
        if len(self._kept[violated]) < self._keep:
            frames = tuple(self._frames[row])
            complete = len(frames) == len(self._letters[row])
            self._kept[violated].append(
                Recording(
                    len(self._rows),
                    np.array(self._letters[row]),
                    not terminated,
                    frames if complete else (),
                )
            )
        self._rows.append(
            {
                "returns": self._returns[row],
                "lengths": self._lengths[row],
                "terminated": terminated,
                "success": None if success is None else bool(success[row]),
                "engaged": None if touched is None else bool(self._engaged[row]),
                "row": row,
                "charged": bool((self._first_charged[row] >= 0).any()),
                "first_charged": self._first_charged[row].copy(),
                "triggered": counts["N"][row].copy(),
                "violations": counts["V"][row].copy(),
                "exposure": counts["U"][row].copy(),
                "pending": counts["pending"][row].copy(),
                "first_violation": self._first[row].copy(),
                "costs": self._costs[row].copy(),
            }
        )

    def records(self) -> EpisodeRecords:
        """Return the table of the episodes that have ended."""

        def column(name: str, kind: type[np.generic], *shape: int) -> NDArray[Any]:
            values = [row[name] for row in self._rows]
            return np.array(values, kind).reshape(len(values), *shape)

        def known(name: str) -> Bools | None:
            unknown = any(row[name] is None for row in self._rows)
            return None if unknown else column(name, np.bool_)

        size = len(self._envs.specs.instances)
        return EpisodeRecords(
            columns=SpecificationColumns.of(self._envs.specs),
            returns=column("returns", np.float64),
            lengths=column("lengths", np.int64),
            terminated=column("terminated", np.bool_),
            success=known("success"),
            engaged=known("engaged"),
            charged=column("charged", np.bool_),
            triggered=column("triggered", np.int64, size),
            violations=column("violations", np.int64, size),
            exposure=column("exposure", np.int64, size),
            pending=column("pending", np.int64, size),
            first_violation=column("first_violation", np.int64, size),
            costs=column("costs", np.float64, len(self._envs.constraints)),
            first_charged=column("first_charged", np.int64, size),
        )

    def rows(self) -> NDArray[np.int64]:
        """Return the environment of each episode that has ended."""
        return np.array([row["row"] for row in self._rows], np.int64)

    def recordings(self) -> tuple[Recording, ...]:
        """Return the kept episodes, those with a violation first."""
        return tuple((self._kept[True] + self._kept[False])[: self._keep])

    def _letter(self, named: Mapping[str, Bools]) -> Bools:
        columns: Sequence[Bools] = [np.asarray(named[name], np.bool_) for name in self._names]
        return np.stack(columns, axis=1) if columns else np.zeros((self._envs.num_envs, 0), bool)

    def _frame(self, infos: Mapping[str, Any], row: int, ended: Bools) -> Any:
        own = infos.get("final_info", {}) if self._same_step and ended[row] else infos
        return own[FRAMES][row] if FRAMES in own else None

    def _at_step(self, infos: Mapping[str, Any], key: str, ended: Bools) -> Bools | None:
        """Return a fact that the environments report, of the step itself in every mode."""
        present = self._known(infos, key, ~ended if self._same_step else ended | ~ended)
        if not self._same_step or not ended.any():
            return present
        final = self._known(infos.get("final_info", {}), key, ended)
        if final is None or (present is None and not ended.all()):
            return None
        return final if present is None else np.where(ended, final, present)

    def _known(self, infos: Mapping[str, Any], key: str, rows: Bools) -> Bools | None:
        """Return ``infos[key]``, or ``None`` where some environment of ``rows`` does not tell."""
        if key not in infos:
            return None
        told = np.asarray(infos.get(f"_{key}", np.ones(len(rows), np.bool_)))
        if not told[rows].all():
            return None
        values = np.asarray(infos[key])
        return np.where(told, values, False).astype(np.bool_)
