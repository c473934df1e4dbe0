"""The device benchmark runs from end to end at a tiny size, and its file says what it should."""

import json

import pytest

pytest.importorskip("jax")

from benchmarks import device


def test_monitors_alone(tmp_path):
    output = tmp_path / "result.json"
    options = ["--quick", "--environment", "none", "--output", str(output)]
    assert device.main(options) == 0
    found = json.loads(output.read_text())
    assert [row["specifications"] for row in found["monitors"]] == [1, 20]
    assert all(row["specification_steps_per_second"] > 0 for row in found["monitors"])
    assert found["environments"] == [] and found["devices"] >= 1


def test_monitors_on_an_environment():
    env, specs = device.monitored("kitchen_grid", device.MONITORS)
    assert len(specs.instances) == device.MONITORS
    assert set(specs.propositions) <= set(env.proposition_names)
