"""Planners that need no model: the plans that tasks bring along, and recorded answers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from safe_rl.errors import ConfigurationError, PlannerRefusedError, RecordingError
from safe_rl.feedback.refinement.planners import Answer, Message, Planner
from safe_rl.feedback.refinement.rounds import Problem

TaskPlan = Literal["reference", "naive"]


@dataclass(frozen=True)
class TaskPlans:
    """Answers with a plan that the task itself holds, the same in each round.

    Attributes:
        which: ``"reference"``, which is safe and complete; ``"naive"``, which knows the goal only.
    """

    which: TaskPlan

    @property
    def name(self) -> str:
        """For logs and tables."""
        return {"reference": "scripted", "naive": "naive"}[self.which]

    def for_round(self, problem: Problem, number: int) -> Planner:
        """Return the planner for a round.

        Raises:
            ConfigurationError: the problem's task has no such plan.
        """
        plan = getattr(getattr(problem, "task", None), self.which, None)
        if not plan:
            raise ConfigurationError(
                f"{problem.name} has no {self.which} plan; use another planner for it"
            )
        text = "\n".join(f"{i}. {action}" for i, action in enumerate(plan, start=1))
        return lambda messages: Answer(text, prompt_tokens=0, completion_tokens=0)


class RecordedAnswers:
    """Answers that were recorded, as JSON lines: the log of a run, or lines of one's own.

    A line holds ``"problem"`` (or ``"task"``), ``"answer"``, and, if there are several rounds,
    ``"number"`` (or ``"round"``); without one, the lines of a problem are its rounds in order.

    Args:
        path: the file.

    Raises:
        RecordingError: the file cannot be read, or a line holds no answer.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._answers: dict[str, dict[int, Answer]] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RecordingError(f"{path} cannot be read: {error}") from None
        for number, line in enumerate(lines, start=1):
            try:
                data = json.loads(line)
            except ValueError:
                if number == len(lines):
                    continue  # a log whose last line was torn by a kill
                raise RecordingError(f"{path}, line {number}: no JSON") from None
            if number == 1 and isinstance(data, dict) and "settings" in data:
                continue
            self._add(data, f"{path}, line {number}")
        if not self._answers:
            raise RecordingError(f"{path} holds no answers")

    def _add(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise RecordingError(f"{where}: not an object, but {data!r:.60}")
        problem, text = data.get("problem", data.get("task")), data.get("answer")
        if not isinstance(problem, str) or not isinstance(text, str):
            raise RecordingError(
                f"{where}: 'problem' and 'answer' must be texts; the keys are {', '.join(data)}"
            )
        rounds = self._answers.setdefault(problem, {})
        number = data.get("number", data.get("round", len(rounds) + 1))
        if not isinstance(number, int) or number < 1 or number in rounds:
            raise RecordingError(
                f"{where}: round {number!r} of {problem} must be a whole number from 1 on that "
                "no earlier line has"
            )
        counts = (data.get("prompt_tokens"), data.get("completion_tokens"))
        prompt, completion = (count if isinstance(count, int) else None for count in counts)
        rounds[number] = Answer(text, str(data.get("fault", "")), prompt, completion)

    @property
    def name(self) -> str:
        """For logs and tables."""
        return f"file:{self.path.name}"

    def for_round(self, problem: Problem, number: int) -> Planner:
        """Return the planner for a round; where nothing is recorded, its call is refused."""
        answer = self._answers.get(problem.name, {}).get(number)

        def planner(messages: Sequence[Message]) -> Answer:
            if answer is None:
                raise PlannerRefusedError(
                    f"{self.path.name} holds no answer for round {number} of {problem.name}",
                    this_request_only=True,
                )
            return answer

        return planner
