"""The benchmark of the audit runs, and its file says what it should."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("jax")
pytest.importorskip("matplotlib")

from benchmarks import audit


@pytest.mark.slow
def test_audit(tmp_path):
    output = tmp_path / "result.json"
    assert audit.main(["--quick", "--output", str(output)]) == 0
    found = json.loads(output.read_text())
    assert [run["workers"] for run in found["runs"]] == [2, 1]
    for run in found["runs"]:
        assert run["episodes"] == 2
        assert set(run["stages"]) == {"hash", "read", "compile", "monitor", "explain"}
        parts = run["files"] + run["report"] + run["write"]
        assert run["total"] == pytest.approx(parts)
        assert run["times_real_time"] == pytest.approx(run["frames"] / 20 / run["total"])
    assert found["runs"][0]["violations"] == found["runs"][1]["violations"]
