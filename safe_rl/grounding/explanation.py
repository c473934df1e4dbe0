"""A violation explained frame by frame: what was true, what touched what, where things were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safe_rl.errors import ConfigurationError, GroundingError, near


@dataclass(frozen=True)
class FrameRecord:
    """What an environment can say about one control frame.

    Attributes:
        step: control steps since the reset (0 for the first frame).
        propositions: the letter.
        contacts: considered contact pairs, as geom names, sorted.
        forbidden: those of them that no rule allows.
        heights: height in metres of each object's origin.
        aperture: sum of the finger joints, in metres.
    """

    step: int
    propositions: Mapping[str, bool]
    contacts: tuple[tuple[str, str], ...]
    forbidden: tuple[tuple[str, str], ...]
    heights: Mapping[str, float]
    aperture: float


def explain(
    records: Sequence[FrameRecord],
    propositions: Sequence[str] | None = None,
    *,
    around: int | None = None,
    before: int = 5,
    after: int = 5,
) -> str:
    """A table of frames as text: one row per frame, one column per proposition.

    True is ``1`` and false ``.``. The contacts column lists the pairs that began (+) or ended (-)
    with the frame, the first row all of them; a forbidden pair carries an exclamation mark.

    Args:
        records: frames of one episode, in order.
        propositions: columns; default: those whose value changes within the rows shown.
        around: show the frames from ``before`` before this step until ``after`` after it; default:
            all.
        before: frames shown before ``around``.
        after: frames shown after ``around``.

    Raises:
        GroundingError: for a proposition that the records lack.
        ConfigurationError: if no record falls into the range.
    """
    shown = [r for r in records if around is None or around - before <= r.step <= around + after]
    if not shown:
        steps = f"{records[0].step} to {records[-1].step}" if records else "none"
        raise ConfigurationError(f"no record within the frames asked for; recorded: {steps}")
    known = list(shown[0].propositions)
    if propositions is None:
        propositions = [p for p in known if len({r.propositions[p] for r in shown}) > 1]
    for name in propositions:
        if name not in known:
            raise GroundingError(f"no proposition {name!r} in the records{near(name, known)}")
    objects = list(shown[0].heights)
    header = ["step", *propositions, *(f"z({o})" for o in objects), "aperture", "contacts"]
    rows = [header]
    previous: set[tuple[str, str]] = set()
    for record in shown:
        marks = ["1" if record.propositions[p] else "." for p in propositions]
        heights = [f"{record.heights[o]:.3f}" for o in objects]
        now = set(record.contacts)
        changes = [f"+{_pair(p, record)}" for p in record.contacts if p not in previous]
        changes += [f"-{_pair(p, record)}" for p in sorted(previous - now)]
        previous = now
        cells = [str(record.step), *marks, *heights, f"{record.aperture:.4f}", " ".join(changes)]
        rows.append(cells)
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def _pair(pair: tuple[str, str], record: FrameRecord) -> str:
    return f"{pair[0]}~{pair[1]}{'!' if pair in record.forbidden else ''}"
