"""Demonstrations with two ways of doing a task: one goes to the left and is safe, one hits a wall.

State: noise. Action: one number. ``go`` holds from the letter on that the first step reaches; in
every second episode the action is +1 instead of -1, and the third step hits the wall.
"""

from __future__ import annotations

import numpy as np

from safe_rl.data import Episode
from safe_rl.specs import Limit, Specification, SpecSet

STEPS = 6
SPECS = SpecSet(
    [Specification("no_hit", "G(go -> G !hit)", trigger="go", limit=Limit("per_trigger", 0.1))]
)


def episode(unsafe: bool, rng: np.random.Generator, success: bool = True) -> Episode:
    state = rng.normal(size=(STEPS + 1, 3)).astype(np.float32)
    actions = np.full((STEPS, 1), 1.0 if unsafe else -1.0) + 0.1 * rng.normal(size=(STEPS, 1))
    letters = np.zeros((STEPS + 1, 2), bool)
    letters[1:, 0] = True
    letters[3, 1] = unsafe
    return Episode(
        propositions=("go", "hit"),
        letters=letters,
        rewards=np.ones(STEPS),
        terminated=True,
        truncated=False,
        success=success,
        instruction="reach",
        actions=actions.astype(np.float32),
        observations={"state": state},
    )


def episodes(count: int = 40, seed: int = 0) -> list[Episode]:
    rng = np.random.default_rng(seed)
    return [episode(bool(number % 2), rng) for number in range(count)]
