"""Evidence in words, for people and for language models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from safe_rl.logic.ctl import Quantifier
from safe_rl.model_checking.paths import Evidence, Path
from safe_rl.model_checking.structure import Kripke

_SHOWN: Final = 12
"""A path of more states is shortened in the middle."""


def describe(
    structure: Kripke, evidence: Evidence, *, name: Callable[[int], str] = "state {}".format
) -> str:
    """Return what the evidence says, as lines of text.

    Each state is shown by its name and those propositions of the formula that are true in it.

    Args:
        structure: The structure of the states.
        evidence: What was found.
        name: Names a state; by default its number.

    >>> from safe_rl.model_checking import check, merge_rollouts
    >>> tree = merge_rollouts([[set(), {"hot"}, {"hot", "off"}], [set(), {"hot"}, set()]])
    >>> print(describe(tree, check(tree, "AG(hot -> AF off)").evidence()))
    AG(hot -> AF off) fails in state 0:
      state 0 {} -> state 1 {hot}
      hot -> AF off fails in state 1:
        hot holds in state 1
        AF off fails in state 1:
          state 1 {} -> state 2 {}, and the path ends
    """
    return "\n".join(_lines(structure, evidence, name, ""))


def _lines(
    structure: Kripke, shown: Evidence, name: Callable[[int], str], indent: str
) -> list[str]:
    f = shown.formula
    head = f"{indent}{f} {'holds' if shown.holds else 'fails'} in {name(shown.state)}"
    inner = indent + "  "
    lines: list[str] = []
    if shown.path is not None:
        lines.append(inner + path_text(structure, shown.path, f.atoms, name))
    elif f.op in (Quantifier.ALL, Quantifier.SOME):
        head += ", on every path"
    for _, part in shown.parts:
        lines += _lines(structure, part, name, inner)
    return [head + ":" * bool(lines), *lines]


def path_text(
    structure: Kripke,
    path: Path,
    atoms: Sequence[str],
    name: Callable[[int], str] = "state {}".format,
) -> str:
    """Return a path as one line, with those of ``atoms`` that are true in each state."""
    states = path.states
    shown = list(range(len(states)))
    if len(states) > _SHOWN:
        shown = [*shown[: _SHOWN // 2], -1, *shown[-_SHOWN // 2 :]]
    pieces = []
    for position in shown:
        if position < 0:
            pieces.append(f"… {len(states) - _SHOWN} more …")
            continue
        letter = structure.letter(states[position])
        true = ", ".join(atom for atom in atoms if atom in letter)
        pieces.append(f"{name(states[position])} {{{true}}}")
    text = " -> ".join(pieces)
    if path.loops_to is not None:
        return f"{text}, and back to {name(states[path.loops_to])} for ever"
    return f"{text}, and the path ends" if path.ends else text
