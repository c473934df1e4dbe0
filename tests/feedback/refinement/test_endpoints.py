"""Endpoints: what may pass is tried again, what may not fails at once, and no key is ever shown."""

import time
from email.utils import formatdate

import pytest

pytest.importorskip("openai")

from safe_rl.errors import ConfigurationError, PlannerRefusedError, PlannerUnavailableError
from safe_rl.feedback.refinement import Caller, Endpoint, Pace
from tests.feedback.refinement.chat_server import serving
from tests.feedback.refinement.conftest import KEY

MESSAGES = [{"role": "user", "content": "What is the plan?"}]

pytestmark = pytest.mark.usefixtures("clean_environment")


def _caller(**changes: object) -> Caller:
    return Caller(Pace(in_flight=2), **({"retries": 3, "backoff": 0.001} | changes))


@pytest.mark.parametrize("stream", [False, True])
def test_answer_and_its_tokens(server, stream: bool) -> None:
    server.play(default="1. open(fridge)\n2. pick(milk)")
    endpoint = Endpoint("m", server.base_url, stream=stream, temperature=0.0, seed=3)
    answer = endpoint(MESSAGES)
    (body,) = server.stats()["bodies"]
    assert server.stats()["keys"] == [KEY]
    assert answer.text == "1. open(fridge)\n2. pick(milk)"
    assert (answer.fault, answer.prompt_tokens, answer.completion_tokens) == ("", 7, 5)
    assert body["messages"] == MESSAGES
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == (
        "m", 0.0, 3, 1024,
    )  # fmt: skip


TRANSIENT = [
    {"kind": "status", "code": 429},
    {"kind": "status", "code": 408},
    {"kind": "status", "code": 500},
    {"kind": "status", "code": 503},
    {"kind": "silence", "seconds": 3.0},
    {"kind": "reset"},
    {"kind": "garbage"},
    {"kind": "half json"},
    {"kind": "html"},
    {"kind": "cut body"},
    {"kind": "no choices"},
    {"kind": "cut error", "code": 500},
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", TRANSIENT, ids=lambda f: f"{f['kind']} {f.get('code', '')}")
def test_what_may_pass_is_tried_again(server, fault: dict, stream: bool) -> None:
    server.play(faults=[fault, fault], default="fine")
    timeout = 0.8 if fault["kind"] == "silence" else 30.0
    endpoint = Endpoint("m", server.base_url, timeout=timeout, stream=stream)
    reply = _caller().call(endpoint, MESSAGES)
    assert server.stats()["requests"] == 3
    assert (reply.text, reply.fault, reply.attempts) == ("fine", "", 3)


@pytest.mark.parametrize("kind", ["empty choices", "null content"])
def test_replies_without_a_text_are_tried_again(server, kind: str) -> None:
    server.play(faults=[{"kind": kind}], default="fine")
    reply = _caller().call(Endpoint("m", server.base_url), MESSAGES)
    assert (reply.text, reply.attempts) == ("fine", 2)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("cut stream", "the stream ended before the answer did, after 4 characters"),
        ("error in stream", "the model crashed"),
        ("drip", "passed its deadline"),
    ],
)
def test_no_piece_of_a_broken_stream_is_an_answer(server, kind: str, words: str) -> None:
    faults = [{"kind": kind}] * 2
    server.play(faults=faults, default="1. open(fridge)")
    endpoint = Endpoint("m", server.base_url, stream=True, deadline=0.3)
    reply = _caller(retries=1).call(endpoint, MESSAGES)
    assert server.stats()["requests"] == 2
    assert (reply.text, reply.answered, reply.attempts) == ("", False, 2)
    assert words in reply.fault and "2 attempts" in reply.fault


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_other_statuses_fail_at_once(server, code: int) -> None:
    faults = [{"kind": "status", "code": code, "body": f"no, {KEY} is not welcome"}]
    server.play(faults=faults, default="fine")
    with pytest.raises(PlannerRefusedError, match=f"status {code}") as error:
        _caller().call(Endpoint("m", server.base_url), MESSAGES)
    assert server.stats()["requests"] == 1
    assert error.value.status == code
    assert error.value.this_request_only == (code in (400, 413, 422))
    assert KEY not in str(error.value) and "***" in str(error.value)


def test_retry_after_is_obeyed_by_all_calls_of_a_pace(server) -> None:
    faults = [{"kind": "status", "code": 429, "headers": {"Retry-After": "0.4"}}]
    server.play(faults=faults, default="fine")
    caller = _caller()
    assert caller.call(Endpoint("m", server.base_url), MESSAGES).attempts == 2
    first, second = server.stats()["begun"]
    assert second - first >= 0.4


def test_a_pause_longer_than_the_longest_wait_is_not_slept_through(server) -> None:
    date = formatdate(time.time() + 3600, usegmt=True)
    faults = [{"kind": "status", "code": 429, "headers": {"Retry-After": date}}]
    server.play(faults=faults, default="fine")
    reply = _caller(longest_wait=1.0).call(Endpoint("m", server.base_url), MESSAGES)
    assert server.stats()["requests"] == 1
    assert reply.text == "" and "it asks for a pause of 3" in reply.fault


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "finish", "reason": "content_filter"}, "blocked by the content filter"),
        ({"kind": "finish", "reason": "length"}, "cut off at the limit of tokens"),
        ({"kind": "refusal"}, "refused by the model: I will not."),
    ],
)
def test_blocked_and_cut_answers_are_faults(server, fault: dict, words: str) -> None:
    server.play(faults=[fault], default="1. open(fridge)")
    reply = _caller().call(Endpoint("m", server.base_url), MESSAGES)
    assert server.stats()["requests"] == 1
    assert (reply.fault, reply.answered) == (words, True)


def test_a_server_that_is_down() -> None:
    with serving() as server:
        pass
    with pytest.raises(PlannerUnavailableError, match="lost or refused"):
        Endpoint("m", server.base_url)(MESSAGES)
    reply = _caller(retries=2).call(Endpoint("m", server.base_url), MESSAGES)
    assert (reply.attempts, reply.answered) == (3, False)


def test_tokens_are_estimated_where_the_server_does_not_count(server) -> None:
    server.play(faults=[{"kind": "no usage"}], default="x" * 10)
    reply = _caller().call(Endpoint("m", server.base_url), MESSAGES)
    assert reply.estimated and (reply.prompt_tokens, reply.completion_tokens) == (5, 3)


def test_the_environment_names_model_and_address(server, monkeypatch) -> None:
    server.play(default="fine")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint = Endpoint()
    assert endpoint(MESSAGES).text == "fine"
    assert server.stats()["keys"] == ["none"]
    assert endpoint.name == f"tiny at 127.0.0.1:{server.port}"


def test_the_key_is_in_nothing_that_is_shown(server) -> None:
    server.play(default=f"my key is {KEY}")
    endpoint = Endpoint("m", server.base_url)
    assert endpoint(MESSAGES).text == "my key is ***"
    assert KEY not in repr(endpoint) + str(endpoint.settings()) + endpoint.name


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "set the variable OPENAI_MODEL"),
        ({"model": "m", "base_url": "127.0.0.1:80"}, "is no http"),
        ({"model": "m", "base_url": "http://me:word@localhost/v1"}, "'http://localhost/v1' holds"),
        ({"model": "m", "timeout": 0.0}, "timeout 0.0"),
    ],
)
def test_wrong_settings(arguments: dict, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Endpoint(**arguments)


def test_the_public_api_needs_a_key(monkeypatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY is not set"):
        Endpoint("m")
