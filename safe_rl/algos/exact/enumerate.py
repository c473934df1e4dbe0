"""Enumeration of the product's reachable states, breadth first, a layer at a time in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.algos.exact.backend import sparse
from safe_rl.algos.exact.product import Expected, Floats, Ints, Outcomes, ProductCMDP, row_keys
from safe_rl.envs.tabular import TransitionModel
from safe_rl.errors import ConfigurationError, GroundingError, near
from safe_rl.monitors import (
    CountArrays,
    MonitorState,
    MonitorTables,
    add_end,
    add_events,
    finish,
    initial_state,
    make_tables,
    step,
    zero_counts,
)
from safe_rl.specs import Specs, SpecSet, load_specs
from safe_rl.wrappers.constraints import CostKind, CostModel


def product_cmdp(
    model: TransitionModel,
    specs: Specs,
    *,
    cost: CostKind = "violation",
    max_states: int = 200_000,
) -> ProductCMDP:
    """Enumerate the reachable product of ``model`` with the monitors of ``specs``.

    Args:
        model: The environment's transition model.
        specs: Whatever ``load_specs`` takes.
        cost: What an ``episode`` limit counts, as for ``ProductMDP``.
        max_states: Bound on the number of product states.

    Raises:
        GroundingError: The model's labels lack a proposition of the specifications.
        ConfigurationError: More than ``max_states`` product states.
    """
    spec_set = load_specs(specs)
    missing = [name for name in spec_set.propositions if name not in model.propositions]
    if missing:
        raise GroundingError(
            f"the model's labels lack {', '.join(map(repr, missing))}"
            f"{near(missing[0], model.propositions)}; they have {', '.join(model.propositions)}"
        )
    return _Builder(model, spec_set, CostModel.from_specs(spec_set, cost), max_states).build()


class _Builder:
    """Breadth-first enumeration, one layer of states at a time in arrays."""

    def __init__(
        self, model: TransitionModel, specs: SpecSet, costs: CostModel, max_states: int
    ) -> None:
        self.model, self.specs, self.costs, self.max_states = model, specs, costs, max_states
        self.tables: MonitorTables = make_tables(specs)
        self.num_instances = len(specs.instances)
        columns = [model.propositions.index(name) for name in self.tables.propositions]
        self.labels = np.ascontiguousarray(model.labels[:, columns])
        self.bits, self.counters, caps = self._memory_columns()
        self.caps = np.array(caps, np.int64)
        self.index: dict[bytes, int] = {}
        self.rows: list[Ints] = []

    def build(self) -> ProductCMDP:
        model = self.model
        started = np.flatnonzero(model.initial > 0.0)
        weight = model.initial[started]
        nothing = zero_counts(self.tables, (len(started),))
        fresh = initial_state(self.tables, (len(started),))
        monitors, events = step(self.tables, fresh, self.labels[started])
        after = add_events(self.tables, nothing, events)
        layer, where = self._number(self._pack(started, monitors.automaton, after))
        at_reset = Expected(*(weight @ part for part in self._increments(nothing, after)))
        layers: list[Outcomes] = []
        while len(layer):
            layer, outcomes = self._expand(layer)
            layers.append(outcomes)
        initial = np.zeros(len(self.index))
        np.add.at(initial, where, weight)
        return self._assemble(layers, initial, at_reset)

    def _assemble(self, layers: list[Outcomes], initial: Floats, at_reset: Expected) -> ProductCMDP:
        """Put the layers together and average over the outcomes of each row."""
        columns = zip(*layers, strict=True)
        row, column, probability, reward = (np.concatenate(next(columns)) for _ in range(4))
        step_part, end_part = (
            Expected(*(np.concatenate(fields) for fields in zip(*part, strict=True)))
            for part in columns
        )
        states = np.concatenate(self.rows)
        num_rows = len(states) * self.model.num_actions
        shape = (num_rows, len(states))
        average = sparse.csr_array(
            (probability, (row, np.arange(len(row)))), shape=(num_rows, len(row))
        )
        ending = self.model.termination
        pairs = zip(step_part, end_part, strict=True)
        split = 1 + self.num_instances
        return ProductCMDP(
            model=self.model,
            specs=self.specs,
            constraints=self.costs.constraints,
            env_states=states[:, 0],
            automata=states[:, 1:split],
            memory=states[:, split:],
            transition=sparse.coo_array(
                ((1.0 - ending) * probability, (row, column)), shape=shape
            ).tocsr(),
            reward=average @ reward,
            expected=Expected(*(average @ (now + ending * last) for now, last in pairs)),
            initial=initial,
            at_reset=at_reset,
            outcomes=Outcomes(row, column, probability, reward, step_part, end_part),
            _machine_states=self.tables.num_states,
            _memory_names=self.costs.memory_names,
            _caps=self.caps,
            _index=self.index,
        )

    def _expand(self, layer: Ints) -> tuple[Ints, Outcomes]:
        """Take every action in every state of ``layer``, the states that were numbered last.

        Returns:
            The states seen for the first time, and the outcomes from this layer's rows.
        """
        model = self.model
        offset = len(self.index) - len(layer)
        width = model.num_actions * model.num_outcomes
        env = layer[:, 0]
        possible = (model.probability[env] > 0.0).reshape(len(layer), width)
        source, cell = np.nonzero(possible)
        reached = model.next_state[env].reshape(-1, width)[source, cell]

        automata, before = self._unpack(layer[source])
        # Open events decide what is pending at a truncation, and this process only terminates.
        monitors = MonitorState(automata, np.zeros_like(automata))
        monitors, events = step(self.tables, monitors, self.labels[reached])
        after = add_events(self.tables, before, events)
        everywhere = np.ones(len(source), np.bool_)
        ended, pending = finish(self.tables, monitors, everywhere)
        closed = add_end(self.tables, after, ended, pending, everywhere)
        fresh, column = self._number(self._pack(reached, monitors.automaton, after))
        return fresh, Outcomes(
            row=(offset + source) * model.num_actions + cell // model.num_outcomes,
            column=column,
            probability=model.probability[env].reshape(-1, width)[source, cell],
            reward=model.reward[env].reshape(-1, width)[source, cell],
            step=self._increments(before, after),
            end=self._increments(after, closed),
        )

    def _increments(self, before: CountArrays, after: CountArrays) -> Expected:
        """What happened between two counts, in costs and in events, per row."""
        signals = (
            self.costs.episode_values(after).constraint_costs
            - self.costs.episode_values(before).constraint_costs
        )
        events = (after.N - before.N, after.V - before.V, after.U - before.U)
        return Expected(signals, *(np.asarray(count, np.float64) for count in events))

    def _pack(self, env: NDArray[Any], automata: NDArray[Any], counts: CountArrays) -> Ints:
        """Rows ``[n, 1 + I + M]`` of product states: counts cut down to what costs recall."""
        memory = np.rint(self.costs.memory(counts) * np.maximum(self.caps, 1)).astype(np.int64)
        return np.column_stack([env, automata, memory]).astype(np.int64)

    def _unpack(self, rows: Ints) -> tuple[NDArray[np.int32], CountArrays]:
        """Automaton states, and counts from which every cost continues as from the true ones."""
        split = 1 + self.num_instances
        counts = zero_counts(self.tables, (len(rows),))
        for column, instance in self.bits:
            counts.V[:, instance] = rows[:, split + column]
        for column, instance in self.counters:
            counts.N[:, instance] = rows[:, split + column]
        return rows[:, 1:split].astype(np.int32), counts

    def _memory_columns(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]], list[int]]:
        """Lay out ``CostModel.memory``: (column, instance) of its bits and counts, and its caps.

        A count of a specification with several instances is kept with the first of them; one
        without instances keeps nothing, since nothing can happen to it.
        """
        first = {int(s): i for i, s in reversed(list(enumerate(self.specs.instance_index)))}
        bounded = [c for c in self.costs.constraints if c.kind == "probability"]
        capped = [
            c for c in self.costs.constraints if c.kind == "per_trigger" and c.cap is not None
        ]
        bits = [(k, first[c.index]) for k, c in enumerate(bounded) if c.index in first]
        counts = [
            (k, first[c.index]) for k, c in enumerate(capped, len(bounded)) if c.index in first
        ]
        return bits, counts, [1] * len(bounded) + [c.cap or 0 for c in capped]

    def _number(self, rows: Ints) -> tuple[Ints, Ints]:
        """Give new rows their numbers; return the new rows, and the number of every row."""
        unique, inverse = np.unique(rows, axis=0, return_inverse=True)
        keys = row_keys(unique)
        fresh = [i for i, key in enumerate(keys) if key not in self.index]
        for i in fresh:
            self.index[keys[i]] = len(self.index)
        if len(self.index) > self.max_states:
            raise ConfigurationError(
                f"the product has more than {self.max_states} states; use fewer specifications "
                "or smaller caps, or raise max_states"
            )
        self.rows.append(unique[fresh])
        numbers = np.array([self.index[key] for key in keys], np.int64)
        return unique[fresh], numbers[inverse.reshape(-1)]
