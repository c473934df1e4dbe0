"""The loop on a task of another domain: VirtualHome's own executor carries the plans out."""

import pytest

pytest.importorskip("virtualhome_eval")

from safe_rl.envs.household.virtualhome import virtualhome_task
from safe_rl.feedback.refinement import Caller, Pace, RunLog, TaskProblem, read_log, refine

LAUNDRY = virtualhome_task("27_2")


def _program(without: str = "") -> str:
    """The reference in VirtualHome's form, without the actions of one name."""
    lines = []
    for action in LAUNDRY.reference:
        things = [
            f"<{name}> ({node})" for name, _, node in (a.rpartition("_") for a in action.args)
        ]
        if action.name != without:
            lines.append(" ".join([f"[{action.name.upper()}]", *things]))
    return "\n".join(lines)


def test_a_program_is_mended_after_what_the_monitors_say(tmp_path) -> None:
    answers = iter(["fly(soap)", _program("grab"), _program("close"), _program()])
    with RunLog(tmp_path / "log.jsonl", {"planner": "by hand"}) as log:
        found = refine(lambda messages: next(answers), LAUNDRY, max_rounds=5, log=log)
    outcomes = ["unknown action", "precondition failure", "unsafe", "safe and complete"]
    assert [one.judgement.outcome for one in found.rounds] == outcomes
    assert found.stopped == "success" and found.rounds[0].split == "scene_1"
    opening = found.rounds[0].messages[0]["content"]
    assert LAUNDRY.instruction in opening and "switchon(o)" in opening
    assert "washing_machine_1001 must be closed when it is switched on." in opening
    told = found.last.messages[-1]["content"]
    assert "is broken at step 13 (switchon(washing_machine_1001))" in told
    assert "How to avoid it: Before washing_machine_1001 is switched on" in told
    recorded = read_log(tmp_path / "log.jsonl")[1][LAUNDRY.name]
    assert [one.judgement for one in recorded] == [one.judgement for one in found.rounds]


def test_a_rule_over_all_runs_names_its_propositions() -> None:
    """Nothing turns out otherwise here: sampled runs are the intended one."""
    careful = "AG(did_switchon(washing_machine_1001) -> closed(washing_machine_1001))"
    problem = TaskProblem(LAUNDRY, runs=3, ctl=(careful,))
    assert problem.judge(_program()).sampled["formulas"] == {careful: "holds"}
    found = refine(
        lambda messages: _program(),
        LAUNDRY,
        runs=3,
        ctl=("AG !on(washing_machine_1001)",),
        max_rounds=1,
        caller=Caller(Pace()),
    )
    assert found.judgement.outcome == "unsafe" and found.stopped == "round limit"
    assert "does not hold over the ways in which the plan may go" in found.judgement.words
