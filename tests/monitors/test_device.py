"""Monitors on the device: jit, vmap, scan and shard_map, both layouts, and ten thousand pairs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from functools import partial
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp

from safe_rl.errors import GroundingError
from safe_rl.monitors import (
    CountArrays,
    Monitor,
    MonitorState,
    StepEvents,
    add_end,
    add_events,
    clear_counts,
    finish,
    fulfilled,
    initial_state,
    make_tables,
    restart,
    state_from_dict,
    state_to_dict,
    step,
    zero_counts,
)
from safe_rl.specs import Specification, SpecSet
from tests.monitors.random_sets import random_set

WIDE = " | ".join(f"p{i}" for i in range(14))
SPECS = SpecSet(
    [
        Specification("hold", "G(a -> (b W c))", recovery="F(b | c)"),
        Specification("wide", f"G !({WIDE})", trigger="p0 | p13", recovery="F !p0"),
        Specification("soon", "G(b -> X c)"),
        Specification("past", "G(c -> O a)", trigger="c", semantics="bad_prefix"),
    ]
)
"""Dense tables and a decision diagram side by side."""


def reference(tables: Any, letters: Any, terminated: Any) -> Any:
    """NumPy's states, codes, open events, fulfilled events and ends of a trace ``[T, N, P]``."""
    state = initial_state(tables, letters.shape[1:2])
    found = []
    for letter, ends in zip(letters, terminated, strict=True):
        before = state
        state, events = step(tables, state, letter)
        last, pending = finish(tables, state, ends)
        met = fulfilled(before, events)
        found.append((*state, events.codes, met, last.codes, pending))
    return [np.stack(column) for column in zip(*found, strict=True)]


def scanned(tables: Any, state: Any, letters: Any, terminated: Any) -> Any:
    """The same with ``jax.lax.scan``; the ends are read off the events."""

    def one(before: Any, given: Any) -> Any:
        letter, ends = given
        after, events = step(tables, before, letter)
        last, pending = finish(tables, after, ends, events)
        met = fulfilled(before, events)
        return after, (*after, events.codes, met, last.codes, pending)

    return jax.lax.scan(one, state, (letters, terminated))[1]


def random_play(tables: Any, steps: int = 30, lanes: int = 6, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.random((steps, lanes, tables.num_propositions)) < 0.2, rng.random(
        (steps, lanes)
    ) < 0.5


def test_a_state_is_a_small_pytree() -> None:
    tables = make_tables(SPECS, jnp)
    state = initial_state(tables, (5,))
    leaves = jax.tree.leaves(state)
    assert {leaf.shape for leaf in leaves} == {(5, 4)}
    assert sum(leaf.nbytes for leaf in leaves) <= 16 * 5 * tables.num_instances
    mapped = jax.tree.map(lambda leaf: leaf + 1, state)
    assert type(mapped) is MonitorState


@pytest.mark.parametrize("axis", [-1, 0])
def test_jit_scan_and_vmap_give_numpys_events(axis: Any) -> None:
    here, there = make_tables(SPECS), make_tables(SPECS, jnp, axis=axis)
    letters, terminated = random_play(here)
    expected = reference(here, letters, terminated)
    turned = letters if axis == -1 else np.swapaxes(letters, 1, 2)
    found = jax.jit(partial(scanned, there))(initial_state(there, (6,)), turned, terminated)
    for mine, right in zip(found, expected, strict=True):
        own = mine if axis == -1 else np.swapaxes(mine, 1, 2)
        assert np.array_equal(own, right) and own.dtype == right.dtype

    # One lane at a time: a step without a batch, mapped.
    alone = jax.vmap(partial(scanned, there), in_axes=(None, 1, 1), out_axes=1)
    for mine, right in zip(
        jax.jit(alone)(initial_state(there), letters, terminated), expected, strict=True
    ):
        assert np.array_equal(mine, right)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_layout_with_instances_first(library: str) -> None:
    """Everything that takes arrays, in both layouts, over a batch of two axes."""
    xp: Any = pytest.importorskip(library)
    last, first = make_tables(SPECS, xp), make_tables(SPECS, xp, axis=0)
    rng = np.random.default_rng(1)
    state, turned = initial_state(last, (3, 2)), initial_state(first, (3, 2))
    counts, own = zero_counts(last, (3, 2)), zero_counts(first, (3, 2))
    assert tuple(turned.automaton.shape) == (4, 3, 2)

    def same(mine: Any, right: Any) -> None:
        for a, b in zip(mine, right, strict=True):
            assert np.array_equal(np.moveaxis(np.asarray(a), 0, -1), np.asarray(b))

    for _ in range(12):
        letters = rng.random((3, 2, last.num_propositions)) < 0.3
        done = xp.asarray(rng.random((3, 2)) < 0.3)
        ends = xp.asarray(rng.random((3, 2)) < 0.5)
        state, events = step(last, state, xp.asarray(letters))
        turned, codes = step(first, turned, xp.asarray(np.moveaxis(letters, -1, 0).copy()))
        same(turned, state)
        same(codes, events)
        final, pending = finish(last, state, ends)
        mine, left = finish(first, turned, ends)
        same([*mine, left], [*final, pending])
        same(finish(first, turned, ends, codes)[0], final)
        counts = add_end(last, add_events(last, counts, events), final, pending, done)
        own = add_end(first, add_events(first, own, codes), mine, left, done)
        same(own, counts)
        state, turned = restart(last, state, done), restart(first, turned, done)
        counts, own = clear_counts(last, counts, done), clear_counts(first, own, done)
        same(state_from_dict(first, state_to_dict(first, turned)), state)
    assert type(own) is CountArrays


def test_letters_of_the_other_layout_are_refused() -> None:
    tables = make_tables(SPECS, axis=0)
    with pytest.raises(GroundingError, match="letters must begin in an axis of 17"):
        step(tables, initial_state(tables, (2,)), np.zeros((2, 17), bool))


def test_sharding_over_devices_gives_numpys_events() -> None:
    """Two simulated devices, in a process of its own: the number is fixed when jax starts."""
    program = textwrap.dedent(
        """
        import numpy as np, jax, jax.numpy as jnp
        from functools import partial
        from jax.sharding import Mesh, PartitionSpec as P
        from safe_rl.monitors import MonitorState, initial_state, make_tables
        from tests.monitors.test_device import SPECS, random_play, reference, scanned

        assert len(jax.devices()) == 2
        here, there = make_tables(SPECS), make_tables(SPECS, jnp)
        letters, terminated = random_play(here)
        mesh = Mesh(np.array(jax.devices()), ("lanes",))
        run = jax.jit(jax.shard_map(
            partial(scanned, there), mesh=mesh,
            in_specs=(P("lanes"), P(None, "lanes"), P(None, "lanes")), out_specs=P(None, "lanes"),
        ))
        found = run(initial_state(there, (6,)), letters, terminated)
        assert len(found[0].sharding.device_set) == 2
        for mine, right in zip(found, reference(here, letters, terminated), strict=True):
            assert np.array_equal(mine, right)
        print("agreed")
        """
    )
    flags = "--xla_force_host_platform_device_count=2"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "agreed"


SETS, TRACES, STEPS, TOGETHER = 200, 50, 10, 20


@pytest.mark.slow
@pytest.mark.parametrize("group", range(0, SETS, TOGETHER))
def test_ten_thousand_pairs_of_specifications_and_traces(group: int) -> None:
    """200 random specification sets, 50 random traces each: all backends agree bit for bit.

    The plain monitor, NumPy and PyTorch take each set by itself. In jax, where compiling takes most
    of the time, the sets of a group are stepped side by side in one program.
    """
    torch = pytest.importorskip("torch")
    sets = [random_set(group + i) for i in range(TOGETHER)]
    joint = make_tables(
        SpecSet([spec for own in sets for spec in own]), jnp, axis=(-1, 0)[group // TOGETHER % 2]
    )
    rng = np.random.default_rng(group)
    letters = rng.random((STEPS, TRACES, joint.num_propositions)) < 0.4
    terminated = rng.random((STEPS, TRACES)) < 0.5
    turned = letters if joint.axis == -1 else np.swapaxes(letters, 1, 2)
    found = jax.jit(partial(scanned, joint))(initial_state(joint, (TRACES,)), turned, terminated)
    found = [np.asarray(x) if joint.axis == -1 else np.swapaxes(x, 1, 2) for x in found]
    begin = 0
    for own in sets:
        tables = make_tables(own, dense_atoms=12 if begin % 2 else 2)
        columns = [joint.propositions.index(name) for name in tables.propositions]
        mine = letters[..., columns]
        expected = reference(tables, mine, terminated)
        place = slice(begin, begin + tables.num_instances)
        begin = place.stop
        for device, right in zip(found, expected, strict=True):
            assert np.array_equal(device[..., place], right)
        by_torch = reference(
            make_tables(own, torch), torch.from_numpy(mine.copy()), torch.from_numpy(terminated)
        )
        for theirs, right in zip(by_torch, expected, strict=True):
            assert np.array_equal(theirs, right)
        plain(own, tables.propositions, mine, terminated, expected)
    assert begin == joint.num_instances


def plain(specs: SpecSet, names: Any, letters: Any, terminated: Any, expected: Any) -> None:
    """Check the arrays against :class:`Monitor`, trace by trace; the end is the last step's."""
    _, is_open, codes, _, ends, pending = expected
    monitor = Monitor(specs)
    for trace in range(letters.shape[1]):
        for t in range(len(letters)):
            letter = dict(zip(names, letters[t, trace].tolist(), strict=True))
            events = monitor.step(letter) if t else monitor.reset(letter)
            assert events.codes.tolist() == codes[t, trace].tolist()
            assert list(monitor.open) == is_open[t, trace].tolist()
        truncated = not terminated[-1, trace]
        assert monitor.finish(truncated).codes.tolist() == ends[-1, trace].tolist()
        counts = list(monitor.summary().values())
        assert [c.pending for c in counts] == pending[-1, trace].tolist()
        happened = StepEvents(codes[:, trace])
        last = StepEvents(ends[-1, trace])
        assert [c.V for c in counts] == (happened.violated.sum(0) + last.violated).tolist()
        assert [c.U for c in counts] == (happened.exposed.sum(0) + last.exposed).tolist()
        assert [c.N for c in counts] == (happened.triggered.sum(0) - pending[-1, trace]).tolist()
