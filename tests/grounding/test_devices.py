"""The smoothing devices, on sequences whose values follow from SafeManip's table 5 by counting."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError
from safe_rl.grounding import (
    AgeCounter,
    Edge,
    Latch,
    StickyTrueDebounce,
    SymmetricDebounce,
    TimeoutCounter,
)

T, F = True, False
booleans = st.lists(st.booleans(), min_size=1, max_size=60)


def run(device: Any, readings: list[bool]) -> list[bool]:
    return [device.reset(readings[0]), *(device.step(reading) for reading in readings[1:])]


def test_symmetric_debounce_flips_on_the_fifth_frame_in_either_direction() -> None:
    readings = [F] + [T] * 5 + [F] * 5
    assert run(SymmetricDebounce(5), readings) == [F] * 5 + [T] * 5 + [F]


# SafeManip notes: a one-frame bilateral contact flicker inside a hold is no grasp end
@pytest.mark.parametrize("dropout", [1, 2, 3, 4])
def test_flicker_inside_a_hold_is_no_grasp_end(dropout: int) -> None:
    held, ends = SymmetricDebounce(5), Edge(rising=False)
    readings = [T] * 10 + [F] * dropout + [T] * 10
    levels = run(held, readings)
    assert levels == [T] * len(readings)
    assert not any(run(ends, levels))


def test_a_stray_touch_is_no_grasp() -> None:
    assert run(SymmetricDebounce(5), [F, T, T, T, T, F, T, T, T, T, F]) == [F] * 11


def test_sticky_true_rises_at_once_and_falls_on_the_fifth_frame() -> None:
    assert run(StickyTrueDebounce(5), [F, T] + [F] * 5 + [T]) == [F, T, T, T, T, T, F, T]


def test_age_counter_becomes_true_on_the_21st_frame() -> None:
    # phi 1: "has held for more than 20 consecutive frames, i.e. it becomes true on the 21st"
    values = run(AgeCounter(20), [T] * 25 + [F, T])
    assert values == [F] * 20 + [T] * 5 + [F, F]


def test_timeout_counter_is_true_100_frames_after_its_start() -> None:
    device = TimeoutCounter(100)
    device.reset()
    assert not device.step(started=True, resolved=False)  # frame 0
    values = [device.step(started=False, resolved=False) for _ in range(120)]  # frames 1 to 120
    assert values == [F] * 99 + [T] * 21
    assert not device.step(started=False, resolved=True)
    assert not any(device.step(started=False, resolved=False) for _ in range(200))


def test_timeout_counter_does_not_start_when_resolved_on_the_same_frame() -> None:
    device = TimeoutCounter(1)
    device.reset()
    assert not device.step(started=True, resolved=True)
    assert not device.step(started=False, resolved=False)


def test_edges_and_latch() -> None:
    assert run(Edge(rising=True), [T, F, T, T, F]) == [F, F, T, F, F]
    assert run(Edge(rising=False), [T, F, T, T, F]) == [F, T, F, F, T]
    latch = Latch()
    latch.reset(False)
    assert [latch.step(s, c) for s, c in ((F, F), (T, F), (F, F), (T, T), (F, F))] == [
        F,
        T,
        T,
        F,
        F,
    ]


@given(booleans, st.integers(1, 7))
def test_symmetric_debounce_is_the_last_value_that_held_for_the_window(
    readings: list[bool], window: int
) -> None:
    expected = readings[0]
    levels = run(SymmetricDebounce(window), readings)
    for index, level in enumerate(levels):
        recent = readings[max(0, index - window + 1) : index + 1]
        # The first frame's reading counts as settled, so runs are counted from the second.
        if index >= window and len(set(recent)) == 1:
            expected = recent[0]
        assert level == expected


@given(booleans, st.integers(1, 7))
def test_sticky_true_is_true_within_the_window_after_a_true_reading(
    readings: list[bool], window: int
) -> None:
    levels = run(StickyTrueDebounce(window), readings)
    for index, level in enumerate(levels):
        assert level == any(readings[max(0, index - window + 1) : index + 1])


@given(booleans, st.integers(0, 7))
def test_age_counter_counts_the_current_run(readings: list[bool], tolerance: int) -> None:
    values = run(AgeCounter(tolerance), readings)
    for index, value in enumerate(values):
        recent = readings[max(0, index - tolerance) : index + 1]
        assert value == (len(recent) == tolerance + 1 and all(recent))


def _devices() -> list[Any]:
    return [SymmetricDebounce(3), StickyTrueDebounce(3), AgeCounter(2), Edge(), Latch()]


@pytest.mark.parametrize("index", range(5))
@given(before=booleans, after=booleans)
def test_a_restored_device_goes_on_like_the_one_saved(
    index: int, before: list[bool], after: list[bool]
) -> None:
    device, other = _devices()[index], _devices()[index]
    run(device, before)
    assert all(0.0 <= feature <= 1.0 for feature in device.features)
    other.reset(False)
    other.set_state(device.get_state())
    assert other.value == device.value and other.features == device.features
    assert [other.step(r) for r in after] == [device.step(r) for r in after]


def test_a_restored_timeout_goes_on_like_the_one_saved() -> None:
    device, other = TimeoutCounter(4), TimeoutCounter(4)
    device.reset()
    device.step(started=True, resolved=False)
    device.step(started=False, resolved=False)
    other.set_state(device.get_state())
    assert device.features == other.features == (2 / 5,)
    rest = [(device.step(F, F), other.step(F, F)) for _ in range(5)]
    assert rest == [(F, F), (F, F), (T, T), (T, T), (T, T)]


@pytest.mark.parametrize("window", [0, -1, 2.5, True])
def test_a_window_is_a_positive_whole_number(window: Any) -> None:
    with pytest.raises(ConfigurationError, match="window must be a whole number of frames"):
        SymmetricDebounce(window)
    with pytest.raises(ConfigurationError, match="limit must be a whole number"):
        TimeoutCounter(window)
