"""Refinement of many problems at once, for a model that answers many conversations in one batch.

The rounds are those of :mod:`safe_rl.feedback.refinement.loop`, with the same messages and the same
reasons to stop; only the calls are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from safe_rl.errors import ConfigurationError
from safe_rl.feedback.refinement import Message, Refinement
from safe_rl.feedback.refinement.rounds import Problem, Round, next_messages, stop_reason

AnswersMany = Callable[[Sequence[Sequence[Message]]], Sequence[str]]
"""From conversations to their answers."""


def refine_together(
    answers: AnswersMany, problems: Sequence[Problem], max_rounds: int = 3
) -> list[Refinement]:
    """Refine the plans for some problems, round by round.

    Args:
        answers: answers conversations, such as
            :meth:`safe_rl.feedback.planner.model.SmallPlanner.answers`.
        problems: what is asked, and how answers are judged.
        max_rounds: how many rounds at most.

    Returns:
        One refinement for each problem, in their order. Tokens are counted as words.

    Raises:
        ConfigurationError: ``max_rounds`` is not positive, or a wrong number of answers came back.
    """
    if max_rounds < 1:
        raise ConfigurationError(f"max_rounds {max_rounds!r} must be at least 1")
    openings = [list(problem.opening()) for problem in problems]
    runs: list[list[Round]] = [[] for _ in problems]
    pending = list(range(len(problems)))
    while pending:
        conversations = [next_messages(openings[number], runs[number]) for number in pending]
        begun = perf_counter()
        found = answers(conversations)
        seconds = (perf_counter() - begun) / len(pending)
        for number, messages, answer in zip(pending, conversations, found, strict=True):
            one = _round(problems[number], runs[number], messages, answer, seconds, max_rounds)
            runs[number].append(one)
        pending = [number for number in pending if runs[number][-1].stopped is None]
    return [
        Refinement(problem.name, problem.split, tuple(rounds))
        for problem, rounds in zip(problems, runs, strict=True)
    ]


def _round(
    problem: Problem,
    before: Sequence[Round],
    messages: Sequence[Message],
    answer: str,
    seconds: float,
    max_rounds: int,
) -> Round:
    judgement = problem.judge(answer)
    one = Round(
        problem=problem.name,
        split=problem.split,
        number=len(before) + 1,
        messages=tuple(messages),
        answer=answer,
        fault="",
        told=False,
        judgement=judgement,
        prompt_tokens=sum(len(message["content"].split()) for message in messages),
        completion_tokens=len(answer.split()),
        estimated=True,
        attempts=1,
        seconds=seconds,
        stopped=None,
    )
    reason = stop_reason([*before, one], max_rounds=max_rounds, token_limit=None)
    return replace(one, stopped=reason)
