"""The reference semantics of CTL: each quantifier looks at each path, one by one.

A path that reaches a state without successors, a *leaf*, ends there. Two readings of that end:

* ``weak``: the path is a finite trace, and the operators mean what they mean in LTLf; ``AX p`` asks
  for the weak next (it holds at a leaf) and ``EX p`` for the strong one (it fails there), so that
  they stay each other's dual;
* ``stuttering``: the leaf repeats for ever, as if it were its own successor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, get_args

from safe_rl.errors import ConfigurationError
from safe_rl.logic.ctl import CTL, Quantifier
from safe_rl.logic.formula import Formula, Op, atom
from safe_rl.logic.letters import Letter, truth
from safe_rl.logic.semantics import holds

Leaves = Literal["weak", "stuttering"]
LEAVES: Final[tuple[str, ...]] = get_args(Leaves)


def checked_leaves(leaves: str) -> Leaves:
    """Return ``leaves``.

    Raises:
        ConfigurationError: it is neither ``"weak"`` nor ``"stuttering"``.
    """
    if leaves not in LEAVES:
        raise ConfigurationError(f"leaves must be 'weak' or 'stuttering', but is {leaves!r}")
    return leaves  # type: ignore[return-value]


def holds_ctl(
    formula: CTL | str,
    successors: Sequence[Sequence[int]],
    letters: Sequence[Letter],
    state: int = 0,
    *,
    leaves: Leaves = "weak",
) -> bool:
    """Return whether ``formula`` holds in ``state``, by looking at every path.

    Exponential in the number of states: this is the definition, not a tool. Where an operator is
    unbounded, a path that comes back to where it was need not be followed further, since going
    round again shows no state that was not seen.

    Args:
        formula: A formula without ``P``, or its text.
        successors: For each state, its successors.
        letters: For each state, what is true there.
        state: Where to look.
        leaves: How the end of a path is read.

    Raises:
        ConfigurationError: ``P`` occurs, or ``leaves`` is unknown.
        GroundingError: a letter given as a mapping lacks a proposition or is not Boolean.

    >>> tree, letters = [[1, 2], [], []], [{"p"}, {"q"}, set()]
    >>> holds_ctl("EF q", tree, letters), holds_ctl("AG(p -> AF q)", tree, letters)
    (True, False)
    >>> [holds_ctl("AX q", tree, letters, 2, leaves=l) for l in ("weak", "stuttering")]
    [True, False]
    """
    if isinstance(formula, str):
        from safe_rl.logic.ctl_parser import parse_ctl

        formula = parse_ctl(formula)
    if checked_leaves(leaves) == "stuttering":
        successors = [list(after) or [i] for i, after in enumerate(successors)]
    known: dict[tuple[CTL, int], bool] = {}

    def at(f: CTL, s: int) -> bool:
        key = (f, s)
        if key not in known:
            known[key] = evaluate(f, s)
        return known[key]

    def evaluate(f: CTL, s: int) -> bool:
        if f.op is Op.ATOM:
            return truth(letters[s], f.name)
        if not isinstance(f.op, Quantifier):
            values = {str(i): at(arg, s) for i, arg in enumerate(f.args)}
            return holds(Formula(f.op, tuple(map(atom, values))), [values])
        if f.op is Quantifier.PROBABLY:
            raise ConfigurationError(f"{f} is about probabilities, which the paths do not have")
        ltlf, operands, horizon, rest = _path_formula(f)
        verdicts = (
            holds(ltlf, [{name: at(g, t) for name, g in operands.items()} for t in path])
            for path in _paths(successors, s, horizon, rest)
        )
        return all(verdicts) if f.op is Quantifier.ALL else any(verdicts)

    return at(formula, state)


def _path_formula(f: CTL) -> tuple[Formula, dict[str, CTL], int, bool]:
    """A path formula over its operands, how far it must be followed, and whether to the end."""
    (path,) = f.args
    names = {str(i): arg for i, arg in enumerate(path.args)}
    op = path.op
    assert isinstance(op, Op)
    if op is Op.NEXT:
        steps = (path.bounds or (1, 1))[0]
        if f.op is Quantifier.ALL:
            op = Op.WEAK_NEXT
        return Formula(op, tuple(map(atom, names)), "", path.bounds), names, steps, False
    low, high = path.bounds or (0, None)
    ltlf = Formula(op, tuple(map(atom, names)), "", path.bounds)
    return ltlf, names, low if high is None else high, high is None


def _paths(
    successors: Sequence[Sequence[int]], start: int, horizon: int, rest: bool
) -> Iterator[list[int]]:
    """Every path of ``horizon`` steps; if ``rest``, then on to a leaf or until a state repeats."""
    stack = [[start]]
    while stack:
        path = stack.pop()
        recent = path[horizon:] if rest else []
        walking = len(path) <= horizon
        onward = [t for t in successors[path[-1]] if walking or (rest and t not in recent)]
        closes = not walking and len(onward) < len(successors[path[-1]])
        if not successors[path[-1]] or closes or (not walking and not rest):
            yield path
        stack.extend([*path, t] for t in reversed(onward))
