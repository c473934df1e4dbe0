"""Other compilers, for cross-checks only: MONA through ltlf2dfa's encoding, and Spot.

Neither is needed to use the package, and neither ever stands in for ``compile_ltlf``. A tool that
is missing, fails or answers something unexpected is an error: no automaton is ever made up.

**The empty trace.** MONA gives the empty string the value that its arithmetic gives (the maximum of
an empty set is 0 there), and Spot has no empty trace at all. So two automata are compared on
non-empty traces, and by their numbers of states once both answer the empty trace in the same way
(``with_empty``): a DFA whose initial state is visited again may need one state more to answer
otherwise. ``disagreement`` applies this rule.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from safe_rl.automata.compare import difference
from safe_rl.automata.desugar import desugar
from safe_rl.automata.dfa import DFA
from safe_rl.automata.minimise import minimise
from safe_rl.errors import MissingDependencyError, OracleError
from safe_rl.logic import FALSE, PAST_OPS, Formula, Op, parse

_MAX_PROGRAM: Final = 200_000
"""Operators that an encoding may take once written out; ltlf2dfa repeats operands of releases."""

_EXPORT: Final = "oracle.dfa"


def mona_dfa(formula: str | Formula, *, time_limit: float = 30.0) -> DFA:
    """Return the DFA that MONA computes from ltlf2dfa's encoding of ``formula``, as it is.

    MONA's automata are minimal. Its dummy first state is left out, so ``num_states`` is one less
    than MONA says.

    All operators are served; operators that ltlf2dfa lacks are first rewritten into those it has,
    and past ones use its encoding of pure-past LTL. The atoms are the formula's own, in its order.
    The acceptance of the empty trace is MONA's (see the module's description).

    Args:
        formula: an LTLf formula, or its text.
        time_limit: how many seconds MONA may run.

    Raises:
        MissingDependencyError: ltlf2dfa is not installed.
        OracleError: there is no ``mona`` on PATH, or it fails, runs out of time or answers
            something that is not a DFA over the formula's atoms.
    """
    parsed = parse(formula) if isinstance(formula, str) else formula
    program = mona_program(parsed)
    exported = run_mona(program, time_limit=time_limit)
    return _read_mona(exported, parsed)


def mona_program(formula: Formula) -> str:
    """Return the MONA program that exports the DFA of ``formula`` to the file ``oracle.dfa``.

    Atom number i is the second-order variable ``Pi``. The program's own formula is ``true``,
    because MONA stops before its exports when that one is unsatisfiable.

    Raises:
        MissingDependencyError: ltlf2dfa is not installed.
        OracleError: the encoding would be too long.
    """
    atoms = {name: f"p{i}" for i, name in enumerate(formula.atoms)}
    core = _at_start(desugar(formula.rename(atoms)))
    size = _size(core, {})
    if size > _MAX_PROGRAM:
        raise OracleError(
            f"the MONA encoding of {formula} would hold {size} operators, and the limit is "
            f"{_MAX_PROGRAM}; ltlf2dfa repeats the operands of G, R and W: nest fewer of them"
        )
    encode = _Encoder()
    variables = "".join(f"var2 {name.upper()};\n" for name in atoms.values())
    body = encode(core).to_mona("0")
    return f'{encode.header};\n{variables}true;\nexport("{_EXPORT}", {body});\n'


def run_mona(program: str, *, time_limit: float = 30.0) -> str:
    """Run MONA on a program in a directory of its own and return the text of ``oracle.dfa``.

    Raises:
        OracleError: there is no ``mona`` on PATH, it takes longer than ``time_limit`` seconds, it
            reports an error, or it writes no automaton.
    """
    mona = shutil.which("mona")
    if mona is None:
        raise OracleError(
            "the oracle needs the program 'mona', which is not on PATH; "
            "install it with: apt-get install mona"
        )
    with tempfile.TemporaryDirectory(prefix="safe-rl-mona-") as name:
        directory = Path(name)
        (directory / "oracle.mona").write_text(program, encoding="ascii")
        try:
            done = subprocess.run(
                [mona, "-q", "-n", "oracle.mona"],
                cwd=directory,
                capture_output=True,
                text=True,
                timeout=time_limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OracleError(
                f"MONA took longer than {time_limit:g} s; raise time_limit or check a smaller "
                "formula"
            ) from None
        except OSError as error:
            raise OracleError(f"MONA at {mona} cannot be run: {error}") from error
        export = directory / _EXPORT
        if done.returncode != 0 or not export.is_file():
            said = (done.stdout + done.stderr).strip() or "nothing"
            raise OracleError(
                f"MONA exported no automaton (exit status {done.returncode}); it said: {said}"
            )
        return export.read_text(encoding="ascii")


def spot_dfa(formula: str | Formula) -> DFA:
    """Return the minimal DFA that Spot computes from ``formula``.

    Spot's LTLf is the future fragment over non-empty traces, so past operators are refused, and the
    empty trace is rejected. Its nondeterministic automaton is made deterministic here, over all
    ``2**n`` letters, so this is meant for formulas of few atoms.

    Raises:
        OracleError: Spot's Python bindings are absent (the package named ``spot`` on PyPI is
            another project and does not count), or the formula looks back.
    """
    spot, buddy = _import_spot()
    parsed = parse(formula) if isinstance(formula, str) else formula
    if _looks_back(parsed):
        raise OracleError(f"Spot has no past operators, and {parsed} looks back")
    atoms = parsed.atoms
    core = desugar(parsed.rename({name: f"p{i}" for i, name in enumerate(atoms)}))
    automaton = spot.to_finite(
        spot.translate(spot.from_ltlf(_spot_text(core)), "small", "buchi", "sbacc")
    )
    start = frozenset({int(automaton.get_init_state_number())})
    edges: dict[int, list[tuple[Any, int]]] = {}

    def successors(states: frozenset[int], bits: int) -> frozenset[int]:
        letter = spot.formula_to_bdd(
            spot.formula(
                " & ".join(f"{'' if bits >> i & 1 else '!'}p{i}" for i in range(len(atoms))) or "1"
            ),
            automaton.get_dict(),
            automaton,
        )
        following: set[int] = set()
        for state in states:
            if state not in edges:
                edges[state] = [(edge.cond, int(edge.dst)) for edge in automaton.out(state)]
            following.update(dst for cond, dst in edges[state] if cond & letter != buddy.bddfalse)
        return frozenset(following)

    order = [start]
    number = {start: 0}
    rows: list[list[int]] = []
    for states in order:  # grows while it is read
        row = []
        for bits in range(1 << len(atoms)):
            following = successors(states, bits)
            if following not in number:
                number[following] = len(order)
                order.append(following)
            row.append(number[following])
        rows.append(row)
    accepting = [any(automaton.state_is_accepting(s) for s in states) for states in order]
    # A copy of the initial state rejects the empty trace without losing its other visits.
    return minimise(_from_rows(atoms, [*rows, rows[0]], [*accepting, False], len(rows), parsed))


def with_empty(dfa: DFA, accepts_empty: bool) -> DFA:
    """Return the minimal DFA of the language of ``dfa`` with the empty trace in it or not.

    >>> from safe_rl.automata import compile_ltlf
    >>> [with_empty(compile_ltlf("G a"), e).num_states for e in (True, False)]
    [2, 3]
    """
    # A twin of the initial state answers the empty trace, and only it: no edge leads to the twin.
    twin = DFA(
        atoms=dfa.atoms,
        roots=(*dfa.roots, dfa.roots[dfa.initial]),
        var=dfa.var,
        low=dfa.low,
        high=dfa.high,
        accepting=(*dfa.accepting, accepts_empty),
        initial=dfa.num_states,
        formula=dfa.formula,
    )
    return minimise(twin)


def disagreement(dfa: DFA, oracle: DFA) -> str | None:
    """Return how a minimal DFA and an oracle's differ, or None where they agree.

    They agree if they accept the same non-empty traces, and if the oracle's automaton has as many
    states as the minimal DFA that also answers the empty trace as the oracle does.
    """
    ours = with_empty(dfa, oracle.accepting[oracle.initial])
    trace = difference(ours, oracle)
    if trace is not None:
        verdict = "accepts" if dfa.accepts(trace) else "rejects"
        shown = [sorted(letter) for letter in trace]
        return f"the DFA of {dfa.formula} {verdict} {shown}, and the oracle does not"
    if ours.num_states != oracle.num_states:
        return (
            f"the DFA of {dfa.formula} has {ours.num_states} states, and the oracle's "
            f"{oracle.num_states}"
        )
    return None


def _from_rows(
    atoms: tuple[str, ...],
    rows: Sequence[Sequence[int]],
    accepting: Sequence[bool],
    initial: int,
    formula: Formula,
) -> DFA:
    """A DFA from next states per letter; bit i of a letter's number is atom i."""
    nodes: dict[tuple[int, int, int], int] = {}

    def build(row: Sequence[int], index: int, bits: int) -> int:
        if index == len(atoms):
            return ~row[bits]
        low = build(row, index + 1, bits)
        high = build(row, index + 1, bits | 1 << index)
        return low if low == high else nodes.setdefault((index, low, high), len(nodes))

    roots = tuple(build(row, 0, 0) for row in rows)
    return DFA(
        atoms=atoms,
        roots=roots,
        var=tuple(node[0] for node in nodes),
        low=tuple(node[1] for node in nodes),
        high=tuple(node[2] for node in nodes),
        accepting=tuple(accepting),
        initial=initial,
        formula=formula,
    )


def _looks_back(formula: Formula) -> bool:
    return formula.op in PAST_OPS or any(_looks_back(arg) for arg in formula.args)


def _at_start(f: Formula) -> Formula:
    """Make false each yesterday that a rewritten formula asks for at the first step.

    There is none, and MONA has no negative positions to say so itself.
    """
    if f.op is Op.YESTERDAY:
        return FALSE
    if f.op in (Op.NOT, Op.AND, Op.OR):
        return Formula(f.op, tuple(_at_start(arg) for arg in f.args))
    return f


def _size(f: Formula, known: dict[Formula, int]) -> int:
    """How many operators ltlf2dfa's encoding of a rewritten formula writes out."""
    if f not in known:
        sizes = [_size(arg, known) for arg in f.args]
        if f.op in (Op.RELEASE, Op.ALWAYS):  # written as "released, or for ever"
            sizes.append(sizes[-1])
        known[f] = 1 + sum(sizes)
    return known[f]


def _spot_text(f: Formula) -> str:
    """A rewritten formula in Spot's syntax, where ``X`` alone is weak on finite traces."""
    symbols = {
        Op.NEXT: "X[!]",
        Op.WEAK_NEXT: "X",
        Op.EVENTUALLY: "F",
        Op.ALWAYS: "G",
        Op.NOT: "!",
    }
    texts = [f"({_spot_text(arg)})" for arg in f.args]
    match f.op:
        case Op.TRUE:
            return "1"
        case Op.FALSE:
            return "0"
        case Op.LAST:
            return "X(0)"
        case Op.ATOM:
            return f.name
    if len(texts) == 1:
        return symbols[f.op] + texts[0]
    return f" {f.op} ".join(texts)


def _import_spot() -> tuple[Any, Any]:
    """Spot, and the library of its decision diagrams."""
    try:
        spot = importlib.import_module("spot")
    except ImportError:
        raise OracleError(
            "Spot's Python bindings are not installed; PyPI does not carry them, build them "
            "from https://spot.lre.epita.fr, or use mona_dfa"
        ) from None
    lacking = [name for name in ("from_ltlf", "translate", "to_finite") if not hasattr(spot, name)]
    if lacking:
        raise OracleError(
            f"the module 'spot' at {getattr(spot, '__file__', 'an unknown place')} is not the "
            f"automata library: it has no {', '.join(lacking)}; the package of that name on PyPI "
            "is another project (uninstall it), and an old Spot lacks to_finite"
        )
    return spot, importlib.import_module("buddy")


class _Encoder:
    """Builds ltlf2dfa's syntax trees, which leaves nothing to the precedence of its parser."""

    def __init__(self) -> None:
        try:
            ltlf = importlib.import_module("ltlf2dfa.ltlf")
            ppltl = importlib.import_module("ltlf2dfa.ppltl")
            base = importlib.import_module("ltlf2dfa.base")
        except ImportError:
            raise MissingDependencyError("ltlf2dfa", "mona", "the MONA oracle") from None
        self.header: str = base.MonaProgram.HEADER
        self._ltlf = ltlf
        self._built: dict[Formula, Any] = {}
        self._constructors: dict[Op, Callable[[list[Any]], Any]] = {
            Op.TRUE: lambda _: ltlf.LTLfTrue(),
            Op.FALSE: lambda _: ltlf.LTLfFalse(),
            Op.LAST: lambda _: ltlf.LTLfLast(),
            Op.NOT: lambda args: ltlf.LTLfNot(*args),
            Op.AND: ltlf.LTLfAnd,
            Op.OR: ltlf.LTLfOr,
            Op.NEXT: lambda args: ltlf.LTLfNext(*args),
            Op.WEAK_NEXT: lambda args: ltlf.LTLfWeakNext(*args),
            Op.EVENTUALLY: lambda args: ltlf.LTLfEventually(*args),
            Op.ALWAYS: lambda args: ltlf.LTLfAlways(*args),
            Op.UNTIL: ltlf.LTLfUntil,
            Op.RELEASE: ltlf.LTLfRelease,
            Op.YESTERDAY: lambda args: ppltl.PPLTLBefore(*args),
            Op.ONCE: lambda args: ppltl.PPLTLOnce(*args),
            Op.HISTORICALLY: lambda args: ppltl.PPLTLHistorically(*args),
            Op.SINCE: ppltl.PPLTLSince,
        }

    def __call__(self, f: Formula) -> Any:
        if f not in self._built:
            if f.op is Op.ATOM:
                self._built[f] = self._ltlf.LTLfAtomic(f.name)
            else:
                self._built[f] = self._constructors[f.op]([self(arg) for arg in f.args])
        return self._built[f]


def _read_mona(text: str, formula: Formula) -> DFA:
    """Read MONA's export format: header fields, then one line ``variable low high`` per node.

    State 0 only takes the dummy step with which MONA reads Boolean variables; the initial state is
    its successor. A node whose variable is -1 is a leaf, and its first number the next state.

    Raises:
        OracleError: the text is not such a DFA over the formula's atoms.
    """

    def refuse(why: str) -> OracleError:
        return OracleError(f"MONA's automaton for {formula} cannot be read: {why}")

    def field(name: str) -> list[str]:
        found = re.search(rf"^{name}:(.*)$", text, re.MULTILINE)
        if found is None:
            raise refuse(f"it has no field {name!r}")
        return found[1].split()

    atoms = formula.atoms
    try:
        final = [int(value) for value in field("final")]
        behaviour = [int(value) for value in field("behaviour")]
        body = text.partition("bdd:\n")[2].partition("\nend")[0]
        nodes = [tuple(int(value) for value in line.split()) for line in body.splitlines()]
        declared = [(name, int(name[1:])) for name in field("variables")]
    except ValueError as error:
        raise refuse(str(error)) from None
    if len(final) < 2 or len(behaviour) != len(final) or any(len(n) != 3 for n in nodes):
        raise refuse(f"it has {len(final)} acceptances, {len(behaviour)} roots")
    if any(name != f"P{i}" or i >= len(atoms) for name, i in declared):
        raise refuse(f"its variables are {[name for name, _ in declared]}, not P0, P1, …")
    indices = [index for _, index in declared]
    if indices != sorted(indices):
        raise refuse(f"its variables come in the order {indices}")

    var: list[int] = []
    low: list[int] = []
    high: list[int] = []
    built: dict[int, int] = {}

    def build(node: int) -> int:
        """Copy a node after its children; states are shifted by the dummy one."""
        if node not in built:
            variable, first, second = nodes[node]
            if variable < 0:
                if first == 0:
                    raise refuse("an edge leads back to the dummy state")
                built[node] = ~(first - 1)
            else:
                children = build(first), build(second)
                built[node] = len(var)
                var.append(indices[variable])
                low.append(children[0])
                high.append(children[1])
        return built[node]

    roots = tuple(build(node) for node in behaviour)
    if roots[0] >= 0:
        raise refuse("the dummy step depends on a letter")
    if any(value not in (-1, 1) for value in final[1:]):
        raise refuse(f"its acceptances are {final}")
    return DFA(
        atoms=atoms,
        roots=roots[1:],
        var=tuple(var),
        low=tuple(low),
        high=tuple(high),
        accepting=tuple(value == 1 for value in final[1:]),
        initial=~roots[0],
        formula=formula,
    )
