"""How many plans are checked in a second: read, carried out, watched, explained, by stage.

The plans are those of generated household tasks, each changed at random (a step left out, doubled,
moved, or about another object), so that no two answers are alike and most are wrong in some way.
unified-planning's simulator carries out the same plans for comparison.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing, measure, met, parser, per_second, save
from safe_rl.envs.household import Action, Split, Task, make_task
from safe_rl.errors import MissingDependencyError
from safe_rl.feedback import explainer
from safe_rl.feedback.plans import PlanReader, check_plan

TARGET = 2_000
"""Plans in a second on one core, everything included."""

Changed = tuple[Task, str, tuple[Action, ...]]
"""A task, an answer, and the plan in it."""


def changed_plans(tasks: Sequence[Task], count: int, seed: int) -> list[Changed]:
    """Return plans of the tasks with some of their steps changed, as numbered lines with prose."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        task = rng.choice(tasks)
        plan = list(rng.choice((task.reference, task.naive)))
        for _ in range(rng.choice((0, 1, 2))):
            at = rng.randrange(len(plan))
            change = rng.choice(("leave out", "double", "move", "other object"))
            if change == "leave out" and len(plan) > 1:
                del plan[at]
            elif change == "double":
                plan.insert(at, plan[at])
            elif change == "move":
                plan.insert(rng.randrange(len(plan)), plan.pop(at))
            elif plan[at].args:
                others = (*plan[at].args[1:], rng.choice(task.objects))
                plan[at] = Action(plan[at].name, others)
        steps = "\n".join(f"{i}. {action}" for i, action in enumerate(plan, 1))
        found.append((task, f"Here is the plan, number {rng.random()}:\n\n{steps}\n", tuple(plan)))
    return found


def time_split(split: Split, tasks: int, plans: int, repeats: int) -> dict[str, Any]:
    """Time each stage over plans that were not met before in each repeat."""
    known = [make_task(split, seed) for seed in range(tasks)]
    drawn = changed_plans(known, plans * (repeats + 1) * 5, seed=0)
    fresh = iter(drawn)
    readers = {task.name: PlanReader(task) for task in known}

    def stage(work: Callable[[Changed], object]) -> Timing:
        for _ in range(plans):  # warm: monitors and actions are compiled once for each task
            work(next(fresh))
        return measure(lambda: [work(next(fresh)) for _ in range(plans)], repeats=repeats)

    outcomes: Counter[str] = Counter()

    def whole(one: Changed) -> None:
        outcomes[check_plan(one[1], one[0]).outcome] += 1

    def prompt(one: Changed) -> str:
        return explainer(one[0].specs).explain(one[0].run(one[2]).trace).prompt()

    timings = {
        "read": stage(lambda one: readers[one[0].name].read(one[1])),
        "run": stage(lambda one: one[0].run(one[2])),
        "explain": stage(lambda one: explainer(one[0].specs).explain(one[0].run(one[2]).trace)),
        "say": stage(prompt),
        "all": stage(whole),
    }
    return {
        "plans": plans,
        "steps": sum(len(plan) for _, _, plan in drawn) / len(drawn),
        "rules": sum(len(task.specs.instances) for task in known) / len(known),
        "seconds": {name: timing.cpu / plans for name, timing in timings.items()},
        "rate": plans / timings["all"].cpu,
        "outcomes": dict(outcomes.most_common()),
        "timings": timings,
    }


def time_unified_planning(tasks: int) -> dict[str, Any]:
    """Carry out references by unified-planning's own simulator, and by ours, once each."""
    known = [make_task("train", seed) for seed in range(tasks)]
    try:
        problems = [task.problem() for task in known]
    except MissingDependencyError as error:
        return {"missing": str(error)}
    from unified_planning.shortcuts import SequentialSimulator

    simulators = [SequentialSimulator(problem) for problem in problems]

    def theirs() -> None:
        for task, problem, simulator in zip(known, problems, simulators, strict=True):
            state = simulator.get_initial_state()
            for action in task.reference:
                things = [problem.object(name) for name in action.args]
                state = simulator.apply(state, problem.action(action.name), things)

    def ours() -> None:
        for task in known:
            task.run(task.reference)

    theirs(), ours()
    times = {"theirs": measure(theirs, repeats=1), "ours": measure(ours, repeats=5)}
    return {name: timing.cpu / tasks for name, timing in times.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and keep its results."""
    given = parser("plan_checks", str(__doc__).partition("\n")[0]).parse_args(argv)
    console = Console()
    tasks, plans, repeats = (3, 20, 2) if given.quick else (42, 1000, 7)
    results: dict[str, Any] = {}
    table = Table(
        title="Checks of plans, us of CPU time each (explain: run and explain; say: in words too)"
    )
    stages = ("read", "run", "explain", "say", "all")
    for heading in ("tasks", "steps", "rules", *stages, "rate", f"{TARGET:,}/s"):
        table.add_column(heading, justify="left" if heading == "tasks" else "right")
    for split in ("train", "longer"):
        row = results[split] = time_split(split, tasks, plans, repeats)
        table.add_row(
            split,
            f"{row['steps']:.1f}",
            f"{row['rules']:.0f}",
            *(f"{row['seconds'][name] * 1e6:.0f}" for name in stages),
            per_second(row["rate"]),
            met(row["rate"], TARGET, at_most=False),
        )
    console.print(table)
    for split, row in results.items():
        parts = ", ".join(f"{count} {name}" for name, count in row["outcomes"].items())
        console.print(f"{split}: {parts}")
    peer = time_unified_planning(1 if given.quick else 6)
    if "missing" in peer:
        console.print(f"[yellow]without the peer: {peer['missing']}[/yellow]")
    else:
        console.print(
            f"carrying out a reference plan: {peer['ours'] * 1e6:.0f} us; "
            f"unified-planning's simulator: {peer['theirs'] * 1e3:,.0f} ms"
        )
    save("plan_checks", {"splits": results, "peer": peer}, given.output, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
