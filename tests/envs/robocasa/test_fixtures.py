"""From RoboCasa's classes and names to fixtures of the grounding, on models made of boxes.

The classes bear RoboCasa's names; joints, regions and geoms are named as RoboCasa names them.
"""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.robosuite
mujoco = pytest.importorskip("mujoco")
pytest.importorskip("robosuite")

from safe_rl.envs.robocasa.fixtures import KINDS, furniture, is_movable, kind_of, surrounding_geoms
from safe_rl.envs.robocasa.model_tree import ModelTree
from safe_rl.errors import GroundingError
from safe_rl.grounding.arrays import KINDS as GROUNDED
from safe_rl.grounding.mujoco import BodyBox, JointRange

BOX = 'type="box" size=".1 .1 .1"'
REGION = 'type="box" contype="0" conaffinity="0"'


def fixture(cls: str, name: str, *, base: str | None = None, **attributes: Any) -> Any:
    """An object of a class of that name, as RoboCasa's fixtures are."""
    parent = (type(base, (), {}),) if base else ()
    found = type(cls, parent, {})()
    regions = attributes.pop("regions", ())
    found.name, found.naming_prefix, found.root_body = name, f"{name}_", f"{name}_main"
    found.get_reset_region_names = lambda: regions
    for key, value in attributes.items():
        setattr(found, key, value)
    return found


def tree(*bodies: str, world: str = "") -> ModelTree:
    """The tree of a model with these bodies in the world."""
    text = f"""<mujoco><compiler angle="radian"/><worldbody>{world}{"".join(bodies)}</worldbody>
        </mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return ModelTree(model, data)


def hinged(name: str, joint: str, x: float, to: float, geom: str = "") -> str:
    low, high = min(0.0, to), max(0.0, to)
    return f"""<body name="{name}">
      <joint name="{joint}" axis="0 0 1" pos="{x} 0 0" range="{low} {high}" limited="true"/>
      <geom name="{name}_panel" {BOX}/>{geom}</body>"""


def sliding(name: str, joint: str, axis: str = "0 1 0", more: str = "") -> str:
    return f"""<body name="{name}">
      <joint name="{joint}" type="slide" axis="{axis}" range="-.5 0" limited="true"/>
      <geom name="{name}_front" {BOX}/>{more}</body>"""


def test_every_kind_is_one_that_the_grounding_knows() -> None:
    assert set(KINDS.values()) <= set(GROUNDED)


def test_a_class_is_known_by_itself_or_by_what_it_derives_from() -> None:
    assert kind_of(fixture("Microwave", "m")) == "microwave"
    assert kind_of(fixture("FridgeFrenchDoor", "f", base="Fridge")) == "fridge"
    # A stool is a wall accessory to RoboCasa; the nearest class decides.
    assert kind_of(fixture("Stool", "s", base="WallAccessory")) == "counter"
    with pytest.raises(GroundingError, match="does not know RoboCasa's fixture class 'Robovac'"):
        kind_of(fixture("Robovac", "r"))


def test_a_cabinet_with_two_doors_is_its_case_and_two_halves() -> None:
    handle = '<geom name="cab_right_door_handle_handle" size=".02"/>'
    found = furniture(
        tree(
            f"""<body name="cab_main" euler="0 0 1.5707963"><geom name="cab_top" {BOX}/>
            <geom name="cab_reg_level0" {REGION} pos="0 0 -.2" size=".4 .2 .1"/>
            <geom name="cab_reg_level1" {REGION} pos="0 0 .2" size=".4 .2 .1"/>
            {hinged("cab_hingerightdoor", "cab_rightdoorhinge", 0.4, 1.57, handle)}
            {hinged("cab_hingeleftdoor", "cab_leftdoorhinge", -0.4, -1.57)}</body>"""
        ),
        fixture(
            "HingeCabinet", "cab", regions=("level0", "level1"),
            door_joint_names=["cab_leftdoorhinge", "cab_rightdoorhinge"],
        ),
    )  # fmt: skip
    assert set(found.fixtures) == {"cab", "cab_leftdoor", "cab_rightdoor"}
    case, left, right = (found.fixtures[n] for n in ("cab", "cab_leftdoor", "cab_rightdoor"))
    assert case.kind == left.kind == right.kind == "cabinet"
    assert case.body == "cab_main" and case.joint is None and case.interior is None and case.top
    # What may turn below zero is closed at zero, as in RoboCasa's get_joint_state.
    assert left.joint == JointRange("cab_leftdoorhinge", closed=0.0, open=-1.57)
    assert right.joint == JointRange("cab_rightdoorhinge", closed=0.0, open=1.57)
    # Both levels, halved in the cabinet's own frame; the left hinge is at its -x.
    assert left.interior == BodyBox("cab_main", (-0.2, 0.0, 0.0), (0.2, 0.2, 0.3))
    assert right.interior == BodyBox("cab_main", (0.2, 0.0, 0.0), (0.2, 0.2, 0.3))
    assert found.components["cab_rightdoor_handle"].geoms == ("cab_right_door_handle_handle",)
    # Without a handle of its own, the door itself is what is taken hold of.
    assert found.components["cab_leftdoor_handle"].geoms == ("cab_hingeleftdoor_panel",)


def test_a_drawers_inside_moves_with_it() -> None:
    region = f'<geom name="d_reg_int" {REGION} pos=".1 0 0" size=".2 .2 .05"/>'
    found = furniture(
        tree(
            f"""<body name="d_main"><geom name="d_top" {BOX}/>
            <geom name="d_reg_main" {REGION} size=".3 .3 .1"/>
            {sliding("d_inner_box", "d_slidejoint", more=region)}</body>"""
        ),
        fixture("Drawer", "d", regions=("int",), door_joint_names=["d_slidejoint"]),
    )
    drawer = found.fixtures["d"]
    assert drawer.kind == "drawer" and drawer.moving == "d_inner_box"
    assert drawer.joint == JointRange("d_slidejoint", closed=0.0, open=-0.5)
    assert drawer.interior == BodyBox("d_inner_box", (0.1, 0.0, 0.0), (0.2, 0.2, 0.05))
    assert list(found.components) == ["d_handle"]


def test_an_oven_has_a_door_knobs_and_a_rack_that_slides_when_it_is_open() -> None:
    found = furniture(
        tree(
            f"""<body name="o_main"><geom name="o_case" {BOX}/>
            <geom name="o_reg_main" {REGION} size=".3 .3 .4"/>
            {hinged("o_door", "o_door_joint", 0.0, 1.5)}
            {hinged("o_knob_time", "o_knob_time_joint", 0.1, 3.0)}
            {hinged("o_knob_temp", "o_knob_temp_joint", 0.2, 3.0)}
            {sliding("o_rack0", "o_rack0_joint", more=f'<geom name="o_reg_rack0" {REGION} size=".2 .2 .1"/>')}
            </body>"""  # noqa: E501
        ),
        fixture("Oven", "o", regions=("rack0", "rack1"), door_joint_names=["o_door_joint"]),
    )
    oven = found.fixtures["o"]
    assert oven.kind == "oven" and oven.slides_when_open
    assert oven.joint == JointRange("o_door_joint", closed=0.0, open=1.5)
    # The rack carries its region along: the inside of the oven is the box of the oven.
    assert oven.interior == BodyBox("o_main", (0.0, 0.0, 0.0), (0.3, 0.3, 0.4))
    skills = {name: (part.skill, part.geoms) for name, part in found.components.items()}
    assert skills == {
        "o_handle": ("open_close", ("o_door_panel",)),
        "o_knob": ("twist", ("o_knob_time_panel", "o_knob_temp_panel")),
        "o_rack": ("slide", ("o_rack0_front",)),
    }


def test_a_fridge_has_two_doors_a_freezer_and_drawers() -> None:
    drawer = f'<geom name="f_reg_freezer_drawer0" {REGION} size=".3 .2 .1"/>'
    found = furniture(
        tree(
            f"""<body name="f_main"><geom name="f_case" {BOX}/>
            <geom name="f_reg_fridge_shelf0" {REGION} pos="0 0 .5" size=".4 .3 .2"/>
            <geom name="f_reg_freezer_shelf0" {REGION} pos="0 0 -.5" size=".4 .3 .2"/>
            {hinged("f_ld", "f_fridge_left_door_joint", -0.4, -1.5)}
            {hinged("f_rd", "f_fridge_right_door_joint", 0.4, 1.5)}
            {hinged("f_fd", "f_freezer_door_joint", 0.4, 1.5)}
            {sliding("f_dr", "f_freezer_drawer0_joint", more=drawer)}</body>"""
        ),
        fixture(
            "FridgeFrenchDoor", "f", base="Fridge",
            regions=("fridge_shelf0", "freezer_shelf0", "freezer_drawer0"),
            door_joint_names=[
                "f_fridge_left_door_joint", "f_fridge_right_door_joint", "f_freezer_door_joint",
            ],
        ),
    )  # fmt: skip
    kinds = {name: part.kind for name, part in found.fixtures.items()}
    assert kinds == {
        "f": "fridge",
        "f_fridge_left_door": "fridge",
        "f_fridge_right_door": "fridge",
        "f_freezer_door": "freezer",
        "f_freezer_drawer0": "drawer",
    }
    insides = {name: part.interior for name, part in found.fixtures.items()}
    assert insides["f_fridge_left_door"] == BodyBox("f_main", (-0.2, 0.0, 0.5), (0.2, 0.3, 0.2))
    assert insides["f_fridge_right_door"] == BodyBox("f_main", (0.2, 0.0, 0.5), (0.2, 0.3, 0.2))
    assert insides["f_freezer_door"] == BodyBox("f_main", (0.0, 0.0, -0.5), (0.4, 0.3, 0.2))
    assert insides["f_freezer_drawer0"] == BodyBox("f_dr", (0.0, 0.0, 0.0), (0.3, 0.2, 0.1))


def test_sinks_and_machines_have_outlets_taps_and_buttons() -> None:
    sink = furniture(
        tree(
            f"""<body name="s_main"><geom name="s_basin" {BOX}/>
            <site name="s_water" pos="0 0 .2"/>
            {hinged("s_handle", "s_handle_joint", 0.0, 1.0)}
            {hinged("s_spout", "s_spout_joint", 0.0, 1.0)}</body>"""
        ),
        fixture("Sink", "s"),
    )
    assert sink.fixtures["s"].outlet == "s_water" and not sink.fixtures["s"].washes
    assert {n: (p.skill, p.geoms) for n, p in sink.components.items()} == {
        "s_tap": ("turn", ("s_handle_panel",))
    }
    machine = furniture(
        tree(
            f"""<body name="c_main"><geom name="c_case" {BOX}/>
            <geom name="c_start_button" {BOX}/><geom name="c_stop_button" {BOX}/>
            <site name="c_coffee_liquid" pos="0 0 .2"/></body>"""
        ),
        fixture("CoffeeMachine", "c"),
    )
    assert machine.fixtures["c"].outlet == "c_coffee_liquid"
    assert machine.components["c_button"].geoms == ("c_start_button",)
    kettle = furniture(
        tree(
            f"""<body name="k_main"><geom name="k_case" {BOX}/>
            {hinged("k_lid", "k_lid_joint", 0.0, 1.0)}
            {sliding("k_switch", "k_switch_joint", "0 0 1")}</body>"""
        ),
        fixture("ElectricKettle", "k"),
    )
    assert kettle.fixtures["k"].joint == JointRange("k_lid_joint", closed=0.0, open=1.0)
    assert {n: p.skill for n, p in kettle.components.items()} == {
        "k_button": "press",
        "k_handle": "open_close",
    }


def test_what_only_surrounds_is_one_fixture_and_what_is_free_is_an_object() -> None:
    walls = fixture("Wall", "wall"), fixture("Counter", "counter")
    model = tree(
        f'<body name="wall_main"><geom name="wall_g0" {BOX}/></body>',
        f'<body name="counter_main"><geom name="counter_top" {BOX}/></body>',
        f'<body name="lid_main"><freejoint/><geom name="lid_g0" {BOX}/></body>',
        world=f'<geom name="ground" type="plane" size="1 1 .1"/><geom name="decor" {REGION} size="1 1 1"/>',  # noqa: E501
    )
    assert surrounding_geoms(model, walls) == ("wall_g0", "ground")
    assert furniture(model, walls[0]).fixtures == {}
    assert is_movable(model, fixture("BlenderLid", "lid")) and not is_movable(model, walls[1])


def test_a_door_without_an_inside_is_an_error() -> None:
    bare = f"""<body name="m_main"><geom name="m_case" {BOX}/>
        {hinged("m_door", "m_microjoint", 0.0, 1.0)}</body>"""
    oven = fixture("Microwave", "m", regions=("tray",), door_joint_names=["m_microjoint"])
    with pytest.raises(GroundingError, match="'m' has a door and no inside.*m_reg_main"):
        furniture(tree(bare), oven)
