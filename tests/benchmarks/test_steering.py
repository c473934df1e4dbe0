"""The comparison of a steered batch with one that is not, at a tiny size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("robosuite")
pytest.importorskip("toppra")
pytest.importorskip("pyarrow")
pytest.importorskip("hydra")

from benchmarks import steering


def test_what_few_episodes_touch_is_rare_and_what_none_touches_is_unknown() -> None:
    counts = {"never": 0, "once": 1, "often": 40, "a tenth": 10}
    assert steering.rare(counts, 100) == ["once"]
    assert steering.rare(counts, 300) == ["once", "a tenth"]


@pytest.mark.robosuite
@pytest.mark.slow
def test_three_batches_are_collected_and_counted(tmp_path: Path) -> None:
    words = ["--family", "robosuite/lift", "--first", "2", "--attempts", "1"]
    words += [
        "--workers",
        "1",
        "--folder",
        str(tmp_path / "kept"),
        "--output",
        str(tmp_path / "r.json"),
    ]
    assert steering.main(words) == 0
    found = json.loads((tmp_path / "r.json").read_text())
    assert set(found["counts"]) == {"first", "next", "steered"}
    for counts in found["counts"].values():
        assert all(0 <= count <= 2 for count in counts.values())
    for weights in found["weights"].values():
        assert sum(w for name, w in weights.items() if name.startswith("manner")) == pytest.approx(
            1
        )
    assert found["weights"]["steered"] != found["weights"]["next"] == found["weights"]["first"]
