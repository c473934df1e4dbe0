"""Flat tables, the array step, array counts and saved states."""

import json

import numpy as np
import pytest

from safe_rl.errors import CheckpointError, GroundingError
from safe_rl.monitors import (
    Monitor,
    MonitorState,
    add_end,
    add_events,
    build_machine,
    clear_counts,
    finish,
    initial_state,
    make_tables,
    restart,
    state_from_dict,
    state_to_dict,
    step,
    to_counts,
    zero_counts,
)
from safe_rl.specs import Limit, Specification, SpecSet, load_specs

OBJECTS = {
    "graspable": ["mug", "bowl", "can"],
    "receptacle": ["bowl"],
    "fixture": ["drawer"],
    "enclosure": ["drawer"],
    "microwave": ["microwave"],
}
HOLD = Specification("hold", "G(a -> (b W c))", recovery="F(b | c)")


def test_safemanip_arrays_are_the_plain_monitor_for_every_environment_of_a_batch():
    specs = load_specs("safemanip").bind(OBJECTS)
    tables = make_tables(specs)
    letters = np.random.default_rng(1).random((40, 5, tables.num_propositions)) < 0.25
    monitors = [Monitor(specs) for _ in range(5)]
    state, counts = initial_state(tables, (5,)), zero_counts(tables, (5,))
    for t, batch in enumerate(letters):
        state, events = step(tables, state, batch)
        counts = add_events(tables, counts, events)
        for lane, monitor in enumerate(monitors):
            letter = dict(zip(tables.propositions, batch[lane].tolist(), strict=True))
            plain = monitor.step(letter) if t else monitor.reset(letter)
            assert np.array_equal(plain.codes, events.codes[lane])
            assert monitor.states == tuple(state.automaton[lane].tolist())
            assert monitor.open == tuple(state.open[lane].tolist())
    terminated = np.array([True, False, True, False, False])
    events, pending = finish(tables, state, terminated)
    counts = add_end(tables, counts, events, pending, np.ones(5, dtype=bool))
    for lane, monitor in enumerate(monitors):
        plain = monitor.finish(truncated=not terminated[lane])
        assert np.array_equal(plain.codes, events.codes[lane])
        lane_counts = type(counts)(*(array[lane] for array in counts))
        assert to_counts(tables, lane_counts) == monitor.summary()


def test_instances_of_one_specification_share_their_rows():
    spec = Specification("held", "G(a(o) -> (b(o) W c(o)))", forall={"o": "k"}, recovery="F b(o)")
    one = make_tables([spec], objects={"k": ["x"]})
    many = make_tables([spec], objects={"k": [f"x{i}" for i in range(50)]})
    assert many.num_instances == 50
    assert many.dense.entries.shape == one.dense.entries.shape
    assert len(set(map(id, many.machines))) == 1
    twin = Specification("other_name", "G(a(o) -> (b(o) W c(o)))", forall={"o": "k"},
                         recovery="F b(o)")  # fmt: skip
    assert build_machine(spec) is build_machine(twin)


def test_state_takes_eight_bytes_per_instance():
    tables = make_tables([HOLD])
    state = initial_state(tables, (100,))
    assert state.automaton.nbytes + state.open.nbytes == 800


def test_step_is_pure():
    tables = make_tables([HOLD])
    start = initial_state(tables, (3,))
    kept = MonitorState(start.automaton.copy(), start.open.copy())
    letters = np.ones((3, 3), dtype=bool)
    first = step(tables, start, letters)
    assert all(np.array_equal(a, b) for a, b in zip(start, kept, strict=True))
    second = step(tables, start, letters)
    assert np.array_equal(first[1].codes, second[1].codes)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,)])
@pytest.mark.parametrize("dense_atoms", [12, 0])
def test_any_leading_shape(shape, dense_atoms):
    tables = make_tables([HOLD, Specification("d", "G !s", trigger="s")], dense_atoms=dense_atoms)
    state, events = step(tables, initial_state(tables, shape), np.zeros((*shape, 4), dtype=bool))
    assert events.codes.shape == events.verdict.shape == state.open.shape == (*shape, 2)
    ended, pending = finish(tables, state, np.zeros(shape, dtype=bool))
    assert ended.codes.shape == pending.shape == (*shape, 2)


def test_forty_atom_invariant_uses_the_diagram_beside_dense_ones():
    names = [f"p{i}" for i in range(40)]
    wide = Specification("wide", "G !(" + " | ".join(names) + ")", trigger=" | ".join(names),
                         recovery="F !(" + " | ".join(names) + ")")  # fmt: skip
    specs = SpecSet([HOLD, wide, Specification("dry", "G !p3", trigger="p3")])
    tables = make_tables(specs)
    assert tables.diagram.columns == (1,) and tables.dense.columns == (0, 2)
    letters = np.random.default_rng(3).random((200, 43)) < 0.01
    monitor, state = Monitor(specs), initial_state(tables)
    for t, truths in enumerate(letters):
        state, events = step(tables, state, truths)
        letter = dict(zip(tables.propositions, truths.tolist(), strict=True))
        plain = monitor.step(letter) if t else monitor.reset(letter)
        assert np.array_equal(plain.codes, events.codes)
    assert monitor.summary()["wide"].V > 10


def test_twelve_atoms_are_dense_and_thirteen_are_not():
    for count, kind in ((12, "dense"), (13, "diagram")):
        names = [f"p{i}" for i in range(count)]
        tables = make_tables(
            [Specification("s", "G !(" + " & ".join(names) + ")", trigger=" & ".join(names))]
        )
        assert getattr(tables, kind) is not None
        letters = np.array([[True] * count, [True] * (count - 1) + [False]])
        _, events = step(tables, initial_state(tables, (2,)), letters)
        assert events.violated[:, 0].tolist() == [True, False]


def test_letters_must_be_boolean_and_of_the_right_width():
    tables = make_tables([HOLD])
    state = initial_state(tables, (2,))
    with pytest.raises(GroundingError, match="must be Boolean, but their dtype is int64"):
        step(tables, state, np.zeros((2, 3), dtype=np.int64))
    with pytest.raises(GroundingError, match=r"3 propositions, but have the shape \(2, 4\).*a, b"):
        step(tables, state, np.zeros((2, 4), dtype=bool))


def test_no_instances_at_all():
    spec = Specification("f", "G !p(o)", trigger="p(o)", forall={"o": "k"})
    tables = make_tables([spec], objects={"k": []})
    state, events = step(tables, initial_state(tables, (4,)), np.zeros((4, 0), dtype=bool))
    assert events.violated.shape == state.open.shape == (4, 0)
    assert finish(tables, state, np.ones(4, dtype=bool))[1].shape == (4, 0)


def test_restart_and_clear_touch_only_the_chosen_lanes():
    tables = make_tables([HOLD])
    state, counts = initial_state(tables, (2,)), zero_counts(tables, (2,))
    state, events = step(tables, state, np.array([[True, False, False]] * 2))
    counts = add_events(tables, counts, events)
    chosen = np.array([True, False])
    fresh, cleared = restart(tables, state, chosen), clear_counts(tables, counts, chosen)
    assert fresh.automaton[0] == tables.initial[0] and fresh.automaton[1] == state.automaton[1]
    assert cleared.V[:, 0].tolist() == [0, 1] and counts.V[:, 0].tolist() == [1, 1]


def test_end_counts_only_where_done():
    tables = make_tables([Specification("s", "G(d -> F s)")])
    state, counts = initial_state(tables, (3,)), zero_counts(tables, (3,))
    state, events = step(tables, state, np.array([[True, False]] * 3))
    counts = add_events(tables, counts, events)
    events, pending = finish(tables, state, np.array([True, False, False]))
    counts = add_end(tables, counts, events, pending, np.array([True, True, False]))
    assert counts.N[:, 0].tolist() == [1, 0, 1]
    assert counts.V[:, 0].tolist() == [1, 0, 0]
    assert counts.U[:, 0].tolist() == [1, 0, 0]
    assert counts.pending[:, 0].tolist() == [0, 1, 0]
    assert counts.verdict[:, 0].tolist() == [3, 2, 2]


@pytest.mark.parametrize("library", ["numpy", "torch", "jax.numpy"])
def test_saved_state_comes_back_in_every_library(library):
    xp = pytest.importorskip(library)
    tables = make_tables([HOLD], xp)
    state, _ = step(tables, initial_state(tables, (2,)), xp.asarray(np.eye(3, dtype=bool)[:2]))
    saved = state_to_dict(tables, state)
    plain = {k: v if isinstance(v, str) else v.tolist() for k, v in saved.items()}
    again = state_from_dict(tables, json.loads(json.dumps(plain)))
    for old, new in zip(state, again, strict=True):
        assert type(old) is type(new) and old.dtype == new.dtype
        assert np.array_equal(np.asarray(old), np.asarray(new))


def test_saved_state_of_other_monitors_or_a_damaged_one_is_refused():
    tables = make_tables([HOLD])
    saved = state_to_dict(tables, initial_state(tables, (2,)))
    other = make_tables([Specification("hold", "G(a -> (b W c))")])
    with pytest.raises(CheckpointError, match="other specifications or objects"):
        state_from_dict(other, saved)
    with pytest.raises(CheckpointError, match="lacks 'open'"):
        state_from_dict(tables, {k: v for k, v in saved.items() if k != "open"})
    with pytest.raises(CheckpointError, match="last axis"):
        state_from_dict(tables, saved | {"open": np.zeros((2, 5))})
    with pytest.raises(CheckpointError, match="does not exist"):
        state_from_dict(tables, saved | {"automaton": np.full((2, 1), 99)})


def test_new_limit_or_weight_keeps_the_fingerprint():
    specs = SpecSet([HOLD])
    limited = specs.with_limits({"hold": Limit("episode", 0.1)})
    assert make_tables(specs).fingerprint == make_tables(limited).fingerprint
