"""Monitors, tallies and costs of many episodes at once, kept as arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import CheckpointError
from safe_rl.monitors import (
    MonitorState,
    StepEvents,
    finish,
    initial_state,
    make_tables,
    state_from_dict,
    state_to_dict,
    step,
)
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import CostKind, CostModel, EpisodeValues
from safe_rl.wrappers.tally import (
    Happened,
    Tally,
    add_final,
    add_letter,
    empty_tally,
    happened_since,
    with_end,
)

Bools = NDArray[np.bool_]


class Charge(NamedTuple):
    """What one step costs: ``[num_envs]``, ``[num_envs, S]``, ``[num_envs, K]``, and its events."""

    cost: NDArray[np.float64]
    costs: NDArray[np.float64]
    constraint_costs: NDArray[np.float64]
    happened: Happened


class VectorEpisodes:
    """The present episode of each environment, from its first letter to its end.

    The order of calls is ``begin`` (rows that reset), ``advance`` (a letter for every row), ``end``
    (rows that ended) and ``charge``.

    Attributes:
        tables: The monitors' tables.
        model: The costs.
        state: State of every monitor, ``[num_envs, I]``.
        tally: Events of the episode so far, ``[num_envs, I]``.
    """

    state: MonitorState
    tally: Tally
    _charged: Tally
    _paid: EpisodeValues

    def __init__(self, specs: SpecSet, num_envs: int, cost: CostKind) -> None:
        """Build the monitors of ``specs`` for ``num_envs`` environments."""
        self.tables = make_tables(specs)
        self.model = CostModel.from_specs(specs, cost)
        self._num_envs = num_envs
        self._nothing = empty_tally(len(specs.instances), (num_envs,))
        self._set(initial_state(self.tables, (num_envs,)), self._nothing, self._nothing)

    def begin(self, rows: Bools) -> None:
        """Forget the episodes of ``rows``; the next letter of each is the first of a new one."""
        # Few rows begin at a step: writing those into copies is cheaper than choosing everywhere.
        where = np.flatnonzero(rows)
        automaton, is_open = self.state.automaton.copy(), self.state.open.copy()
        automaton[where], is_open[where] = self.tables.initial, 0
        self.state = MonitorState(automaton, is_open)
        self.tally = _with_rows(self.tally, where, 0)
        self._charged = _with_rows(self._charged, where, 0)
        self._paid = EpisodeValues(*(paid.copy() for paid in self._paid))
        for paid in self._paid:
            paid[where] = 0.0

    def advance(self, letters: Bools, rows: Bools | None = None) -> StepEvents:
        """Let the monitors of ``rows`` (all, by default) consume ``letters`` (``[num_envs, P]``).

        Returns:
            The events ``[num_envs, I]``, none in other rows.
        """
        if rows is None or rows.all():
            state, events = step(self.tables, self.state, letters)
            self.tally = add_letter(self.tally, self.state, events)
            self.state = state
            return events
        where = np.flatnonzero(rows)
        before = MonitorState(self.state.automaton[where], self.state.open[where])
        after, some = step(self.tables, before, letters[where])
        added = add_letter(Tally(self.tally.counts[:, where]), before, some)
        self.tally = _with_rows(self.tally, where, added.counts)
        automaton, is_open = self.state.automaton.copy(), self.state.open.copy()
        automaton[where], is_open[where] = after
        self.state = MonitorState(automaton, is_open)
        codes = np.zeros(automaton.shape, np.uint8)
        codes[where] = some.codes
        return StepEvents(codes)

    def end(self, events: StepEvents, rows: Bools, terminated: Bools) -> StepEvents:
        """Decide the episodes that end in ``rows``.

        Args:
            events: Events of their last letter.
            rows: Which environments ended.
            terminated: Which of them terminated; the others were truncated.

        Returns:
            The events with what the end decided put in.
        """
        where = np.flatnonzero(rows)
        ended = MonitorState(self.state.automaton[where], self.state.open[where])
        final, pending = finish(self.tables, ended, terminated[where])
        decided = add_final(Tally(self.tally.counts[:, where]), final, pending)
        self.tally = _with_rows(self.tally, where, decided.counts)
        codes = events.codes.copy()
        codes[where] = with_end(StepEvents(codes[where]), final).codes
        return StepEvents(codes)

    def charge(self, rows: Bools) -> Charge:
        """Return what has not been charged yet in ``rows``, and charge it.

        Events of an episode's first letter are charged with its first step: no action has led to
        them, but they belong to the episode's sum.
        """
        values = self.model.episode_values(self.tally)
        costs = values.costs - self._paid.costs
        signal = values.constraint_costs - self._paid.constraint_costs
        happened = happened_since(self.tally, self._charged)
        others = np.flatnonzero(~rows)
        if len(others) == 0:
            self._paid, self._charged = values, self.tally
        else:
            for array in (costs, signal, *happened):
                array[others] = 0
            for value, paid in zip(values, self._paid, strict=True):
                value[others] = paid[others]
            self._paid = values
            self._charged = _with_rows(self.tally, others, self._charged.counts[:, others])
        return Charge(self.model.weighted(costs), costs, signal, happened)

    def get_state(self) -> dict[str, Any]:
        """Return the monitors and tallies as plain arrays (copies)."""
        return {
            "monitors": state_to_dict(self.tables, self.state),
            "tally": self.tally.counts.copy(),
            "charged": self._charged.counts.copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned.

        Raises:
            CheckpointError: it belongs to other specifications or another number of environments.
        """
        monitors = state_from_dict(self.tables, state["monitors"])
        if monitors.automaton.shape != self.state.automaton.shape:
            raise CheckpointError(
                f"the state holds {len(monitors.automaton)} environments, but there are "
                f"{self._num_envs}; use the number that was saved"
            )
        self._set(monitors, Tally(state["tally"].copy()), Tally(state["charged"].copy()))

    def _set(self, state: MonitorState, tally: Tally, charged: Tally) -> None:
        self.state, self.tally, self._charged = state, tally, charged
        self._paid = self.model.episode_values(charged)


def _with_rows(tally: Tally, where: NDArray[np.intp], counts: NDArray[np.int32] | int) -> Tally:
    """Return ``tally`` with ``counts`` (``[6, rows, I]``) in the environments ``where``."""
    changed = tally.counts.copy()
    changed[:, where] = counts
    return Tally(changed)
