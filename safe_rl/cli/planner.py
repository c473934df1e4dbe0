"""``safe-rl planner-data``: the logs of refinements as rows for TRL's trainers."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from safe_rl.cli.messages import clear_errors


class RowKind(StrEnum):
    """Which trainer the rows are for."""

    SFT = "sft"
    MENDING = "mending"
    DPO = "dpo"
    KTO = "kto"


def planner_data_command(
    logs: Annotated[list[Path], typer.Argument(help="Logs that safe-rl refine wrote.")],
    kind: Annotated[
        RowKind,
        typer.Option(
            help="sft: requests with safe and complete plans; mending: conversations that end with "
            "one; dpo: repaired against violating plans; kto: every answer with a label."
        ),
    ] = RowKind.SFT,
    output: Annotated[
        Path | None, typer.Option(help="The file of JSON lines; default: KIND.jsonl.")
    ] = None,
) -> None:
    """Write what planners answered as rows for TRL's SFT, DPO and KTO trainers."""
    with clear_errors():
        from safe_rl.feedback.refinement import read_log
        from safe_rl.feedback.trl import logged, rows_of, write_rows

        samples = [sample for log in logs for sample in logged(read_log(log)[1])]
        path = output or Path(f"{kind.value}.jsonl")
        written = write_rows(rows_of(kind.value, samples), path)
        outcomes = Counter(sample.judgement.outcome for sample in samples)
        told = ", ".join(f"{times} {outcome}" for outcome, times in outcomes.most_common())
        typer.echo(f"wrote {written} rows to {path}, from {len(samples)} answers: {told}")
