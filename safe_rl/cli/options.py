"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Select = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="Only this specification; repeatable.")
]
RecordedObjects = Annotated[
    list[str] | None,
    typer.Option(
        "--objects",
        metavar="PROPERTY=NAME,NAME",
        help="Objects that carry a property, instead of those recorded; repeatable.",
    ),
]
Simulator = Annotated[
    list[str] | None,
    typer.Option(
        metavar="env=NAME",
        help="The environment whose simulator labels states, and its settings; repeatable.",
    ),
]
