"""Scripted motions in the MuJoCo kitchen, two or more for each of the twenty specifications."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .kitchen import AWAY, Kitchen, Point


class Episode(NamedTuple):
    """What happens, and what the monitor must count.

    Attributes:
        name: for people.
        specification: its id.
        binding: of the instance looked at.
        play: makes the kitchen, and moves.
        counts: N, V, U, pending, by hand. U is ``None`` where physics decides it; the test then
            counts the frames from the propositions.
    """

    name: str
    specification: str
    binding: dict[str, str]
    play: Callable[[str], Kitchen]
    counts: tuple[int, int, int | None, int]


EPISODES: list[Episode] = []
Play = Callable[[str], Kitchen]


def episode(
    specification: str, counts: tuple[int, int, int | None, int], **binding: str
) -> Callable[[Play], Play]:
    """Add an episode; its docstring is its name."""

    def add(play: Play) -> Play:
        EPISODES.append(Episode(str(play.__doc__), specification, binding, play, counts))
        return play

    return add


# --- phi 1: contact -----------------------------------------------------------------------------


def _lean(spec: str, frames: int) -> Kitchen:
    kitchen = Kitchen(spec, hand=(0.4, -0.1, 0.2))
    kitchen.target[4:] = 0.0
    kitchen.wait(5)
    kitchen.target[2] = 0.12  # the tips end 13 cm below the hand: 1 cm into the table
    kitchen.wait(frames)
    kitchen.target[2] = 0.2
    return kitchen.wait(5)


@episode("no_forbidden_contact", (0, 0, 0, 0))
def _graze(spec: str) -> Kitchen:
    """a short touch of the table is tolerated"""
    return _lean(spec, 12)


@episode("no_forbidden_contact", (1, 1, None, 0))
def _leaning(spec: str) -> Kitchen:
    """leaning on the table is not"""
    return _lean(spec, 40)


# --- phi 2 and 3: grasp and release ---------------------------------------------------------------


def _put_down(spec: str, name: str = "meat") -> Kitchen:
    kitchen = Kitchen(spec).pick(name)
    x, y, _ = kitchen.place(name)
    return kitchen.go(x, y, 0.027).open().go(x, y, 0.3)


@episode("grasp_remains_synced_until_dropped", (1, 0, 0, 0), o="meat")
def _carried(spec: str) -> Kitchen:
    """carried and put down"""
    return _put_down(spec)


@episode("grasp_remains_synced_until_dropped", (1, 1, None, 0), o="meat")
def _twisted(spec: str) -> Kitchen:
    """knocked, so that it turns between the pads"""
    return Kitchen(spec).pick("meat").push("meat", (0, 0, 0), (0, 0.6, 0), 2).wait(10)


@episode("dropped_object_was_released", (1, 0, 0, 0), o="meat")
def _released(spec: str) -> Kitchen:
    """put down"""
    return _put_down(spec)


@episode("dropped_object_was_released", (1, 1, 1, 0), o="meat")
def _torn_out(spec: str) -> Kitchen:
    """torn out of the closed gripper"""
    return Kitchen(spec).pick("meat").push("meat", (45.0, 0, 0), (0, 0, 0), 2).wait(20)


@episode("released_object_eventually_settles", (1, 0, 0, 0), o="meat")
def _settles(spec: str) -> Kitchen:
    """put down, and the gripper goes away"""
    return _put_down(spec)


def _over_the_edge(spec: str) -> Kitchen:
    return Kitchen(spec).pick("meat").go(0.0, -0.7, 0.2).open()


# It lies on the floor, where food may not rest: overdue after 100 frames, and rho holds at once.
@episode("released_object_eventually_settles", (1, 1, 1, 0), o="meat")
def _dropped_beyond_the_table(spec: str) -> Kitchen:
    """dropped beyond the table's edge"""
    return _over_the_edge(spec).wait(110)


@episode("released_object_eventually_settles", (0, 0, 0, 1), o="meat")
def _recording_ends(spec: str) -> Kitchen:
    """the recording ends while it falls"""
    return _over_the_edge(spec)


# --- phi 4: contamination -------------------------------------------------------------------------

RAW = "raw_robot_contact_blocks_rte_grasp_until_sanitized"


def _handle_meat(spec: str) -> Kitchen:
    kitchen = Kitchen(spec).pick("meat").wait(10)  # in the fingers for more than 20 frames
    x, y, _ = kitchen.place("meat")
    return kitchen.go(x, y, 0.027).open().go(x, y, 0.3)


def _touch_apple(kitchen: Kitchen) -> Kitchen:
    x, y, z = kitchen.place("apple")
    return kitchen.go(x, y, 0.2).go(x, y, z + 0.008).close().wait(30).open().go(x, y, 0.3)


# 21 frames of touching the apple make the apple unclean as well: then the touch is no clean one.
@episode(RAW, (1, 1, 1, 0))
def _apple_after_meat(spec: str) -> Kitchen:
    """takes the apple after the meat"""
    return _touch_apple(_handle_meat(spec))


@episode(RAW, (1, 0, 0, 0))
def _washed(spec: str) -> Kitchen:
    """washes in between"""
    kitchen = _handle_meat(spec).go(-0.45, -0.25, 0.15)
    kitchen.data.qpos[kitchen.model.joint("tap").qposadr[0]] = 1.2
    kitchen.wait(5)
    kitchen.data.qpos[kitchen.model.joint("tap").qposadr[0]] = 0.0
    return _touch_apple(kitchen.go(*AWAY))


@episode(RAW, (0, 0, 0, 0))
def _apple_alone(spec: str) -> Kitchen:
    """takes the apple with clean fingers"""
    return _touch_apple(Kitchen(spec))


# --- phi 5: onsets --------------------------------------------------------------------------------


@episode("pick_preconditions_safe", (1, 0, 0, 0), o="meat")
def _reach_for_meat(spec: str) -> Kitchen:
    """the way to the meat is clear"""
    return Kitchen(spec, hand=(0.0, -0.3, 0.6)).go(0.0, -0.3, 0.1)


@episode("pick_preconditions_safe", (1, 1, None, 0), o="apple")
def _reach_for_rolling_apple(spec: str) -> Kitchen:
    """the apple rolls along"""
    speeds = {"apple": (0.0, 0.2, 0.0, -0.2 / 0.03, 0.0, 0.0)}
    kitchen = Kitchen(spec, speeds=speeds, hand=(0.25, 0.2, 0.6), at={"apple": (0.25, 0.0, 0.03)})
    return kitchen.go(0.25, 0.27, 0.1, speed=0.35).wait(15)


@episode("place_preconditions_safe", (1, 0, 0, 0), o="meat")
def _place_on_table(spec: str) -> Kitchen:
    """put on the table"""
    return _put_down(spec)


# Nothing is below but the floor. The hold is debounced and lasts for some frames more, which rho
# takes for a new grasp: exposed is one frame.
@episode("place_preconditions_safe", (1, 1, 1, 0), o="meat")
def _place_on_floor(spec: str) -> Kitchen:
    """let go beyond the table's edge"""
    return _over_the_edge(spec).wait(110)


def _approach(spec: str, end: Point, **start: object) -> Kitchen:
    """Come nearer for 25 frames, and stop for longer than the latch lasts."""
    x, y, z = end
    kitchen = Kitchen(spec, hand=(x, y, z + 0.25), **start)  # type: ignore[arg-type]
    return kitchen.go(x, y, z).wait(25)


BUTTON: Point = (0.67, 0.22, 0.18)


@episode("press_preconditions_safe", (1, 0, 0, 0), f="microwave")
def _press(spec: str) -> Kitchen:
    """reaches for the button of the closed microwave"""
    return _approach(spec, BUTTON)


@episode("press_preconditions_safe", (1, 1, None, 0), f="microwave")
def _press_open(spec: str) -> Kitchen:
    """reaches for the button of the open microwave, and gives up"""
    return _approach(spec, BUTTON, joints={"door": 1.5})


TAP: Point = (-0.3, -0.13, 0.18)


@episode("turn_preconditions_safe", (1, 0, 0, 0), f="sink")
def _turn(spec: str) -> Kitchen:
    """reaches for the tap of the empty sink"""
    return _approach(spec, TAP)


@episode("turn_preconditions_safe", (1, 1, None, 0), f="sink")
def _turn_over_meat(spec: str) -> Kitchen:
    """reaches for the tap while meat lies in the sink"""
    return _approach(spec, TAP, at={"meat": (-0.48, -0.35, 0.034)})


FACE: Point = (-0.53, 0.1, 0.15)


@episode("slide_preconditions_safe", (1, 0, 0, 0), f="drawer")
def _slide(spec: str) -> Kitchen:
    """reaches for the face of the open drawer"""
    x, y, z = FACE
    return _approach(spec, (x, y - 0.2, z), joints={"drawer": 0.2})


@episode("slide_preconditions_safe", (1, 1, None, 0), f="drawer")
def _slide_shut(spec: str) -> Kitchen:
    """reaches for the face of the shut drawer"""
    x, y, z = FACE
    return _approach(spec, (x, y + 0.06, z))


PLUG: Point = (-0.25, -0.18, 0.16)
IN_SINK = {"cup": (-0.5, -0.34, 0.048), "bean": (-0.5, -0.34, 0.024)}
LYING = (0.70710678, 0.0, 0.70710678, 0.0)


@episode("twist_preconditions_safe", (1, 0, 0, 0), f="sink")
def _twist(spec: str) -> Kitchen:
    """reaches for the plug while a cup with a bean stands in the sink"""
    return _approach(spec, PLUG, at=IN_SINK)


@episode("twist_preconditions_safe", (1, 1, None, 0), f="sink")
def _twist_tipped(spec: str) -> Kitchen:
    """the cup has fallen over"""
    at = {"cup": (-0.5, -0.34, 0.036), "bean": (-0.5, -0.34, 0.024)}
    return _approach(spec, PLUG, at=at, turned={"cup": LYING})


HANDLE: Point = (-0.45, 0.09, 0.13)


@episode("open_close_preconditions_safe", (1, 0, 0, 0), f="drawer")
def _open_close(spec: str) -> Kitchen:
    """reaches for the handle"""
    return _approach(spec, HANDLE)


@episode("open_close_preconditions_safe", (1, 1, None, 0), f="drawer")
def _open_close_moving(spec: str) -> Kitchen:
    """reaches for the handle of a drawer that slides by itself"""
    kitchen = Kitchen(spec, hand=(-0.45, -0.1, 0.6))
    kitchen.data.qvel[kitchen.model.joint("drawer").dofadr[0]] = 0.15
    return kitchen.go(-0.45, 0.02, 0.13, speed=0.8).wait(20)


# --- phi 5 and 7: pouring and dumping -------------------------------------------------------------

WITH_BEAN: dict[str, Point] = {"bean": (0.0, 0.0, 0.02)}


def _dump(spec: str, x: float, y: float, *, full: bool = False, wait: int = 20) -> Kitchen:
    at = None if full else WITH_BEAN
    kitchen = Kitchen(spec, at=at, full=full).pick("cup")
    return kitchen.go(x - 0.05, y, 0.25).go(x - 0.05, y, 0.13).tilt(2.2).wait(wait)


@episode("dump_preconditions_safe", (1, 0, 0, 0), o="cup")
def _dump_into_bowl(spec: str) -> Kitchen:
    """a bean goes into the bowl"""
    return _dump(spec, 0.25, -0.3)


@episode("dump_preconditions_safe", (1, 1, None, 0), o="cup")
def _dump_on_table(spec: str) -> Kitchen:
    """a bean goes onto the table"""
    return _dump(spec, 0.4, 0.0)


@episode("solid_transfer_eventually_settles", (1, 0, 0, 0))
def _bean_settles(spec: str) -> Kitchen:
    """a bean comes to rest in the bowl"""
    return _dump(spec, 0.25, -0.3)


@episode("solid_transfer_eventually_settles", (1, 1, 1, 0))
def _bean_on_table(spec: str) -> Kitchen:
    """a bean comes to rest on the table"""
    return _dump(spec, 0.4, 0.0, wait=110)


@episode("liquid_transfer_eventually_settles", (1, 0, 0, 0))
def _pour_into_bowl(spec: str) -> Kitchen:
    """all drops go into the bowl"""
    return _dump(spec, 0.25, -0.3, full=True, wait=40)


@episode("liquid_transfer_eventually_settles", (1, 1, 1, 0))
def _pour_on_table(spec: str) -> Kitchen:
    """the drops go onto the table"""
    return _dump(spec, 0.4, 0.0, full=True, wait=110)


# --- phi 6: mechanism -----------------------------------------------------------------------------


def _hook(spec: str, **start: object) -> Kitchen:
    """The closed fingers behind the drawer's handle."""
    kitchen = Kitchen(spec, hand=(-0.45, 0.135, 0.4), **start)  # type: ignore[arg-type]
    kitchen.target[4:] = 0.0
    return kitchen.wait(5).go(-0.45, 0.135, 0.045)


BEFORE_DRAWER = {"block": (-0.56, 0.07, 0.05)}


@episode("fixture_open_obstacle_retract", (0, 0, 0, 0), f="drawer")
def _pull(spec: str) -> Kitchen:
    """opened with nothing in the way"""
    return _hook(spec).go(-0.45, 0.0, 0.045, speed=0.1)


@episode("fixture_open_obstacle_retract", (1, 0, 0, 0), f="drawer")
def _pull_and_back_off(spec: str) -> Kitchen:
    """opened against a block, and pushed back"""
    kitchen = _hook(spec, at=BEFORE_DRAWER).go(-0.45, 0.06, 0.045, speed=0.1)
    return kitchen.go(-0.45, 0.2, 0.045, speed=0.1).wait(10)


@episode("fixture_open_obstacle_retract", (1, 1, 1, 0), f="drawer")
def _pull_and_stay(spec: str) -> Kitchen:
    """opened against a block, and left there"""
    return _hook(spec, at=BEFORE_DRAWER).go(-0.45, 0.06, 0.045, speed=0.1).wait(110)


BEHIND_DRAWER = {"block": (-0.45, 0.29, 0.05)}


def _push_shut(spec: str, speed: float, end: float) -> Kitchen:
    joints = {"drawer": 0.25}
    kitchen = Kitchen(spec, hand=(-0.48, -0.14, 0.4), joints=joints, at=BEHIND_DRAWER)
    kitchen.target[4:] = 0.0
    kitchen.wait(5).go(-0.48, -0.14, 0.09)
    return kitchen.go(-0.48, end, 0.09, speed=speed)


@episode("fixture_close_obstacle_retract", (1, 0, 0, 0), f="drawer")
def _push_and_stop(spec: str) -> Kitchen:
    """closed against a block, and let be"""
    return _push_shut(spec, 0.1, 0.07).wait(10)


@episode("fixture_close_obstacle_retract", (1, 1, 1, 0), f="drawer")
def _push_on(spec: str) -> Kitchen:
    """closed against a block, slowly and on and on"""
    return _push_shut(spec, 0.03, 0.14)


# --- phi 8 to 10: enclosures ----------------------------------------------------------------------

AJAR = {"door": 1.8}


def _into_microwave(spec: str, **start: object) -> Kitchen:
    kitchen = Kitchen(spec, joints=AJAR, **start).pick("cup")  # type: ignore[arg-type]
    kitchen.go(0.42, -0.25, 0.35, speed=0.5).go(0.42, -0.25, 0.08)  # over the open door
    return kitchen.go(0.42, 0.33, 0.08, speed=0.4)


@episode("microwave_single_object_until_empty", (1, 0, 0, 0), m="microwave")
def _heat_one(spec: str) -> Kitchen:
    """the cup goes into the empty microwave"""
    return _into_microwave(spec)


@episode("microwave_single_object_until_empty", (1, 1, None, 0), m="microwave")
def _heat_two(spec: str) -> Kitchen:
    """an apple is in it; the cup comes out again"""
    kitchen = _into_microwave(spec, at={"apple": (0.53, 0.4, 0.05)})
    return kitchen.go(0.42, 0.0, 0.08, speed=0.4)


def _reach_in(spec: str, opening: float) -> Kitchen:
    kitchen = Kitchen(spec, joints={"drawer": opening}, hand=(-0.45, 0.15, 0.5))
    return kitchen.go(-0.45, 0.15, 0.02).go(-0.45, 0.15, 0.3)


@episode("reach_in_fixture_only_when_fully_open", (1, 0, 0, 0), f="drawer")
def _reach_open(spec: str) -> Kitchen:
    """reaches into the open drawer"""
    return _reach_in(spec, 0.2)


@episode("reach_in_fixture_only_when_fully_open", (1, 1, None, 0), f="drawer")
def _reach_half(spec: str) -> Kitchen:
    """reaches into the drawer that is open by half, and out again"""
    return _reach_in(spec, 0.12)


def _into_drawer(spec: str, depth: float, **start: object) -> Kitchen:
    kitchen = Kitchen(spec, joints={"drawer": 0.25}, **start).pick("meat")  # type: ignore[arg-type]
    return kitchen.go(-0.45, 0.05, 0.25).go(-0.45, 0.05, depth).open().go(-0.45, 0.05, 0.3)


PUT = "fixture_placement_release_after_internal_support"


@episode(PUT, (1, 0, 0, 0), o="meat", f="drawer")
def _into_the_drawer(spec: str) -> Kitchen:
    """let go at the bottom of the drawer"""
    return _into_drawer(spec, 0.04)


# The block's top is 11 cm up: the meat's centre is below the rim, but not by enough to be inside.
@episode(PUT, (1, 1, 1, 0), o="meat", f="drawer")
def _at_the_rim(spec: str) -> Kitchen:
    """let go at its rim, on a block that fills the drawer"""
    return _into_drawer(spec, 0.142, at={"block": (-0.45, 0.05, 0.0635)})
