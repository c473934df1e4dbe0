"""A small kitchen in MuJoCo with a gripper on rails, and scripts that move it.

The table's top is at z = 0. The drawer opens towards -y, the microwave's door too.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from safe_rl.grounding import AllowedContacts, FrameGrounding
from safe_rl.grounding.mujoco import (
    GripperNames,
    JointRange,
    MujocoComponent,
    MujocoFixture,
    MujocoObject,
    MujocoParticles,
    MujocoRoles,
    MujocoScene,
)
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

Point = tuple[float, float, float]
Counts = tuple[int, int, int, int]

PARTICLES = 6
OPEN, CLOSED = 0.045, 0.0
AWAY: Point = (0.0, 0.0, 0.5)
REACH = 0.1  # m, from the hand's origin down to the middle of the pads


def _open_box(x: float, y: float, z: float, wall: float = 0.004, extra: str = "") -> str:
    """A box without a lid, of these outer half extents about the origin."""
    sides = [
        (0.0, 0.0, -z + wall, x, y, wall),
        (x - wall, 0.0, 0.0, wall, y, z),
        (-x + wall, 0.0, 0.0, wall, y, z),
        (0.0, y - wall, 0.0, x, wall, z),
        (0.0, -y + wall, 0.0, x, wall, z),
    ]
    return "".join(
        f"<geom type='box' pos='{a} {b} {c}' size='{d} {e} {f}' {extra}/>"
        for a, b, c, d, e, f in sides
    )


def _free(name: str, geoms: str) -> str:
    return f"<body name='{name}'><freejoint name='{name}'/>{geoms}</body>"


def _box(x: float, y: float, z: float, mass: float = 0.1) -> str:
    return f"<geom type='box' size='{x} {y} {z}' mass='{mass}'/>"


def model_text(particles: bool) -> str:
    """The model; liquid only where it is asked for, because it costs time."""
    drops = "".join(
        _free(f"drop{i}", "<geom size='.008' mass='.002' condim='6' friction='.3 .001 .0003'/>")
        for i in range(PARTICLES if particles else 0)
    )
    return f"""
<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.002" integrator="implicitfast"/>
  <default><geom friction="1 .005 .0001" solref="0.005 1"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1" pos="0 0 -.8"/>
    <body name="counter" pos="0 0 -.05"><geom type="box" size=".8 .6 .05"/></body>
    <body name="cabinet" pos="-.45 .3 0">
      <geom type="box" pos="-.15 0 .05" size=".01 .14 .05"/>
      <geom type="box" pos=".15 0 .05" size=".01 .14 .05"/>
      <body name="drawer" pos="0 0 .045">
        <joint name="drawer" type="slide" axis="0 -1 0" range="0 .25" damping="4"/>
        {_open_box(0.12, 0.13, 0.04, extra="mass='.2'")}
        <geom name="face" type="box" pos="0 -.136 .01" size=".13 .004 .05" mass=".1"/>
        <geom name="handle" type="box" pos="0 -.19 0" size=".05 .006 .01" mass=".05"/>
        <geom name="stem" type="box" pos=".045 -.16 0" size=".005 .03 .01" mass=".02"/>
        <site name="drawer_inside" type="box" size=".112 .122 .075" pos="0 0 .025"/>
      </body>
    </body>
    <body name="microwave" pos=".45 .35 .12">
      <geom type="box" pos="0 0 -.11" size=".16 .13 .01"/>
      <geom type="box" pos="0 0 .14" size=".16 .13 .01"/>
      <geom type="box" pos="0 .12 0.015" size=".16 .01 .115"/>
      <geom type="box" pos=".15 0 0.015" size=".01 .13 .115"/>
      <geom type="box" pos="-.15 0 0.015" size=".01 .13 .115"/>
      <geom name="button" type="box" pos=".22 -.13 0" size=".01 .01 .01"/>
      <site name="microwave_inside" type="box" size=".14 .12 .11" pos="0 -.01 .01"/>
      <body name="door" pos="-.16 -.14 0.015">
        <joint name="door" type="hinge" axis="0 0 -1" range="0 1.9" damping=".5"/>
        <geom type="box" pos=".16 0 0" size=".16 .008 .11" mass=".3"/>
        <geom name="door_handle" type="box" pos=".3 -.03 0" size=".008 .02 .04" mass=".05"/>
      </body>
    </body>
    <body name="sink" pos="-.45 -.3 .03">
      {_open_box(0.14, 0.14, 0.03)}
      <geom type="box" pos="0 .16 .08" size=".01 .01 .11" contype="0"
            conaffinity="0"/>
      <geom name="plug" type="box" pos=".2 .12 .02" size=".01 .01 .05"/>
      <site name="outlet" pos="0 .05 .32"/>
      <body name="tap" pos=".1 .17 .1">
        <joint name="tap" type="hinge" axis="0 0 1" range="0 1.5" damping=".1"/>
        <geom name="tap_handle" type="box" pos=".03 0 0" size=".03 .01 .01" mass=".05"/>
      </body>
    </body>
    {_free("cup", _open_box(0.028, 0.028, 0.04, 0.003, "mass='.02'"))}
    {_free("bowl", _open_box(0.08, 0.08, 0.03, 0.004, "mass='.1'"))}
    {_free("meat", _box(0.025, 0.025, 0.025))}
    {_free("apple", "<geom size='.03' mass='.1'/>")}
    {_free("bean", _box(0.01, 0.01, 0.01, 0.01))}
    {_free("block", _box(0.05, 0.05, 0.05, 0.3))}
    {drops}
    <body name="robot" gravcomp="1">
      <body name="rails" gravcomp="1">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="z" type="slide" axis="0 0 1"/>
        <inertial pos="0 0 0" mass="1" diaginertia=".01 .01 .01"/>
        <body name="hand" gravcomp="1">
          <joint name="tilt" type="hinge" axis="0 1 0" pos="0 0 -{REACH}"/>
          <geom name="palm" type="box" size=".015 .05 .02" mass=".5"/>
          <body name="left" pos="0 .005 -{REACH}" gravcomp="1">
            <joint name="left" type="slide" axis="0 1 0" range="0 {OPEN}"/>
            <geom name="left_pad" type="box" size=".012 .005 .03" mass=".05" friction="1.5 .01 .01"
                  condim="4"/>
          </body>
          <body name="right" pos="0 -.005 -{REACH}" gravcomp="1">
            <joint name="right" type="slide" axis="0 -1 0" range="0 {OPEN}"/>
            <geom name="right_pad" type="box" size=".012 .005 .03" mass=".05" friction="1.5 .01 .01"
                  condim="4"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="x" joint="x" kp="6000" kv="250"/>
    <position name="y" joint="y" kp="6000" kv="250"/>
    <position name="z" joint="z" kp="6000" kv="250"/>
    <position name="tilt" joint="tilt" kp="60" kv="2"/>
    <position name="left" joint="left" kp="400" kv="15"/>
    <position name="right" joint="right" kp="400" kv="15"/>
  </actuator>
</mujoco>
"""


def roles(particles: bool) -> MujocoRoles:
    """Who is who."""
    vessel = {"receptacle": True, "liquid": True}
    return MujocoRoles(
        robot="robot",
        gripper=GripperNames("hand", ("left", "right"), ("left", "right"), ("left", "right")),
        objects={
            "cup": MujocoObject("cup", vessel),
            "bowl": MujocoObject("bowl", {**vessel, "graspable": False}),
            "meat": MujocoObject("meat", {"raw": True, "washable": False}),
            "apple": MujocoObject("apple", {"ready_to_eat": True}),
            "bean": MujocoObject("bean", {"graspable": False}),
            "block": MujocoObject("block", {"graspable": False}),
        },
        fixtures={
            "counter": MujocoFixture("counter", body="counter"),
            "cabinet": MujocoFixture("cabinet", body="cabinet"),
            "drawer": MujocoFixture(
                "drawer",
                body="drawer",
                joint=JointRange("drawer"),
                interior="drawer_inside",
                slides_when_open=True,
            ),
            "microwave": MujocoFixture(
                "microwave",
                body="microwave",
                joint=JointRange("door"),
                interior="microwave_inside",
            ),
            "sink": MujocoFixture(
                "sink", body="sink", outlet="outlet", tap=JointRange("tap"), washes=True
            ),
            "floor": MujocoFixture("surroundings", geoms=("floor",)),
        },
        components={
            "handle": MujocoComponent("drawer", "open_close", geoms=("handle", "stem")),
            "face": MujocoComponent("drawer", "slide", geoms=("face",)),
            "door_handle": MujocoComponent("microwave", "open_close", geoms=("door_handle",)),
            "button": MujocoComponent("microwave", "press", geoms=("button",)),
            "tap_handle": MujocoComponent("sink", "turn", body="tap"),
            "plug": MujocoComponent("sink", "twist", geoms=("plug",)),
        },
        particles=MujocoParticles(tuple(f"drop{i}" for i in range(PARTICLES)), full=PARTICLES)
        if particles
        else None,
        allowed=AllowedContacts(
            frozenset({"cup", "meat", "apple", "drawer", "microwave", "sink"}),
            {"cup": frozenset({"drawer", "microwave", "bowl"})},
        ),
    )


STANDING: dict[str, Point] = {
    "cup": (0.0, 0.0, 0.04),
    "bowl": (0.25, -0.3, 0.03),
    "meat": (0.0, -0.3, 0.025),
    "apple": (0.0, 0.35, 0.03),
    "bean": (0.6, -0.4, 0.01),
    "block": (0.65, 0.0, 0.05),
}


class Kitchen:
    """One episode under one specification: the scene, its grounding and its monitor."""

    def __init__(
        self,
        specification: str,
        *,
        at: dict[str, Point] | None = None,
        turned: dict[str, tuple[float, float, float, float]] | None = None,
        joints: dict[str, float] | None = None,
        speeds: dict[str, Any] | None = None,
        hand: Point = AWAY,
        full: bool = False,
        backend: str = "numpy",
    ) -> None:
        """Start with objects ``at`` other places, joints at readings and bodies at speeds."""
        self.model = mujoco.MjModel.from_xml_string(model_text(full))
        self.data = mujoco.MjData(self.model)
        places = {**STANDING, **(at or {})}
        for name, place in places.items():
            start = int(self.model.joint(name).qposadr[0])
            self.data.qpos[start : start + 3] = place
            self.data.qpos[start + 3 : start + 7] = (turned or {}).get(name, (1, 0, 0, 0))
        for i in range(PARTICLES if full else 0):
            start = int(self.model.joint(f"drop{i}").qposadr[0])
            offset = (0.01 * (-1) ** i, 0.01 * (-1) ** (i // 2), -0.028 + 0.016 * (i // 4))
            self.data.qpos[start : start + 3] = np.add(places["cup"], offset)
        for name, value in (joints or {}).items():
            self.data.qpos[self.model.joint(name).qposadr[0]] = value
        for name, value in (speeds or {}).items():
            start = int(self.model.joint(name).dofadr[0])
            self.data.qvel[start : start + np.size(value)] = value
        self.data.qpos[self.model.joint("left").qposadr[0]] = OPEN
        self.data.qpos[self.model.joint("right").qposadr[0]] = OPEN
        for axis, value in zip("xyz", hand, strict=True):
            self.data.qpos[self.model.joint(axis).qposadr[0]] = value
        self.target = np.asarray([*hand, 0.0, OPEN, OPEN])
        mujoco.mj_forward(self.model, self.data)
        self.specs = load_specs("safemanip").select([specification])

        def distance(first: int, second: int, limit: float) -> float:
            return mujoco.mj_geomDistance(self.model, self.data, first, second, limit, None)

        self.scene = MujocoScene(self.model, self.data, roles(full), distance)
        self.specs = self.specs.bind(self.scene.roles.properties)
        self.grounding = FrameGrounding(
            self.scene.roles, names=self.specs.propositions, backend=backend
        )
        self.monitor = Monitor(self.specs)
        self.scene.begin_frame()
        self.scene.observe_contacts()
        self.frame = self.scene.frame()
        self.letters = [self.grounding.reset(self.frame.arrays)]
        self.monitor.reset(self.letters[0])
        self.violations: list[tuple[int, str]] = []

    # --- motions --------------------------------------------------------------------------------

    def wait(self, frames: int = 1) -> Kitchen:
        """Hold the targets for so many control frames."""
        for _ in range(frames):
            self.data.ctrl[:] = self.target
            self.scene.begin_frame()
            for _ in range(25):
                mujoco.mj_step2(self.model, self.data)
                mujoco.mj_step1(self.model, self.data)
                self.scene.observe_contacts()
            self.frame = self.scene.frame()
            letter = self.grounding.step(self.frame.arrays)
            self.letters.append(letter)
            violated = self.monitor.step(letter).violated
            names = (i.id for i, v in zip(self.specs.instances, violated, strict=True) if v)
            self.violations += [(len(self.letters) - 1, name) for name in names]
        return self

    def go(self, x: float, y: float, z: float, speed: float = 0.2) -> Kitchen:
        """Move the point between the pads in a straight line (m/s), and wait for the rest."""
        start, end = self.target[:3].copy(), np.asarray([x, y, z + REACH])
        steps = max(1, round(float(np.linalg.norm(end - start)) / (speed * 0.05)))
        for i in range(1, steps + 1):
            self.target[:3] = start + (end - start) * i / steps
            self.wait()
        return self.wait(3)

    def close(self) -> Kitchen:
        """Close the fingers, until a debounced hold can have begun."""
        self.target[4:] = CLOSED
        return self.wait(12)

    def open(self) -> Kitchen:
        """Open them."""
        self.target[4:] = OPEN
        return self.wait(10)

    def pick(self, name: str) -> Kitchen:
        """Come from above, grasp, and lift by 20 cm."""
        x, y, z = self.place(name)
        self.go(x, y, 0.2).go(x, y, z).close()
        return self.go(x, y, z + 0.2)

    def tilt(self, angle: float, frames: int = 20) -> Kitchen:
        """Turn the hand about the pads."""
        start = self.target[3]
        for i in range(1, frames + 1):
            self.target[3] = start + (angle - start) * i / frames
            self.wait()
        return self.wait(3)

    def push(self, name: str, force: Point, torque: Point, frames: int) -> Kitchen:
        """Something else pushes an object (N, Nm)."""
        body = self.model.body(name).id
        self.data.xfrc_applied[body] = [*force, *torque]
        self.wait(frames)
        self.data.xfrc_applied[body] = 0.0
        return self

    def place(self, name: str) -> Point:
        """Where an object's box is."""
        index = self.scene.roles.object_names.index(name)
        x, y, z = self.frame.arrays.object_positions[index].tolist()
        return (x, y, z)

    # --- results --------------------------------------------------------------------------------

    def when(self, proposition: str) -> list[int]:
        """The frames on which it is true."""
        return [i for i, letter in enumerate(self.letters) if letter[proposition]]

    def counts(self, **binding: str) -> Counts:
        """N, V, U and pending of one instance of the specification."""
        self.monitor.finish(truncated=True)
        found = self.monitor.summary()[self.instance(**binding)]
        return (found.N, found.V, found.U, found.pending)

    def instance(self, **binding: str) -> str:
        """The instance's name."""
        (name,) = self.specs.ids
        inside = ",".join(f"{k}={v}" for k, v in binding.items())
        return f"{name}[{inside}]" if inside else name
