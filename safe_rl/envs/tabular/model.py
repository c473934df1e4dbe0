"""The transition model of a tabular environment: what the simulator samples and planners solve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError

PROBABILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class TransitionModel:
    """A finite Markov decision process with labelled states and a constant chance to end.

    From state ``s`` under action ``a``, outcome ``k`` happens with ``probability[s, a, k]``, leads
    to ``next_state[s, a, k]`` and pays ``reward[s, a, k]``. Rows with fewer than ``K`` outcomes are
    padded with probability zero. After every step, and independently of it, the episode ends
    (*terminates*) with probability ``termination``; because of that, undiscounted episode sums are
    sums over the occupancy measure of the surviving process, and no discount is needed.

    Attributes:
        next_state: ``int32 [S, A, K]``.
        probability: ``float64 [S, A, K]``; each row sums to one.
        reward: ``float64 [S, A, K]``.
        initial: ``float64 [S]``, the distribution of the first state.
        labels: ``bool [S, P]``; ``labels[s]`` is the letter L(s) of the state *reached*.
        propositions: the ``P`` names of the labels' columns.
        termination: chance in (0, 1] that a step is the last one of its episode.

    Raises:
        ConfigurationError: Shapes disagree, a row is no distribution, or an index is out of range.
    """

    next_state: NDArray[np.int32]
    probability: NDArray[np.float64]
    reward: NDArray[np.float64]
    initial: NDArray[np.float64]
    labels: NDArray[np.bool_]
    propositions: tuple[str, ...]
    termination: float

    def __post_init__(self) -> None:
        shape = self.next_state.shape
        if len(shape) != 3 or self.probability.shape != shape or self.reward.shape != shape:
            raise ConfigurationError(
                "next_state, probability and reward must share one shape [S, A, K], got "
                f"{shape}, {self.probability.shape} and {self.reward.shape}"
            )
        if self.initial.shape != shape[:1]:
            raise ConfigurationError(
                f"initial must have shape [S] = {shape[:1]}, got {self.initial.shape}"
            )
        if self.labels.shape != (shape[0], len(self.propositions)):
            raise ConfigurationError(
                f"labels must have shape [S, P] = ({shape[0]}, {len(self.propositions)}), "
                f"got {self.labels.shape}"
            )
        if not 0.0 < self.termination <= 1.0:
            raise ConfigurationError(
                f"termination must lie in (0, 1], got {self.termination}; "
                "without it undiscounted sums need not be finite"
            )
        self._check_distributions()

    def _check_distributions(self) -> None:
        if self.next_state.min() < 0 or self.next_state.max() >= self.num_states:
            raise ConfigurationError(
                f"next_state must lie in [0, {self.num_states}), got values from "
                f"{self.next_state.min()} to {self.next_state.max()}"
            )
        if self.probability.min() < 0.0 or self.initial.min() < 0.0:
            raise ConfigurationError("probabilities must not be negative")
        off = np.abs(self.probability.sum(axis=-1) - 1.0) > PROBABILITY_TOLERANCE
        if off.any():
            state, action = map(int, np.argwhere(off)[0])
            raise ConfigurationError(
                f"outcome probabilities of state {state}, action {action} sum to "
                f"{self.probability[state, action].sum()}, not to 1"
            )
        if abs(self.initial.sum() - 1.0) > PROBABILITY_TOLERANCE:
            raise ConfigurationError(f"initial sums to {self.initial.sum()}, not to 1")

    @property
    def num_states(self) -> int:
        """Number of states ``S``."""
        return int(self.next_state.shape[0])

    @property
    def num_actions(self) -> int:
        """Number of actions ``A``."""
        return int(self.next_state.shape[1])

    @property
    def num_outcomes(self) -> int:
        """Largest number of outcomes of a state and an action, ``K``."""
        return int(self.next_state.shape[2])

    @cached_property
    def cumulative(self) -> NDArray[np.float64]:
        """Running sums of the outcome probabilities, ``float64 [S * A, K]``.

        A uniform draw ``u`` selects the first outcome whose running sum exceeds it. The last
        possible outcome and the padding behind it hold exactly one, so that rounding never selects
        padding.
        """
        flat = self.probability.reshape(-1, self.num_outcomes)
        return _running_sums(flat)

    @cached_property
    def cumulative_by_outcome(self) -> NDArray[np.float64]:
        """``cumulative`` transposed, ``float64 [K, S * A]``: arrays compare twice as fast."""
        return np.ascontiguousarray(self.cumulative.T)

    @cached_property
    def cumulative_initial(self) -> NDArray[np.float64]:
        """Running sums of the initial distribution, ``float64 [S]``."""
        return _running_sums(self.initial[None]).reshape(-1)

    @cached_property
    def flat_next_state(self) -> NDArray[np.int32]:
        """``next_state`` with one row per state and action, ``int32 [S * A * K]``."""
        return np.ascontiguousarray(self.next_state.reshape(-1))

    @cached_property
    def flat_reward(self) -> NDArray[np.float64]:
        """``reward`` with one row per state and action, ``float64 [S * A * K]``."""
        return np.ascontiguousarray(self.reward.reshape(-1))


def _running_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative sums of each row, exactly one from the last positive entry on."""
    sums = np.cumsum(rows, axis=-1)
    last = rows.shape[-1] - 1 - np.argmax(rows[:, ::-1] > 0.0, axis=-1)
    sums[np.arange(rows.shape[-1])[None, :] >= last[:, None]] = 1.0
    return sums
