"""Which object is what: the ontology's properties, gathered into classes for actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from safe_rl.errors import OntologyError
from safe_rl.grounding.ontology import Ontology

CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "movable": ("graspable & movable_object",),
    "fixture": ("fixture", "structure"),
    "surface": ("support_surface", "stove & supporting", "rack_like & supporting", "floor_like"),
    "enclosure": ("enclosure & fixture",),
    "sink": ("sink_like",),
    "door": (
        "enclosure & fixture & openable",
        "jar_like & openable & !food",
        "box_like & hinged & graspable",
    ),
    "carrier": (
        "plate_like",
        "tray_like & !bakeware",
        "supporting & movable_object & !electronics",
    ),
    "container": (
        "bowl_like & !food",
        "pan_like",
        "pot_like",
        "basket_like",
        "jar_like & !food & !decoration",
        "box_like & storage_receptacle",
        "bag & storage_receptacle",
    ),
    "stacks": ("stackable & tableware",),
    "lid": ("lid_like",),
    "vessel": ("holds_liquid & graspable & !closed & !kitchen_tool & !tray_like",),
    "switch": ("heating_fixture & !burner", "faucet_like"),
    "tap": ("faucet_like",),
    "heater": ("heating_fixture & !burner",),
    "cookware": ("cookware & !lid_like",),
    "blade": ("cutting_tool & graspable",),
    "cuttable": ("cuttable",),
    "cloth": ("absorbs & graspable",),
    "tool": ("cooking_tool & graspable",),
    "washable": ("washable & graspable",),
    "slippery": ("fragile & washable & graspable",),
    "fragile": ("fragile & movable_object",),
    "crushable": ("crushable & movable_object",),
    "heavy": ("heavy & movable_object",),
    "food": ("food_item & !beverage",),
    "exposed": ("food_item & !packaged_item",),
    "raw": ("raw_food & !packaged_item",),
    "toxic": ("toxic & movable_object",),
    "unclean": ("dirty & movable_object",),
    "dish": ("serving_receptacle & !drinkware & !food & graspable",),
    "drinkware": ("drinkware & graspable",),
    "table": ("table_like",),
}
"""Class to the combinations of ontology properties that are enough for it."""


@dataclass(frozen=True)
class Scene:
    """Objects, each with its entity, and the classes that follow.

    Attributes:
        entities: Object to the ontology's entity.
        members: Class to its objects, in the order of ``entities``; ``"thing"`` holds all.
    """

    entities: Mapping[str, str]
    members: Mapping[str, tuple[str, ...]]

    def is_a(self, thing: str, kind: str) -> bool:
        """Whether an object belongs to a class."""
        return kind == "thing" or kind in classes_of(self.entities[thing])

    def goes_onto(self, thing: str, place: str) -> bool:
        """Whether a thing may be put on a place, as a lid or a stacked plate may too."""
        if thing == place or not self.is_a(thing, "movable"):
            return False
        if self.is_a(place, "container") or self.is_a(place, "vessel"):
            covers = self.is_a(thing, "lid") and not self.is_a(place, "door")
            return covers or (self.is_a(thing, "stacks") and self.is_a(place, "stacks"))
        return any(self.is_a(place, kind) for kind in ("surface", "carrier"))

    def goes_inside(self, thing: str, place: str) -> bool:
        """Whether a thing may be put into a place."""
        if thing == place or not self.is_a(thing, "movable") or self.goes_onto(thing, place):
            return False
        return any(self.is_a(place, kind) for kind in ("enclosure", "sink", "container"))

    def pairs(self, relation: str) -> Iterator[tuple[str, str]]:
        """Yield the pairs of ``"goes_onto"`` or ``"goes_inside"``."""
        holds = self.goes_onto if relation == "goes_onto" else self.goes_inside
        for thing in self.members["movable"]:
            for place in self.entities:
                if holds(thing, place):
                    yield thing, place


@cache
def ontology() -> Ontology:
    """Return the shipped ontology, loaded once."""
    return Ontology.load()


@cache
def classes_of(entity: str) -> frozenset[str]:
    """Return the classes of an entity.

    Raises:
        OntologyError: there is no such entity.

    >>> sorted(classes_of("wine_glass"))
    ['drinkware', 'fragile', 'movable', 'slippery', 'vessel', 'washable']
    """
    known = ontology()
    name = known.entity(entity).name
    return frozenset(
        kind
        for kind, combinations in CLASSES.items()
        if any(known.has(name, text) for text in combinations)
    )


def make_scene(entities: Mapping[str, str]) -> Scene:
    """Sort objects into classes.

    Raises:
        OntologyError: an object stands for no entity.
    """
    found = {name: ontology().entity(entity).name for name, entity in entities.items()}
    if len(found) != len(entities):
        raise OntologyError("an object is named twice")
    members = {
        kind: tuple(name for name, entity in found.items() if kind in classes_of(entity))
        for kind in CLASSES
    }
    return Scene(found, {"thing": tuple(found), **members})
