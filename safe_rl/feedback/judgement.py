"""What a check says of an answer: the one value that checks give and the loop takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from safe_rl.errors import ConfigurationError


@dataclass(frozen=True)
class Judgement:
    """What a check says of one answer.

    Attributes:
        outcome: one word or two for what happened ("parse error", "unsafe", "safe and complete").
        words: what to tell the planner; empty where there is nothing to mend.
        plan: the actions in normal form, by which a repeated plan is known; empty if there is none.
        valid: the plan was read, and every action could be carried out.
        success: the goal was reached.
        safe: the whole plan was carried out and checked, and no specification is violated.
        vacuous: it is safe, and no specification was triggered.
        step: the index of the action that failed or violated, or ``None``.
        violations: the violations as plain data.
        verdicts: specification instance to verdict.
        sampled: of sampled runs, where there are any: how many ``runs``, how many are ``safe`` and
            a ``success``, and the verdict on each of the ``formulas`` about all of them.

    Raises:
        ConfigurationError: a plan that was not carried out is called safe or successful.
    """

    outcome: str
    words: str = ""
    plan: tuple[str, ...] = ()
    valid: bool = False
    success: bool = False
    safe: bool = False
    vacuous: bool = False
    step: int | None = None
    violations: tuple[Mapping[str, Any], ...] = ()
    verdicts: Mapping[str, str] = field(default_factory=dict)
    sampled: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, claim in (("safe", self.safe), ("successful", self.success)):
            if claim and not self.valid:
                raise ConfigurationError(
                    f"a judgement ({self.outcome!r}) calls a plan {name} that was not carried out; "
                    "only a plan that was checked to its end is"
                )
        if self.safe and self.violations:
            raise ConfigurationError(
                f"a judgement ({self.outcome!r}) calls a plan safe that has violations"
            )
        if self.vacuous and not self.safe:
            raise ConfigurationError("only a safe plan can be vacuously safe")
