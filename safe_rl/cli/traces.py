"""Reading a recorded trace: JSON lines, one object of ``name: true/false`` per step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safe_rl.errors import ConfigurationError, GroundingError, near


@dataclass(frozen=True)
class Step:
    """One line of a trace file.

    Attributes:
        line: line number in the file, from 1.
        values: what the line's object holds.
    """

    line: int
    values: Mapping[str, Any]


def read_trace(path: Path) -> tuple[Step, ...]:
    """Read a trace file.

    Blank lines are skipped. Values are checked by :func:`letters`, for the names that are used.

    Raises:
        ConfigurationError: the file is missing, unreadable or empty, or a line is not a JSON
            object; the message names file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path}: no such file; give a trace of JSON lines, one object per step"
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"{path}: not a text file in UTF-8 (byte {error.start}); "
            "give a trace of JSON lines, one object per step"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror})") from None
    steps = tuple(
        Step(number, _parse(path, number, line))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    )
    if not steps:
        raise ConfigurationError(
            f"{path}: the trace is empty; a trace has at least one step, "
            'such as {"grasped": false, "open": true}'
        )
    return steps


def _parse(path: Path, number: int, line: str) -> Mapping[str, Any]:
    where = f"{path}, line {number}"

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigurationError(
                f"{where}: {twice!r} is given twice; give each proposition one value"
            )
        return values

    try:
        value = json.loads(line, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"{where}: not valid JSON ({error.msg} at column {error.colno}): {_excerpt(line)}; "
            'write one object per line, such as {"grasped": false, "open": true}'
        ) from None
    except RecursionError:
        raise ConfigurationError(
            f"{where}: nested too deeply; write one flat object of name: true/false per line"
        ) from None
    if not isinstance(value, dict):
        hint = (
            "put each step on its own line, as an object"
            if isinstance(value, list)
            else ('write an object, such as {"grasped": false, "open": true}')
        )
        raise ConfigurationError(
            f"{where}: expected a JSON object of name: true/false, got {_excerpt(line)}; {hint}"
        )
    return value


def _excerpt(line: str) -> str:
    line = line.strip()
    return line if len(line) <= 60 else line[:57] + "..."


def letters(
    path: Path, steps: Sequence[Step], propositions: Iterable[str]
) -> list[dict[str, bool]]:
    """Return the value of each of the ``propositions`` at each step.

    Names that no specification uses are left out, whatever their values.

    Raises:
        GroundingError: a step lacks one of the propositions, or its value is not true or false;
            a missing value is never read as false.
    """
    names = tuple(propositions)
    result = []
    for step in steps:
        missing = [name for name in names if name not in step.values]
        if missing:
            hints = [_suggested(name, step.values) for name in missing[:3]]
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            known = ", ".join(list(step.values)[:8]) or "nothing"
            raise GroundingError(
                f"{path}, line {step.line}: no value for {', '.join(hints)}{more}; "
                f"the line gives {known}. Give every proposition that the specifications use "
                "at every step: a missing one is never read as false"
            )
        for name in names:
            if not isinstance(step.values[name], bool):
                raise GroundingError(
                    f"{path}, line {step.line}: {name!r} is {json.dumps(step.values[name])}, "
                    "which is not Boolean; write true or false"
                )
        result.append({name: step.values[name] for name in names})
    return result


def _suggested(name: str, given: Iterable[str]) -> str:
    hint = near(name, given).removeprefix("; ")
    return f"{name!r} ({hint})" if hint else repr(name)
