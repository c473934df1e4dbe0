"""How long the model checker takes on trees and chains, beside pyModelChecking on the same ones.

``AG(p -> AF q)`` on computation trees of four shapes and on a chain, with random labels and with
``q`` nowhere but at the ends, which makes searches long; merging of rollouts into trees; LTLf on
all branches; evidence and its confirmation. pyModelChecking gets its structure and its formula
ready-made; ours includes reading the formula's text.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing, measure, met, milliseconds, parser, per_second, save
from safe_rl.model_checking import (
    ComputationTree,
    Kripke,
    check,
    check_branches,
    confirms,
    merge_arrays,
    parse_ctl,
    tree_from_parents,
)

FORMULA = "AG(p -> AF q)"
TARGETS = {"tree, 3,000": 5e-3, "chain, 100,000": 0.5}
PEER_LARGEST = 100_000
"""pyModelChecking is not timed on larger structures."""
LABELS = ("random", "ends")


def parents(shape: str, count: int) -> NDArray[np.int64]:
    """Return the parents of a tree: ``bushy``, ``tree`` (random), ``deep`` or ``chain``."""
    rng = np.random.default_rng(0)
    places = np.arange(count)
    if shape == "bushy":
        above = (places - 1) // 3
    elif shape == "chain":
        above = places - 1
    else:
        back = places if shape == "tree" else np.minimum(places, 20)
        above = places - 1 - (rng.random(count) * back).astype(np.int64)
    above[0] = -1
    return above


def labelled_tree(shape: str, count: int, labels: str) -> ComputationTree:
    """Return a tree with propositions ``p`` and ``q``.

    Args:
        shape: As for :func:`parents`.
        count: How many states.
        labels: ``random``, a tenth of the states p and three tenths q; or ``ends``, q in leaves
            only and p everywhere else.
    """
    above = parents(shape, count)
    if labels == "random":
        truth = np.random.default_rng(1).random((count, 2)) < (0.1, 0.3)
    else:
        leaf = np.ones(count, dtype=bool)
        leaf[above[1:]] = False
        truth = np.stack([~leaf, leaf], axis=1)
    return tree_from_parents(above, truth, ["p", "q"])[0]


def peer_is_missing() -> str | None:
    """Return why pyModelChecking cannot be the peer, or None."""
    if find_spec("pyModelChecking") is None:
        return "pyModelChecking is not installed: pip install --no-deps pyModelChecking==1.3.4"
    return None


def time_peer(tree: ComputationTree, repeats: int) -> tuple[Timing, bool]:
    """Time pyModelChecking on the tree, each leaf its own successor; return its verdict too."""
    from pyModelChecking import CTL, Kripke

    edges = [
        (state, after)
        for state in range(tree.num_states)
        for after in (tree.successors(state).tolist() or [state])
    ]
    structure = Kripke(R=edges, L={s: set(tree.letter(s)) for s in range(tree.num_states)})
    p, q = CTL.AtomicProposition("p"), CTL.AtomicProposition("q")
    formula = CTL.A(CTL.G(CTL.Imply(p, CTL.A(CTL.F(q)))))
    verdict = 0 in CTL.modelcheck(structure, formula)
    return measure(lambda: CTL.modelcheck(structure, formula), repeats=repeats), verdict


def time_tree(shape: str, count: int, labels: str, repeats: int, with_peer: bool) -> dict[str, Any]:
    """Time one tree, as a tree and as a structure of which nothing more is known."""
    tree = labelled_tree(shape, count, labels)
    graph = Kripke(tree.propositions, tree.bits, tree.offsets, tree.targets, tree.initial)
    verdict = check(tree, FORMULA).holds  # finds the arrays that a structure keeps
    if check(graph, FORMULA).holds != verdict:
        raise SystemExit(f"a {shape} is one thing as a tree and another as a graph")
    row: dict[str, Any] = {
        "shape": shape,
        "states": count,
        "labels": labels,
        "depth": int(tree.depths.max()),
        "holds": verdict,
        "check": measure(lambda: check(tree, FORMULA), repeats=repeats),
        "check_graph": measure(lambda: check(graph, FORMULA), repeats=repeats),
        "peer": None,
        "times_faster": None,
    }
    if with_peer and count <= PEER_LARGEST:
        row["peer"], theirs = time_peer(tree, max(repeats // 4, 1))
        if theirs != verdict:
            raise SystemExit(f"pyModelChecking says {theirs} on {shape} {labels}, and we {verdict}")
        row["times_faster"] = row["peer"].cpu / row["check"].cpu
    return row


def memory(tree: ComputationTree) -> dict[str, float]:
    """Return bytes a state: of the tree, and at the peak of checking the formula."""
    kept = sum(value.nbytes for value in vars(tree).values() if isinstance(value, np.ndarray))
    tracemalloc.start()
    check(tree, FORMULA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"tree": kept / tree.num_states, "check_peak": peak / tree.num_states}


def time_rest(count: int, repeats: int) -> dict[str, Any]:
    """Time merging, LTLf on branches, and evidence with its confirmation."""
    steps = 20
    labels = np.random.default_rng(0).random((count, 3)) < 0.3
    lengths = np.full(count // steps, steps)
    tree = merge_arrays(labels, lengths, ["p", "q", "r"])
    chain = labelled_tree("chain", count // 10, "random")
    rule = parse_ctl("AG(p -> AF (q & !q))")
    found = check(chain, rule)
    shown = found.evidence()
    if not confirms(chain, rule, shown, holds=False):
        raise SystemExit("the counterexample is not confirmed")
    return {
        "steps": count,
        "rollout_steps": steps,
        "merged_states": tree.num_states,
        "merge": measure(lambda: merge_arrays(labels, lengths, ["p", "q", "r"]), repeats=repeats),
        "branches": measure(
            lambda: check_branches(tree, "G(p -> F[0,8] (q | r))"), repeats=repeats
        ),
        "chain": count // 10,
        "evidence": measure(found.evidence, repeats=repeats),
        "confirm": measure(lambda: confirms(chain, rule, shown, holds=False), repeats=repeats),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print tables, write the JSON file."""
    given = parser("model_checking", str(__doc__).partition("\n")[0]).parse_args(argv)
    console = Console()
    missing = peer_is_missing()
    if missing:
        console.print(f"[yellow]without the peer: {missing}[/yellow]")
    small, long, large = (300, 1000, 3000) if given.quick else (3000, 100_000, 1_000_000)
    repeats = 1 if given.quick else 9
    sizes = [
        ("tree", small),
        ("bushy", small),
        ("deep", small),
        ("chain", long),
        ("bushy", large),
        ("tree", large),
        ("deep", large),
    ]
    rows = [
        time_tree(shape, count, labels, repeats, missing is None)
        for shape, count in sizes
        for labels in LABELS
    ]
    table = Table(title=f"{FORMULA}, CPU time; the peer is pyModelChecking")
    for column in ("shape", "states", "depth", "labels", "tree", "graph", "peer", "faster"):
        table.add_column(column, justify="left" if column in ("shape", "labels") else "right")
    verdicts = []
    for row in rows:
        table.add_row(
            row["shape"],
            f"{row['states']:,}",
            f"{row['depth']:,}",
            row["labels"],
            milliseconds(row["check"].cpu),
            milliseconds(row["check_graph"].cpu),
            milliseconds(row["peer"].cpu) if row["peer"] else "-",
            f"{row['times_faster']:.0f}x" if row["times_faster"] else "-",
        )
        name = f"{row['shape']}, {row['states']:,}"
        if name in TARGETS:
            slower = max(row["check"].cpu, row["check_graph"].cpu)
            kept = met(slower, TARGETS[name], at_most=True)
            verdicts.append(
                f"{name}, {row['labels']}: {milliseconds(slower)}, "
                f"target {milliseconds(TARGETS[name])}: {kept}"
            )
    console.print(table)
    console.print("\n".join(verdicts))
    used = memory(labelled_tree("tree", large, "random"))
    console.print(
        f"memory, {large:,} states: {used['tree']:.0f} bytes a state for the tree, "
        f"{used['check_peak']:.0f} more at the peak of a check"
    )
    rest = time_rest(large, max(repeats // 3, 1))
    console.print(
        f"merging {rest['steps']:,} steps of {rest['rollout_steps']}-step rollouts: "
        f"{milliseconds(rest['merge'].cpu)} ({per_second(rest['steps'] / rest['merge'].cpu)})\n"
        f"LTLf on every branch of these {rest['merged_states']:,} states: "
        f"{milliseconds(rest['branches'].cpu)}\n"
        f"a counterexample of up to {rest['chain']:,} steps: "
        f"{milliseconds(rest['evidence'].cpu)}, "
        f"its confirmation {milliseconds(rest['confirm'].cpu)}"
    )
    results = {"peer": "pyModelChecking", "peer_missing": missing, "formula": FORMULA}
    save(
        "model_checking",
        {**results, "structures": rows, "memory": used, "rest": rest},
        given.output,
        console,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
