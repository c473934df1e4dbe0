"""Small models whose answers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from safe_rl.envs.tabular import TransitionModel

Outcome = tuple[float, str, float]  # probability, state reached, reward


def tabulate(
    moves: Mapping[str, Sequence[Sequence[Outcome]]],
    labels: Mapping[str, Sequence[str]],
    *,
    start: str,
    termination: float,
) -> TransitionModel:
    """Build a model from a list of outcomes per state and action, and the true propositions."""
    names = list(moves)
    propositions = tuple(dict.fromkeys(name for row in labels.values() for name in row))
    most = max(len(row) for rows in moves.values() for row in rows)
    shape = (len(names), len(next(iter(moves.values()))), most)
    next_state, probability, reward = np.zeros(shape, np.int32), np.zeros(shape), np.zeros(shape)
    for s, rows in enumerate(moves.values()):
        for a, row in enumerate(rows):
            for k, (chance, target, gain) in enumerate(row):
                next_state[s, a, k] = names.index(target)
                probability[s, a, k] = chance
                reward[s, a, k] = gain
    return TransitionModel(
        next_state=next_state,
        probability=probability,
        reward=reward,
        initial=np.array([1.0 if name == start else 0.0 for name in names]),
        labels=np.array([[p in labels.get(name, ()) for p in propositions] for name in names]),
        propositions=propositions,
        termination=termination,
    )


def shortcut(termination: float = 0.1) -> TransitionModel:
    """From ``home``, the road pays 1; the short cut pays 2 and is ``risky``. Both lead back home.

    Every other step leaves ``home``, so that with termination ``t`` an episode has
    1 + (1 - t)**2 + ... = 1 / (t (2 - t)) departures in expectation.
    """
    return tabulate(
        {
            "home": [[(1.0, "road", 1.0)], [(1.0, "cut", 2.0)]],
            "road": [[(1.0, "home", 0.0)], [(1.0, "home", 0.0)]],
            "cut": [[(1.0, "home", 0.0)], [(1.0, "home", 0.0)]],
        },
        {"cut": ["risky"]},
        start="home",
        termination=termination,
    )


def departures(termination: float) -> float:
    """Expected number of steps that leave ``home`` in ``shortcut``."""
    return 1.0 / (termination * (2.0 - termination))
