"""What the monitors say of a recorded episode, frame by frame: labels for learning from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.episode import Bools, Episode, Floats
from safe_rl.data.event_tape import EventTape, in_portions, letter_columns, tape_of
from safe_rl.errors import RecordingError
from safe_rl.monitors import EventMachine, MonitorTables, make_tables
from safe_rl.specs import Specs, SpecSet, load_specs
from safe_rl.wrappers.constraints import CostModel

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Annotations:
    """An episode of ``T`` steps under ``S`` specifications with ``I`` monitor instances.

    A row belongs to a letter; what the end of the episode decides is part of the last row.

    Attributes:
        specs: the specifications, bound to the episode's objects.
        triggered: a triggered event, bool ``[T + 1, I]``.
        violated: a violation starts, bool ``[T + 1, I]``.
        exposed: the frame is spent in violation, bool ``[T + 1, I]``.
        recovered: the instance is armed again, bool ``[T + 1, I]``.
        verdicts: after the letter (a :class:`~safe_rl.monitors.Verdict`), int8 ``[T + 1, I]``.
        distance: to doom: the least number of letters that would lead from here to a violation,
            int32 ``[T + 1, I]``; 0 in violation, -1 where no letters would.
        costs: violations that start, summed over the instances, float64 ``[T + 1, S]``.
        cost: the weighted sum of ``costs``, float64 ``[T + 1]``.
        N: triggered events without those pending, int64 ``[S]``.
        V: violations, int64 ``[S]``.
        U: exposure in frames, int64 ``[S]``.
        pending: events that a truncation left open, int64 ``[S]``.
    """

    specs: SpecSet
    triggered: Bools
    violated: Bools
    exposed: Bools
    recovered: Bools
    verdicts: NDArray[np.int8]
    distance: NDArray[np.int32]
    costs: Floats
    cost: Floats
    N: Ints
    V: Ints
    U: Ints
    pending: Ints

    @property
    def safe(self) -> bool:
        """Whether nothing was violated."""
        return not self.violated.any()

    @property
    def instances(self) -> tuple[str, ...]:
        """Ids of the instances: the meaning of the columns."""
        return tuple(instance.id for instance in self.specs.instances)


def annotate(episode: Episode, specs: Specs) -> Annotations:
    """Let the monitors read an episode, and keep what they say at every frame.

    An episode annotated under other specifications is relabelled: the letters are all that is read.

    Args:
        episode: recorded with every proposition that the specifications use.
        specs: what :func:`safe_rl.specs.load_specs` takes; ``forall`` ranges over the objects of
            the episode, or over those of the set where the episode names none.

    Raises:
        GroundingError: a proposition is not recorded; the message names it, and says which
            specifications could be used.
        SpecificationError: a property of a ``forall`` has no objects.

    >>> import numpy as np
    >>> from safe_rl.specs import Specification
    >>> letters = np.array([[False, True], [True, True], [True, False]])
    >>> pot = Episode(("lifted", "lid_on"), letters, np.zeros(2), False, True)
    >>> found = annotate(pot, Specification("lid_first", "G(lifted -> lid_on)"))
    >>> found.violated[:, 0].tolist(), found.distance[:, 0].tolist(), found.safe
    ([False, False, True], [1, 1, 0], False)
    """
    return annotate_all([episode], specs)[0]


def annotate_all(episodes: Sequence[Episode], specs: Specs) -> list[Annotations]:
    """Annotate several episodes that share their propositions and objects, side by side.

    Raises:
        RecordingError: they do not share them.
        GroundingError, SpecificationError: as of :func:`annotate`.
    """
    if not episodes:
        return []
    first = episodes[0]
    for number, own in enumerate(episodes):
        if own.propositions != first.propositions or own.objects != first.objects:
            raise RecordingError(
                f"episode {number} has other propositions or objects than episode 0; annotate "
                "episodes of different environments apart"
            )
    bound = bind_specs(load_specs(specs), first)
    tables = _tables(bound)
    columns = letter_columns(bound, first.propositions)
    found = []
    for some in in_portions(episodes):
        tape = tape_of(tables, columns, some)
        found += [_row(tables, tape, row) for row in range(len(some))]
    return found


def bind_specs(specs: SpecSet, episode: Episode) -> SpecSet:
    """Return the specifications over the objects of an episode.

    Raises:
        SpecificationError: a property of a ``forall`` has no objects.
    """
    if not specs.properties:
        return specs
    return specs.bind({**(specs.objects or {}), **episode.objects})


# Two sets that are equal bind the same formulas to the same objects, so they share their tables.
_tables = lru_cache(maxsize=16)(make_tables)


def _row(tables: MonitorTables, tape: EventTape, row: int) -> Annotations:
    """Read one episode off the tape."""
    frames = int(tape.frames[row])
    events = tape.events
    triggered, violated, exposed, recovered, verdicts = (
        np.asarray(getattr(events, kind))[:frames, row]
        for kind in ("triggered", "violated", "exposed", "recovered", "verdict")
    )
    model = CostModel.from_specs(tables.specs)
    costs = model.per_specification(violated)
    after = np.concatenate([tape.states[1:frames, row], tape.last_states[None, row]])
    distance = np.zeros(after.shape, np.int32)
    for column, machine in enumerate(tables.machines):
        distance[:, column] = letters_to_doom(machine)[after[:, column]]
    return Annotations(
        specs=tables.specs,
        triggered=triggered,
        violated=violated,
        exposed=exposed,
        recovered=recovered,
        verdicts=verdicts,
        distance=np.where(
            exposed, np.int32(0), distance
        ),  # the end may violate where none was near
        costs=costs,
        cost=model.weighted(costs),
        N=_summed(model, triggered.sum(axis=0) - tape.pending[row]),
        V=_summed(model, violated.sum(axis=0)),
        U=_summed(model, exposed.sum(axis=0)),
        pending=_summed(model, tape.pending[row]),
    )


def _summed(model: CostModel, counts: Ints) -> Ints:
    return np.asarray(model.per_specification(counts)).astype(np.int64)


@lru_cache(maxsize=512)
def letters_to_doom(machine: EventMachine) -> NDArray[np.int32]:
    """Return, per state of a monitor, the fewest letters to a violation: int32 ``[states]``.

    0 in violation, and -1 where no letters lead to one.
    """
    main_state = np.array(machine.main_state)
    return np.where(main_state < 0, 0, machine.main.distance("doomed")[main_state]).astype(np.int32)
