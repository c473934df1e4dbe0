"""``safe-rl model-check``: a formula on the tree of recorded rollouts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from safe_rl.cli.messages import clear_errors

if TYPE_CHECKING:
    from safe_rl.cli.traces import Step
    from safe_rl.model_checking import BranchCount, ComputationTree

EXIT_STATUS = {"holds": 0, "fails": 1, "undecided": 3}


class LeavesChoice(StrEnum):
    """How a path is read that comes to the end of a rollout."""

    WEAK = "weak"
    STUTTERING = "stuttering"


@dataclass(frozen=True)
class Finding:
    """What was found about a formula.

    Attributes:
        formula: as it was read.
        verdict: ``holds``, ``fails`` or ``undecided``.
        counts: path formulas, how many rollouts satisfy each, and what that says of a ``P``.
        states: states of the tree along the path that shows the verdict.
        words: the same in words.
    """

    formula: str
    verdict: str
    counts: tuple[tuple[str, BranchCount, str], ...]
    states: tuple[int, ...]
    words: str


def model_check_command(
    formula: Annotated[str, typer.Argument(help='CTL, such as "AG(p -> AF q)" or "P>=0.9 [F p]".')],
    traces: Annotated[
        list[Path], typer.Argument(help="JSON lines, one rollout each, as for safe-rl check.")
    ],
    ltlf: Annotated[
        bool, typer.Option("--ltlf", help="Read FORMULA as LTLf, on every branch.")
    ] = False,
    leaves: Annotated[
        LeavesChoice,
        typer.Option(
            help="weak: a path ends with its rollout; stuttering: the last state repeats."
        ),
    ] = LeavesChoice.WEAK,
    truncated: Annotated[
        bool,
        typer.Option(
            "--truncated",
            help="The rollouts were cut off: a share counts as unknown what could still change "
            "(A and E read the cut as an end).",
        ),
    ] = False,
    confidence: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Of the interval of a share of rollouts.")
    ] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Check a formula on recorded rollouts, merged into a tree by what they share.

    Exit status: 0 it holds, 1 it fails, 3 the rollouts are too few to decide, 2 bad input.
    """
    with clear_errors():
        recorded, tree = merge_files(traces, formula, ltlf, truncated)
        check = _check_ltlf if ltlf else _check_ctl
        found = check(tree, formula, leaves.value, confidence)
        if as_json:
            print(
                json.dumps(_document(found, tree, traces, recorded), indent=2, ensure_ascii=False)
            )
        else:
            _print(found, tree, traces)
    raise typer.Exit(EXIT_STATUS[found.verdict])


def merge_files(
    paths: list[Path], formula: str, ltlf: bool, truncated: bool
) -> tuple[list[tuple[Step, ...]], ComputationTree]:
    """Return the steps of each file and their tree, over the names that all steps give.

    Raises:
        SafeRLError: a file cannot be read, the formula cannot, or a step lacks a proposition.
    """
    from safe_rl.cli.traces import letters, read_trace
    from safe_rl.logic import parse
    from safe_rl.model_checking import merge_rollouts, parse_ctl

    recorded = [read_trace(path) for path in paths]
    steps = [step for rollout in recorded for step in rollout]
    names = list(dict.fromkeys(name for step in steps for name in step.values))
    used = (parse if ltlf else parse_ctl)(formula, names).atoms
    everywhere = [
        name
        for name in names
        if name in used or all(isinstance(step.values.get(name), bool) for step in steps)
    ]
    rollouts = [
        letters(path, rollout, everywhere) for path, rollout in zip(paths, recorded, strict=True)
    ]
    return recorded, merge_rollouts(rollouts, everywhere, truncated=[truncated] * len(rollouts))


def _check_ctl(tree: ComputationTree, text: str, leaves: str, confidence: float) -> Finding:
    from safe_rl.logic import Op
    from safe_rl.logic.ctl import CTL, Quantifier
    from safe_rl.logic.ctl_semantics import checked_leaves
    from safe_rl.model_checking import check, count_branches, describe, judge

    judged = judge(tree, text, confidence=confidence, leaves=checked_leaves(leaves))
    formula = judged.formula
    if judged.claims:
        counts = tuple(
            (str(claim.formula.args[0]), claim.count, f"{claim.formula} {claim.verdict}")
            for claim in judged.claims
        )
        return Finding(str(formula), judged.verdict, counts, (), "")
    shown = check(tree, formula, leaves=checked_leaves(leaves)).evidence()
    counts = ()
    if isinstance(formula.op, Quantifier):
        (path,) = formula.args
        if path.op is Op.NEXT and formula.op is Quantifier.ALL:
            path = CTL(Op.WEAK_NEXT, path.args, "", path.bounds)
        counts = ((str(path), count_branches(tree, path, confidence=confidence), ""),)
    words = describe(tree, shown, name=_step_name(tree))
    states = shown.longest()
    if shown.path is None and len(states) == 1:
        states = ()  # no path shows it
    return Finding(str(formula), judged.verdict, counts, states, words)


def _check_ltlf(tree: ComputationTree, text: str, leaves: str, confidence: float) -> Finding:
    from safe_rl.model_checking import Path as Branch
    from safe_rl.model_checking import count_branches
    from safe_rl.model_checking.words import path_text

    del leaves  # LTLf is about finite branches
    count = count_branches(tree, text, confidence=confidence)
    verdict = "fails" if count.violated else "undecided" if count.unknown else "holds"
    formula = str(count.formula)
    if count.example is None:
        return Finding(formula, verdict, ((formula, count, ""),), (), "")
    states = tree.path_to(count.example)
    branch = Branch(states, ends=True)
    shown = path_text(tree, branch, count.formula.atoms, _step_name(tree))
    words = f"{formula} fails on a branch:\n  {shown}"
    return Finding(formula, verdict, ((formula, count, ""),), states, words)


def _step_name(tree: ComputationTree) -> Callable[[int], str]:
    return lambda state: f"step {tree.depths[state]}"


def _document(
    found: Finding, tree: ComputationTree, paths: list[Path], recorded: list[tuple[Step, ...]]
) -> dict[str, Any]:
    rollout = _rollout(found, tree)
    return {
        "formula": found.formula,
        "verdict": found.verdict,
        "rollouts": tree.num_rollouts,
        "states": tree.num_states,
        "counts": [
            {
                "of": what,
                "satisfied": count.satisfied,
                "violated": count.violated,
                "unknown": count.unknown,
                "interval": [count.low, count.high],
                "confidence": count.confidence,
                **({"claim": claim} if claim else {}),
            }
            for what, count, claim in found.counts
        ],
        "path": None
        if rollout is None
        else {
            "file": str(paths[rollout]),
            "lines": [step.line for step in recorded[rollout][: len(found.states)]],
            "true": [sorted(tree.letter(state)) for state in found.states],
        },
        "words": found.words,
    }


def _rollout(found: Finding, tree: ComputationTree) -> int | None:
    """The number of a rollout that goes along the path."""
    if not found.states:
        return None
    last = found.states[-1]
    inside = (tree.ends >= last) & (tree.ends < last + tree.sizes[last])
    return int(inside.argmax())


def _print(found: Finding, tree: ComputationTree, paths: list[Path]) -> None:
    print(f"formula   {found.formula}")
    print(f"rollouts  {tree.num_rollouts}, a tree of {tree.num_states} states")
    for what, count, claim in found.counts:
        unknown = f", {count.unknown} unknown" if count.unknown else ""
        print(
            f"share     {count.satisfied} of {count.rollouts} satisfy {what}{unknown}: "
            f"probability between {count.low:.3f} and {count.high:.3f} "
            f"({100 * count.confidence:g}%)" + (f"; {claim}" if claim else "")
        )
    print(f"verdict   {found.verdict}")
    rollout = _rollout(found, tree)
    if rollout is not None:
        print(f"shown by  {paths[rollout]}")
    if found.words:
        print("\n" + found.words)
