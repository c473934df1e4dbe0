"""Contacts of a control frame, gathered over all its physics substeps.

A contact that lives in any of the substeps is seen. The same few sets of touching geoms come back
again and again, so each is sorted out once; what is read anew are the contact normals, which say
who holds and who supports whom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.grounding.contact_rules import ROBOT
from safe_rl.grounding.mujoco.bindings import MujocoData
from safe_rl.grounding.mujoco.entities import GeomOwner, MujocoEntities, Part
from safe_rl.grounding.settings import GroundingSettings

_REMEMBERED_SETS = 4096


class Contact(NamedTuple):
    """Two geoms that touched during the frame, and the entities that they belong to.

    An entity is ``"robot"`` (any robot geom but the base's), or the name of an object, a component
    or a fixture. The robot comes first, else an object does.
    """

    geoms: tuple[str, str]
    entities: tuple[str, str]


class ContactFacts(NamedTuple):
    """Who touched whom, as in ``SceneArrays``; bool arrays."""

    robot_object: NDArray[np.bool_]
    robot_fixture: NDArray[np.bool_]
    robot_component: NDArray[np.bool_]
    object_object: NDArray[np.bool_]
    object_fixture: NDArray[np.bool_]
    part_contacts: NDArray[np.bool_]
    finger_contacts: NDArray[np.bool_]
    opposed: NDArray[np.bool_]
    on_object: NDArray[np.bool_]
    on_fixture: NDArray[np.bool_]


class _Starts(NamedTuple):
    """Where each of ``ContactFacts`` starts in one flat array."""

    robot_object: int
    robot_fixture: int
    robot_component: int
    object_object: int
    object_fixture: int
    part_contacts: int
    finger_contacts: int
    opposed: int
    on_object: int
    on_fixture: int


class _Pair(NamedTuple):
    """What it means that two geoms touch; the sign turns MuJoCo's contact normal."""

    contact: Contact | None
    # Places in ``_Layout`` of the facts that need no normal.
    facts: tuple[int, ...]
    # (object, finger, sign): from the finger to the object
    grips: tuple[tuple[int, int, float], ...]
    # (place in ``_Layout``, sign): from the support to the object
    supports: tuple[tuple[int, float], ...]


class _Touching(NamedTuple):
    """One set of touching geoms, sorted out once: rows index MuJoCo's contact list."""

    contacts: frozenset[Contact]
    # A bool array of all facts that need no normal, in the layout of ``_Layout``.
    facts: NDArray[np.bool_]
    # (object, finger, row, sign): sign turns the contact normal from the finger to the object
    grips: tuple[tuple[int, int, int, float], ...]
    # (place in ``_Layout``, row, sign): sign turns the normal from the support to the object
    supports: tuple[tuple[int, int, float], ...]


class _Layout:
    """Where each fact is in one flat array."""

    def __init__(self, objects: int, fixtures: int, components: int, fingers: int) -> None:
        self.shapes = (
            (objects,), (fixtures,), (components,), (objects, objects), (objects, fixtures),
            (objects, fixtures), (objects, fingers), (objects,), (objects, objects),
            (objects, fixtures),
        )  # fmt: skip
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()
        self.starts = _Starts(*ends[:-1])
        self.places = [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]
        self.size = ends[-1]
        self.fingers = fingers

    def split(self, flat: NDArray[np.bool_]) -> ContactFacts:
        return ContactFacts(
            *(
                flat[place].reshape(shape)
                for place, shape in zip(self.places, self.shapes, strict=True)
            )
        )


class ContactGatherer:
    """Contacts from ``begin_frame()`` on, one ``observe()`` per physics substep."""

    def __init__(
        self, data: MujocoData, entities: MujocoEntities, settings: GroundingSettings
    ) -> None:
        """Read the contacts of ``data``."""
        self._data, self._settings = data, settings
        self._owners, self._geom_names = entities.owners, entities.geom_names
        roles = entities.roles
        self._objects, self._fixtures = roles.object_names, roles.fixture_names
        self._components = tuple(part.name for part in roles.components)
        self._layout = _Layout(
            len(self._objects),
            len(self._fixtures),
            len(self._components),
            len(entities.finger_joints),
        )
        self._pairs: dict[tuple[int, int], _Pair | None] = {}
        self._sorted: dict[bytes, _Touching] = {}
        self.begin_frame()

    def begin_frame(self) -> None:
        """Forget the contacts of the frame before."""
        self._seen: dict[bytes, _Touching] = {}
        self._last_key: bytes | None = None
        self._facts: NDArray[np.bool_] = np.zeros(self._layout.size, dtype=bool)

    def observe(self) -> None:
        """Take in the contacts of the substep that has just been simulated."""
        geoms = self._data.contact.geom
        key = geoms.tobytes()
        if key == self._last_key or key in self._seen:
            self._last_key = key
            return
        self._last_key = key
        rows = self._sorted.get(key)
        if rows is None:
            if len(self._sorted) >= _REMEMBERED_SETS:  # bounds the memory of a very long run
                self._sorted.clear()
            rows = self._sorted[key] = self._sort(list(map(tuple, geoms.tolist())))
        self._seen[key] = rows
        self._facts |= rows.facts
        self._read_normals(rows)

    def gathered(self) -> tuple[ContactFacts, tuple[frozenset[Contact], ...]]:
        """The facts since ``begin_frame``, and the considered contacts of each set seen."""
        if self._last_key is not None:  # normals move while the set of contacts stays the same
            self._read_normals(self._seen[self._last_key])
        touching = tuple(rows.contacts for rows in self._seen.values())
        return self._layout.split(self._facts), touching

    def _sort(self, pairs: list[tuple[int, int]]) -> _Touching:
        contacts: set[Contact] = set()
        places: list[int] = []
        grips: list[tuple[int, int, int, float]] = []
        supports: list[tuple[int, int, float]] = []
        known = self._pairs
        for row, pair in enumerate(pairs):
            found = known[pair] if pair in known else known.setdefault(pair, self._pair(*pair))
            if found is None:
                continue
            places += found.facts
            grips += [(index, finger, row, sign) for index, finger, sign in found.grips]
            supports += [(place, row, sign) for place, sign in found.supports]
            if found.contact is not None:
                contacts.add(found.contact)
        facts = np.zeros(self._layout.size, dtype=bool)
        facts[places] = True
        return _Touching(frozenset(contacts), facts, tuple(grips), tuple(supports))

    def _pair(self, first: int, second: int) -> _Pair | None:
        """What a contact of two geoms means, in MuJoCo's order; ``None``: nothing."""
        at = self._layout.starts
        objects, fixtures = len(self._objects), len(self._fixtures)
        facts: list[int] = []
        grips: list[tuple[int, int, float]] = []
        supports: list[tuple[int, float]] = []
        for one, other, sign in ((first, second, 1.0), (second, first, -1.0)):
            # The contact normal points from the pair's first geom to its second.
            mine, theirs = self._owners[one], self._owners[other]
            if mine.part == Part.ROBOT and theirs.part == Part.FIXTURE:
                part = theirs.component
                facts.append(
                    at.robot_component + part if part >= 0 else at.robot_fixture + theirs.place
                )
            if theirs.part != Part.OBJECT:
                continue
            if mine.part == Part.ROBOT:
                facts.append(at.robot_object + theirs.place)
                if mine.finger >= 0:
                    place = theirs.place * self._layout.fingers + mine.finger
                    facts.append(at.finger_contacts + place)
                    grips.append((theirs.place, mine.finger, sign))
            elif mine.part == Part.OBJECT and mine.place != theirs.place:
                place = theirs.place * objects + mine.place
                facts.append(at.object_object + place)
                supports.append((at.on_object + place, sign))
            elif mine.part == Part.FIXTURE:
                place = theirs.place * fixtures + mine.place
                facts.append(at.object_fixture + place)
                if mine.moving:
                    facts.append(at.part_contacts + place)
                supports.append((at.on_fixture + place, sign))
        contact = self._contact(first, second)
        if not facts and contact is None:
            return None
        return _Pair(contact, tuple(facts), tuple(grips), tuple(supports))

    def _contact(self, one: int, other: int) -> Contact | None:
        """The considered contact of two geoms: the robot's, or else an object's."""
        a, b = self._owners[one], self._owners[other]
        if b.part == Part.ROBOT or (
            a.part != Part.ROBOT and b.part == Part.OBJECT and a.part != Part.OBJECT
        ):
            one, other, a, b = other, one, b, a
        considered = (Part.OBJECT, Part.FIXTURE)
        if a.part not in (Part.ROBOT, Part.OBJECT) or b.part not in considered:
            return None
        names = self._name(a), self._name(b)
        if names[0] == names[1]:
            return None
        if a.part == b.part == Part.OBJECT and names[0] > names[1]:
            one, other, names = other, one, names[::-1]
        return Contact((self._geom_names[one], self._geom_names[other]), names)

    def _name(self, owner: GeomOwner) -> str:
        if owner.part == Part.ROBOT:
            return ROBOT
        if owner.component >= 0:
            return self._components[owner.component]
        return (self._objects if owner.part == Part.OBJECT else self._fixtures)[owner.place]

    def _read_normals(self, rows: _Touching) -> None:
        facts, opposed = self._facts, self._layout.starts.opposed
        supports = [entry for entry in rows.supports if not facts[entry[0]]]
        grips = [entry for entry in rows.grips if not facts[opposed + entry[0]]]
        if not supports and not grips:
            return
        frames = self._data.contact.frame
        for place, row, sign in supports:
            if sign * frames[row][2] >= self._settings.support_cosine:
                facts[place] = True
        for position, (index, finger, row, sign) in enumerate(grips):
            if facts[opposed + index]:
                continue
            for index2, finger2, row2, sign2 in grips[position + 1 :]:
                if index2 != index or finger2 == finger:
                    continue
                cosine = float(frames[row][:3] @ frames[row2][:3]) * sign * sign2
                if cosine <= self._settings.opposing_cosine:
                    facts[opposed + index] = True
                    break
