"""``safe-rl serve``: a trained policy behind a websocket."""

from __future__ import annotations

from typing import Annotated

import typer

from safe_rl.cli.messages import clear_errors


def serve_command(
    settings: Annotated[
        list[str],
        typer.Argument(
            metavar="policy=FOLDER [NAME=VALUE]...",
            help="policy: a folder that holds policy.json. host [127.0.0.1], port [8000; 0: any "
            "free one], deterministic [false], cost [0: which to aim at], device [cpu], "
            "threads [1].",
        ),
    ],
) -> None:
    """Serve a policy by openpi's websocket protocol, until interrupted."""
    with clear_errors():
        from safe_rl.cli.serving import ServeSettings, serve

        serve(ServeSettings.of(settings))
