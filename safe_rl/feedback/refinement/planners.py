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

from safe_rl.errors import ConfigurationError

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
