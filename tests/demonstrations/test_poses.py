from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.demonstrations.primitives.pose import Pose, quaternion, turned
from safe_rl.envs.robosuite.motions import rotation

numbers = st.floats(-1.5, 1.5, allow_nan=False)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
poses = st.builds(lambda place, turn: Pose(place, turned(turn)), vectors, vectors)


def same(one: Pose, other: Pose) -> bool:
    return np.allclose(one.position, other.position) and np.allclose(one.rotation, other.rotation)


@given(poses, poses)
def test_the_inverse_undoes_a_pose(one: Pose, other: Pose) -> None:
    assert same(one.inverse() @ (one @ other), other)


@given(vectors)
def test_a_quaternion_keeps_the_rotation(turn: np.ndarray) -> None:
    assert np.allclose(rotation(quaternion(turned(turn))), turned(turn))


@given(poses, poses)
def test_the_way_between_two_poses_ends_at_both(one: Pose, other: Pose) -> None:
    assert same(one.towards(other, 0.0), one)
    if one.apart(other)[1] < 3.0:  # half a turn has two shortest ways
        assert same(one.towards(other, 1.0), other)
        gap, angle = one.apart(other)
        half = one.apart(one.towards(other, 0.5))
        assert np.allclose(half, (gap / 2, angle / 2), atol=1e-6)
