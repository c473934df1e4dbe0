"""Formulas of CTL, with PCTL's probability operator, as immutable and interned values.

A *state formula* is true or false in a state: an atom, a Boolean combination, or a path quantifier
before a *path formula*. CTL (Clarke and Emerson 1981; Baier and Katoen, "Principles of Model
Checking", section 6.2) allows one temporal operator after each ``A`` or ``E``. ``P>=p`` takes any
LTLf formula whose atoms may be state formulas, which holds Hansson and Jonsson's PCTL (1994).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple, Self
from weakref import WeakValueDictionary

from safe_rl.errors import FormulaSyntaxError
from safe_rl.logic.formula import FUTURE_OPS, PAST_OPS, TRUE, Bounds, Formula, Op


class Quantifier(StrEnum):
    """What a state formula says about the paths that start in a state."""

    ALL = "A"
    SOME = "E"
    PROBABLY = "P"


class Chance(NamedTuple):
    """The bound of ``P``: ``>=``, ``>``, ``<=`` or ``<``, and a probability."""

    relation: str
    probability: float


RELATIONS: Final = (">=", ">", "<=", "<")
BOOLEAN_OPS: Final = frozenset({Op.NOT, Op.AND, Op.OR, Op.XOR, Op.IMPLIES, Op.IFF})
PATH_OPS: Final = FUTURE_OPS - {Op.LAST, Op.WEAK_NEXT}
"""What may follow ``A`` or ``E``: ``X F G U W R M``."""
_TEMPORAL: Final = FUTURE_OPS | PAST_OPS
_interned: WeakValueDictionary[tuple[object, ...], CTL] = WeakValueDictionary()


class CTL:
    """One node of a formula. Two formulas of the same structure are the same object.

    Attributes:
        op: The operator, or the quantifier, whose one operand is a path formula.
        args: The operands, at most two.
        name: The proposition's name for an atom, else the empty string.
        bounds: ``(low, high)`` for a bounded temporal operator, else ``None``.
        chance: The bound of ``P``, else ``None``.
        is_state: Whether it is a state formula; the rest are path formulas.

    >>> from safe_rl.logic.ctl_parser import parse_ctl
    >>> rule = parse_ctl("AG(p -> AF q)")
    >>> rule.op is Quantifier.ALL, rule.args[0].op is Op.ALWAYS, rule.args[0].is_state, rule.atoms
    (True, True, False, ('p', 'q'))
    """

    __slots__ = ("__weakref__", "args", "bounds", "chance", "is_state", "name", "op")

    op: Op | Quantifier
    args: tuple[CTL, ...]
    name: str
    bounds: Bounds | None
    chance: Chance | None
    is_state: bool

    def __new__(
        cls,
        op: Op | Quantifier,
        args: tuple[CTL, ...] = (),
        name: str = "",
        bounds: Bounds | None = None,
        chance: Chance | None = None,
    ) -> Self:
        """Return the one node with this structure.

        Raises:
            FormulaSyntaxError: a wrong number of operands, an impossible interval or probability,
                an empty atom name, or ``A`` or ``E`` before anything but one temporal operator
                over state formulas.
        """
        key = (op, args, name, bounds, chance)
        found = _interned.get(key)
        if found is not None:
            return found  # type: ignore[return-value]
        _validate(op, args, name, bounds, chance)
        self = super().__new__(cls)
        is_state = isinstance(op, Quantifier) or (
            op not in _TEMPORAL and all(arg.is_state for arg in args)
        )
        for attribute, value in zip(
            ("op", "args", "name", "bounds", "chance", "is_state"), (*key, is_state), strict=True
        ):
            object.__setattr__(self, attribute, value)
        return _interned.setdefault(key, self)  # type: ignore[return-value]

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"formulas are immutable; cannot set {attribute!r}")

    def __reduce__(self) -> tuple[object, ...]:
        return CTL, (self.op, self.args, self.name, self.bounds, self.chance)

    @property
    def atoms(self) -> tuple[str, ...]:
        """The names of the propositions, each once, in order of first appearance."""
        return tuple(f.name for f in subformulas(self) if f.op is Op.ATOM)

    @property
    def is_propositional(self) -> bool:
        """Whether no temporal operator and no quantifier occurs in it."""
        return all(
            not isinstance(f.op, Quantifier) and f.op not in _TEMPORAL for f in subformulas(self)
        )

    def __str__(self) -> str:
        from safe_rl.logic.ctl_printer import ctl_text

        return ctl_text(self)

    def __repr__(self) -> str:
        return f"parse_ctl({str(self)!r})"


def _validate(
    op: Op | Quantifier,
    args: tuple[CTL, ...],
    name: str,
    bounds: Bounds | None,
    chance: Chance | None,
) -> None:
    if isinstance(op, Op):
        Formula(op, (TRUE,) * len(args), name, bounds)  # refuses what LTLf refuses
        if chance is not None:
            raise FormulaSyntaxError(f"operator {op} takes no probability")
        return
    if len(args) != 1 or name or bounds is not None:
        raise FormulaSyntaxError(f"{op} takes one path formula, no name and no interval")
    (path,) = args
    if (op is Quantifier.PROBABLY) != (chance is not None):
        raise FormulaSyntaxError(
            "P needs a bound, such as P>=0.9" if chance is None else f"{op} takes no probability"
        )
    if chance is None:
        if path.op not in PATH_OPS or not all(arg.is_state for arg in path.args):
            raise FormulaSyntaxError(
                f"{op} takes one temporal operator over state formulas, as in {op}G p or "
                f"{op}[p U q], but got {path}"
            )
        return
    if chance.relation not in RELATIONS or not 0.0 <= chance.probability <= 1.0:
        raise FormulaSyntaxError(
            f"the bound of P must be one of {', '.join(RELATIONS)} and a number from 0 to 1, "
            f"but is {chance.relation}{chance.probability}"
        )
    if path.is_state:
        raise FormulaSyntaxError(f"P takes a temporal operator, as in P>=0.9 [F p], not {path}")


def subformulas(formula: CTL) -> Iterator[CTL]:
    """Yield every node of ``formula`` once, operands before what is built from them."""
    seen: set[CTL] = set()
    stack = [formula]
    while stack:
        node = stack[-1]
        waiting = [arg for arg in reversed(node.args) if arg not in seen]
        if node in seen:
            stack.pop()
        elif waiting:
            stack.extend(waiting)
        else:
            seen.add(stack.pop())
            yield node


def path_as_ltlf(path: CTL) -> tuple[Formula, dict[str, CTL]]:
    """Return a path formula as an LTLf formula over state formulas.

    Returns:
        The LTLf formula, and for each of its atoms the state formula that it stands for: itself
        for a proposition, and for a quantified formula an atom named by its text in brackets.

    >>> from safe_rl.logic.ctl_parser import parse_ctl
    >>> ltlf, parts = path_as_ltlf(parse_ctl("P>=0.9 [a U (b & EX c)]").args[0])
    >>> str(ltlf), parts["[EX c]"]
    ('a U (b & "[EX c]")', parse_ctl('EX c'))
    """
    taken = set(path.atoms)
    parts: dict[str, CTL] = {}
    made: dict[CTL, Formula] = {}
    stack = [path]
    while stack:
        node = stack[-1]
        if node.op is Op.ATOM or isinstance(node.op, Quantifier):
            stack.pop()
            name = node.name or f"[{node}]"
            while node.op is not Op.ATOM and name in taken:
                name = f"[{name}]"
            taken.add(name)
            parts[name] = node
            made[node] = Formula(Op.ATOM, (), name)
            continue
        waiting = [arg for arg in node.args if arg not in made]
        if waiting:
            stack.extend(waiting)
        else:
            stack.pop()
            made[node] = Formula(node.op, tuple(made[arg] for arg in node.args), "", node.bounds)
    return made[path], parts
