"""The loop: it always ends and says why, counts every attempt, and survives being killed."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safe_rl.errors import (
    ConfigurationError,
    PlannerRefusedError,
    PlannerUnavailableError,
    RecordingError,
)
from safe_rl.feedback.refinement import (
    Answer,
    Caller,
    Judgement,
    Pace,
    RunLog,
    read_log,
    refine_problem,
    refine_problems,
)
from safe_rl.feedback.refinement.rounds import next_messages, round_from_json
from tests.feedback.refinement.letters import Letters

QUICK = Caller(Pace(in_flight=4), retries=1, backoff=0.001)


def _scripted(*answers: object):
    """A planner that gives these answers in turn; exceptions are raised."""
    left = list(answers)

    def planner(messages):
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return planner


def _refine(*answers: object, **settings: object):
    return refine_problem(
        _scripted(*answers), Letters(), **({"max_rounds": 5, "caller": QUICK} | settings)
    )


def test_success_ends_it() -> None:
    found = _refine("BAD", "GOOD")
    assert (found.stopped, len(found.rounds)) == ("success", 2)
    assert [one.judgement.outcome for one in found.rounds] == ["unsafe", "safe and complete"]
    assert [one.stopped for one in found.rounds] == [None, "success"]


def test_each_round_hears_what_was_wrong() -> None:
    found = _refine("BAD", "oops", "GOOD")
    assert [dict(message) for message in found.last.messages] == [
        {"role": "user", "content": "Solve letters."},
        {"role": "assistant", "content": "BAD"},
        {"role": "user", "content": "BAD is unsafe."},
        {"role": "assistant", "content": "oops"},
        {"role": "user", "content": "Write capitals."},
    ]


@pytest.mark.parametrize(
    "answers",
    [("BAD", "BAD"), ("BAD", " BAD \n"), ("BAD", "WORSE", "BAD"), ("oops", "oops ")],
    ids=["again", "other spaces", "back and forth", "unreadable"],
)
def test_a_repeated_plan_ends_it(answers: tuple[str, ...]) -> None:
    found = _refine(*answers, "GOOD")
    assert (found.stopped, len(found.rounds)) == ("repeated plan", len(answers))
    assert not found.judgement.safe


def test_rounds_are_bounded() -> None:
    found = _refine("A", "B", "C", "D", max_rounds=3)
    assert (found.stopped, len(found.rounds)) == ("round limit", 3)


def test_tokens_are_bounded() -> None:
    answers = [Answer(text, "", 30, 20) for text in "ABCDE"]
    found = _refine(*answers, token_limit=120)
    assert (found.stopped, len(found.rounds), found.tokens) == ("token limit", 3, 150)


@pytest.mark.parametrize(
    "blocked",
    [
        Answer("GOOD", "blocked by the content filter"),
        Answer("GOOD", "cut off at the limit of tokens"),
        Answer("", "refused by the model: no"),
    ],
    ids=lambda answer: answer.fault[:10],
)
def test_blocked_calls_count_and_are_never_safe(blocked: Answer) -> None:
    found = _refine(*[blocked] * 9, max_rounds=4)
    assert (found.stopped, len(found.rounds)) == ("round limit", 4)
    for one in found.rounds:
        assert one.judgement.outcome == "no answer" and one.fault == blocked.fault
        assert not (one.judgement.safe or one.judgement.valid or one.judgement.success)
    roles = [message["role"] for message in found.last.messages]
    assert roles == ["user"], "no template refuses two messages of one side in a row"
    assert found.last.messages[0]["content"].count("could not be used") == 3


def test_failed_calls_count_with_their_retries() -> None:
    down = [PlannerUnavailableError("down")] * 20
    found = _refine(*down, max_rounds=3)
    assert (found.stopped, len(found.rounds)) == ("round limit", 3)
    assert [one.attempts for one in found.rounds] == [2, 2, 2]
    assert "no answer after 2 attempts: down" in found.last.fault
    assert found.last.messages == found.rounds[0].messages
    assert all(one.prompt_tokens > 0 for one in found.rounds)


def test_an_answer_after_a_failed_round_still_counts() -> None:
    down = PlannerUnavailableError("down")
    found = _refine(down, down, "GOOD")
    assert (found.stopped, len(found.rounds)) == ("success", 2)


def test_a_refused_request_ends_its_problem_only() -> None:
    def planner(messages):
        if "long" in messages[0]["content"]:
            raise PlannerRefusedError("too long", status=400, this_request_only=True)
        return "GOOD"

    problems = [Letters("long"), Letters("short")]
    found = refine_problems(planner, problems, caller=QUICK)
    assert [one.stopped for one in found] == ["request refused", "success"]
    assert found[0].last.fault == "too long" and not found[0].judgement.safe


def test_a_wrong_key_ends_the_run(tmp_path) -> None:
    calls = []

    def planner(messages):
        calls.append(1)
        raise PlannerRefusedError("wrong key", status=401)

    caller = Caller(Pace(in_flight=1))
    problems = [Letters(str(i)) for i in range(50)]
    with pytest.raises(PlannerRefusedError, match="wrong key"):
        refine_problems(planner, problems, caller=caller)
    assert len(calls) < 10
    with caller.pace.turn():
        pass  # the pace can be used again


def test_errors_of_the_planner_itself_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        refine_problems(lambda messages: str(1 // 0), [Letters()], caller=QUICK)
    with pytest.raises(ConfigurationError, match="returned 7, a int"):
        refine_problem(lambda messages: 7, Letters(), caller=QUICK)


def test_judgements_cannot_claim_more_than_was_checked() -> None:
    with pytest.raises(ConfigurationError, match="not carried out"):
        Judgement("parse error", safe=True)
    with pytest.raises(ConfigurationError, match="not carried out"):
        Judgement("wrong arity", success=True)
    with pytest.raises(ConfigurationError, match="has violations"):
        Judgement("unsafe", valid=True, safe=True, violations=({"rule": 1},))


@given(
    st.lists(
        st.sampled_from(["GOOD", "A", "B", "C", "oops", Answer("GOOD", "blocked"), "down"]),
        min_size=4,
        max_size=4,
    ),
    st.integers(1, 4),
)
def test_every_refinement_ends_within_its_rounds(answers: list, max_rounds: int) -> None:
    answers = [PlannerUnavailableError("down") if a == "down" else a for a in answers]
    caller = Caller(QUICK.pace, retries=0)
    found = _refine(*answers, max_rounds=max_rounds, caller=caller)
    assert 1 <= len(found.rounds) <= max_rounds
    assert [one.stopped is None for one in found.rounds] == [True] * (len(found.rounds) - 1) + [
        False
    ]
    assert (found.stopped == "success") == (found.judgement.success and found.judgement.safe)
    roles = [message["role"] for message in found.last.messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    for one in found.rounds:
        assert round_from_json(json.loads(json.dumps(one.to_json()))) == one
    earlier = found.rounds[:-1]
    assert list(found.last.messages) == next_messages(Letters().opening(), earlier)


# --- many at once ---------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_problems() -> None:
    def planner(messages):
        time.sleep(0.01 * ("0" in messages[0]["content"]))
        return "GOOD" if "1" in messages[0]["content"] else "BAD"

    found = refine_problems(planner, [Letters(str(i)) for i in range(12)], caller=QUICK)
    assert [one.problem for one in found] == [str(i) for i in range(12)]
    assert [one.stopped == "success" for one in found] == ["1" in str(i) for i in range(12)]


def test_no_more_calls_at_once_than_allowed() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def planner(messages):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return "GOOD"

    refine_problems(planner, [Letters(str(i)) for i in range(12)], caller=Caller(Pace(in_flight=3)))
    assert most[0] <= 3


def test_names_must_differ() -> None:
    with pytest.raises(ConfigurationError, match="two problems are called 'letters'"):
        refine_problems(_scripted(), [Letters(), Letters()])


@pytest.mark.parametrize(
    "settings", [{"max_rounds": 0}, {"token_limit": 0}], ids=lambda s: next(iter(s))
)
def test_limits_are_checked(settings: dict) -> None:
    with pytest.raises(ConfigurationError, match="must be at least 1"):
        _refine("GOOD", **settings)


# --- logs -----------------------------------------------------------------------------------------


def test_a_log_holds_every_round_and_is_not_done_again(tmp_path) -> None:
    path = tmp_path / "deep" / "run.jsonl"
    problems = [Letters("a"), Letters("b")]
    with RunLog(path, {"seed": 1}) as log:
        first = refine_problems(
            lambda m: f"BAD{len(m)}", problems, max_rounds=2, caller=QUICK, log=log
        )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {"format": 1, "settings": {"seed": 1}}
    assert len(lines) == 5
    assert {"messages", "answer", "plan", "outcome", "verdicts", "words", "prompt_tokens",
            "completion_tokens", "seconds", "attempts", "stopped"} <= set(lines[1])  # fmt: skip
    with RunLog(path, {"seed": 1}) as log:
        again = refine_problems(_scripted(), problems, max_rounds=2, caller=QUICK, log=log)
    assert again == first
    assert len(path.read_text().splitlines()) == 5
    assert read_log(path)[0] == {"seed": 1}
    assert read_log(path)[1]["b"] == list(first[1].rounds)


def test_a_half_done_problem_goes_on_with_the_next_round(tmp_path) -> None:
    path = tmp_path / "run.jsonl"
    with RunLog(path, {}) as log, pytest.raises(ZeroDivisionError):
        refine_problems(_scripted("A", ZeroDivisionError()), [Letters()], caller=QUICK, log=log)
    with RunLog(path, {}) as log:
        (found,) = refine_problems(_scripted("GOOD"), [Letters()], caller=QUICK, log=log)
    assert [one.answer for one in found.rounds] == ["A", "GOOD"]
    assert [m["content"] for m in found.last.messages] == ["Solve letters.", "A", "A is unsafe."]


@given(cut=st.integers(0, 10_000))
def test_a_torn_last_line_is_dropped_and_done_again(cut: int, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("log") / "run.jsonl"

    def planner(messages):
        return "GOOD" if len(messages) > 1 else "BAD"

    problems = [Letters("a"), Letters("b")]
    one_by_one = Caller(Pace(in_flight=1))
    with RunLog(path, {"x": 1}) as log:
        whole = refine_problems(planner, problems, caller=one_by_one, log=log)
    data = path.read_bytes()
    path.write_bytes(data[: cut % (len(data) + 1)])
    with RunLog(path, {"x": 1}) as log:
        again = refine_problems(planner, problems, caller=one_by_one, log=log)
    timeless = [[replace(r, seconds=0.0) for r in one.rounds] for one in (*whole, *again)]
    assert timeless[:2] == timeless[2:]
    lines = path.read_text().splitlines()
    assert len(lines) == 5 and all(json.loads(line) for line in lines)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"format": 1, "settings": {}}\nrubbish\n{"a": 1}\n', "line 2: no JSON"),
        ('{"some": "file"}\n', "no log of refinement rounds"),
        ("my notes, without an end of line", "no log of refinement rounds"),
        ('{"format": 1, "settings": {}}\n{"problem": "a"}\n', "line 2: a round lacks"),
    ],
)
def test_a_file_that_is_no_whole_log_is_left_alone(tmp_path, content: str, words: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content)
    with pytest.raises(RecordingError, match=words):
        RunLog(path, {})
    assert path.read_text() == content


def test_a_log_of_other_settings_is_not_continued(tmp_path) -> None:
    RunLog(tmp_path / "run.jsonl", {"model": "a", "seed": 1}).close()
    with pytest.raises(ConfigurationError, match="model: 'a' there, 'b' now"):
        RunLog(tmp_path / "run.jsonl", {"model": "b", "seed": 1})


def test_a_log_of_another_prompt_is_not_continued(tmp_path) -> None:
    with RunLog(tmp_path / "run.jsonl", {}) as log:
        refine_problems(_scripted("A", "B", "C"), [Letters()], caller=QUICK, log=log)

    class Other(Letters):
        def opening(self) -> list[dict[str, str]]:
            return [{"role": "user", "content": "Something else."}]

    with (
        RunLog(tmp_path / "run.jsonl", {}) as log,
        pytest.raises(ConfigurationError, match="other"),
    ):
        refine_problems(_scripted("GOOD"), [Other()], caller=QUICK, log=log)


def test_two_runs_cannot_write_one_log(tmp_path) -> None:
    with RunLog(tmp_path / "run.jsonl", {}), pytest.raises(ConfigurationError, match="another run"):
        RunLog(tmp_path / "run.jsonl", {})


def test_a_killed_run_resumes(tmp_path) -> None:
    """SIGKILL in the middle; the second run asks only for what the first did not finish."""
    program = tmp_path / "run.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys, time
            from safe_rl.feedback.refinement import Caller, Pace, RunLog, refine_problems
            from tests.feedback.refinement.letters import Letters

            def planner(messages):
                with open("asked", "a") as asked:
                    asked.write(f"{messages[0]['content']} {len(messages)}\\n")
                time.sleep(float(sys.argv[1]))
                return "GOOD" if len(messages) > 1 else "BAD"

            with RunLog("run.jsonl", {}) as log:
                refine_problems(planner, [Letters(f"p{i}") for i in range(8)],
                                caller=Caller(Pace(in_flight=2)), log=log)
            """
        )
    )
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"PYTHONPATH": root}

    def start(delay: float) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, program, str(delay)], cwd=tmp_path, env=environment
        )

    log = tmp_path / "run.jsonl"
    running = start(0.2)
    while not (log.exists() and log.read_bytes().count(b"\n") >= 6):
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = log.read_bytes()
    asked_before = len((tmp_path / "asked").read_text().splitlines())
    assert start(0.0).wait() == 0
    assert log.read_bytes().startswith(before)
    rounds = read_log(log)[1]
    assert {name: [r.answer for r in one] for name, one in rounds.items()} == {
        f"p{i}": ["BAD", "GOOD"] for i in range(8)
    }
    asked_after = len((tmp_path / "asked").read_text().splitlines()) - asked_before
    assert asked_after == 16 - (before.count(b"\n") - 1)
