"""Evidence in words, for people and for language models."""

from __future__ import annotations

from typing import Final

from safe_rl.logic.ctl import CTL, Quantifier
from safe_rl.model_checking.paths import Evidence, Path
from safe_rl.model_checking.structure import Kripke

_SHOWN: Final = 12
"""A path of more states is shortened in the middle."""


def describe(structure: Kripke, evidence: Evidence) -> str:
    """Return what the evidence says, as lines of text.

    Each state is shown by its number and those propositions of the formula that are true in it.

    >>> from safe_rl.model_checking import check, merge_rollouts
    >>> tree = merge_rollouts([[set(), {"hot"}, {"hot", "off"}], [set(), {"hot"}, set()]])
    >>> print(describe(tree, check(tree, "AG(hot -> AF off)").evidence()))
    AG(hot -> AF off) fails in state 0:
      0 {} -> 1 {hot}
      hot -> AF off fails in state 1:
        hot holds in state 1
        AF off fails in state 1:
          1 {} -> 2 {}, and the path ends
    """
    return "\n".join(_lines(structure, evidence, ""))


def _lines(structure: Kripke, shown: Evidence, indent: str) -> list[str]:
    f = shown.formula
    head = f"{indent}{f} {'holds' if shown.holds else 'fails'} in state {shown.state}"
    inner = indent + "  "
    lines: list[str] = []
    if shown.path is not None:
        lines.append(inner + _path(structure, f, shown.path))
    elif f.op is Quantifier.ALL:
        head += ", on every path"
    elif f.op is Quantifier.SOME:
        head += ", on every path"
    for _, part in shown.parts:
        lines += _lines(structure, part, inner)
    return [head + ":" * bool(lines), *lines]


def _path(structure: Kripke, formula: CTL, path: Path) -> str:
    names = [name for name in formula.atoms if name in structure.propositions]
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
        true = ", ".join(name for name in names if name in letter)
        pieces.append(f"{states[position]} {{{true}}}")
    text = " -> ".join(pieces)
    if path.loops_to is not None:
        return f"{text}, and back to {states[path.loops_to]} for ever"
    return f"{text}, and the path ends" if path.ends else text
