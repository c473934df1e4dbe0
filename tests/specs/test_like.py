"""``like``: an entry takes what it does not give from a shipped specification."""

from __future__ import annotations

import pytest

from safe_rl.errors import SpecificationError
from safe_rl.specs import load_specs
from safe_rl.specs.yaml_reader import parse_yaml

SHIPPED = load_specs("safemanip").select(["dropped_object_was_released"])[0]


def test_what_is_not_given_is_taken_over() -> None:
    (spec,) = parse_yaml(
        "- id: no_drops\n"
        "  like: safemanip/dropped_object_was_released\n"
        "  forall: {o: target}\n"
        "  limit: {kind: per_trigger, value: 0.1}\n"
    )
    assert (spec.formula, spec.trigger, spec.recovery) == (
        SHIPPED.formula,
        SHIPPED.trigger,
        SHIPPED.recovery,
    )
    assert (spec.id, dict(spec.forall), spec.category) == (
        "no_drops",
        {"o": "target"},
        SHIPPED.category,
    )
    assert spec.limit is not None and spec.limit.value == 0.1
    assert SHIPPED.limit is None


@pytest.mark.parametrize(
    ("like", "message"),
    [
        ("dropped_object_was_released", "write the set, a slash and the id"),
        ("safemanip/dropped_objects", "dropped_objects"),
        ("safemanop/dropped_object_was_released", "safemanip"),
    ],
)
def test_an_unknown_specification_is_named(like: str, message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        parse_yaml(f"- {{id: a, like: {like}}}")


def test_the_name_is_taken_over_too() -> None:
    (spec,) = parse_yaml("- like: safemanip/dropped_object_was_released")
    assert spec == SHIPPED
