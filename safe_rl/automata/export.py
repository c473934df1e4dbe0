"""DFAs as text for people and for other tools: DOT, HOA, JSON and a table."""

from __future__ import annotations

import json
from typing import Any, Final

from safe_rl.automata.dfa import DFA
from safe_rl.automata.guards import Guard, guards
from safe_rl.errors import SpecificationError
from safe_rl.logic import atom_text, parse

_JSON_FORMAT: Final = "safe-rl-dfa"
_JSON_VERSION: Final = 1

_WIDE_LABEL: Final = 24
"""From how many characters on a label is broken between its disjuncts."""

TABLE_HEADER: Final = ("state", "kind", "guard", "next")


def guard_text(guard: Guard, atoms: tuple[str, ...]) -> str:
    """Return a guard as a readable Boolean expression over ``atoms``.

    Atoms that are calls or identifiers stand as they are; other names are quoted, as in formulas.
    """
    return guard.text(
        lambda index: atom_text(atoms[index]), true="true", false="false", space=" ", xor=True
    )


def state_kind(dfa: DFA, state: int) -> str:
    """Return what can be said of a state: initial, accepting or rejecting, safe or doomed."""
    words = ["initial"] if state == dfa.initial else []
    if dfa.is_doomed(state):
        words.append("doomed")
    elif dfa.is_safe(state):
        words.append("safe")
    else:
        words.append("accepting" if dfa.is_accepting(state) else "rejecting")
    return ", ".join(words)


def to_dot(dfa: DFA, *, name: str | None = None) -> str:
    """Return the DFA as a Graphviz digraph.

    Accepting states have a double border, doomed states are red octagons and safe states green.
    All edges between two states are one, labelled with the letters that it takes.

    Args:
        dfa: the automaton.
        name: a caption; default the formula it was compiled from.

    >>> from safe_rl.automata import compile_ltlf
    >>> print(to_dot(compile_ltlf("G !hit")))
    digraph DFA {
      rankdir=LR; nodesep=0.6;
      label="G !hit"; labelloc=t;
      node [shape=circle];
      start [shape=point];
      0 [label="0", peripheries=2];
      1 [label="1", shape=octagon, style=filled, color="#a11212", fillcolor="#f6c6c6"];
      start -> 0;
      0 -> 0 [label="!hit"];
      0 -> 1 [label="hit"];
      1 -> 1 [label="true"];
    }
    """
    caption = name if name is not None else str(dfa.formula) if dfa.formula is not None else ""
    lines = ["digraph DFA {", "  rankdir=LR; nodesep=0.6;"]
    if caption:
        lines.append(f"  label={_quoted(caption)}; labelloc=t;")
    lines += ["  node [shape=circle];", "  start [shape=point];"]
    for state in range(dfa.num_states):
        look = [f'label="{state}"']
        if dfa.is_doomed(state):
            look.append('shape=octagon, style=filled, color="#a11212", fillcolor="#f6c6c6"')
        elif dfa.is_safe(state):
            look.append('peripheries=2, style=filled, color="#1b6e2e", fillcolor="#c9ecd0"')
        elif dfa.is_accepting(state):
            look.append("peripheries=2")
        lines.append(f"  {state} [{', '.join(look)}];")
    lines.append(f"  start -> {dfa.initial};")
    for state in range(dfa.num_states):
        for target, guard in guards(dfa, state).items():
            label = _quoted(guard_text(guard, dfa.atoms))
            if len(label) > _WIDE_LABEL:
                label = label.replace(" | ", r"\n| ")
            lines.append(f"  {state} -> {target} [label={label}];")
    return "\n".join([*lines, "}"])


def to_hoa(dfa: DFA) -> str:
    """Return the DFA in the Hanoi Omega-Automata format, version 1.

    HOA describes automata on infinite words, and has no header for finite ones. As in the output
    of Spot's ``to_finite``, the accepting states are the states of acceptance set 0 of a
    state-based Büchi condition: **a finite word is accepted if its run ends in set 0**. Read on
    infinite words, the automaton accepts those with infinitely many accepted prefixes. A comment
    in the header says so too. The empty word is accepted if the initial state is in set 0.

    Reference: Babiak et al., "The Hanoi Omega-Automata Format" (CAV 2015).

    >>> from safe_rl.automata import compile_ltlf
    >>> print(to_hoa(compile_ltlf("G !hit")))
    HOA: v1
    tool: "safe_rl"
    name: "G !hit"
    States: 2
    Start: 0
    AP: 1 "hit"
    /* a finite word is accepted if its run ends in a state of set 0 */
    acc-name: Buchi
    Acceptance: 1 Inf(0)
    properties: trans-labels explicit-labels state-acc complete deterministic
    --BODY--
    State: 0 {0}
    [!0] 0
    [0] 1
    State: 1
    [t] 1
    --END--
    """
    lines = ["HOA: v1", 'tool: "safe_rl"']
    if dfa.formula is not None:
        lines.append(f"name: {_quoted(str(dfa.formula))}")
    lines += [
        f"States: {dfa.num_states}",
        f"Start: {dfa.initial}",
        " ".join([f"AP: {len(dfa.atoms)}", *(_quoted(atom) for atom in dfa.atoms)]),
        "/* a finite word is accepted if its run ends in a state of set 0 */",
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        "properties: trans-labels explicit-labels state-acc complete deterministic",
        "--BODY--",
    ]
    for state in range(dfa.num_states):
        lines.append(f"State: {state}{' {0}' if dfa.is_accepting(state) else ''}")
        for target, guard in guards(dfa, state).items():
            label = guard.text(str, true="t", false="f", space="", xor=False)
            lines.append(f"[{label}] {target}")
    return "\n".join([*lines, "--END--"])


def to_json(dfa: DFA, *, indent: int | None = 2) -> str:
    """Return the DFA as JSON that :func:`from_json` reads back to an equal one.

    The decision diagram is written as it is stored (see :class:`~safe_rl.automata.DFA`). Under
    ``"states"`` each state's kind and guards are repeated for readers; they are not read back.
    """
    content = {
        "format": _JSON_FORMAT,
        "version": _JSON_VERSION,
        "formula": None if dfa.formula is None else str(dfa.formula),
        "atoms": list(dfa.atoms),
        "initial": dfa.initial,
        "accepting": [bool(value) for value in dfa.accepting],
        "roots": list(dfa.roots),
        "var": list(dfa.var),
        "low": list(dfa.low),
        "high": list(dfa.high),
        "states": [
            {
                "kind": state_kind(dfa, state),
                "edges": [
                    {"guard": guard_text(guard, dfa.atoms), "next": target}
                    for target, guard in guards(dfa, state).items()
                ],
            }
            for state in range(dfa.num_states)
        ],
    }
    return json.dumps(content, indent=indent, ensure_ascii=False)


def from_json(text: str) -> DFA:
    """Return the DFA that :func:`to_json` wrote.

    Raises:
        SpecificationError: the text is not such JSON, or its diagram is not one: a reference
            leads nowhere, or atoms are tested out of order.
        FormulaSyntaxError: its formula does not parse.

    >>> from safe_rl.automata import compile_ltlf
    >>> dfa = compile_ltlf("a U b")
    >>> from_json(to_json(dfa)) == dfa
    True
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecificationError(f"the automaton is not JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != _JSON_FORMAT:
        raise SpecificationError(
            f"the JSON is not an automaton: it lacks format {_JSON_FORMAT!r}; write it with to_json"
        )
    if content.get("version") != _JSON_VERSION:
        raise SpecificationError(
            f"the automaton is of version {content.get('version')!r}; this release reads version "
            f"{_JSON_VERSION}"
        )
    formula = content.get("formula")
    dfa = DFA(
        atoms=tuple(_list_of(content, "atoms", str)),
        roots=tuple(_list_of(content, "roots", int)),
        var=tuple(_list_of(content, "var", int)),
        low=tuple(_list_of(content, "low", int)),
        high=tuple(_list_of(content, "high", int)),
        accepting=tuple(_list_of(content, "accepting", bool)),
        initial=_list_of({"initial": [content.get("initial")]}, "initial", int)[0],
        formula=None if formula is None else parse(formula),
    )
    _check(dfa)
    return dfa


def table_rows(dfa: DFA) -> list[tuple[str, str, str, str]]:
    """Return one row per edge: state, kind, guard and next state; see ``TABLE_HEADER``.

    The state and its kind are given in its first row only.
    """
    rows = []
    for state in range(dfa.num_states):
        first = (str(state), state_kind(dfa, state))
        for target, guard in guards(dfa, state).items():
            rows.append((*first, guard_text(guard, dfa.atoms), str(target)))
            first = ("", "")
    return rows


def to_table(dfa: DFA) -> str:
    """Return the DFA as a plain-text table, one line per edge.

    >>> from safe_rl.automata import compile_ltlf
    >>> print(to_table(compile_ltlf("G(a -> X b)")))
    state  kind                guard   next
    0      initial, accepting  !a      0
                               a       1
    1      rejecting           !a & b  0
                               a & b   1
                               !b      2
    2      doomed              true    2
    """
    rows = [TABLE_HEADER, *table_rows(dfa)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TABLE_HEADER))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _list_of(content: dict[str, Any], key: str, kind: type) -> list[Any]:
    values = content.get(key)
    if not isinstance(values, list) or any(type(value) is not kind for value in values):
        raise SpecificationError(
            f"the automaton's {key!r} must hold values of type {kind.__name__}, but is {values!r}"
        )
    return values


def _check(dfa: DFA) -> None:
    """Check what the class takes for granted of its fields."""
    states, nodes = dfa.num_states, len(dfa.var)
    if not states == len(dfa.accepting) or not nodes == len(dfa.low) == len(dfa.high):
        raise SpecificationError(
            f"the automaton's lists differ in length: {states} roots and {len(dfa.accepting)} "
            f"acceptances; {nodes} var, {len(dfa.low)} low and {len(dfa.high)} high"
        )
    if not 0 <= dfa.initial < states:
        raise SpecificationError(f"the initial state {dfa.initial} is not among {states} states")
    for node, (var, low, high) in enumerate(zip(dfa.var, dfa.low, dfa.high, strict=True)):
        if not 0 <= var < len(dfa.atoms):
            raise SpecificationError(f"node {node} tests atom {var} of {len(dfa.atoms)}")
        for child in (low, high):
            if child >= node or ~child >= states:
                raise SpecificationError(
                    f"node {node} leads to {child}, which is neither an earlier node nor a state"
                )
            if child >= 0 and dfa.var[child] <= var:
                raise SpecificationError(f"nodes {node} and {child} test atoms out of order")
    for state, root in enumerate(dfa.roots):
        if root >= nodes or ~root >= states:
            raise SpecificationError(f"state {state} leads to {root}: no such node or state")
