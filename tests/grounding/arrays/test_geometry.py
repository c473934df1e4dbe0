"""Array geometry against rotation matrices, and sweeps against many small steps."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.grounding.arrays.geometry import (
    axis_z,
    boxes_gap,
    boxes_overlap,
    rotate_back,
    sweep_hits,
    turn_between,
    turns_less_than,
    within,
    world_half,
)

numbers = st.floats(-2.0, 2.0)
points = st.tuples(numbers, numbers, numbers)
sizes = st.tuples(*[st.floats(0.01, 1.0)] * 3)


@st.composite
def unit_quaternions(draw: Any) -> tuple[float, float, float, float]:
    q = np.asarray([draw(numbers) for _ in range(4)]) + np.asarray([2.5, 0, 0, 0])
    w, x, y, z = (q / np.linalg.norm(q)).tolist()
    return (w, x, y, z)


def matrix(q: Any) -> np.ndarray:
    v = np.asarray(q[1:])
    skew = np.asarray([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * q[0] * skew + 2 * skew @ skew


@given(unit_quaternions(), unit_quaternions(), points)
def test_quaternions_act_like_their_matrices(p: Any, q: Any, v: Any) -> None:
    assert np.allclose(rotate_back(p, v), matrix(p).T @ np.asarray(v))
    assert np.allclose(matrix(turn_between(p, q)), matrix(p).T @ matrix(q))
    assert np.allclose(axis_z(p), matrix(p)[:, 2])
    angle = np.arccos(np.clip((np.trace(matrix(p).T @ matrix(q)) - 1) / 2, -1, 1))
    for bound in (0.3, 1.0, 2.0):
        if abs(angle - bound) > 1e-6:
            assert turns_less_than(turn_between(p, q), bound) == (angle < bound)


@given(unit_quaternions(), sizes)
def test_the_world_box_holds_all_corners_and_no_more(q: Any, half: Any) -> None:
    signs = np.asarray([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = (signs * half) @ matrix(q).T
    assert np.allclose(world_half(q, half), corners.max(axis=0))


def test_gap_overlap_and_inside() -> None:
    half = (0.5, 0.5, 0.5)
    origin, apart = np.zeros(3), np.asarray([4.0, 5.0, 0.2])
    assert boxes_gap(np, tuple(origin), half, tuple(apart), half) == 5.0  # sides 3 and 4
    assert (
        boxes_gap(np, tuple(origin), half, (np.float64(1.0), 0.0 * apart[0], apart[2]), half) == 0
    )
    assert not boxes_overlap((0.0, 0.0, 0.0), half, (1.0, 0.0, 0.0), half)  # they only touch
    assert boxes_overlap((0.0, 0.0, 0.0), half, (0.99, 0.0, 0.0), half)
    assert within((0.5, 0.0, 0.0), (0.0, 0.0, 0.0), half)
    assert not within((0.51, 0.0, 0.0), (0.0, 0.0, 0.0), half)
    assert turns_less_than((cos(0.1), sin(0.1), 0.0, 0.0), 0.21)
    assert not turns_less_than((cos(0.1), sin(0.1), 0.0, 0.0), 0.19)


@given(points, points, points, sizes, sizes, sizes | st.none(), st.sampled_from([0.0, 0.05]))
def test_a_sweep_hits_what_some_step_of_it_overlaps(
    start: Any, end: Any, obstacle: Any, half: Any, size: Any, grown: Any, allowance: float
) -> None:
    a, b, o, h = (np.asarray(x) for x in (start, end, obstacle, half))
    part = np.linspace(0.0, 1.0, 2001)[:, None]
    halves = h + (np.asarray(grown or half) - h) * part
    depths = halves + np.asarray(size) - allowance - np.abs(a + (b - a) * part - o)
    depth = depths.min(axis=1).max()  # the deepest overlap on the way
    if abs(depth) < 4e-3:  # within a step's length of the border
        return
    columns = [tuple(np.asarray(x)[:, None]) for x in (a, b, h, o, size)]
    ends = None if grown is None else tuple(np.asarray(grown)[:, None])
    hits = sweep_hits(np, *columns, allowance, ends)  # type: ignore[arg-type]
    assert bool(hits[0]) == (depth > 0)
