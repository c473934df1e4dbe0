"""One round of a refinement: what was asked, what came back, its worth; and when to stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, get_args, runtime_checkable

from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.refinement.planners import Message, Planner

NO_ANSWER: Final = "no answer"
"""The outcome of a round whose call failed, was blocked, or was cut off."""

StopReason = Literal["success", "repeated plan", "token limit", "round limit", "request refused"]


@runtime_checkable
class Problem(Protocol):
    """What a planner is asked, and how its answers are judged."""

    @property
    def name(self) -> str:
        """A name that no other problem of the run has."""
        ...

    @property
    def split(self) -> str:
        """The set it belongs to, such as ``train`` or ``held_out``."""
        ...

    def opening(self) -> Sequence[Message]:
        """The messages of the first round: the task, what may be done, and the rules."""
        ...

    def judge(self, answer: str) -> Judgement:
        """Check an answer. The same answer must always be judged in the same way."""
        ...


@runtime_checkable
class PlannerPerRound(Protocol):
    """A planner that has to know which problem and round it is asked about: recorded answers."""

    def for_round(self, problem: Problem, number: int) -> Planner:
        """Return the planner for one round, the first being 1."""
        ...


@dataclass(frozen=True)
class Round:
    """One round, as it is logged.

    Attributes:
        problem, split: which problem it belongs to.
        number: from 1 on; a call without an answer is a round too.
        messages: what was sent.
        answer: what came back, or empty.
        fault: why the answer could not be used, or empty.
        told: whether the planner is told of the fault, or asked the same again.
        judgement: what the check says.
        prompt_tokens, completion_tokens, estimated: see ``Reply`` in ``calls``.
        attempts: how many requests were made.
        seconds: how long the planner took, with retries and the waits between them.
        stopped: why the refinement ended with this round, or ``None``.
    """

    problem: str
    split: str
    number: int
    messages: tuple[Message, ...]
    answer: str
    fault: str
    told: bool
    judgement: Judgement
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    attempts: int
    seconds: float
    stopped: StopReason | None

    @property
    def tokens(self) -> int:
        """Those of the prompt and of the answer."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, Any]:
        """Return plain data, from which :func:`round_from_json` makes an equal round."""
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        data["messages"] = [dict(message) for message in self.messages]
        data |= {f.name: getattr(self.judgement, f.name) for f in dataclasses.fields(Judgement)}
        del data["judgement"]
        data |= {
            "plan": list(self.judgement.plan),
            "violations": [dict(violation) for violation in self.judgement.violations],
            "verdicts": dict(self.judgement.verdicts),
            "sampled": dict(self.judgement.sampled),
        }
        return data


def round_from_json(data: Mapping[str, Any]) -> Round:
    """Return the round that :meth:`Round.to_json` wrote.

    Raises:
        RecordingError: a field is missing or of the wrong type.
    """
    try:
        judgement = {f.name: data[f.name] for f in dataclasses.fields(Judgement)}
        own = {f.name: data[f.name] for f in dataclasses.fields(Round) if f.name != "judgement"}
        _check_types(own | judgement)
        judgement["plan"] = tuple(judgement["plan"])
        judgement["violations"] = tuple(judgement["violations"])
        own["messages"] = tuple(own["messages"])
        return Round(judgement=Judgement(**judgement), **own)
    except KeyError as error:
        raise RecordingError(f"a round lacks {error}; it holds {', '.join(data)}") from None
    except ConfigurationError as error:
        raise RecordingError(f"round {data.get('number')} is damaged: {error}") from None


_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "problem": str, "split": str, "number": int, "messages": list, "answer": str, "fault": str,
    "told": bool, "prompt_tokens": int, "completion_tokens": int, "estimated": bool,
    "attempts": int, "seconds": (int, float), "stopped": (str, type(None)), "outcome": str,
    "words": str, "plan": list, "valid": bool, "success": bool, "safe": bool, "vacuous": bool,
    "step": (int, type(None)), "violations": list, "verdicts": dict,
    "sampled": dict,
}  # fmt: skip


def _check_types(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if not isinstance(value, _TYPES[name]):
            raise RecordingError(f"the field {name!r} of a round is {value!r:.80}")
    if values["stopped"] is not None and values["stopped"] not in get_args(StopReason):
        raise RecordingError(f"a round stopped for an unknown reason, {values['stopped']!r}")


def next_messages(opening: Sequence[Message], rounds: Sequence[Round]) -> list[Message]:
    """Return what is sent next: the opening, and each answer with the words on it.

    A fault that the planner is told of is added to the last message, because two messages of one
    side in a row are refused by many models' templates.
    """
    messages = [dict(message) for message in opening]
    for past in rounds:
        if not past.fault:
            messages.append({"role": "assistant", "content": past.answer})
            messages.append({"role": "user", "content": past.judgement.words})
        elif past.told:
            messages[-1]["content"] += f"\n\n{past.judgement.words}"
    return list(messages)


def fingerprint(answer: str, judgement: Judgement) -> tuple[str, ...]:
    """Return what two answers have in common that are the same plan.

    The plan's actions, where it could be read; else the words of the answer.
    """
    return judgement.plan or ("", *answer.split())


def stop_reason(
    rounds: Sequence[Round], *, max_rounds: int, token_limit: int | None
) -> StopReason | None:
    """Return why a refinement is over after these rounds, or ``None``.

    A plan that was seen before is a repetition, wherever it stood: its words were read, and the
    same check would give the same words again.
    """
    last = rounds[-1]
    if last.judgement.success and last.judgement.safe:
        return "success"
    if not last.fault:
        mark = fingerprint(last.answer, last.judgement)
        earlier = (fingerprint(r.answer, r.judgement) for r in rounds[:-1] if not r.fault)
        if mark in earlier:
            return "repeated plan"
    if token_limit is not None and sum(r.tokens for r in rounds) >= token_limit:
        return "token limit"
    if len(rounds) >= max_rounds:
        return "round limit"
    return None


OnRound = Callable[[Round], None]
"""Called with each new round."""
