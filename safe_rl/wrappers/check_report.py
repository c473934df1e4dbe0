"""What :func:`safe_rl.wrappers.check_grounding` found, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Problem:
    """One finding.

    Attributes:
        severity: ``"error"`` (training would stop, or could not be right), ``"warning"`` (probably
            a mistake, but random actions may just not have shown it), ``"note"``.
        kind: What was found: ``"grounding_failed"``, ``"missing_proposition"``, ``"not_boolean"``,
            ``"keys_change"``, ``"unsatisfiable"``, ``"cannot_trigger"``, ``"violated_at_reset"``,
            ``"sometimes_violated_at_reset"``, ``"never_changes"``, ``"never_triggered"`` or
            ``"unused_proposition"``.
        subject: The proposition or the monitor instance.
        message: What is wrong and what to do.
    """

    severity: Severity
    kind: str
    subject: str
    message: str


@dataclass(frozen=True)
class PropositionSummary:
    """How often a proposition was true: ``true`` of ``steps`` letters, with ``changes`` changes."""

    name: str
    true: int
    steps: int
    changes: int


@dataclass(frozen=True)
class InstanceSummary:
    """What one monitor instance counted over all ``episodes``."""

    id: str
    N: int
    V: int
    U: int
    pending: int
    at_reset: int


@dataclass(frozen=True)
class Report:
    """What :func:`check_grounding` found.

    Attributes:
        problems: The findings, errors first.
        propositions: One row per proposition that was read as a Boolean.
        instances: One row per monitor instance; empty where the letters could not be read.
        episodes: Number of resets.
        steps: Number of steps.
    """

    problems: tuple[Problem, ...]
    propositions: tuple[PropositionSummary, ...]
    instances: tuple[InstanceSummary, ...]
    episodes: int
    steps: int

    @property
    def ok(self) -> bool:
        """Whether there is no error; warnings and notes do not count."""
        return not any(problem.severity == "error" for problem in self.problems)

    def of_kind(self, kind: str) -> tuple[Problem, ...]:
        """Return the findings of one kind."""
        return tuple(problem for problem in self.problems if problem.kind == kind)

    def __str__(self) -> str:
        """The report as text: two tables and the findings."""
        lines = [f"checked {self.steps} steps in {self.episodes} episodes with random actions", ""]
        lines += _table(
            ("proposition", "true", "changes"),
            [(p.name, f"{p.true} of {p.steps}", str(p.changes)) for p in self.propositions],
        )
        if self.instances:
            lines += [
                "",
                *_table(
                    ("specification", "N", "V", "U", "pending", "violated at reset"),
                    [
                        (
                            i.id,
                            *(str(n) for n in (i.N, i.V, i.U, i.pending)),
                            f"{i.at_reset} of {self.episodes}",
                        )
                        for i in self.instances
                    ],
                ),
            ]
        lines.append("")
        if not self.problems:
            lines.append("no problems found")
        for problem in self.problems:
            lines.append(f"{problem.severity:8}{problem.kind}: {problem.message}")
        return "\n".join(lines)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Lay out columns: the first to the left, the others to the right."""
    widths = [max(len(row[c]) for row in [header, *rows]) for c in range(len(header))]
    lines = []
    for row in [header, *rows]:
        first, *others = (
            cell.ljust(w) if c == 0 else cell.rjust(w)
            for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    return lines
