"""The audit of many files: nothing twice, nothing lost, one broken file stops no other."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from safe_rl.data import SUFFIX, find_recordings, save_episodes
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.audit import AuditPlan, FileResult, pool, run_audit
from safe_rl.specs import Limit, Specification, SpecSet
from tests.data.recorded import episode

RULES = SpecSet(
    [
        Specification("lid_first", "G(lifted -> lid_on)", recovery="F lid_on", category="grasp"),
        Specification("answered", "G(asked -> F lid_on)", category="talk"),
    ]
)
PLAN = AuditPlan(RULES)
SAFE = episode(set(), {"lifted", "lid_on"}, success=True)
UNSAFE = episode({"lifted"}, {"lid_on"}, {"asked"}, success=False)


def files(folder: Path, *contents) -> list[Path]:
    return [
        save_episodes(folder / f"{i}{SUFFIX}", list(episodes))
        for i, episodes in enumerate(contents)
    ]


def test_a_file_is_audited_once(tmp_path):
    recordings = find_recordings(files(tmp_path, [SAFE], [UNSAFE, SAFE]))
    store = tmp_path / "store"
    first = run_audit(PLAN, recordings, store)
    assert [(o.problem, o.reused) for o in first] == [("", False), ("", False)]
    results = [FileResult.load(outcome.result) for outcome in first]
    assert results[1].monitored.records.violations.tolist() == [[1, 1], [0, 0]]
    assert [outcome.reused for outcome in run_audit(PLAN, recordings, store)] == [True, True]
    # of a changed file, nothing of the other is done again
    save_episodes(recordings[0].path, [UNSAFE])
    again = run_audit(PLAN, recordings, store)
    assert [outcome.reused for outcome in again] == [False, True]


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: replace(plan, specs=plan.specs.select(["answered"])),
        lambda plan: replace(plan, specs=plan.specs.with_limits({"answered": Limit("episode", 1)})),
        lambda plan: replace(plan, cost="exposure"),
        lambda plan: replace(plan, settings={"env": "another"}),
        lambda plan: replace(plan, objects={"graspable": ["mug"]}),
    ],
)
def test_other_settings_are_another_audit(tmp_path, change):
    recordings = find_recordings(files(tmp_path, [UNSAFE]))
    run_audit(PLAN, recordings, tmp_path / "store")
    (outcome,) = run_audit(change(PLAN), recordings, tmp_path / "store")
    assert not outcome.reused


def test_a_damaged_result_is_made_anew(tmp_path):
    recordings = find_recordings(files(tmp_path, [UNSAFE]))
    (first,) = run_audit(PLAN, recordings, tmp_path / "store")
    first.result.write_bytes(first.result.read_bytes()[:-30])
    (again,) = run_audit(PLAN, recordings, tmp_path / "store")
    assert not again.reused
    assert FileResult.load(again.result).monitored.records.violations.sum() == 2


def test_an_interrupted_audit_goes_on_where_it_was(tmp_path):
    recordings = find_recordings(files(tmp_path, [SAFE], [UNSAFE], [SAFE, UNSAFE]))

    def stop(outcome):
        if outcome.recording == recordings[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_audit(PLAN, recordings, tmp_path / "store", on_file=stop)
    rest = run_audit(PLAN, recordings, tmp_path / "store")
    assert [outcome.reused for outcome in rest] == [True, True, False]
    whole = run_audit(PLAN, recordings, tmp_path / "other")
    for one, other in zip(rest, whole, strict=True):
        a, b = FileResult.load(one.result), FileResult.load(other.result)
        np.testing.assert_array_equal(a.monitored.verdicts, b.monitored.verdicts)
        assert a.violations == b.violations


def test_a_broken_file_is_reported_and_the_rest_is_done(tmp_path):
    paths = files(tmp_path, [SAFE], [UNSAFE], [episode({"other"}, names=("other",))])
    paths[0].write_bytes(b"broken")
    outcomes = run_audit(PLAN, find_recordings(paths), tmp_path / "store")
    assert "not a NumPy file" in outcomes[0].problem
    assert str(paths[0]) not in outcomes[0].problem  # the path stands beside it already
    assert outcomes[1].result is not None
    assert "'lifted', 'lid_on', 'asked' are not recorded" in outcomes[2].problem


class Fragile:
    """A simulator with a fault: what its process does when it is shown a state."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def replay(self, recorded):
        if self.fault == "dies" and recorded.states[0, 0] > 0:
            os._exit(7)
        raise ZeroDivisionError("a fault of the simulator")


@pytest.mark.slow
def test_a_process_that_dies_takes_no_other_file_with_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    paths = files(tmp_path, [SAFE], [UNSAFE], [SAFE, UNSAFE])
    for value in (1.0, 0.0):
        paths.append(tmp_path / f"demo_{value}.hdf5")
        with h5py.File(paths[-1], "w") as file:
            file["data/demo_0/states"] = np.full((3, 2), value)
    plan = replace(PLAN, make_replay=partial(Fragile, "dies"))
    outcomes = run_audit(plan, find_recordings(paths), tmp_path / "store", workers=2)
    problems = {o.recording.path.name: o.problem for o in outcomes}
    assert "died" in problems["demo_1.0.hdf5"]
    assert problems["demo_0.0.hdf5"] == "ZeroDivisionError: a fault of the simulator"
    assert [o.problem for o in outcomes if o.recording.kind == "episodes"] == ["", "", ""]


@pytest.mark.slow
def test_several_processes_give_the_same(tmp_path):
    recordings = find_recordings(files(tmp_path, *[[SAFE, UNSAFE]] * 2, [UNSAFE]))
    one = run_audit(PLAN, recordings, tmp_path / "one")
    two = run_audit(PLAN, recordings, tmp_path / "two", workers=2)
    assert [o.recording for o in two] == recordings
    for a, b in zip(one, two, strict=True):
        assert a.result.name == b.result.name
        assert FileResult.load(a.result).violations == FileResult.load(b.result).violations


def test_states_without_a_simulator_are_explained(tmp_path):
    path = tmp_path / "demo.hdf5"
    path.touch()
    (outcome,) = run_audit(PLAN, find_recordings([path]), tmp_path / "store")
    assert "--env env=" in outcome.problem


def test_no_workers(tmp_path):
    with pytest.raises(ConfigurationError, match="workers must be at least 1"):
        run_audit(PLAN, find_recordings(files(tmp_path, [SAFE])), tmp_path / "store", workers=0)


# --- objects --------------------------------------------------------------------------------------

HELD = SpecSet([Specification("held", "G(grasped(o) -> synced(o))", forall={"o": "graspable"})])


def holding(objects, recorded=True):
    names = tuple(f"{head}({o})" for o in objects for head in ("grasped", "synced"))
    letters = [set(), {f"grasped({objects[-1]})"}]
    known = {"graspable": tuple(objects)} if recorded else {}
    return episode(*letters, names=names, objects=known)


def test_files_with_different_objects_are_pooled_by_specification(tmp_path):
    paths = files(tmp_path, [holding(["mug"])], [holding(["bowl", "cup"])])
    outcomes = run_audit(AuditPlan(HELD), find_recordings(paths), tmp_path / "store")
    results = [FileResult.load(outcome.result) for outcome in outcomes]
    assert results[1].objects == {"graspable": ("bowl", "cup")}
    audited = pool(["one", "other"], results)
    assert audited.monitored.records.violations.tolist() == [[1], [1]]
    assert audited.monitored.records.first_violation.tolist() == [[1], [1]]
    assert [v.objects for _, v in audited.violations] == [{"o": "mug"}, {"o": "cup"}]
    assert [row for row, _ in audited.violations] == [0, 1]


def test_objects_that_are_given_or_inferred(tmp_path):
    recordings = find_recordings(files(tmp_path, [holding(["mug", "cup"], recorded=False)]))
    (none,) = run_audit(AuditPlan(HELD), recordings, tmp_path / "store")
    assert "no objects are given for the property 'graspable'" in none.problem
    given = AuditPlan(HELD, objects={"graspable": ["mug"]})
    (one,) = run_audit(given, recordings, tmp_path / "store")
    assert FileResult.load(one.result).monitored.records.violations.tolist() == [[0]]
    inferring = AuditPlan(HELD, infer=lambda specs, names: {"graspable": ["mug", "cup"]})
    (both,) = run_audit(inferring, recordings, tmp_path / "store")
    assert FileResult.load(both.result).monitored.records.violations.tolist() == [[0, 1]]
