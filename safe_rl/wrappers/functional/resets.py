"""First states for the lanes whose episodes ended: drawn in batches, exact, and only as needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.monitors import StepEvents
from safe_rl.specs import SpecSet


class Lanes(NamedTuple):
    """What begins anew with an episode.

    Attributes:
        rows: A pytree of arrays whose first axis is that of the lanes.
        columns: A pytree of arrays whose last axis is that of the lanes.
    """

    rows: Any
    columns: Any


Draw = Callable[[jax.Array, int], tuple[Lanes, StepEvents]]
"""Draws first states for so many lanes; the events are those of their letters, ``[I, lanes]``."""

LANES_PER_DRAW = 32
"""By default one first state is drawn for so many lanes: few episodes end at any one step."""


class _Progress(NamedTuple):
    batch: jax.Array  # how many batches were drawn
    served: jax.Array  # how many lanes have begun a new episode
    lanes: Lanes


class FirstStates:
    """Replaces the lanes that ended by fresh first states.

    Batches of ``batch`` first states are drawn until every lane that waits has one. So the cost of
    a step grows with the episodes that end at it, and no lane ever gets a state that another one
    had: every first state is drawn for itself.
    """

    def __init__(self, draw: Draw, gated: NDArray[np.intp], batch: int | None) -> None:
        """Prepare.

        Args:
            draw: Draws first states.
            gated: The instances whose first letter must not violate.
            batch: How many first states are drawn at once; ``None`` for a 32nd of the lanes.

        Raises:
            ConfigurationError: ``batch`` is not positive.
        """
        if batch is not None and batch < 1:
            raise ConfigurationError(f"reset_batch must be at least 1, but is {batch}")
        self._draw = draw
        self._gated = tuple(int(i) for i in gated)
        self._batch = batch

    def all_lanes(self, key: jax.Array, lanes: int) -> Lanes:
        """Return first states for all lanes."""
        first, rest = jax.random.split(key)
        drawn, events = self._draw(first, lanes)
        if not self._gated:
            return drawn
        return self.where(~self._passes(events), drawn, rest)

    def where(self, ended: jax.Array, lanes: Lanes, key: jax.Array) -> Lanes:
        """Return ``lanes`` with a fresh first state in those that ``ended`` (bool ``[N]``)."""
        return _renewed(self, lanes, ended, key)

    def _passes(self, events: StepEvents) -> jax.Array:
        """Whether the first letters keep the gated specifications, bool ``[lanes]``."""
        violated = events.violated[jnp.asarray(self._gated)]
        return ~jnp.any(violated, axis=0)

    def renew(self, lanes: Lanes, ended: jax.Array, key: jax.Array) -> Lanes:
        """:meth:`where`, without a rule for gradients."""
        count = jnp.cumsum(ended, dtype=jnp.int32)
        size = len(ended)
        batch = min(self._batch or max(size // LANES_PER_DRAW, 1), size)

        def more(progress: _Progress) -> jax.Array:
            return progress.served < count[-1]

        def draw(progress: _Progress) -> _Progress:
            fresh, events = self._draw(jax.random.fold_in(key, progress.batch), batch)
            rank = jnp.arange(1, batch + 1, dtype=jnp.int32)
            if self._gated:
                passes = self._passes(events)
                # Those that the gate rejects stand aside; the others take the next lanes in turn.
                rank = jnp.where(passes, jnp.cumsum(passes, dtype=jnp.int32), size + rank)
                drawn = jnp.sum(passes, dtype=jnp.int32)
            else:
                drawn = jnp.int32(batch)
            # The lane of rank r is the first at which r lanes have ended; past the end: no lane.
            place = jnp.searchsorted(count, progress.served + rank, method="scan_unrolled")
            place = jnp.where(place < size, place, size + jnp.arange(batch))
            renewed = Lanes(
                rows=jax.tree.map(partial(_put_rows, place), progress.lanes.rows, fresh.rows),
                columns=jax.tree.map(
                    partial(_put_columns, place), progress.lanes.columns, fresh.columns
                ),
            )
            return _Progress(progress.batch + 1, progress.served + drawn, renewed)

        start = _Progress(jnp.int32(0), jnp.int32(0), lanes)
        return jax.lax.while_loop(more, draw, start).lanes


# A place past the last lane is left out.


def _put_rows(place: jax.Array, old: jax.Array, new: jax.Array) -> jax.Array:
    return old.at[place].set(new, mode="drop", unique_indices=True)


def _put_columns(place: jax.Array, old: jax.Array, new: jax.Array) -> jax.Array:
    return old.at[..., place].set(new, mode="drop", unique_indices=True)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _renewed(first: FirstStates, lanes: Lanes, ended: jax.Array, key: jax.Array) -> Lanes:
    return first.renew(lanes, ended, key)


@_renewed.defjvp
def _renewed_jvp(first: FirstStates, primals: Any, tangents: Any) -> Any:
    """A new episode owes nothing to the one before it: gradients pass in the other lanes only."""
    lanes, ended, key = primals
    moved: Lanes = tangents[0]

    def keep_rows(tangent: Any) -> Any:
        if tangent.dtype == jax.dtypes.float0:
            return tangent
        over = ended.reshape(-1, *(1,) * (tangent.ndim - 1))
        return jnp.where(over, 0, tangent)

    def keep_columns(tangent: Any) -> Any:
        return tangent if tangent.dtype == jax.dtypes.float0 else jnp.where(ended, 0, tangent)

    kept = Lanes(jax.tree.map(keep_rows, moved.rows), jax.tree.map(keep_columns, moved.columns))
    return _renewed(first, lanes, ended, key), kept


def require_gate(draw: Draw, specs: SpecSet, gated: NDArray[np.intp], attempts: int) -> None:
    """Raise unless one of ``attempts`` first states passes the initial gate.

    A loop that waits for a state that passes must not wait for ever, and a jitted one cannot raise.

    Raises:
        ConfigurationError: none of them does, or ``attempts`` is not positive.
    """
    if attempts < 1:
        raise ConfigurationError(f"gate_attempts must be at least 1, but is {attempts}")
    _, events = jax.jit(draw, static_argnums=1)(jax.random.key(0), attempts)
    violated = np.asarray(events.violated)[gated]
    if violated.any(axis=0).all():
        ids = ", ".join(repr(specs.instances[int(i)].id) for i in gated[violated[:, -1]])
        raise ConfigurationError(
            f"{attempts} first states in a row violated {ids}, which must hold at reset; mend "
            "env.initial, drop `initial` from the specification, or allow more with gate_attempts="
        )
