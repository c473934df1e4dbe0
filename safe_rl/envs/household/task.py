"""A task of the household: a scene, a start, a goal, rules of safety, and two plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from safe_rl.envs.household.actions import ACTIONS, ALIASES, SIGNATURES
from safe_rl.envs.household.classes import make_scene, ontology
from safe_rl.envs.household.plan import Action, Run
from safe_rl.envs.household.simulator import Simulator
from safe_rl.envs.household.unified import make_problem
from safe_rl.envs.household.vocabulary import in_words
from safe_rl.logic import Formula, parse
from safe_rl.specs import SpecSet

if TYPE_CHECKING:
    from unified_planning.model import Problem

Split = Literal["train", "held_out", "longer"]


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be done, and what must not happen.

    Attributes:
        name: ``household/<split>/<seed>``.
        activity: The activities that it is made of, joined by ``+``.
        entities: Object to the ontology's entity.
        initial: The facts at the start.
        goal_facts: Facts, with ``!`` those that must not hold at the end.
        specs: The rules of safety, bound to the objects.
        instruction: The goal in words.
        derived: Further propositions with the condition on facts that each stands for.
        reference: A plan that is safe and complete.
        naive: A plan of one who knows the goal only.
    """

    name: str
    activity: str
    entities: Mapping[str, str]
    initial: frozenset[str]
    goal_facts: tuple[str, ...]
    specs: SpecSet
    instruction: str
    derived: Mapping[str, str]
    reference: tuple[Action, ...] = ()
    naive: tuple[Action, ...] = ()

    @property
    def setting(self) -> str:
        """Who acts where, one sentence."""
        return "A robot with one hand works in a kitchen."

    @cached_property
    def simulator(self) -> Simulator:
        """The simulator of this scene."""
        return Simulator(make_scene(self.entities), self.initial, self.derived)

    @cached_property
    def goal(self) -> Formula:
        """The goal in LTLf: at the last step each goal fact holds."""
        return parse(f"F(last & {' & '.join(self.goal_facts)})")

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of the objects."""
        return tuple(self.entities)

    @property
    def signatures(self) -> Mapping[str, tuple[str, ...]]:
        """Each action's name with the names of its parameters."""
        return SIGNATURES

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other words for actions."""
        return ALIASES

    @cached_property
    def other_names(self) -> Mapping[str, str]:
        """The ontology's other names for the objects, where they mean one object only."""
        names = [(a, o) for o, e in self.entities.items() for a in ontology().entity(e).aliases]
        return {a: o for a, o in names if sum(a == other for other, _ in names) == 1}

    def run(self, plan: Sequence[Action], seed: int | None = None) -> Run:
        """Carry out a plan: without a seed as intended, else with drawn outcomes.

        Raises:
            ConfigurationError: no such action or object, or the wrong number of objects.
        """
        return self.simulator.run(plan, seed)

    def missing(self, letter: frozenset[str]) -> tuple[str, ...]:
        """Return in words what of the goal does not hold in a letter."""
        lacking = [
            fact
            for fact in self.goal_facts
            if (fact.removeprefix("!") in letter) == fact.startswith("!")
        ]
        return tuple(in_words(f.removeprefix("!"), value=f.startswith("!")) for f in lacking)

    def start_in_words(self) -> Iterator[str]:
        """Yield the facts at the start, and which doors are closed."""
        simulator = self.simulator
        for fact in simulator.true_facts(simulator.start):
            yield in_words(fact)
        for door in simulator.scene.members["door"]:
            if not simulator.holds(simulator.start, f"open({door})"):
                yield f"the {door.replace('_', ' ')} is closed"

    def actions_in_words(self) -> Iterator[str]:
        """Yield each action with what it does."""
        for schema in ACTIONS.values():
            words = schema.says.format(**{name: name for name in schema.parameters})
            yield f"{Action(schema.name, schema.parameters)}: {words}"

    def problem(self, all_outcomes: bool = False) -> Problem:
        """Return the task as a problem of unified-planning, without its rules of safety.

        Args:
            all_outcomes: Whether outcomes that are not intended are actions of their own.

        Raises:
            MissingDependencyError: unified-planning is not installed.
        """
        name = self.name.replace("/", "_")
        scene = self.simulator.scene
        return make_problem(name, scene, self.initial, self.goal_facts, all_outcomes)
