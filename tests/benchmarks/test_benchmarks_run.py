"""Each benchmark runs from end to end at a tiny size, and its file says what it should."""

import json
import math

import pytest

from benchmarks import compile as compile_benchmark
from benchmarks import (
    counterexample,
    grounding_cost,
    monitor_step,
    plan_checks,
    product_overhead,
)
from safe_rl.automata import compile_ltlf
from safe_rl.automata import oracles as oracle_module
from safe_rl.data import load_episodes


def run(benchmark, tmp_path, *options):
    output = tmp_path / "result.json"
    assert benchmark.main(["--quick", "--output", str(output), *options]) == 0
    found = json.loads(output.read_text())
    assert found["machine"]["cores"] >= 1
    return found


@pytest.mark.mona
def test_compile(tmp_path):
    found = run(compile_benchmark, tmp_path, "--per-pattern")
    assert found["peer_missing"] is None
    assert len(found["workloads"]) == 5
    for workload in found["workloads"].values():
        assert workload["summary"]["times_faster_than_mona"] > 0
        for row in workload["formulas"]:
            assert row["compile"]["cpu"] > 0
            assert row["mona"]["wall"] > 0


def test_compile_without_its_peer(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(oracle_module.shutil, "which", lambda _: None)
    found = run(compile_benchmark, tmp_path)
    assert found["peer_missing"]
    assert "without the peer" in capsys.readouterr().out
    for workload in found["workloads"].values():
        assert workload["summary"]["times_faster_than_mona"] is None
        assert workload["summary"]["compile_cpu"]["total"] > 0


def test_workloads_are_what_the_readme_says():
    workloads = compile_benchmark.workloads()
    assert [len(formulas) for formulas in workloads.values()] == [20, 55, 55, 1, 1]
    (rules,), (invariant,) = list(workloads.values())[3:]
    assert (len(rules.atoms), compile_ltlf(rules).num_states) == (18, 257)
    assert (len(invariant.atoms), compile_ltlf(invariant).num_states) == (40, 2)


def test_monitor_step(tmp_path):
    found = run(monitor_step, tmp_path)
    assert found["monitor_20_specs"]["steps_per_second"] > 0
    assert found["array_20_specs"]["specification_steps_per_second"] > 0
    assert set(found["growth"]) == {"specifications", "environments", "atoms"}
    if "rate" in found["peer"]:
        expected = 20 * found["monitor_20_specs"]["steps_per_second"] / found["peer"]["rate"]
        assert math.isclose(found["specification_steps_against_reelay"], expected)
    else:
        assert "reelay" in found["peer"]["missing"]


def test_monitor_step_without_its_peer(tmp_path, capsys):
    found = run(monitor_step, tmp_path, "--peer-python", str(tmp_path / "no-python"))
    assert "cannot run the peer" in found["peer"]["missing"]
    assert found["specification_steps_against_reelay"] is None
    assert "without the peer" in capsys.readouterr().out


def test_specifications_grow_by_whole_sets():
    specs = monitor_step.specifications(41)
    assert len(specs) == len(specs.instances) == 41
    assert len(monitor_step.specifications(20).propositions) * 2 < len(specs.propositions)


def test_plan_checks(tmp_path):
    found = run(plan_checks, tmp_path)
    assert set(found["splits"]) == {"train", "longer"}
    for row in found["splits"].values():
        assert set(row["seconds"]) == {"read", "run", "explain", "say", "all"}
        assert row["rate"] > 0
        assert sum(row["outcomes"].values()) >= 3 * row["plans"]
        assert "safe and complete" in row["outcomes"] and "unsafe" in row["outcomes"]
    assert "missing" in found["peer"] or min(found["peer"].values()) > 0


@pytest.mark.robosuite
@pytest.mark.slow
def test_product_overhead(tmp_path):
    found = run(product_overhead, tmp_path)
    assert len(found["specifications"]) == 4
    blocks = found["blocks"]
    assert {len(times) for times in blocks.values()} == {3}
    pairs = zip(blocks["product"], blocks["bare"], strict=True)
    middle = sorted(with_ / without for with_, without in pairs)[1]
    assert math.isclose(found["overhead"], middle - 1)


@pytest.mark.robosuite
@pytest.mark.slow
def test_grounding_cost(tmp_path):
    found = run(grounding_cost, tmp_path, "--tasks", "Lift", "--backend", "numpy")["tasks"]["Lift"]
    assert found["specifications"] == 20
    assert found["backend"] == "numpy"
    assert set(found["blocks"]) == set(grounding_cost.VARIANTS)
    assert {len(times) for times in found["blocks"].values()} == {3}
    pairs = zip(found["blocks"]["simulation"], found["blocks"]["monitors"], strict=True)
    assert math.isclose(found["share"], sorted((more - less) / more for less, more in pairs)[1])


@pytest.mark.libero
@pytest.mark.robosuite
@pytest.mark.slow
def test_libero_suites(tmp_path):
    from benchmarks import libero_suites

    kept = tmp_path / "episodes"
    options = ("--suites", "libero_goal", "--episodes", str(kept))
    (task,) = run(libero_suites, tmp_path, *options)["tasks"]
    assert (task["instruction"], task["policy"]) == (
        "open the middle drawer of the cabinet",
        "pull",
    )
    assert task["steps"] == 20 and task["fastest_after_reset"] < 0.1
    assert len(task["specifications"]) == 19
    (episode,) = load_episodes(kept / "libero_goal_0.episodes.npz")
    assert episode.steps == 20 and episode.states is not None and episode.placements


def test_counterexample(tmp_path):
    found = run(counterexample, tmp_path)["workloads"]
    assert len(found) == 3
    assert all(row["violations"] > 0 and row["explain"] > 0 for row in found.values())
