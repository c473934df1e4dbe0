"""The monitors' verdict as the reward of TRL's GRPO and RLOO trainers.

A plan's value depends on this plan alone, never on the others of its group, and there is no credit
for a plan that is nearly right. An answer is one single act of the learner, and over one act a
potential-based shaping reward adds up to a constant, which no group notices; every other bonus for
half a plan would move the optimum (Ng, Harada and Russell, 1999).

TRL is not needed here: it calls what these functions return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from safe_rl.envs.household.plan import PlanningTask
from safe_rl.errors import ConfigurationError, near
from safe_rl.feedback.counterexamples.explaining import explainer
from safe_rl.feedback.plans import Outcome, PlanResult, check_plan
from safe_rl.logic import Letter
from safe_rl.specs import Objects, Specs

Completion = str | Sequence[Mapping[str, Any]]
"""An answer: text, or the messages of a conversational data set."""
Columns = Mapping[str, Any]
"""What a row of the data set holds beside the prompt."""
LogMetric = Callable[[str, float], object]
LogExtra = Callable[[str, list[Any]], object]
Tasks = Mapping[str, PlanningTask] | Callable[[str], PlanningTask]
"""Tasks by name, or what finds them."""
Spelling = Callable[[PlanningTask, str], str]
"""From a task and an answer to the answer as :func:`safe_rl.feedback.plans.check_plan` reads it."""

_NO_COLUMN: Final = frozenset({"trainer_state", "log_extra", "log_metric", "environments"})


class RewardFunction(Protocol):
    """What TRL calls: by keyword, with all columns of the data set and further arguments."""

    __name__: str

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Completion], **kwargs: Any
    ) -> list[float | None]:
        """Return one value for each completion, ``None`` where it cannot be judged."""
        ...


@dataclass(frozen=True)
class PlanValue:
    """What plans are worth.

    The best plans are those that are safe and complete, whatever they are compared with.

    Attributes:
        goal: added where the goal is reached.
        violation: added for each violated specification instance, times its weight.
        invalid: the value of an answer that is no plan, or of a plan that could not be carried out.

    Raises:
        ConfigurationError: a value of a wrong sign.
    """

    goal: float = 1.0
    violation: float = -1.0
    invalid: float = -1.0

    def __post_init__(self) -> None:
        if self.goal <= 0 or self.violation >= 0 or self.invalid > 0:
            raise ConfigurationError(
                f"a goal must be worth more than 0 ({self.goal}), a violation less "
                f"({self.violation}), an invalid plan at most 0 ({self.invalid}); "
                "otherwise the best plan need not be safe and complete"
            )

    def of(self, result: PlanResult, task: PlanningTask) -> float:
        """Return the value of a checked plan."""
        violated = {found.instance for found in result.violations}
        weights = {instance.id: instance.specification.weight for instance in task.specs.instances}
        cost = self.violation * sum(weights[name] for name in violated)
        if not result.carried_out:
            return self.invalid + cost
        return (self.goal if result.reached else 0.0) + cost


def plan_reward_func(
    tasks: Tasks,
    value: PlanValue | None = None,
    *,
    column: str = "task",
    spelling: Spelling = lambda task, answer: answer,
) -> RewardFunction:
    """Return a reward for plans.

    It logs ``plan/valid``, ``plan/success``, ``plan/safe``, ``plan/success_and_safe`` and
    ``plan/vacuous``, the share of completions of each; ``violated/<id>``, the share that violates a
    specification, among those whose task has it; and the outcomes as a column of the table of
    completions.

    Args:
        tasks: the tasks by name.
        value: what plans are worth.
        column: the column of the data set with the task's name. A row whose name is ``None`` or
            empty is not judged: it is for another reward function.
        spelling: turns an answer into one that the check can read.

    Raises:
        ConfigurationError: (when it is called) the data set has no such column, or there is no task
            of that name.

    >>> from safe_rl.envs.household import task_named
    >>> reward = plan_reward_func(task_named)
    >>> reward(
    ...     prompts=["Close and move the jar."] * 3,
    ...     completions=["close(jar), pick(jar), place(jar, counter)", "pick(jar)", "Yes!"],
    ...     task=["household/train/12", "household/train/12", None],
    ... )
    [1.0, -1.0, None]
    """
    worth = value or PlanValue()

    def find(name: str) -> PlanningTask:
        if callable(tasks):
            return tasks(name)
        if name not in tasks:
            raise ConfigurationError(f"there is no task {name!r}{near(name, tasks)}")
        return tasks[name]

    def plan_reward(
        prompts: Sequence[Any], completions: Sequence[Completion], **kwargs: Any
    ) -> list[float | None]:
        if column not in kwargs:
            raise ConfigurationError(
                f"the data set has no column {column!r} with the names of the tasks; "
                f"its columns: {', '.join(sorted(set(kwargs) - _NO_COLUMN)) or 'none'}"
            )
        values: list[float | None] = []
        outcomes: list[str] = []
        tally = _Tally()
        for completion, name in zip(completions, kwargs[column], strict=True):
            text = answer_text(completion)
            if not name or text is None:
                values.append(None)
                outcomes.append("")
                continue
            task = find(name)
            result = check_plan(spelling(task, text), task)
            values.append(worth.of(result, task))
            outcomes.append(result.outcome.value)
            tally.plan(result)
            tally.violations(
                {instance.specification.id for instance in task.specs.instances},
                {found.specification for found in result.violations},
            )
        tally.log(kwargs.get("log_metric"))
        log_extra: LogExtra | None = kwargs.get("log_extra")
        if log_extra is not None:
            log_extra("outcome", outcomes)
        return values

    return plan_reward


def reward_func(
    specs: Specs,
    trace: Callable[[str, Columns], Iterable[Letter] | None],
    *,
    kept: float = 1.0,
    violation: float = -1.0,
    truncated: bool = False,
    objects: Objects | None = None,
) -> RewardFunction:
    """Return a reward for whatever can be turned into a trace of letters.

    A completion is worth ``kept`` where nothing is violated, else ``violation`` for each violated
    specification instance, times its weight. It logs ``violated/<id>``, the share of completions
    that violate a specification, and ``vacuous``, the share that put no rule to the test.

    Args:
        specs: what :func:`safe_rl.specs.load_specs` takes.
        trace: from an answer and its row to the letters, or ``None`` for what cannot be judged.
        kept: the value of a completion that violates nothing.
        violation: the value of one violation.
        truncated: whether a trace's end is only where it was cut off.
        objects: binds ``forall`` variables.

    Raises:
        ConfigurationError: ``kept`` is negative, ``violation`` is not, or there are no
            specifications.
        SpecificationError: a ``forall`` variable is not bound.

    >>> from safe_rl.specs import Specification
    >>> rule = Specification("lid_first", "G(lift -> O lid)")
    >>> reward = reward_func([rule], lambda text, row: [{word} for word in text.split()])
    >>> reward(prompts=["", ""], completions=["lid lift", "lift lid"])
    [1.0, -1.0]
    """
    if kept < 0 or violation >= 0:
        raise ConfigurationError(
            f"kept {kept} must be at least 0 and violation {violation} less; "
            "otherwise a violation pays"
        )
    watched = explainer(specs, objects)
    weights = {i.id: i.specification.weight for i in watched.specs.instances}
    rules = {instance.specification.id for instance in watched.specs.instances}

    def monitor_reward(
        prompts: Sequence[Any], completions: Sequence[Completion], **kwargs: Any
    ) -> list[float | None]:
        values: list[float | None] = []
        tally = _Tally()
        columns = {name: column for name, column in kwargs.items() if name not in _NO_COLUMN}
        for number, completion in enumerate(completions):
            row = {name: column[number] for name, column in columns.items()}
            text = answer_text(completion)
            letters = None if text is None else trace(text, row)
            if letters is None:
                values.append(None)
                continue
            feedback = watched.explain(letters, truncated=truncated)
            violated = {found.instance for found in feedback.violations}
            cost = violation * sum(weights[name] for name in violated)
            values.append(cost if violated else kept)
            tally.violations(rules, {found.specification for found in feedback.violations})
            tally.count("vacuous", feedback.vacuous)
        tally.log(kwargs.get("log_metric"))
        return values

    return monitor_reward


def answer_text(completion: Completion) -> str | None:
    """Return the text of a completion, plain or conversational: that of its last answer.

    ``None`` where there is no text to judge, as after a call of a tool that nothing follows.

    >>> answer_text([{"role": "assistant", "content": "open(fridge)"}])
    'open(fridge)'
    """
    if isinstance(completion, str):
        return completion
    for message in reversed(completion):
        if message.get("role") == "assistant":
            content = message.get("content")
            if isinstance(content, str):
                return None if not content and message.get("tool_calls") else content
            parts = [part["text"] for part in content or () if part.get("type") == "text"]
            return "".join(parts) if parts else None
    return None


class _Tally:
    """Shares that are logged as metrics."""

    def __init__(self) -> None:
        self._seen: dict[str, list[bool]] = {}

    def count(self, name: str, value: bool) -> None:
        self._seen.setdefault(name, []).append(value)

    def plan(self, result: PlanResult) -> None:
        self.count("plan/valid", result.valid)
        self.count("plan/success", result.success)
        self.count("plan/safe", result.safe)
        self.count("plan/success_and_safe", result.outcome is Outcome.SAFE_AND_COMPLETE)
        self.count("plan/vacuous", result.vacuous)

    def violations(self, rules: set[str], violated: set[str]) -> None:
        for rule in sorted(rules):
            self.count(f"violated/{rule}", rule in violated)

    def log(self, log_metric: LogMetric | None) -> None:
        if log_metric is not None:
            for name, values in self._seen.items():
                log_metric(name, sum(values) / len(values))
