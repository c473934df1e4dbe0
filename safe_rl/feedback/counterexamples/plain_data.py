"""Counterexamples as plain data that JSON can hold, and back, exactly.

A letter is the list of its true propositions, a word a list of letters, changes a mapping from
proposition to Boolean, a phrase the pair of its texts for true and for false. Keys are the names of
the attributes of :class:`~safe_rl.feedback.Counterexample`, :class:`~safe_rl.feedback.Feedback` and
:class:`~safe_rl.feedback.ViolatingRollout`; beside them, ``hint``, ``violated`` and ``vacuous`` say
what follows from the others, and are not read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from safe_rl.errors import RecordingError, near
from safe_rl.feedback.counterexamples.counterexample import (
    KINDS,
    Change,
    Counterexample,
    Feedback,
    Repair,
    Word,
)
from safe_rl.monitors import Verdict
from safe_rl.specs import Binding, Phrase, Phrases

if TYPE_CHECKING:
    from safe_rl.feedback.counterexamples.search import ViolatingRollout

_VERDICTS: Final = {verdict.name.lower(): verdict for verdict in Verdict}
_HINT: Final = "hint"
_SUMS: Final = ("violated", "vacuous")


def counterexample_to_json(found: Counterexample) -> dict[str, Any]:
    """Return plain data; see ``Counterexample.to_json``."""
    letter = _LetterWriter(found.propositions)

    def word(letters: Word | None) -> list[list[str]] | None:
        return None if letters is None else [letter(one) for one in letters]

    def one(value: frozenset[str] | None) -> list[str] | None:
        return None if value is None else letter(value)

    data = {name: getattr(found, name) for name in _COUNTEREXAMPLE}
    data |= {
        "objects": dict(found.objects),
        "clauses": list(found.clauses),
        "verdict": found.verdict.name.lower(),
        "trace": word(found.trace),
        "before": one(found.before),
        "propositions": list(found.propositions),
        "deciding": dict(found.deciding),
        "nearest": one(found.nearest),
        "repairs": [{"step": r.step, "changes": dict(r.changes)} for r in found.repairs],
        "phrases": {name: list(phrase) for name, phrase in found.phrases.items()},
        _HINT: found.hint,
    }
    return data | {name: word(getattr(found, name)) for name in _WORDS}


def counterexample_from_json(data: Mapping[str, Any]) -> Counterexample:
    """Return what :func:`counterexample_to_json` wrote.

    Raises:
        RecordingError: a key is missing or unknown, or its value is not of its kind.
    """
    what = "a counterexample"
    _check_keys(data, _COUNTEREXAMPLE, (_HINT,), what)
    found = Counterexample(
        **{name: _read(what, name, data[name], kind) for name, kind in _COUNTEREXAMPLE.items()}
    )
    one = (letter for letter in (found.before, found.nearest) if letter is not None)
    words = (getattr(found, name) or () for name in _WORDS)
    told = frozenset().union(*found.trace, *one, *(letter for word in words for letter in word))
    unknown = told.difference(found.propositions)
    if unknown:
        raise RecordingError(
            f"{what} in JSON has letters with {', '.join(map(repr, sorted(unknown)))}, "
            "which its propositions do not hold"
        )
    return found


def feedback_to_json(feedback: Feedback) -> dict[str, Any]:
    """Return plain data; see ``Feedback.to_json``."""
    return {
        "steps": feedback.steps,
        "truncated": feedback.truncated,
        "verdicts": {name: verdict.name.lower() for name, verdict in feedback.verdicts.items()},
        "counterexamples": [counterexample_to_json(found) for found in feedback.counterexamples],
        **{name: getattr(feedback, name) for name in _SUMS},
    }


def feedback_from_json(data: Mapping[str, Any]) -> Feedback:
    """Return what :func:`feedback_to_json` wrote.

    Raises:
        RecordingError: a key is missing or unknown, or its value is not of its kind.
    """
    what = "feedback"
    _check_keys(data, _FEEDBACK, _SUMS, what)
    return Feedback(
        **{name: _read(what, name, data[name], kind) for name, kind in _FEEDBACK.items()}
    )


def rollout_to_json(rollout: ViolatingRollout) -> dict[str, Any]:
    """Return plain data; see ``ViolatingRollout.to_json``."""
    return {
        "seed": rollout.seed,
        "actions": rollout.actions,
        "letters": [sorted(letter) for letter in rollout.letters],
        "terminated": rollout.terminated,
        "violations": [counterexample_to_json(found) for found in rollout.violations],
        "episodes": rollout.episodes,
    }


def rollout_from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes that :func:`rollout_to_json` wrote.

    Raises:
        RecordingError: a key is missing or unknown, or its value is not of its kind.
    """
    what = "a rollout"
    _check_keys(data, _ROLLOUT, (), what)
    return {name: _read(what, name, data[name], kind) for name, kind in _ROLLOUT.items()}


class _LetterWriter:
    """Writes letters in the order of an instance's propositions."""

    def __init__(self, propositions: tuple[str, ...]) -> None:
        self._propositions = propositions

    def __call__(self, letter: frozenset[str]) -> list[str]:
        return [name for name in self._propositions if name in letter]


def _check_keys(
    data: object, known: Mapping[str, Any], derived: tuple[str, ...], what: str
) -> None:
    if not isinstance(data, Mapping):
        raise RecordingError(f"{what} in JSON is an object, not {data!r}")
    for key in data:
        if key not in known and key not in derived:
            raise RecordingError(f"{what} in JSON has no key {key!r}{near(str(key), known)}")
    missing = [key for key in known if key not in data]
    if missing:
        raise RecordingError(
            f"{what} in JSON lacks {', '.join(map(repr, missing))}; give what to_json() returned"
        )


def _read(what: str, name: str, value: Any, kind: Callable[[Any], Any]) -> Any:
    try:
        return kind(value)
    except RecordingError:  # of a counterexample within
        raise
    except (TypeError, ValueError, KeyError, AttributeError):
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:77] + "..."
        raise RecordingError(
            f"{what} in JSON, {name}: {shown} is not what to_json() writes there"
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError
    return value


def _list(item: Callable[[Any], Any], collect: Callable[[Any], Any] = tuple) -> Callable[..., Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise TypeError
        return collect(item(one) for one in value)

    return read


def _optional(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else kind(value)


def _mapping(item: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise TypeError
        return {_text(key): item(one) for key, one in value.items()}

    return read


def _kind(value: Any) -> str:
    if value not in KINDS:
        raise ValueError
    return _text(value)


def _changes(value: Any) -> tuple[Change, ...]:
    return tuple(Change(*pair) for pair in _mapping(_flag)(value).items())


def _repair(value: Any) -> Repair:
    return Repair(_count(value["step"]), _changes(value["changes"]))


def _phrase(value: Any) -> Phrase:
    true, false = _list(_text)(value)
    return Phrase(true, false)


_letter = _list(_text, frozenset)
_word = _list(_letter)
_WORDS: Final = ("insertion", "fulfilment", "doom", "recovery")
_COUNTEREXAMPLE: Final[Mapping[str, Callable[[Any], Any]]] = {
    "kind": _kind,
    "specification": _text,
    "instance": _text,
    "category": _text,
    "objects": lambda value: Binding(_mapping(_text)(value)),
    "rule": _text,
    "formula": _text,
    "trigger": _text,
    "clauses": _list(_text),
    "verdict": _VERDICTS.__getitem__,
    "step": _count,
    "by_end": _flag,
    "triggered": _optional(_count),
    "start": _count,
    "trace": _word,
    "before": _optional(_letter),
    "propositions": _list(_text),
    "deciding": _changes,
    "together": _flag,
    "nearest": _optional(_letter),
    "repairs": _list(_repair),
    **{name: _optional(_word) for name in _WORDS},
    "recovered": _optional(_count),
    "exposed": _count,
    "phrases": lambda value: Phrases(_mapping(_phrase)(value)),
}
_FEEDBACK: Final[Mapping[str, Callable[[Any], Any]]] = {
    "steps": _count,
    "truncated": _flag,
    "verdicts": _mapping(_VERDICTS.__getitem__),
    "counterexamples": _list(counterexample_from_json),
}
_ROLLOUT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "seed": _count,
    "actions": lambda value: value,
    "letters": _word,
    "terminated": _flag,
    "violations": _list(counterexample_from_json),
    "episodes": _count,
}
