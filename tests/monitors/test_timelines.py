"""Timelines written by hand: what happens at each step, and the counts worked out on paper."""

import pytest

from safe_rl.monitors import Monitor, Verdict
from safe_rl.specs import Specification, SpecSet, load_specs


def watch(spec, *steps, truncated=False, objects=None):
    """Run one specification over letters written as "a b" (the true propositions), "" for none."""
    specs = SpecSet([spec], objects)
    monitor = Monitor(specs)
    events = monitor.run([set(step.split()) for step in steps], truncated=truncated)
    return monitor, events


def marks(events):
    """One word per step: T triggered, V violated, u exposed, R recovered, "." for nothing."""
    words = []
    for event in events:
        word = "".join(
            letter
            for letter, array in zip(
                "TVuR", (event.triggered, event.violated, event.exposed, event.recovered),
                strict=True,
            )
            if array[0]
        )  # fmt: skip
        words.append(word or ".")
    return " ".join(words)


def counts(monitor, instance=None):
    summary = monitor.summary()
    return summary[instance] if instance else next(iter(summary.values()))


GRASP = Specification(
    "grasp", "G(grasped -> (synced W !touching))", recovery="F(synced | !touching)"
)


def test_worked_timeline_of_a_slip_and_its_recovery():
    monitor, events = watch(
        GRASP,
        "",  # nothing held
        "grasped synced touching",  # a grasp: N = 1
        "grasped synced touching",
        "grasped touching",  # slips: V = 1, U = 1
        "grasped touching",  # still slipping: U = 2
        "grasped synced touching",  # rigid again: recovered, and no new edge
        "",  # let go
        "grasped synced touching",  # a second grasp: N = 2
        "",
    )
    assert marks(events) == ". T . Vu u R . T . ."
    assert counts(monitor) == (2, 1, 2, 0, Verdict.VIOLATED)


def test_violation_without_recovery_is_absorbing():
    spec = Specification("dry", "G !spilled", trigger="spilled")
    monitor, events = watch(spec, "", "spilled", "", "spilled", "")
    assert marks(events) == ". TVu u u u ."
    assert counts(monitor) == (1, 1, 4, 0, Verdict.VIOLATED)


def test_recovery_that_at_once_violates_again():
    # Recovery looks at `ok`, the rule at `hot`: at step 3 both hold.
    spec = Specification("cool", "G !hot", trigger="hot", recovery="F ok")
    # That letter also starts the next recovery, which therefore holds from the step after it on.
    monitor, events = watch(spec, "", "hot", "", "hot ok", "", "ok", "")
    assert marks(events) == ". TVu u TVuR R . . ."
    assert counts(monitor) == (2, 2, 3, 0, Verdict.VIOLATED)


def test_recovery_that_holds_on_the_step_of_the_violation_counts_from_the_next():
    """Else the same letter would restart and doom the main formula for ever."""
    spec = Specification("cool", "G !hot", trigger="hot", recovery="F ok")
    monitor, events = watch(spec, "hot ok", "", "")
    assert marks(events) == "TVu R . ."
    assert counts(monitor) == (1, 1, 1, 0, Verdict.VIOLATED)


def test_recovery_formula_that_must_hold_on_the_whole_of_the_violation():
    """SafeManip's first: G(p -> F !p) accepts as soon as p is over."""
    spec = Specification("contact", "G !p", trigger="p", recovery="G(p -> F !p)")
    monitor, events = watch(spec, "p", "p", "p", "", "p", "")
    assert marks(events) == "TVu u u R TVu R ."
    assert counts(monitor) == (2, 2, 4, 0, Verdict.VIOLATED)


def test_recovery_that_can_never_hold_stays_in_violation():
    spec = Specification("never", "G !p", trigger="p", recovery="G !p")
    monitor, events = watch(spec, "", "p", "", "")
    assert marks(events) == ". TVu u u ."
    assert counts(monitor) == (1, 1, 3, 0, Verdict.VIOLATED)


def test_trigger_that_is_true_at_reset_is_an_edge():
    monitor, events = watch(GRASP, "grasped synced touching", "grasped synced touching", "")
    assert marks(events) == "T . . ."
    assert counts(monitor) == (1, 0, 0, 0, Verdict.SATISFIED)


def test_each_rising_edge_counts_once_however_long_the_trigger_stays():
    spec = Specification("onset", "G(onset -> ready)")
    monitor, events = watch(spec, "onset ready", "onset ready", "", "onset ready", "onset ready")
    assert marks(events) == "T . . T . ."
    assert counts(monitor).N == 2


def test_edge_during_a_violation_is_not_counted():
    spec = Specification("cool", "G(on -> safe)", recovery="F ok")
    monitor, events = watch(spec, "on", "", "on", "", "on", "ok", "")
    #                               TVu  u   u    u   u    R
    assert marks(events) == "TVu u u u u R . ."
    assert counts(monitor) == (1, 1, 5, 0, Verdict.VIOLATED)


def test_edge_on_the_step_of_recovery_is_counted():
    spec = Specification("cool", "G(on -> safe)", recovery="F ok")
    monitor, events = watch(spec, "on", "", "on safe ok", "")
    assert marks(events) == "TVu u TR . ."
    assert counts(monitor) == (2, 1, 2, 0, Verdict.VIOLATED)


def test_trigger_that_stays_true_through_a_violation_is_no_edge_at_recovery():
    spec = Specification("cool", "G(on -> safe)", recovery="F ok")
    monitor, events = watch(spec, "on", "on", "on safe ok", "on safe")
    assert marks(events) == "TVu u R . ."
    assert counts(monitor) == (1, 1, 2, 0, Verdict.VIOLATED)


def test_trigger_may_look_back():
    """Counts each second press in a row: pressed now and one step ago."""
    spec = Specification("twice", "G !broken", trigger="pressed & Y pressed")
    _, events = watch(spec, "pressed", "pressed", "pressed", "", "pressed", "pressed")
    assert marks(events) == ". T . . . T ."


def test_trigger_memory_of_the_past_runs_through_violations():
    spec = Specification("since", "G !hot", trigger="O armed & hot", recovery="F !hot")
    _, events = watch(spec, "armed", "hot", "", "hot", truncated=True)
    # After the recovery the past formula still remembers the first step.
    assert marks(events) == ". TVu R TVu ."


RELEASE = Specification(
    "settles", "G(dropped -> (!timeout U settled))", recovery="F(settled | timeout)"
)


def test_release_on_the_last_recorded_step_is_pending():
    """SafeManip notes: settling was never observable, so it enters neither N nor V."""
    monitor, events = watch(RELEASE, "", "dropped", truncated=True)
    assert marks(events) == ". T ."
    assert counts(monitor) == (0, 0, 0, 1, Verdict.PRESUMABLY_VIOLATED)


def test_pending_takes_only_the_open_events_off():
    monitor, _ = watch(RELEASE, "dropped", "settled", "", "dropped", "", truncated=True)
    assert counts(monitor) == (1, 0, 0, 1, Verdict.PRESUMABLY_VIOLATED)


def test_several_events_can_be_open_at_once_and_close_together():
    monitor = Monitor([RELEASE])
    for step in ("dropped", "", "dropped", "", "dropped"):
        monitor.step({*step.split()}) if monitor.open[0] else monitor.reset({*step.split()})
    assert monitor.open == (3,)
    monitor.step({"settled"})
    assert monitor.open == (0,)
    monitor.finish(truncated=True)
    assert counts(monitor) == (3, 0, 0, 0, Verdict.PRESUMABLY_SATISFIED)


def test_open_events_are_cleared_by_a_violation():
    monitor = Monitor([RELEASE])
    monitor.reset({"dropped"})
    monitor.step(set())
    monitor.step({"dropped"})
    monitor.step({"timeout"})
    assert monitor.open == (0,)
    monitor.finish(truncated=True)
    assert counts(monitor) == (2, 1, 1, 0, Verdict.VIOLATED)


def test_termination_decides_an_open_obligation():
    monitor, events = watch(RELEASE, "", "dropped", "", truncated=False)
    assert marks(events) == ". T . Vu"
    assert counts(monitor) == (1, 1, 1, 0, Verdict.VIOLATED)


def test_violation_that_starts_at_the_very_end_has_exposure_one():
    """Both ways: on the last letter, and by the end itself."""
    monitor, events = watch(RELEASE, "", "dropped", "timeout")
    assert marks(events) == ". T Vu ."
    assert counts(monitor) == (1, 1, 1, 0, Verdict.VIOLATED)
    monitor, events = watch(RELEASE, "dropped")
    assert marks(events) == "T Vu"
    assert counts(monitor) == (1, 1, 1, 0, Verdict.VIOLATED)


@pytest.mark.parametrize("operator", ["U", "W"])
def test_recording_that_ends_with_the_object_still_held(operator):
    """SafeManip notes: no violation when truncated; the weak form never."""
    spec = Specification("held", f"G(grasped -> (synced {operator} released))")
    steps = ("grasped synced", "synced", "synced")
    monitor, events = watch(spec, *steps, truncated=True)
    assert marks(events) == "T . . ."
    assert counts(monitor).V == 0
    assert counts(monitor).pending == (1 if operator == "U" else 0)
    monitor, _ = watch(spec, *steps, truncated=False)
    assert counts(monitor).V == (1 if operator == "U" else 0)


def test_bad_prefix_reads_until_as_weak_and_never_violates_at_the_end():
    spec = Specification("lid", "on_table U lid_on", trigger="true", semantics="bad_prefix")
    monitor, events = watch(spec, "on_table", "on_table", truncated=False)
    assert marks(events) == "T . ."
    assert counts(monitor) == (1, 0, 0, 0, Verdict.SATISFIED)
    monitor, events = watch(spec, "on_table", "", "lid_on")
    assert marks(events) == "T Vu u ."
    assert counts(monitor) == (1, 1, 2, 0, Verdict.VIOLATED)
    monitor, events = watch(spec, "on_table", "on_table lid_on", "")
    assert marks(events) == "T . . ."
    assert events[1].verdict.tolist() == [Verdict.SATISFIED]


def test_the_same_until_under_finite_semantics_is_decided_at_termination():
    spec = Specification("lid", "on_table U lid_on", trigger="true")
    monitor, events = watch(spec, "on_table", "on_table", truncated=False)
    assert marks(events) == "T . Vu"
    assert counts(monitor) == (1, 1, 1, 0, Verdict.VIOLATED)


def test_object_dropped_is_not_excused_by_the_grasp_of_another():
    """SafeManip notes: A's obligation stays open or violated; B's grasp never fulfils it."""
    spec = Specification(
        "drop", "G(dropped(o) -> (!timeout(o) U grasped(o)))", forall={"o": "graspable"}
    )
    monitor = Monitor([spec], {"graspable": ["A", "B"]})
    monitor.reset({"dropped(A)"})
    monitor.step({"grasped(B)"})
    assert monitor.open == (1, 0)
    monitor.step({"timeout(A)"})
    monitor.finish()
    assert monitor.summary() == {
        "drop[o=A]": (1, 1, 1, 0, Verdict.VIOLATED),
        "drop[o=B]": (0, 0, 0, 0, Verdict.SATISFIED),
    }


def test_one_frame_contact_flicker_inside_a_hold_is_no_release():
    """SafeManip notes: True ... False ... True of the debounced contact is excused by a re-grasp
    that comes before the object leaves the gripper."""
    specs = load_specs("safemanip").select(["dropped_object_was_released"])
    monitor = Monitor(specs, {"graspable": ["mug"]})
    monitor.reset({"object_grasped(mug)"})
    monitor.step({"object_dropped(mug)"})  # the flicker: a grasp-ending edge
    monitor.step({"object_grasped(mug)"})  # held again, and it never left the gripper
    monitor.finish(truncated=False)
    assert counts(monitor) == (1, 0, 0, 0, Verdict.SATISFIED)


def test_specification_that_never_triggers_gives_no_denominator():
    monitor, _ = watch(RELEASE, "", "", "")
    assert counts(monitor).N == 0


def test_verdicts_of_an_obligation_step_by_step():
    spec = Specification("order", "!b U a", trigger="b")
    _, events = watch(spec, "", "a", "b")
    seen = [Verdict(int(event.verdict[0])) for event in events]
    assert seen == [
        Verdict.PRESUMABLY_VIOLATED,
        Verdict.SATISFIED,
        Verdict.SATISFIED,
        Verdict.SATISFIED,
    ]
    _, events = watch(Specification("settles", "G(d -> F s)"), "", "d", truncated=True)
    assert [int(event.verdict[0]) for event in events] == [1, 2, 2]


def test_strong_next_at_the_last_step_is_decided_by_termination_only():
    spec = Specification("next", "G(a -> X b)")
    assert counts(watch(spec, "a")[0]) == (1, 1, 1, 0, Verdict.VIOLATED)
    assert counts(watch(spec, "a", truncated=True)[0]).pending == 1
    weak = Specification("next", "G(a -> WX b)")
    assert counts(watch(weak, "a")[0]) == (1, 0, 0, 0, Verdict.SATISFIED)
