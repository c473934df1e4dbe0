"""Names in plans: which action or object a planner means, where that is beyond doubt.

Everything that is not the name itself is reported in a note, so that nobody takes a guess for the
planner's word. Where two names are meant equally well, none is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Final, NamedTuple

from safe_rl.envs.household.plan import Action, PlanningTask
from safe_rl.errors import near

CLOSE: Final = 0.85
"""How alike (by difflib) a misspelled name has to be."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_JOINTS: Final = re.compile(r"[\s\-_.]+")
_NUMBER: Final = re.compile(r"_?\d+\Z")
_ARTICLE: Final = re.compile(r"(?:the|a|an)\s+", re.IGNORECASE)
_KEYWORD: Final = re.compile(r"\?*\w+\s*[=:]\s*")

FILLERS: Final = frozenset(
    "the a an on onto in into inside to from with using at of over out it's its by via".split()
)
"""Words between a verb and its objects that say nothing that the order does not."""


class Names(NamedTuple):
    """What a name was taken for.

    Attributes:
        name: The known name, or ``None``.
        note: What was assumed; empty where the name was given, be it in other letters' case.
    """

    name: str | None
    note: str = ""


def plain(text: str) -> str:
    """Return a name in lower-case words joined by ``_``.

    >>> plain("PickUp"), plain("dish towel"), plain("Wine-Glass_1")
    ('pick_up', 'dish_towel', 'wine_glass_1')
    """
    return _JOINTS.sub("_", _CAMEL.sub("_", text.strip())).strip("_").lower()


class Vocabulary:
    """The names of one task's actions and objects.

    Attributes:
        signatures: Action to its parameters.
        objects: The objects.
    """

    def __init__(self, task: PlanningTask) -> None:
        """Take the names from a task."""
        self.signatures = dict(task.signatures)
        self.objects = tuple(task.objects)
        self._aliases = {**task.aliases, **{name: name for name in self.signatures}}
        self._plain_aliases = _unambiguous((plain(k), v) for k, v in self._aliases.items())
        self._plain_objects = _unambiguous((plain(name), name) for name in self.objects)
        self._other_names = _unambiguous((plain(k), v) for k, v in task.other_names.items())
        self._known_objects = frozenset(self.objects)

    @property
    def verbs(self) -> frozenset[str]:
        """The names and aliases of the actions, in lower-case words joined by ``_``."""
        return frozenset(self._plain_aliases)

    @cached_property
    def longest_verb(self) -> int:
        """How many words the longest name of an action has."""
        return max(name.count("_") + 1 for name in self._plain_aliases)

    @cached_property
    def longest_object(self) -> int:
        """How many words the longest name of an object has."""
        names = [*self._plain_objects, *self._other_names]
        return max((name.count("_") + 1 for name in names), default=1)

    @cached_property
    def _last_words(self) -> Mapping[str, str]:
        """The last word of each object's name, such as ``towel`` for ``dish_towel``."""
        return _unambiguous((plain(name).rpartition("_")[2], name) for name in self.objects)

    @cached_property
    def _without_numbers(self) -> Mapping[str, str]:
        """Objects of which there is only one, without its number."""
        return _unambiguous((_NUMBER.sub("", plain(name)), name) for name in self.objects)

    def action(self, text: str) -> Names:
        """Return the action that a name means."""
        if text in self.signatures:
            return Names(text)
        name = plain(text)
        found = self._plain_aliases.get(name)
        if found is None:
            found = _spelled(name, self._plain_aliases)
        return _noted(text, found)

    def verb(self, text: str) -> str | None:
        """Return the action whose name or alias this is exactly, letters' case apart."""
        return self._plain_aliases.get(plain(text))

    def object(self, text: str) -> Names:
        """Return the object that a name means."""
        if text in self._known_objects:
            return Names(text)
        name = plain(_KEYWORD.sub("", _ARTICLE.sub("", text.strip().strip("\"'`?<>")), count=1))
        known: Sequence[Callable[[str], str | None]] = (
            self._plain_objects.get,
            self._other_names.get,
            self._numberless,
            self._last_words.get,
            lambda name: _spelled(name, self._plain_objects),
        )
        found = next((match for look in known if (match := look(name)) is not None), None)
        return _noted(text, found)

    def exact_object(self, text: str) -> str | None:
        """Return the object that a name means without a guess at spelling, or ``None``."""
        name = plain(text)
        found = self._plain_objects.get(name) or self._other_names.get(name)
        return found or self._numberless(name)

    def unknown_action(self, text: str) -> str:
        """Return what is said of a name that is no action's."""
        return (
            f"{text!r} is no action{near(text, self.signatures)}; "
            f"the actions are {', '.join(self.signatures)}"
        )

    def unknown_object(self, text: str) -> str:
        """Return what is said of a name that is no object's."""
        return (
            f"there is no object {text!r}{near(text, self.objects)}; "
            f"the objects are {', '.join(self.objects)}"
        )

    def wrong_arity(self, name: str, given: Sequence[str]) -> str:
        """Return what is said of an action with too many or too few objects."""
        wanted = self.signatures[name]
        return (
            f"{Action(name, tuple(given))} has {_counted(len(given))}, but {name} takes "
            f"{len(wanted)}: {Action(name, wanted)}"
        )

    def _numberless(self, name: str) -> str | None:
        """The one object that has this name but for a number, which only one of the two has."""
        base = _NUMBER.sub("", name)
        found = self._without_numbers.get(base)
        if found is None or (base != name and plain(found) != base):
            return None
        return found


def _counted(count: int) -> str:
    return f"{count} object" if count == 1 else f"{count} objects"


def _noted(text: str, found: str | None) -> Names:
    if found is None or found == text or found == plain(text):
        return Names(found)
    return Names(found, f"{text!r} was read as {found!r}")


def _spelled(name: str, known: Mapping[str, str]) -> str | None:
    """The one name that a misspelling is close to."""
    close = get_close_matches(name, known, n=4, cutoff=CLOSE)
    meant = {known[match] for match in close}
    return meant.pop() if len(meant) == 1 else None


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What each key stands for, without the keys that stand for several things."""
    found: dict[str, str | None] = {}
    for key, value in pairs:
        found[key] = value if found.get(key, value) == value else None
    return {key: value for key, value in found.items() if value is not None}
