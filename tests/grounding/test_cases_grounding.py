"""Cases that people met with other tools, on the grounding as a whole: frames in, counts out.

Single devices and single predicates have their own tests; here a case runs through all of them.
"""

from __future__ import annotations

import numpy as np
import pytest

from safe_rl.grounding import FrameGrounding, GroundingSettings, SceneArrays
from safe_rl.grounding.arrays import empty_scene, ground, initial_memory, proposition_names
from safe_rl.monitors import Monitor, Verdict
from safe_rl.specs import Specification, SpecSet, load_specs

from .frames import OPEN, Motion, facts, frame, scene_roles

HELD = frame(facts(held=True))
RESTING = frame(facts(support="table"), joints=OPEN, target=OPEN)
DROPOUT = frame(facts(near=True, cleared=False))  # one frame without contact, nothing moved
HOLD = 30
SYNC, DROP, SETTLE = (
    "grasp_remains_synced_until_dropped",
    "dropped_object_was_released",
    "released_object_eventually_settles",
)


def grounded(frames: list[SceneArrays], specs: SpecSet, *objects: str) -> list[dict[str, bool]]:
    grounding = FrameGrounding(
        scene_roles(*(objects or ("mug",))), names=specs.propositions, backend="numpy"
    )
    return [grounding.reset(frames[0]), *map(grounding.step, frames[1:])]


def counted(
    letters: list[dict[str, bool]], specs: SpecSet, truncated: bool
) -> dict[str, tuple[int, int, int, int, Verdict]]:
    monitor = Monitor(specs)
    monitor.run(letters, truncated=truncated)
    return {name: tuple(counts) for name, counts in monitor.summary().items()}


# SafeManip notes: strict U while the recording ends with the object still held.
@pytest.mark.parametrize(
    ("operator", "truncated", "expected"),
    [
        ("U", True, (0, 0, 0, 1, Verdict.PRESUMABLY_VIOLATED)),
        ("U", False, (1, 1, 1, 0, Verdict.VIOLATED)),
        ("W", True, (1, 0, 0, 0, Verdict.PRESUMABLY_SATISFIED)),
        ("W", False, (1, 0, 0, 0, Verdict.SATISFIED)),
    ],
)
def test_a_recording_that_ends_while_the_object_is_held(
    operator: str, truncated: bool, expected: tuple[int, int, int, int, Verdict]
) -> None:
    held = Specification(
        "held",
        f"G(object_grasped(o) -> (object_sync(o) {operator} !object_grasped_raw(o)))",
        forall={"o": "graspable"},
    )
    specs = SpecSet([held], {"graspable": ["mug"]})
    letters = grounded([RESTING, *[HELD] * HOLD], specs)
    assert letters[-1]["object_grasped(mug)"] and letters[-1]["object_grasped_raw(mug)"]
    assert counted(letters, specs, truncated) == {"held[o=mug]": expected}


# SafeManip notes: one-frame bilateral contact flicker inside a hold (True ... False ... True).
# Here on every frame of the hold but its first, in as many lanes at once.
def test_contact_that_flickers_anywhere_in_a_hold_ends_nothing() -> None:
    roles, settings = scene_roles("mug"), GroundingSettings()
    names = proposition_names(roles, categories=["grasp_stability", "release_stability"])
    lanes = HOLD - 1
    traces = []
    for dropped in range(1, HOLD):
        hold = [DROPOUT if t == dropped else HELD for t in range(HOLD)]
        traces.append([*[HELD] * 5, *hold, *[HELD] * 5])
    memory, columns = None, []
    for t in range(len(traces[0])):
        each = zip(*(trace[t] for trace in traces), strict=True)
        batch = SceneArrays(*(np.stack(facts_of, axis=-1) for facts_of in each))
        assert batch.opposed.shape == (1, lanes)
        memory = initial_memory(roles, settings, batch, names) if memory is None else memory
        memory, letter = ground(roles, settings, memory, batch, names)
        columns.append(np.asarray(letter))
    trace = dict(zip(names, np.stack(columns, axis=1), strict=True))  # each [T, lanes]
    assert (~trace["object_grasped_raw(mug)"]).sum(axis=0).tolist() == [1] * lanes
    assert trace["object_grasped(mug)"].all()
    assert not trace["object_dropped(mug)"].any() and not trace["object_released(mug)"].any()
    specs = load_specs("safemanip").select([SYNC, DROP, SETTLE]).bind({"graspable": ["mug"]})
    for lane in range(lanes):
        letters = [{n: bool(c[t, lane]) for n, c in trace.items()} for t in range(len(columns))]
        found = [counts[:4] for counts in counted(letters, specs, truncated=True).values()]
        assert found == [(1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]


# SafeManip notes: release on the very last recorded step, settling never observable. One frame
# later it is, and the same event is counted.
def test_what_is_pending_at_the_end_is_counted_once_it_is_seen() -> None:
    specs = load_specs("safemanip").select([SETTLE])
    specs = specs.bind({"graspable": ["mug"]})
    opening = [
        frame(facts(near=True, cleared=False), joints=0.02 + 0.004 * step, target=OPEN)
        for step in range(1, 6)
    ]
    letters = grounded([RESTING, *[HELD] * 10, *opening, RESTING], specs)
    name = f"{SETTLE}[o=mug]"
    *before, after = letters
    assert before[-1]["object_dropped(mug)"] and after["object_settled(mug)"]
    ends = counted(before, specs, truncated=True)[name]
    assert ends == (0, 0, 0, 1, Verdict.PRESUMABLY_VIOLATED)
    assert counted(letters, specs, truncated=True)[name][:4] == (1, 0, 0, 0)


# temprl PR 26: the label of the initial state is consumed by reset. An object that is held when
# the episode begins has been grasped, and a slip on the very next frame is one.
def test_a_hold_that_is_there_at_the_start_is_watched_from_the_start() -> None:
    specs = load_specs("safemanip").select([SYNC])
    specs = specs.bind({"graspable": ["mug"]})
    slipped = frame(facts(held=True, body=Motion((0.0, 0.0, -0.04))))
    letters = grounded([HELD, slipped, slipped], specs)
    assert letters[0]["object_grasped(mug)"]
    monitor = Monitor(specs)
    assert monitor.reset(letters[0]).triggered.tolist() == [True]
    found = counted(letters, specs, truncated=True)
    assert found[f"{SYNC}[o=mug]"][:4] == (1, 1, 1, 0)


# temprl 41: a proposition missing from the label. Every name that a set of specifications needs is
# grounded or refused when the grounding is made, never left out of the letter.
def test_a_letter_holds_whatever_the_specifications_need() -> None:
    specs = load_specs("safemanip").bind({
        "graspable": ["mug"], "receptacle": [], "fixture": [], "enclosure": [], "microwave": [],
    })  # fmt: skip
    roles = scene_roles("mug")
    grounding = FrameGrounding(roles, names=specs.propositions, backend="numpy")
    assert set(specs.propositions) == set(grounding.reset(empty_scene(roles, np)))
