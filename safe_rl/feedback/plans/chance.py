"""Plans whose actions may turn out otherwise: sampled runs, merged to a tree, checked by CTL.

Every run must keep every LTLf specification; formulas in CTL speak about all the ways in which the
plan may go at once, and ``P>=p [...]`` about how often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from safe_rl.envs.household.plan import Action, PlanningTask, Run
from safe_rl.envs.household.task import Task
from safe_rl.envs.household.vocabulary import PREDICATES, in_words
from safe_rl.errors import UnknownPropositionError, near
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.plans.checking import PlanResult, check_plan
from safe_rl.logic.ctl import CTL, Quantifier, subformulas
from safe_rl.model_checking import ComputationTree, check, judge, merge_rollouts, parse_ctl
from safe_rl.specs import plain_phrase
from safe_rl.specs.binding import arguments

UNDECIDED: Final = "undecided"
"""The outcome of a plan whose probability so many runs cannot tell."""

_STATES_TOLD: Final = 6


@dataclass(frozen=True)
class SampledRun:
    """One run of a plan.

    Attributes:
        run: what happened.
        result: what the check says of it.
    """

    run: Run
    result: PlanResult


def sample_runs(task: PlanningTask, plan: Sequence[Action], runs: int) -> list[SampledRun]:
    """Return runs of a plan with the seeds 0, 1, …; the same plan has the same runs again."""
    return [SampledRun(task.run(plan, seed), check_plan(plan, task, seed)) for seed in range(runs)]


def judge_by_chance(
    task: PlanningTask, intended: PlanResult, runs: int, formulas: Sequence[str] = ()
) -> Judgement:
    """Return what becomes of a plan, over sampled runs too.

    The plan is safe if it is when all goes as intended, no sampled run violates a specification,
    and every formula holds. A run that cannot go on, because something turned out otherwise, is
    judged up to there. Success is that of the intended run; how many runs reach the goal is in
    ``sampled``.

    Args:
        task: the task.
        intended: the result of :func:`~safe_rl.feedback.plans.check_plan` without a seed.
        runs: how many runs are sampled.
        formulas: in CTL, over the propositions of the task. Those without ``P`` are about the
            intended run and the sampled ones; those with ``P`` about the sampled ones.

    Raises:
        FormulaSyntaxError: a formula cannot be parsed.
        UnknownPropositionError: a formula names a proposition that the task does not have.
    """
    judgement = intended.judgement()
    if not judgement.safe or not intended.trace:
        return judgement
    sampled = sample_runs(task, intended.actions, runs)
    safe = sum(not one.result.violations for one in sampled)
    counts: dict[str, Any] = {
        "runs": runs,
        "safe": safe,
        "success": sum(one.result.success for one in sampled),
        "formulas": {},
    }
    words: list[str] = []
    violating = next((one for one in sampled if one.result.violations), None)
    if violating is not None:
        words.append(
            f"The plan is safe if all goes as intended, but not otherwise: {runs - safe} of {runs} "
            f"sampled runs are unsafe. In one of them {_otherwise(violating.run, intended.actions)}"
            f".\n\n{violating.result.words}"
        )
    undecided = False
    for text in formulas:
        verdict, why = _checked(task, text, intended, sampled)
        counts["formulas"][text] = verdict
        undecided |= verdict == UNDECIDED
        words += [why] if why else []
    if not words:
        return replace(judgement, sampled=counts)
    fails = violating is not None or "fails" in counts["formulas"].values()
    found = violating.result if violating is not None else None
    return replace(
        judgement,
        outcome="unsafe" if fails else UNDECIDED,
        words="\n\n".join(words),
        safe=False,
        vacuous=False,
        step=None if found is None else found.step,
        violations=() if found is None else tuple(v.to_json() for v in found.violations),
        verdicts=judgement.verdicts if found is None else found.judgement().verdicts,
        sampled=counts,
    )


def read_formula(task: PlanningTask, text: str) -> CTL:
    """Return a CTL formula over the propositions of a task.

    Raises:
        FormulaSyntaxError: it cannot be parsed.
        UnknownPropositionError: it names a proposition that the task does not have.
    """
    formula = parse_ctl(text)
    for name in formula.atoms:
        if not is_proposition(task, name):
            raise UnknownPropositionError(
                f"{task.name}: the formula {text} names {name!r}, which is no proposition of the "
                f"task{near(name, task.specs.propositions)}"
            )
    return formula


def is_proposition(task: PlanningTask, name: str) -> bool:
    """Return whether the letters of a task tell of a proposition, be it that it is never true.

    A letter is a set of what is true, in which a name that nothing sets would read as false.
    """
    if name in task.goal.atoms:
        return True
    if not isinstance(task, Task):
        return name in task.specs.propositions
    predicate = PREDICATES.get(name.partition("(")[0])
    objects = arguments(name)
    return name in task.derived or (
        predicate is not None
        and len(objects) == len(predicate.over)
        and all(thing in task.entities for thing in objects)
    )


def _checked(
    task: PlanningTask, text: str, intended: PlanResult, sampled: Sequence[SampledRun]
) -> tuple[str, str]:
    """The verdict on a formula, and words where it does not hold."""
    formula = read_formula(task, text)
    quantitative = any(node.op is Quantifier.PROBABLY for node in subformulas(formula))
    first = [] if quantitative else [SampledRun(task.run(intended.actions), intended)]
    everything = [*first, *sampled]
    about = frozenset(formula.atoms)
    tree = merge_rollouts(
        [[letter & about for letter in one.run.trace] for one in everything],
        formula.atoms,
        truncated=[one.run.failure is not None for one in everything],
        keys=[[("start",), *_ways(one.run)] for one in everything],
    )
    if quantitative:
        found = judge(tree, formula)
        if found.verdict == "holds":
            return "holds", ""
        counts = [claim.count for claim in found.claims]
        shares = "; ".join(
            f"{count.satisfied} of {count.rollouts} sampled runs satisfy {count.formula}"
            for count in counts
        )
        says = "does not hold" if found.verdict == "fails" else "cannot be told from so few runs"
        return found.verdict, f"The rule {text} {says}: {shares}."
    if check(tree, formula).holds:
        return "holds", ""
    return "fails", _why(task, text, formula, tree, intended.actions, everything)


def _why(
    task: PlanningTask,
    text: str,
    formula: CTL,
    tree: ComputationTree,
    plan: Sequence[Action],
    runs: Sequence[SampledRun],
) -> str:
    """The path that shows why a formula fails, in words."""
    states = check(tree, formula).evidence().longest()
    lines = [f"The rule {text} does not hold over the ways in which the plan may go."]
    if len(states) > 1:
        through = next(
            one.run
            for one, leaf in zip(runs, tree.ends.tolist(), strict=True)
            if states[-1] in tree.path_to(leaf)
        )
        lines.append(f"It fails when {_otherwise(through, plan)}:")
    for state in states[-_STATES_TOLD:]:
        depth = int(tree.depths[state])
        when = "at the start" if depth == 0 else f"after step {depth} ({plan[depth - 1]})"
        letter = tree.letter(state)
        held = ", ".join(_in_words(task, name, name in letter) for name in formula.atoms)
        lines.append(f"- {when}: {held}")
    return "\n".join(lines)


def _in_words(task: PlanningTask, name: str, value: bool) -> str:
    for instance in task.specs.instances:
        phrase = instance.phrases.get(name)
        if phrase is not None:
            return phrase.of(value)
    if isinstance(task, Task):
        return in_words(name, value)
    return plain_phrase(name).of(value)  # another domain's names may be the household's


def _ways(run: Run) -> list[tuple[str, ...]]:
    return [(what,) for what in run.happened]


def _otherwise(run: Run, plan: Sequence[Action]) -> str:
    """What does not go as intended in a run."""
    found = [
        f'step {step} ({action}) turns out as "{what}"'
        for step, (action, what) in enumerate(zip(plan, run.happened, strict=False), start=1)
        if what != "done"
    ]
    return " and ".join(found) if found else "all goes as intended"
