"""The household as a problem of unified-planning, for its planners, its simulator and PDDL.

It is made from the same table of actions as the simulator (:mod:`safe_rl.envs.household.actions`).
unified-planning has no chance, so each outcome of an action is an action of its own there: the
intended one under the action's name, another as ``pick__slips``. The problem that
:func:`make_problem` gives by default has the intended outcomes only. Quantifiers are written out
over the scene's objects, because many engines take none.

This is the one place that imports unified-planning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.classes import CLASSES, Scene
from safe_rl.envs.household.schema import Branch, Need, Schema, Variables
from safe_rl.envs.household.vocabulary import EVENTS, FACTS
from safe_rl.errors import MissingDependencyError
from safe_rl.logic import Formula, Op, parse
from safe_rl.specs.binding import arguments

if TYPE_CHECKING:
    from unified_planning.model import Problem

try:
    from unified_planning import shortcuts as up
except ImportError:
    up = None

_RELATIONS = ("goes_onto", "goes_inside")


def make_problem(
    name: str,
    scene: Scene,
    initial: Iterable[str],
    goal: Iterable[str],
    all_outcomes: bool = False,
) -> Problem:
    """Return a scene and a goal as a problem of unified-planning.

    Args:
        name: The problem's name.
        scene: The objects.
        initial: The facts at the start.
        goal: Facts, with ``!`` those that must not hold.
        all_outcomes: Whether outcomes that are not intended are actions too.

    Raises:
        MissingDependencyError: unified-planning is not installed.
    """
    if up is None:
        raise MissingDependencyError("unified-planning", "planning", "a problem in its terms")
    return _Model(scene).problem(name, initial, goal, all_outcomes)


def fluent_name(fact: str) -> str:
    """Return the name of a fact's fluent; ``open`` is an action too, so the fact is ``is_open``."""
    return f"is_{fact}" if fact in ACTIONS else fact


class _Model:
    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.thing = up.UserType("thing")
        self.objects = {entity: up.Object(entity, self.thing) for entity in scene.entities}
        arities = {
            **{fact: len(predicate.over) for fact, predicate in FACTS.items()},
            **dict.fromkeys(_RELATIONS, 2),
        }
        self.fluents = {
            head: self.fluent(fluent_name(head), arity) for head, arity in arities.items()
        }
        self.classes = {kind: self.fluent(f"class_{kind}", 1) for kind in CLASSES}

    def fluent(self, name: str, arity: int) -> Any:
        return up.Fluent(name, up.BoolType(), **{f"x{i}": self.thing for i in range(arity)})

    def problem(
        self, name: str, initial: Iterable[str], goal: Iterable[str], all_outcomes: bool
    ) -> Problem:
        problem = up.Problem(name)
        for fluent in (*self.fluents.values(), *self.classes.values()):
            problem.add_fluent(fluent, default_initial_value=False)
        problem.add_objects(self.objects.values())
        for kind, fluent in self.classes.items():
            for member in self.scene.members[kind]:
                problem.set_initial_value(fluent(self.objects[member]), True)
        for relation in _RELATIONS:
            for pair in self.scene.pairs(relation):
                things = (self.objects[thing] for thing in pair)
                problem.set_initial_value(self.fluents[relation](*things), True)
        for fact in initial:
            problem.set_initial_value(self.atom(fact, self.objects), True)
        for schema in ACTIONS.values():
            for branch in schema.branches if all_outcomes else schema.branches[:1]:
                problem.add_action(self.action(schema, branch))
        for literal in goal:
            problem.add_goal(self.expression(parse(literal), self.objects))
        return problem

    def action(self, schema: Schema, branch: Branch) -> Any:
        intended = branch is schema.branches[0]
        name = schema.name if intended else f"{schema.name}__{branch.name.replace(' ', '_')}"
        action = up.InstantaneousAction(name, **dict.fromkeys(schema.parameters, self.thing))
        bound = {**self.objects, **{p: action.parameter(p) for p in schema.parameters}}
        for need in schema.needs:
            action.add_precondition(self.need(need, bound))
        if not intended:
            action.add_precondition(self.some(branch.when, branch.exists, bound))
        for effect in (*schema.effects, *branch.effects):
            for choice in self.choices(effect.forall, bound):
                condition = self.expression(parse(effect.when), choice)
                for change in effect.changes:
                    atom = change.removeprefix("!")
                    if atom.partition("(")[0] not in EVENTS:
                        value = not change.startswith("!")
                        action.add_effect(self.atom(atom, choice), value, condition)
        return action

    def need(self, need: Need, bound: Mapping[str, Any]) -> Any:
        if need.exists:
            condition = self.some(need.formula, need.exists, bound)
        else:
            parts = [
                self.expression(parse(need.formula), choice)
                for choice in self.choices(need.forall, bound)
            ]
            condition = up.And(*parts) if parts else up.TRUE()
        if need.unless == "false":
            return condition
        return up.Or(self.expression(parse(need.unless), bound), condition)

    def some(self, text: str, variables: Variables, bound: Mapping[str, Any]) -> Any:
        parts = [self.expression(parse(text), choice) for choice in self.choices(variables, bound)]
        return up.Or(*parts) if parts else up.FALSE()

    def choices(
        self, variables: Variables, bound: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        """What the names stand for, for each choice of the variables."""
        for chosen in product(*(self.scene.members[kind] for kind in variables.values())):
            yield {**bound, **{v: self.objects[o] for v, o in zip(variables, chosen, strict=True)}}

    def expression(self, formula: Formula, bound: Mapping[str, Any]) -> Any:
        parts = [self.expression(part, bound) for part in formula.args]
        match formula.op:
            case Op.TRUE:
                return up.TRUE()
            case Op.FALSE:
                return up.FALSE()
            case Op.NOT:
                return up.Not(*parts)
            case Op.AND:
                return up.And(*parts)
            case Op.OR:
                return up.Or(*parts)
            case Op.IMPLIES:
                return up.Implies(*parts)
        return self.atom(formula.name, bound)

    def atom(self, text: str, bound: Mapping[str, Any]) -> Any:
        head = text.partition("(")[0]
        args = [bound[argument] for argument in arguments(text)]
        if head == "same":
            return up.Equals(*args)
        return (self.fluents.get(head) or self.classes[head])(*args)
