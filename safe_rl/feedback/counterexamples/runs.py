"""What happened when the monitors read a trace, before anything is explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from safe_rl.monitors.rows import Row


def marks(bit: int) -> bytes:
    """Return a table for ``bytes.translate``: 1 where packed events have the bit, else 0."""
    return bytes(int(code & bit != 0) for code in range(256))


@dataclass(frozen=True)
class Run:
    """What happened when the monitors read a trace.

    Attributes:
        letters: step by step, the truths of the propositions, one byte each.
        rows: before each letter, and after the last, the row of each block of instances.
        codes: the packed events, instance by instance and step by step.
    """

    letters: list[bytes]
    rows: list[tuple[Row, ...]]
    codes: bytes


class Place(NamedTuple):
    """Where an instance stands in a run.

    Attributes:
        columns: of its atoms in a letter.
        block: of its row.
        position: in the row.
    """

    columns: tuple[int, ...]
    block: int
    position: int
