"""Who is who in a RoboCasa kitchen, and what the task lets touch what.

Objects, fixtures and roles are RoboCasa's own (``objects``, ``fixtures``, ``get_ep_meta``). What an
object is (food, fragile, a receptacle) the ontology says of its category.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from safe_rl.envs.libero.roles import OBJECT_PROPERTIES, Furniture
from safe_rl.envs.robocasa.fixtures import furniture, is_movable, kind_of, surrounding_geoms
from safe_rl.envs.robocasa.kitchen import Kitchen, KitchenModel
from safe_rl.envs.robocasa.model_tree import ModelTree
from safe_rl.envs.robosuite.tasks import Task, scene_roles
from safe_rl.errors import ConfigurationError, GroundingError, OntologyError
from safe_rl.grounding import AllowedContacts
from safe_rl.grounding.mujoco import MujocoComponent, MujocoFixture, MujocoObject, MujocoRoles
from safe_rl.grounding.ontology import Ontology

SURROUNDINGS = "surroundings"
"""The one fixture that walls, floor, windows and the like are to the grounding."""


@dataclass(frozen=True)
class KitchenScene:
    """A kitchen's scene.

    Attributes:
        task: the part that is common to all robosuite environments: observation, horizon, roles.
        roles: for the grounding.
        models: object to its model, for the observation.
        parts: RoboCasa's fixture to the fixtures of the grounding that it is made of.
    """

    task: Task
    roles: MujocoRoles
    models: Mapping[str, KitchenModel]
    parts: Mapping[str, tuple[str, ...]]


def read_scene(
    kitchen: Kitchen, name: str, ontology: Ontology, allowed: AllowedContacts | None
) -> KitchenScene:
    """The scene of a kitchen that has been drawn.

    Args:
        kitchen: the kitchen.
        name: of the task.
        ontology: knows the objects' categories.
        allowed: what may touch what; default: what the task refers to, see ``task_contacts``.

    Raises:
        GroundingError: for a fixture of a class that is not known here.
        OntologyError: for a category that the ontology does not know.
        ConfigurationError: for a robot that is no Panda.
    """
    tree = ModelTree(kitchen.sim.model._model, kitchen.sim.data._data)
    movable = {n: f for n, f in kitchen.fixtures.items() if is_movable(tree, f)}
    standing = {n: f for n, f in kitchen.fixtures.items() if n not in movable}
    pieces = {n: furniture(tree, fixture) for n, fixture in standing.items()}
    fixtures: dict[str, MujocoFixture] = {}
    components: dict[str, MujocoComponent] = {}
    for piece in pieces.values():
        fixtures.update(piece.fixtures)
        components.update(piece.components)
    around = surrounding_geoms(tree, standing.values())
    if around:
        fixtures[SURROUNDINGS] = MujocoFixture(SURROUNDINGS, geoms=around, top=False)
    meta = kitchen.get_ep_meta()
    models: dict[str, KitchenModel] = {**kitchen.objects, **movable}
    categories = _categories(kitchen, meta) | {n: _category(ontology, n) for n in movable}
    referred = {n: pieces[n] for n in meta["fixture_refs"].values() if n in pieces}
    task = Task(
        name=name,
        objects=tuple(models),
        allowed=allowed or task_contacts(tuple(kitchen.objects), referred),
        horizon=kitchen.horizon,
        goal=str(meta.get("lang") or name),
        fixtures=fixtures,
        components=components,
        joints=_observed_joints(kitchen, tree, referred),
    )
    return KitchenScene(
        task,
        replace(
            scene_roles(replace(task, objects=()), kitchen),
            robot=_first_link(kitchen, tree),
            base=(kitchen.robots[0].robot_model.root_body,),
            base_bodies=(),
            objects={
                n: MujocoObject(model.root_body, _properties(ontology, n, categories[n]))
                for n, model in models.items()
            },
        ),
        models,
        {n: tuple(piece.fixtures) for n, piece in pieces.items()},
    )


def task_contacts(objects: tuple[str, ...], referred: Mapping[str, Furniture]) -> AllowedContacts:
    """What a task lets touch what, from the objects and fixtures that it refers to.

    The robot may touch each object but the distractors (RoboCasa names them ``distr...``), and each
    fixture that the task refers to if there is something to open, press or turn. What it holds may
    touch the fixtures that the task refers to, and the other objects but the distractors.

    Args:
        objects: RoboCasa's names of the objects.
        referred: the fixtures that the task refers to, with their parts.

    >>> task_contacts(("mug", "distr_counter_1"), {}).manipulated
    frozenset({'mug'})
    """
    handled = frozenset(name for name in objects if not name.startswith("distr"))
    acted_on = {n for piece in referred.values() if piece.components for n in piece.fixtures}
    places = {n for piece in referred.values() for n in piece.fixtures}
    return AllowedContacts(
        handled | acted_on,
        {name: frozenset((handled | places) - {name}) for name in handled},
    )


def _categories(kitchen: Kitchen, meta: Mapping[str, Any]) -> dict[str, str]:
    """Object to RoboCasa's category of it."""
    told = {cfg["name"]: cfg.get("info", {}).get("cat") for cfg in meta["object_cfgs"]}
    for name in kitchen.objects:
        if not told.get(name):
            raise GroundingError(
                f"RoboCasa's object_cfgs give no category of the object {name!r} (info, cat), so "
                "it is not known what it is"
            )
    return {name: str(told[name]) for name in kitchen.objects}


def _category(ontology: Ontology, fixture: str) -> str:
    """What a movable fixture is: the longest beginning of its name that the ontology knows."""
    words = fixture.split("_")
    for count in range(len(words), 0, -1):
        category = "_".join(words[:count])
        if ontology.find(category) is not None:
            return category
    return fixture


def _properties(ontology: Ontology, name: str, category: str) -> dict[str, bool]:
    try:
        return {what: ontology.has(category, words) for what, words in OBJECT_PROPERTIES.items()}
    except OntologyError as error:
        raise OntologyError(f"RoboCasa's object {name!r}: {error}") from error


def _first_link(kitchen: Kitchen, tree: ModelTree) -> str:
    """The body from which on the robot is arm and hand: whatever carries it is its base."""
    model = kitchen.robots[0].robot_model
    link = f"{model.naming_prefix}link1"
    if not model.joints or len(model.joints) != 7 or tree.body_of_joint(model.joints[0]) != link:
        raise ConfigurationError(
            f"the grounding knows a Panda, on any base (PandaOmron); the kitchen has a "
            f"{type(model).__name__}"
        )
    return link


def _observed_joints(
    kitchen: Kitchen, tree: ModelTree, referred: Mapping[str, Furniture]
) -> dict[str, str]:
    """The robot's base, and the fixtures that the task refers to."""
    robot = kitchen.robots[0]
    own = {*robot.robot_model.joints, *robot.gripper["right"].joints}
    base = [j for j in tree.joints_below(robot.robot_model.root_body) if j not in own]
    named = [j for n in referred for j in tree.joints_below(kitchen.fixtures[n].root_body)]
    return {joint: joint for joint in (*base, *named)}


def dispensers(kitchen: Kitchen) -> dict[str, str]:
    """The fixtures that water or coffee can come out of, and the kind of each."""
    kinds = {name: kind_of(fixture) for name, fixture in kitchen.fixtures.items()}
    return {name: kind for name, kind in kinds.items() if kind in ("sink", "coffee_machine")}
