"""The product of a vector environment with monitors."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, ResetNeededError
from safe_rl.monitors import StepEvents, initial_state, step
from safe_rl.specs import Objects, Specs
from safe_rl.wrappers.binding import bound_specs
from safe_rl.wrappers.constraints import Constraint, CostKind
from safe_rl.wrappers.features import FeatureKind, MonitorFeatures, ObservationMerger
from safe_rl.wrappers.initial_gate import derived_seed, gate_failed, gated_instances
from safe_rl.wrappers.labels import Grounding
from safe_rl.wrappers.snapshot import load_vector_env, save_vector_env
from safe_rl.wrappers.tally import Happened, Tally
from safe_rl.wrappers.vector.episodes import VectorEpisodes
from safe_rl.wrappers.vector.labels import Letters, VectorLabelSource
from safe_rl.wrappers.vector.rows import (
    autoreset_mode_of,
    merge_infos,
    reset_rows,
    split_reset_mask,
    take_row,
)

Bools = NDArray[np.bool_]
Seeds = int | list[int | None] | None


class VectorProductMDP(VectorWrapper[Any, Any, Any, Any, Any]):
    """A vector environment under temporal specifications; :class:`ProductMDP` is the single twin.

    All of Gymnasium's autoreset modes. Infos are arrays with one row per sub-environment
    (``n`` sub-environments, ``S`` specifications, ``I`` monitor instances, ``K`` constraints):

    * ``infos["cost"]`` float64 ``[n]``: the weighted sum of ``infos["costs"]``;
    * ``infos["costs"]`` float64 ``[n, S]``, ``infos["constraint_costs"]`` float64 ``[n, K]``;
    * ``infos["propositions"]``: name to bool ``[n]``, the letters of the states shown;
    * ``infos["safety"]``: ``"events"`` (``StepEvents [n, I]``), ``"states"`` (int32 ``[n, I]``,
      the monitors after the step's letter), ``"happened"`` (what the step is charged with,
      :class:`Happened` ``[n, I]``), and where an episode ended ``"counts"``: ``N``, ``V``, ``U``,
      ``pending`` and ``verdict``, each ``[n, I]``, zero in other rows; ``"_counts"`` (bool ``[n]``)
      says which rows ended.

    The costs of an episode's last step stand in the row in which the step reports the end, whatever
    the mode. In ``SAME_STEP`` mode the row's ``events`` and ``states`` are those of the last step
    too; ``propositions`` belong to the first state of the next episode, and the last letter is in
    ``infos["final_info"]["propositions"]``. In ``NEXT_STEP`` mode the step that resets a row costs
    nothing in it (``infos["_cost"]`` is false there), and ``events`` are those of the first letter.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> upright = Specification("upright", "G !tilted", trigger="true", recovery="!tilted")
        >>> envs = VectorProductMDP(
        ...     gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point"),
        ...     [upright],
        ...     grounding=lambda envs: {"tilted": abs(envs.unwrapped.state[2]) > 0.1},
        ... )
        >>> _ = envs.reset(seed=0)
        >>> *_, infos = envs.step(np.array([0, 1]))
        >>> infos["costs"].shape
        (2, 1)
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        specs: Specs,
        grounding: Grounding | None = None,
        *,
        objects: Objects | None = None,
        features: FeatureKind | None = "one_hot",
        cost: CostKind = "violation",
        gate_attempts: int = 100,
        autoreset_mode: AutoresetMode | str | None = None,
    ) -> None:
        """Put monitors on ``env``.

        Args:
            env: A vector environment.
            specs: A :class:`SpecSet`, a list of specifications, a path, or a shipped set's name.
            grounding: ``grounding(envs) -> {name: bool [num_envs]}``; ``None`` asks the environment
                (see :class:`VectorLabelSource`).
            objects: Property to object names, for ``forall``; by default the environment's
                attribute ``objects``.
            features: ``"one_hot"`` or ``"index"`` of the monitor states, or ``None`` to leave the
                observation as it is.
            cost: What ``infos["costs"]`` counts: violations, steps in violation, or V - d N where a
                specification has a per-trigger limit ``d``.
            gate_attempts: How many resets the initial gate tries.
            autoreset_mode: Only for an environment whose metadata do not say.

        Raises:
            ConfigurationError: an argument is out of its range, or the autoreset mode is unknown.
            SpecificationError: the specifications are malformed or not bound to objects.
        """
        super().__init__(env)
        self.specs = bound_specs(specs, objects, getattr(env.unwrapped, "objects", None))
        self.autoreset_mode = autoreset_mode_of(env, autoreset_mode)
        if gate_attempts < 1:
            raise ConfigurationError(f"gate_attempts must be at least 1, but is {gate_attempts}")
        self.episodes = VectorEpisodes(self.specs, self.num_envs, cost)
        self._labels = VectorLabelSource(
            env, grounding, self.episodes.tables.propositions, self.autoreset_mode
        )
        self._features: MonitorFeatures | None = None
        if features is not None:
            self._features = MonitorFeatures(
                [instance.id for instance in self.specs.instances],
                self.episodes.tables.num_states,
                self.episodes.model.memory_names,
                features,
            )
            self._merger = ObservationMerger(
                env.single_observation_space, self._features.low, self._features.high
            )
            self.single_observation_space = self._merger.space
            self.observation_space = batch_space(self._merger.space, self.num_envs)
        self._gate_attempts = gate_attempts
        self._gated = gated_instances(self.specs)
        self._over = np.zeros(self.num_envs, np.bool_)  # ended, and not reset yet
        self._started = False
        self._everywhere = np.ones(self.num_envs, np.bool_)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints, in the order of the columns of ``infos["constraint_costs"]``."""
        return self.episodes.model.constraints

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What each monitor feature says, in order; empty for ``features=None``."""
        return () if self._features is None else self._features.names

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all sub-environments, or those of ``options["reset_mask"]`` (bool ``[n]``).

        Raises:
            ConfigurationError: the initial gate failed ``gate_attempts`` times.
            GroundingError: the first letters cannot be read.
        """
        options, rows = split_reset_mask(options, self.num_envs)
        if not (self._started or rows.all()):
            raise ResetNeededError("the first reset must reset every sub-environment")
        self._labels.start(rows)
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        letters = self._labels.read(infos, rows)
        observations, infos, letters = self._pass_gate(
            rows, observations, dict(infos), letters, _row_seeds(seed, self.num_envs)
        )
        self.episodes.begin(rows)
        events = self.episodes.advance(letters.array, rows)
        self._over = self._over & ~rows
        self._started = True
        infos["propositions"], infos["_propositions"] = letters.named, rows
        infos["safety"] = {"events": events, "states": self.episodes.state.automaton.copy()}
        infos["_safety"] = rows
        return self._observe(observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all sub-environments; see the class for what ``infos`` holds.

        Raises:
            ResetNeededError: before the first reset, or (``DISABLED``) on an episode that ended.
            GroundingError: the letters cannot be read.
        """
        if not self._started:
            raise ResetNeededError("step() before the first reset; call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            raise ResetNeededError(
                f"environments {np.flatnonzero(self._over)[:8].tolist()} have ended; reset them "
                "with reset(options={'reset_mask': mask}) before the next step"
            )
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        infos = dict(infos)
        ended: Bools = np.logical_or(terminations, truncations)
        any_ended = bool(ended.any())
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and self._over.any():
            observations, infos, letters = self._step_that_resets(observations, infos)
            events, charged = self.episodes.advance(letters.array), ~self._over
        else:
            letters = self._labels.read(infos, self._everywhere)
            events = self._advance(infos, letters, ended if any_ended else None)
            charged = self._everywhere.copy()
        if any_ended:
            events = self.episodes.end(events, ended, np.asarray(terminations, np.bool_))
        charge = self.episodes.charge(charged)
        infos["cost"], infos["_cost"] = charge.cost, charged
        infos["costs"], infos["_costs"] = charge.costs, charged
        infos["constraint_costs"], infos["_constraint_costs"] = charge.constraint_costs, charged
        safety: dict[str, Any] = {
            "events": events,
            "states": self.episodes.state.automaton.copy(),
            "happened": charge.happened,
        }
        if any_ended:
            safety["counts"], safety["_counts"] = self._counts(events, ended), ended
        infos["safety"], infos["_safety"] = safety, self._everywhere.copy()
        if any_ended and self.autoreset_mode is AutoresetMode.SAME_STEP:
            observations, infos, letters = self._begin_anew(ended, observations, infos, letters)
            self._over = np.zeros(self.num_envs, np.bool_)
        else:
            self._over = ended
        infos["propositions"], infos["_propositions"] = letters.named, self._everywhere.copy()
        return self._observe(observations), rewards, terminations, truncations, infos

    def get_state(self) -> dict[str, Any]:
        """Return what an exact continuation needs: monitors, tallies, and the environment.

        Raises:
            CheckpointError: the sub-environments cannot be saved; see ``Savable`` where they run in
                other processes.
        """
        return {
            "monitors": self.episodes.get_state(),
            "over": self._over.copy(),
            "started": self._started,
            "grounding": self._labels.get_state(),
            "env": save_vector_env(self.env),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            CheckpointError: it was saved under other specifications or another environment.
        """
        self.episodes.set_state(state["monitors"])
        load_vector_env(self.env, state["env"])
        self._labels.set_state(state["grounding"])
        self._over = state["over"].copy()
        self._started = state["started"]

    def end_episodes(self, rows: Bools, infos: dict[str, Any]) -> None:
        """End the episodes of ``rows`` after a step that did not end them, as truncated.

        For a wrapper that cuts episodes short. ``infos``, which that step returned, gets the
        counts, and its costs what the end decides. The rows then have to be reset with
        ``reset_mask`` before their next step.
        """
        safety = infos["safety"]
        truncated = np.zeros(self.num_envs, np.bool_)
        safety["events"] = self.episodes.end(safety["events"], rows, truncated)
        charge = self.episodes.charge(rows)
        infos["cost"] = infos["cost"] + charge.cost
        infos["costs"] = infos["costs"] + charge.costs
        infos["constraint_costs"] = infos["constraint_costs"] + charge.constraint_costs
        safety["happened"] = Happened(
            *(a + b for a, b in zip(safety["happened"], charge.happened, strict=True))
        )
        counts = self._counts(safety["events"], rows)
        if "counts" in safety:  # other episodes ended by themselves at this step
            counts = {key: counts[key] + safety["counts"][key] for key in counts}
        safety["counts"] = counts
        safety["_counts"] = rows | safety.get("_counts", np.zeros_like(rows))

    def _advance(self, infos: dict[str, Any], letters: Letters, ended: Bools | None) -> StepEvents:
        """Let the monitors consume the letters of the states that the step reached."""
        array = letters.array
        if ended is not None and self.autoreset_mode is AutoresetMode.SAME_STEP:
            final = self._labels.read_final(infos, ended)
            array = np.where(ended[:, None], final.array, array)
            infos["final_info"] = {**infos["final_info"], "propositions": final.named}
        return self.episodes.advance(array)

    def _step_that_resets(
        self, observations: Any, infos: dict[str, Any]
    ) -> tuple[Any, dict[str, Any], Letters]:
        """NEXT_STEP: for the rows that had ended, this step was a reset."""
        self._labels.start(self._over)
        letters = self._labels.read(infos, self._everywhere)
        observations, infos, letters = self._pass_gate(
            self._over, observations, infos, letters, None
        )
        self.episodes.begin(self._over)
        return observations, infos, letters

    def _begin_anew(
        self, ended: Bools, observations: Any, infos: dict[str, Any], letters: Letters
    ) -> tuple[Any, dict[str, Any], Letters]:
        """SAME_STEP: the rows that ended show the first state of their next episode."""
        infos["final_obs"] = self._final_observations(infos.get("final_obs"), ended)
        infos["_final_obs"] = ended
        observations, infos, letters = self._pass_gate(ended, observations, infos, letters, None)
        self.episodes.begin(ended)
        events = self.episodes.advance(letters.array, ended)
        infos["safety"]["reset_events"], infos["safety"]["_reset_events"] = events, ended
        return observations, infos, letters

    def _counts(self, events: StepEvents, rows: Bools) -> dict[str, NDArray[Any]]:
        """The counts of the episodes that ended in ``rows``, zero elsewhere."""
        where = np.flatnonzero(rows)
        ended = Tally(self.episodes.tally.counts[:, where]).to_counts(
            StepEvents(events.codes[where])
        )
        counts = {}
        for key, values in ended._asdict().items():
            counts[key] = np.zeros(events.codes.shape, values.dtype)
            counts[key][where] = values
        return counts

    def _pass_gate(
        self,
        rows: Bools,
        observations: Any,
        infos: dict[str, Any],
        letters: Letters,
        seeds: list[int | None] | None,
    ) -> tuple[Any, dict[str, Any], Letters]:
        """Reset those of ``rows`` again whose first letter violates a gated specification."""
        if len(self._gated) == 0:
            return observations, infos, letters
        for attempt in range(1, self._gate_attempts + 1):
            violated = self._violated_at_reset(letters.array) & rows[:, None]
            failing: Bools = np.any(violated, axis=1)
            if not failing.any():
                return observations, infos, letters
            if attempt == self._gate_attempts:
                break
            again = None if seeds is None else [derived_seed(seed, attempt) for seed in seeds]
            observations, new = reset_rows(self.env, failing, again, observations)
            self._labels.start(failing)
            fresh = self._labels.read(new, failing)
            named = {
                name: np.where(failing, fresh.named[name], letters.named[name])
                for name in letters.named
            }
            letters = Letters(named, np.where(failing[:, None], fresh.array, letters.array))
            infos = merge_infos(infos, new, failing)
        row = int(np.flatnonzero(failing)[0])
        letter = {
            name: bool(letters.named[name][row]) for name in self.episodes.tables.propositions
        }
        raise gate_failed(
            self.specs,
            [int(i) for i in self._gated[violated[row]]],
            letter,
            self._gate_attempts,
            f"environment {row}",
        )

    def _violated_at_reset(self, letters: Bools) -> Bools:
        tables = self.episodes.tables
        _, events = step(tables, initial_state(tables, (self.num_envs,)), letters)
        violated: Bools = events.violated[:, self._gated]
        return violated

    def _observe(self, observations: Any) -> Any:
        vectors = self._feature_vectors(slice(None))
        return observations if vectors is None else self._merger.merge(observations, vectors)

    def _feature_vectors(self, rows: slice | NDArray[np.intp]) -> NDArray[np.float32] | None:
        """The monitor features of ``rows``, ``[rows, F]``."""
        if self._features is None:
            return None
        episodes = self.episodes
        memory = episodes.model.memory(Tally(episodes.tally.counts[:, rows]))
        return self._features.vector(episodes.state.automaton[rows], memory)

    def _final_observations(self, given: Any, ended: Bools) -> NDArray[np.object_]:
        """Return the last observation of each row that ended, ``None`` elsewhere."""
        final = np.full(self.num_envs, None, dtype=object)
        if given is None:
            return final
        where = np.flatnonzero(ended)
        vectors = self._feature_vectors(where)
        for i, row in enumerate(where):
            own = take_row(given, int(row))
            final[row] = own if vectors is None else self._merger.merge(own, vectors[i])
        return final


def _row_seeds(seed: Seeds, num_envs: int) -> list[int | None] | None:
    """Spread a seed over rows as Gymnasium does: ``seed + i`` for environment ``i``."""
    if seed is None or isinstance(seed, list):
        return seed
    return [seed + i for i in range(num_envs)]
