"""The tables and the figure of the trained planner's benchmark, from given scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")

from rich.console import Console

from benchmarks.trained_planner import COUNTS, figure, markdown, pooled, shares, table_of
from safe_rl.feedback.planner.experiment import ARMS


def row(split: str, number: int, both: int) -> dict[str, Any]:
    return {
        "split": split, "round": number, "problems": 20, "valid": both + 2, "success": both + 1,
        "safe": both, "success_and_safe": both, "vacuous": 1,
    }  # fmt: skip


def run(offset: int) -> dict[str, Any]:
    rows = [row(s, n, 4 * n + offset) for s in ("held_out", "longer") for n in range(1, 5)]
    return {arm: {"scores": rows, "told_nothing": rows} for arm in ARMS}


def test_shares_and_their_intervals() -> None:
    rows = [row("longer", 1, both) for both in (4, 6, 8)]
    found = shares(rows, "success_and_safe")
    # Mean 0.3, sample deviation 0.1, Student's quantile for two degrees of freedom.
    assert found.mean == pytest.approx(0.3)
    assert found.half == pytest.approx(4.302652729911275 * 0.1 / 3**0.5)
    assert shares(rows, "invalid").mean == pytest.approx(0.6)
    assert str(shares(rows, "vacuous")) == "0.05 ± 0.00"
    one = shares(rows[:1], "success")
    assert one.mean == 0.25 and one.half != one.half  # no interval from one seed


def test_table_and_figure(tmp_path: Path) -> None:
    runs = [run(0), run(1)]
    found = pooled(runs)
    assert list(found) == ["held_out", "longer"]
    assert list(found["longer"]) == list(ARMS)
    rounds = found["longer"]["safe"]
    assert [one["success_and_safe"].mean for one in rounds] == pytest.approx(
        [0.225, 0.425, 0.625, 0.825]
    )
    console = Console(width=160, record=True)
    console.print(table_of("longer", found["longer"], pooled(runs, "told_nothing")["longer"], "x"))
    text = console.export_text()
    assert all(words in text for words in ARMS.values())
    assert text.count("0.82 ± 0.32") + text.count("0.83 ± 0.32") == 3 * len(ARMS)
    assert set(rounds[0]) == set(COUNTS)
    rows = markdown(found, pooled(runs, "told_nothing")).splitlines()
    assert sum(line.startswith("| SFT") for line in rows) == 2 * len(ARMS)
    assert len({line.count("|") for line in rows if line.startswith("|")}) == 1
    assert figure(found, tmp_path / "drawn.png", 2).stat().st_size > 10_000
