"""Grasp, release and contact on frames written by hand, and the monitors on their letters."""

from __future__ import annotations

from dataclasses import replace
from math import cos, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.errors import ConfigurationError, GroundingError, ResetNeededError
from safe_rl.grounding import FrameGrounding, SceneArrays, SceneRoles
from safe_rl.grounding.arrays import empty_scene, proposition_names
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

from .arrays.kitchen import ROLES as KITCHEN
from .frames import OPEN, Motion, facts, frame, scene_roles

IDS = [
    "no_forbidden_contact",
    "grasp_remains_synced_until_dropped",
    "dropped_object_was_released",
    "released_object_eventually_settles",
]
HELD = frame(facts(held=True))
RESTING = frame(facts(support="table"), joints=OPEN, target=OPEN)
FALLING = frame(facts(body=Motion(linear=(0.0, 0.0, -1.0))))
DROPOUT = frame(facts(near=True, cleared=False))  # one frame without contact, nothing moved


def make(*objects: str, backend: str = "numpy") -> FrameGrounding:
    roles = scene_roles(*(objects or ("mug",)))
    names = proposition_names(
        roles, categories=["collision_contact", "grasp_stability", "release_stability"]
    )
    graspable = [f"object_supported({o})" for o in roles.object_names]
    return FrameGrounding(roles, names=[*names, *graspable, "forbidden_contact"], backend=backend)


def letters(grounding: FrameGrounding, frames: list[SceneArrays]) -> list[dict[str, bool]]:
    return [grounding.reset(frames[0]), *(grounding.step(f) for f in frames[1:])]


def column(trace: list[dict[str, bool]], name: str) -> list[int]:
    """The frames on which a proposition is true."""
    return [index for index, letter in enumerate(trace) if letter[name]]


def counts(
    trace: list[dict[str, bool]], *objects: str, truncated: bool = True
) -> dict[str, tuple[int, int, int, int]]:
    specs = load_specs("safemanip").select(IDS).bind({"graspable": list(objects or ("mug",))})
    monitor = Monitor(specs)
    monitor.reset(trace[0])
    for letter in trace[1:]:
        monitor.step(letter)
    monitor.finish(truncated=truncated)
    return {name: (c.N, c.V, c.U, c.pending) for name, c in monitor.summary().items()}


SYNC, DROP, SETTLE = (
    "grasp_remains_synced_until_dropped[o=mug]",
    "dropped_object_was_released[o=mug]",
    "released_object_eventually_settles[o=mug]",
)


def test_the_letter_names_every_proposition_that_the_specifications_use() -> None:
    specs = load_specs("safemanip").select(IDS).bind({"graspable": ["mug", "pan"]})
    grounding = make("mug", "pan")
    letter = grounding.reset(frame(facts(), facts()))
    assert set(specs.propositions) <= set(letter) == set(grounding.proposition_names)
    assert all(type(value) is bool for value in letter.values())


def test_grasp_is_debounced_on_the_fifth_frame() -> None:
    trace = letters(make(), [RESTING, *[HELD] * 10])
    assert column(trace, "object_grasped_raw(mug)") == list(range(1, 11))
    assert column(trace, "object_grasped(mug)") == list(range(5, 11))


# so101-nexus PR 145: fingers straddle an object without holding it
def test_fingers_that_straddle_an_object_do_not_hold_it() -> None:
    from_above = frame(facts(fingers=2, opposed=False, near=True, cleared=False))
    one_finger = frame(facts(fingers=1, opposed=False, near=True, cleared=False))
    for straddling in (from_above, one_finger):
        trace = letters(make(), [RESTING, *[straddling] * 20])
        assert column(trace, "object_grasped_raw(mug)") == []
        assert column(trace, "object_grasped(mug)") == []


def test_open_fingers_do_not_hold() -> None:
    wide = frame(facts(held=True), joints=0.0399)  # not closed past 0.0399
    assert not any(letter["object_grasped_raw(mug)"] for letter in letters(make(), [wide] * 3))


# SafeManip notes: one-frame bilateral contact flicker inside a hold (True ... False ... True)
def test_contact_flicker_is_no_grasp_end_no_release_and_no_violation() -> None:
    trace = letters(make(), [RESTING, *[HELD] * 10, DROPOUT, *[HELD] * 10])
    assert not trace[11]["object_grasped_raw(mug)"]
    assert column(trace, "object_grasped(mug)") == list(range(5, 22))
    assert column(trace, "object_dropped(mug)") == column(trace, "object_released(mug)") == []
    found = counts(trace)
    assert found[SYNC] == (1, 0, 0, 0)
    assert found[DROP] == found[SETTLE] == (0, 0, 0, 0)


# SafeManip notes: the recording ends with the object still held
def test_a_recording_that_ends_while_holding_is_no_violation() -> None:
    trace = letters(make(), [RESTING, *[HELD] * 10])
    for truncated in (True, False):  # the weak until is never violated by the end
        assert counts(trace, truncated=truncated)[SYNC] == (1, 0, 0, 0)


def _release(placed: bool) -> list[SceneArrays]:
    """Hold for ten frames, open over five, then rest; the fingers part on the first of them."""
    support = "table" if placed else None
    opening = [
        frame(
            facts(support=support, near=True, cleared=False, body=Motion()),
            joints=0.02 + 0.004 * step,
            target=OPEN,
        )
        for step in range(1, 6)
    ]
    return [RESTING, *[HELD] * 10, *opening, *[RESTING] * 10]


@pytest.mark.parametrize("placed", [True, False])
def test_opening_the_gripper_is_a_release(placed: bool) -> None:
    trace = letters(make(), _release(placed))
    # Contact ends on frame 11, so the debounced hold ends on frame 15.
    assert column(trace, "object_dropped(mug)") == [15]
    assert column(trace, "object_released(mug)") == [15]
    found = counts(trace)
    assert found[DROP] == (1, 0, 0, 0)
    assert found[SETTLE] == (1, 0, 0, 0)  # settled on frame 16, when the gripper has cleared it


def test_an_object_that_slips_out_of_a_closed_gripper_is_dropped_not_released() -> None:
    frames = [RESTING, *[HELD] * 10, *[FALLING] * 3]
    landed = frame(facts(support="table"), joints=0.001)
    trace = letters(make(), [*frames, *[landed] * 10])
    assert column(trace, "object_dropped(mug)") == [15]
    # It lies on the table by the frame of the edge; that does not make the drop a release.
    assert trace[15]["object_supported(mug)"]
    assert column(trace, "object_released(mug)") == []
    found = counts(trace)
    assert found[DROP] == (1, 1, 1, 0)  # rho, "left the gripper", holds at once: one step exposed
    assert found[SETTLE] == (1, 0, 0, 0)


def test_an_object_laid_down_by_moving_away_was_released() -> None:
    lying = frame(facts(support="table", near=True, cleared=False), joints=0.02)
    trace = letters(make(), [RESTING, *[HELD] * 10, *[lying] * 10])
    assert column(trace, "object_dropped(mug)") == column(trace, "object_released(mug)") == [15]


def test_fingers_forced_apart_are_not_opening() -> None:
    # The object turns between the fingers and spreads them, against their set point.
    forced = [
        frame(facts(near=True, cleared=False), joints=0.02 + 0.002 * step, target=0.0)
        for step in range(1, 8)
    ]
    trace = letters(make(), [RESTING, *[HELD] * 10, *forced])
    assert column(trace, "object_dropped(mug)") == [15]
    assert column(trace, "object_released(mug)") == []


def test_a_lost_object_that_never_left_the_gripper_may_be_grasped_again() -> None:
    trace = letters(make(), [RESTING, *[HELD] * 10, *[DROPOUT] * 7, *[HELD] * 10])
    assert column(trace, "object_dropped(mug)") == [15]
    assert column(trace, "object_released(mug)") == []
    found = counts(trace)
    assert found[DROP] == found[SETTLE] == (1, 0, 0, 0)
    assert found[SYNC] == (2, 0, 0, 0)


# SafeManip notes: release on the very last recorded step, settling never observable
def test_release_on_the_last_step_is_pending() -> None:
    trace = letters(make(), _release(placed=False))[:16]
    assert trace[-1]["object_dropped(mug)"]
    assert counts(trace)[SETTLE] == (0, 0, 0, 1)


def test_settling_times_out_after_100_frames() -> None:
    never = frame(facts(body=Motion(linear=(0.0, 0.0, -1.0))), joints=OPEN)
    frames = [RESTING, *[HELD] * 10, *_release(False)[11:16], *[never] * 120]
    trace = letters(make(), frames)
    assert column(trace, "object_dropped(mug)") == [15]
    assert column(trace, "release_object_settle_timeout(mug)") == list(range(115, 136))
    assert counts(trace)[SETTLE] == (1, 1, 1, 0)


def test_settled_needs_support_rest_and_clearance() -> None:
    still, fast = Motion(), Motion(linear=(0.06, 0.0, 0.0))
    turning = Motion(angular=(0.0, 0.0, 0.3))
    cases = {
        "settled": (facts(support="table", body=still), True),
        "in the air": (facts(body=still), False),
        "moving": (facts(support="table", body=fast), False),
        "turning": (facts(support="table", body=turning), False),
        "gripper near": (facts(support="table", body=still, cleared=False), False),
    }
    for name, (values, expected) in cases.items():
        letter = make().reset(frame(values, joints=OPEN))
        assert letter["object_settled(mug)"] is expected, name


def test_at_rest_is_measured_against_the_support() -> None:
    carried = Motion(position=(0.1, 0.0, 0.5), linear=(0.0, 0.2, 0.0), angular=(0.0, 0.0, 1.0))
    # The basket turns about its own origin at 1 rad/s and moves: a point 0.1 m away has this speed.
    basket = Motion(position=(0.0, 0.0, 0.5), linear=(0.0, 0.1, 0.0), angular=(0.0, 0.0, 1.0))
    grounding, below = make("mug", "basket"), facts(body=basket)
    values = facts(support=1, body=carried)
    assert grounding.reset(frame(values, below, joints=OPEN))["object_settled(mug)"]
    left_behind = facts(support=1, body=Motion((0.1, 0.0, 0.5)))
    assert not grounding.reset(frame(left_behind, below, joints=OPEN))["object_settled(mug)"]


@pytest.mark.parametrize(
    ("shift", "turn", "expected"),
    [(0.029, 0.0, True), (0.031, 0.0, False), (0.0, 0.29, True), (0.0, 0.31, False)],
)
def test_sync_is_slip_since_the_frame_before(shift: float, turn: float, expected: bool) -> None:
    moved = Motion((0.0, 0.0, -shift), (cos(turn / 2), 0.0, sin(turn / 2), 0.0))
    slipped = frame(facts(held=True, body=moved))
    trace = letters(make(), [*[HELD] * 8, slipped, slipped])
    assert trace[8]["object_sync(mug)"] is expected
    assert trace[9]["object_sync(mug)"]  # re-anchored: a shift is reported once
    assert counts(trace)[SYNC] == ((1, 0, 0, 0) if expected else (1, 1, 1, 0))


@settings(deadline=None, max_examples=50)
@given(
    st.tuples(*[st.floats(-1, 1)] * 3),
    st.floats(-3, 3),
    st.tuples(*[st.floats(-1, 1)] * 3),
)
def test_an_object_carried_rigidly_is_in_sync(
    start: tuple[float, float, float], turn: float, shift: tuple[float, float, float]
) -> None:
    # The gripper turns about z by any angle and moves anywhere; the object goes with it.
    offset = (0.1, 0.0, 0.0)
    c, s = cos(turn), sin(turn)
    before = Motion(start)
    after = Motion(
        (start[0] + shift[0], start[1] + shift[1], start[2] + shift[2]),
        (cos(turn / 2), 0.0, 0.0, sin(turn / 2)),
    )
    object_before = Motion((start[0] + offset[0], start[1], start[2]))
    object_after = Motion(
        (after.position[0] + c * offset[0], after.position[1] + s * offset[0], after.position[2]),
        after.quaternion,
    )
    grounding = make()
    grounding.reset(frame(facts(held=True, body=object_before), gripper=before))
    letter = grounding.step(frame(facts(held=True, body=object_after), gripper=after))
    assert letter["object_sync(mug)"]


def test_without_a_baseline_sync_compares_speeds() -> None:
    with_it = facts(body=Motion(linear=(0.2, 0.0, 0.0)))
    moving = Motion(linear=(0.2, 0.0, 0.0))
    assert make().reset(frame(with_it, gripper=moving))["object_sync(mug)"]
    assert not make().reset(frame(with_it))["object_sync(mug)"]


# SafeManip notes: A dropped, B grasped afterwards: A's obligation stays open or violated
def test_a_drop_of_one_object_is_not_excused_by_the_grasp_of_another() -> None:
    names = ("a", "b")
    free, lost = facts(support="table"), facts(body=Motion(linear=(0.0, 0.0, -1.0)))
    held = facts(held=True)
    frames = [frame(free, free), *[frame(held, free)] * 8, *[frame(lost, free)] * 6]
    frames += [frame(lost, held)] * 120
    found = counts(letters(make(*names), frames), *names)
    assert found["dropped_object_was_released[o=a]"] == (1, 1, 1, 0)
    assert found["released_object_eventually_settles[o=a]"] == (1, 1, 1, 0)
    assert found["grasp_remains_synced_until_dropped[o=b]"] == (1, 0, 0, 0)
    assert found["dropped_object_was_released[o=b]"] == (0, 0, 0, 0)


def test_forbidden_contact_is_sustained_on_the_21st_frame() -> None:
    pressing = frame(facts(support="table"), joints=OPEN, pressed=True)
    trace = letters(make(), [RESTING, *[pressing] * 30, *[RESTING] * 3])
    assert column(trace, "forbidden_contact") == list(range(1, 31))
    assert column(trace, "forbidden_contact_sustained") == list(range(21, 31))
    # rho, "no longer sustained", first holds on frame 31: exposed are frames 21 to 30.
    assert counts(trace)["no_forbidden_contact"] == (1, 1, 10, 0)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([HELD, DROPOUT, FALLING, RESTING]), min_size=2, max_size=40))
def test_a_restored_grounding_goes_on_like_the_one_saved(frames: list[SceneArrays]) -> None:
    half = len(frames) // 2
    grounding, other = make(), make()
    letters(grounding, frames[:half] or [RESTING])
    other.reset(HELD)
    other.set_state(grounding.get_state())
    for following in frames[half:]:
        assert grounding.step(following) == other.step(following)
        assert grounding.features.tolist() == other.features.tolist()
    assert len(grounding.features) == len(grounding.feature_names)
    assert all(0.0 <= value <= 1.0 for value in grounding.features)


def test_a_state_is_a_value_that_later_frames_leave_alone() -> None:
    grounding = make()
    letters(grounding, [RESTING, *[HELD] * 3])
    state = grounding.get_state()
    before = [part.copy() for part in state]
    letters(grounding, [HELD, *[FALLING] * 9])
    for part, copy in zip(state, before, strict=True):
        assert part.tolist() == copy.tolist() and not part.flags.writeable


def test_what_is_forbidden_can_be_named() -> None:
    grounding = make("mug", "pan")
    held, other = facts(held=True), facts(support="table")
    trace = [frame(held, other)] * 8
    letters(grounding, trace)
    # The held mug, which never stood there, rubs on the table; the pan that stands on it may.
    rubbing = frame(held, other, rubbing=[0])
    assert grounding.step(rubbing)["forbidden_contact"]
    found = grounding.forbidden(rubbing)
    assert found.object_fixture.tolist() == [[True], [False]]
    assert not found.robot_fixture.any() and not found.robot_object.any()
    pressing = frame(held, other, pressed=True)
    assert grounding.step(pressing)["forbidden_contact"]
    assert grounding.forbidden(pressing).robot_fixture.tolist() == [True]
    only = FrameGrounding(scene_roles("mug"), names=["object_grasped(mug)"], backend="numpy")
    only.reset(frame(held, pressed=True))
    assert not only.forbidden(frame(held, pressed=True)).robot_fixture.any()


def _random_scenes(roles: SceneRoles, count: int, seed: int) -> list[SceneArrays]:
    """Frames that look like scenes: most facts last, a few change from one to the next."""
    rng = np.random.default_rng(seed)
    like = empty_scene(roles, np)
    now = [np.array(value) for value in like]
    frames = []
    for _ in range(count):
        for number, value in enumerate(now):
            changed = rng.random(value.shape) < 0.06
            if value.dtype == bool:
                now[number] = np.where(changed, rng.random(value.shape) < 0.6, value)
            else:
                fresh = rng.uniform(-0.4, 0.4, value.shape).astype(np.float32)
                now[number] = np.where(changed, fresh, value)
        f = dict(zip(SceneArrays._fields, [value.copy() for value in now], strict=True))
        motions = ("gripper_linear", "gripper_angular", "object_linear", "object_angular")
        for name in (*motions, "finger_joints", "gripper_gaps"):
            f[name] = f[name] * np.float32(0.1)  # things come to rest, and are grasped
        for name in ("finger_joints", "gripper_gaps", "component_gaps", "joint_fractions"):
            f[name] = np.abs(f[name])
        for name in ("gripper_quaternion", "object_quaternions"):
            turn = f[name] + np.float32([1.5, 0, 0, 0])
            f[name] = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
        f["object_object"] |= f["object_object"].T
        frames.append(SceneArrays(**f))
    return frames


@pytest.mark.slow
def test_the_backends_give_the_same_letters_and_features() -> None:
    pytest.importorskip("jax")
    plain, compiled = (FrameGrounding(KITCHEN, backend=b) for b in ("numpy", "jax"))
    assert FrameGrounding(KITCHEN).backend == "jax"
    seen: set[str] = set()
    for seed in range(5):
        for number, each in enumerate(_random_scenes(KITCHEN, 50, seed)):
            first = number == 0
            one, other = ((g.reset if first else g.step)(each) for g in (plain, compiled))
            assert one == other, (seed, number)
            assert np.allclose(plain.features, compiled.features, atol=1e-6)
            seen |= {name for name, value in one.items() if value}
    heads = {name.partition("(")[0] for name in seen}
    assert len(heads) > 20, sorted(heads)  # the scenes are not dull
    # A state saved by one backend goes on in the other.
    compiled.set_state(plain.get_state())
    for each in _random_scenes(KITCHEN, 10, seed=99):
        assert plain.step(each) == compiled.step(each)
    # Equal scenes share what was compiled: a second environment does not compile again.
    again = FrameGrounding(replace(KITCHEN), backend="jax")
    again.reset(each)
    assert again._step is compiled._step


def test_misuse_is_one_clear_error() -> None:
    with pytest.raises(ResetNeededError, match="came before reset"):
        make().step(HELD)
    with pytest.raises(ResetNeededError, match="get_state came before reset"):
        make().get_state()
    with pytest.raises(ResetNeededError, match="features came before reset"):
        _ = make().features
    with pytest.raises(ResetNeededError, match="forbidden came before reset"):
        make().forbidden(HELD)
    with pytest.raises(GroundingError, match="the frame is of another scene: object_positions has"):
        make().reset(frame(facts(), facts()))
    saved = make("mug", "pan")
    saved.reset(frame(facts(), facts()))
    with pytest.raises(GroundingError, match="the state is of another scene or of other propositi"):
        make().set_state(saved.get_state())
    with pytest.raises(ConfigurationError, match="backend must be one of auto, jax, numpy, got"):
        make(backend="torch")
