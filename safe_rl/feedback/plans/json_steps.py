"""Plans as JSON: lists of texts or objects, objects that hold them, and mappings of actions.

An object's keys may occur twice (``{"PICK": ["cup"], "PICK": ["plate"]}`` are two steps), which
Python's own reading would drop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from safe_rl.feedback.plans.lines import RawStep

_PLAN_KEYS: Final = ("plan", "actions", "steps", "action_sequence", "commands", "program", "answer")
_NAME_KEYS: Final = ("action", "name", "act", "command", "skill", "operator", "verb", "function")
_REMARK_KEYS: Final = frozenset(
    "step id index number n order reason reasoning explanation thought thoughts comment "
    "description note rationale why analysis goal task".split()
)


class PlanTextError(Exception):
    """An answer holds no plan, or several, or one that cannot be read; the message says which."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object, none of whose entries is dropped."""


ReadText = Callable[[str], Sequence[RawStep]]
"""Reads a text within JSON as a plan, or raises :class:`PlanTextError`."""

_DECODER: Final = json.JSONDecoder(object_pairs_hook=Pairs)


def json_values(text: str) -> tuple[list[Any], str] | None:
    """Return the JSON values at the beginning of a text, and what follows them.

    Returns:
        ``None`` where the text does not begin with JSON.

    Raises:
        PlanTextError: after a value comes what begins like another and cannot be read.
    """
    values: list[Any] = []
    rest = text.lstrip()
    while rest[:1] in ("{", "["):
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            if values:
                raise PlanTextError("its JSON cannot be read; it may be cut off") from None
            return None
        values.append(value)
        rest = rest[end:].lstrip().removeprefix(",").lstrip()
    return (values, rest) if values else None


def is_json_like(text: str) -> bool:
    """Whether a text begins as only JSON does, and not as ``[pick(cup)]`` does."""
    first, inner = text.lstrip()[:1], text.lstrip()[1:].lstrip()[:1]
    return (first == "{" and inner in ('"', "}")) or (first == "[" and inner in ('"', "{", "]"))


def steps_from_json(values: Sequence[Any], read_text: ReadText) -> list[RawStep]:
    """Return the steps of a JSON value, or of several steps in a row.

    Args:
        values: What :func:`json_values` returned.
        read_text: Reads the texts in them.

    Raises:
        PlanTextError: they are no plan.
    """
    value: Any = values[0] if len(values) == 1 else list(values)
    while isinstance(value, Pairs) and (inner := _plan_within(value)) is not None:
        value = inner
    if isinstance(value, str):
        return list(read_text(value))
    if isinstance(value, Pairs) and _named(value) is None:
        return _from_mapping(value)
    items = [value] if isinstance(value, Pairs) else value
    if not isinstance(items, list):
        raise PlanTextError(f"its JSON is no list of steps: {value!r:.80}")
    return [step for item in items for step in _steps(item, read_text)]


def _steps(item: Any, read_text: ReadText) -> Sequence[RawStep]:
    """The steps of one item of a list."""
    if isinstance(item, Pairs):
        name = _named(item)
        if name is None:
            found = _from_mapping(item)
            if len(found) == 1:
                return found
            raise _unreadable(item)
        args = _numbered(_arguments(item, name))
        if not args and not name.strip().replace("_", "").replace("-", "").isalnum():
            return read_text(name)
        return [RawStep(f"{name}({', '.join(args)})", name.strip(), args)]
    if isinstance(item, str):
        return read_text(item)
    if isinstance(item, list) and item and all(isinstance(part, str) for part in item):
        return [RawStep(" ".join(item), item[0], _numbered(item[1:]))]
    raise _unreadable(item)


def _plan_within(pairs: Pairs) -> Any:
    """The plan that an object holds under a key of its own, beside remarks; else ``None``."""
    plans = [value for name, value in pairs if name.lower() in _PLAN_KEYS]
    others = [value for name, value in pairs if name.lower() not in (*_PLAN_KEYS, *_REMARK_KEYS)]
    if len(plans) != 1 or not isinstance(plans[0], list | str):
        return None
    return None if any(isinstance(value, list | Pairs) for value in others) else plans[0]


def _named(pairs: Pairs) -> str | None:
    """The name of the action that an object is about."""
    for key in _NAME_KEYS:
        for name, value in pairs:
            if name.lower() == key and isinstance(value, str):
                return value
    return None


def _arguments(pairs: Pairs, name: str) -> Iterator[str]:
    """All texts in an object that are neither its action's name nor a remark."""
    passed = False
    for key, value in pairs:
        if value is None or key.lower() in _REMARK_KEYS:
            continue
        if not passed and value == name and key.lower() in _NAME_KEYS:
            passed = True
            continue
        inner = [part for _, part in value] if isinstance(value, Pairs) else value
        for part in inner if isinstance(inner, list) else [inner]:
            if not isinstance(part, str):
                raise _unreadable(pairs)
            if part:
                yield part


def _numbered(args: Iterable[str]) -> tuple[str, ...]:
    """Arguments, with numbers of their own (``"cat", "1000"``) joined to the names before."""
    found: list[str] = []
    for arg in args:
        if found and arg.isdigit():
            found[-1] += f"_{arg}"
        else:
            found.append(arg)
    return tuple(found)


def _from_mapping(pairs: Pairs) -> list[RawStep]:
    """Steps as ``{"PICK": ["cup"], "PLACE": ["cup", "table"]}``."""
    steps = []
    for name, value in pairs:
        if name.lower() in _REMARK_KEYS:
            continue
        args = [value] if isinstance(value, str) else value
        if not isinstance(args, list) or not all(isinstance(arg, str) for arg in args):
            raise _unreadable(pairs)
        kept = _numbered(arg for arg in args if arg)
        steps.append(RawStep(f"{name}({', '.join(kept)})", name, kept))
    return steps


def _unreadable(item: Any) -> PlanTextError:
    shown = json.dumps(dict(item) if isinstance(item, Pairs) else item, default=str)
    return PlanTextError(f"a step of its JSON cannot be read: {shown:.80}")
