"""Exact answers on a product: policy evaluation, value iteration, the constrained optimum.

A stationary policy's occupancy measure ``x(s, a)`` is the expected number of times that action
``a`` is taken in state ``s`` in one episode. Returns and costs are linear in it, and the occupancy
measures are exactly the solutions of a flow equation, so that the constrained optimum is a linear
program (Altman, "Constrained Markov Decision Processes", 1999). Episodes end with a fixed
probability at each step, so the measure is finite without discounting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.exact.backend import linprog, sparse, spsolve
from safe_rl.algos.exact.product import ProductCMDP
from safe_rl.errors import ConfigurationError

Floats = NDArray[np.float64]


class Evaluation(NamedTuple):
    """What a stationary policy earns and costs in one episode, in expectation.

    Attributes:
        value: Expected return.
        constraint_values: Expected episode sums of the constraints' signals, ``[K]``.
        triggered: E[N] per monitor instance, ``[I]``.
        violated: E[V], ``[I]``.
        exposed: E[U], ``[I]``.
        occupancy: Expected visits, ``[N, A]``.
        length: Expected number of steps.
    """

    value: float
    constraint_values: Floats
    triggered: Floats
    violated: Floats
    exposed: Floats
    occupancy: Floats
    length: float


class Solution(NamedTuple):
    """A constrained optimum.

    Attributes:
        value: The best expected return under the limits.
        occupancy: Its occupancy measure, ``[N, A]``.
        policy: Action probabilities, ``[N, A]``; uniform in states that it never visits.
        constraint_values: Expected episode sums of all constraints' signals, ``[K]``, those that
            were left out of the program too.
        multipliers: Return lost per unit by which a bound is tightened, ``[K]``; zero where the
            limit does not bind or was left out.
    """

    value: float
    occupancy: Floats
    policy: Floats
    constraint_values: Floats
    multipliers: Floats


class Optimum(NamedTuple):
    """What value iteration found: state values ``[N]``, action values ``[N, A]``."""

    values: Floats
    action_values: Floats

    def greedy(self, tolerance: float = 1e-9) -> NDArray[np.bool_]:
        """Which actions are optimal up to ``tolerance``, ``bool [N, A]``."""
        best = self.action_values.max(axis=1, keepdims=True)
        return np.asarray(self.action_values >= best - tolerance)


def evaluate_policy(cmdp: ProductCMDP, policy: NDArray[np.floating]) -> Evaluation:
    """Evaluate a stationary policy ``[N, A]`` exactly, by one sparse linear solve.

    Raises:
        ConfigurationError: The shape is wrong, or a row is no distribution.
    """
    probabilities = np.asarray(policy, np.float64)
    shape = (cmdp.num_states, cmdp.num_actions)
    if probabilities.shape != shape:
        raise ConfigurationError(f"policy must have shape {shape}, got {probabilities.shape}")
    off = np.abs(probabilities.sum(axis=1) - 1.0)
    if off.max() > 1e-5 or probabilities.min() < 0.0:
        raise ConfigurationError(
            f"policy[{int(off.argmax())}] is no distribution: {probabilities[off.argmax()]}"
        )
    mixing = _mixing(probabilities)
    kept = (mixing @ cmdp.transition).T.tocsc()
    visits = spsolve(sparse.eye_array(cmdp.num_states, format="csc") - kept, cmdp.initial)
    return _evaluation(cmdp, probabilities * visits[:, None])


def value_iteration(
    cmdp: ProductCMDP,
    reward: NDArray[np.floating] | None = None,
    *,
    tolerance: float = 1e-11,
    max_sweeps: int = 1_000_000,
) -> Optimum:
    """Unconstrained optimum by value iteration.

    Undiscounted: the chance that an episode ends at a step makes each sweep a contraction.

    Args:
        cmdp: The product.
        reward: Expected reward per row, ``[N * A]``, instead of the product's own.
        tolerance: Bound on the error of the returned values.
        max_sweeps: Bound on the number of sweeps.

    Raises:
        ConfigurationError: The shape is wrong, or ``max_sweeps`` was reached.
    """
    gains = cmdp.reward if reward is None else np.asarray(reward, np.float64)
    if gains.shape != cmdp.reward.shape:
        raise ConfigurationError(f"reward must have shape {cmdp.reward.shape}, got {gains.shape}")
    contraction = 1.0 - cmdp.model.termination
    values = np.zeros(cmdp.num_states)
    for _ in range(max_sweeps):
        action_values = gains + cmdp.transition @ values
        updated = action_values.reshape(cmdp.num_states, cmdp.num_actions).max(axis=1)
        change = float(np.abs(updated - values).max())
        values = updated
        if change * contraction <= tolerance * (1.0 - contraction):
            final = (gains + cmdp.transition @ values).reshape(cmdp.num_states, cmdp.num_actions)
            return Optimum(values, final)
    raise ConfigurationError(
        f"value iteration did not reach {tolerance} in {max_sweeps} sweeps (last change {change}); "
        "raise max_sweeps or tolerance"
    )


def solve_lp(
    cmdp: ProductCMDP,
    constraints: Sequence[str] | Mapping[str, float] | None = None,
    *,
    reward: NDArray[np.floating] | None = None,
) -> Solution:
    """Best stationary policy under limits, by linear programming (SciPy's HiGHS).

    Args:
        cmdp: The product.
        constraints: ``None`` for every limit of the specifications; ids for those only (``()`` for
            none: the unconstrained optimum); a mapping of ids to bounds on the expected episode sum
            instead of the limits' own thresholds (``inf`` for no bound).
        reward: Objective per row, ``[N * A]``, instead of the product's reward.

    Raises:
        ConfigurationError: An id without a limit, or limits that no policy can meet.
    """
    bounds = _bounds(cmdp, constraints)
    active = np.flatnonzero(np.isfinite(bounds))
    states, actions = cmdp.num_states, cmdp.num_actions
    objective = cmdp.reward if reward is None else np.asarray(reward, np.float64)
    leaves = sparse.kron(sparse.eye_array(states), np.ones((1, actions)), format="csr")
    costs = cmdp.expected.constraint_costs[:, active].T
    result = linprog(
        -objective,
        A_eq=leaves - cmdp.transition.T,
        b_eq=cmdp.initial,
        A_ub=sparse.csr_array(costs) if len(active) else None,
        b_ub=bounds[active] - cmdp.at_reset.constraint_costs[active] if len(active) else None,
        bounds=(0.0, None),
        # With crossover to a vertex; about three times as fast here as the simplex method.
        method="highs-ipm",
    )
    if not result.success:
        limits = ", ".join(f"{cmdp.constraints[k].id} <= {bounds[k]:g}" for k in active)
        raise ConfigurationError(
            f"no policy meets the limits {limits or '(none)'}: {result.message} Relax a limit; "
            "solve_lp(cmdp, (), reward=-cmdp.expected.constraint_costs[:, k]) gives the least value"
            " of constraint k"
        )
    occupancy = np.maximum(result.x, 0.0).reshape(states, actions)
    multipliers = np.zeros(len(cmdp.constraints))
    if len(active):
        multipliers[active] = np.maximum(-result.ineqlin.marginals, 0.0)
    return Solution(
        value=float(occupancy.reshape(-1) @ objective),
        occupancy=occupancy,
        policy=policy_of_occupancy(occupancy),
        constraint_values=_evaluation(cmdp, occupancy).constraint_values,
        multipliers=multipliers,
    )


def policy_of_occupancy(occupancy: Floats) -> Floats:
    """The stationary policy ``[N, A]`` that has this occupancy; uniform in unvisited states."""
    visits = occupancy.sum(axis=1, keepdims=True)
    uniform = np.full_like(occupancy, 1.0 / occupancy.shape[1])
    # Below this a visit is the solver's rounding, and its ratios would be noise.
    return np.where(visits > 1e-10, occupancy / np.maximum(visits, 1e-300), uniform)


def _evaluation(cmdp: ProductCMDP, occupancy: Floats) -> Evaluation:
    flat = occupancy.reshape(-1)
    sums = [start + flat @ rates for start, rates in zip(cmdp.at_reset, cmdp.expected, strict=True)]
    return Evaluation(
        value=float(flat @ cmdp.reward),
        constraint_values=sums[0],
        triggered=sums[1],
        violated=sums[2],
        exposed=sums[3],
        occupancy=occupancy,
        length=float(flat.sum()),
    )


def _mixing(policy: Floats) -> sparse.csr_array:
    """Sparse ``[N, N * A]`` that averages rows over a policy's actions."""
    states, actions = policy.shape
    pointers = np.arange(states + 1) * actions
    return sparse.csr_array(
        (policy.reshape(-1), np.arange(states * actions), pointers),
        shape=(states, states * actions),
    )


def _bounds(cmdp: ProductCMDP, constraints: Sequence[str] | Mapping[str, float] | None) -> Floats:
    if constraints is None:
        return cmdp.thresholds
    if isinstance(constraints, str):
        constraints = [constraints]
    bounds = np.full(len(cmdp.constraints), np.inf)
    for spec_id in constraints:
        k = cmdp.constraint_position(spec_id)
        given = isinstance(constraints, Mapping)
        bounds[k] = constraints[spec_id] if given else cmdp.thresholds[k]  # type: ignore[call-overload]
    return bounds
