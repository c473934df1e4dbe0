"""What is refused where a counterexample is read from JSON, and what its keys are."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from safe_rl.errors import RecordingError
from safe_rl.feedback import Counterexample, Feedback, explain
from safe_rl.specs import Specification

RULE = Specification("lid", "G(lifted -> lid_on)", phrases={"lid_on": "the lid is on"})
DATA = explain([RULE], [set(), {"lifted"}]).to_json()


def test_keys_are_the_attributes_and_what_follows_from_them():
    (found,) = DATA["counterexamples"]
    assert set(found) == {field.name for field in fields(Counterexample)} | {"hint"}
    assert set(DATA) == {field.name for field in fields(Feedback)} | {"violated", "vacuous"}
    assert found["trace"] == [["lifted"]] and found["before"] == []
    assert found["deciding"] == {"lifted": True, "lid_on": False}
    assert found["phrases"] == {
        "lid_on": ["the lid is on", "it is not the case that the lid is on"]
    }
    assert DATA["violated"] is True and DATA["verdicts"] == {"lid": "violated"}


def test_the_page_documents_every_key():
    page = (Path(__file__).parents[3] / "docs" / "counterexamples.md").read_text()
    told = set(re.findall(r"`(\w+)`", page))
    assert set(DATA) | set(DATA["counterexamples"][0]) <= told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stepp": 1}, "no key 'stepp'; did you mean 'step'"),
        ({"step": None}, "step: None is not"),
        ({"step": -1}, "step: -1 is not"),
        ({"step": True}, "step: True is not"),
        ({"kind": "error"}, "kind: 'error' is not"),
        ({"kind": ["violation"]}, "kind: "),
        ({"verdict": "bad"}, "verdict: 'bad' is not"),
        ({"trace": [["a"], "b"]}, "trace: "),
        ({"trace": [[1]]}, "trace: "),
        ({"together": 1}, "together: 1 is not"),
        ({"rule": 1}, "rule: 1 is not"),
        ({"deciding": {"a": "yes"}}, "deciding: "),
        ({"repairs": [{"step": 1}]}, "repairs: "),
        ({"phrases": {"a": ["b"]}}, "phrases: "),
        ({"objects": ["a"]}, "objects: "),
        ({"trace": [["lifted", "x"]]}, "letters with 'x'"),
        ({"nearest": ["y"], "doom": [["x"]]}, "letters with 'x', 'y'"),
    ],
)
def test_wrong_values_are_one_error(changes, words):
    (found,) = DATA["counterexamples"]
    with pytest.raises(RecordingError, match=re.escape(words)):
        Counterexample.from_json({**found, **changes})


def test_missing_keys_are_one_error():
    (found,) = json.loads(json.dumps(DATA))["counterexamples"]
    del found["step"], found["trace"]
    with pytest.raises(RecordingError, match="lacks 'step', 'trace'"):
        Counterexample.from_json(found)
    with pytest.raises(RecordingError, match="lacks 'step', 'trace'"):
        Feedback.from_json({**DATA, "counterexamples": [found]})
    with pytest.raises(RecordingError, match="is an object, not 5"):
        Feedback.from_json(5)
