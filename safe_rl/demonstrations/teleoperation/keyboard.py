"""A leader that is a terminal's keyboard, on POSIX systems; it needs no package and no display."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Mapping

import numpy as np

from safe_rl.demonstrations.primitives.pose import Pose, Vector, turned
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.teleoperation.leader import PoseCommand
from safe_rl.envs.robosuite.motions import CLOSE, OPEN
from safe_rl.errors import ConfigurationError

STEP, TURN = 0.02, 0.1  # m and rad per key
Axis = tuple[int, int, int]
MOVES: Mapping[str, Axis] = {
    "w": (1, 0, 0),
    "s": (-1, 0, 0),
    "a": (0, 1, 0),
    "d": (0, -1, 0),
    "r": (0, 0, 1),
    "f": (0, 0, -1),
}
TURNS: Mapping[str, Axis] = {
    "q": (0, 0, 1),
    "e": (0, 0, -1),
    "i": (0, 1, 0),
    "k": (0, -1, 0),
    "j": (1, 0, 0),
    "l": (-1, 0, 0),
}
HELP = "w/s a/d r/f move, q/e i/k j/l turn, space opens or closes the gripper, x ends the episode"


class KeyboardLeader:
    """Moves a target pose by a key's step; the arm follows it.

    Keys are read as they come, without Enter. What is not a key of ``HELP`` is passed over.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        """Read a terminal.

        Args:
            descriptor: of the terminal; standard input by default.

        Raises:
            ConfigurationError: it is no terminal.
        """
        self._file = sys.stdin.fileno() if descriptor is None else descriptor
        if not os.isatty(self._file):
            raise ConfigurationError("the keyboard leads from a terminal, and this is none")
        self._before = termios.tcgetattr(self._file)
        tty.setcbreak(self._file)
        self._target = Pose(np.zeros(3), np.eye(3))
        self._gripper = OPEN

    def start(self, scene: Scene) -> None:
        """Begin where the gripper is, open."""
        self._target, self._gripper = scene.gripper, OPEN

    def read(self) -> PoseCommand | None:
        """The target after the keys that were pressed since the last call."""
        while select.select([self._file], [], [], 0.0)[0]:
            for key in os.read(self._file, 64).decode("ascii", "ignore"):
                if key == "x":
                    return None
                self._press(key)
        return PoseCommand(self._target, self._gripper)

    def close(self) -> None:
        """Give the terminal back as it was."""
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def _press(self, key: str) -> None:
        if key == " ":
            self._gripper = OPEN if self._gripper == CLOSE else CLOSE
        elif key in MOVES:
            self._target = self._target.shifted(STEP * np.array(MOVES[key]))
        elif key in TURNS:
            turn: Vector = TURN * np.array(TURNS[key], np.float64)
            self._target = Pose(self._target.position, turned(turn) @ self._target.rotation)
