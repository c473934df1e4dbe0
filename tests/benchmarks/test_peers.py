"""What ``peers`` makes of logs and of absent peers; the trainings themselves are not run."""

import sys
from importlib.util import find_spec

import numpy as np
import pytest

for needed in ("jax", "hydra"):
    pytest.importorskip(needed)

from benchmarks import drift, peers

MASA = peers.PEERS[0]


def test_rates_leave_the_first_iterations_out():
    # Iterations of 100 steps: the first takes 10 s, each later one 1 s.
    rows = [{"step": 100 * n, "time/fps": 100 * n / (9 + n)} for n in range(1, 6)]
    found = peers.between(rows, left_out=2)
    assert found == pytest.approx({"steps": 300, "seconds": 3})
    whole = peers.between(rows, left_out=0)
    assert whole == pytest.approx({"steps": 500, "seconds": 14})
    assert peers.between(rows, left_out=9) == pytest.approx({"steps": 100, "seconds": 1})


def test_a_peer_without_interpreter_has_no_figure():
    row = peers.row_of(MASA, peers.run_peer(MASA, None, quick=True))
    assert row["steps_per_second"] is None and "--masa" in row["missing"]
    ours = peers.row_of(MASA._replace(framework=peers.OURS), {"steps": 10, "seconds": 2.0})
    (ratio,) = peers.ratios([ours, row])
    assert ratio["times"] is None and ratio["target"] == 25


@pytest.mark.parametrize("python", ["/nowhere/python", sys.executable])
def test_an_interpreter_without_the_framework_has_no_figure(python):
    if python == sys.executable and find_spec("masa"):
        pytest.skip("MASA is installed here")
    found = peers.run_peer(MASA, python, quick=True)
    assert "steps" not in found and found["missing"].startswith("not run")


def test_ratios_compare_like_with_like():
    def row(peer, rate):
        return peers.row_of(peer, {"steps": rate, "seconds": 1.0})

    rows = [
        row(MASA._replace(framework=peers.OURS), 1000.0),
        row(MASA._replace(framework=peers.OURS, where=peers.ALIKE), 3000.0),
        *(row(peer, 10.0) for peer in peers.PEERS[:3]),
    ]
    assert [r["times"] for r in peers.ratios(rows)] == [100, 300, 300]


def test_the_environments_of_all_learners_move_alike():
    import jax

    key = jax.random.key(0)
    env = peers.Drift()
    point = env.initial(key)
    action = np.array([0.5, -1.0], np.float32)
    noise = np.asarray(jax.random.normal(key, (drift.SIZE,)))
    expected = drift.moved(np.asarray(point), action @ np.array(drift.PUSHES), noise)
    reached = env.transition(point, action, key)
    np.testing.assert_allclose(reached, expected, rtol=1e-5)
    assert float(env.reward(point, action, reached, key)) == pytest.approx(-(expected**2).sum())
    assert bool(env.letter(reached)[0]) == (expected[0] > drift.FAR)
