"""The furniture of the table: a cabinet with a drawer, a microwave oven, a sink.

All stand at fixed places, with their fronts towards negative y. Lengths are in metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from safe_rl.envs.tabletop.state import Array

TABLE_HALF_X, TABLE_HALF_Y = 0.6, 0.45
"""The table's top is at z = 0."""
FLOOR = -0.75
"""Height of the floor."""


class Box(NamedTuple):
    """A box along the world's axes; its y moves where it belongs to a drawer."""

    x0: float
    x1: float
    y0: Any
    y1: Any
    z0: float
    z1: float

    def holds(self, x: Array, y: Array, z: Array, margin: float = 0.0) -> Array:
        """Whether a point is inside the box shrunk by ``margin`` (bool)."""
        return self.over(x, y, margin) & (z > self.z0 + margin) & (z < self.z1 - margin)

    def over(self, x: Array, y: Array, margin: float = 0.0) -> Array:
        """Whether a point is above, inside or below the box shrunk by ``margin`` (bool)."""
        along = (x > self.x0 + margin) & (x < self.x1 - margin)
        return along & (y > self.y0 + margin) & (y < self.y1 - margin)


@dataclass(frozen=True)
class Drawer:
    """A cabinet whose whole front is one drawer, open at its top where it is pulled out."""

    x: float = 0.0
    front: float = 0.2
    half_width: float = 0.13
    depth: float = 0.2
    height: float = 0.14
    wall: float = 0.01
    travel: float = 0.16
    drawer_height: float = 0.1
    handle_z: float = 0.07
    handle_out: float = 0.025

    @property
    def body(self) -> Box:
        """The cabinet."""
        left, right = self.x - self.half_width, self.x + self.half_width
        return Box(left, right, self.front, self.front + self.depth, 0.0, self.height)

    def face(self, fraction: Array) -> Array:
        """Where the drawer's front is (y) when it is open by ``fraction``."""
        return self.front - self.travel * fraction

    def interior(self, fraction: Array) -> Box:
        """The inside of the drawer, which moves with it."""
        face = self.face(fraction)
        inner = self.half_width - self.wall
        far = face + self.depth - self.wall
        return Box(self.x - inner, self.x + inner, face + self.wall, far, 0.01, self.drawer_height)

    def handle(self, fraction: Array) -> tuple[float, Array, float]:
        """Centre of the handle."""
        return (self.x, self.face(fraction) - self.handle_out, self.handle_z)


@dataclass(frozen=True)
class Microwave:
    """An oven: its inside is open at the front, left of the panel, behind a door hinged left."""

    x: float = 0.3
    front: float = 0.2
    half_width: float = 0.2
    depth: float = 0.25
    height: float = 0.28
    wall: float = 0.014
    panel: float = 0.056  # half the width of the control panel at the right
    clearance: float = 0.5
    handle_z: float = 0.14

    @property
    def body(self) -> Box:
        """The oven."""
        left, right = self.x - self.half_width, self.x + self.half_width
        return Box(left, right, self.front, self.front + self.depth, 0.0, self.height)

    @property
    def interior(self) -> Box:
        """Its inside."""
        left, right = self.x - self.half_width, self.x + self.half_width - 2.0 * self.panel
        far = self.front + self.depth - self.wall
        top = self.height - self.wall
        return Box(left + self.wall, right - self.wall, self.front, far, self.wall, top)

    @property
    def middle(self) -> float:
        """The middle of its inside (x)."""
        return self.x - self.panel

    @property
    def hinge(self) -> tuple[float, float]:
        """Where the door's axis is (x, y)."""
        return (self.x - self.half_width, self.front)

    @property
    def door_width(self) -> float:
        """From the hinge to the door's free edge."""
        return 2.0 * (self.half_width - self.panel)


@dataclass(frozen=True)
class Sink:
    """A basin on the table; a gripper that is lowered into it is washed."""

    x: float = -0.4
    y: float = 0.25
    half: float = 0.1
    rim: float = 0.03
    wash_height: float = 0.08

    @property
    def body(self) -> Box:
        """The basin."""
        x, y, half = self.x, self.y, self.half
        return Box(x - half, x + half, y - half, y + half, 0.0, self.rim)


@dataclass(frozen=True)
class Fixtures:
    """The furniture of one scene; ``None`` where there is none."""

    drawer: Drawer | None = None
    microwave: Microwave | None = None
    sink: Sink | None = None
