"""One small environment that every learner of ``peers`` can be given: a drifting point.

Eight numbers decay towards zero, are pushed by two actions and by noise; the reward is the negative
squared distance, and the point is ``far`` where its first coordinate is. It never terminates.
Plain operators only, so NumPy, torch and jax arrays all pass through, ``[..., SIZE]``.
"""

from typing import Any

SIZE = 8
ACTIONS = 2
HORIZON = 1000
FAR = 0.3
PUSHES = (
    (1.0, 0.0, 0.5, -0.5, 0.2, 0.0, -0.3, 0.1),
    (0.0, 1.0, 0.5, 0.5, 0.0, 0.2, 0.1, -0.3),
)
"""What one unit of each action adds, ``[ACTIONS, SIZE]``."""


def moved(point: Any, push: Any, noise: Any) -> Any:
    """Return the next point; ``push`` is action @ PUSHES, ``noise`` standard normal."""
    return 0.95 * point + 0.1 * push + 0.02 * noise


def reward(point: Any) -> Any:
    """Return the reward of the point reached, ``[...]``."""
    return -(point * point).sum(-1)


def far(point: Any) -> Any:
    """Return whether the point is where it should not be, ``[...]``."""
    return point[..., 0] > FAR
