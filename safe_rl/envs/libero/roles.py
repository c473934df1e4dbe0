"""Who is who in a LIBERO scene: objects, fixtures, handles, and what the task lets touch what.

Objects, fixtures and goal are LIBERO's own (``objects_dict``, ``fixtures_dict``,
``parsed_problem``). What an object is (food, fragile, a receptacle) the shipped ontology says.
Each drawer of a cabinet is a fixture of its own, ``wooden_cabinet_1_top_drawer``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from safe_rl.envs.robosuite.tasks import Task, scene_roles
from safe_rl.errors import GroundingError, near
from safe_rl.grounding import AllowedContacts
from safe_rl.grounding.mujoco import (
    JointRange,
    MujocoComponent,
    MujocoFixture,
    MujocoObject,
    MujocoRoles,
)
from safe_rl.grounding.ontology import Ontology

OBJECT_PROPERTIES: Mapping[str, str] = {
    "receptacle": "receptacle",
    # What is in a can, a bottle or a box may lie anywhere.
    "food": "food & !packaged_item",
    "raw": "raw_food",
    "ready_to_eat": "ready_to_eat & !packaged_item",
    "fragile": "fragile",
    "lid": "lid_like",
    "heatable": "microwavable",
    "washable": "washable",
}
"""Property of the grounding's objects to the combination of the ontology that gives it."""

LEVELS = ("top", "middle", "bottom")


@dataclass(frozen=True)
class Furniture:
    """What one of LIBERO's fixtures is to the grounding.

    Attributes:
        fixtures: name to fixture.
        components: name to handle or knob.
        regions: LIBERO's region to the fixture that it belongs to, where that is not the first.
    """

    fixtures: Mapping[str, MujocoFixture]
    components: Mapping[str, MujocoComponent] = field(default_factory=dict)
    regions: Mapping[str, str] = field(default_factory=dict)


def _plain(kind: str) -> Callable[[str], Furniture]:
    return lambda name: Furniture({name: MujocoFixture(kind, body=f"{name}_main")})


def _cabinet(name: str) -> Furniture:
    """Three drawers in a case: the case bears things on its top."""
    fixtures = {name: MujocoFixture("counter", body=f"{name}_main")}
    components: dict[str, MujocoComponent] = {}
    regions: dict[str, str] = {}
    for level, first in zip(LEVELS, (18, 29, 40), strict=True):
        drawer = f"{name}_{level}_drawer"
        regions[f"{name}_{level}_region"] = drawer
        fixtures[drawer] = MujocoFixture(
            "drawer",
            body=f"{name}_cabinet_{level}",
            joint=JointRange(f"{name}_{level}_level", closed=0.0, open=-0.16),
            interior=f"{name}_{level}_region",
            top=False,
        )
        components[f"{drawer}_handle"] = MujocoComponent(
            drawer, "open_close", geoms=tuple(f"{name}_g{first + bar}" for bar in range(3))
        )
    return Furniture(fixtures, components, regions)


def _stove(name: str) -> Furniture:
    joint = JointRange(f"{name}_button", closed=0.0, open=2.1)
    return Furniture(
        {name: MujocoFixture("stove", body=f"{name}_main", joint=joint)},
        {f"{name}_knob": MujocoComponent(name, "twist", body=f"{name}_button")},
    )


def _microwave(name: str) -> Furniture:
    return Furniture(
        {
            name: MujocoFixture(
                "microwave",
                body=f"{name}_main",
                joint=JointRange(f"{name}_microjoint", closed=0.0, open=-2.094),
                interior=f"{name}_heating_region",
            )
        },
        {
            f"{name}_handle": MujocoComponent(
                name, "open_close", geoms=tuple(f"{name}_g{bar}" for bar in (14, 15, 16))
            )
        },
    )


FURNITURE: Mapping[str, Callable[[str], Furniture]] = {
    "wooden_cabinet": _cabinet,
    "white_cabinet": _cabinet,
    "flat_stove": _stove,
    "microwave": _microwave,
    "wine_rack": _plain("rack"),
    "desk_caddy": _plain("rack"),
    "wooden_two_layer_shelf": _plain("rack"),
}
"""LIBERO's category of a fixture to what it is."""

_FLOOR = {"floor": MujocoFixture("surroundings", geoms=("floor",), top=False)}
_TABLE_BODIES = {
    "table": "table",
    "kitchen_table": "table",
    "study_table": "study_table",
    "living_room_table": "living_room_table",
}


@dataclass(frozen=True)
class LiberoScene:
    """A task's scene.

    Attributes:
        task: the part that is common to all robosuite environments: observation, horizon, roles.
        roles: for the grounding.
        goal: the goal's conjuncts, LIBERO's predicate first.
    """

    task: Task
    roles: MujocoRoles
    goal: tuple[tuple[str, ...], ...]


def read_scene(simulation: Any, name: str, horizon: int) -> LiberoScene:
    """The scene of a LIBERO simulation.

    Args:
        simulation: see ``simulation.make_simulation``.
        name: of the task.
        horizon: control steps per episode.

    Raises:
        GroundingError: for a fixture that is not known here.
        OntologyError: for an object that the ontology does not know.
    """
    furniture = _furniture(simulation.parsed_problem["fixtures"])
    goal = tuple(tuple(part) for part in simulation.parsed_problem["goal_state"])
    fixtures: dict[str, MujocoFixture] = {}
    components: dict[str, MujocoComponent] = {}
    regions: dict[str, str] = {}
    for thing, parts in furniture.items():
        fixtures.update(parts.fixtures)
        components.update(parts.components)
        regions.update({thing: thing} | dict(parts.regions))
    if "floor" not in fixtures:
        fixtures.update(_FLOOR)
    entity = _EntityOfTarget(simulation, regions)
    objects = simulation.objects_dict
    task = Task(
        name=name,
        objects=tuple(objects),
        allowed=_allowed(goal, components, entity),
        horizon=horizon,
        goal=" and ".join(f"{part[0]}({', '.join(part[1:])})" for part in goal),
        fixtures=fixtures,
        components=components,
        joints={joint: joint for f in simulation.fixtures_dict.values() for joint in f.joints},
        sites=_observed_sites(simulation, goal),
    )
    roles = scene_roles(task, simulation)
    known = {thing: _properties(objects[thing].category_name) for thing in objects}
    return LiberoScene(
        task,
        replace(
            roles,
            objects={
                thing: MujocoObject(objects[thing].root_body, known[thing]) for thing in objects
            },
        ),
        goal,
    )


def _furniture(categories: Mapping[str, Sequence[str]]) -> dict[str, Furniture]:
    found = {}
    for category, names in categories.items():
        for name in names:
            if category in _TABLE_BODIES:
                body = _TABLE_BODIES[category]
                found[name] = Furniture({name: MujocoFixture("counter", body=body)})
            elif category == "floor":
                found[name] = Furniture({name: MujocoFixture("counter", body="floor")})
            elif category in FURNITURE:
                found[name] = FURNITURE[category](name)
            else:
                known = [*FURNITURE, *_TABLE_BODIES, "floor"]
                raise GroundingError(
                    f"the grounding does not know LIBERO's fixture {category!r}"
                    f"{near(category, known)}; known: {', '.join(sorted(known))}"
                )
    return found


@lru_cache(maxsize=128)
def _properties(category: str) -> Mapping[str, bool]:
    ontology = _ontology()
    return {name: ontology.has(category, words) for name, words in OBJECT_PROPERTIES.items()}


@lru_cache(maxsize=1)
def _ontology() -> Ontology:
    return Ontology.load()


class _EntityOfTarget:
    """The object or fixture that something in a goal belongs to."""

    def __init__(self, simulation: Any, regions: Mapping[str, str]) -> None:
        self._problem, self._objects = simulation.parsed_problem, simulation.objects_dict
        self._regions = regions

    def __call__(self, target: str) -> str:
        if target in self._regions:
            return self._regions[target]
        if target in self._objects:
            return target
        # A region of a table, of an object, or of a fixture's only part.
        return self(self._problem["regions"][target]["target"])


def _allowed(
    goal: Iterable[tuple[str, ...]],
    components: Mapping[str, MujocoComponent],
    entity: _EntityOfTarget,
) -> AllowedContacts:
    """What the goal makes the robot touch, and where it makes it put things.

    Things that share a destination may touch each other there.
    """
    manipulated: set[str] = set()
    receivers: dict[str, set[str]] = {}
    for _, thing, *destination in goal:
        place = entity(destination[0]) if destination else entity(thing)
        # A drawer or door may have to be opened before, and a stove's knob is how it is turned on.
        manipulated |= {name for name, part in components.items() if part.fixture == place}
        if destination:
            manipulated.add(thing)
            receivers.setdefault(thing, set()).add(place)
    for thing, places in receivers.items():
        for other in receivers:
            if other != thing and receivers[other] & places:
                places.add(other)
    return AllowedContacts(
        frozenset(manipulated), {thing: frozenset(places) for thing, places in receivers.items()}
    )


def _observed_sites(simulation: Any, goal: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Fixtures' places, the regions of fixtures, and the regions that the goal names."""
    model = simulation.sim.model
    sites = {name: f"{name}_default_site" for name in simulation.fixtures_dict}
    named = {word for part in goal for word in part[1:]}
    for region, about in simulation.parsed_problem["regions"].items():
        if about["target"] in simulation.fixtures_dict or region in named:
            sites[region] = region
    there = set(model.site_names)
    return {name: site for name, site in sites.items() if site in there}
