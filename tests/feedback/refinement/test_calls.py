"""Pacing and retries, on a clock that the test moves."""

from types import SimpleNamespace

import pytest

from safe_rl.errors import ConfigurationError, PlannerUnavailableError, StoppedError
from safe_rl.feedback.refinement import Caller, Pace, calls

MESSAGES = [{"role": "user", "content": "Plan."}]


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.waits: list[float] = []
        monkeypatch.setattr(calls, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(Pace, "wait", lambda _, seconds: self.wait(seconds))

    def wait(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_requests_begin_evenly_spaced(clock: Clock) -> None:
    pace = Pace(in_flight=8, per_second=4.0)
    begun = []
    for _ in range(5):
        with pace.turn():
            begun.append(clock.now - 100.0)
    assert begun == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    clock.now += 10.0  # a quiet time earns no burst afterwards
    begun = []
    for _ in range(3):
        with pace.turn():
            begun.append(clock.now)
    assert [b - begun[0] for b in begun] == pytest.approx([0.0, 0.25, 0.5])


def test_waits_grow_and_are_bounded(clock: Clock) -> None:
    def planner(messages):
        raise PlannerUnavailableError("down")

    reply = Caller(Pace(), retries=6, backoff=1.0, longest_wait=8.0).call(planner, MESSAGES)
    assert (reply.attempts, reply.answered, len(clock.waits)) == (7, False, 6)
    for wait, most in zip(clock.waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert 0.75 * most <= wait <= most
    assert reply.seconds == pytest.approx(sum(clock.waits))


def test_seconds_are_those_of_the_requests(clock: Clock) -> None:
    pace = Pace()
    pace.hold(50.0)

    def planner(messages):
        clock.now += 3.0
        return "fine"

    reply = Caller(pace).call(planner, MESSAGES)
    assert reply.seconds == pytest.approx(3.0), "the wait for a turn is not the planner's"


def test_a_pause_that_is_asked_for_holds_everybody(clock: Clock) -> None:
    pace = Pace()
    failures = [PlannerUnavailableError("full", retry_after=30.0)]

    def planner(messages):
        if failures:
            raise failures.pop()
        return f"{clock.now}"

    caller = Caller(pace, retries=2, backoff=1.0)
    assert float(caller.call(planner, MESSAGES).text) == pytest.approx(130.0)
    pace.hold(5.0)
    with pace.turn():
        assert clock.now == pytest.approx(135.0)


def test_a_stop_reaches_calls_that_wait() -> None:
    pace = Pace()

    def planner(messages):
        pace.stop()
        raise PlannerUnavailableError("down")

    with pytest.raises(StoppedError):
        Caller(pace, backoff=100.0).call(planner, MESSAGES)
    with pytest.raises(StoppedError), pace.turn():
        pass
    pace.go_on()
    with pace.turn():
        pass


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pace(in_flight=0), "in_flight 0"),
        (lambda: Pace(per_second=0.0), "per_second 0.0"),
        (lambda: Caller(Pace(), retries=-1), "retries -1"),
        (lambda: Caller(Pace(), backoff=-1.0), "backoff -1.0"),
    ],
)
def test_wrong_settings(make, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        make()
