"""Rows from logs and samples: which answers make rows, and what stands in them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from safe_rl.envs.household import make_task
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.refinement import (
    Answer,
    Round,
    RunLog,
    TaskProblem,
    read_log,
    refine_problems,
)
from safe_rl.feedback.trl import (
    dpo_rows,
    kto_rows,
    logged,
    mending_rows,
    rows_of,
    sampled,
    sft_rows,
    write_rows,
)

TASKS = [make_task("train", seed) for seed in (12, 8, 1)]


def lines(plan: Any) -> str:
    return "\n".join(map(str, plan))


class Mends:
    """Answers naively, is cut off once, then answers as the reference does."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def __call__(self, messages: Any, /) -> str | Answer:
        opening = messages[0]["content"]
        task = next(t for t in TASKS if TaskProblem(t).opening()[0]["content"] == opening)
        self.asked[task.name] = self.asked.get(task.name, 0) + 1
        match self.asked[task.name]:
            case 1:
                return lines(task.naive)
            case 2:
                return Answer("pick(", fault="cut off at the limit of tokens")
        return lines(task.reference)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with RunLog(path, {"planner": "mends"}) as opened:
        found = refine_problems(Mends(), [TaskProblem(t) for t in TASKS], max_rounds=3, log=opened)
    assert [one.stopped for one in found] == ["success"] * 3
    return path


def test_rows_of_a_refinement(log: Path) -> None:
    samples = logged(read_log(log)[1])
    assert len(samples) == 2 * len(TASKS)  # the answer that was cut off is no sample
    for task, row in zip(TASKS, dpo_rows(samples), strict=True):
        assert row["chosen"] == [{"role": "assistant", "content": lines(task.reference)}]
        assert row["rejected"] == [{"role": "assistant", "content": lines(task.naive)}]
        assert row["prompt"] == [dict(m) for m in TaskProblem(task).opening()]
    for task, row in zip(TASKS, sft_rows(samples), strict=True):
        # The mended plan is the answer to the bare request; no unsafe plan is imitated.
        assert [m["role"] for m in row["messages"]] == ["user", "assistant"]
        assert row["messages"][1]["content"] == lines(task.reference)
    for task, row in zip(TASKS, mending_rows(samples), strict=True):
        assert [m["role"] for m in row["prompt"]] == ["user", "assistant", "user"]
        assert row["prompt"][1]["content"] == lines(task.naive)
        assert "unsafe" in row["prompt"][2]["content"]
        assert row["completion"][0]["content"] == lines(task.reference)
    labels = [row["label"] for row in kto_rows(samples)]
    assert labels == [False, True] * len(TASKS)


def test_rows_of_samples() -> None:
    task = TASKS[0]
    answers = [lines(task.naive), lines(task.reference), "Hm.", "pick(", lines(task.naive)]
    samples = sampled(TaskProblem(task), answers)
    assert [s.answer for s in samples] == answers[:4]  # equal answers once
    assert [s.good for s in samples] == [False, True, False, False]
    assert len(dpo_rows(samples)) == 1
    assert [r["rejected"][0]["content"] for r in dpo_rows(samples, "any")] == [
        answers[0], "Hm.", "pick(",
    ]  # fmt: skip
    assert [r["label"] for r in kto_rows(samples)] == [False, True, False, False]
    assert mending_rows(samples) == []


def test_no_pair_without_a_good_plan() -> None:
    samples = sampled(TaskProblem(TASKS[0]), [lines(TASKS[0].naive)])
    assert dpo_rows(samples, "any") == [] and sft_rows(samples) == []


def test_a_name_that_stands_for_two_requests() -> None:
    first = sampled(TaskProblem(TASKS[0]), [lines(TASKS[0].naive)])
    other = sampled(TaskProblem(TASKS[0], told="nothing"), [lines(TASKS[0].reference)])
    with pytest.raises(ConfigurationError, match="two different requests"):
        dpo_rows([*first, *other])


def test_a_fault_is_never_a_row(log: Path) -> None:
    rounds: list[Round] = [r for rs in read_log(log)[1].values() for r in rs if not r.fault]
    spoiled = [replace(r, fault="blocked by the content filter") for r in rounds]
    assert logged([spoiled]) == []


def test_written_whole_or_not_at_all(log: Path, tmp_path: Path) -> None:
    samples = logged(read_log(log)[1])
    path = tmp_path / "new" / "rows.jsonl"
    assert write_rows(rows_of("kto", samples), path) == 6
    assert [json.loads(line) for line in path.read_text().splitlines()] == kto_rows(samples)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="no rows to write"):
        write_rows([], path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["rows.jsonl"]
    with pytest.raises(ConfigurationError, match="did you mean 'sft'"):
        rows_of("sftt", samples)


def test_from_the_command_line(log: Path, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from safe_rl.cli import app

    output = tmp_path / "pairs.jsonl"
    done = CliRunner().invoke(
        app, ["planner-data", str(log), "--kind", "dpo", "--output", str(output)]
    )
    assert done.exit_code == 0, done.output
    assert "wrote 3 rows" in done.output and "3 unsafe" in done.output
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert rows == dpo_rows(logged(read_log(log)[1]))
    missing = CliRunner().invoke(app, ["planner-data", str(tmp_path / "none.jsonl")])
    assert missing.exit_code == 2 and "cannot be read" in missing.output
