"""``safe-rl model-check`` as a user meets it."""

import json

import pytest
from typer.testing import CliRunner

from safe_rl.cli import app

ANSWERED = [{"hot": True, "off": False}, {"hot": False, "off": True}]
OPEN = [{"hot": True, "off": False}, {"hot": False, "off": False}]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, trace in (("a", ANSWERED), ("b", OPEN), ("c", ANSWERED)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(s) + "\n" for s in trace))
    return ["a.jsonl", "b.jsonl", "c.jsonl"]


def run(*arguments: str):
    return CliRunner().invoke(app, ["model-check", *arguments])


def test_a_counterexample(files):
    found = run("AG(hot -> AF off)", *files)
    assert found.exit_code == 1
    lines = [line.strip() for line in found.output.splitlines()]
    assert "rollouts  3, a tree of 3 states" in lines and "verdict   fails" in lines
    assert "shown by  b.jsonl" in lines
    assert lines[-1] == "step 0 {} -> step 1 {}, and the path ends"


def test_json(files):
    found = run("AF off", "--json", *files)
    document = json.loads(found.output)
    assert found.exit_code == 1 and document["verdict"] == "fails"
    assert document["counts"][0]["of"] == "F off"
    assert [document["counts"][0][key] for key in ("satisfied", "violated", "unknown")] == [2, 1, 0]
    assert document["path"] == {"file": "b.jsonl", "lines": [1, 2], "true": [["hot"], []]}


def test_a_witness_and_a_verdict_without_one(files):
    found = run("EF off", *files)
    assert found.exit_code == 0 and "shown by  a.jsonl" in found.output
    found = run("AG(hot | !hot)", *files)
    assert found.exit_code == 0 and "shown by" not in found.output
    assert "3 of 3 satisfy" in found.output and "on every path" in found.output


def test_probabilities(files):
    found = run("P>=0.05 [F<=1 off] & P<0.5 [F off]", *files)
    assert found.exit_code == 3 and "verdict   undecided" in found.output
    assert "2 of 3 satisfy F[0,1] off: probability between 0.094 and 0.992 (95%)" in found.output
    assert "P>=0.05 [F[0,1] off] holds" in found.output
    assert "P<0.5 [F off] undecided" in found.output
    assert run("P>=0.05 [F off]", *files).exit_code == 0
    assert run("P>=0.999 [F off]", *files).exit_code == 1
    assert run("P>=0.05 [F off]", "--confidence", "0.9999", *files).exit_code == 3


def test_ltlf(files):
    found = run("--ltlf", "G(hot -> F off)", *files)
    assert found.exit_code == 1 and "2 of 3 satisfy G(hot -> F off)" in found.output
    assert "step 0 {hot} -> step 1 {}, and the path ends" in found.output
    assert run("--ltlf", "G(hot -> F off)", "a.jsonl", "c.jsonl").exit_code == 0
    cut = run("--ltlf", "--truncated", "G(hot -> F off)", *files)
    assert cut.exit_code == 3 and "3 unknown" in cut.output
    assert run("--ltlf", "--truncated", "G !hot", *files).exit_code == 1


def test_readings_of_a_leaf(files):
    assert run("AX AX off", "a.jsonl").exit_code == 0
    assert run("AX AX !off", "a.jsonl").exit_code == 0
    assert run("AX AX !off", "--leaves", "stuttering", "a.jsonl").exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["AG(hto -> AF off)", "a.jsonl"], "unknown proposition 'hto'; did you mean 'hot'?"),
        (["G hot", "a.jsonl"], "or --ltlf on the command line"),
        (["AF[<=T_MAX] off", "a.jsonl"], "the bound of F must be"),
        (["AG P>=0.5 [F off]", "a.jsonl"], "can only be judged for whole rollouts"),
        (["AG hot", "none.jsonl"], "none.jsonl: no such file"),
        (["AG hot", "a.jsonl", "short.jsonl"], "short.jsonl, line 1: no value for 'hot'"),
    ],
)
def test_bad_input_is_one_message(files, tmp_path, arguments, message):
    (tmp_path / "short.jsonl").write_text('{"off": true}\n')
    found = run(*arguments)
    assert found.exit_code == 2 and message in found.stderr
    assert "Traceback" not in found.output


def test_all_names_decide_what_is_one_branch(files, tmp_path):
    """States that differ in a name outside the formula stay apart."""
    for name, warm in (("d", True), ("e", False)):
        steps = [{"off": False, "warm": warm}, {"off": warm, "warm": warm}]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(s) + "\n" for s in steps))
    document = json.loads(run("EF off", "--json", "d.jsonl", "e.jsonl").output)
    assert (document["states"], document["verdict"]) == (4, "fails")
