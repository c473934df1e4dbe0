"""What an endpoint sends back, which may be anything, read as an answer or refused."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

from safe_rl.errors import PlannerUnavailableError
from safe_rl.feedback.refinement.planners import Answer


def read_completion(reply: Any) -> Answer:
    """Read a reply that may be anything: the client hands out what it could not understand."""
    choices = getattr(reply, "choices", None)
    if not isinstance(choices, list):
        raise ValueError(f"no choices in {str(reply)[:100]!r}")
    if not choices:
        raise ValueError("the list of choices is empty")
    message = choices[0].message
    fault = _fault(choices[0].finish_reason, getattr(message, "refusal", None))
    if not isinstance(message.content, str) and not fault:
        raise ValueError(f"the message has no text: {message.content!r:.100}")
    return _counted(message.content if isinstance(message.content, str) else "", fault, reply)


def read_stream(chunks: Iterable[Any], end: float) -> Answer:
    """Put a stream together; ``end`` is when it must be over, by :func:`time.monotonic`."""
    parts: list[str] = []
    reason: object = None
    refusal: object = None
    usage: Any = None
    for chunk in chunks:
        if time.monotonic() > end:
            raise PlannerUnavailableError("the stream passed its deadline")
        usage = chunk if getattr(chunk, "usage", None) is not None else usage
        for choice in (chunk.choices or [])[:1]:
            parts.append(choice.delta.content or "")
            refusal = getattr(choice.delta, "refusal", None) or refusal
            reason = choice.finish_reason or reason
    if reason is None:
        raise PlannerUnavailableError(
            f"the stream ended before the answer did, after {sum(map(len, parts))} characters"
        )
    return _counted("".join(parts), _fault(reason, refusal), usage)


def _fault(reason: object, refusal: object) -> str:
    if reason == "content_filter":
        return "blocked by the content filter"
    if refusal:
        return f"refused by the model: {refusal!s:.200}"
    if reason == "length":
        return "cut off at the limit of tokens"
    return ""


def _counted(text: str, fault: str, reply: Any) -> Answer:
    usage = getattr(reply, "usage", None)
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    prompt, completion = (count if isinstance(count, int) else None for count in counts)
    return Answer(text, fault, prompt, completion)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header: a number, or a date (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        parsed = email.utils.parsedate_tz(value)
        if parsed is None:
            return None
        seconds = email.utils.mktime_tz(parsed) - time.time()
    return max(0.0, seconds) if math.isfinite(seconds) else None
