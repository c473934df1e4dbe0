"""Plans in the answers of language models, found between the prose.

What looks like a step is never passed over: it is read, or the answer is refused. So no plan is
judged from which a step of the planner's was left out.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from safe_rl.feedback.plans.json_steps import (
    PlanTextError,
    is_json_like,
    json_values,
    steps_from_json,
)
from safe_rl.feedback.plans.lines import Line, LineReader, RawStep

MOST_CHARACTERS: Final = 200_000
"""Longer answers are refused unread."""

_THOUGHT: Final = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT: Final = re.compile(r"</?(?:think|thinking|reasoning)>", re.IGNORECASE)
_FENCE: Final = re.compile(r"(```+|~~~+)(.*?)(?:\1|\Z)", re.DOTALL)
_LANGUAGE: Final = re.compile(
    r"[ \t]*(?:[\w+-]*[ \t]*\n|(?:json|text|txt|plaintext|python|plan|pddl|yaml|bash)\b"
    r"(?=\s*[^\s(]))",
    re.IGNORECASE,
)
_HEADINGS: Final = frozenset(
    "plan answer solution output actions steps sure ok okay response done end yes".split()
)
_SHORT: Final = 3
"""An unmarked line of so many words without a full stop is taken for a step, not for prose."""


def read_steps(answer: str, lines: LineReader) -> list[RawStep]:
    r"""Return the steps of the plan in an answer.

    Raises:
        PlanTextError: see there.

    >>> reader = LineReader({"pick", "pick_up", "place"})
    >>> [step.text for step in read_steps("Sure:\n1. pick(cup)\n2. Put it down", reader)]
    ['pick(cup)', 'Put it down']
    """
    if len(answer) > MOST_CHARACTERS:
        _refuse(f"it has {len(answer)} characters, and at most {MOST_CHARACTERS} are read")
    if "<" in answer:
        answer = _THOUGHT.sub("\n", answer)
        if _OPEN_THOUGHT.search(answer):
            _refuse("its reasoning has no end, so the plan is missing")
    return _Reading(lines).answer(answer)


class _Reading:
    def __init__(self, lines: LineReader) -> None:
        self._lines = lines

    def answer(self, answer: str) -> list[RawStep]:
        if "```" not in answer and "~~~" not in answer:
            return self.loose(answer)
        bodies = [_LANGUAGE.sub("", found[2], count=1) for found in _FENCE.finditer(answer)]
        around = _FENCE.sub("\n\n", answer)
        plans = [self.block(body) for body in bodies if self._tells_steps(body)]
        if not plans:
            return self.loose(around)
        if any(plan != plans[0] for plan in plans[1:]):
            _refuse(f"it holds {len(plans)} plans in code blocks; give one plan in one block")
        self._refuse_steps_outside(around, plans[0], "code block")
        return plans[0]

    def block(self, body: str) -> list[RawStep]:
        """The steps of a code block, in which each line is made of steps or a remark."""
        if is_json_like(body):
            found = json_values(body)
            if found is None:
                _refuse("its JSON cannot be read; it may be cut off")
            values, rest = found
            if rest.strip():
                _refuse(f"there is {_short(rest)} after the JSON of its plan")
            return steps_from_json(values, self._within_json)
        steps: list[RawStep] = []
        for text in body.splitlines():
            steps += self._one_or_more(self._lines.read(text))
        return steps

    def loose(self, answer: str) -> list[RawStep]:
        """The steps of an answer without code blocks, with prose around them."""
        in_json = self._json_between(answer)
        if in_json is not None:
            return in_json
        read = [self._lines.read(text) for text in answer.splitlines() if text.strip()]
        lines = [line for line in read if line.steps != ()]
        there = [i for i, line in enumerate(lines) if line.steps]
        if not there:
            _refuse("it names no action")
        first, last = there[0], there[-1]
        while first > 0 and _goes_on(lines[first - 1], lines[first]):
            first -= 1
        while last < len(lines) - 1 and _goes_on(lines[last + 1], lines[last]):
            last += 1
        steps: list[RawStep] = []
        for i, line in enumerate(lines):
            if first <= i <= last:
                if line.steps is None and not line.mark and not _is_short(line):
                    if line.text.endswith(":"):
                        continue
                    _refuse(f"between its steps stands what is no step: {_short(line.text)}")
                steps += self._one_or_more(line)
            elif self._lines.names_call(line.text):
                _refuse(f"it names an action inside a sentence: {_short(line.text)}")
        return steps

    def _one_or_more(self, line: Line) -> list[RawStep]:
        """A line's steps; what is no step counts as one, whose action is unknown."""
        if line.steps is not None:
            return list(line.steps)
        return [] if line.text.endswith(":") and not line.mark else [RawStep(line.text)]

    def _within_json(self, text: str) -> list[RawStep]:
        steps: list[RawStep] = []
        for line in text.splitlines():
            steps += self._one_or_more(self._lines.read(line))
        return steps or [RawStep(text)]

    def _tells_steps(self, body: str) -> bool:
        """Whether a code block may be a plan."""
        if "(" in body or "[" in body or "{" in body:
            return True
        return any(self._lines.read(text).steps for text in body.splitlines())

    def _json_between(self, answer: str) -> list[RawStep] | None:
        """The steps of the JSON in an answer, or ``None`` where there is none."""
        at = 0
        while (at := _next_bracket(answer, at)) >= 0:
            if not is_json_like(answer[at:]):
                at += 1
                continue
            found = json_values(answer[at:])
            if found is None:
                _refuse("its JSON cannot be read; it may be cut off")
            values, rest = found
            steps = steps_from_json(values, self._within_json)
            if any(is_json_like(rest[i:]) for i, sign in enumerate(rest) if sign in "[{"):
                _refuse("it holds JSON twice; give one plan")
            self._refuse_steps_outside(f"{answer[:at]}\n{rest}", steps, "JSON")
            return steps
        return None

    def _refuse_steps_outside(self, around: str, inside: list[RawStep], where: str) -> None:
        """Refuse steps that stand outside of the plan and not in it too."""
        known = {step.text.lower() for step in inside}
        for text in around.splitlines():
            line = self._lines.read(text)
            if not line.steps and self._lines.names_call(text) and not known:
                _refuse(f"it names an action outside of its {where}: {_short(text)}")
            for step in line.steps or ():
                if (line.mark or step.name) and step.text.lower() not in known:
                    _refuse(f"it has the step {_short(step.text)} outside of its {where}")


def _goes_on(line: Line, beside: Line) -> bool:
    """Whether a line beside the plan's first or last belongs to it: a numbered or a bare one."""
    if line.mark:
        return line.mark == beside.mark
    return _is_short(line)


def _is_short(line: Line) -> bool:
    """Whether a line without a mark is too short for prose, such as "fly cup"."""
    words = line.text.split()
    if line.mark or len(words) > _SHORT or line.text[-1] in ".:!?":
        return False
    return not _HEADINGS.issuperset(word.lower() for word in words)


def _next_bracket(text: str, start: int) -> int:
    found = [i for sign in "[{" if (i := text.find(sign, start)) >= 0]
    return min(found, default=-1)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _refuse(why: str) -> NoReturn:
    raise PlanTextError(why)
