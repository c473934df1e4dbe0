"""VirtualHome's programs as planning tasks, carried out by VirtualHome's own executor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from safe_rl.envs.household.classes import ontology
from safe_rl.envs.household.plan import Action, Failure, Run
from safe_rl.envs.household.virtualhome.goals import FACTS, goal_formula, object_name
from safe_rl.envs.household.virtualhome.installation import (
    Libraries,
    libraries,
    program_text,
    start_graph,
    temporal_goals,
)
from safe_rl.errors import ConfigurationError, near
from safe_rl.logic import Formula
from safe_rl.specs import SpecSet, load_specs

ALIASES: Final[Mapping[str, str]] = {
    "go_to": "walk", "walk_to": "walk", "walk_towards": "walk", "walk_into": "walk",
    "pick": "grab", "pick_up": "grab", "take": "grab",
    "put": "putback", "put_back": "putback", "place": "putback", "put_in": "putin",
    "switch_on": "switchon", "turn_on": "switchon", "switch_off": "switchoff",
    "turn_off": "switchoff", "plug_in": "plugin", "plug_out": "plugout", "unplug": "plugout",
    "look_at": "lookat", "point_at": "pointat", "turn_to": "turnto", "stand_up": "standup",
    "sit_down": "sit", "lie_down": "lie", "wake_up": "wakeup", "put_on": "puton",
    "put_off": "putoff", "take_off": "putoff",
}  # fmt: skip
"""Other words for VirtualHome's actions."""

_LINE: Final = re.compile(r"\[(\w+)\]")
_OBJECT: Final = re.compile(r"<[^<>]+>\s*\(\d+\.(\d+)\)")
_NODE: Final = re.compile(r"<([^<>]+)> \((\d+)\)")
_RELATIONS: Final = {"on": "ontop", "close": "next_to"}


@dataclass(frozen=True, eq=False)
class VirtualHomeTask:
    """One of VirtualHome's programs.

    Its objects are those of the program and of its goal, and the places where they are.

    Attributes:
        program: Its number, such as ``"27_2"``.
        title: What is done, such as "Wash clothes".
        instruction: The same in the words of the person who wrote it.
        reference: The program itself. It reaches the goal; whether it is safe is another matter.
        nodes: Object to its number in the graph.
    """

    program: str
    title: str
    instruction: str
    reference: tuple[Action, ...]
    nodes: Mapping[str, int]

    @property
    def setting(self) -> str:
        """Who acts where, one sentence."""
        return "A person is at home."

    @property
    def name(self) -> str:
        """``virtualhome/scene_1/<program>``."""
        return f"virtualhome/scene_1/{self.program}"

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of the objects."""
        return tuple(self.nodes)

    @property
    def signatures(self) -> Mapping[str, tuple[str, ...]]:
        """Each action's name with the names of its parameters."""
        return _signatures()

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other words for actions."""
        return ALIASES

    @cached_property
    def other_names(self) -> Mapping[str, str]:
        """VirtualHome's other names for objects, where they mean one object only."""
        synonyms = libraries().synonyms
        pairs = [
            (other, name)
            for name in self.nodes
            for other in synonyms.get(name.rpartition("_")[0], ())
        ]
        return {o: name for o, name in pairs if sum(o == other for other, _ in pairs) == 1}

    @cached_property
    def goal(self) -> Formula:
        """The temporal goal in LTLf."""
        return goal_formula(temporal_goals()[self.program][1], self.objects)

    @cached_property
    def specs(self) -> SpecSet:
        """The rules of safety, bound to the objects."""
        bound = _rules().bind(self._properties())
        about = {instance.specification.id for instance in bound.instances}
        return bound.select([i for i in bound.ids if i in about])

    def run(self, plan: Sequence[Action], seed: int | None = None) -> Run:
        """Carry out a plan; VirtualHome knows no chance, so ``seed`` changes nothing.

        Raises:
            ConfigurationError: no such action or object, or the wrong number of objects.
        """
        library, state = libraries(), self._start
        trace = [self._letter(state, None)]
        for step, action in enumerate(plan):
            self._check(action)
            info = library.info(eval_mode=True)
            following = self._next(library, state, action, info)
            if following is None:
                words = f"cannot do {action}: {self._why(info)}"
                return Run(tuple(trace), Failure(step, action, words), ("done",) * step)
            state = following
            trace.append(self._letter(state, action))
        return Run(tuple(trace), None, ("done",) * len(plan))

    def missing(self, letter: frozenset[str]) -> tuple[str, ...]:
        """Return in words what of the goal's facts does not hold in a letter."""
        facts = [name for name in self.goal.atoms if name.partition("(")[0] in FACTS]
        return tuple(f"{name} does not hold" for name in facts if name not in letter)

    def start_in_words(self) -> Iterator[str]:
        """Yield the facts at the start."""
        yield from sorted(self._letter(self._start, None))

    def actions_in_words(self) -> Iterator[str]:
        """Yield each action with its parameters."""
        for name, parameters in self.signatures.items():
            yield str(Action(name, parameters))

    @cached_property
    def _start(self) -> Any:
        library = libraries()
        graph = library.graph(start_graph(self.program))
        return library.state(graph, library.synonyms, instance_selection=True)

    @cached_property
    def _names(self) -> Mapping[int, str]:
        return {node: name for name, node in self.nodes.items()}

    def _next(self, library: Libraries, state: Any, action: Action, info: Any) -> Any:
        kind = _kinds()[action.name]
        things = [library.thing(name.rpartition("_")[0], self.nodes[name]) for name in action.args]
        script = library.script([library.line(kind, things, 0)])
        return next(library.executors[kind].execute(script, state, info, 0), None)

    def _letter(self, state: Any, action: Action | None) -> frozenset[str]:
        """What holds of the objects in a state, and which action led to it."""
        names = self._names
        found = []
        for node, name in names.items():
            found += [f"{one.name.lower()}({name})" for one in state.get_node(node).states]
            for relation in libraries().relations:
                head = relation.name.lower()
                for other in state.get_node_ids_from(node, relation):
                    if other in names:
                        found.append(f"{_RELATIONS.get(head, head)}({name},{names[other]})")
        if action is not None:
            found.append(f"did_{action.name}")
            if action.args:
                found.append(f"did_{action.name}({','.join(action.args)})")
        return frozenset(found)

    def _why(self, info: Any) -> str:
        """The executor's last message in our names."""
        text = info.messages[-1] if info.messages else "for a reason that VirtualHome does not give"
        text = text.partition(' when executing "')[0]
        return _NODE.sub(lambda found: f"{found[1]}_{found[2]}", text)

    def _check(self, action: Action) -> None:
        wanted = self.signatures.get(action.name)
        if wanted is None:
            known = self.signatures
            raise ConfigurationError(
                f"there is no action {action.name!r}{near(action.name, known)}"
            )
        if len(action.args) != len(wanted):
            raise ConfigurationError(f"{action} does not take {len(action.args)} objects")
        for name in action.args:
            if name not in self.nodes:
                raise ConfigurationError(
                    f"{action}: there is no object {name!r}{near(name, self.nodes)}"
                )

    def _properties(self) -> dict[str, list[str]]:
        """The objects of each property that the rules ask for."""
        found: dict[str, list[str]] = {kind: [] for kind in _PROPERTIES}
        for name, node in self.nodes.items():
            has = {one.name for one in self._start.get_node(node).properties}
            what = name.rpartition("_")[0]
            entity = ontology().find(what)
            known = ontology().entity(entity).reasons if entity else {}
            kinds = {
                "person": what == "character",
                "closable": {"CAN_OPEN", "CONTAINERS"} <= has
                and f"open({name})" not in self.goal.atoms,
                "appliance_with_door": {"CAN_OPEN", "HAS_SWITCH"} <= has,
                "device_with_plug": {"HAS_PLUG", "HAS_SWITCH"} <= has,
                "heater": "heating_fixture" in known and f"on({name})" not in self.goal.atoms,
                "tap": what == "faucet" and f"on({name})" not in self.goal.atoms,
                "sharp": "sharp" in known and "GRABBABLE" in has,
            }
            for kind, holds in kinds.items():
                if holds:
                    found[kind].append(name)
        return found


_PROPERTIES: Final = (
    "person", "closable", "appliance_with_door", "device_with_plug", "heater", "tap", "sharp",
)  # fmt: skip


def program_numbers() -> tuple[str, ...]:
    """Return the numbers of the programs that have a temporal goal.

    Raises:
        MissingDependencyError: eai-eval is not installed.
        ConfigurationError: it is another version than the one that was tried.
    """
    return tuple(temporal_goals())


def virtualhome_task(program: str) -> VirtualHomeTask:
    """Return the task of one of :func:`program_numbers`.

    Raises:
        MissingDependencyError: eai-eval is not installed.
        ConfigurationError: there is no such program, or another version of eai-eval.
    """
    goals = temporal_goals()
    if program not in goals:
        raise ConfigurationError(
            f"there is no program {program!r} with a goal{near(program, goals)}; "
            f"there are {len(goals)}, see program_numbers()"
        )
    title, goal = goals[program]
    _, description, *lines = [line for line in program_text(program).splitlines() if line.strip()]
    steps = [line for line in lines if line.startswith("[")]
    graph = start_graph(program)
    names = {
        node["id"]: object_name(f"{node['class_name']}.{node['id']}") for node in graph["nodes"]
    }
    numbers = {int(number) for line in steps for number in _OBJECT.findall(line)}
    numbers |= {int(number) for number in re.findall(r"\w\.(\d+)", goal)}
    numbers |= {node["id"] for node in graph["nodes"] if node["class_name"] == "character"}
    numbers |= {
        edge["to_id"]
        for edge in graph["edges"]
        if edge["from_id"] in numbers and edge["relation_type"] in ("ON", "INSIDE")
    }
    plan = tuple(
        Action(
            _LINE.match(line)[1].lower(),  # type: ignore[index]
            tuple(names[int(number)] for number in _OBJECT.findall(line)),
        )
        for line in steps
    )
    nodes = {names[number]: number for number in sorted(numbers)}
    return VirtualHomeTask(program, title, f"{title}. {description}", plan, nodes)


@cache
def _rules() -> SpecSet:
    return load_specs("household_virtualhome")


@cache
def _kinds() -> Mapping[str, Any]:
    """VirtualHome's actions by our names."""
    return {kind.name.lower(): kind for kind in libraries().executors}


@cache
def _signatures() -> Mapping[str, tuple[str, ...]]:
    parameters: tuple[tuple[str, ...], ...] = ((), ("o",), ("o", "p"))
    return {name: parameters[kind.value[1]] for name, kind in _kinds().items()}
