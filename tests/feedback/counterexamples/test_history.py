"""A monitor with a memory of its letters explains what a monitor without one has seen."""

import pytest
from hypothesis import given, settings

from safe_rl.errors import GroundingError, ResetNeededError
from safe_rl.feedback import MonitorHistory, explain
from safe_rl.specs import Specification
from tests.feedback.counterexamples.violating import cases


@settings(deadline=None, max_examples=40)
@given(cases())
def test_at_every_step_it_says_what_explain_says(case):
    specs, trace, truncated = case
    history = MonitorHistory(specs)
    for step, letter in enumerate(trace):
        (history.step if step else history.reset)(letter)
        assert history.explain() == explain(specs, trace[: step + 1], truncated=True)
    history.finish(truncated)
    feedback = history.explain()
    assert feedback == explain(specs, trace, truncated=truncated)
    assert feedback.verdicts == {n: c.verdict for n, c in history.monitor.summary().items()}


def test_it_keeps_copies_and_only_what_was_read():
    history = MonitorHistory([Specification("lid", "G(lifted -> lid_on)")])
    with pytest.raises(ResetNeededError, match="no episode has begun"):
        history.explain()
    letter = {"lifted": False, "lid_on": False, "image": object()}
    history.reset(letter)
    letter["lifted"] = True
    assert not history.explain().violated
    with pytest.raises(GroundingError):
        history.step({"lifted": True})
    assert history.letters == [{"lifted": False, "lid_on": False}]
    history.step({"lifted"})
    assert history.explain().violated
    history.reset(set())
    assert not history.explain().violated
