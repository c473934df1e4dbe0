"""The `safe-rl` command as a user meets it: output, exit status, and one clear message."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from safe_rl import __version__
from safe_rl.cli import app

SPECS = """
- id: answered
  formula: "G(ask -> F answer)"
- id: never_hit
  formula: "G !hit"
  trigger: hit
  recovery: "F !hit"
"""

PARAMETRIC = """
- id: held
  forall: {o: graspable}
  formula: "G(grasped(o) -> (synced(o) W !touching(o)))"
  recovery: "F(synced(o) | !touching(o))"
"""


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path):
    def write(trace: object, specs: str = SPECS) -> tuple[Path, Path]:
        specs_path, trace_path = tmp_path / "specs.yaml", tmp_path / "trace.jsonl"
        specs_path.write_text(specs)
        if isinstance(trace, bytes):
            trace_path.write_bytes(trace)
        elif isinstance(trace, str):
            trace_path.write_text(trace)
        else:
            trace_path.write_text("".join(json.dumps(step) + "\n" for step in trace))
        return specs_path, trace_path

    return write


def steps(*letters: set[str], names: tuple[str, ...] = ("ask", "answer", "hit")):
    return [{name: name in letter for name in names} for letter in letters]


def refused(result, *words: str) -> str:
    """Exit status 2, one message on stderr, nothing on stdout, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr
    return result.stderr


# --- compile --------------------------------------------------------------------------------------


def test_compile_shows_states_atoms_doomed_and_safe():
    result = run("compile", "G(a -> X b)")
    assert result.exit_code == 0
    assert "3 states" in result.stdout
    assert "atoms    a, b" in result.stdout
    assert "doomed {2}" in result.stdout
    assert "safe {}" in result.stdout


def test_compile_exports(tmp_path):
    assert run("compile", "F a", "--format", "dot").stdout.startswith("digraph")
    assert run("compile", "F a", "--format", "hoa").stdout.startswith("HOA: v1")
    assert json.loads(run("compile", "F a", "--format", "json").stdout)["atoms"] == ["a"]
    assert run("compile", "F a", "--format", "svg").exit_code == 2


def test_compile_semantics_is_a_choice():
    finite = json.loads(run("compile", "a U b", "--format", "json").stdout)
    weak = json.loads(
        run("compile", "a U b", "--format", "json", "--semantics", "bad_prefix").stdout
    )
    assert finite["accepting"] != weak["accepting"]


def test_a_syntax_error_has_a_caret():
    message = refused(run("compile", "G(a -> "), "expected")
    assert "^" in message
    assert "G(a -> " in message


def test_the_state_limit_is_one_message():
    chain = " & ".join(f"F a{i}" for i in range(12))
    refused(run("compile", chain, "--max-states", "50"), "50")


# --- check ----------------------------------------------------------------------------------------


def test_check_safe(files):
    result = run("check", *files(steps({"ask"}, {"answer"})))
    assert result.exit_code == 0
    assert "safe: no violation" in result.stdout
    assert "never triggered" in result.stdout  # never_hit was not put to the test


def test_check_violated_names_step_line_and_letter(files):
    result = run("check", *files(steps({"ask"}, {"answer"}, {"hit"}, set())))
    assert result.exit_code == 1
    assert "step 2 (line 3): {hit}" in result.stdout
    assert "VIOLATED: 1 violation of never_hit" in result.stdout


def test_check_json_counts(files):
    result = run("check", *files(steps({"hit"}, {"hit"}, set(), {"hit"})), "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    (row,) = [row for row in document["specifications"] if row["id"] == "never_hit"]
    assert (row["N"], row["V"], row["U"], row["pending"]) == (2, 2, 3, 0)
    assert row["first_violation"] == {
        "step": 0,
        "line": 1,
        "true": ["hit"],
        "decided_by_the_end": False,
    }


def test_check_end_of_a_complete_and_of_a_truncated_trace(files):
    """An open event is violated by the end of an episode, and pending at a cut."""
    paths = files(steps({"ask"}, set()))
    complete = run("check", *paths, "--json")
    assert complete.exit_code == 1
    row = json.loads(complete.stdout)["specifications"][0]
    assert (row["N"], row["V"], row["U"], row["pending"]) == (1, 1, 1, 0)
    assert row["first_violation"]["decided_by_the_end"]
    truncated = run("check", *paths, "--truncated", "--json")
    assert truncated.exit_code == 0
    row = json.loads(truncated.stdout)["specifications"][0]
    assert (row["N"], row["V"], row["U"], row["pending"]) == (0, 0, 0, 1)
    assert row["verdict"] == "presumably violated"


def test_check_never_calls_an_untested_trace_safe(files):
    result = run("check", *files(steps(set(), set())))
    assert result.exit_code == 0
    assert "safe:" not in result.stdout
    assert "nothing was triggered" in result.stdout


def test_check_explains(files):
    from safe_rl.feedback import Counterexample

    trace = steps({"ask"}, {"answer"}, {"hit"}, {"ask"})
    plain = run("check", *files(trace), "--truncated")
    result = run("check", *files(trace), "--truncated", "--explain")
    assert result.exit_code == 1 and result.stdout.startswith(plain.stdout)
    told = result.stdout.removeprefix(plain.stdout)
    assert told.startswith("\nnever_hit: violated at step 2 (line 3)\n")
    assert "\nanswered: still owed at the end\n" in told
    assert "hint     Before the end, make sure that answer is true." in told

    document = json.loads(run("check", *files(trace), "--explain", "--json").stdout)
    found = [Counterexample.from_json(one) for one in document["counterexamples"]]
    assert [(one.instance, one.by_end) for one in found] == [
        ("never_hit", False),
        ("answered", True),
    ]
    assert "counterexamples" not in json.loads(run("check", *files(trace), "--json").stdout)
    safe = files(steps({"ask", "answer"}))
    assert run("check", *safe, "--explain").stdout == run("check", *safe).stdout


def test_check_takes_a_shipped_set_by_name(files):
    names = (
        "touching_raw touching_ready washed holding_glass glass_steady serving plate_laid "
        "reaching_in door_open"
    ).split()
    _, trace = files(steps({"reaching_in"}, names=tuple(names)))
    result = run("check", "kitchen", trace)
    assert result.exit_code == 1
    assert "reach_in_through_open_door" in result.stdout


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ("", ("the trace is empty",)),
        ("\n\n", ("the trace is empty",)),
        ('{"ask": true\n', ("line 1", "not valid JSON")),
        ('{"ask": true, "answer": false, "hit": false}\nnope\n', ("line 2", "not valid JSON")),
        ("[true, false]\n", ("line 1", "expected a JSON object")),
        ("3\n", ("line 1", "expected a JSON object")),
        ('{"ask": true, "ask": false}\n', ("line 1", "'ask' is given twice")),
        ('{"aks": true, "answer": false, "hit": false}\n', ("'ask'", "did you mean 'aks'?")),
        ('{"ask": true, "hit": false}\n', ("line 1", "'answer'", "never read as false")),
        ('{"ask": "yes", "answer": false, "hit": false}\n', ("'ask' is \"yes\"", "not Boolean")),
        ('{"ask": 1, "answer": false, "hit": false}\n', ("'ask' is 1", "write true or false")),
        ('{"ask": null, "answer": false, "hit": false}\n', ("'ask' is null",)),
        ("[" * 100_000, ("line 1",)),
        (b"\xff\xfe\x00", ("not a text file in UTF-8",)),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_check_bad_traces(files, trace, words):
    refused(run("check", *files(trace)), *words)


def test_check_reads_what_editors_write(files):
    """A byte-order mark, Windows line ends and names that no rule uses are harmless."""
    line = json.dumps({"ask": False, "answer": False, "hit": False, "time": 0.05})
    result = run("check", *files(b"\xef\xbb\xbf" + f"{line}\r\n\r\n{line}\r\n".encode()))
    assert result.exit_code == 0
    assert "2 steps" in result.stdout


def test_check_missing_files(files, tmp_path):
    specs, trace = files(steps(set()))
    refused(run("check", specs, tmp_path / "none.jsonl"), "none.jsonl", "no such file")
    refused(run("check", tmp_path / "none.yaml", trace), "none.yaml")
    refused(run("check", specs, tmp_path), "cannot be read")
    refused(run("check", "kitchne", trace), "kitchne", "kitchen")


def test_check_bad_specifications(files):
    refused(run("check", *files(steps(set()), "- id: x\n  formula: 'G(a ->'\n")), "'x'", "^")
    refused(run("check", *files(steps(set()), "[]\n")))


NAMES = ("grasped(mug)", "synced(mug)", "touching(mug)")


def test_check_unbound_objects_are_never_no_objects(files):
    paths = files(steps({NAMES[0]}, names=NAMES), PARAMETRIC)
    refused(run("check", *paths), "'graspable'", "--objects graspable=", "--infer-objects")


@pytest.mark.parametrize("options", [["--objects", "graspable=mug"], ["--infer-objects"]])
def test_check_objects(files, options):
    trace = steps({*NAMES}, {"touching(mug)"}, names=NAMES)
    result = run("check", *files(trace, PARAMETRIC), *options)
    assert result.exit_code == 1
    assert "held[o=mug]" in result.stdout


def test_check_wrong_objects(files):
    paths = files(steps({*NAMES}, names=NAMES), PARAMETRIC)
    refused(run("check", *paths, "--objects", "graspabel=mug"), "did you mean 'graspable'?")
    refused(run("check", *paths, "--objects", "graspable="), "PROPERTY=NAME")
    refused(run("check", *paths, "--objects", "mug"), "PROPERTY=NAME")
    refused(run("check", *paths, "--objects", "graspable=mugg"), "did you mean 'grasped(mug)'?")


def test_check_infers_nothing_from_nothing(files):
    paths = files([{"ask": True}], PARAMETRIC)
    refused(run("check", *paths, "--infer-objects"), "no name in the trace", "graspable")


# --- the rest -------------------------------------------------------------------------------------


def test_specs_list_and_show():
    listed = run("specs", "list")
    assert listed.exit_code == 0
    assert "kitchen" in listed.stdout
    assert "safemanip" in listed.stdout
    shown = run("specs", "show", "kitchen")
    assert "G(reaching_in -> door_open)" in shown.stdout
    assert "E[V]/E[N] <= 0.1" in shown.stdout
    document = json.loads(run("specs", "show", "safemanip", "--json").stdout)
    assert len(document) == 20


def test_specs_show_an_unknown_set():
    refused(run("specs", "show", "kitchne"), "kitchen")


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.strip() == f"safe-rl {__version__}"


def test_usage_errors_exit_with_2():
    assert run("check").exit_code == 2
    assert run("nonsense").exit_code == 2


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from safe_rl.cli import app; from typer.testing import CliRunner; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print([m for m in ('torch', 'hydra', 'matplotlib', 'gymnasium', 'scipy') "
        "if m in sys.modules])"
    )
    started = time.perf_counter()
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert output.strip() == "[]"
    assert time.perf_counter() - started < 60


def test_the_module_is_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "safe_rl.cli", "compile", "G(a"], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert "^" in result.stderr
