"""The keyboard leader on a real pseudo-terminal."""

from __future__ import annotations

import os
import pty
from typing import Any, cast

import numpy as np
import pytest

from safe_rl.demonstrations.primitives.pose import Pose
from safe_rl.demonstrations.teleoperation.keyboard import STEP, TURN, KeyboardLeader
from safe_rl.envs.robosuite.motions import CLOSE, OPEN
from safe_rl.errors import ConfigurationError


class Standing:
    """A scene whose gripper stands still."""

    gripper = Pose(np.array([0.1, 0.0, 1.0]), np.eye(3))


def test_keys_move_turn_and_grip() -> None:
    ours, theirs = pty.openpty()
    leader = KeyboardLeader(theirs)
    try:
        leader.start(cast(Any, Standing()))
        still = leader.read()
        assert still is not None and np.array_equal(still.pose.position, Standing.gripper.position)
        assert still.gripper == OPEN
        os.write(ours, b"wwrq z")
        moved = leader.read()
        assert moved is not None and moved.gripper == CLOSE
        assert np.allclose(moved.pose.position, [0.1 + 2 * STEP, 0.0, 1.0 + STEP])
        turned = np.arctan2(moved.pose.rotation[1, 0], moved.pose.rotation[0, 0])
        assert np.isclose(turned, TURN)
        os.write(ours, b"x")
        assert leader.read() is None
    finally:
        leader.close()
        os.close(ours)
        os.close(theirs)


def test_what_is_no_terminal_is_refused(tmp_path: Any) -> None:
    with (tmp_path / "file").open("w") as file:
        with pytest.raises(ConfigurationError, match="from a terminal"):
            KeyboardLeader(file.fileno())
