"""A small kitchen that has the names of a RoboCasa kitchen: a cabinet, a microwave, five objects.

RoboCasa's own kitchens need 10 GB of meshes. This one is made of boxes, but it is a robosuite
environment as theirs are, with the same robot, and its Python objects have the same attributes and
methods (see ``safe_rl.envs.robocasa.kitchen``). Nothing here is RoboCasa's code.

The robot looks along x. The counter's top is at z = 0.92; cabinet and microwave stand on it and
open towards the robot. A fixture's own frame is RoboCasa's: its doors are at -y, so here it is
turned by a quarter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from robosuite.environments.manipulation.manipulation_env import ManipulationEnv
from robosuite.models.arenas import Arena
from robosuite.models.objects import MujocoXMLObject
from robosuite.models.tasks import ManipulationTask

Places = dict[str, tuple[float, float, float]]

COUNTER = 0.92  # m, height of its top
ROBOT = (-0.62, 0.0, 0.0)
QUARTER = -np.pi / 2

STANDING: Places = {
    "obj": (0.03, 0.1, COUNTER + 0.06),
    "bowl": (0.1, -0.7, COUNTER + 0.025),
    "meat": (0.1, 0.8, COUNTER + 0.02),
    "glass": (0.3, 0.8, COUNTER + 0.05),
    "distr_counter_1": (0.3, -0.75, COUNTER + 0.03),
}
"""Where the objects stand, unless a test has them elsewhere."""

CATEGORIES = {
    "obj": "mug",
    "bowl": "bowl",
    "meat": "steak",
    "glass": "wine_glass",
    "distr_counter_1": "apple",
}


def _geom(name: str, pos: str, size: str, more: str = "") -> str:
    return f'<geom name="{name}" group="0" type="box" pos="{pos}" size="{size}" {more}/>'


def _region(name: str, pos: str, size: str) -> str:
    """How RoboCasa marks a region: a geom that is not drawn and touches nothing."""
    hidden = 'group="1" contype="0" conaffinity="0" rgba="0 0 0 0"'
    return f'<geom name="reg_{name}" type="box" pos="{pos}" size="{size}" {hidden}/>'


def _door(name: str, joint: str, hinge: float, to: float, side: str, width: float) -> str:
    """A door of so many metres, hinged at x = ``hinge``, with a handle at its other end."""
    sign = 1.0 if to > 0 else -1.0
    middle = hinge - sign * width / 2
    low, high = min(0.0, to), max(0.0, to)
    handle = hinge - sign * (width - 0.03)
    return f"""
    <body name="{name}">
      <joint name="{joint}" type="hinge" axis="0 0 1" pos="{hinge} -.16 0" range="{low} {high}"
             damping="1" limited="true"/>
      {_geom(f"{side}door", f"{middle} -.17 0", f"{width / 2 - 0.002} .008 .17", 'mass=".3"')}
      {_geom(f"{side}door_handle", f"{handle} -.21 0", ".008 .008 .06", 'mass=".05"')}
      {_geom(f"{side}door_handle_stem", f"{handle} -.19 .05", ".006 .012 .006", 'mass=".02"')}
    </body>"""


CABINET = f"""
  {_geom("top", "0 0 .19", ".26 .16 .01")}
  {_geom("bottom", "0 0 -.19", ".26 .16 .01")}
  {_geom("back", "0 .15 0", ".26 .01 .18")}
  {_geom("left", "-.25 0 0", ".01 .16 .18")}
  {_geom("right", ".25 0 0", ".01 .16 .18")}
  {_door("hingeleftdoor", "leftdoorhinge", -0.25, -1.57, "left_", 0.25)}
  {_door("hingerightdoor", "rightdoorhinge", 0.25, 1.57, "right_", 0.25)}
  {_region("main", "0 0 0", ".26 .16 .2")}
  {_region("level0", "0 -.01 0", ".24 .15 .18")}
"""

MICROWAVE = f"""
  {_geom("top", "0 0 .19", ".26 .16 .01")}
  {_geom("bottom", "0 0 -.19", ".26 .16 .01")}
  {_geom("back", "0 .15 0", ".26 .01 .18")}
  {_geom("left", "-.25 0 0", ".01 .16 .18")}
  {_geom("panel", ".2 0 0", ".06 .16 .18")}
  {_geom("start_button", ".21 -.17 -.05", ".015 .01 .015")}
  {_geom("stop_button", ".21 -.17 .05", ".015 .01 .015")}
  {_door("door", "microjoint", -0.25, -1.9, "", 0.38)}
  {_region("main", "0 0 0", ".26 .16 .2")}
  {_region("tray", "-.05 -.01 0", ".19 .15 .18")}
"""


class StandInModel(MujocoXMLObject):
    """A model whose elements RoboCasa would name in the same way."""

    def __init__(self, name: str, inside: str, folder: Path, joints: Any = None) -> None:
        path = folder / f"{name}.xml"
        sites = "".join(
            f'<site name="{site}" pos="{at}" size=".002" rgba="0 0 0 0"/>'
            for site, at in (
                ("bottom_site", "0 0 -.05"),
                ("top_site", "0 0 .05"),
                ("horizontal_radius_site", ".05 .05 0"),
            )
        )
        path.write_text(
            f'<mujoco model="{name}"><asset/><worldbody><body><body name="object">{inside}</body>'
            f"{sites}</body></worldbody></mujoco>"
        )
        super().__init__(
            str(path), name=name, joints=joints, obj_type="all", duplicate_collision_geoms=False
        )


class Fixture(StandInModel):
    """What the adapter asks of RoboCasa's fixtures."""

    door_joint_names: Sequence[str] = ()
    regions: Sequence[str] = ()

    def get_reset_region_names(self) -> Sequence[str]:
        return self.regions

    def get_joint_state(self, env: Any, joint_names: Sequence[str]) -> dict[str, float]:
        found = {}
        for joint in joint_names:
            low, high = env.sim.model.jnt_range[env.sim.model.joint_name2id(joint)]
            part = (env.sim.data.get_joint_qpos(joint) - low) / (high - low)
            found[joint] = float(1 - part if low < 0 else part)
        return found

    def is_open(self, env: Any, joint_names: Any = None, th: float = 0.90) -> bool:
        names = joint_names or self.door_joint_names
        return all(part >= th for part in self.get_joint_state(env, names).values())

    def is_closed(self, env: Any, joint_names: Any = None, th: float = 0.005) -> bool:
        names = joint_names or self.door_joint_names
        return all(part <= th for part in self.get_joint_state(env, names).values())

    def set_joint_state(self, part: float, env: Any, joint_names: Sequence[str]) -> None:
        for joint in joint_names:
            low, high = env.sim.model.jnt_range[env.sim.model.joint_name2id(joint)]
            wanted = 1 - part if low < 0 else part
            env.sim.data.set_joint_qpos(joint, low + (high - low) * wanted)

    def update_state(self, env: Any) -> None:
        pass


class Counter(Fixture):
    """The counter."""


class Floor(Fixture):
    """The floor."""


class HingeCabinet(Fixture):
    """A cabinet with two doors."""

    regions = ("level0",)

    @property
    def door_joint_names(self) -> Sequence[str]:  # type: ignore[override]
        return [f"{self.name}_leftdoorhinge", f"{self.name}_rightdoorhinge"]


class Microwave(Fixture):
    """A microwave that runs from when its start button was touched, with its door closed."""

    regions = ("tray",)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._turned_on = False

    @property
    def door_joint_names(self) -> Sequence[str]:  # type: ignore[override]
        return [f"{self.name}_microjoint"]

    def get_state(self) -> dict[str, bool]:
        return {"turned_on": self._turned_on}

    def update_state(self, env: Any) -> None:
        hand = env.robots[0].gripper["right"]
        if self.is_open(env):
            self._turned_on = False
        elif env.check_contact(hand, f"{self.name}_start_button"):
            self._turned_on = True


class Sink(Fixture):
    """A sink with a handle to turn, and water that is a site."""

    def get_handle_state(self, env: Any) -> dict[str, Any]:
        turned = float(env.sim.data.get_joint_qpos(f"{self.name}_handle_joint"))
        return {"handle_joint": turned, "water_on": 0.40 < turned < np.pi}


class CoffeeMachine(Fixture):
    """A machine that pours once its button was touched."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._turned_on = False

    def get_state(self) -> dict[str, bool]:
        return {"turned_on": self._turned_on}


SINK = f"""
  {_geom("bottom", "0 0 -.09", ".15 .15 .01")}
  {_geom("back", "0 .14 0", ".15 .01 .1")}
  {_geom("front", "0 -.14 0", ".15 .01 .1")}
  <site name="water" type="cylinder" pos="0 0 .1" size=".01 .1" rgba="0 0 1 0"/>
  <body name="tap" pos="0 .16 .2">
    <joint name="handle_joint" type="hinge" axis="0 0 1" range="0 1.2" damping="5" limited="true"/>
    {_geom("handle", "0 0 0", ".04 .01 .01", 'mass=".05"')}
  </body>
"""

COFFEE_MACHINE = f"""
  {_geom("case", "0 .05 .1", ".08 .05 .1")}
  {_geom("start_button", "0 -.01 .17", ".01 .01 .01")}
  <site name="coffee_liquid" pos="0 -.05 .12" size=".005" rgba="0 0 0 0"/>
"""


@dataclass
class Setup:
    """How an episode begins.

    Attributes:
        places: where the objects stand.
        jitter: m, how far from there they may begin.
        doors: joint to how far it is open.
    """

    places: Places = field(default_factory=lambda: dict(STANDING))
    jitter: float = 0.01
    doors: dict[str, float] = field(default_factory=dict)


class Placer:
    """Draws where the objects begin: where they stand, give or take a centimetre."""

    def __init__(self, kitchen: TinyKitchen) -> None:
        self._kitchen = kitchen

    def sample(self, placed_objects: Any) -> dict[str, Any]:
        kitchen, found = self._kitchen, {}
        for name, model in kitchen.objects.items():
            place = np.array(kitchen.setup.places[name])
            place[:2] += kitchen.rng.uniform(-1, 1, 2) * kitchen.setup.jitter
            found[name] = (tuple(place), (1.0, 0.0, 0.0, 0.0), model)
        return found


class TinyKitchen(ManipulationEnv):
    """The kitchen. Its task is to put the mug into the cabinet.

    Attributes:
        setup: how the next episode begins.
    """

    def __init__(
        self, folder: Path, robots: str = "PandaOmron", *, wet: bool = False, **kwargs: Any
    ) -> None:
        """Write the models into ``folder``; ``wet`` adds a sink and a coffee machine."""
        self._folder, self._wet = folder, wet
        self.setup = Setup()
        self.categories: Mapping[str, str | None] = dict(CATEGORIES)
        self.placement_initializer: Placer | None = None
        self.fxtr_placements: dict[str, Any] = {}
        self.object_placements: dict[str, Any] = {}
        super().__init__(
            robots=robots,
            has_renderer=False,
            has_offscreen_renderer=False,
            use_camera_obs=False,
            render_camera=None,
            lite_physics=True,
            ignore_done=True,
            hard_reset=True,
            **{"control_freq": 20, "horizon": 500, **kwargs},
        )

    # --- the model --------------------------------------------------------------------------------

    def _fixtures(self) -> dict[str, Fixture]:
        made: dict[str, tuple[Fixture, tuple[float, float, float], float]]
        top = _geom("top", "0 0 -.02", ".9 .4 .02")
        floor = _geom("floor", "0 0 -.05", "3 3 .05")
        made = {
            "floor_room": (Floor("floor_room", floor, self._folder), (0.0, 0.0, 0.0), 0.0),
            "counter": (Counter("counter", top, self._folder), (0.2, 0.0, COUNTER), QUARTER),
            "cab": (HingeCabinet("cab", CABINET, self._folder), (0.27, -0.28, 1.12), QUARTER),
            "microwave": (
                Microwave("microwave", MICROWAVE, self._folder), (0.22, 0.32, 1.12), QUARTER,
            ),
        }  # fmt: skip
        if self._wet:
            made["sink"] = (Sink("sink", SINK, self._folder), (0.4, -1.3, 0.9), QUARTER)
            machine = CoffeeMachine("coffee_machine", COFFEE_MACHINE, self._folder)
            made["coffee_machine"] = (machine, (0.4, 0.75, COUNTER), QUARTER)
        for fixture, place, turn in made.values():
            fixture.set_pos(np.array(place))
            fixture.set_euler(np.array([0.0, 0.0, turn]))
        return {name: fixture for name, (fixture, _, _) in made.items()}

    def _objects(self) -> dict[str, StandInModel]:
        solid = 'solref="0.005 1" friction="1.2 .05 .001" condim="4"'
        inside = {
            "obj": _geom("body", "0 0 0", ".028 .028 .06", f'mass=".12" {solid}'),
            "bowl": _geom("body", "0 0 0", ".06 .06 .025", f'mass=".15" {solid}'),
            "meat": _geom("body", "0 0 0", ".03 .03 .02", f'mass=".1" {solid}'),
            "glass": _geom("body", "0 0 0", ".025 .025 .05", f'mass=".08" {solid}'),
            "distr_counter_1": _geom("body", "0 0 0", ".03 .03 .03", f'mass=".1" {solid}'),
        }
        free = [{"type": "free", "damping": "0.0005"}]
        return {n: StandInModel(n, geoms, self._folder, free) for n, geoms in inside.items()}

    def _load_model(self) -> None:
        super()._load_model()
        robot = self.robots[0]
        robot.robot_model.set_base_xpos(np.array(ROBOT))
        if len(robot.init_qpos) == 7:  # RoboCasa's own posture to begin with
            robot.init_qpos = np.array([-0.016, -1.034, -0.024, -2.276, 0.039, 1.516, 0.696])
        arena = self._folder / "arena.xml"
        arena.write_text('<mujoco model="kitchen"><asset/><worldbody/></mujoco>')
        self.fixtures, self.objects = self._fixtures(), self._objects()
        self.model = ManipulationTask(
            mujoco_arena=Arena(str(arena)),
            mujoco_robots=[robot.robot_model],
            mujoco_objects=[*self.fixtures.values(), *self.objects.values()],
        )
        self.object_cfgs = [
            {"name": name, "type": "object", "info": {"cat": self.categories[name]}}
            for name in self.objects
        ]
        self.fixture_refs = {
            "cab": (self.fixtures["cab"], False),
            "counter": self.fixtures["counter"],
        }
        self.placement_initializer = Placer(self)
        self.object_placements = self.placement_initializer.sample(self.fxtr_placements)

    def _setup_references(self) -> None:
        super()._setup_references()
        self.obj_body_id = {
            name: self.sim.model.body_name2id(model.root_body)
            for name, model in self.objects.items()
        }

    def _reset_internal(self) -> None:
        super()._reset_internal()
        joints = {j: f for f in self.fixtures.values() for j in f.door_joint_names}
        for joint, part in self.setup.doors.items():
            joints[joint].set_joint_state(part, self, [joint])
        for place, turn, model in self.object_placements.values():
            self.sim.data.set_joint_qpos(model.joints[0], np.concatenate([place, turn]))

    # --- what a kitchen answers -------------------------------------------------------------------

    def get_fixture(self, id: Any) -> Any:
        return id if isinstance(id, Fixture) else self.fixtures[id]

    def get_ep_meta(self) -> dict[str, Any]:
        refs = {k: v[0] if isinstance(v, tuple) else v for k, v in self.fixture_refs.items()}
        return {
            **super().get_ep_meta(),
            "lang": "Put the mug into the cabinet.",
            "object_cfgs": [dict(cfg) for cfg in self.object_cfgs],
            "fixture_refs": {name: fixture.name for name, fixture in refs.items()},
        }

    def update_state(self) -> None:
        for fixture in self.fixtures.values():
            fixture.update_state(self)

    def reward(self, action: Any = None) -> float:
        return float(self._check_success())

    def _check_success(self) -> bool:
        place = self.sim.data.body_xpos[self.obj_body_id["obj"]]
        low = np.array([0.13, -0.52, 0.93])
        return bool((place > low).all() and (place < [0.4, -0.04, 1.3]).all())


class StandInUtils:
    """RoboCasa's module of predicates, by the same names and with the same arguments."""

    @staticmethod
    def obj_inside_of(
        env: Any, obj_name: str, fixture_id: Any, partial_check: bool = False, th: float = 0.05
    ) -> bool:
        fixture = env.get_fixture(fixture_id)
        place = env.sim.data.body_xpos[env.obj_body_id[obj_name]]
        for region in fixture.get_reset_region_names():
            geom = env.sim.model.geom_name2id(f"{fixture.naming_prefix}reg_{region}")
            turn = env.sim.data.geom_xmat[geom].reshape(3, 3)
            offset = turn.T @ (place - env.sim.data.geom_xpos[geom])
            if (np.abs(offset) <= env.sim.model.geom_size[geom]).all():
                return True
        return False

    @staticmethod
    def check_obj_upright(env: Any, obj_name: str, th: float = 15) -> bool:
        turn = env.sim.data.body_xmat[env.obj_body_id[obj_name]].reshape(3, 3)
        return bool(turn[2, 2] > np.cos(np.deg2rad(th)))

    @staticmethod
    def check_obj_grasped(env: Any, obj_name: str, threshold: float = 0.035) -> bool:
        hand = env.robots[0].gripper["right"]
        fingers = [env.sim.data.get_joint_qpos(joint) for joint in hand.joints]
        return bool(env.check_contact(hand, env.objects[obj_name]) and max(fingers) < threshold)
