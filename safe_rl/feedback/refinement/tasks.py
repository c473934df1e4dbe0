"""Refinement of a planner's plans for tasks: ``refine(planner, task, specs, max_rounds=3)``.

A task is put into words, with its rules of safety in words, as formulas, or both; each plan is
carried out and watched; what the monitors say goes back to the planner.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal, get_args

from safe_rl.envs.household.classes import ontology
from safe_rl.envs.household.describe import describe
from safe_rl.envs.household.plan import PlanningTask
from safe_rl.envs.household.task import Task
from safe_rl.errors import ConfigurationError, UnknownPropositionError, near
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.plans.chance import is_proposition, judge_by_chance, read_formula
from safe_rl.feedback.plans.checking import check_plan
from safe_rl.feedback.refinement.calls import Caller
from safe_rl.feedback.refinement.loop import Refinement, refine_problem, refine_problems
from safe_rl.feedback.refinement.planners import Message, Planner
from safe_rl.feedback.refinement.prompts import CHANCE, CORRECT_THE_PLAN, formulas_prompt
from safe_rl.feedback.refinement.rounds import PlannerPerRound
from safe_rl.feedback.refinement.run_log import RunLog
from safe_rl.specs import Specs, load_specs

Told = Literal["words", "formulas", "both", "nothing"]
"""How the rules of safety are told before the first round."""


@dataclasses.dataclass(frozen=True)
class TaskProblem:
    """A task as the loop takes it.

    Attributes:
        task: what is to be done.
        told: how the rules of safety are told; counterexamples tell them in any case.
        runs: how many runs are sampled where actions may turn out otherwise; 0: a plan is
            judged as if all goes as intended.
        ctl: formulas about all runs taken together, see :mod:`safe_rl.feedback.plans.chance`.

    Raises:
        ConfigurationError: an argument is out of range, or there are formulas and no runs.
        FormulaSyntaxError: a formula cannot be parsed.
        UnknownPropositionError: a formula names a proposition that the task does not have.
    """

    task: PlanningTask
    told: Told = "words"
    runs: int = 0
    ctl: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.told not in get_args(Told):
            known = get_args(Told)
            raise ConfigurationError(
                f"told {self.told!r} is not known{near(str(self.told), known)}; "
                f"use one of {', '.join(known)}"
            )
        if self.runs < 0:
            raise ConfigurationError(f"runs {self.runs!r} must be at least 0")
        if self.ctl and not self.runs:
            raise ConfigurationError(
                f"the formula {self.ctl[0]} is about sampled runs, and runs is 0; "
                "say how many are sampled"
            )
        for text in self.ctl:
            read_formula(self.task, text)

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name

    @property
    def split(self) -> str:
        """The split that the task is of."""
        return self.task.name.split("/")[1]

    def opening(self) -> Sequence[Message]:
        """The task in words; formulas come first, so that the goal and how to answer come last."""
        as_formulas = self.told in ("formulas", "both")
        formulas = [str(i.formula) for i in self.task.specs.instances] if as_formulas else []
        parts = [
            formulas_prompt(formulas, self.ctl),
            CHANCE if self.runs else "",
            describe(self.task, rules=self.told in ("words", "both")),
        ]
        return [{"role": "user", "content": "\n\n".join(part for part in parts if part)}]

    def judge(self, answer: str) -> Judgement:
        """Check an answer."""
        result = check_plan(answer, self.task)
        if self.runs:
            judgement = judge_by_chance(self.task, result, self.runs, self.ctl)
        else:
            judgement = result.judgement()
        if not judgement.words:
            return judgement
        return dataclasses.replace(judgement, words=f"{judgement.words}\n\n{CORRECT_THE_PLAN}")


def with_specs(task: Task, specs: Specs) -> Task:
    """Return the task with other rules of safety.

    Args:
        task: the task.
        specs: what :func:`safe_rl.specs.load_specs` takes; properties are bound to the task's
            objects by the ontology.

    Raises:
        ConfigurationError: none of the rules is about anything in the task.
        UnknownPropositionError: a rule names a proposition that the task does not have.
        SpecificationError, OntologyError: the specifications cannot be used.
    """
    loaded = load_specs(specs)
    if loaded.objects is None:
        loaded = ontology().bind(list(loaded), task.entities)
    about = {instance.specification.id for instance in loaded.instances}
    if not about:
        raise ConfigurationError(
            f"{task.name}: none of the specifications is about an object of this task; "
            "a task without rules cannot be judged"
        )
    for name in loaded.propositions:
        if not is_proposition(task, name):
            raise UnknownPropositionError(
                f"{task.name}: a specification names {name!r}, which is no proposition of the "
                f"task{near(name, task.specs.propositions)}; it would never be true"
            )
    found = dataclasses.replace(task, specs=loaded.select([s.id for s in loaded if s.id in about]))
    vars(found)["simulator"] = task.simulator  # what it has compiled stays of use
    return found


def refine(
    planner: Planner | PlannerPerRound,
    task: PlanningTask,
    specs: Specs | None = None,
    max_rounds: int = 3,
    *,
    token_limit: int | None = None,
    told: Told = "words",
    runs: int = 0,
    ctl: Sequence[str] = (),
    caller: Caller | None = None,
    log: RunLog | None = None,
) -> Refinement:
    """Refine a planner's plan for one task.

    Each round asks the planner, carries out its plan, watches it, and tells what is wrong. It
    ends with success (a safe plan that reaches the goal), on a plan that was seen before, or on
    the limit of rounds or tokens; ``stopped`` of the result says which.

    Args:
        planner: ``planner(messages) -> text``, such as an
            :class:`~safe_rl.feedback.refinement.Endpoint`.
        task: what is to be done.
        specs: rules of safety instead of the task's own; for tasks of the household.
        max_rounds: how many rounds at most.
        token_limit: no round begins once so many tokens were used.
        told: how the rules are told before the first round.
        runs: how many runs of each plan are sampled; see :class:`TaskProblem`.
        ctl: formulas about all of them.
        caller: paces the calls and tries again.
        log: where rounds are written, and taken from.

    Raises:
        PlannerRefusedError: the endpoint refuses the key, the model or the address.
        ConfigurationError: an argument is out of range.

    >>> from safe_rl.envs.household import make_task
    >>> task = make_task("train", 12)
    >>> steps = "pick(jar), place(jar, counter)"
    >>> answers = iter([steps, f"close(jar), {steps}"])
    >>> found = refine(lambda messages: next(answers), task)
    >>> [one.judgement.outcome for one in found.rounds], found.stopped
    (['unsafe', 'safe and complete'], 'success')
    """
    if specs is not None:
        if not isinstance(task, Task):
            raise ConfigurationError(
                f"{task.name}: rules can be replaced in tasks of the household only, and this is "
                f"a {type(task).__name__}; leave out specs"
            )
        task = with_specs(task, specs)
    problem = TaskProblem(task, told, runs, tuple(ctl))
    if log is not None:
        (found,) = refine_problems(
            planner,
            [problem],
            max_rounds=max_rounds,
            token_limit=token_limit,
            caller=caller,
            log=log,
        )
        return found
    return refine_problem(
        planner, problem, max_rounds=max_rounds, token_limit=token_limit, caller=caller
    )
