"""The steps of one line of a plan: calls, lists, program lines, or words.

======================  ==========================================
form                    examples
======================  ==========================================
call                    ``2. pick(cup)``, ``pick(cup), place(cup, table)``
list                    ``(pick cup)``, ``0: (place cup table)``
program                 ``[GRAB] <cup> (12)``
words                   ``pick up the cup``, ``then put the cup on the table``
======================  ==========================================
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from safe_rl.feedback.plans.names import plain

Mark = Literal["", "bullet", "number"]

_MARK: Final = re.compile(
    r"\s*(?:(?P<number>(?:(?:step|action)\s*)?\(?\d+\s*[.):\]]+|step\s*\d+\b\s*[-–]?)|[-*•+>])"
    r"\s*(?=\S)",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"(?P<name>[A-Za-z_][\w-]*)(?P<gap>\s*)\((?P<args>[^()]*)\)")
_LIST: Final = re.compile(r"\((?P<name>[A-Za-z_][\w-]*)(?P<args>(?:\s+\??[\w-]+)*)\s*\)")
_PROGRAM: Final = re.compile(r"\[(?P<name>\w+)\](?P<args>(?:\s*<[^<>]*>(?:\s*\([\d.]+\))?)*)")
_PROGRAM_OBJECT: Final = re.compile(r"<([^<>]*)>(?:\s*\((?:\d+\.)?(\d+)\))?")
_BETWEEN: Final = re.compile(
    r"(?:[\s,;.&\[\]\"'`*|]|->|=>|→|\b(?:and|then|next|finally)\b|(?:\bstep\s*)?\d+\s*[.):])*",
    re.IGNORECASE,
)
_LEAD: Final = re.compile(
    r"(?:(?:first|firstly|second|secondly|third|thirdly|then|next|now|afterwards|after that|"
    r"finally|lastly|and|also|please)\b[\s,:]*)+",
    re.IGNORECASE,
)
_REMARK: Final = re.compile(r"(?P<sign>#|//|--|—|–|-\s|:\s|\()(?P<text>.*)", re.DOTALL)
_WORDS_REMARK: Final = re.compile(r"\s(?:#|//|--|—|–|-)\s|\s\(")
_GOES_ON: Final = re.compile(r"\W*(?:and|then|next|finally|followed|after)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[A-Za-z0-9_'-]+")
_MOST_MEMORIES: Final = 1 << 11
_WRAPPING: Final = "\"'`*_ \t,;"
_EMPTY: Final = "\"'`*_ \t,;-=~[]{}()."


@dataclass(frozen=True)
class RawStep:
    """A step as it was written.

    Attributes:
        text: The whole step.
        name: The action's name; empty where the step is in words.
        args: The arguments.
        words: The words of a step in words, else empty.
    """

    text: str
    name: str = ""
    args: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A line of an answer.

    Attributes:
        text: The line without its bullet or number and what wraps it.
        mark: What stood before it.
        steps: The steps that it is made of; ``()`` where it is empty or a remark, ``None`` where it
            is something else.
    """

    text: str
    mark: Mark
    steps: tuple[RawStep, ...] | None


class LineReader:
    """Reads lines; it has to know what actions are called."""

    def __init__(self, verbs: Collection[str]) -> None:
        """Take the names and aliases of the actions, in lower-case words joined by ``_``."""
        self._verbs = frozenset(verbs)
        self._longest = max((verb.count("_") + 1 for verb in verbs), default=1)
        self._memory: dict[str, Line] = {}

    def read(self, line: str) -> Line:
        """Return what a line is."""
        found = self._memory.get(line)
        if found is None:
            if len(self._memory) >= _MOST_MEMORIES:
                self._memory.clear()
            found = self._memory[line] = self._read(line)
        return found

    def _read(self, line: str) -> Line:
        text, mark = line.strip(), ""
        while (found := _MARK.match(text)) is not None and not _PROGRAM.match(text):
            mark = "number" if found["number"] else mark or "bullet"
            text = text[found.end() :]
        text = text.strip(_WRAPPING)
        if not text.strip(_EMPTY):
            return Line(text, "", ())
        if text.startswith(("#", "//")):
            return Line(text, "", None if self.names_call(text) else ())
        return Line(text, mark, self._steps(text))  # type: ignore[arg-type]

    def begins_with_verb(self, text: str) -> bool:
        """Whether a text begins with the name of an action, in words."""
        words = [plain(word) for word in _WORD.findall(text[:80])[: self._longest]]
        return any("_".join(words[:n]) in self._verbs for n in range(1, len(words) + 1))

    def names_call(self, text: str) -> bool:
        """Whether a call of a known action stands in a text."""
        return "(" in text and any(
            plain(found[1]) in self._verbs for found in re.finditer(r"([A-Za-z_][\w-]*)\s?\(", text)
        )

    def _steps(self, text: str) -> tuple[RawStep, ...] | None:
        if text.startswith("[") and (found := self._in_a_row(text, _PROGRAM)):
            return found
        if "(" in text:
            found = self._calls(text) or self._in_a_row(text, _LIST)
            if found or self.names_call(text):
                return found or None
        if lead := _LEAD.match(text):
            text = text[lead.end() :]
        if not self.begins_with_verb(text):
            return None
        body = _WORDS_REMARK.split(text, maxsplit=1)[0].strip(_WRAPPING + ".:!")
        return (RawStep(body, words=tuple(_WORD.findall(body))),)

    def _calls(self, text: str) -> tuple[RawStep, ...] | None:
        """Calls in a row, with a label such as "Plan:" before and a remark behind."""
        steps: list[RawStep] = []
        end = 0
        for call in _CALL.finditer(text):
            if call["gap"] and plain(call["name"]) not in self._verbs:
                continue  # a remark in brackets behind a word
            between = text[end : call.start()]
            if not steps:
                label, _, between = between.rpartition(":")
                if label and self.begins_with_verb(_LEAD.sub("", label.strip(), count=1)):
                    return None
                between = _LEAD.sub("", between.strip(), count=1)
            if not _BETWEEN.fullmatch(between):
                return None
            args = tuple(part.strip().strip("\"'`") for part in call["args"].split(","))
            steps.append(RawStep(call[0], call["name"], () if args == ("",) else args))
            end = call.end()
        return tuple(steps) if steps and self._ends(text[end:]) else None

    def _ends(self, rest: str) -> bool:
        """Whether what follows the last call is no further step."""
        if _BETWEEN.fullmatch(rest):
            return True
        remark = _REMARK.match(rest.lstrip(_WRAPPING + ".]"))
        if remark is None or _GOES_ON.match(remark["text"]):
            return False
        if self.names_call(remark["text"]):
            return False
        return remark["sign"] in ("#", "//") or not self.begins_with_verb(remark["text"])

    def _in_a_row(self, text: str, form: re.Pattern[str]) -> tuple[RawStep, ...] | None:
        """Lists or program lines in a row, and nothing else."""
        while text.startswith("((") and text.endswith("))"):
            text = text[1:-1].strip()
        steps: list[RawStep] = []
        end = 0
        for found in form.finditer(text):
            if not _BETWEEN.fullmatch(text[end : found.start()]):
                return None
            if form is _PROGRAM:
                named = _PROGRAM_OBJECT.findall(found["args"])
                args = [f"{name} {number}".strip() for name, number in named]
            else:
                args = found["args"].split()
            steps.append(RawStep(found[0], found["name"], tuple(args)))
            end = found.end()
        return tuple(steps) if steps and _BETWEEN.fullmatch(text[end:]) else None
