"""The array devices and the scalar ones, step by step on the same readings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.grounding import (
    AgeCounter,
    Edge,
    Latch,
    StickyTrueDebounce,
    SymmetricDebounce,
    TimeoutCounter,
)
from safe_rl.grounding.arrays.devices import (
    Debounce,
    age_counter,
    approach_counter,
    edge,
    latch,
    sticky_true_debounce,
    symmetric_debounce,
    timeout_counter,
)

jnp = pytest.importorskip("jax.numpy")
booleans = st.lists(st.booleans(), min_size=1, max_size=40)
pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)
windows = st.integers(1, 6)
NAMESPACES = [np, jnp]


def zero(xp: Any) -> Any:
    return xp.zeros((1,), dtype=xp.int16)


def boolean(xp: Any, value: bool) -> Any:
    return xp.asarray([value])


@pytest.mark.parametrize("xp", NAMESPACES)
@pytest.mark.parametrize(
    ("scalar", "function"),
    [(SymmetricDebounce, symmetric_debounce), (StickyTrueDebounce, sticky_true_debounce)],
)
@settings(max_examples=25, deadline=None)
@given(readings=booleans, window=windows)
def test_debounces(scalar: Any, function: Any, xp: Any, readings: list[bool], window: int) -> None:
    device = scalar(window)
    state = Debounce(boolean(xp, readings[0]), zero(xp))
    for index, reading in enumerate(readings):
        expected = device.step(reading) if index else device.reset(reading)
        state, value = function(state, boolean(xp, reading), window)
        assert bool(value[0]) == expected
        assert (int(state.value[0]), int(state.count[0])) == device.get_state()
        assert state.count.dtype == xp.int16


@pytest.mark.parametrize("xp", NAMESPACES)
@settings(max_examples=25, deadline=None)
@given(readings=booleans, tolerance=st.integers(0, 6))
def test_age_counter(xp: Any, readings: list[bool], tolerance: int) -> None:
    device, age = AgeCounter(tolerance), zero(xp)
    for index, reading in enumerate(readings):
        expected = device.step(reading) if index else device.reset(reading)
        age, value = age_counter(age, boolean(xp, reading), tolerance)
        assert (bool(value[0]), int(age[0])) == (expected, device.get_state()[0])
        assert age.dtype == xp.int16


@pytest.mark.parametrize("xp", NAMESPACES)
@settings(max_examples=25, deadline=None)
@given(events=pairs, limit=windows)
def test_timeout_counter(xp: Any, events: list[tuple[bool, bool]], limit: int) -> None:
    device, elapsed = TimeoutCounter(limit), zero(xp)
    device.reset()
    for started, resolved in events:
        expected = device.step(started, resolved)
        elapsed, value = timeout_counter(
            elapsed, boolean(xp, started), boolean(xp, resolved), limit
        )
        assert (bool(value[0]), int(elapsed[0]) - 1) == (expected, device.get_state()[0])
        assert elapsed.dtype == xp.int16


@pytest.mark.parametrize("xp", NAMESPACES)
@pytest.mark.parametrize("rising", [True, False])
@settings(max_examples=25, deadline=None)
@given(levels=booleans)
def test_edge(xp: Any, rising: bool, levels: list[bool]) -> None:
    device, state = Edge(rising), boolean(xp, levels[0])
    for index, level in enumerate(levels):
        expected = device.step(level) if index else device.reset(level)
        state, value = edge(state, boolean(xp, level), rising)
        assert bool(value[0]) == expected


@pytest.mark.parametrize("xp", NAMESPACES)
@settings(max_examples=25, deadline=None)
@given(events=pairs)
def test_latch(xp: Any, events: list[tuple[bool, bool]]) -> None:
    device, state = Latch(), boolean(xp, False)
    for set_, clear in events:
        state, value = latch(state, boolean(xp, set_), boolean(xp, clear))
        assert bool(value[0]) == device.step(set_, clear)


@pytest.mark.parametrize("xp", NAMESPACES)
@settings(max_examples=25, deadline=None)
@given(readings=booleans, window=windows)
def test_an_approach_is_confirmed_by_a_run_and_ended_by_a_longer_pause(
    xp: Any, readings: list[bool], window: int
) -> None:
    age, confirmed, run, pause = zero(xp), False, 0, 0
    for reading in readings:
        run, pause = (run + 1, 0) if reading else (0, pause + 1)
        confirmed = (confirmed and pause <= window) or run >= window
        age, value = approach_counter(age, boolean(xp, reading), window)
        assert bool(value[0]) == confirmed
        assert age.dtype == xp.int16
