"""``safe-rl compare``: the reports of ManiGuard's protocol side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from safe_rl.cli.messages import clear_errors
from safe_rl.errors import RecordingError


def compare_command(
    reports: Annotated[
        list[Path], typer.Argument(help="report.json of evaluations with eval=maniguard.")
    ],
) -> None:
    """Show success, safety and engagement of several policies, one row each."""
    with clear_errors():
        from safe_rl.cli.screen import screen
        from safe_rl.evaluation.protocol_report import comparison_table

        screen().print(comparison_table({str(path): _protocol(path) for path in reports}))


def _protocol(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        found: dict[str, Any] = document["protocol"]
        return {**found["rates"], "V/N": found["specifications"]["all"]["per_trigger"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordingError(
            f"{path}: not the report of an evaluation with eval=maniguard "
            f"({type(error).__name__}: {error})"
        ) from None
