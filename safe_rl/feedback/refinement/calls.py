"""Calls to a planner: at a bounded rate, tried again while that may help, counted and timed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from safe_rl.errors import ConfigurationError, PlannerUnavailableError, StoppedError
from safe_rl.feedback.refinement.planners import Message, Planner, as_answer


@dataclass(frozen=True)
class Reply:
    """The end of a call, with or without an answer.

    Attributes:
        text: the answer, or empty.
        fault: why there is no answer to use, or empty.
        answered: whether the planner answered at all, be it with a fault.
        prompt_tokens, completion_tokens: as counted by the endpoint, else estimated.
        estimated: whether the counts are estimates, one token for four bytes.
        attempts: how many requests were made.
        seconds: from the beginning of the first request to the end of the last, waits between
            them included; not the wait for the first turn.
    """

    text: str
    fault: str
    answered: bool
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    attempts: int
    seconds: float


class Pace:
    """At most so many requests at once, and at most so many begun per second.

    Args:
        in_flight: how many may be under way at once.
        per_second: how many may begin per second, evenly spaced; ``None`` is no limit.

    >>> pace = Pace(in_flight=2)
    >>> with pace.turn():
    ...     "a request"
    'a request'
    """

    def __init__(self, in_flight: int = 4, per_second: float | None = None) -> None:
        if in_flight < 1:
            raise ConfigurationError(f"in_flight {in_flight!r} must be at least 1")
        if per_second is not None and not per_second > 0:
            raise ConfigurationError(f"per_second {per_second!r} must be above 0, or None")
        self.in_flight = in_flight
        self._gap = 1.0 / per_second if per_second else 0.0
        self._slots = threading.BoundedSemaphore(in_flight)
        self._lock = threading.Lock()
        self._next = 0.0
        self._stopped = threading.Event()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, and hold it while the block runs.

        Raises:
            StoppedError: :meth:`stop` was called before the turn came.
        """
        with self._slots:
            while True:
                with self._lock:
                    wait = self._next - time.monotonic()
                    if wait <= 0:
                        self._next = max(self._next, time.monotonic()) + self._gap
                        break
                self.wait(wait)
            if self._stopped.is_set():
                raise StoppedError("the run was stopped")
            yield

    def hold(self, seconds: float) -> None:
        """Let no request begin for so many seconds: the endpoint asked for a pause."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def wait(self, seconds: float) -> None:
        """Sleep.

        Raises:
            StoppedError: :meth:`stop` was called, before or meanwhile.
        """
        if self._stopped.wait(seconds):
            raise StoppedError("the run was stopped")

    def stop(self) -> None:
        """Let no further request begin; those under way end by themselves."""
        self._stopped.set()

    def go_on(self) -> None:
        """Let requests begin again after :meth:`stop`."""
        self._stopped.clear()


@dataclass(frozen=True)
class Caller:
    """Calls a planner and tries again, with growing waits, what may pass.

    Attributes:
        pace: shared by all calls that go to one endpoint.
        retries: how often a failed call is tried again; 0 is never.
        backoff: seconds before the first retry; each further wait is twice as long, and up to a
            quarter is taken off at random, so that calls that failed together part.
        longest_wait: no wait is longer. An endpoint that asks for more is given up on at once.
    """

    pace: Pace
    retries: int = 5
    backoff: float = 1.0
    longest_wait: float = 120.0

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise ConfigurationError(f"retries {self.retries!r} must be at least 0")
        if self.backoff < 0 or self.longest_wait < 0:
            raise ConfigurationError(
                f"backoff {self.backoff!r} and longest_wait {self.longest_wait!r} "
                "must be seconds from 0 on"
            )

    def call(self, planner: Planner, messages: Sequence[Message]) -> Reply:
        """Return what the planner answers, or a reply with a fault when every attempt failed.

        Raises:
            PlannerRefusedError: trying again would not help.
            StoppedError: the run was stopped.
        """
        begin: float | None = None
        prompt = sum(len(message["content"].encode()) for message in messages) // 4 + 1
        fault, attempt = "", 0
        for attempt in range(1, self.retries + 2):
            try:
                with self.pace.turn():
                    begin = time.monotonic() if begin is None else begin
                    answer = as_answer(planner(messages))
            except PlannerUnavailableError as error:
                fault = str(error)
                wait = min(self.backoff * 2.0 ** (attempt - 1), self.longest_wait)
                wait *= 1 - 0.25 * random.random()
                if error.retry_after is not None:
                    if error.retry_after > self.longest_wait:
                        fault += f"; it asks for a pause of {error.retry_after:.0f} s"
                        break
                    self.pace.hold(error.retry_after)
                    wait = max(wait, error.retry_after)
                if attempt <= self.retries:
                    self.pace.wait(wait)
            else:
                counts = (answer.prompt_tokens, answer.completion_tokens)
                return Reply(
                    text=answer.text,
                    fault=answer.fault,
                    answered=True,
                    prompt_tokens=prompt if counts[0] is None else counts[0],
                    completion_tokens=(
                        (len(answer.text.encode()) + 3) // 4 if counts[1] is None else counts[1]
                    ),
                    estimated=None in counts,
                    attempts=attempt,
                    seconds=_since(begin),
                )
        # What a failed request cost is not known: its prompt was sent, and is counted as sent once.
        words = f"no answer after {attempt} attempt{'s' * (attempt != 1)}: {fault}"
        return Reply("", words, False, prompt, 0, True, attempt, _since(begin))


def _since(begin: float | None) -> float:
    return 0.0 if begin is None else time.monotonic() - begin
