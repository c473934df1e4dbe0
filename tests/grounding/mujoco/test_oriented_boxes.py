"""The test of oriented boxes against dense sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from safe_rl.grounding.mujoco.oriented_boxes import (
    Matrix,
    PosedBox,
    Vector,
    boxes_gap,
    boxes_overlap,
)

finite = st.floats(-1, 1, allow_nan=False)
vectors = st.tuples(finite, finite, finite)


@st.composite
def quaternions(draw: st.DrawFn) -> tuple[float, float, float, float]:
    raw = np.array(draw(st.tuples(finite, finite, finite, finite)))
    length = np.linalg.norm(raw)
    assume(length > 0.1)
    w, x, y, z = (raw / length).tolist()
    return (w, x, y, z)


def matrix(q: tuple[float, float, float, float]) -> np.ndarray:
    w, v = q[0], np.array(q[1:])
    skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def box_points(center: np.ndarray, axes: np.ndarray, half: np.ndarray, n: int) -> np.ndarray:
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    return center + (grid * half) @ axes.T


def flat(axes: np.ndarray) -> Matrix:
    return tuple(axes.ravel().tolist())


halves = st.tuples(*[st.floats(0.1, 0.6)] * 3)


@settings(max_examples=150, deadline=None)
@given(vectors, quaternions(), halves, quaternions(), halves)
def test_boxes_overlap_agrees_with_sampling(
    offset: Vector, p: Any, a: Vector, q: Any, b: Vector
) -> None:
    axes_a, axes_b = matrix(p), matrix(q)
    half_a, half_b, center = np.array(a), np.array(b), np.array(offset)
    points = box_points(center, axes_b, half_b, 15)
    inside = np.abs(points @ axes_a)  # coordinates in the frame of the first box, at the origin

    first = PosedBox((0.0, 0.0, 0.0), flat(axes_a), a)
    second = PosedBox(offset, flat(axes_b), b)
    gap = boxes_gap(first, second)
    assert boxes_overlap(first, second) == (gap <= 0) == boxes_overlap(second, first)
    if (inside <= half_a).all(axis=1).any():
        assert gap <= 0  # a point of one lies in the other
    # Every sampled point is at least as far away as the gap, and one of them is not much further
    # than the true distance, which the gap never exceeds.
    outside = np.maximum(inside - half_a, 0.0)
    assert max(gap, 0.0) <= np.linalg.norm(outside, axis=1).min() + 1e-9
    spacing = float(np.linalg.norm(half_b / 7))
    if not (inside <= half_a + spacing).all(axis=1).any():
        assert gap > 0  # no point of one is even near the other


def test_the_gap_between_faces_is_the_distance() -> None:
    eye = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    low = PosedBox((0.0, 0.0, 0.0), eye, (0.5, 0.5, 0.1))
    high = PosedBox((0.2, 0.1, 0.7), eye, (0.3, 0.3, 0.2))
    assert abs(boxes_gap(low, high) - 0.4) < 1e-12
