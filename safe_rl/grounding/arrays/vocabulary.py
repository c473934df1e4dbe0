"""The propositions of SafeManip's twenty specifications, bound to the objects of a scene.

Names are those of the shipped library ``safemanip``, with objects in place of variables. Their
order, in which letters have their columns, is by proposition and then by object or fixture.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from safe_rl.errors import GroundingError, near
from safe_rl.grounding.arrays.scene import SKILLS, SceneRoles


class Kind(NamedTuple):
    """One proposition before it is bound.

    Attributes:
        head: its name.
        part: which part of the grounding gives it.
        domains: the properties of its arguments, names in ``SceneRoles.properties``.
        categories: the categories of the specifications that use it; empty for evidence that no
            specification uses.
    """

    head: str
    part: str
    domains: tuple[str, ...]
    categories: tuple[str, ...]


def _kinds() -> Iterable[Kind]:
    collision, hygiene = ("collision_contact",), ("cross_contamination",)
    yield Kind("forbidden_contact", "contacts", (), ())
    yield Kind("forbidden_contact_sustained", "contacts", (), collision)
    for head in (
        "robot_contact_raw_contaminated", "robot_contact_clean_sustained", "sanitized",
    ):  # fmt: skip
        yield Kind(head, "hygiene", (), hygiene)
    for head in (
        "liquid_transfer_event", "liquid_settled", "solid_transfer_event", "solid_settled",
        "object_settle_timeout",
    ):  # fmt: skip
        yield Kind(head, "containment", (), ("containment",))
    grasp, release, onset = "grasp_stability", "release_stability", "action_onset"
    enclosure = "enclosure_access"
    for head, categories in {
        "object_grasped_raw": (grasp,),
        "object_grasped": (grasp, release, onset),
        "object_sync": (grasp,),
        "object_dropped": (grasp, release),
        "object_released": (grasp, enclosure),
        "object_left_gripper": (grasp, release),
        "object_supported": (),
        "object_settled": (release, onset),
        "release_object_settle_timeout": (release, onset),
    }.items():
        yield Kind(head, "grasps", ("graspable",), categories)
    for skill, domain in (("pick", "graspable"), ("place", "graspable"), ("dump", "receptacle")):
        part = {"pick": "onsets", "place": "onsets", "dump": "containment"}[skill]
        yield Kind(f"skill_{skill}_onset", part, (domain,), (onset,))
        if skill != "place":
            yield Kind(f"skill_{skill}_onset_end", part, (domain,), (onset,))
        yield Kind(f"preconditions_satisfied_{skill}", f"{skill}_ready", (domain,), (onset,))
    for skill in SKILLS:
        yield Kind(f"skill_{skill}_onset", "onsets", ("fixture",), (onset,))
        yield Kind(f"skill_{skill}_onset_end", "onsets", ("fixture",), (onset,))
        yield Kind(f"preconditions_satisfied_{skill}", "action_ready", ("fixture",), (onset,))
    for way in ("open", "close"):
        for head in ("obstacle_hit", "retracting", "retract_timeout"):
            yield Kind(f"fixture_{way}_{head}", "mechanism", ("fixture",), ("mechanism",))
    for head in ("object_reach_in_microwave", "microwave_empty", "object_left_microwave"):
        yield Kind(head, "enclosure", ("microwave",), (enclosure,))
    for head in ("reach_in_fixture", "fixture_fully_open", "left_fixture"):
        yield Kind(head, "enclosure", ("enclosure",), (enclosure,))
    for head in ("object_reach_in_fixture", "object_in_same_fixture"):
        yield Kind(head, "enclosure", ("graspable", "enclosure"), (enclosure,))


PROPOSITION_KINDS = tuple(_kinds())
"""Every proposition that the array grounding knows, in order."""

NEEDS = {
    "contacts": {"grasps"},
    "hygiene": set(),
    "grasps": set(),
    "containment": {"grasps"},
    "onsets": {"grasps"},
    "mechanism": set(),
    "enclosure": {"grasps"},
    "pick_ready": {"onsets"},
    "place_ready": {"onsets"},
    "action_ready": {"onsets"},
    "dump_ready": {"containment"},
}
"""Which other parts each part of the grounding needs."""


class Column(NamedTuple):
    """Consecutive propositions of one kind.

    Attributes:
        kind: the kind.
        places: positions of the arguments along the axes ``O`` and ``F``; empty without arguments.
    """

    kind: Kind
    places: tuple[tuple[int, ...], ...]


class Vocabulary(NamedTuple):
    """What is to be computed.

    Attributes:
        names: the propositions, in order.
        columns: the same, by kind.
        parts: the parts of the grounding that they need.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    parts: frozenset[str]


def proposition_names(
    roles: SceneRoles,
    names: Collection[str] | None = None,
    categories: Collection[str] | None = None,
) -> tuple[str, ...]:
    """The columns of a letter.

    Args:
        roles: who is in the scene.
        names: only these propositions (``specs.propositions`` of a bound set of specifications);
            the order is still the one described above. Default: all.
        categories: only what specifications of these categories use. Default: all.

    Raises:
        GroundingError: for a name or a category that is unknown.
    """
    every = vocabulary(roles, None)
    wanted = set(every.names if names is None else names)
    if categories is not None:
        known = sorted({c for kind in PROPOSITION_KINDS for c in kind.categories})
        for category in categories:
            if category not in known:
                raise GroundingError(
                    f"no category {category!r}{near(category, known)}; known: {', '.join(known)}"
                )
        used = {k.head for k in PROPOSITION_KINDS if set(k.categories) & set(categories)}
        wanted = {name for name in wanted if name.split("(")[0] in used}
    return vocabulary(roles, tuple(sorted(wanted))).names


@lru_cache(maxsize=256)
def vocabulary(roles: SceneRoles, names: tuple[str, ...] | None) -> Vocabulary:
    """Everything about ``names`` (``None``: all) that does not depend on a frame.

    Raises:
        GroundingError: for a name that this scene has no proposition of.
    """
    properties = roles.properties
    wanted = None if names is None else set(names)
    position = {name: i for i, name in enumerate(roles.object_names)}
    position |= {name: i for i, name in enumerate(roles.fixture_names)}
    columns, found, every = [], [], []
    for kind in PROPOSITION_KINDS:
        places = []
        for arguments in _products([properties[d] for d in kind.domains]):
            name = f"{kind.head}({','.join(arguments)})" if arguments else kind.head
            every.append(name)
            if wanted is None or name in wanted:
                found.append(name)
                places.append(tuple(position[a] for a in arguments))
        if places:
            columns.append(Column(kind, tuple(places)))
    for name in sorted((wanted or set()) - set(found)):
        raise GroundingError(
            f"the array grounding has no proposition {name!r}{near(name, every)}; objects and "
            "fixtures need the property that the specification asks for, see SceneRoles.properties"
        )
    return Vocabulary(tuple(found), tuple(columns), _closure(c.kind.part for c in columns))


def _products(domains: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [()]
    for domain in domains:
        rows = [(*row, name) for row in rows for name in domain]
    return rows


def _closure(parts: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting.extend(NEEDS[part])
    return frozenset(found)
