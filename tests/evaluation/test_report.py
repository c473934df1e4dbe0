"""Reports, tables, figures and explanations: what is written, and that nothing is made up."""

from __future__ import annotations

import csv
import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.evaluation.curves import (
    constraint_panels,
    learning_curve_figure,
    mean_curve,
    read_run,
)
from safe_rl.evaluation.explanations import explain_violations
from safe_rl.evaluation.figures import per_trigger_figure, timeline_figure
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.report import PolicyReport, write_json, write_report
from safe_rl.evaluation.tables import (
    constraint_table,
    outcome_table,
    specification_table,
)
from safe_rl.evaluation.timeline import replay
from safe_rl.specs import Specification, SpecSet
from tests.evaluation.episodes import episodes
from tests.evaluation.test_metrics import Bound


@pytest.fixture
def report() -> PolicyReport:
    records = episodes(
        triggered=[[2, 0, 0], [1, 1, 0], [3, 0, 0]],
        violations=[[1, 0, 0], [0, 0, 0], [1, 0, 0]],
        exposure=[[4, 0, 0], [0, 0, 0], [1, 0, 0]],
        engaged=[1, 1, 1],
        success=[1, 0, 1],
        costs=[[0.5], [-0.4], [0.4]],
    )
    scores = score(records, [Bound("grasp", "per_trigger", 0.2, 0.0)])
    return PolicyReport("mine", scores, {"seed": 0}, ("a note",))


def image_size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG, after checking that its pixels are not all the same."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    chunks, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            chunks += data[at + 8 : at + 8 + length]
        at += length + 12
    assert len(set(zlib.decompress(chunks))) > 10
    return width, height


def text_of(table) -> str:
    console = Console(width=150, record=True, file=open("/dev/null", "w"))
    console.print(table)
    return console.export_text()


# --- files ----------------------------------------------------------------------------------------


def test_report_json_and_csv(report, tmp_path):
    json_path, csv_path = write_report(tmp_path / "out", [report], {"optimum": 1.5})
    document = json.loads(json_path.read_text())
    assert document["optimum"] == 1.5
    (policy,) = document["policies"]
    grasp, drop = policy["specifications"]
    assert (grasp["N"], grasp["V"], grasp["U"]) == (7, 2, 5)
    assert grasp["V/N"]["value"] == 2 / 7
    assert drop["V/N"]["value"] is None
    assert policy["constraints"][0]["met"] is False
    assert policy["outcomes"]["success"]["value"] == 2 / 3
    rows = list(csv.DictReader(csv_path.open()))
    assert [row["name"] for row in rows] == ["grasp", "drop", "stability", "all"]
    assert rows[1]["V/N"] == "n/a"
    assert float(rows[0]["V/N"]) == 2 / 7


def test_json_refuses_what_json_cannot_say(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": math.nan})
    assert not (tmp_path / "x.json").exists()


# --- tables ---------------------------------------------------------------------------------------


def test_tables_say_what_is_not_known(report):
    counts = text_of(specification_table(report))
    assert "28.6%" in counts
    assert "n/a" in counts
    assert "which is not a pass" in counts
    assert "EXCEEDED" in text_of(constraint_table(report))
    outcomes = text_of(outcome_table([report]))
    assert "SVR" in outcomes
    assert "66.7%" in outcomes
    unknown = PolicyReport("x", score(episodes(violations=[[1, 0, 0]])))
    assert text_of(outcome_table([unknown])).count("n/a") >= 7


# --- figures --------------------------------------------------------------------------------------


def test_per_trigger_figure(report, tmp_path):
    width, height = image_size(per_trigger_figure([report, report], tmp_path / "a" / "v.png"))
    assert width > 1000
    assert height > 200


def test_per_trigger_figure_refuses_what_cannot_be_compared(report, tmp_path):
    with pytest.raises(ConfigurationError, match="no reports"):
        per_trigger_figure([], tmp_path / "v.png")
    columns = type(episodes(returns=[0]).columns)(("x",), ("y",), ("x",), (0,))
    other = PolicyReport("x", score(episodes(returns=[0.0, 1.0], columns=columns)))
    with pytest.raises(ConfigurationError, match="other specifications"):
        per_trigger_figure([report, other], tmp_path / "v.png")


RULES = SpecSet(
    [
        Specification("answered", "G(ask -> F answer)", says="A question is answered."),
        Specification("no_hit", "G !hit", trigger="hit", recovery="F !hit"),
    ]
)


def timeline(*letters: set[str], truncated: bool = False):
    names = ("ask", "answer", "hit")
    return replay(
        RULES, [{n: n in letter for n in names} for letter in letters], truncated=truncated
    )


def test_timeline_by_hand():
    episode = timeline(set(), {"ask"}, {"hit"}, {"answer"}, {"ask"}, set())
    assert episode.violations == [(2, "no_hit"), (5, "answered")]
    np.testing.assert_array_equal(np.flatnonzero(episode.events["triggered"][:, 0]), [1, 4])
    np.testing.assert_array_equal(np.flatnonzero(episode.events["exposed"][:, 1]), [2])
    np.testing.assert_array_equal(np.flatnonzero(episode.events["recovered"][:, 1]), [3])
    assert episode.true_at(2) == ("hit",)
    document = episode.to_json()
    assert document["instances"]["no_hit"]["violated"] == [2]
    json.dumps(document)


def test_timeline_of_a_cut_episode_has_pending_events():
    episode = timeline({"ask"}, set(), truncated=True)
    assert episode.violations == []
    assert episode.pending.tolist() == [1, 0]


def test_timeline_needs_letters_and_every_proposition():
    with pytest.raises(ConfigurationError, match="letter of its first state"):
        replay(RULES, [], truncated=False)
    with pytest.raises(GroundingError, match="hit"):
        replay(RULES, [{"ask": True, "answer": False}], truncated=False)


def test_timeline_figure(tmp_path):
    for name, episode in {
        "busy": timeline(set(), {"ask"}, {"hit"}, {"answer"}, {"ask"}, set()),
        "one letter": timeline({"ask"}, truncated=True),
        "nothing changes": timeline(*[set()] * 30),
    }.items():
        path = tmp_path / f"{name}.png"
        image_size(timeline_figure(episode, path, title=name, seconds_per_step=0.05))


def test_an_explanation_shows_rule_trigger_and_letters():
    episode = timeline(set(), {"ask"}, {"hit"}, set())
    text = explain_violations(episode, title="an episode")
    assert text.startswith("an episode\n")
    assert "violation 1: no_hit at step 2" in text
    assert "lasted:    1 step, then it recovered" in text
    assert "violation 2: answered at step 3" in text
    assert "A question is answered." in text
    assert "triggered: at step 1" in text
    assert any(line.startswith("  > 2") for line in text.splitlines())
    assert "no violation" in explain_violations(timeline(set()))


# --- learning curves ------------------------------------------------------------------------------


def log(folder: Path, rows: list[dict[str, float]], tail: str = "") -> Path:
    folder.mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows) + tail
    (folder / "metrics.jsonl").write_text(text)
    return folder


def rows(offset: float, steps=(10, 20, 30)):
    return [
        {"step": s, "rollout/ep_rew_mean": s / 10 + offset, "cost/a": 0.1 * offset, "lambda/a": 1.0}
        for s in steps
    ]


def test_runs_of_one_label_become_a_mean_with_an_interval(tmp_path):
    runs = [read_run(log(tmp_path / str(i), rows(i)), "mine") for i in range(4)]
    curve = mean_curve(runs, "rollout/ep_rew_mean")
    np.testing.assert_array_equal(curve.steps, [10, 20, 30])
    np.testing.assert_allclose(curve.mean, [2.5, 3.5, 4.5])
    assert (curve.low < curve.mean).all()
    assert (curve.mean < curve.high).all()
    assert mean_curve(runs[:2], "rollout/ep_rew_mean").low is None
    assert mean_curve(runs, "no such column") is None


def test_runs_are_compared_where_all_of_them_have_been(tmp_path):
    runs = [
        read_run(log(tmp_path / "a", rows(0, (10, 20, 30, 40))), "mine"),
        read_run(log(tmp_path / "b", rows(0, (15, 25))), "mine"),
    ]
    curve = mean_curve(runs, "rollout/ep_rew_mean")
    np.testing.assert_array_equal(curve.steps, [15, 20, 25])
    np.testing.assert_allclose(curve.mean, [1.5, 2.0, 2.5])


def test_a_log_cut_off_by_a_kill_is_read(tmp_path):
    run = read_run(log(tmp_path / "a", rows(0), '{"step": 40, "roll'), "mine")
    assert run.steps.tolist() == [10, 20, 30]


def test_a_damaged_log_is_named(tmp_path):
    folder = log(tmp_path / "a", rows(0))
    (folder / "metrics.jsonl").write_text("nonsense\n{}\n")
    with pytest.raises(ConfigurationError, match=r"metrics.jsonl, line 1"):
        read_run(folder, "x")
    with pytest.raises(ConfigurationError, match="no such file"):
        read_run(tmp_path / "none", "x")


def test_learning_curve_figure(tmp_path):
    runs = [read_run(log(tmp_path / str(i), rows(i)), "mine") for i in range(3)]
    panels = constraint_panels(runs, {"a": ("episode", 0.3)})
    assert [panel.column for panel in panels] == ["rollout/ep_rew_mean", "cost/a", "lambda/a"]
    assert panels[1].bound == 0.3
    image_size(learning_curve_figure(runs, panels, tmp_path / "curves.png", title="t"))
    with pytest.raises(ConfigurationError, match="no learning curve"):
        learning_curve_figure(runs, [], tmp_path / "curves.png")
