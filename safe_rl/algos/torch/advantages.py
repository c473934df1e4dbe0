"""Advantages for the reward and for every cost, and their combination into one Lagrangian.

Source of the estimator: Schulman et al., "High-Dimensional Continuous Control Using Generalized
Advantage Estimation" (2016), equations 11, 12 and 16.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]


def generalised_advantages(
    signals: NDArray[np.floating],
    values: NDArray[np.floating],
    last_values: NDArray[np.floating],
    episode_starts: NDArray[np.floating],
    dones: NDArray[np.bool_],
    *,
    gamma: float,
    gae_lambda: float,
    bootstraps: NDArray[np.floating] | None = None,
) -> Float32:
    """Return GAE(lambda) for any number of signals at once, termination and truncation apart.

    Shapes: ``T`` steps, ``B`` environments, ``...`` any trailing axes (one per cost).

    Args:
        signals: reward or cost of each step, ``[T, B, ...]``.
        values: critic's value of the state in which the step was taken, ``[T, B, ...]``.
        last_values: critic's value of the state after the last step, ``[B, ...]``.
        episode_starts: 1 where the step is the first of its episode, ``[T, B]``.
        dones: true where the last step ended an episode, ``[B]``.
        gamma: discount factor.
        gae_lambda: the trade-off between bias (0) and variance (1).
        bootstraps: critic's value of the final state of an episode that was *truncated* at this
            step, else 0, ``[T, B, ...]``. An episode that terminated has no future to add.

    Returns:
        The advantages, ``[T, B, ...]``; adding ``values`` gives the TD(lambda) returns.

    >>> signals, values = np.array([[1.0], [1.0]]), np.zeros((2, 1))
    >>> starts, dones = np.array([[1.0], [0.0]]), np.array([True])
    >>> generalised_advantages(signals, values, np.array([9.0]), starts, dones,
    ...                        gamma=0.5, gae_lambda=1.0).ravel().tolist()
    [1.5, 1.0]
    >>> generalised_advantages(signals, values, np.array([9.0]), starts, dones,
    ...                        gamma=0.5, gae_lambda=1.0,
    ...                        bootstraps=np.array([[0.0], [4.0]])).ravel().tolist()
    [2.5, 3.0]
    """
    steps = signals.shape[0]
    trailing = (1,) * (signals.ndim - 2)
    # An entry is 0 where the next step belongs to another episode: nothing flows over that edge.
    continues = np.empty((steps, signals.shape[1]), dtype=np.float32)
    continues[:-1] = 1.0 - episode_starts[1:]
    continues[-1] = 1.0 - dones.astype(np.float32)
    continues = continues.reshape(*continues.shape, *trailing)
    following = np.concatenate([values[1:], last_values[None]], axis=0)
    deltas = signals + gamma * following * continues - values
    if bootstraps is not None:
        deltas = deltas + gamma * bootstraps
    advantages = np.zeros(signals.shape, dtype=np.float32)
    running = np.zeros(signals.shape[1:], dtype=np.float32)
    for step in reversed(range(steps)):
        running = deltas[step] + gamma * gae_lambda * continues[step] * running
        advantages[step] = running
    return advantages


def lagrangian_advantages(
    advantages: NDArray[np.floating],
    cost_advantages: NDArray[np.floating],
    multipliers: NDArray[np.float64],
    *,
    normalise: bool = True,
    valid: NDArray[np.bool_] | None = None,
) -> tuple[Float32, float]:
    """Return the advantage of the Lagrangian, ``A_r - sum_i lambda_i A_i``, on one scale.

    Reward and costs are combined in their own units, and only their sum is centred and divided by
    its standard deviation. That is one positive affine map of the whole, so the gradient keeps the
    direction of the Lagrangian's, the saddle point stays where it is, and a multiplier keeps its
    meaning (reward per unit of cost). Normalising each signal by its own deviation would rescale
    every multiplier by a ratio that changes from batch to batch, and dividing by ``1 + sum lambda``
    is contained in the division by the deviation.

    Args:
        advantages: of the reward, ``[T, B]``.
        cost_advantages: of each cost, ``[T, B, K]``.
        multipliers: ``[K]``.
        normalise: centre and scale the result.
        valid: the steps that count for the mean and the deviation, ``[T, B]``; all by default.

    Returns:
        The combined advantage, ``[T, B]``, and the number that it was divided by: whatever else
        enters the objective in units of reward (an entropy bonus) has to be divided by it too.
    """
    scale = 1.0
    combined = advantages.astype(np.float64) - cost_advantages.astype(np.float64) @ multipliers
    if normalise:
        chosen = combined if valid is None else combined[valid]
        if chosen.size > 1:
            scale = float(chosen.std()) + 1e-8
            combined = (combined - chosen.mean()) / scale
    return combined.astype(np.float32), scale
