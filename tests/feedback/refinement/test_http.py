"""The loop over HTTP, through the real client, against a server in another process."""

import json

import pytest

pytest.importorskip("openai")

from safe_rl.errors import PlannerRefusedError
from safe_rl.feedback.refinement import (
    Caller,
    Endpoint,
    Pace,
    RunLog,
    read_log,
    refine_problem,
    refine_problems,
    translate,
)
from tests.feedback.refinement.chat_server import serving
from tests.feedback.refinement.conftest import KEY
from tests.feedback.refinement.letters import Letters

pytestmark = pytest.mark.usefixtures("clean_environment")


def test_many_problems_with_bounded_requests_through_all_kinds_of_trouble(tmp_path) -> None:
    kinds = ["reset", "garbage", "half json", "html", "cut body", "no choices", "empty choices"]
    faults = [{"kind": kind} for kind in kinds]
    faults += [{"kind": "status", "code": code} for code in (429, 500, 503)]
    answers = {f"Solve p{i}.": ["BAD", f"WORSE {KEY}", "GOOD"] for i in range(10)}
    problems = [Letters(f"p{i}") for i in range(10)]
    caller = Caller(Pace(in_flight=3), retries=10, backoff=0.001)
    path = tmp_path / "run.jsonl"
    with serving() as server:
        server.play(faults=faults, answers=answers, delay=0.02)
        endpoint = Endpoint("scripted", server.base_url)
        with RunLog(path, endpoint.settings()) as log:
            found = refine_problems(endpoint, problems, caller=caller, log=log)
        stats = server.stats()
        server.play(answers={})
        with RunLog(path, endpoint.settings()) as log:
            again = refine_problems(endpoint, problems, caller=caller, log=log)
        assert server.stats()["requests"] == 0, "what is finished is not asked again"
    assert again == found
    assert [(one.stopped, len(one.rounds)) for one in found] == [("success", 3)] * 10
    assert stats["requests"] == 30 + len(faults)
    assert sum(r.attempts for one in found for r in one.rounds) == stats["requests"]
    assert stats["most_in_flight"] <= 3
    assert set(stats["keys"]) == {KEY}
    assert {one.tokens for one in found} == {36}
    for file in tmp_path.rglob("*"):
        assert KEY.encode() not in file.read_bytes()
    assert "WORSE ***" in path.read_text()


@pytest.mark.parametrize("reason", ["content_filter", "length"])
def test_blocked_calls_are_counted_and_bounded(server, reason: str) -> None:
    server.play(faults=[{"kind": "finish", "reason": reason}] * 9, default="GOOD")
    caller = Caller(Pace())
    found = refine_problem(Endpoint("m", server.base_url), Letters(), max_rounds=4, caller=caller)
    assert (found.stopped, len(found.rounds)) == ("round limit", 4)
    assert server.stats()["requests"] == 4
    assert not any(one.judgement.safe for one in found.rounds)


def test_a_model_that_repeats_itself_is_asked_twice(server) -> None:
    server.play(default="BAD")
    found = refine_problem(Endpoint("m", server.base_url), Letters(), max_rounds=100)
    assert (found.stopped, server.stats()["requests"]) == ("repeated plan", 2)


def test_a_server_that_never_recovers_is_not_asked_for_ever(server) -> None:
    server.play(faults=[{"kind": "status", "code": 500}] * 99, default="GOOD")
    caller = Caller(Pace(), retries=2, backoff=0.001)
    found = refine_problem(Endpoint("m", server.base_url), Letters(), max_rounds=3, caller=caller)
    assert (found.stopped, server.stats()["requests"]) == ("round limit", 9)
    assert found.judgement.outcome == "no answer"


def test_a_rejected_key_stops_everything_and_is_not_logged(server, tmp_path) -> None:
    words = f"Incorrect API key provided: {KEY}"
    server.play(faults=[{"kind": "status", "code": 401, "body": words}] * 99)
    path = tmp_path / "run.jsonl"
    with (
        RunLog(path, {}) as log,
        pytest.raises(PlannerRefusedError, match="check the variable OPENAI_API_KEY"),
    ):
        refine_problems(
            Endpoint("m", server.base_url), [Letters(str(i)) for i in range(30)], log=log
        )
    assert server.stats()["requests"] <= 8
    assert KEY not in path.read_text()


def test_a_request_that_is_too_long_ends_its_problem(server, tmp_path) -> None:
    server.play(faults=[{"kind": "status", "code": 400, "body": "context length"}], default="GOOD")
    problems = [Letters("a"), Letters("b")]
    with RunLog(tmp_path / "run.jsonl", {}) as log:
        found = refine_problems(
            Endpoint("m", server.base_url), problems, caller=Caller(Pace(in_flight=1)), log=log
        )
    assert sorted(one.stopped for one in found) == ["request refused", "success"]
    rounds = [r for one in read_log(tmp_path / "run.jsonl")[1].values() for r in one]
    assert any("context length" in r.fault for r in rounds)
    assert all(json.dumps(r.to_json()) for r in rounds)


def test_translation_over_http(server) -> None:
    server.play(default="", answers={"shut again": ["G(open -> shut", "`G(open -> F shut)`"]})
    found = translate(
        "Whatever is opened is shut again.",
        ["open", "shut"],
        Endpoint("m", server.base_url, stream=True),
        reference="G(open -> F shut)",
    )
    assert (found.outcome, len(found.rounds)) == ("equivalent", 2)
