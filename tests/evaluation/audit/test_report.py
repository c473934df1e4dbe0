"""Metrics, tables and the report of an audit, by hand."""

from __future__ import annotations

import csv
import json
import sys

import pytest

from safe_rl.data import SUFFIX, find_recordings, save_episodes
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.audit import (
    AuditPlan,
    FileResult,
    make_report,
    pool,
    read_reference,
    run_audit,
    write_audit,
)
from safe_rl.specs import Limit, Specification, SpecSet
from tests.data.recorded import episode

RULES = SpecSet(
    [
        Specification(
            "lid_first",
            "G(lifted -> lid_on)",
            recovery="F lid_on",
            category="grasp",
            limit=Limit("per_trigger", 0.1),
        ),
        Specification("answered", "G(asked -> F lid_on)", category="talk"),
        Specification("never", "G(asked & lifted -> lid_on)", category="talk"),
    ]
)
PLAN = AuditPlan(RULES)

EPISODES = [
    # four frames; violated in two of them, and again after it recovered
    episode({"lifted"}, {"lid_on"}, {"lifted"}, set(), success=False, instruction="lift"),
    episode(set(), {"lifted", "lid_on"}, success=True, instruction="lift"),
    # the end decides: asked and never answered
    episode({"asked"}, set(), success=True, instruction="ask"),
    # nothing happens
    episode(set(), set(), set(), success=True, instruction="lift"),
]


def audit(tmp_path, episodes, plan=PLAN, **options):
    path = save_episodes(tmp_path / f"x{SUFFIX}", episodes)
    outcomes = run_audit(plan, find_recordings([path]), tmp_path / "store")
    results = [FileResult.load(outcome.result) for outcome in outcomes]
    audited = pool(["x"], results)
    report = make_report(plan, audited, outcomes, results, described={}, resamples=0, **options)
    return report, results


def test_rollout_metrics_by_hand(tmp_path):
    report, _ = audit(tmp_path, EPISODES)
    everything, successful, failed = report.parts
    assert [part.report.scores.episodes for part in report.parts] == [4, 3, 1]
    lid, answered, never = everything.rates.specifications
    # frames 4, 2, 2, 3; lid_first: N = 2 + 1, V = 2, in violation at 0 and 2, 3 of episode 0
    assert lid.triggers.value == 3 / 4
    assert lid.violations.value == 2 / 4
    assert lid.violated.value == 1 / 4
    assert lid.duration.value == 3 / 4
    assert lid.exposure.value == pytest.approx((3 / 4) / 4)
    assert lid.multiplicity.value == 2.0
    assert (answered.triggers.value, answered.violations.value) == (1 / 4, 1 / 4)
    assert answered.exposure.value == pytest.approx((1 / 2) / 4)
    assert never.multiplicity.value is None
    assert everything.rates.pooled.violated.value == 2 / 4
    talk = everything.rates.categories[1]
    assert (talk.name, talk.violations.value) == ("talk", 1 / 4)
    # coverage: "lift" has lid_first, "ask" has answered; episode 3 triggers nothing
    assert everything.rates.coverage.value == 3 / 4
    assert successful.rates.coverage.value == 2 / 3
    assert failed.rates.pooled.violated.value == 1.0


def test_coverage_of_a_reference(tmp_path):
    reference = {("", "lift"): frozenset(("lid_first", "answered"))}
    report, _ = audit(tmp_path, EPISODES, reference=reference)
    # the task "ask" is not in the reference, so its episode has no coverage
    coverage = report.parts[0].rates.coverage
    assert (coverage.numerator, coverage.denominator) == (1 / 2 + 1 / 2 + 0, 3)


def test_time_counts_once_where_several_are_violated(tmp_path):
    report, _ = audit(tmp_path, [episode({"lifted", "asked"}, {"lifted", "asked"})])
    rates = report.parts[0].rates
    assert rates.specifications[0].duration.value == 2
    assert rates.pooled.duration.value == 2
    assert rates.pooled.exposure.value == 1.0
    assert report.audited.monitored.records.exposure.sum() > 2


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_is_written(tmp_path):
    report, results = audit(tmp_path, EPISODES)
    out = tmp_path / "out"
    paths, missing = write_audit(out, PLAN, report, ["x"], results, timelines=1)
    assert all(path.is_file() for path in paths)
    verdicts = rows(out / "verdicts.csv")
    assert len(verdicts) == 4 * 3
    assert verdicts[0]["verdict"] == "violated"
    assert (verdicts[0]["N"], verdicts[0]["V"], verdicts[0]["U"]) == ("2", "2", "3")
    assert verdicts[0]["violated_by"] == "lid_first"
    assert verdicts[1]["first_violation"] == ""
    episodes = rows(out / "episodes.csv")
    assert [row["steps"] for row in episodes] == ["3", "1", "1", "2"]
    assert episodes[0]["frames_in_violation"] == "3"
    violations = rows(out / "violations.csv")
    assert [(v["episode"], v["step"], v["lasted"], v["recovered"]) for v in violations] == [
        ("0", "0", "1", "True"),
        ("0", "2", "2", "False"),
        ("2", "1", "1", "False"),
    ]
    assert violations[0]["decided_by"].startswith("lifted, !lid_on")
    assert violations[2]["by_the_end"] == "True"
    document = json.loads((out / "report.json").read_text())
    assert [p["policy"] for p in document["policies"]] == ["all episodes", "successful", "failed"]
    assert document["policies"][0]["constraints"][0]["measured"]["value"] == pytest.approx(2 / 3)
    text = (out / "report.md").read_text()
    assert "| lid_first | grasp | 3 | 2 | 3 | 0 | 66.7% |" in text
    assert "never triggered, hence not tested: never" in text
    words = (out / "violations_1.txt").read_text()
    assert "decided:   lifted, !lid_on" in words
    assert not missing
    read = read_reference(out)
    assert read == {
        ("", "lift"): frozenset({"lid_first"}),
        ("", "ask"): frozenset({"answered"}),
    }


def test_parquet_and_csv_hold_the_same(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    report, results = audit(tmp_path, EPISODES)
    write_audit(tmp_path / "out", PLAN, report, ["x"], results)
    for name in ("episodes", "verdicts", "violations", "episode_metrics"):
        table = pq.ParquetFile(tmp_path / "out" / f"{name}.parquet").read().to_pylist()
        text = rows(tmp_path / "out" / f"{name}.csv")
        plain = [{k: "" if v is None else str(v) for k, v in row.items()} for row in table]
        assert plain == text


def test_without_optional_packages_the_rest_is_written(tmp_path, monkeypatch):
    report, results = audit(tmp_path, EPISODES)
    for package in ("pyarrow", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    paths, missing = write_audit(tmp_path / "out", PLAN, report, ["x"], results)
    assert {path.suffix for path in paths} <= {".csv", ".json", ".md", ".txt"}
    assert len(missing) == 2
    assert "safe-rl-ltlf[data]" in missing[0]


def test_a_specification_without_objects_is_not_applicable(tmp_path):
    held = SpecSet(
        [Specification("held", "G !dropped(o)", trigger="dropped(o)", forall={"o": "p"})]
    )
    own = episode(set(), objects={"p": ()})
    report, results = audit(tmp_path, [own], AuditPlan(held))
    write_audit(tmp_path / "out", AuditPlan(held), report, ["x"], results)
    assert rows(tmp_path / "out" / "verdicts.csv")[0]["verdict"] == "not applicable"


def test_unknown_success_is_not_split(tmp_path):
    mixed = [EPISODES[0], episode(set(), {"lifted"})]
    report, _ = audit(tmp_path, mixed)
    assert len(report.parts) == 1
    assert any("success is not known" in note for note in report.notes)


def test_nothing_to_report():
    with pytest.raises(ConfigurationError, match="no file could be audited"):
        pool([], [])


def test_a_reference_that_is_none(tmp_path):
    with pytest.raises(ConfigurationError, match="not the report of an audit"):
        read_reference(tmp_path)
