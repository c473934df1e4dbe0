"""The product of a functional environment with monitors: one pure step for many lanes."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from gymnasium import spaces

from safe_rl.errors import GroundingError, near
from safe_rl.monitors import (
    CountArrays,
    MonitorState,
    StepEvents,
    add_end,
    add_events,
    finish,
    initial_state,
    make_tables,
    step,
)
from safe_rl.specs import Objects, Specs
from safe_rl.wrappers.binding import bound_specs
from safe_rl.wrappers.constraints import Constraint, CostKind, CostModel
from safe_rl.wrappers.features import FeatureKind, MonitorFeatures, ObservationMerger
from safe_rl.wrappers.functional.environment import FunctionalEnv, State
from safe_rl.wrappers.functional.resets import FirstStates, Lanes, require_gate
from safe_rl.wrappers.functional.tracing import require_traceable
from safe_rl.wrappers.initial_gate import gated_instances
from safe_rl.wrappers.tally import with_end


class Counted(NamedTuple):
    """Events of an episode so far, int32 ``[I, N]`` (the lanes of an instance side by side)."""

    N: jax.Array
    V: jax.Array
    U: jax.Array


class ProductState(NamedTuple):
    """The present episode of ``N`` lanes.

    Attributes:
        env: The environment's states; every leaf has the leading axis ``[N]``.
        monitors: The monitors' states, int32 ``[I, N]``, after the letter of ``env``.
        tally: What has been counted since the reset, int32 ``[I, N]``.
        steps: How many steps the episode has taken, int32 ``[N]``.
    """

    env: State
    monitors: MonitorState
    tally: Counted
    steps: jax.Array


class Transition(NamedTuple):
    """What one step of ``N`` lanes gives; a lane whose episode ends is reset within the step.

    Attributes:
        observation: float32 ``[N, D]``, what to act on next: of a new episode's first state where
            an episode ended.
        final_observation: float32 ``[N, D]``, of the state that the step reached, before any reset:
            what to bootstrap from at a truncation.
        reward: float32 ``[N]``.
        terminated: bool ``[N]``.
        truncated: bool ``[N]``, the episode was cut at ``max_episode_steps``; never together with
            ``terminated``.
        success: bool ``[N]``, of the state reached.
        engaged: bool ``[N]``, of the state reached.
        cost: float32 ``[N]``, the weighted sum of ``costs``.
        costs: float32 ``[N, S]``, of each specification.
        constraint_costs: float32 ``[N, K]``, the signal of each constraint.
        events: uint8 ``[N, I]``, the events of the step, with what the end of an episode decided.
        counts: ``[N, I]`` each, of the episodes that ended at this step; zero in other lanes.
    """

    observation: jax.Array
    final_observation: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array
    success: jax.Array
    engaged: jax.Array
    cost: jax.Array
    costs: jax.Array
    constraint_costs: jax.Array
    events: StepEvents
    counts: CountArrays

    @property
    def done(self) -> jax.Array:
        """Whether an episode ended at this step, bool ``[N]``."""
        return self.terminated | self.truncated


class FunctionalProduct:
    """A functional environment under temporal specifications, for many lanes at once.

    :meth:`reset` and :meth:`step` are pure functions, to be jitted, scanned, mapped and sharded.
    What they compute is what :class:`~safe_rl.wrappers.VectorProductMDP` computes in ``SAME_STEP``
    mode: the costs of an episode's last step hold what its end decides, and those of its first
    letter are charged with its first step. Costs are float32. Gradients flow through the
    environment only: nothing that the monitors see or say has one.

    A reset draws a fresh first state. Few lanes end at a step, so first states are drawn in batches
    of ``reset_batch``, as many batches as there are needed, rather than one for every lane. Each is
    drawn independently from ``env.initial``, and a specification marked ``initial`` rejects those
    that violate it.

    Attributes:
        env: The environment.
        specs: The bound specifications.
        constraints: The ``K`` constraints, in the order of the signal's columns.
        tables: The monitors' tables, with ``axis=0``.
        observation_space: Of one environment, the monitor features included.
        action_space: Of one environment.
    """

    def __init__(
        self,
        env: FunctionalEnv,
        specs: Specs,
        *,
        objects: Objects | None = None,
        features: FeatureKind | None = "one_hot",
        cost: CostKind = "violation",
        gate_attempts: int = 100,
        reset_batch: int | None = None,
    ) -> None:
        """Put monitors on ``env``.

        Args:
            env: The environment, whose functions jax can trace.
            specs: A :class:`SpecSet`, a list of specifications, a path, or a shipped set's name.
            objects: Property to object names, for ``forall``; by default ``env.objects``.
            features: ``"one_hot"`` or ``"index"`` of the monitor states, or ``None`` to leave the
                observation as it is.
            cost: What ``costs`` counts, as in :class:`~safe_rl.wrappers.CostModel`.
            gate_attempts: How many first states are tried here before the initial gate is taken to
                be one that never opens.
            reset_batch: How many first states are drawn at once; by default a 32nd of the lanes.

        Raises:
            ConfigurationError: ``env`` cannot be traced by jax, or an argument is out of its range.
            SpecificationError: the specifications are malformed or not bound to objects.
            GroundingError: the environment lacks a proposition that they name.
        """
        require_traceable(env)
        self.env = env
        self.specs = bound_specs(specs, objects, env.objects)
        self.tables = make_tables(self.specs, jnp, axis=0)
        self.costs = CostModel.from_specs(self.specs, cost, jnp, axis=0)
        self._letter_rows = _rows_of(env, self.tables.propositions)
        self._features: MonitorFeatures | None = None
        self.action_space = env.action_space
        self.observation_space: spaces.Box = env.observation_space
        if features is not None:
            self._features = MonitorFeatures(
                [instance.id for instance in self.specs.instances],
                self.tables.num_states,
                self.costs.memory_names,
                features,
                axis=0,
            )
            self._merger = ObservationMerger(
                env.observation_space, self._features.low, self._features.high
            )
            assert isinstance(self._merger.space, spaces.Box)  # it extends one
            self.observation_space = self._merger.space
        gated = gated_instances(self.specs)
        self._first = FirstStates(self._draw, gated, reset_batch)
        if len(gated):
            require_gate(self._draw, self.specs, gated, gate_attempts)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order of the columns of ``constraint_costs``."""
        return self.costs.constraints

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each monitor feature says, in order; empty for ``features=None``."""
        return () if self._features is None else self._features.names

    def reset(self, key: jax.Array, num_envs: int) -> tuple[ProductState, jax.Array]:
        """Begin an episode in each of ``num_envs`` lanes.

        Returns:
            The state, and the observations, float32 ``[num_envs, D]``.
        """
        return _opened(self._first.all_lanes(key, num_envs))

    def step(
        self, state: ProductState, actions: jax.Array, key: jax.Array
    ) -> tuple[ProductState, Transition]:
        """Step every lane; an episode that ends is followed by the first state of the next one.

        Args:
            state: Of ``N`` lanes.
            actions: ``[N, ...]``.
            key: A key of this step alone. Where lanes are sharded over devices, each shard needs
                its own: ``jax.random.fold_in(key, jax.lax.axis_index(name))``.
        """
        env, tables = self.env, self.tables
        lanes = state.steps.shape[0]
        move, pay, see, end, again = jax.random.split(key, 5)
        reached = jax.vmap(env.transition)(state.env, actions, jax.random.split(move, lanes))
        reward = jax.vmap(env.reward)(state.env, actions, reached, jax.random.split(pay, lanes))
        terminated = jax.vmap(env.terminal)(reached, jax.random.split(end, lanes))
        own = self._own_observation(reached, see)
        steps = state.steps + 1
        truncated = jnp.zeros_like(terminated)
        if env.max_episode_steps is not None:
            truncated = (steps >= env.max_episode_steps) & ~terminated
        done = terminated | truncated

        monitors, events = step(tables, state.monitors, self._letters(reached))
        monitors, events = jax.lax.optimization_barrier((monitors, events))
        before = self._counts(state.tally)
        counts = add_events(tables, before, events)
        final, pending = finish(tables, monitors, terminated, events)
        counts = add_end(tables, counts, final, pending, done)
        # What an episode's first letter brought has not been charged before its first step.
        charged = CountArrays(*(jnp.where(state.steps == 0, 0, array) for array in before))
        values = self.costs.episode_values(counts)
        paid = self.costs.episode_values(charged)
        costs = values.costs - paid.costs
        observation = self._observed(own, monitors, counts)
        lanes_reached = Lanes(
            rows=(reached, steps, observation),
            columns=(monitors, Counted(counts.N, counts.V, counts.U)),
        )
        next_state, shown = _opened(self._first.where(done, lanes_reached, again))
        codes = jnp.where(done, with_end(events, final).codes, events.codes)
        return next_state, Transition(
            observation=shown,
            final_observation=observation,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            success=jax.vmap(env.success)(reached),
            engaged=jax.vmap(env.engaged)(reached),
            cost=self.costs.weighted(costs),
            costs=costs.T,
            constraint_costs=(values.constraint_costs - paid.constraint_costs).T,
            events=StepEvents(codes.T),
            counts=CountArrays(*(jnp.where(done, array, 0).T for array in counts)),
        )

    def _draw(self, key: jax.Array, lanes: int) -> tuple[Lanes, StepEvents]:
        """Draw first states, let the monitors consume their letters; with the events of these."""
        begin, see = jax.random.split(key)
        first = jax.vmap(self.env.initial)(jax.random.split(begin, lanes))
        own = self._own_observation(first, see)
        start = initial_state(self.tables, (lanes,))
        monitors, events = step(self.tables, start, self._letters(first))
        nothing = jnp.zeros_like(monitors.open)
        counts = add_events(self.tables, self._counts(Counted(*(nothing,) * 3)), events)
        observation = self._observed(own, monitors, counts)
        return Lanes(
            rows=(first, jnp.zeros(lanes, jnp.int32), observation),
            columns=(monitors, Counted(counts.N, counts.V, counts.U)),
        ), events

    def _letters(self, states: State) -> jax.Array:
        """The letters that the monitors read, bool ``[P, N]``."""
        # A threshold of a float has no gradient worth following, and none is taken.
        states = jax.lax.stop_gradient(states)
        letters = jax.vmap(self.env.letter, out_axes=-1)(states)
        if self._letter_rows == tuple(range(len(letters))):
            return letters
        return jnp.stack([letters[row] for row in self._letter_rows])

    def _own_observation(self, states: State, key: jax.Array) -> jax.Array:
        """What the environment itself shows, float32 ``[N, D]``."""
        keys = jax.random.split(key, jax.tree.leaves(states)[0].shape[0])
        shown: jax.Array = jax.vmap(self.env.observation)(states, keys)
        return shown

    def _observed(self, own: jax.Array, monitors: MonitorState, counts: CountArrays) -> jax.Array:
        """The observations, float32 ``[N, D]``."""
        if self._features is None:
            return own
        features = self._features.vector(monitors.automaton, self.costs.memory(counts))
        # Both parts are finished before they are joined: a compiler that fuses would work out the
        # environment's part entry by entry, which takes longer than the copy that it saves.
        own, features = jax.lax.optimization_barrier((own, features))
        merged: jax.Array = self._merger.merge(own, features.T)
        return merged

    def _counts(self, tally: Counted) -> CountArrays:
        """The counts of an episode that goes on."""
        nothing = jnp.zeros_like(tally.N)
        return CountArrays(*tally, pending=nothing, verdict=nothing.astype(jnp.int8))


def _opened(lanes: Lanes) -> tuple[ProductState, jax.Array]:
    """The state and the observations that were put in by the kind of their axes."""
    env, steps, observation = lanes.rows
    monitors, tally = lanes.columns
    return ProductState(env, monitors, tally, steps), observation


def _rows_of(env: FunctionalEnv, propositions: tuple[str, ...]) -> tuple[int, ...]:
    """Where each proposition that the monitors read stands in the environment's letters."""
    names = tuple(env.proposition_names)
    missing = [name for name in propositions if name not in names]
    if missing:
        listed = ", ".join(repr(n) + near(n, names) for n in missing)
        raise GroundingError(
            f"{type(env).__name__}.proposition_names lacks the propositions {listed}; "
            "every proposition of the specifications must be given at every step"
        )
    return tuple(names.index(name) for name in propositions)
