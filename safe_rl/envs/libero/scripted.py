"""A scripted policy for LIBERO's goals of the kind "put this on (in) that".

It reads the state observation and the goal, and commands the OSC_POSE controller, which needs no
inverse kinematics. Bowls, plates and mugs are taken by the rim, everything else around its middle.
It opens no drawer and no door, and turns no knob: goals that need it are refused. So are goals
inside of drawers and microwaves, open or not: the hand does not fit between their walls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.libero.env import LiberoEnv
from safe_rl.envs.robosuite.motions import (
    CLOSE,
    OPEN,
    Script,
    ScriptRunner,
    View,
    act,
    hold,
    move,
    pointing_down,
    rotation,
)
from safe_rl.errors import ConfigurationError, near

MANNERS: Mapping[str, str] = {
    "careful": "does the task and lets go only of what is supported",
    "drop_high": "lets go 15 cm above the destination",
}

_HAND, _FINGER = 0.11, 0.05  # m, how far the hand and the open fingers reach to either side
_PALM = 0.04  # m, from the finger tips' middle up to the hand
_ROOM = 0.02  # m, that is enough
_INSIDE = "_contain_region"  # LIBERO's name of the inside of a basket or a tray
_STALLED = 8  # steps without progress
_ABOVE = 0.12  # m, from where the gripper comes down
_CARRY = 0.16  # m, what is carried is at least so high above where it goes
_DEEP = 0.022  # m, from the top of a rim or of a tall thing down to the finger tips' middle


@dataclass(frozen=True)
class Shape:
    """The box around an object in its own frame.

    Attributes:
        centre: m.
        half: m.
        open: it has a rim (a bowl, a mug).
    """

    centre: NDArray[np.float64]
    half: NDArray[np.float64]
    open: bool


class LiberoScript(ScriptRunner):
    """Does one task of LIBERO, for one environment or a vector of them; see ``ScriptRunner``."""

    def __init__(self, env: LiberoEnv, manner: str = "careful") -> None:
        """Do the task of ``env``.

        Raises:
            ConfigurationError: for an unknown manner, or a goal that is not known how to reach.
        """
        if manner not in MANNERS:
            raise ConfigurationError(
                f"no manner {manner!r}{near(manner, MANNERS)}; there are: {', '.join(MANNERS)}"
            )
        for predicate, *named in env.goal:
            if predicate not in ("on", "in") or named[1] in env.interiors:
                raise ConfigurationError(
                    f"no script for the goal {predicate}({', '.join(named)}) of "
                    f"{env.libero_task.name}: it puts things somewhere, but opens and turns nothing"
                )
        super().__init__(env.layout)
        self.manner = manner
        self._goal = env.goal
        self._shapes = {
            name: Shape(centre, half, name in env.objects["receptacle"])
            for name, (centre, half) in env.boxes.items()
        }
        self._fixtures = frozenset(env.simulation.fixtures_dict)

    def _script(self, view: View) -> Script:
        for _, thing, target in self._goal:
            yield from self._pick(view, thing, target)
            yield from self._place(view, thing, target)
        yield from hold(view, None, OPEN)

    def _pick(self, view: View, thing: str, target: str) -> Script:
        grip, yaw = self._grip(view, thing, target)
        high = max(view["eef_pos"][2], grip[2] + _ABOVE)
        yield from move(view, _at(grip, high), OPEN, within=0.02, yaw=yaw)
        grip, yaw = self._grip(view, thing, target, yaw)  # it may have come to rest meanwhile
        yield from move(view, grip + _up(0.05), OPEN, within=0.01, yaw=yaw)
        yield from move(view, grip, OPEN, within=0.006, yaw=yaw, slow=0.5)
        yield from hold(view, 12, CLOSE)
        yield from move(view, view["eef_pos"] + _up(_ABOVE), CLOSE, within=0.02, slow=0.7)

    def _place(self, view: View, thing: str, target: str) -> Script:
        place = self._destination(view, thing, target)
        level = np.array([1.0, 1.0, 0.0])
        height = max(view["eef_pos"][2], place[2] - view[f"{thing}_from_eef"][2] + _CARRY)
        yield from move(view, _at(view["eef_pos"], height), CLOSE, within=0.02)
        over = (place - view[f"{thing}_from_eef"]) * level
        yield from move(view, _at(over, height), CLOSE, within=0.008, slow=0.5)
        if self.manner != "drop_high":
            down = place - view[f"{thing}_from_eef"]
            yield from move(view, down + _up(0.04), CLOSE, within=0.01, slow=0.6)
            yield from self._lower(view, down)
            yield from hold(view, 4, CLOSE)
        yield from hold(view, 12, OPEN)
        yield from move(view, view["eef_pos"] + _up(_ABOVE), OPEN, within=0.02)

    def _lower(self, view: View, down: NDArray[np.float64]) -> Script:
        """Go down slowly to ``down``, or until something is in the way."""
        heights = [float(view["eef_pos"][2]) + 1.0] * _STALLED
        while heights[-_STALLED] - view["eef_pos"][2] > 0.002:
            heights.append(float(view["eef_pos"][2]))
            if np.linalg.norm(down - view["eef_pos"]) < 0.005:
                return
            yield act(view, down, pointing_down(view), CLOSE, slow=0.3)

    def _grip(
        self, view: View, thing: str, target: str, yaw: float | None = None
    ) -> tuple[NDArray[np.float64], float]:
        """Where the finger tips go, and the direction in which they close (once chosen, kept)."""
        shape = self._shapes[thing]
        turn = rotation(view[f"{thing}_quat"])
        centre, half = self._box(view, thing)
        top = centre[2] + half[2]
        if shape.open:
            radius = min(shape.half[:2]) - 0.004
            if yaw is None:
                there = self._destination(view, thing, target)
                rims = (_at(centre, top), _at(there, there[2] + 2 * half[2]))
                yaw = self._roomiest(view, (thing, target), rims, radius)
            side = np.array([np.cos(yaw), np.sin(yaw), 0.0])
            return _at(centre + side * radius, top - 0.6 * _DEEP), yaw
        upright = int(np.argmax(np.abs(turn[2])))
        flat = [axis for axis in range(3) if axis != upright]
        narrow = turn[:, min(flat, key=lambda axis: shape.half[axis])]
        depth = min(half[2], _DEEP)
        return _at(centre, top - depth), float(np.arctan2(narrow[1], narrow[0]))

    def _box(self, view: View, thing: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Centre and half extents of a thing, along the world's axes."""
        shape, origin = self._shapes[thing], view[f"{thing}_pos"]
        if thing in self._fixtures:
            return origin + shape.centre, shape.half
        turn = rotation(view[f"{thing}_quat"])
        return origin + turn @ shape.centre, np.abs(turn * shape.half).sum(axis=1)

    def _roomiest(
        self,
        view: View,
        ignored: tuple[str, str],
        rims: tuple[NDArray[np.float64], ...],
        radius: float,
    ) -> float:
        """The side of a rim on which the hand has room, here and where it goes; least turning."""
        around = [self._box(view, name) for name in self._shapes if name not in ignored]

        def room(yaw: float) -> float:
            side = np.array([np.cos(yaw), np.sin(yaw)])
            found = 1.0
            for rim in rims:
                for centre, half in around:
                    reach = _HAND if centre[2] + half[2] > rim[2] + _PALM else _FINGER
                    for along in (radius - reach, radius, radius + reach):
                        away = np.abs(rim[:2] + along * side - centre[:2]) - half[:2]
                        found = min(found, float(np.linalg.norm(np.maximum(away, 0.0))))
            return found

        closing = rotation(view["eef_quat"])[:, 0]
        now = float(np.arctan2(closing[1], closing[0]))
        options = [now + turn for turn in (0.0, np.pi, np.pi / 2, -np.pi / 2)]
        return max(options, key=lambda yaw: min(room(yaw), _ROOM))

    def _destination(self, view: View, thing: str, target: str) -> NDArray[np.float64]:
        """Where the thing's origin is to be when it is let go."""
        shape = self._shapes[thing]
        centre, half = self._box(view, thing)
        below = view[f"{thing}_pos"][2] - (centre[2] - half[2])
        place: NDArray[np.float64] = view[f"{target}_pos"].copy()
        vessel = target.removesuffix(_INSIDE)
        if vessel in self._shapes and vessel not in self._fixtures:
            box, size = self._box(view, vessel)
            rim, floor = box[2] + size[2], view[f"{vessel}_pos"][2] + 0.012
            hand = floor + 2 * half[2] - min(half[2], _DEEP) + _PALM
            # Fingers open wide, and the hand above them is wider still: do they fit inside?
            fits = shape.open or size[2] < 0.015 or (min(size[:2]) > _FINGER + 0.02 and hand > rim)
            place[2] = floor if fits else rim + 0.005
        return place + _up(below + 0.006)


def _up(metres: float) -> NDArray[np.float64]:
    return np.array([0.0, 0.0, metres])


def _at(place: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    return np.array([place[0], place[1], height])
