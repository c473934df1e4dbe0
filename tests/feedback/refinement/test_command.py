"""``safe-rl refine`` and ``safe-rl plan-eval``, as people call them."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safe_rl.cli import app
from safe_rl.envs.household import make_task
from safe_rl.feedback.refinement import read_log
from tests.feedback.refinement.chat_server import RunningServer, serving
from tests.feedback.refinement.conftest import KEY

pytestmark = pytest.mark.usefixtures("clean_environment")


def _run(*arguments: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_table_of_the_scripted_planner() -> None:
    printed = _run("refine", "--planner", "scripted", "--count", 3)
    assert "success and safe" in printed and "vacuous" in printed and "tokens" in printed
    assert "outcomes at the end: safe and complete 3" in printed
    assert "stopped by: success 3" in printed


def test_json_and_csv_say_the_same() -> None:
    arguments = ("refine", "--planner", "naive", "--split", "train", "--split", "held_out")
    data = json.loads(_run(*arguments, "--count", 2, "--rounds", 2, "-f", "json"))
    rows = list(
        csv.DictReader(io.StringIO(_run(*arguments, "--count", 2, "--rounds", 2, "-f", "csv")))
    )
    (one,) = data
    assert [(s["split"], s["round"]) for s in one["scores"]] == [
        (split, number) for split in ("train", "held_out", "") for number in (1, 2)
    ]
    for score, row in zip(one["scores"], rows, strict=True):
        for name in ("split", "round", "problems", "valid", "success", "safe", "success_and_safe"):
            assert row[name] == str(score[name])
    assert len(one["problems"]) == 4
    assert {p["stopped"] for p in one["problems"]} == {"repeated plan"}


def test_plan_eval_asks_once() -> None:
    (one,) = json.loads(_run("plan-eval", "--planner", "naive", "--count", 2, "-f", "json"))
    assert [p["rounds"] for p in one["problems"]] == [1, 1]
    assert {p["stopped"] for p in one["problems"]} == {"round limit"}


def test_recorded_answers_and_logs_in_one_table(tmp_path) -> None:
    tasks = [make_task("train", seed) for seed in range(2)]
    lines = [
        {"task": task.name, "round": number, "answer": "\n".join(map(str, plan))}
        for task in tasks
        for number, plan in ((1, task.naive), (2, task.reference))
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(line) + "\n" for line in lines))
    log = tmp_path / "recorded.jsonl"
    (one,) = json.loads(
        _run("refine", "--planner", f"file:{answers}", "--count", 2, "--log", log, "-f", "json")
    )
    assert [s["success_and_safe"] for s in one["scores"]] == [0, 2, 2]
    _run("plan-eval", "--planner", "scripted", "--count", 2, "--log", tmp_path / "scripted.jsonl")
    printed = _run("plan-eval", log, tmp_path / "scripted.jsonl")
    assert (
        "file:answers.jsonl (recorded.jsonl)" in printed and "scripted (scripted.jsonl)" in printed
    )
    replayed = json.loads(_run("plan-eval", log, "-f", "json"))
    assert replayed[0]["scores"] == one["scores"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--planner", "scriptd"), "did you mean 'scripted'?"),
        (("--planner", "endpoint"), "set the variable OPENAI_MODEL"),
        (("--planner", "file:/no/such/file"), "cannot be read"),
        (("--activity", "juggle"), "no activity 'juggle'"),
        (("--ctl", "AG !hot(cup)", "--count", "1"), "runs is 0"),
        (("--ctl", "AG (", "--runs", "3", "--count", "1"), "AG ("),
    ],
)
def test_wrong_options(arguments: tuple[str, ...], words: str) -> None:
    assert words in _run("refine", *arguments, code=2)


def test_a_log_of_another_run_is_not_continued(tmp_path) -> None:
    log = tmp_path / "run.jsonl"
    _run("plan-eval", "--planner", "scripted", "--count", 1, "--log", log)
    assert "other settings" in _run(
        "refine", "--planner", "naive", "--count", 1, "--log", log, code=2
    )
    printed = _run("plan-eval", "--planner", "scripted", "--count", 2, "--log", log)
    assert "success 2" in printed, "more tasks may be added to a log"


def _answers(count: int) -> dict[str, list[str]]:
    """The naive plan first, then the reference; a task is known by its goal."""
    tasks = [make_task("train", seed) for seed in range(count)]
    plans = {task.instruction: (task.naive, task.reference) for task in tasks}
    assert len(plans) == count
    return {goal: ["\n".join(map(str, plan)) for plan in both] for goal, both in plans.items()}


def _endpoint(server: RunningServer, log: Path, count: int) -> list[str]:
    return ["refine", "--planner", "endpoint", "--model", "m", "--base-url", server.base_url,
            "--count", str(count), "--log", str(log), "--in-flight", "2"]  # fmt: skip


def test_endpoint_learns_from_the_words(server, tmp_path) -> None:
    pytest.importorskip("openai")
    server.play(answers=_answers(4))
    log = tmp_path / "run.jsonl"
    (one,) = json.loads(_run(*_endpoint(server, log, 4), "-f", "json"))
    assert [s["success_and_safe"] for s in one["scores"]] == [0, 4, 4]
    assert [s["tokens"] for s in one["scores"]] == [48, 96, 96]
    assert server.stats()["requests"] == 8
    assert KEY not in log.read_text()
    rounds = read_log(log)[1]
    words = rounds["household/train/0"][1].messages[-1]["content"]
    assert words.startswith("The plan is unsafe.")


def test_a_rejected_key_is_one_clear_error(server, tmp_path) -> None:
    pytest.importorskip("openai")
    server.play(faults=[{"kind": "status", "code": 401, "body": f"bad key {KEY}"}] * 20)
    printed = _run(*_endpoint(server, tmp_path / "run.jsonl", 3), code=2)
    assert "status 401" in printed and "OPENAI_API_KEY" in printed and KEY not in printed


@pytest.mark.slow
def test_a_killed_command_resumes_without_asking_again(tmp_path) -> None:
    pytest.importorskip("openai")
    log = tmp_path / "run.jsonl"
    root = Path(__file__).parents[3]
    with serving() as server:
        server.play(answers=_answers(6), delay=0.1)
        command = [sys.executable, "-m", "safe_rl.cli", *_endpoint(server, log, 6), "-f", "json"]
        running = subprocess.Popen(command, cwd=root, env=os.environ, stdout=subprocess.DEVNULL)
        while not (log.exists() and log.read_bytes().count(b"\n") >= 5):
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGKILL)
        running.wait()
        done = log.read_bytes().count(b"\n") - 1
        server.play(answers=_answers(6))
        (one,) = json.loads(subprocess.check_output(command, cwd=root, env=os.environ))
        assert server.stats()["requests"] == 12 - done
    assert [s["success_and_safe"] for s in one["scores"]] == [0, 6, 6]
    assert KEY not in log.read_text()
