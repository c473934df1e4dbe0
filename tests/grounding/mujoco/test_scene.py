"""Scene facts from small MuJoCo models, written so that the right facts are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding import FrameGrounding
from safe_rl.grounding.arrays import empty_scene
from safe_rl.grounding.mujoco import (
    BodyBox,
    Contact,
    GripperNames,
    JointRange,
    MujocoComponent,
    MujocoFixture,
    MujocoFrame,
    MujocoObject,
    MujocoRoles,
    MujocoScene,
)

pytestmark = pytest.mark.robosuite

# Two fingers that slide along x, a block made of two geoms, a ball in the air, a table, a floor.
MODEL = """
<mujoco>
  <option timestep="0.002" gravity="0 0 {gravity}"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="table_body" pos="0 0 .4"><geom type="box" size=".5 .5 .02" name="top"/></body>
    <body name="arm_base" pos="-1 0 .5">
      <geom type="box" size=".05 .05 .05" name="pedestal"/>
      <body name="hand" pos="1 0 {hand}">
        <geom type="box" size=".12 .02 .02" name="palm"/>
        <body name="finger_l" pos="-.03 0 -.07">
          <joint name="jl" type="slide" axis="-1 0 0" range="0 .04"/>
          <geom type="box" size=".005 .02 .03" name="left_finger" friction="2"/>
        </body>
        <body name="finger_r" pos=".03 0 -.07">
          <joint name="jr" type="slide" axis="1 0 0" range="0 .04"/>
          <geom type="box" size=".005 .02 .03" name="right_finger" friction="2"/>
        </body>
      </body>
    </body>
    <body name="block" pos="{block}">
      <freejoint/>
      <geom type="box" size=".02 .01 .02" pos="0 -.01 0" name="obj_g0"/>
      <geom type="box" size=".02 .01 .02" pos="0 .01 0" name="obj_g1"/>
    </body>
    <body name="ball" pos=".3 .3 .6">
      <freejoint/><geom type="sphere" size=".02" name="obj_g10"/>
    </body>
    {extra}
  </worldbody>
  <actuator>
    <position name="al" joint="jl" kp="1000" kv="20" ctrlrange="-.02 .04"/>
    <position name="ar" joint="jr" kp="1000" kv="20" ctrlrange="-.02 .04"/>
  </actuator>
</mujoco>
"""
GRIPPER = GripperNames("hand", ("finger_l", "finger_r"), ("jl", "jr"), ("al", "ar"))
TABLE = MujocoFixture("counter", body="table_body")
FLOOR = MujocoFixture("surroundings", geoms=("floor",))
ROLES = MujocoRoles(
    robot="arm_base",
    base_bodies=("arm_base",),
    gripper=GRIPPER,
    objects={"obj": MujocoObject("block"), "ball": MujocoObject("ball")},
    fixtures={"table": TABLE, "floor": FLOOR},
)
OBJ, BALL = 0, 1


class Bench:
    """A model, stepped ``substeps`` times per frame."""

    def __init__(
        self,
        *,
        block: str = "0 0 .44",
        hand: float = 0.02,
        gravity: float = -9.81,
        extra: str = "",
        roles: MujocoRoles = ROLES,
    ) -> None:
        mujoco = pytest.importorskip("mujoco")
        text = MODEL.format(block=block, hand=hand, gravity=gravity, extra=extra)
        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data: Any = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.scene = MujocoScene(self.model, self.data, roles, self.distance)

    def distance(self, first: int, second: int, limit: float) -> float:
        return float(self.mujoco.mj_geomDistance(self.model, self.data, first, second, limit, None))

    def frame(self, target: float = 0.0, substeps: int = 25) -> MujocoFrame:
        self.data.ctrl[:] = target
        self.scene.begin_frame()
        for _ in range(substeps):
            self.mujoco.mj_step(self.model, self.data)
            self.mujoco.mj_step1(self.model, self.data)
            self.scene.observe_contacts()
        return self.scene.frame()


def test_geoms_belong_to_objects_by_body_not_by_name() -> None:
    # strands-labs PR 1065: geoms named obj_g0, obj_g1; here obj_g10 even belongs to another object
    bench = Bench()
    arrays, contacts = (frame := bench.frame(target=-0.02)).arrays, frame.contacts
    assert arrays.finger_contacts.tolist() == [[True, True], [False, False]]
    assert arrays.opposed.tolist() == arrays.robot_object.tolist() == [True, False]
    pairs = {contact.geoms for contact in contacts}
    assert ("left_finger", "obj_g0") in pairs and ("right_finger", "obj_g1") in pairs
    assert all(c.entities[1] != "ball" for c in contacts if c.entities[0] == "robot")


AIR = MujocoObject("empty")
NAIL = ("finger_l", "nail")
BOX = (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"gripper": replace(GRIPPER, fingers=("finger_l", "finger_right"))},
            "no body named 'finger_right'.*'finger_r'",
        ),
        ({"objects": {"obj": MujocoObject("blok")}}, "no body named 'blok'; did you mean 'block'"),
        ({"objects": {"obj": MujocoObject("block")}}, "belong to no entity: 'obj_g10'"),
        ({"fixtures": {"table": TABLE}}, "belong to no entity: 'floor'"),
        (
            {"fixtures": {"table": TABLE, "floor": replace(FLOOR, geoms=("ground",))}},
            "no geom named 'ground'",
        ),
        ({"gripper": replace(GRIPPER, joints=("jl", "jx"))}, "no joint named 'jx'"),
        ({"gripper": replace(GRIPPER, actuators=("al", "ax"))}, "no actuator named 'ax'"),
        ({"fixtures": {"robot": TABLE, "floor": FLOOR}}, "'robot' is reserved"),
        ({"fixtures": {"obj": TABLE, "floor": FLOOR}}, "'obj' more than once"),
        ({"gripper": replace(GRIPPER, fingers=NAIL)}, "finger 'nail' has no geom that can collide"),
        ({"gripper": replace(GRIPPER, fingers=("finger_l",))}, "two fingers.* got 1 fingers"),
        ({"objects": {**ROLES.objects, "air": AIR}}, "object 'air' has no geom"),
        (
            {"objects": {**ROLES.objects, "obj": MujocoObject("block", {"fod": True})}},
            "unknown property 'fod'; did you mean 'food'",
        ),
        (
            {"components": {"knob": MujocoComponent("tabel", "turn", geoms=("top",))}},
            "component 'knob' is of 'tabel', which is no fixture; did you mean 'table'",
        ),
        (
            {"components": {"knob": MujocoComponent("table", "turn", body="empty")}},
            "component 'knob' has no geom",
        ),
        (
            {"fixtures": {"table": replace(TABLE, joint=JointRange("jf")), "floor": FLOOR}},
            "joint 'jf' is closed and open at the same reading, 0.0",
        ),
        (
            {"fixtures": {"table": replace(TABLE, interior="dot"), "floor": FLOOR}},
            "site 'dot' is an interior, so it must be of type box",
        ),
        (
            {"fixtures": {"table": replace(TABLE, outlet="tap"), "floor": FLOOR}},
            "no site named 'tap'",
        ),
        (
            {
                "fixtures": {
                    "table": replace(TABLE, interior=BodyBox("tabel", BOX, BOX)),
                    "floor": FLOOR,
                }
            },
            "no body named 'tabel'",
        ),
    ],
)
def test_unknown_or_unmatched_names_raise(change: dict[str, Any], message: str) -> None:
    extra = (
        "<body name='nail'/><body name='empty'><site name='dot'/></body>"
        "<body name='f' pos='0 0 2'><joint name='jf' type='slide'/><inertial pos='0 0 0' mass='1' "
        "diaginertia='1 1 1'/></body>"
    )
    Bench(extra=extra)
    with pytest.raises(GroundingError, match=message):
        Bench(extra=extra, roles=replace(ROLES, **change))


def test_a_stray_geom_that_can_collide_raises() -> None:
    with pytest.raises(GroundingError, match="belong to no entity: 'vase'"):
        Bench(extra="<body name='v' pos='1 1 1'><geom name='vase' size='.1'/></body>")
    Bench(extra="<body><geom name='decor' size='.1' contype='0' conaffinity='0'/></body>")


# so101-nexus PR 145
def test_fingers_that_press_on_top_of_an_object_straddle_it() -> None:
    # The fingers stand on the block's upper face: both touch it, from the same side.
    bench = Bench(block="0 0 .44", hand=0.058)
    bench.data.qpos[:2] = -0.018
    bench.mujoco.mj_forward(bench.model, bench.data)
    arrays = bench.frame(target=-0.018).arrays
    assert arrays.finger_contacts[OBJ].all() and not arrays.opposed[OBJ]
    name = "object_grasped_raw(obj)"
    grounding = FrameGrounding(bench.scene.roles, names=[name], backend="numpy")
    grounding.reset(arrays)
    for _ in range(20):
        assert not grounding.step(bench.frame(target=-0.018).arrays)[name]


# robosuite 366: a contact that lives between two control steps is seen
def test_a_contact_between_two_frames_is_seen() -> None:
    # A stiff bounce: the ball is in the air before and after, and touches the table in between.
    stiff = "solref='-40000 -1'"
    extra = (
        f"<body name='bouncer' pos='-.3 -.3 .52'><freejoint/><geom size='.02' {stiff} "
        "name='b'/></body>"
    )
    roles = replace(ROLES, objects={**ROLES.objects, "bouncer": MujocoObject("bouncer")})
    bench = Bench(extra=extra, roles=roles)
    geom = bench.model.geom("b").id
    hidden = 0
    for _ in range(12):
        arrays, contacts = (frame := bench.frame()).arrays, frame.contacts
        at_the_end = any(geom in pair for pair in bench.data.contact.geom.tolist())
        seen = Contact(("b", "top"), ("bouncer", "table")) in contacts
        assert seen or not at_the_end
        hidden += seen and not at_the_end
        assert arrays.on_fixture[2].tolist() == [seen, False]
    assert hidden >= 1


def test_support_motion_and_clearance() -> None:
    bench = Bench(block="0 0 .4401", hand=0.2)
    arrays = bench.frame(substeps=200).arrays
    assert arrays.on_fixture[OBJ].tolist() == [True, False]
    assert arrays.gripper_gaps[OBJ] > 0.01 and not arrays.in_gripper_box[OBJ]
    assert arrays.object_positions[BALL, 2] < 0.6
    # In free fall for 0.4 s less what it takes to land: the ball lies on the table by now.
    assert arrays.on_fixture[BALL].tolist() == [True, False]
    assert abs(arrays.object_linear[BALL]).max() < 0.05


def test_an_object_on_the_floor_touches_it_and_has_no_support() -> None:
    bench = Bench(block="0 1 .0201", hand=0.3)
    arrays, contacts = (frame := bench.frame()).arrays, frame.contacts
    assert arrays.object_fixture[OBJ].tolist() == [False, True]
    assert Contact(("obj_g0", "floor"), ("obj", "floor")) in contacts
    name = "object_supported(obj)"
    grounding = FrameGrounding(bench.scene.roles, names=[name], backend="numpy")
    assert grounding.reset(arrays) == {name: False}


def test_what_touches_a_receptacle_from_within_rests_in_it() -> None:
    # Nothing falls, and only the cup's wall is touched: by the bean inside and the nut outside.
    extra = (
        "<body name='cup' pos='-.3 -.3 .6'><freejoint/>"
        "<geom type='box' size='.05 .05 .005' pos='0 0 -.05'/>"
        "<geom type='box' size='.005 .05 .05' pos='.05 0 0' name='wall'/></body>"
        "<body name='bean' pos='-.2705 -.3 .6'><freejoint/><geom size='.016'/></body>"
        "<body name='nut' pos='-.2295 -.3 .6'><freejoint/><geom size='.016'/></body>"
    )
    objects = {"cup": MujocoObject("cup", {"receptacle": True})}
    objects |= {name: MujocoObject(name) for name in ("bean", "nut")}
    bench = Bench(gravity=0.0, extra=extra, roles=replace(ROLES, objects=ROLES.objects | objects))
    arrays = bench.frame(substeps=1).arrays
    cup, bean, nut = (bench.scene.roles.object_names.index(name) for name in objects)
    assert arrays.object_object[bean, cup] and arrays.object_object[nut, cup]
    assert np.argwhere(arrays.on_object).tolist() == [[bean, cup]]


@pytest.mark.parametrize("gap", [0.009, 0.011, 0.03])
def test_gaps_are_between_surfaces(gap: float) -> None:
    # The finger tips end 0.10 below the hand: hand at .5 + h, tips at .4 + h, block's top at .4601.
    # At 0.011 MuJoCo 3.9's own answer for one of the pairs is 0.0.
    bench = Bench(block="0 0 .4401", hand=0.0601 + gap, gravity=0.0)
    bench.data.qpos[:2] = -0.02  # the fingers above the block
    arrays = bench.frame(target=-0.02, substeps=1).arrays
    assert arrays.gripper_gaps[OBJ] == pytest.approx(gap, abs=2e-4)
    assert arrays.gripper_gaps[BALL] == 1.0  # beyond what any predicate looks at


def test_velocities_are_those_of_the_box_centre_in_the_world() -> None:
    bench = Bench(gravity=0.0, block="0 .3 .8")
    block = bench.model.body("block").id
    address = bench.model.body_dofadr[block]
    bench.data.qvel[address : address + 6] = [0.1, 0.2, 0.3, 0.0, 0.0, 2.0]
    bench.mujoco.mj_forward(bench.model, bench.data)
    arrays = bench.scene.frame().arrays
    assert arrays.object_linear[OBJ] == pytest.approx((0.1, 0.2, 0.3), abs=1e-6)
    assert arrays.object_angular[OBJ] == pytest.approx((0.0, 0.0, 2.0), abs=1e-6)


def test_the_gripper_box_covers_open_fingers_and_the_space_between() -> None:
    bench = Bench(block="0 0 .44", hand=0.02)
    assert bench.scene.frame().arrays.in_gripper_box[OBJ]
    beyond = Bench(block="0 .2 .44", hand=0.02)
    assert not beyond.scene.frame().arrays.in_gripper_box[OBJ]


def test_frames_are_what_the_grounding_takes_and_stay_as_they_are() -> None:
    bench = Bench()
    arrays = bench.frame().arrays
    expected = empty_scene(bench.scene.roles, np)
    for name, array, like in zip(arrays._fields, arrays, expected, strict=True):
        assert (array.shape, array.dtype) == (like.shape, like.dtype), name
    before = [array.copy() for array in arrays]
    bench.frame(target=-0.02)
    assert all(np.array_equal(*pair) for pair in zip(arrays, before, strict=True))
