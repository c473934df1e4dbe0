"""What a planner is: any callable from a list of messages to an answer, and how a call can fail.

>>> def planner(messages):
...     return "1. open(fridge)"
>>> as_answer(planner([{"role": "user", "content": "What now?"}])).text
'1. open(fridge)'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from safe_rl.errors import ConfigurationError, SafeRLError

Message: TypeAlias = Mapping[str, str]
"""One message of a conversation: ``{"role": "system" | "user" | "assistant", "content": text}``."""


@dataclass(frozen=True)
class Answer:
    """What came back from one call.

    Attributes:
        text: the answer, as it came.
        fault: why the text must not be used ("blocked by the content filter", "cut off at the
            limit of tokens"), or empty. An answer with a fault is never checked, and so never safe.
        prompt_tokens, completion_tokens: as the endpoint counts them; ``None`` if it does not say.
    """

    text: str
    fault: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Planner(Protocol):
    """Anything that answers a conversation."""

    def __call__(self, messages: Sequence[Message], /) -> str | Answer:
        """Return the answer to the last message."""
        ...


class PlannerUnavailableError(SafeRLError):
    """A call failed in a way that may pass: a timeout, a full queue, a cut or garbled reply.

    Attributes:
        retry_after: how many seconds the endpoint asks to be left alone, or ``None``.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PlannerRefusedError(SafeRLError):
    """A call was refused, and would be refused again.

    Attributes:
        status: the HTTP status, or ``None``.
        this_request_only: whether the refusal is about the request (too long, malformed), so that
            others may still succeed, and not about the key, the model or the address.
    """

    def __init__(
        self, message: str, *, status: int | None = None, this_request_only: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.this_request_only = this_request_only


def as_answer(value: object) -> Answer:
    """Return what a planner returned as an :class:`Answer`.

    Raises:
        ConfigurationError: the planner returned neither a text nor an answer.
    """
    if isinstance(value, Answer):
        return value
    if isinstance(value, str):
        return Answer(value)
    raise ConfigurationError(
        f"the planner returned {value!r:.80}, a {type(value).__name__}; "
        "a planner returns the answer as a string, or an Answer"
    )
