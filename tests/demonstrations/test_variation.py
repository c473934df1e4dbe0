from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from safe_rl.demonstrations.engine.variation import Choice, Mixture, Range
from safe_rl.errors import ConfigurationError

PARAMETERS = (Choice("manner", ("careful", "hasty"), (3.0, 1.0)), Range("speed", 0.2, 0.6))


def test_draws_follow_the_weights_and_the_generator() -> None:
    mixture = Mixture.of(PARAMETERS, None)
    draws = [mixture.draw(np.random.default_rng(seed)) for seed in range(2000)]
    share = Counter(draw["manner"] for draw in draws)["careful"] / len(draws)
    assert abs(share - 0.75) < 0.05
    assert all(0.2 <= float(draw["speed"]) <= 0.6 for draw in draws)
    assert draws[7] == mixture.draw(np.random.default_rng(7))


def test_a_value_lies_in_the_cell_it_was_drawn_from() -> None:
    speed, rng = PARAMETERS[1], np.random.default_rng(0)
    for cell in range(speed.size):
        assert speed.cell(speed.value(cell, rng)) == cell
    assert speed.label(0) == "0.2 to 0.3"


def test_only_hasty_draws() -> None:
    mixture = Mixture.of(PARAMETERS, {"manner": {"hasty": 2.0}})
    assert mixture.draw(np.random.default_rng(0))["manner"] == "hasty"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"maner": {"hasty": 1.0}}, "no choice 'maner'; did you mean 'manner'"),
        ({"manner": {"hastily": 1.0}}, "no option 'hastily'; did you mean 'hasty'"),
        ({"manner": {"hasty": 0.0}}, "one above it"),
        ({"manner": {"hasty": float("nan")}}, "at least 0"),
    ],
)
def test_wrong_weights_are_refused(changed: dict[str, dict[str, float]], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Mixture.of(PARAMETERS, changed)
