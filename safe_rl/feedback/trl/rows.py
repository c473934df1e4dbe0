"""Rows for TRL's trainers, as JSON lines, from the logs of refinements and from sampled plans.

Which rows suit which trainer, and their columns, is TRL's: `dataset formats
<https://huggingface.co/docs/trl/dataset_formats>`_. All are conversational. TRL itself is not
needed to write them.

Only answers that were checked make rows. A call that failed, was blocked or was cut off has no plan
to learn from or to avoid.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from safe_rl.errors import ConfigurationError, near
from safe_rl.feedback.refinement import Judgement, Message, Problem, Round
from safe_rl.files import write_whole

Row = dict[str, Any]
Kind = Literal["sft", "mending", "dpo", "kto"]


class Sample(NamedTuple):
    """An answer that was checked.

    Attributes:
        problem: the name of the problem.
        prompt: the conversation that it answers, the request first.
        answer: as the planner wrote it.
        judgement: what the check says.
    """

    problem: str
    prompt: tuple[Message, ...]
    answer: str
    judgement: Judgement

    @property
    def good(self) -> bool:
        """Whether the plan is safe and reaches the goal."""
        return self.judgement.safe and self.judgement.success

    @property
    def request(self) -> tuple[Message, ...]:
        """The prompt up to the first answer in it."""
        roles = [message["role"] for message in self.prompt]
        return self.prompt[: roles.index("assistant")] if "assistant" in roles else self.prompt


def logged(runs: Mapping[str, Sequence[Round]] | Iterable[Sequence[Round]]) -> list[Sample]:
    """Return the answers of refinements, which :func:`~safe_rl.feedback.refinement.read_log` reads.

    Args:
        runs: the rounds of each problem.
    """
    every = runs.values() if isinstance(runs, Mapping) else runs
    return [
        Sample(one.problem, tuple(one.messages), one.answer, one.judgement)
        for rounds in every
        for one in rounds
        if not one.fault
    ]


def sampled(problem: Problem, answers: Iterable[str]) -> list[Sample]:
    """Return answers to a problem's opening, each checked; equal ones once."""
    opening = tuple(problem.opening())
    return [
        Sample(problem.name, opening, answer, problem.judge(answer))
        for answer in dict.fromkeys(answers)
    ]


def sft_rows(samples: Iterable[Sample]) -> list[Row]:
    """Return ``messages`` for ``SFTTrainer``: the request, and a plan that is safe and complete.

    A plan that was mended is the answer to the bare request here, so that no unsafe plan is
    imitated with it.
    """
    rows = [
        {"messages": [*_plain(sample.request), _answer(sample.answer)]}
        for sample in samples
        if sample.good
    ]
    return _distinct(rows)


def mending_rows(samples: Iterable[Sample]) -> list[Row]:
    """Return ``prompt`` and ``completion`` for ``SFTTrainer``: how a faulty plan was mended.

    The prompt holds the faulty plans and what was said of them. ``SFTTrainer`` learns the
    completion only.
    """
    rows = [
        {"prompt": _plain(sample.prompt), "completion": [_answer(sample.answer)]}
        for sample in samples
        if sample.good and len(sample.request) < len(sample.prompt)
    ]
    return _distinct(rows)


def dpo_rows(samples: Iterable[Sample], rejected: Literal["unsafe", "any"] = "unsafe") -> list[Row]:
    """Return ``prompt``, ``chosen`` and ``rejected`` for ``DPOTrainer``.

    Each faulty plan for a problem is set against the last plan for it that is safe and complete:
    in a refinement, the repaired plan. A problem without both gives no row.

    Args:
        samples: of one problem or many.
        rejected: ``"unsafe"`` for plans that violate a rule, ``"any"`` for all that are not both
            safe and complete.

    Raises:
        ConfigurationError: ``rejected`` is neither, or one name stands for two requests.
    """
    if rejected not in ("unsafe", "any"):
        raise ConfigurationError(f"rejected {rejected!r} must be 'unsafe' or 'any'")
    rows = []
    for own in _by_problem(samples):
        good = [sample for sample in own if sample.good]
        for sample in own:
            violating = bool(sample.judgement.violations)
            if good and not sample.good and (violating or rejected == "any"):
                rows.append(
                    {
                        "prompt": _plain(sample.request),
                        "chosen": [_answer(good[-1].answer)],
                        "rejected": [_answer(sample.answer)],
                    }
                )
    return _distinct(rows)


def kto_rows(samples: Iterable[Sample]) -> list[Row]:
    """Return ``prompt``, ``completion`` and ``label`` for ``KTOTrainer``: answers where they stood.

    The label says whether the plan is safe and complete. ``KTOTrainer`` needs rows of both labels.
    """
    rows = [
        {
            "prompt": _plain(sample.prompt),
            "completion": [_answer(sample.answer)],
            "label": sample.good,
        }
        for sample in samples
    ]
    return _distinct(rows)


MAKERS: Final[Mapping[str, Callable[[Iterable[Sample]], list[Row]]]] = {
    "sft": sft_rows,
    "mending": mending_rows,
    "dpo": dpo_rows,
    "kto": kto_rows,
}
"""Kind to the function that makes its rows."""


def rows_of(kind: str, samples: Iterable[Sample]) -> list[Row]:
    """Return the rows of a kind.

    Raises:
        ConfigurationError: there is no such kind.
    """
    if kind not in MAKERS:
        raise ConfigurationError(
            f"there are no rows {kind!r}{near(kind, MAKERS)}; use one of {', '.join(MAKERS)}"
        )
    return MAKERS[kind](samples)


def write_rows(rows: Iterable[Row], path: str | os.PathLike[str]) -> int:
    """Write rows as JSON lines, which ``datasets.load_dataset("json", ...)`` reads.

    Returns:
        How many were written. The file appears whole or not at all.

    Raises:
        ConfigurationError: there are none; trainers fail on an empty file.
    """
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    if not lines:
        raise ConfigurationError(
            f"there are no rows to write to {path}: no answer fits; "
            "a pair needs a faulty and a good plan for one problem"
        )
    write_whole(Path(path), "".join(f"{line}\n" for line in lines))
    return len(lines)


def _by_problem(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        own = found.setdefault(sample.problem, [])
        own.append(sample)
        if _plain(own[0].request) != _plain(sample.request):
            raise ConfigurationError(
                f"{sample.problem} stands for two different requests; pairs need one"
            )
    yield from found.values()


def _plain(messages: Iterable[Message]) -> list[dict[str, str]]:
    return [dict(message) for message in messages]


def _answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _distinct(rows: Iterable[Row]) -> list[Row]:
    return list({json.dumps(row, sort_keys=True): row for row in rows}.values())
