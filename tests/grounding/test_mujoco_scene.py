"""Scene facts from small MuJoCo models, written so that the right facts are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from safe_rl.errors import GroundingError
from safe_rl.grounding import (
    AllowedContacts,
    Contact,
    ContactRules,
    ManipulationGrounding,
    MujocoScene,
    SceneFrame,
    SceneRoles,
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
ROLES = SceneRoles(
    robot="arm_base",
    base=(),
    base_bodies=("arm_base",),
    gripper="hand",
    fingers=("finger_l", "finger_r"),
    finger_joints=("jl", "jr"),
    finger_actuators=("al", "ar"),
    objects={"obj": "block", "ball": "ball"},
    fixtures={"table": "table_body"},
    surroundings={"floor": "floor"},
)


class Bench:
    """A model, stepped ``substeps`` times per frame."""

    def __init__(
        self,
        *,
        block: str = "0 0 .44",
        hand: float = 0.02,
        gravity: float = -9.81,
        extra: str = "",
        roles: SceneRoles = ROLES,
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

    def frame(self, target: float = 0.0, substeps: int = 25) -> SceneFrame:
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
    frame = bench.frame(target=-0.02)
    block, ball = frame.objects
    assert block.fingers == 2 and block.opposed and block.touched
    assert ball.fingers == 0 and not ball.touched
    pairs = {contact.geoms for contact in frame.contacts}
    assert ("left_finger", "obj_g0") in pairs and ("right_finger", "obj_g1") in pairs
    assert all(c.entities[1] != "ball" for c in frame.contacts if c.entities[0] == "robot")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fingers": ("finger_l", "finger_right")}, "no body named 'finger_right'.*'finger_r'"),
        ({"objects": {"obj": "blok"}}, "no body named 'blok'; did you mean 'block'"),
        ({"objects": {"obj": "block"}}, "belong to no entity: 'obj_g10'"),
        ({"surroundings": {}}, "belong to no entity: 'floor'"),
        ({"surroundings": {"floor": "ground"}}, "no geom named 'ground'"),
        ({"finger_joints": ("jl", "jx")}, "no joint named 'jx'"),
        ({"finger_actuators": ("al", "ax")}, "no actuator named 'ax'"),
        ({"fixtures": {"robot": "table_body"}}, "'robot' is reserved or given twice"),
        ({"fingers": ("finger_l", "nail")}, "finger 'nail' has no geom that can collide"),
        ({"objects": {"obj": "block", "ball": "ball", "air": "empty"}}, "'air' has no geom"),
    ],
)
def test_unknown_or_unmatched_names_raise(change: dict[str, Any], message: str) -> None:
    extra = "<body name='nail'/><body name='empty'/>"
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
    frame = bench.frame(target=-0.018)
    block = frame.objects[0]
    assert block.fingers == 2 and not block.opposed
    rules = ContactRules(AllowedContacts(frozenset({"obj", "ball"})), bench.scene.objects)
    grounding = ManipulationGrounding(bench.scene.objects, rules)
    grounding.reset(frame)
    for _ in range(20):
        assert not grounding.step(bench.frame(target=-0.018))["object_grasped_raw(obj)"]


# robosuite 366: a contact that lives between two control steps is seen
def test_a_contact_between_two_frames_is_seen() -> None:
    # A stiff bounce: the ball is in the air before and after, and touches the table in between.
    stiff = "solref='-40000 -1'"
    extra = (
        f"<body name='bouncer' pos='-.3 -.3 .52'><freejoint/><geom size='.02' {stiff} "
        "name='b'/></body>"
    )
    roles = replace(ROLES, objects={**ROLES.objects, "bouncer": "bouncer"})
    bench = Bench(extra=extra, roles=roles)
    geom = bench.model.geom("b").id
    hidden = 0
    for _ in range(12):
        frame = bench.frame()
        at_the_end = any(geom in pair for pair in bench.data.contact.geom.tolist())
        seen = Contact(("b", "top"), ("bouncer", "table")) in frame.contacts
        assert seen or not at_the_end
        hidden += seen and not at_the_end
        assert frame.objects[2].support == ("table" if seen else None)
    assert hidden >= 1


def test_support_motion_and_clearance() -> None:
    bench = Bench(block="0 0 .4401", hand=0.2)
    frame = bench.frame(substeps=200)
    block, ball = frame.objects
    assert block.support == "table" and block.cleared
    assert not block.in_gripper_box
    assert ball.motion.position[2] < 0.6
    # In free fall for 0.4 s less what it takes to land: the ball lies on the table by now.
    assert ball.support == "table"
    assert max(map(abs, ball.motion.linear)) < 0.05


def test_an_object_on_the_floor_has_no_support() -> None:
    frame = Bench(block="0 1 .0201", hand=0.3).frame()
    assert frame.objects[0].support is None
    assert Contact(("obj_g0", "floor"), ("obj", "floor")) in frame.contacts


def test_clearance_is_the_gap_between_surfaces() -> None:
    # The finger tips end 0.10 below the hand: hand at .5 + h, tips at .4 + h, block's top at .4601.
    # At 0.011 MuJoCo 3.9's own answer for one of the pairs is 0.0.
    for gap, cleared in ((0.009, False), (0.011, True)):
        bench = Bench(block="0 0 .4401", hand=0.0601 + gap, gravity=0.0)
        bench.data.qpos[:2] = -0.02  # the fingers above the block
        frame = bench.frame(target=-0.02, substeps=1)
        assert frame.objects[0].cleared is cleared


def test_velocities_are_those_of_the_body_origin_in_the_world() -> None:
    bench = Bench(gravity=0.0, block="0 .3 .8")
    block = bench.model.body("block").id
    address = bench.model.body_dofadr[block]
    bench.data.qvel[address : address + 6] = [0.1, 0.2, 0.3, 0.0, 0.0, 2.0]
    bench.mujoco.mj_forward(bench.model, bench.data)
    motion = bench.scene.frame().objects[0].motion
    assert motion.linear == pytest.approx((0.1, 0.2, 0.3), abs=1e-9)
    assert motion.angular == pytest.approx((0.0, 0.0, 2.0), abs=1e-9)


def test_the_gripper_box_covers_open_fingers_and_the_space_between() -> None:
    bench = Bench(block="0 0 .44", hand=0.02)
    assert bench.scene.frame().objects[0].in_gripper_box
    beyond = Bench(block="0 .2 .44", hand=0.02)
    assert not beyond.scene.frame().objects[0].in_gripper_box
