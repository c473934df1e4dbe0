"""The plain monitor: its letters, its errors, and its state."""

import copy
import json
import pickle

import numpy as np
import pytest

from safe_rl.errors import CheckpointError, GroundingError, ResetNeededError, SpecificationError
from safe_rl.monitors import Monitor, Verdict
from safe_rl.specs import Specification, SpecSet

HOLD = Specification("hold", "G(a -> (b W c))", recovery="F(b | c)")
DRY = Specification("dry", "G !spilled", trigger="spilled")


def letter(true, names=("a", "b", "c", "spilled")):
    return {name: name in true.split() for name in names}


def monitor_of(*specs):
    return Monitor(SpecSet(specs or [HOLD, DRY]))


def test_missing_proposition_is_an_error_and_not_false():
    """temprl 41."""
    monitor = monitor_of()
    with pytest.raises(GroundingError, match="'spiled'|'spilled'"):
        monitor.reset({"a": False, "b": False, "c": False, "spiled": False})
    monitor.reset(letter(""))
    with pytest.raises(GroundingError, match="lacks propositions 'b', 'c'"):
        monitor.step({"a": False, "spilled": False})


@pytest.mark.parametrize("value", [None, "yes", 2, -1, 300, 0.5, [], np.array([True, False])])
def test_value_that_is_no_boolean_is_an_error_that_names_it(value):
    monitor = monitor_of()
    with pytest.raises(GroundingError, match="'b' must be true or false"):
        monitor.reset(letter("") | {"b": value})
    monitor.reset(letter(""))
    with pytest.raises(GroundingError, match="'b' must be true or false"):
        monitor.step(letter("") | {"b": value})


@pytest.mark.parametrize("value", [True, np.True_, 1, np.int64(1), np.array(True)])
def test_values_that_mean_true(value):
    monitor = monitor_of()
    monitor.reset(letter("") | {"spilled": value})
    assert monitor.summary()["dry"].V == 1
    monitor.reset(letter(""))
    assert monitor.step(letter("") | {"spilled": value}).violated.tolist() == [False, True]


def test_failed_step_leaves_the_monitor_as_it_was():
    monitor = monitor_of()
    monitor.reset(letter("a b"))
    before = monitor.get_state()
    for bad in (letter("") | {"b": 7}, {"a": True}, "abc", None, ["a"]):
        with pytest.raises(GroundingError):
            monitor.step(bad)
        assert monitor.get_state() == before
    with pytest.raises(GroundingError):
        monitor.reset({"a": True})
    assert monitor.get_state() == before


def test_letter_may_be_a_set_or_a_mapping_in_any_order_with_more_names():
    steps = ["a b", "", "spilled a", "a b", "c b"]
    as_sets, plain, mixed = monitor_of(), monitor_of(), monitor_of()
    for i, true in enumerate(steps):
        shuffled = dict(sorted(letter(true).items(), reverse=bool(i % 2))) | {"extra": None}
        calls = [(as_sets, frozenset(true.split())), (plain, letter(true)), (mixed, shuffled)]
        seen = [(m.step(one) if i else m.reset(one)).codes.tolist() for m, one in calls]
        assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("extra", [0, 1, 250, 252, 253, 400])
def test_letters_of_many_propositions(extra):
    """Up to 256 names a letter is spread out by one byte table, beyond that one by one."""
    monitor, expected = monitor_of(), monitor_of()
    others = {f"x{i}": bool(i % 2) for i in range(extra)}
    for i, true in enumerate(["a b", "", "spilled", "a b", "c", "a"]):
        whole = others | letter(true)
        seen = monitor.step(whole) if i else monitor.reset(whole)
        wanted = expected.step({*true.split()}) if i else expected.reset({*true.split()})
        assert seen.codes.tolist() == wanted.codes.tolist()


@pytest.mark.parametrize("wrong", ["ab", ["a"], None, 3])
def test_what_is_no_letter_is_refused(wrong):
    monitor = monitor_of()
    with pytest.raises(GroundingError, match="a letter is a mapping"):
        monitor.reset(wrong)


def test_mapping_that_invents_values_does_not_hide_a_missing_proposition():
    from collections import defaultdict

    monitor = monitor_of()
    with pytest.raises(GroundingError, match="lacks"):
        monitor.reset(defaultdict(bool))


def test_step_and_finish_need_a_reset():
    monitor = monitor_of()
    with pytest.raises(ResetNeededError, match=r"Monitor\.step .* has not begun; call reset"):
        monitor.step(letter(""))
    with pytest.raises(ResetNeededError, match="finish"):
        monitor.finish()
    monitor.reset(letter(""))
    monitor.finish()
    with pytest.raises(ResetNeededError, match="has ended"):
        monitor.step(letter(""))
    with pytest.raises(ResetNeededError, match="has ended"):
        monitor.finish()
    with pytest.raises(ResetNeededError, match="the trace is empty"):
        monitor.run([])


def test_label_of_the_initial_state_is_consumed_by_reset():
    """temprl PR 26."""
    monitor = monitor_of(DRY)
    events = monitor.reset({"spilled": True})
    assert events.violated.tolist() == [True]
    assert monitor.summary()["dry"] == (1, 1, 1, 0, Verdict.VIOLATED)


def test_reset_begins_a_new_episode():
    monitor = monitor_of(DRY)
    monitor.reset({"spilled": True})
    monitor.reset({"spilled": False})
    assert monitor.summary()["dry"] == (0, 0, 0, 0, Verdict.PRESUMABLY_SATISFIED)


def test_verdict_of_the_summary_stays_violated_after_a_recovery():
    monitor = monitor_of(HOLD)
    monitor.run([{"a"}, {"b"}, set()])
    assert monitor.summary()["hold"].verdict is Verdict.VIOLATED
    assert monitor.verdicts == (Verdict.SATISFIED,)


def test_counts_do_not_depend_on_how_long_the_episode_is():
    """The log of events is folded into the counts now and then; 40,000 steps fold it often."""
    monitor = monitor_of(DRY, HOLD)
    monitor.reset(set())
    for i in range(40_000):
        monitor.step({"a", "b"} if i % 4 == 0 else set() if i % 4 == 2 else {"b"})
    assert monitor.summary()["hold"] == (10_000, 5_000 * 2, 10_000, 0, Verdict.VIOLATED)


def test_state_is_plain_data_and_comes_back():
    steps = ["a b", "", "spilled a", "a b", "", "a c", "b"]
    whole, first, second = monitor_of(), monitor_of(), monitor_of()
    for cut in range(len(steps)):
        whole.reset(set())
        first.reset(set())
        for true in steps[:cut]:
            first.step({*true.split()})
            whole.step({*true.split()})
        second.set_state(json.loads(json.dumps(first.get_state())))
        for true in steps[cut:]:
            assert np.array_equal(
                second.step({*true.split()}).codes, whole.step({*true.split()}).codes
            )
        assert second.finish(True).codes.tolist() == whole.finish(True).codes.tolist()
        assert second.summary() == whole.summary()
        finished = monitor_of()
        finished.set_state(json.loads(json.dumps(second.get_state())))
        assert finished.summary() == whole.summary()


def test_state_of_other_specifications_or_a_damaged_one_is_refused():
    monitor = monitor_of()
    saved = monitor.get_state()
    with pytest.raises(CheckpointError, match="other specifications"):
        monitor_of(DRY).set_state(saved)
    for key, value in {"phase": "walking", "states": [0], "open": "x", "end": [1]}.items():
        with pytest.raises(CheckpointError, match="damaged"):
            monitor.set_state(saved | {key: value})
    with pytest.raises(CheckpointError, match="damaged"):
        monitor.set_state(saved | {"states": [0, 99]})
    del saved["counts"]
    with pytest.raises(CheckpointError, match="damaged"):
        monitor.set_state(saved)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_their_own_way(copied):
    monitor = monitor_of()
    monitor.reset(letter("a b"))
    twin = copied(monitor)
    monitor.step(letter("spilled"))
    assert twin.summary()["dry"].V == 0
    twin.step(letter("spilled"))
    assert twin.summary() == monitor.summary()


def test_unbound_variable_is_an_error():
    spec = Specification("held", "G(grasped(o) -> F let_go(o))", forall={"o": "graspable"})
    with pytest.raises(SpecificationError, match="no objects are given for the property"):
        Monitor([spec])
    assert Monitor([spec], {"graspable": []}).num_instances == 0


def test_monitor_without_instances_or_without_propositions_still_runs():
    empty = Monitor([Specification("f", "G !p(o)", trigger="p(o)", forall={"o": "k"})], {"k": []})
    assert empty.reset({}).violated.shape == (0,)
    assert empty.step({}).violated.shape == (0,)
    empty.finish()
    assert empty.summary() == {}
    constant = monitor_of(Specification("t", "true", trigger="true"))
    constant.reset({})
    constant.step({"anything": True})
    constant.finish()
    assert constant.summary()["t"] == (1, 0, 0, 0, Verdict.SATISFIED)


def test_forty_atom_invariant_is_bounded_in_memory():
    names = [f"p{i}" for i in range(40)]
    spec = Specification("none", "G !(" + " | ".join(names) + ")", trigger="p0", recovery="F !p0")
    monitor = monitor_of(spec)
    rng = np.random.default_rng(0)
    monitor.reset(set())
    for row in rng.random((6000, 40)) < 0.02:
        monitor.step(dict(zip(names, row.tolist(), strict=True)))
    from safe_rl.monitors.rows import ROW_ENTRIES

    assert all(len(row) <= ROW_ENTRIES for row in monitor._rows)
    assert monitor.summary()["none"].V > 0


def test_sharing_rows_between_monitors_shares_no_state():
    first, second = monitor_of(), monitor_of()
    first.reset(letter("spilled"))
    second.reset(letter(""))
    assert second.summary()["dry"].V == 0 and first.summary()["dry"].V == 1
