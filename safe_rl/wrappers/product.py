"""The product of one environment with monitors."""

from __future__ import annotations

from os import PathLike
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.monitors import Monitor, MonitorState, StepEvents
from safe_rl.monitors.events import EXPOSED, RECOVERED, TRIGGERED, VIOLATED
from safe_rl.specs import Objects, Specs, load_specs
from safe_rl.wrappers.binding import bound_specs
from safe_rl.wrappers.constraints import Constraint, CostKind, CostModel
from safe_rl.wrappers.features import FeatureKind, MonitorFeatures, ObservationMerger
from safe_rl.wrappers.initial_gate import derived_seed, gate_failed, gated_instances
from safe_rl.wrappers.labels import Grounding, LabelSource
from safe_rl.wrappers.snapshot import load_env, save_env
from safe_rl.wrappers.tally import (
    Happened,
    Tally,
    add_final,
    add_letter,
    empty_tally,
    happened_since,
    with_end,
)

_COUNTED = np.uint8(TRIGGERED | VIOLATED | EXPOSED | RECOVERED)


class ProductMDP(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment under temporal specifications.

    A vector version exists, :class:`safe_rl.wrappers.VectorProductMDP`. Every step's ``info`` gets
    (``S`` specifications, ``I`` monitor instances, ``K`` constraints):

    * ``"cost"``: float, the weighted sum of ``"costs"``;
    * ``"costs"``: float64 ``[S]``, the step's cost of each specification;
    * ``"constraint_costs"``: float64 ``[K]``, the signal of each entry of :attr:`constraints`; its
      expected episode sum must not pass the constraint's threshold;
    * ``"propositions"``: the letter of the state reached;
    * ``"safety"``: ``"events"`` (``StepEvents [I]``), ``"states"`` (int32 ``[I]``, the monitors
      after this letter), ``"happened"`` (what the step is charged with, :class:`Happened` ``[I]``),
      and where the episode ends ``"counts"``: ``N``, ``V``, ``U``, ``pending`` and ``verdict``,
      each ``[I]``.

    What the end of an episode decides is part of its last step. What the letter of the first state
    decides is in the events of ``reset``, and is charged with the first step: no action has led to
    it, but it belongs to the episode, whose steps sum to its counts.

    A wrapper that truncates, such as ``TimeLimit``, belongs inside: an end that is decided outside
    is not seen here, and its events stay open.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> upright = Specification("upright", "G !tilted", trigger="true", recovery="!tilted")
        >>> env = ProductMDP(
        ...     gym.make("CartPole-v1"),
        ...     [upright],
        ...     grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
        ... )
        >>> observation, info = env.reset(seed=0)
        >>> observation.shape, info["propositions"]
        ((7,), {'tilted': False})
        >>> *_, info = env.step(0)
        >>> info["cost"], info["costs"]
        (0.0, array([0.]))
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        specs: Specs,
        grounding: Grounding | None = None,
        *,
        objects: Objects | None = None,
        features: FeatureKind | None = "one_hot",
        cost: CostKind = "violation",
        gate_attempts: int = 100,
    ) -> None:
        """Put monitors on ``env``.

        Args:
            env: The environment.
            specs: A :class:`SpecSet`, a list of specifications, a path, or a shipped set's name.
            grounding: ``grounding(env) -> {name: bool}``; ``None`` asks the environment (see
                :class:`LabelSource`).
            objects: Property to object names, for ``forall``; by default the environment's
                attribute ``objects``.
            features: ``"one_hot"`` or ``"index"`` of the monitor states, or ``None`` to leave the
                observation as it is.
            cost: What ``info["costs"]`` counts: violations, steps in violation, or V - d N where a
                specification has a per-trigger limit ``d``.
            gate_attempts: How many resets the initial gate tries.

        Raises:
            ConfigurationError: an argument is out of its range.
            SpecificationError: the specifications are malformed or not bound to objects.
        """
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,  # a grounding may hold a simulator
            specs=specs if isinstance(specs, str | PathLike) else load_specs(specs),
            grounding=grounding,
            objects=objects,
            features=features,
            cost=cost,
            gate_attempts=gate_attempts,
        )
        gym.Wrapper.__init__(self, env)
        named = env.get_wrapper_attr("objects") if env.has_wrapper_attr("objects") else None
        self.specs = bound_specs(specs, objects, named)
        self.grounding = grounding
        if gate_attempts < 1:
            raise ConfigurationError(f"gate_attempts must be at least 1, but is {gate_attempts}")
        self.monitor = Monitor(self.specs)
        self.model = CostModel.from_specs(self.specs, cost)
        self._labels = LabelSource(env, grounding)
        self._features: MonitorFeatures | None = None
        if features is not None:
            self._features = MonitorFeatures(
                [instance.id for instance in self.specs.instances],
                self.monitor.num_states,
                self.model.memory_names,
                features,
            )
            self._merger = ObservationMerger(
                env.observation_space, self._features.low, self._features.high
            )
            self.observation_space = self._merger.space
        self._gate_attempts = gate_attempts
        self._gated = gated_instances(self.specs)
        self._nothing = empty_tally(len(self.specs.instances))
        self._running = False
        self._forget()

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order of ``info["constraint_costs"]``."""
        return self.model.constraints

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each monitor feature says, in order; empty for ``features=None``."""
        return () if self._features is None else self._features.names

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment until the initial gate holds; the monitors read the first letter.

        Raises:
            ConfigurationError: the initial gate failed ``gate_attempts`` times.
            GroundingError: the first letter cannot be read.
        """
        self._running = False
        attempt = 0
        while True:
            again = seed if attempt == 0 else derived_seed(seed, attempt)
            observation, info = self.env.reset(seed=again, options=options)
            self._labels.start()
            letter = self._labels.read(info)
            events = self.monitor.reset(letter)
            attempt += 1
            violated = self._gated[events.violated[self._gated]]
            if len(violated) == 0:
                break
            if attempt == self._gate_attempts:
                raise gate_failed(
                    self.specs, violated.tolist(), letter, attempt, str(self.env.unwrapped)
                )
        self._forget()
        self._count(events)
        self._running = True
        info = dict(info)
        info["propositions"] = letter
        info["safety"] = {"events": _own(events), "states": self._states()}
        return self._observe(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment; see the class for what ``info`` holds.

        Raises:
            ResetNeededError: no episode is under way.
            GroundingError: the letter cannot be read.
        """
        if not self._running:
            raise ResetNeededError(
                "step() while no episode is under way (none has begun, or the last one has ended); "
                "call reset() first"
            )
        observation, reward, terminated, truncated, info = self.env.step(action)
        info = dict(info)
        letter = self._labels.read(info)
        events = self.monitor.step(letter)
        self._count(events)
        ended = bool(terminated or truncated)
        if ended:
            events = self._end(events, truncated=not terminated)
        info["propositions"] = letter
        info["safety"] = {"events": _own(events), "states": self._states()}
        self._charge(info)
        if ended:
            info["safety"]["counts"] = self._tally.to_counts(events)._asdict()
        return self._observe(observation), reward, terminated, truncated, info

    def end_episode(self, info: dict[str, Any]) -> None:
        """End the episode after a step that did not end it, as truncated.

        For a wrapper that cuts episodes short. ``info``, which that step returned, gets the counts,
        and its costs what the end decides.

        Raises:
            ResetNeededError: no episode is under way.
        """
        if not self._running:
            raise ResetNeededError("there is no episode to end; call reset() first")
        safety, before = info["safety"], dict(info)
        safety["events"] = self._end(safety["events"], truncated=True)
        happened = safety["happened"]
        self._charge(info)
        for key in ("cost", "costs", "constraint_costs"):
            info[key] = before[key] + info[key]
        pairs = zip(happened, safety["happened"], strict=True)
        safety["happened"] = Happened(*(a + b for a, b in pairs))
        safety["counts"] = self._tally.to_counts(safety["events"])._asdict()

    def get_state(self) -> dict[str, Any]:
        """Return what an exact continuation needs: monitors, tallies, and the environment.

        The environment's part is what it gives itself by ``get_state``, and what Gymnasium's
        wrappers around it hold.
        """
        return {
            "monitor": self.monitor.get_state(),
            "open": self._open.copy(),
            "tally": self._tally.counts.copy(),
            "charged": self._charged.counts.copy(),
            "running": self._running,
            "grounding": self._labels.get_state(),
            "env": save_env(self.env),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            CheckpointError: it was saved under other specifications or another environment.
        """
        self.monitor.set_state(state["monitor"])
        load_env(self.env, state["env"])
        self._labels.set_state(state["grounding"])
        self._open = state["open"].copy()
        self._any_open = bool(self._open.any())
        self._tally = Tally(state["tally"].copy())
        self._charged = Tally(state["charged"].copy())
        self._paid = self.model.episode_values(self._charged)
        self._memory = self.model.memory(self._tally)
        self._running = state["running"]

    def _forget(self) -> None:
        """Begin a new episode, in which nothing has happened."""
        self._open = np.zeros(len(self.specs.instances), np.int32)
        self._any_open = False
        self._tally = self._charged = self._nothing
        self._paid = self.model.episode_values(self._nothing)
        self._memory = self.model.memory(self._nothing)

    def _count(self, events: StepEvents) -> None:
        # Most letters bring no event; skipping them here keeps them cheap.
        if not self._any_open and not (events.codes & _COUNTED).any():
            return
        # Only the number of open events is looked at; the automata are the Monitor's own.
        before = MonitorState(automaton=self._open, open=self._open)
        self._tally = add_letter(self._tally, before, events)
        self._open = np.where(events.closed, 0, self._open + events.triggered).astype(np.int32)
        self._any_open = bool(self._open.any())
        self._memory = self.model.memory(self._tally)

    def _end(self, events: StepEvents, truncated: bool) -> StepEvents:
        final = self.monitor.finish(truncated=truncated)
        pending = self._open if truncated else np.zeros_like(self._open)
        self._tally = add_final(self._tally, final, pending)
        self._memory = self.model.memory(self._tally)
        self._running = False
        return with_end(events, final)

    def _charge(self, info: dict[str, Any]) -> None:
        """Put what has not been charged yet into ``info``, and charge it."""
        if self._tally is self._charged:
            info["cost"] = 0.0
            info["costs"] = np.zeros(len(self.specs))
            info["constraint_costs"] = np.zeros(len(self.constraints))
            nothing = np.zeros((len(Happened._fields), len(self._open)), np.int32)
            info["safety"]["happened"] = Happened(*nothing)
            return
        values = self.model.episode_values(self._tally)
        costs = values.costs - self._paid.costs
        info["cost"] = float(self.model.weighted(costs))
        info["costs"] = costs
        info["constraint_costs"] = values.constraint_costs - self._paid.constraint_costs
        info["safety"]["happened"] = happened_since(self._tally, self._charged)
        self._paid, self._charged = values, self._tally

    def _states(self) -> NDArray[np.int32]:
        return np.array(self.monitor.states, np.int32)

    def _observe(self, observation: Any) -> Any:
        if self._features is None:
            return observation
        vector = self._features.vector(self._states(), self._memory)
        return self._merger.merge(observation, vector)


def _own(events: StepEvents) -> StepEvents:
    """Return events that a user may keep: the Monitor hands out arrays that it shares."""
    return StepEvents(events.codes.copy())
