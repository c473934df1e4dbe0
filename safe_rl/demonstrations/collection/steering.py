"""Steers the next draws towards what a collection hardly covers.

The cross-entropy method (Rubinstein, 1999) with scores instead of an elite: for each rare mark that
an attempt touches (see ``coverage``) it scores what that mark lacks, and a parameter's weights move
towards the score-weighted frequencies of its options, as far as enough attempts tell them apart.
Every option keeps a part of its weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.demonstrations.collection.coverage import FEW, marks_of
from safe_rl.demonstrations.engine.variation import Draw, Mixture
from safe_rl.errors import RecordingError
from safe_rl.specs import SpecSet

LEARNED, KEPT = 0.8, 0.2
CAUTION = 10
"""Attempts of average merit that are added to those of each option: few attempts say little."""


def steered(
    mixture: Mixture, episodes: Sequence[Episode], draws: Sequence[Draw], specs: SpecSet
) -> Mixture:
    """The mixture after a collection has shown which draws lead to what is rare.

    Args:
        mixture: from which the draws came.
        episodes: of the collection.
        draws: of each of them.
        specs: whose coverage matters.

    Raises:
        RecordingError: a draw lacks a parameter: the collection is of another family.
    """
    scores = rarity(episodes, specs)
    if not scores.sum():
        return mixture
    weights = {}
    for parameter in mixture.parameters:
        name, before = parameter.name, mixture.weights[parameter.name]
        try:
            cells = np.array([parameter.cell(draw[name]) for draw in draws])
        except (KeyError, ValueError):
            raise RecordingError(
                f"the collection that steers does not know the parameter {name!r}, or one of its "
                "options; steer by a collection of the same family"
            ) from None
        gained = np.bincount(cells, weights=scores, minlength=parameter.size)
        tries = np.bincount(cells, minlength=parameter.size)
        merit = (gained + CAUTION * scores.mean()) / (tries + CAUTION)
        wanted = before * merit
        weights[name] = KEPT * before + LEARNED * wanted / wanted.sum()
    return Mixture(mixture.parameters, weights)


def rarity(episodes: Sequence[Episode], specs: SpecSet) -> NDArray[np.float64]:
    """The score of each episode: the sum of what each mark lacks that it touches."""
    scores = np.zeros(len(episodes))
    for marks in marks_of(episodes, specs).values():
        for touched in marks.values():
            scores += touched * lack(int(touched.sum()), len(episodes))
    return scores


def lack(count: int, episodes: int) -> float:
    """Which part of the episodes that cover a mark well, ``FEW`` or a tenth of all, is missing."""
    return max(0.0, 1.0 - count / max(FEW, episodes / 10))


def weights_of(mixture: Mixture) -> Mapping[str, tuple[float, ...]]:
    """The weights as plain numbers, as settings keep them."""
    return {name: tuple(values.tolist()) for name, values in mixture.weights.items()}
