"""What an audit says about the actions that a replay stepped."""

from __future__ import annotations

import math

from safe_rl.data import Drift
from safe_rl.evaluation.audit.drifting import drift_notes

QUIET, WILD = Drift(300, 0, 2e-7, 4), Drift(100, 3, 0.042, 57)


def test_drift_counts_what_is_beyond_and_keeps_the_worst_step():
    drift = Drift()
    for step, difference in enumerate((1e-9, 0.5, math.nan, 0.2), start=1):
        drift = drift.after(step, difference, 1e-3)
    assert drift == Drift(compared=4, beyond=3, largest=0.5, step=2)  # what is no number is far


def test_what_the_reader_is_told():
    def notes(how, *drifts):
        return drift_notes([("a.hdf5", i, own) for i, own in enumerate(drifts)], {"replay": how})

    assert drift_notes([("a.npz", 0, None)], {}) == ()
    (quiet,) = notes("steps", QUIET)
    assert "300 recorded actions" in quiet and "2.0e-07" in quiet and "beyond" not in quiet
    (wild,) = notes("steps", QUIET, WILD)
    assert "400 recorded actions" in wild and "4.2e-02" in wild
    assert "step 57 of episode 1 of a.hdf5" in wild and "3 of them beyond" in wild
    assert "only contacts of the recorded states" in wild
    assert "not of the recorded one" in notes("actions", WILD)[0]
    (unseen,) = notes("steps", None)
    assert unseen.startswith("1 of 1 episodes have no actions")
    assert notes("states", None) == ()
