"""The monitors of one environment, in plain integers: no arrays, no automaton code, only look-ups.

What it computes is what :func:`safe_rl.monitors.step` computes, bit for bit; the rules are stated
in :mod:`safe_rl.monitors.machine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cached_property
from operator import getitem
from struct import Struct
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import CheckpointError, GroundingError, ResetNeededError
from safe_rl.logic import Letter, as_bool, missing_propositions
from safe_rl.monitors.counts import Counts
from safe_rl.monitors.events import (
    CLOSED,
    EXPOSED,
    TRIGGERED,
    VERDICT_SHIFT,
    VIOLATED,
    StepEvents,
    Verdict,
)
from safe_rl.monitors.machine import build_machine, terminated_code, truncated_code
from safe_rl.monitors.rows import Row, split_into_blocks
from safe_rl.monitors.saving import check_fingerprint
from safe_rl.monitors.tables import bind_specs, fingerprint
from safe_rl.specs import Objects, Specs

_LOG_BYTES: Final = 1 << 14
_MOST_EVENTS: Final = 1 << 14
_BOOLEAN: Final = frozenset({bool, np.bool_})

_Phase = Literal["new", "running", "finished"]


class _KnownEvents(dict[bytes, StepEvents]):
    """Events by their codes. They repeat from step to step, and their arrays are read-only."""

    def __missing__(self, codes: bytes) -> StepEvents:
        if len(self) >= _MOST_EVENTS:
            self.clear()
        found = self[codes] = StepEvents(np.frombuffer(codes, np.uint8))
        return found


_EVENTS: Final = _KnownEvents()


class Monitor:
    """Watches one episode after another under every specification at once.

    Attributes:
        specs: The bound specifications.
        instances: The monitor instances, in the order of all arrays.
        propositions: What a letter given as a mapping must name.
        machines: The machine of each instance.

    >>> from safe_rl.specs import Specification
    >>> monitor = Monitor([Specification("lid_first", "G(lifted -> lid_on)")])
    >>> events = monitor.reset({"lifted": False, "lid_on": False})
    >>> events = monitor.step({"lifted": True, "lid_on": False})
    >>> events.violated.tolist()
    [True]
    >>> events = monitor.finish(truncated=True)
    >>> monitor.summary()["lid_first"]
    Counts(N=1, V=1, U=1, pending=0, verdict=<Verdict.VIOLATED: 3>)
    """

    _rows: tuple[Row, ...]
    _end: bytes  # the codes of the end, once the episode has ended
    _log: bytearray  # the codes of the steps that are not counted yet
    _counts: NDArray[np.int64]  # N, V and U, shape [3, instances]
    _open: NDArray[np.int64]
    _pending: NDArray[np.int64]

    def __init__(self, specs: Specs, objects: Objects | None = None) -> None:
        """Compile the monitors.

        Args:
            specs: What :func:`safe_rl.specs.load_specs` takes.
            objects: Binds ``forall`` variables, as :meth:`safe_rl.specs.SpecSet.bind` does.

        Raises:
            SpecificationError: a ``forall`` variable is not bound.
            CompilationLimitError: an automaton passes its limit.
        """
        self.specs = bind_specs(specs, objects)
        self.instances = self.specs.instances
        self.propositions = self.specs.propositions
        machine_of = {spec.id: build_machine(spec) for spec in self.specs}
        self.machines = tuple(machine_of[i.specification.id] for i in self.instances)
        self._blocks = split_into_blocks(
            self.machines, [tuple(i.atoms.values()) for i in self.instances]
        )
        # A letter is spread out block after block, one byte for each proposition, and cut up again
        # into the keys of the blocks' rows.
        self._names = [name for _, held in self._blocks for name in held]
        self._cut = Struct("".join(f"{len(held)}s" for _, held in self._blocks)).unpack
        self._initial = self._rows_at([machine.initial for machine in self.machines])
        self._order: list[str] | None = None
        self._places: list[int] = []
        self._template = b""
        self._numpy = False
        self._phase: _Phase = "new"
        self._log = bytearray()
        self._clear()

    @property
    def num_instances(self) -> int:
        """The number of monitor instances."""
        return len(self.instances)

    @cached_property
    def fingerprint(self) -> str:
        """A short text that changes whenever what the monitors compute does."""
        return fingerprint(self.specs)

    @property
    def states(self) -> tuple[int, ...]:
        """The state of each instance's machine."""
        return tuple(state for row in self._rows for state in row.states)

    @property
    def num_states(self) -> tuple[int, ...]:
        """Per instance, the number of states of its machine."""
        return tuple(machine.num_states for machine in self.machines)

    @property
    def open(self) -> tuple[int, ...]:
        """Per instance, the triggered events that are neither fulfilled nor violated yet."""
        self._fold()
        return tuple(self._open.tolist())

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Per instance, the verdict on the state it is in."""
        if self._phase == "finished":
            return tuple(Verdict(code >> VERDICT_SHIFT & 3) for code in self._end)
        pairs = zip(self.machines, self.states, strict=True)
        return tuple(machine.verdict(state) for machine, state in pairs)

    def reset(self, letter: Letter) -> StepEvents:
        """Begin an episode: every instance consumes the label of the first state.

        Raises:
            GroundingError: the letter lacks a proposition, or gives it a value not Boolean.
        """
        flat = self._flatten(letter)
        self._learn_order(letter)
        self._clear()
        self._phase = "running"
        return self._advance(flat)

    def step(self, letter: Letter) -> StepEvents:
        """Consume the label of the state that a step has reached.

        Returns:
            Events with arrays of shape ``[instances]``.

        Raises:
            ResetNeededError: no episode is under way.
            GroundingError: the letter lacks a proposition, or gives it a value not Boolean; the
                monitor is as it was before.
        """
        if self._phase != "running":
            raise ResetNeededError(self._needs_reset("step"))
        if type(letter) is dict and list(letter) == self._order:
            try:
                given: Iterable[Any] = letter.values()
                if self._numpy and _BOOLEAN.issuperset(map(type, given)):
                    given = map(bool, given)
                truths = bytes(given)
                if len(truths) <= 256:
                    flat = self._template.translate(truths.ljust(256))
                else:
                    flat = bytes([truths[place] for place in self._places])
                return self._advance(flat)
            except (TypeError, ValueError):
                pass  # a value that is no Boolean: look closer, and say which
        flat = self._flatten(letter)
        self._learn_order(letter)
        return self._advance(flat)

    def finish(self, truncated: bool = False) -> StepEvents:
        """End the episode: what its last state means (rule 4).

        Args:
            truncated: Whether the episode was cut off. If so, open events become pending; if not,
                the finite-trace semantics decides and may count a last violation.

        Returns:
            The events of the end, to be added to those of the last step.

        Raises:
            ResetNeededError: no episode is under way.
        """
        if self._phase != "running":
            raise ResetNeededError(self._needs_reset("finish"))
        at_end = truncated_code if truncated else terminated_code
        pairs = zip(self.machines, self.states, strict=True)
        codes = self._end = bytes(at_end(machine, state) for machine, state in pairs)
        self._phase = "finished"
        self._log += codes
        self._fold()
        if truncated:
            self._pending = self._open
            self._counts[0] -= self._pending
            self._open = np.zeros_like(self._open)
        return _EVENTS[codes]

    def run(self, trace: Iterable[Letter], truncated: bool = False) -> list[StepEvents]:
        """Watch a whole episode; return the events of each letter, and those of its end.

        Raises:
            ResetNeededError: the trace is empty.
            GroundingError: as for :meth:`step`.
        """
        events: list[StepEvents] = []
        for letter in trace:
            events.append(self.step(letter) if events else self.reset(letter))
        if not events:
            raise ResetNeededError("the trace is empty; it needs the label of the first state")
        events.append(self.finish(truncated=truncated))
        return events

    def summary(self) -> dict[str, Counts]:
        """Return the counts of the episode so far, by instance id.

        The verdict is ``VIOLATED`` once there was a violation, else the one at the last step; after
        a terminated end it is ``SATISFIED`` or ``VIOLATED``.
        """
        self._fold()
        columns = [*self._counts.tolist(), self._pending.tolist()]
        return {
            instance.id: Counts(n, v, u, p, Verdict.VIOLATED if v else verdict)
            for instance, n, v, u, p, verdict in zip(
                self.instances, *columns, self.verdicts, strict=True
            )
        }

    def get_state(self) -> dict[str, Any]:
        """Return everything that :meth:`set_state` needs, as plain numbers, texts and lists."""
        self._fold()
        return {
            "fingerprint": self.fingerprint,
            "phase": self._phase,
            "states": list(self.states),
            "end": list(self._end),
            "open": self._open.tolist(),
            "pending": self._pending.tolist(),
            "counts": self._counts.tolist(),
        }

    def set_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a state that :meth:`get_state` returned.

        Raises:
            CheckpointError: it was saved for other monitors, or it is damaged.
        """
        check_fingerprint(saved, self.fingerprint)
        try:
            phase = saved["phase"]
            states, end = list(saved["states"]), bytes(saved["end"])
            pairs = list(zip(self.machines, states, strict=True))
            arrays = [np.array(saved[k], dtype=np.int64) for k in ("open", "pending", "counts")]
            shapes = [array.shape for array in arrays]
            count = self.num_instances
            if (
                phase not in ("new", "running", "finished")
                or any(not 0 <= state < machine.num_states for machine, state in pairs)
                or len(end) != (count if phase == "finished" else 0)
                or shapes != [(count,), (count,), (3, count)]
            ):
                raise ValueError("a value is out of its range")
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the saved monitor state is damaged: {error}") from error
        self._log.clear()
        self._rows = self._rows_at(states)
        self._phase, self._end = phase, end
        self._open, self._pending, self._counts = arrays

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.specs, self.get_state())

    def _advance(self, flat: bytes) -> StepEvents:
        """Move every block on: all or, where a number is no truth value, none."""
        rows, parts = zip(*map(getitem, self._rows, self._cut(flat)))  # noqa: B905 - equal, and fast
        self._rows = rows
        codes = b"".join(parts)
        self._log += codes
        if len(self._log) > _LOG_BYTES:
            self._fold()
        return _EVENTS[codes]

    def _learn_order(self, letter: Letter) -> None:
        """Note in which order a letter names the propositions.

        A grounding keeps its order, and then the values can be taken as they come: the template
        holds for each byte of the flat letter the place of its value, and ``bytes.translate`` does
        the look-ups, as long as a place fits into a byte.
        """
        self._order = None
        if isinstance(letter, dict):
            place = {name: i for i, name in enumerate(letter)}
            self._places = [place[name] for name in self._names]
            self._template = bytes(self._places) if len(letter) <= 256 else b""
            self._order = list(letter)
            self._numpy = np.bool_ in map(type, letter.values())

    def _rows_at(self, states: Sequence[int]) -> tuple[Row, ...]:
        rows, begin = [], 0
        for block, _ in self._blocks:
            end = begin + len(block.machines)
            rows.append(block.row(tuple(states[begin:end])))
            begin = end
        return tuple(rows)

    def _flatten(self, letter: Letter) -> bytes:
        """Check a letter and spread it out, instance after instance, as bytes 0 and 1."""
        if isinstance(letter, Mapping):
            lacking = [name for name in self.propositions if name not in letter]
            if lacking:
                raise missing_propositions(lacking, letter)
            return bytes(as_bool(letter[name], name) for name in self._names)
        if isinstance(letter, Set):
            return bytes(map(letter.__contains__, self._names))
        raise GroundingError(
            "a letter is a mapping of propositions to truth values, or the set of the true ones, "
            f"not {letter!r} ({type(letter).__name__})"
        )

    def _clear(self) -> None:
        count = self.num_instances
        self._rows = self._initial
        self._end = b""
        self._log.clear()
        self._counts = np.zeros((3, count), dtype=np.int64)
        self._open = np.zeros(count, dtype=np.int64)
        self._pending = np.zeros(count, dtype=np.int64)

    def _fold(self) -> None:
        """Count what the log holds. Counting in arrays now and then keeps it out of the step."""
        if not self._log:
            return
        codes = np.frombuffer(bytes(self._log), np.uint8).reshape(-1, self.num_instances)
        self._log.clear()
        bits = (TRIGGERED, VIOLATED, EXPOSED)
        self._counts += np.stack([np.count_nonzero(codes & bit, axis=0) for bit in bits])
        closed = (codes & CLOSED) != 0
        # Triggers after the last step that closed everything are what is open.
        closed_later = np.logical_or.accumulate(closed[::-1], axis=0)[::-1]
        fresh = np.count_nonzero(((codes & TRIGGERED) != 0) & ~closed_later, axis=0)
        self._open = np.where(closed_later[0], 0, self._open) + fresh

    def _needs_reset(self, call: str) -> str:
        why = "has ended" if self._phase == "finished" else "has not begun"
        return f"Monitor.{call} was called while the episode {why}; call reset(letter) first"


def _restored(specs: Specs, saved: Mapping[str, Any]) -> Monitor:
    monitor = Monitor(specs)
    monitor.set_state(saved)
    return monitor
