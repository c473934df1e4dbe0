"""Ground actions over a scene, compiled to masks on the bits of a state.

A state is an integer with one bit for each fact that can hold. A condition becomes a tuple of
*cubes* ``(mask, value)``: it holds where ``state & mask == value`` for one of them. What depends on
classes only is decided here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

from safe_rl.envs.household.actions import FLOOR
from safe_rl.envs.household.classes import Scene
from safe_rl.envs.household.schema import Branch, Effect, Need, Schema, Variables
from safe_rl.envs.household.vocabulary import EVENTS, FACTS, atom_text, the
from safe_rl.errors import ConfigurationError
from safe_rl.logic import Formula, Op, parse
from safe_rl.specs.binding import arguments

Cube = tuple[int, int]
Cubes = tuple[Cube, ...]

ALWAYS: Cubes = ((0, 0),)
NEVER: Cubes = ()

_parse = cache(parse)


@lru_cache(maxsize=1 << 14)
def _split(text: str) -> tuple[str, tuple[str, ...]]:
    """The head and the arguments of an atom."""
    return text.partition("(")[0], arguments(text)


@dataclass(frozen=True, slots=True)
class Change:
    """What happens where a condition holds.

    Attributes:
        cubes: The condition; one cube is enough.
        add: Bits that become 1.
        keep: All bits but those that become 0 (which bits of ``add`` win over).
        events: The events.
    """

    cubes: Cubes
    add: int
    keep: int
    events: frozenset[str]


@dataclass(frozen=True, slots=True)
class GroundBranch:
    """One outcome.

    Attributes:
        name: ``"done"`` for the intended one.
        cubes: Where it can happen.
        probability: How probable it is there.
        always: What it changes in any case.
        others: What it changes where a condition holds.
        wake: Where none of these bits is 1, no condition of ``others`` holds; 0 says nothing.
    """

    name: str
    cubes: Cubes
    probability: float
    always: Change
    others: tuple[Change, ...]
    wake: int

    def apply(self, state: int) -> tuple[int, frozenset[str]]:
        """Return the state reached, and the events on the way."""
        add, keep, events = self.always.add, self.always.keep, self.always.events
        if state & self.wake or not self.wake:
            for change in self.others:
                if holds(change.cubes, state):
                    add |= change.add
                    keep &= change.keep
                    if change.events:
                        events |= change.events
        return state & keep | add, events


@dataclass(frozen=True, slots=True)
class GroundAction:
    """An action over objects.

    Attributes:
        cannot: The beginning of the words for a failure.
        needs: The conditions in order, each with the words where it does not hold.
        branches: The outcomes, the intended one first.
        all_of: The needs of one cube, as one.
        some_of: The other needs.
    """

    cannot: str
    needs: tuple[tuple[Cubes, str], ...]
    branches: tuple[GroundBranch, ...]
    all_of: Cube
    some_of: tuple[Cubes, ...]

    def can(self, state: int) -> bool:
        """Whether the action can be done."""
        mask, value = self.all_of
        return state & mask == value and all(holds(cubes, state) for cubes in self.some_of)


class Grounder:
    """Makes ground actions over one scene.

    Attributes:
        scene: The objects.
        bits: Fact to its bit's number.
    """

    def __init__(self, scene: Scene, bits: Mapping[str, int]) -> None:
        """Hold the scene and the numbering of its facts."""
        self.scene = scene
        self.bits = bits

    def action(self, schema: Schema, args: tuple[str, ...]) -> GroundAction:
        """Return a schema's action over the objects ``args``."""
        bound = dict(zip(schema.parameters, args, strict=True))
        common = [*self._changes(schema.effects, bound)]
        needs = tuple(self._needs(schema.needs, bound, args))
        return GroundAction(
            f"cannot {_filled(schema.cannot, bound)}: ",
            needs,
            tuple(self._branches(schema.branches, bound, common)),
            _together([cubes[0] for cubes, _ in needs if len(cubes) == 1]),
            tuple(cubes for cubes, _ in needs if len(cubes) != 1),
        )

    def cubes(self, text: str, bound: Mapping[str, str] | None = None) -> Cubes:
        """Return the cubes of a condition's text, its variables bound to objects."""
        return _simplified(self._cubes(_parse(text), bound or {}, True))

    def _needs(
        self, needs: Iterable[Need], bound: dict[str, str], args: tuple[str, ...]
    ) -> Iterator[tuple[Cubes, str]]:
        for need in needs:
            if self.cubes(need.unless, bound) == ALWAYS:
                continue
            if need.exists:
                found: list[Cube] = []
                for choice in self._choices(need.exists, bound):
                    found += self.cubes(need.formula, choice)
                choices = [(tuple(found), bound)]
            else:
                pairs = (
                    (self.cubes(need.formula, c), c) for c in self._choices(need.forall, bound)
                )
                choices = list(pairs)
            for cubes, choice in choices:
                if cubes != ALWAYS:
                    words = _filled(need.otherwise, choice, args[0] if args else "")
                    yield cubes, words

    def _branches(
        self, branches: Iterable[Branch], bound: dict[str, str], common: list[Change]
    ) -> Iterator[GroundBranch]:
        for branch in branches:
            cubes: list[Cube] = []
            for choice in self._choices(branch.exists, bound):
                cubes += self.cubes(branch.when, choice)
            found = _simplified(cubes)
            if found:
                nothing = Change(ALWAYS, 0, -1, frozenset())
                changes = [nothing, *common, *self._changes(branch.effects, bound)]
                always, *others = _merged(changes)
                yield GroundBranch(
                    branch.name, found, branch.probability, always, tuple(others), _wake(others)
                )

    def _changes(self, effects: Iterable[Effect], bound: dict[str, str]) -> Iterator[Change]:
        for effect in effects:
            for choice in self._choices(effect.forall, bound):
                cubes = self.cubes(effect.when, choice)
                if cubes == NEVER:
                    continue
                add, delete, events = 0, 0, set()
                for change in effect.changes:
                    name = self._bound_atom(change.removeprefix("!"), choice)
                    if name.partition("(")[0] in EVENTS:
                        events.add(name)
                    elif name in self.bits:
                        bit = 1 << self.bits[name]
                        if change.startswith("!"):
                            delete |= bit
                        else:
                            add |= bit
                if add or delete or events:
                    yield Change(cubes, add, ~delete, frozenset(events))

    def _choices(self, variables: Variables, bound: dict[str, str]) -> Iterator[dict[str, str]]:
        if not variables:
            yield bound
            return
        for choice in product(*(self.scene.members[kind] for kind in variables.values())):
            yield bound | dict(zip(variables, choice, strict=True))

    def _bound_atom(self, text: str, bound: Mapping[str, str]) -> str:
        head, args = _split(text)
        return atom_text(head, tuple(bound.get(argument, argument) for argument in args))

    def _cubes(self, formula: Formula, bound: Mapping[str, str], positive: bool) -> list[Cube]:
        """The disjunctive normal form of a formula, or of its negation."""
        op, args = formula.op, formula.args
        if op is Op.TRUE or op is Op.FALSE:
            return [(0, 0)] if (op is Op.TRUE) == positive else []
        if op is Op.ATOM:
            return self._literal(formula.name, bound, positive)
        if op is Op.NOT:
            return self._cubes(args[0], bound, not positive)
        if op is Op.IMPLIES:
            left = self._cubes(args[0], bound, not positive)
        elif op in (Op.AND, Op.OR):
            left = self._cubes(args[0], bound, positive)
        else:
            raise ConfigurationError(
                f"a condition takes ! & | and -> only, but {str(formula)!r} has {op.value!r}"
            )
        right = self._cubes(args[1], bound, positive)
        if (op is Op.AND) != positive:
            return left + right
        return [
            (m1 | m2, v1 | v2) for m1, v1 in left for m2, v2 in right if (v1 ^ v2) & m1 & m2 == 0
        ]

    def _literal(self, text: str, bound: Mapping[str, str], positive: bool) -> list[Cube]:
        name = self._bound_atom(text, bound)
        if name in self.bits:
            bit = 1 << self.bits[name]
            return [(bit, bit if positive else 0)]
        return [(0, 0)] if self._static(name) == positive else []

    def _static(self, name: str) -> bool:
        """Whether a proposition that never changes holds."""
        head, args = _split(name)
        for argument in args:
            if argument not in self.scene.entities and argument != FLOOR:
                raise ConfigurationError(f"{name!r} is about {argument!r}, which is no object")
        if head in self.scene.members:
            return self.scene.is_a(args[0], head)
        if head == "same":
            return args[0] == args[1]
        if head == "goes_onto":
            return self.scene.goes_onto(*args)
        if head == "goes_inside":
            return self.scene.goes_inside(*args)
        if head in FACTS:
            return False  # a fact that cannot come about, such as inside(cup,cup)
        raise ConfigurationError(f"{name!r} is neither a fact nor a class of objects")


def holds(cubes: Cubes, state: int) -> bool:
    """Whether a condition holds in a state."""
    for mask, value in cubes:  # faster than any() with a generator
        if state & mask == value:
            return True
    return False


def _together(cubes: Iterable[Cube]) -> Cube:
    """The cube of the states that all these cubes hold in."""
    mask = value = 0
    for more, wanted in cubes:
        if (value ^ wanted) & mask & more:
            return (0, 1)  # they contradict each other: it holds nowhere
        mask |= more
        value |= wanted
    return mask, value


def _simplified(cubes: Iterable[Cube]) -> Cubes:
    found = tuple(dict.fromkeys(cubes))
    return ALWAYS if (0, 0) in found else found


def _merged(changes: list[Change]) -> tuple[Change, ...]:
    """Put together what has the same condition."""
    found: dict[Cubes, Change] = {}
    for change in changes:
        other = found.get(change.cubes)
        found[change.cubes] = (
            change
            if other is None
            else Change(
                change.cubes,
                other.add | change.add,
                other.keep & change.keep,
                other.events | change.events,
            )
        )
    return tuple(found.values())


def _wake(changes: Iterable[Change]) -> int:
    """Bits of which one is 1 wherever a condition of these changes holds, or 0 for none known."""
    wake = 0
    for change in changes:
        for _, value in change.cubes:
            if value == 0:
                return 0  # a condition that asks for no 1 may hold anywhere
            wake |= value
    return wake


def _filled(text: str, bound: Mapping[str, str], first: str = "") -> str:
    """Fill objects into words; what the sentence has named already is "it"."""
    names = {variable: "it" if name == first else the(name) for variable, name in bound.items()}
    return text.format(**names)
