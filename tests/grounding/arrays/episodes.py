"""Scripted episodes for the twenty specifications: the frames, and what monitors must count.

Each episode names the specification instance that it is about, its frames, and the expected
``(N, V, U, pending)`` counted by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from safe_rl.grounding.arrays import SceneArrays

from .kitchen import AWAY, OPEN, Point, frame, line

Counts = tuple[int, int, int, int]


class Episode(NamedTuple):
    """One scripted episode."""

    name: str
    instance: str
    frames: list[SceneArrays]
    counts: Counts


STILL = frame()
TIPPED = (0.70710677, 0.70710677, 0.0, 0.0)
ABOVE: Point = (0.0, 0.0, 0.3)


def held(gripper: Point = ABOVE, **changes: object) -> SceneArrays:
    return frame(gripper=gripper, hold="mug", **changes)  # type: ignore[arg-type]


def opening(gripper: Point, on: str | None, **changes: object) -> list[SceneArrays]:
    """Five frames of letting go of the mug; the fingers part on the first."""
    place = {"mug": gripper}
    if "place" in changes:
        place |= changes.pop("place")  # type: ignore[arg-type]
    return [
        frame(
            gripper=gripper, fingers=0.02 + 0.004 * i, target=OPEN, place=place, on={"mug": on},
            **changes,  # type: ignore[arg-type]
        )
        for i in range(1, 6)
    ]  # fmt: skip


def _contact() -> Iterator[Episode]:
    press = frame(touch=["bowl"])
    yield Episode(
        "a graze is tolerated",
        "no_forbidden_contact",
        [STILL, *[press] * 20, STILL],
        (0, 0, 0, 0),
    )
    yield Episode(
        "leaning on the bowl is not",
        "no_forbidden_contact",
        [STILL, *[press] * 30, *[STILL] * 3],
        (1, 1, 10, 0),
    )
    # The bowl is no receiver of the mug.
    bump = held(contacts=[("mug", "bowl")])
    yield Episode(
        "the held mug rubs against the bowl",
        "no_forbidden_contact",
        [STILL, *[held()] * 5, *[bump] * 22, held()],
        (1, 1, 2, 0),
    )


def _grasp() -> Iterator[Episode]:
    sync, legit = "grasp_remains_synced_until_dropped[o=mug]", "dropped_object_was_released[o=mug]"
    settle = "released_object_eventually_settles[o=mug]"
    low: Point = (0.0, 0.0, 0.05)
    fall = frame(gripper=ABOVE, fingers=0.001, place={"mug": (0.0, 0.0, -0.5)}, on={"mug": None})
    carried = [STILL, *(held(p) for p in line(low, ABOVE, 10))]
    released = [*[held(low)] * 8, *opening(low, "table"), *[STILL] * 5]
    yield Episode("carried rigidly", sync, [STILL, *carried, *released], (1, 0, 0, 0))
    slipped = held(place={"mug": (0.0, 0.0, 0.25)})
    yield Episode("slips once", sync, [*carried, slipped, slipped], (1, 1, 1, 0))
    yield Episode("put down", legit, [STILL, *released], (1, 0, 0, 0))
    yield Episode("falls out", legit, [*carried, *[fall] * 8], (1, 1, 1, 0))
    yield Episode("put down and at rest", settle, [STILL, *released], (1, 0, 0, 0))
    yield Episode("never comes to rest", settle, [*carried, *[fall] * 110], (1, 1, 1, 0))
    yield Episode("recording ends before", settle, [*carried, *[fall] * 10], (0, 0, 0, 1))


def _hygiene() -> Iterator[Episode]:
    spec = "raw_robot_contact_blocks_rte_grasp_until_sanitized"
    raw, clean = frame(touch=["meat"]), frame(touch=["apple"])
    yield Episode(
        "touches the apple after the meat",
        spec,
        [STILL, *[raw] * 21, STILL, *[clean] * 23, STILL],
        (1, 1, 1, 0),
    )
    yield Episode(
        "washes in between",
        spec,
        [STILL, *[raw] * 21, frame(washed=True), STILL, *[clean] * 30, STILL],
        (1, 0, 0, 0),
    )
    on_bowl = frame(place={"meat": (0.4, 0.0, 0.05)}, on={"meat": "bowl"})
    bowl = frame(touch=["bowl"])
    yield Episode(
        "meat, bowl, hand, mug",
        spec,
        [STILL, *[on_bowl] * 21, *[bowl] * 21, *[frame(touch=["mug"])] * 22, STILL],
        (1, 1, 1, 0),
    )
    # The meat has lain at its place from the start, and leaves a spot there.
    on_spot = frame(place={"meat": (0.4, 0.0, 0.05), "apple": (-0.29, 0.0, 0.03)})
    beside = frame(place={"meat": (0.4, 0.0, 0.05), "apple": (-0.2, 0.0, 0.03)})
    picks = frame(place={"meat": (0.4, 0.0, 0.05)}, touch=["apple"])
    yield Episode(
        "the apple lies where the meat lay",
        spec,
        [*[STILL] * 22, *[on_spot] * 21, *[picks] * 22],
        (1, 0, 0, 0),
    )
    yield Episode(
        "the apple lies beside it",
        spec,
        [*[STILL] * 22, *[beside] * 21, *[picks] * 22],
        (0, 0, 0, 0),
    )


def _pick_and_place() -> Iterator[Episode]:
    pick, place = "pick_preconditions_safe[o=mug]", "place_preconditions_safe[o=mug]"
    down = line((0.0, 0.0, 0.61), (0.0, 0.0, 0.19), 21)  # within reach on the last
    yield Episode("a free way", pick, [STILL, *(frame(gripper=p) for p in down)], (1, 0, 0, 0))
    way = {"block": (0.0, 0.0, 0.13)}
    blocked = [frame(gripper=p, place=way) for p in down]
    yield Episode(
        "a block is in the way, then no more",
        pick,
        [STILL, *blocked, frame(gripper=down[-1], place=way), frame(gripper=down[-1])],
        (1, 1, 2, 0),
    )
    sliding = [frame(gripper=p, speed={"mug": (0.2, 0.0, 0.0)}) for p in down]
    yield Episode(
        "the mug slides", pick, [frame(speed={"mug": (0.2, 0.0, 0.0)}), *sliding], (1, 1, 1, 0)
    )
    # Until it was let go, the mug was what the hand brought nearer.
    beside: Point = (0.26, 0.0, 0.05)
    brought = [held(p) for p in line((0.0, 0.0, 0.05), beside, 20)]
    lets_go = [*opening(beside, "table"), *[frame(gripper=beside, place={"mug": beside})] * 5]
    yield Episode(
        "the mug is put down beside the bowl", "pick_preconditions_safe[o=bowl]",
        [STILL, *brought, *lets_go], (0, 0, 0, 0),
    )  # fmt: skip
    low: Point = (0.0, 0.0, 0.05)
    leave = [frame(gripper=p) for p in line(low, (0.0, 0.0, 0.4), 10)]
    hold = [*[held(low)] * 8]
    yield Episode(
        "on the table", place, [STILL, *hold, *opening(low, "table"), *leave], (1, 0, 0, 0)
    )
    back_and_forth = [
        frame(gripper=AWAY, place={"mug": (x, 0.0, 0.05)}) for x in (3.0, 3.0, 0.0, 3.0, 0.0)
    ]
    yield Episode(
        "pushed off the table and back", place,
        [STILL, *hold, *opening(low, "table"), *leave, *back_and_forth], (1, 0, 0, 0),
    )  # fmt: skip
    # On nothing: the place is beyond the table. It counts as concluded once 100 frames have passed.
    out: Point = (3.0, 0.0, 0.3)
    off = frame(gripper=(3.0, 0.0, 0.6), place={"mug": out}, on={"mug": None})
    yield Episode(
        "on nothing",
        place,
        [STILL, *[held(out)] * 8, *opening(out, None), *[off] * 102],
        (1, 1, 99, 0),
    )
    # Raw meat on the bare top of the drawer.
    top: Point = (0.0, -0.6, 0.22)
    meat = [frame(gripper=top, hold="meat", place={"meat": top})] * 8
    lets_go = [
        frame(gripper=top, fingers=0.02 + 0.004 * i, place={"meat": top}, on={"meat": "drawer"})
        for i in range(1, 6)
    ]
    rests = frame(place={"meat": top}, on={"meat": "drawer"})
    yield Episode(
        "raw meat on the drawer",
        "place_preconditions_safe[o=meat]",
        [STILL, *meat, *lets_go, *[rests] * 3],
        (1, 1, 3, 0),
    )
    # In the mug, whose rim is 7 cm above the meat's bottom.
    deep: Point = (0.0, 0.0, 0.05)
    meat = [frame(gripper=deep, hold="meat")] * 8
    falls = {"place": {"meat": deep}, "on": {"meat": None}}
    lets_go = [frame(gripper=deep, fingers=0.02 + 0.004 * i, **falls) for i in range(1, 6)]
    leaves = [frame(gripper=p, **falls) for p in line(deep, (0.0, 0.0, 0.2), 5)]
    yield Episode(
        "the meat is let go between the mug's walls",
        "place_preconditions_safe[o=meat]",
        [STILL, *meat, *lets_go, *leaves],
        (1, 0, 0, 0),
    )
    # Three neighbours crowd the fragile apple.
    spot: Point = (0.0, 0.0, 0.03)
    near = {"mug": (0.075, 0.0, 0.05), "meat": (-0.065, 0.0, 0.02), "bowl": (0.0, 0.115, 0.03)}
    apple = [frame(gripper=spot, hold="apple", place={**near, "apple": spot})] * 8
    for crowd, expected in (
        (near, (1, 1, 1, 0)),
        ({**near, "meat": (-0.2, 0, 0.02)}, (1, 0, 0, 0)),
    ):
        rest = frame(place={**crowd, "apple": spot})
        yield Episode(
            f"the apple among {len(crowd)}: {expected[1]}",
            "place_preconditions_safe[o=apple]",
            [STILL, *apple, *[frame(gripper=spot, place={**crowd, "apple": spot})] * 6, rest, rest],
            expected,
        )


def _fixture_skills() -> Iterator[Episode]:
    def approach(part: str, skill: str, name: str, good: dict, bad: dict, tail: int) -> Iterator:
        from .kitchen import COMPONENT_PLACES

        x, y, z = COMPONENT_PLACES[part]
        way = line((x, y, z + 0.5), (x, y, z + 0.08), 21)
        instance = f"{skill}_preconditions_safe[f={name}]"
        for label, state, expected in (("ready", good, (1, 0, 0, 0)), ("not ready", bad, None)):
            frames = [frame(gripper=p, **state) for p in (AWAY, *way)]
            if expected is None:
                # Then the gripper stays: after ten idle frames and one more the attempt is over.
                frames += [frame(gripper=way[-1], **state)] * 12
                expected = (1, 1, tail, 0)
            yield Episode(f"{skill}: {label}", instance, frames, expected)

    # The gap to the component is at most 5 cm on the last two frames of the way; the attempt ends
    # with the 11th idle frame, which is not exposed: 2 frames and 10.
    yield from approach("button", "press", "microwave", {}, {"joints": {"microwave": 0.5}}, 12)
    yield from approach("tap", "turn", "sink", {}, {"on": {"meat": "sink"}}, 12)
    yield from approach(
        "drawer_tray",
        "slide",
        "drawer",
        {"joints": {"drawer": 0.7}},
        {"joints": {"drawer": 0.3}},
        12,
    )
    yield from approach(
        "plug",
        "twist",
        "sink",
        {},
        {"on": {"mug": "sink"}, "turn": {"mug": TIPPED}, "liquid": {"mug": 0.5}},
        12,
    )
    yield from approach(
        "drawer_handle", "open_close", "drawer", {}, {"place": {"block": (0.0, -0.38, 0.14)}}, 12
    )


def _dump() -> Iterator[Episode]:
    spec, solid = "dump_preconditions_safe[o=bowl]", "solid_transfer_eventually_settles"
    high: Point = (0.0, 0.0, 0.3)
    aside: Point = (0.4, 0.3, 0.3)

    def carrying(gripper: Point, inside: bool = True, **changes: object) -> SceneArrays:
        place = {"apple": gripper if inside else (gripper[0], gripper[1], gripper[2] - 0.1)}
        on: dict[str, str | None] = {"apple": "bowl" if inside else None}
        return frame(
            gripper=gripper, hold="bowl",
            place=place | changes.pop("place", {}), on=on | changes.pop("on", {}),  # type: ignore
            **changes,  # type: ignore[arg-type]
        )  # fmt: skip

    caught = {"place": {"apple": (0.0, 0.0, 0.08)}, "on": {"apple": "mug"}}
    into_mug = [
        *[carrying(high)] * 8,
        *[carrying(high, inside=False)] * 3,
        *[carrying(high, **caught)] * 8,
    ]
    astray = [*[carrying(aside)] * 8, *[carrying(aside, inside=False)] * 13]
    yield Episode("the apple goes into the mug", spec, [STILL, *into_mug], (1, 0, 0, 0))
    # Nothing is below but the table; the dump is over after ten frames without loss and one more.
    yield Episode("the apple goes astray", spec, [STILL, *astray], (1, 1, 11, 0))
    yield Episode("settles in the mug", solid, [STILL, *into_mug], (1, 0, 0, 0))
    lost = carrying(aside, inside=False)
    yield Episode("settles nowhere", solid, [STILL, *astray, *[lost] * 100], (1, 1, 1, 0))


def _liquid() -> Iterator[Episode]:
    spec = "liquid_transfer_eventually_settles"
    high: Point = (0.4, 0.0, 0.3)
    full = held(high, liquid={"mug": 1.0})
    pour = [
        held(high, liquid={"mug": 1.0 - 0.1 * i, "bowl": 0.1 * (i - 1)}, moving=0.1)
        for i in range(1, 6)
    ]
    done = held(high, liquid={"mug": 0.5, "bowl": 0.5})
    yield Episode("into the bowl", spec, [*[full] * 8, *pour, *[done] * 5], (1, 0, 0, 0))
    spill = [held(ABOVE, liquid={"mug": 1.0 - 0.1 * i}, spilled=0.1 * i) for i in range(1, 6)]
    wet = held(ABOVE, liquid={"mug": 0.5}, spilled=0.5)
    start = held(ABOVE, liquid={"mug": 1.0})
    yield Episode("onto the table", spec, [*[start] * 8, *spill, *[wet] * 110], (1, 1, 1, 0))
    runs = frame(running=["sink"])
    yield Episode("the tap runs", spec, [STILL, *[runs] * 10, STILL], (1, 0, 0, 0))


def _mechanism() -> Iterator[Episode]:
    for way, start, sign in (("open", 0.1, 1), ("close", 0.9, -1)):
        spec = f"fixture_{way}_obstacle_retract[f=drawer]"

        def pull(i: int, hit: bool, start: float = start, sign: int = sign) -> SceneArrays:
            blocked = [("bowl", "drawer")] if hit else []
            joint = start + sign * 0.002 * i
            return frame(touch=["drawer_handle"], blocked=blocked, joints={"drawer": joint})

        free = [pull(i, hit=False) for i in range(5)]
        let_go = frame(joints={"drawer": start + sign * 0.01})
        yield Episode(f"{way}: lets go", spec, [*free, pull(5, True), *[let_go] * 5], (1, 0, 0, 0))
        on = [pull(i, hit=True) for i in range(5, 112)]
        yield Episode(f"{way}: goes on", spec, [*free, *on], (1, 1, 1, 0))
        there = [pull(i, hit=True) for i in range(10)]
        yield Episode(f"{way}: leant there before", spec, there, (0, 0, 0, 0))


def _enclosures() -> Iterator[Episode]:
    spec = "microwave_single_object_until_empty[m=microwave]"
    inside: Point = (0.7, 0.5, 0.15)
    before: Point = (0.7, 0.2, 0.15)
    way = [*[before] * 8, *line(before, inside, 6)]
    back = line(inside, before, 6)
    yield Episode("into an empty one", spec, [STILL, *(held(p) for p in way)], (1, 0, 0, 0))
    meat = {"meat": (0.7, 0.55, 0.05)}
    # Inside the shrunk box from 0.4 on: frames 4 to 6 of the way in, 1 and 2 of the way back.
    yield Episode(
        "meat is in it", spec, [frame(place=meat), *(held(p, place={**meat, "mug": p}) for p in
        (*way, *back))], (1, 1, 5, 0),
    )  # fmt: skip
    inside_out = [frame(place=where) for where in ({}, meat, {}, meat) for _ in range(6)]
    yield Episode("meat comes and goes", spec, inside_out, (0, 0, 0, 0))
    spec = "reach_in_fixture_only_when_fully_open[f=drawer]"
    doors = [frame(joints={"drawer": joint}) for joint in (0.3, 0.7, 0.3, 0.7)]
    yield Episode("opened from afar", spec, doors, (0, 0, 0, 0))
    into = line((0.0, -0.6, 0.3), (0.0, -0.6, 0.1), 5)
    out = line((0.0, -0.6, 0.1), (0.0, -0.6, 0.3), 5)
    for joint, expected in ((0.7, (1, 0, 0, 0)), (0.3, (1, 1, 3, 0))):
        yield Episode(
            f"reaches into a drawer open by {joint}", spec,
            [frame(gripper=p, joints={"drawer": joint}) for p in (AWAY, *into, *out)], expected,
        )  # fmt: skip
    spec = "fixture_placement_release_after_internal_support[o=mug,f=drawer]"
    edge, middle = (0.14, -0.6, 0.1), (0.0, -0.6, 0.1)
    start: Point = (0.3, -0.6, 0.1)
    hold = [held(start)] * 8
    for label, stop, expected in (("inside", middle, (1, 0, 0, 0)), ("edge", edge, (1, 1, 1, 0))):
        moves = [held(p) for p in line(start, stop, 4)]
        yield Episode(
            f"let go at the {label}", spec,
            [STILL, *hold, *moves, *opening(stop, None), frame(place={"mug": stop})], expected,
        )  # fmt: skip


def episodes() -> list[Episode]:
    """All of them."""
    return [
        *_contact(), *_grasp(), *_hygiene(), *_pick_and_place(), *_fixture_skills(), *_dump(),
        *_liquid(), *_mechanism(), *_enclosures(),
    ]  # fmt: skip
