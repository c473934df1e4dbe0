"""The propositions of the household: facts, which last, and events, which mark one step.

Each has its words, so that goals, failures and counterexamples can be told to people and to
language models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Final

from safe_rl.envs.household.classes import Scene
from safe_rl.specs.binding import arguments


@dataclass(frozen=True)
class Predicate:
    """A kind of proposition.

    Attributes:
        over: The classes of its arguments.
        says: It in words; ``{0}`` stands for the first argument.
        denies: That it does not hold, in words.
    """

    over: tuple[str, ...]
    says: str
    denies: str


def _is(over: tuple[str, ...], rest: str) -> Predicate:
    return Predicate(over, f"{{0}} is {rest}", f"{{0}} is not {rest}")


FACTS: Final[Mapping[str, Predicate]] = {
    "on": _is(("movable", "thing"), "on {1}"),
    "inside": _is(("movable", "thing"), "in {1}"),
    "holding": _is(("movable",), "in the hand"),
    "open": _is(("door",), "open"),
    "running": _is(("switch",), "on"),
    "dirty": _is(("thing",), "dirty"),
    "contaminated": _is(("thing",), "contaminated"),
    "hand_soiled": Predicate((), "the hand is soiled", "the hand is clean"),
    "washed": _is(("washable",), "washed"),
    "wet": _is(("washable",), "wet"),
    "spilled": Predicate(("thing",), "liquid is spilled on {0}", "no liquid is spilled on {0}"),
    "full": _is(("vessel",), "full"),
    "sliced": _is(("cuttable",), "cut"),
    "cooked": _is(("food",), "cooked"),
    "hot": _is(("movable",), "hot"),
    "served": _is(("movable",), "served"),
    "broken": _is(("fragile",), "broken"),
    "crushed": _is(("crushable",), "crushed"),
    "toppled": _is(("movable",), "knocked over"),
    "before": Predicate(
        ("movable", "thing"), "{0} stands in the way of {1}", "{0} is not in the way of {1}"
    ),
}

EVENTS: Final[Mapping[str, Predicate]] = {
    "touched": Predicate(("movable",), "the hand takes {0}", "the hand does not take {0}"),
    "placed": Predicate(("movable",), "{0} is put down", "{0} is not put down"),
    "dropped": Predicate(("movable",), "{0} falls to the floor", "{0} does not fall"),
    "poured_over": Predicate(
        ("thing",), "liquid is poured above {0}", "no liquid is poured above {0}"
    ),
    "hands_washed": Predicate((), "the hands are washed", "the hands are not washed"),
}

PREDICATES: Final[Mapping[str, Predicate]] = {**FACTS, **EVENTS}


def atom_text(name: str, args: tuple[str, ...]) -> str:
    """Return a proposition's text, ``"on(cup,table)"`` or ``"hand_soiled"``."""
    return f"{name}({','.join(args)})" if args else name


STATIC: Final = frozenset({"before"})
"""Facts that no action makes true: they hold from the start, or never."""


def facts(scene: Scene, initial: Collection[str] = ()) -> Iterator[str]:
    """Yield the facts over a scene's objects that can come about, predicate by predicate.

    Args:
        scene: The objects.
        initial: What holds at the start; of the facts that no action makes true, those in here.
    """
    for name, predicate in FACTS.items():
        if name in ("on", "inside"):
            pairs = scene.pairs("goes_onto" if name == "on" else "goes_inside")
            yield from (atom_text(name, pair) for pair in pairs)
            continue
        for args in product(*(scene.members[kind] for kind in predicate.over)):
            text = atom_text(name, args)
            if name not in STATIC or text in initial:
                yield text


@lru_cache(maxsize=4096)
def the(name: str) -> str:
    """Return an object's name in words.

    >>> the("wine_glass"), the("plate_2")
    ('the wine glass', 'plate 2')
    """
    words = name.replace("_", " ")
    return words if words[-1:].isdigit() else f"the {words}"


def in_words(proposition: str, value: bool = True) -> str:
    """Return in words that a proposition of the household holds, or that it does not.

    >>> in_words("on(cup,table)")
    'the cup is on the table'
    >>> in_words("full(cup)", value=False)
    'the cup is not full'
    """
    predicate = PREDICATES.get(proposition.partition("(")[0])
    if predicate is None:
        return proposition if value else f"not {proposition}"
    text = predicate.says if value else predicate.denies
    return text.format(*(the(name) for name in arguments(proposition)))
