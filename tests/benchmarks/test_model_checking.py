"""The benchmark of the model checker runs from end to end, and its file says what it should."""

import json
import math

import pytest

from benchmarks import model_checking


def run(tmp_path):
    output = tmp_path / "result.json"
    assert model_checking.main(["--quick", "--output", str(output)]) == 0
    return json.loads(output.read_text())


def test_beside_its_peer(tmp_path):
    pytest.importorskip("pyModelChecking")
    found = run(tmp_path)
    assert found["peer_missing"] is None and len(found["structures"]) == 14
    for row in found["structures"]:
        assert math.isclose(row["times_faster"], row["peer"]["cpu"] / row["check"]["cpu"])
        assert row["holds"] or row["labels"] == "random"
    assert 10 < found["memory"]["tree"] < found["memory"]["check_peak"]
    assert found["rest"]["merge"]["cpu"] > 0 and found["rest"]["evidence"]["cpu"] > 0


def test_without_its_peer(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(model_checking, "find_spec", lambda _: None)
    found = run(tmp_path)
    assert found["peer_missing"] and "without the peer" in capsys.readouterr().out
    assert all(row["times_faster"] is None for row in found["structures"])


@pytest.mark.parametrize("shape", ["bushy", "tree", "deep", "chain"])
def test_shapes(shape):
    tree = model_checking.labelled_tree(shape, 500, "ends")
    assert tree.num_states == 500 and len(tree.initial) == 1
    assert (tree.truth("q") == tree.leaves).all() and (tree.truth("p") != tree.leaves).all()
    depth = int(tree.depths.max())
    low, high = {"bushy": (5, 6), "tree": (8, 40), "deep": (30, 200), "chain": (499, 499)}[shape]
    assert low <= depth <= high
