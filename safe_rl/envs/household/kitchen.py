"""A kitchen that is being furnished: which things stand where, drawn for one split."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Final

from safe_rl.envs.household.actions import FLOOR
from safe_rl.envs.household.classes import make_scene, ontology
from safe_rl.envs.household.scripted import Script
from safe_rl.envs.household.task import Split
from safe_rl.errors import SafeRLError

SPARE: Final = "counter"
"""Where the scripts put things aside; every kitchen has it."""

_UNFIT: Final = frozenset({"dining_set_group", "utensil_set", "payload", "hook_frame"})
"""Entities that are several things at once, or that no kitchen has."""


class NothingLeftError(SafeRLError):
    """A kitchen has all the things of some kind already."""


@dataclass(frozen=True)
class Chore:
    """What an activity adds to a task.

    Attributes:
        goal: Facts, with ``!`` those that must not hold at the end.
        says: The goal in words, one sentence.
        script: Does it.
        specs: The names of shipped sets that hold beside the household's rules.
        derived: Propositions of those sets, each with its condition on facts.
    """

    goal: tuple[str, ...]
    says: str
    script: Callable[[Script], None]
    specs: tuple[str, ...] = ()
    derived: Mapping[str, str] = field(default_factory=dict)


class Kitchen:
    """Collects objects and facts.

    Attributes:
        rng: What chance is drawn from.
        size: How many things an activity is about; it may take more or fewer.
        entities: Object to the ontology's entity.
        facts: What holds at the start.
    """

    def __init__(self, split: Split, rng: Random, size: int) -> None:
        """Begin with a floor and a counter."""
        self.rng = rng
        self.size = size
        self.entities: dict[str, str] = {}
        self.facts: list[str] = []
        self._held_out = split == "held_out"
        self.fixture(FLOOR, SPARE)

    def fixture(self, *names: str) -> None:
        """Have a fixture or a tool that every split has; once, however often it is asked for."""
        for name in names:
            self.entities.setdefault(name, name)

    def tool(self, name: str) -> str:
        """Have a tool that every split has, on the counter; return its name."""
        if name not in self.entities:
            self.entities[name] = name
            self.put(name, SPARE)
            if ontology().has(name, "dirty"):
                self.facts.append(f"dirty({name})")
        return name

    def thing(self, *combinations: str, at: str | None = None) -> str:
        """Add a thing with one of some combinations of properties; return its name.

        Args:
            combinations: Of the ontology's properties, such as ``fragile & !heavy``.
            at: Where it is at the start; nowhere yet if ``None``.

        Raises:
            NothingLeftError: nothing is left that fits.
        """
        fitting = [e for e in entities_of(combinations, self._held_out) if e not in self.entities]
        if not fitting:
            raise NothingLeftError(f"nothing is left that is {' or '.join(combinations)}")
        name = self.rng.choice(fitting)
        self.entities[name] = name
        if at is not None:
            self.put(name, at)
        if ontology().has(name, "raw_food & !packaged_item"):
            self.facts.append(f"contaminated({name})")
        if ontology().has(name, "dirty"):
            self.facts.append(f"dirty({name})")
        return name

    def put(self, thing: str, place: str) -> None:
        """Say that a thing is on or in a place at the start."""
        scene = make_scene({name: self.entities[name] for name in (thing, place)})
        self.facts.append(
            f"on({thing},{place})" if scene.goes_onto(thing, place) else f"inside({thing},{place})"
        )

    def chance(self, probability: float) -> bool:
        """Draw whether something is so."""
        return self.rng.random() < probability


@cache
def entities_of(combinations: tuple[str, ...], held_out: bool) -> tuple[str, ...]:
    """Return the entities with one of some combinations of properties, of one split.

    An entity is held out or not whatever it is looked up for, so no object that tasks draw is in
    both splits.
    """
    found = sorted({e for text in combinations for e in ontology().with_property(text)} - _UNFIT)
    return tuple(name for name in found if is_held_out(name) == held_out)


def is_held_out(entity: str) -> bool:
    """Whether an entity belongs to the held-out split: one in three, by its name.

    >>> is_held_out("cup"), is_held_out("mug")
    (True, False)
    """
    return zlib.crc32(entity.encode()) % 3 == 0
