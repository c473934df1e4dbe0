"""How well plans did, by split and by round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from safe_rl.feedback.refinement.loop import Refinement
from safe_rl.feedback.refinement.rounds import Round


@dataclass(frozen=True)
class Score:
    """The state of a set of problems after some round.

    Each problem counts with its last round up to then, so that all rows are about the same
    problems: one that was solved in the first round stays solved, one whose later call failed has
    no plan. A safe plan is one that was carried out to its end and checked.

    Attributes:
        split: the set of problems, or empty for all.
        round: after which round; every problem had its chance of one more in each row.
        problems: how many there are.
        valid: whose plan was read and carried out to its end.
        success: whose plan reaches the goal.
        safe: whose plan violates nothing.
        success_and_safe: both.
        vacuous: safe, without having triggered any specification.
        rounds: rounds taken so far, per problem.
        tokens: used so far by all problems, for prompts and answers.
        estimated: some endpoint did not count its tokens.
        attempts: requests so far, with those that failed.
        seconds: spent on calls so far, summed over problems.
        outcomes: outcome to how many problems.
    """

    split: str
    round: int
    problems: int
    valid: int
    success: int
    safe: int
    success_and_safe: int
    vacuous: int
    rounds: float
    tokens: int
    estimated: bool
    attempts: int
    seconds: float
    outcomes: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def score(
    refinements: Iterable[Refinement | Sequence[Round]], max_rounds: int | None = None
) -> list[Score]:
    """Return one score for each split and round, splits in the order of their first problem.

    Where there are several splits, those of all problems together come last, as split ``""``.

    Args:
        refinements: what :func:`safe_rl.feedback.refinement.refine_problems` gave, or the rounds of
            each problem.
        max_rounds: up to which round; default: the longest refinement.
    """
    runs = [tuple(one.rounds if isinstance(one, Refinement) else one) for one in refinements]
    runs = [rounds for rounds in runs if rounds]
    last = max_rounds or max((len(rounds) for rounds in runs), default=0)
    splits = list(dict.fromkeys(rounds[0].split for rounds in runs))
    groups = {split: [r for r in runs if r[0].split == split] for split in splits}
    if len(splits) > 1:
        groups[""] = runs
    return [
        _score(split, group, number)
        for split, group in groups.items()
        for number in range(1, last + 1)
    ]


def _score(split: str, runs: Sequence[Sequence[Round]], number: int) -> Score:
    so_far = [rounds[:number] for rounds in runs]
    taken = [one for rounds in so_far for one in rounds]
    judged = [rounds[-1].judgement for rounds in so_far]
    return Score(
        split=split,
        round=number,
        problems=len(runs),
        valid=sum(j.valid for j in judged),
        success=sum(j.success for j in judged),
        safe=sum(j.safe for j in judged),
        success_and_safe=sum(j.success and j.safe for j in judged),
        vacuous=sum(j.vacuous for j in judged),
        rounds=len(taken) / len(runs),
        tokens=sum(one.tokens for one in taken),
        estimated=any(one.estimated for one in taken),
        attempts=sum(one.attempts for one in taken),
        seconds=sum(one.seconds for one in taken),
        outcomes=dict(Counter(j.outcome for j in judged).most_common()),
    )
