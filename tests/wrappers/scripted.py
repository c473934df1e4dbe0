"""Small environments whose propositions follow a script, and what their episodes should sum to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from safe_rl.monitors import Monitor
from safe_rl.specs import Limit, Specification, SpecSet

End = Literal["terminated", "truncated", "both"]
NAMES = ("a", "b", "c")


@dataclass(frozen=True)
class Script:
    """One episode: the letters of its states, the reset's first, and how it ends."""

    letters: tuple[frozenset[str], ...]
    end: End

    @property
    def truncated(self) -> bool:
        """Whether the end decides nothing (an end of both kinds is a termination)."""
        return self.end == "truncated"


def script(text: str, end: End = "terminated") -> Script:
    """Read a script: letters apart by spaces, ``-`` for the empty one: ``"- a ab"``."""
    letters = tuple(frozenset() if w == "-" else frozenset(w) for w in text.split())
    return Script(letters, end)


class ScriptedEnv(gym.Env[Any, Any]):
    """Plays its scripts one after another, over and over; actions change nothing.

    The observation is (episode number, step number), so that a row that is off by one shows.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scripts: Sequence[Script],
        names: Sequence[str] = NAMES,
        objects: dict[str, list[str]] | None = None,
    ) -> None:
        self.scripts = tuple(scripts)
        self.names = tuple(names)
        if objects is not None:
            self.objects = objects
        self.observation_space = spaces.Box(0.0, 1e6, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.episode = -1
        self.position = 0

    @property
    def present(self) -> Script:
        return self.scripts[self.episode % len(self.scripts)]

    def propositions(self) -> dict[str, bool]:
        letter = self.present.letters[self.position]
        return {name: name in letter for name in self.names}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode += 1
        self.position = 0
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.position += 1
        last = self.position == len(self.present.letters) - 1
        terminated = last and self.present.end in ("terminated", "both")
        truncated = last and self.present.end in ("truncated", "both")
        return self._observation(), 1.0, terminated, truncated, {"success": last}

    def get_state(self) -> dict[str, int]:
        return {"episode": self.episode, "position": self.position}

    def set_state(self, state: dict[str, int]) -> None:
        self.episode, self.position = state["episode"], state["position"]

    def _observation(self) -> Any:
        return np.array([self.episode, self.position], np.float32)


class ScriptedVectorEnv(VectorEnv[Any, Any, Any]):
    """An array of scripted environments that brings its own labels, in every autoreset mode."""

    def __init__(
        self,
        scripts: Sequence[Sequence[Script]],
        mode: AutoresetMode,
        names: Sequence[str] = NAMES,
        *,
        array: bool = True,
    ) -> None:
        self.rows = [ScriptedEnv(own, names) for own in scripts]
        self.num_envs = len(self.rows)
        self.mode = mode
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space = self.rows[0].observation_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.single_action_space = self.rows[0].action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.proposition_names = tuple(reversed(names))  # an order of its own
        if array:
            self.propositions_array = self._array
        self._over = np.zeros(self.num_envs, bool)

    def propositions(self) -> dict[str, Any]:
        letters = [row.propositions() for row in self.rows]
        return {name: np.array([letter[name] for letter in letters]) for name in letters[0]}

    def _array(self) -> Any:
        letters = self.propositions()
        return np.stack([letters[name] for name in self.proposition_names], axis=1)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        for row, chosen in zip(self.rows, mask, strict=True):
            if chosen:
                row.reset()
        self._over &= ~mask
        return self._observations(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        terminations = np.zeros(self.num_envs, bool)
        truncations = np.zeros(self.num_envs, bool)
        rewards = np.zeros(self.num_envs)
        for i, row in enumerate(self.rows):
            if self._over[i]:
                assert self.mode is AutoresetMode.NEXT_STEP
                row.reset()
            else:
                _, rewards[i], terminations[i], truncations[i], _ = row.step(actions[i])
        ended = terminations | truncations
        infos: dict[str, Any] = {}
        self._over = ended
        if self.mode is AutoresetMode.SAME_STEP and ended.any():
            infos["final_obs"], infos["_final_obs"] = self._observations(), ended
            final = self._array() if hasattr(self, "propositions_array") else self.propositions()
            infos["final_info"] = {"propositions": final, "_propositions": ended}
            infos["_final_info"] = ended
            for i in np.flatnonzero(ended):
                self.rows[i].reset()
            self._over = np.zeros(self.num_envs, bool)
        return self._observations(), rewards, terminations, truncations, infos

    def _observations(self) -> Any:
        return np.stack([row._observation() for row in self.rows])


def pool() -> SpecSet:
    """Specifications that between them show every rule of the monitors, with all kinds of limit."""
    return SpecSet(
        [
            Specification("never", "G !a", trigger="true", limit=Limit("episode", 0.5)),
            Specification("once", "G !a", trigger="b", limit=Limit("probability", 0.1)),
            Specification("heals", "G !a", trigger="b", recovery="F c", weight=2.0),
            Specification(
                "answered", "G(a -> F b)", recovery="F c", limit=Limit("per_trigger", 0.25)
            ),
            Specification("capped", "G(a -> F b)", limit=Limit("per_trigger", 0.5, cap=2)),
            Specification("next", "G(b -> WX c)", recovery="F b", limit=Limit("per_trigger", 0.1)),
            Specification("strict", "G(b -> X c)", limit=Limit("probability", 0.2)),
        ]
    )


@dataclass(frozen=True)
class Expected:
    """What one episode should sum to, from :class:`Monitor` on its recorded letters alone."""

    counts: dict[str, tuple[int, int, int, int, int]]
    costs: list[float]
    exposure: list[float]
    cost: float
    constraint_costs: list[float]


def expected(specs: SpecSet, episode: Script) -> Expected:
    """Compute the sums of ``episode`` from the monitors' own summary."""
    monitor = Monitor(specs)
    monitor.run(episode.letters, truncated=episode.truncated)
    summary = monitor.summary()
    totals = {spec.id: [0, 0, 0] for spec in specs}
    for instance in specs.instances:
        counts = summary[instance.id]
        for i, value in enumerate((counts.N, counts.V, counts.U)):
            totals[instance.specification.id][i] += value
    signals = []
    for spec in specs.constraints:
        triggers, violations, _ = totals[spec.id]
        limit = spec.limit
        assert limit is not None
        if limit.kind == "episode":
            signals.append(float(violations))
        elif limit.kind == "probability":
            signals.append(float(violations > 0))
        else:
            credit = triggers if limit.cap is None else min(triggers, limit.cap)
            signals.append(violations - limit.value * credit)
    return Expected(
        counts={key: (*value[:4], int(value.verdict)) for key, value in summary.items()},
        costs=[float(totals[spec.id][1]) for spec in specs],
        exposure=[float(totals[spec.id][2]) for spec in specs],
        cost=sum(spec.weight * totals[spec.id][1] for spec in specs),
        constraint_costs=signals,
    )


@dataclass
class Summed:
    """What a wrapper's infos summed to over one episode."""

    cost: float
    costs: Any
    constraint_costs: Any
    counts: dict[str, tuple[int, ...]]
    length: int
    codes: list[Any]


def play_single(env: Any, episodes: int) -> list[Summed]:
    """Play whole episodes of a ``ProductMDP`` and sum what its infos charge."""
    found = []
    for _ in range(episodes):
        _, info = env.reset()
        codes = [info["safety"]["events"].codes]
        assert "cost" not in info
        cost, costs, signal, length, over = 0.0, 0.0, 0.0, 0, False
        while not over:
            _, _, terminated, truncated, info = env.step(0)
            over = terminated or truncated
            cost += info["cost"]
            costs = costs + info["costs"]
            signal = signal + info["constraint_costs"]
            codes.append(info["safety"]["events"].codes)
            length += 1
            assert ("counts" in info["safety"]) == over
        counts = counts_of(env.specs, info["safety"]["counts"])
        found.append(Summed(cost, costs, signal, counts, length, codes))
    return found


def counts_of(specs: SpecSet, counts: Any, row: Any = ...) -> dict[str, tuple[int, ...]]:
    """Read counts as ``{instance: (N, V, U, pending, verdict)}``."""
    keys = ("N", "V", "U", "pending", "verdict")
    columns = [np.asarray(counts[key])[row].tolist() for key in keys]
    return dict(zip((i.id for i in specs.instances), zip(*columns, strict=True), strict=True))


def play_vector(envs: Any, episodes: int) -> list[list[Summed]]:
    """Play at least ``episodes`` episodes in each row of a ``VectorProductMDP``."""
    n = envs.num_envs
    found: list[list[Summed]] = [[] for _ in range(n)]
    _, infos = envs.reset()
    assert "cost" not in infos
    codes = [[infos["safety"]["events"].codes[i].copy()] for i in range(n)]
    sums = [_zero() for _ in range(n)]
    while min(len(own) for own in found) < episodes:
        _, _, terminations, truncations, infos = envs.step(np.zeros(n, int))
        ended = terminations | truncations
        safety = infos["safety"]
        assert ("counts" in safety) == bool(ended.any())
        if ended.any():
            assert safety["_counts"].tolist() == ended.tolist()
        for i in range(n):
            if not infos["_cost"][i]:  # the step that reset this row
                assert envs.autoreset_mode is AutoresetMode.NEXT_STEP
                assert infos["cost"][i] == 0.0 and not infos["costs"][i].any()
                codes[i] = [safety["events"].codes[i].copy()]
                continue
            codes[i].append(safety["events"].codes[i].copy())
            sums[i][0] += infos["cost"][i]
            sums[i][1] = sums[i][1] + infos["costs"][i]
            sums[i][2] = sums[i][2] + infos["constraint_costs"][i]
            sums[i][3] += 1
            if ended[i]:
                counts = counts_of(envs.specs, safety["counts"], i)
                cost, costs, signal, length = sums[i]
                found[i].append(Summed(cost, costs, signal, counts, length, codes[i]))
                sums[i] = _zero()
                if envs.autoreset_mode is AutoresetMode.SAME_STEP:
                    codes[i] = [safety["reset_events"].codes[i].copy()]
        if envs.autoreset_mode is AutoresetMode.DISABLED and ended.any():
            _, again = envs.reset(options={"reset_mask": ended})
            for i in np.flatnonzero(ended):
                codes[i] = [again["safety"]["events"].codes[i].copy()]
    return found


def _zero() -> list[Any]:
    return [0.0, 0.0, 0.0, 0]
