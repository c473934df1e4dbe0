"""The commonsense rules, and the properties that follow from them.

A rule is a Horn clause with negation: what has every property under ``if`` and none under
``unless`` has those under ``then``. The rules are stratified (Apt, Blair and Walker, 1988): a
property under ``unless`` is settled before the rule is tried, and a rule whose ``unless`` depends
on its own ``then`` is refused. So there is one least fixed point, whatever the order of the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from safe_rl.errors import OntologyError, near
from safe_rl.grounding.ontology.trees import Trees


@dataclass(frozen=True)
class Rule:
    """A commonsense rule.

    Attributes:
        name: Distinct among the rules.
        when: Properties that are all needed (``if`` in YAML).
        unless: Properties none of which may hold.
        then: Properties that follow.
        says: The rule in words; may be empty.
        place: ``file:line``.
    """

    name: str
    when: tuple[str, ...]
    unless: tuple[str, ...]
    then: tuple[str, ...]
    says: str = ""
    place: str = ""

    @property
    def condition(self) -> str:
        """What the rule asks for, such as ``meat unless cured_meat or prepared_food``."""
        unless = f" unless {' or '.join(self.unless)}" if self.unless else ""
        return " & ".join(self.when) + unless

    def __str__(self) -> str:
        return f"{self.condition} -> {', '.join(self.then)}"


@dataclass(frozen=True)
class Reason:
    """Why something has a property.

    Attributes:
        path: The nodes from the one that it was given up to the property.
        rule: The rule that gave the first of them, or ``None`` where it is attached.
    """

    path: tuple[str, ...]
    rule: Rule | None = None

    def __str__(self) -> str:
        """Write it as ``rule dairy_spoils (dairy -> perishable)`` or ``poultry > meat > food``."""
        path = " > ".join(self.path)
        if self.rule is None:
            return path
        text = f"rule {self.rule.name} ({self.rule})"
        return text if len(self.path) == 1 else f"{text}, {path}"


Strata = tuple[tuple[Rule, ...], ...]
"""Rules by stratum; those of one may be tried in any order."""


def stratify(rules: Iterable[Rule], trees: Trees) -> Strata:
    """Check the rules and sort them into strata.

    Raises:
        OntologyError: a name given twice, an unknown property, or an ``unless`` that depends on
            what the rule gives.
    """
    rules = tuple(rules)
    ordered = sorted(rules, key=lambda rule: rule.name)
    _check_names(ordered, trees)
    follows: dict[str, set[str]] = {name: set(trees.upward(name)[1:2]) for name in trees}
    for rule in ordered:
        for name in (*rule.when, *rule.unless):
            follows[name].update(rule.then)
    for rule in reversed(rules):  # of a circle's rules the newest is to blame
        _refuse_circle(rule, follows)
    level = dict.fromkeys(trees, 0)

    def stratum(rule: Rule) -> int:
        return max([level[n] for n in rule.when] + [level[n] + 1 for n in rule.unless])

    settled = False
    while not settled:  # ends: there is no circle through an "unless"
        settled = True
        for rule in ordered:
            for name in (above for head in rule.then for above in trees.upward(head)):
                if level[name] < stratum(rule):
                    level[name], settled = stratum(rule), False
        for name in trees:
            for above in trees.upward(name)[1:]:
                if level[above] < level[name]:
                    level[above], settled = level[name], False
    depth = 1 + max((stratum(rule) for rule in ordered), default=-1)
    return tuple(tuple(rule for rule in ordered if stratum(rule) == i) for i in range(depth))


def close(attached: Iterable[str], strata: Strata, trees: Trees) -> dict[str, Reason]:
    """Return every property that follows from some nodes, each with its reason.

    Of several reasons the first is kept: attached nodes come before rules, a rule that can be used
    early before one that needs what others give, then the order is that of the names.
    """
    held: dict[str, Reason] = {}

    def give(name: str, rule: Rule | None) -> None:
        path = trees.upward(name)
        for position, node in enumerate(path):
            held.setdefault(node, Reason(path[: position + 1], rule))

    for name in sorted(attached):
        give(name, None)
    for stratum in strata:
        waiting = [rule for rule in stratum if held.keys().isdisjoint(rule.unless)]
        while ready := [rule for rule in waiting if held.keys() >= set(rule.when)]:
            waiting = [rule for rule in waiting if rule not in ready]
            for rule in ready:
                for name in rule.then:
                    give(name, rule)
    return held


def _check_names(rules: Iterable[Rule], trees: Trees) -> None:
    seen: dict[str, Rule] = {}
    for rule in rules:
        at = f"{rule.place}: " if rule.place else ""
        if rule.name in seen:
            raise OntologyError(
                f"{at}the rule {rule.name!r} is given twice, first at {seen[rule.name].place}; "
                "rename one of them"
            )
        seen[rule.name] = rule
        for key, names in (("if", rule.when), ("unless", rule.unless), ("then", rule.then)):
            for name in names:
                if name not in trees:
                    raise OntologyError(
                        f"{at}rule {rule.name!r}, {key}: there is no property {name!r}"
                        f"{near(name, trees)}"
                    )


def _refuse_circle(rule: Rule, follows: Mapping[str, set[str]]) -> None:
    """Refuse a rule whose ``unless`` depends on its ``then``."""
    came_from: dict[str, str] = {}
    frontier = list(rule.then)
    while frontier:
        name = frontier.pop()
        if name in rule.unless:
            path = [name]
            while path[-1] in came_from:
                path.append(came_from[path[-1]])
            at = f"{rule.place}: " if rule.place else ""
            raise OntologyError(
                f"{at}rule {rule.name!r}, unless: {name!r} depends on what the rule gives "
                f"({' -> '.join(reversed(path))}), so that neither could be settled first; "
                "drop it from unless, or attach it to entities instead of deriving it"
            )
        for after in sorted(follows[name]):
            if after not in came_from and after not in rule.then:
                came_from[after] = name
                frontier.append(after)
