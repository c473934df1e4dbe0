"""The product of a tabular environment with its monitors, as a constrained MDP in matrices.

There is no second definition of anything here: the monitors are stepped by ``safe_rl.monitors``
over the label of the state reached, and a step's costs are read off
``safe_rl.wrappers.constraints``. So a run of ``ProductMDP`` over the same model is a path through
this product, with the same costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.exact.backend import sparse
from safe_rl.envs.tabular import TransitionModel
from safe_rl.errors import ConfigurationError, near
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import Constraint
from safe_rl.wrappers.features import FeatureKind, MonitorFeatures

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Expected(NamedTuple):
    """Expectations per row, a row being a state and an action (or the reset: one row).

    Attributes:
        constraint_costs: The signals that the limits bound, ``[rows, K]``.
        triggered: Triggered events (N), ``[rows, I]``.
        violated: Violations (V), ``[rows, I]``.
        exposed: Steps in violation (U), ``[rows, I]``.
    """

    constraint_costs: Floats
    triggered: Floats
    violated: Floats
    exposed: Floats


class Outcomes(NamedTuple):
    """Every possible single step, ``T`` of them.

    Attributes:
        row: ``int64 [T]``, from which state under which action (see ``ProductCMDP``).
        column: ``int64 [T]``, the product state reached.
        probability: ``float64 [T]``, the chance of this outcome, whether or not the episode ends.
        reward: ``float64 [T]``.
        step: Costs and events of the step, ``T`` rows.
        end: What is added if the episode ends with this step, ``T`` rows.
    """

    row: Ints
    column: Ints
    probability: Floats
    reward: Floats
    step: Expected
    end: Expected


@dataclass(frozen=True, eq=False)
class ProductCMDP:
    """Environment states x monitor states x what the limits remember, restricted to the reachable.

    Product state ``n`` stands for environment state ``env_states[n]``, automaton states
    ``automata[n]`` and memory ``memory[n]`` (one violated bit per probability limit, then one count
    of credited events per capped per-trigger limit). Row ``n * num_actions + a`` of the matrices
    is action ``a`` there.

    Attributes:
        model: The environment.
        specs: The bound specifications.
        constraints: Their limits, in the order of the costs' columns.
        env_states: ``int64 [N]``.
        automata: ``int64 [N, I]``, as in ``MonitorState.automaton``.
        memory: ``int64 [N, M]``.
        transition: Sparse ``[N * A, N]``; rows sum to one minus the chance that the episode ends.
        reward: Expected reward, ``float64 [N * A]``.
        expected: Expected costs and events of a step, what the episode's end decides included.
        initial: Distribution of the state after reset, ``float64 [N]``.
        at_reset: The same expectations for the letter that reset consumes, ``[K]`` and ``[I]``.
            ``ProductMDP`` charges it with the episode's first step.
        outcomes: What ``transition``, ``reward`` and ``expected`` are the averages of.
    """

    model: TransitionModel
    specs: SpecSet
    constraints: tuple[Constraint, ...]
    env_states: Ints
    automata: Ints
    memory: Ints
    transition: sparse.csr_array
    reward: Floats
    expected: Expected
    initial: Floats
    at_reset: Expected
    outcomes: Outcomes
    _machine_states: tuple[int, ...]
    _memory_names: tuple[str, ...]
    _caps: Ints
    _index: dict[bytes, int] = field(repr=False)

    @property
    def num_states(self) -> int:
        """Number of reachable product states ``N``."""
        return len(self.env_states)

    @property
    def num_actions(self) -> int:
        """Number of actions ``A``."""
        return self.model.num_actions

    @property
    def thresholds(self) -> Floats:
        """Bounds of the constraints' expected episode sums, ``float64 [K]``."""
        return np.array([c.threshold for c in self.constraints], np.float64)

    @property
    def memory_features(self) -> Floats:
        """``memory`` as ``CostModel.memory`` shows it, each entry in [0, 1], ``float64 [N, M]``."""
        return np.asarray(self.memory / np.maximum(self._caps, 1), np.float64)

    def constraint_position(self, spec_id: str) -> int:
        """Column of the constraint of specification ``spec_id``.

        Raises:
            ConfigurationError: That specification carries no limit.
        """
        ids = [c.id for c in self.constraints]
        if spec_id not in ids:
            raise ConfigurationError(
                f"no limit on {spec_id!r}{near(spec_id, ids)}; limits are set on "
                f"{', '.join(ids) or 'no specification'}"
            )
        return ids.index(spec_id)

    def indices(
        self, env_states: NDArray[Any], automata: NDArray[Any], memory: NDArray[Any]
    ) -> Ints:
        """Product states with these parts, ``int64 [n]``.

        Args:
            env_states: Environment states, ``int [n]``.
            automata: Monitor states, ``int [n, I]``.
            memory: What the limits remember, as features in [0, 1], ``[n, M]``.

        Raises:
            ConfigurationError: A combination cannot be reached from the initial states.
        """
        counts = np.rint(np.asarray(memory, np.float64) * np.maximum(self._caps, 1))
        rows = np.column_stack([env_states, automata, counts.astype(np.int64)])
        keys = row_keys(rows)
        missing = next((i for i, key in enumerate(keys) if key not in self._index), None)
        if missing is not None:
            raise ConfigurationError(
                f"environment state {rows[missing, 0]} with monitor states and memory "
                f"{rows[missing, 1:].tolist()} is not reachable in this product; was it built "
                "from the same model and the same specifications?"
            )
        return np.array([self._index[key] for key in keys], np.int64)

    def monitor_features(self, kind: FeatureKind = "one_hot") -> NDArray[np.float32]:
        """The features that ``ProductMDP`` puts into the observation, ``float32 [N, F]``."""
        layout = MonitorFeatures(
            [instance.id for instance in self.specs.instances],
            self._machine_states,
            self._memory_names,
            kind,
        )
        return layout.vector(self.automata, self.memory_features)

    def observations(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """What a policy sees in each product state, ``float32 [N, D + F]``.

        Args:
            table: The environment's own observation in each of its states, ``[S, D]``, such as
                ``env.unwrapped.observation_table`` with ``observation="features"``.
        """
        return np.concatenate([table[self.env_states], self.monitor_features("one_hot")], axis=1)

    def row(self, state: int, action: int) -> int:
        """Row of the matrices for ``action`` in product state ``state``."""
        return state * self.num_actions + action


def row_keys(rows: NDArray[np.int64]) -> list[bytes]:
    """One hashable key per row of ``[n, width]``."""
    rows = np.ascontiguousarray(rows, np.int64)
    keys: list[bytes] = rows.view(f"V{rows.shape[1] * rows.itemsize}").reshape(-1).tolist()
    return keys
