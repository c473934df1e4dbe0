"""Plain, NumPy, PyTorch and JAX monitors against a slow interpreter of the five rules.

The interpreter keeps the whole trace and decides everything by ``logic.holds`` and by the doomed
states of a DFA, on slices of the trace: it shares no code with the machines and the tables.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from safe_rl.automata import compile_ltlf
from safe_rl.logic import Formula, Op, atom, holds
from safe_rl.monitors import (
    Monitor,
    Verdict,
    add_end,
    add_events,
    finish,
    fulfilled,
    initial_state,
    make_tables,
    step,
    to_counts,
    zero_counts,
)
from safe_rl.specs import Specification, SpecSet

NAMES = ("a", "b", "c")


@dataclass
class Interpreter:
    """The monitor semantics of one specification, written as they are stated, on slices."""

    spec: Specification
    trace: list = field(default_factory=list)
    start: int = 0  # where the main formula's slice of the trace begins
    violated_at: int | None = None  # where the recovery formula's slice begins, in violation
    N: int = 0
    V: int = 0
    U: int = 0
    open: int = 0

    def __post_init__(self):
        self.dfa = compile_ltlf(self.spec.formula, semantics=self.spec.semantics)

    def consume(self, letter):
        """Return (triggered, violated, exposed, recovered, verdict, fulfilled) of this step."""
        self.trace.append(letter)
        now = len(self.trace) - 1
        recovered = False
        if self.violated_at is not None:
            recovery = self.spec.recovery
            since = self.trace[self.violated_at :]
            if recovery is None or not holds(recovery, since):
                self.U += 1
                return (False, False, True, False, Verdict.VIOLATED, 0)
            recovered, self.violated_at, self.start = True, None, now
        triggered = holds(self.spec.trigger, self.trace, now) and not (
            now > 0 and holds(self.spec.trigger, self.trace[:now], now - 1)
        )
        self.N += triggered
        self.open += triggered
        verdict = self.verdict()
        violated = verdict is Verdict.VIOLATED
        met = 0
        if violated:
            self.V += 1
            self.U += 1
            self.open = 0
            self.violated_at = now
        elif self.accepts():
            met, self.open = self.open, 0
        return (triggered, violated, violated, recovered, verdict, met)

    def accepts(self):
        main = self.trace[self.start :]
        if self.spec.semantics == "bad_prefix":
            return not self.dfa.is_doomed(self.dfa.run(main)[-1])
        return holds(self.spec.formula, main)

    def verdict(self):
        state = self.dfa.run(self.trace[self.start :])[-1]
        if self.dfa.is_doomed(state):
            return Verdict.VIOLATED
        if self.dfa.is_safe(state):
            return Verdict.SATISFIED
        return Verdict.PRESUMABLY_SATISFIED if self.accepts() else Verdict.PRESUMABLY_VIOLATED

    def end(self, truncated):
        """Return (violated, pending, verdict)."""
        if self.violated_at is not None:
            return (False, 0, Verdict.VIOLATED)
        if truncated:
            pending, self.open = self.open, 0
            self.N -= pending
            return (False, pending, self.verdict())
        self.open = 0
        if self.accepts():
            return (False, 0, Verdict.SATISFIED)
        self.V += 1
        self.U += 1
        return (True, 0, Verdict.VIOLATED)


def formulas(future=True):
    leaves = st.sampled_from([atom(name) for name in NAMES])
    unary = [Op.NOT, Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY]
    binary = [Op.AND, Op.OR, Op.IMPLIES, Op.XOR, Op.SINCE]
    if future:
        unary += [Op.NEXT, Op.WEAK_NEXT, Op.EVENTUALLY, Op.ALWAYS]
        binary += [Op.UNTIL, Op.WEAK_UNTIL, Op.RELEASE, Op.STRONG_RELEASE]
    past = {Op.YESTERDAY, Op.ONCE, Op.HISTORICALLY, Op.SINCE}

    def allowed(pair):
        op, args = pair
        return op not in past or not any(arg.has_future for arg in args)

    def grow(inner):
        one = st.tuples(st.sampled_from(unary), st.tuples(inner))
        two = st.tuples(st.sampled_from(binary), st.tuples(inner, inner))
        return (one | two).filter(allowed).map(lambda pair: Formula(*pair))

    return st.recursive(leaves, grow, max_leaves=5)


def with_invariant(formula, guarded):
    """Half of the formulas as G(...), since those are what specifications look like."""
    return Formula(Op.ALWAYS, (formula,)) if guarded else formula


SPECS = st.builds(
    lambda formula, guarded, trigger, recovery, semantics: Specification(
        "s",
        with_invariant(formula, guarded),
        trigger=trigger,
        recovery=recovery,
        semantics=semantics,
    ),
    formulas(),
    st.booleans(),
    formulas(future=False),
    st.none() | formulas() | st.sampled_from([Formula(Op.EVENTUALLY, (atom(n),)) for n in NAMES]),
    st.sampled_from(["finite", "finite", "bad_prefix"]),
)
LETTERS = st.sets(st.sampled_from(NAMES)).map(frozenset)
TRACES = st.lists(LETTERS, min_size=1, max_size=9)


def renamed(spec, index):
    return Specification(
        f"s{index}",
        spec.formula,
        trigger=spec.trigger,
        recovery=spec.recovery,
        semantics=spec.semantics,
    )


def spec_sets(most=3):
    return st.lists(SPECS, min_size=1, max_size=most).map(
        lambda specs: SpecSet([renamed(spec, i) for i, spec in enumerate(specs)])
    )


def observed(events):
    """The events as one tuple per instance, without the fulfilled ones."""
    arrays = (events.triggered, events.violated, events.exposed, events.recovered, events.verdict)
    return [tuple(column) for column in zip(*(np.asarray(a).tolist() for a in arrays), strict=True)]


def interpret(specs, trace, truncated):
    """The interpreters after a trace, with the events and open events of each step, and the end."""
    machines = [Interpreter(spec) for spec in specs]
    steps, opens = [], []
    for letter in trace:
        steps.append([machine.consume(letter) for machine in machines])
        opens.append(tuple(machine.open for machine in machines))
    return machines, steps, opens, [machine.end(truncated) for machine in machines]


def check_end(events, pending, ends):
    assert observed(events) == [(False, violated, violated, False, v) for violated, _, v in ends]
    assert pending == [p for _, p, _ in ends]


def check_counts(summary, machines, ends):
    for counts, machine, (_, pending, verdict) in zip(
        summary.values(), machines, ends, strict=True
    ):
        assert counts[:4] == (machine.N, machine.V, machine.U, pending)
        assert counts.verdict == (Verdict.VIOLATED if machine.V else verdict)


QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(specs=spec_sets(), trace=TRACES, truncated=st.booleans(), as_mapping=st.booleans())
def test_plain_monitor_is_the_interpreter(specs, trace, truncated, as_mapping):
    machines, steps, opens, ends = interpret(specs, trace, truncated)
    monitor = Monitor(specs)
    for position, letter in enumerate(trace):
        given_letter = {name: name in letter for name in NAMES} if as_mapping else letter
        events = monitor.step(given_letter) if position else monitor.reset(given_letter)
        assert observed(events) == [event[:5] for event in steps[position]]
        assert monitor.open == opens[position]
    check_end(monitor.finish(truncated), [c.pending for c in monitor.summary().values()], ends)
    check_counts(monitor.summary(), machines, ends)


def array_episode(xp, specs, trace, truncated, dense_atoms=12, advance=step):
    """Run the array step over a trace in a batch of two lanes; return what check_* want."""
    tables = make_tables(specs, xp, dense_atoms=dense_atoms)
    state, counts = initial_state(tables, (2,)), zero_counts(tables, (2,))
    seen = []
    for letter in trace:
        truths = [name in letter for name in tables.propositions]
        # The second lane sees the opposite letters: lanes must not touch each other.
        letters = xp.asarray(np.array([truths, [not t for t in truths]], dtype=bool))
        before = state
        state, events = advance(tables, state, letters)
        counts = add_events(tables, counts, events)
        met = np.asarray(fulfilled(before, events))[0].tolist()
        first = type(events)(events.codes[0])
        seen.append([(*e, m) for e, m in zip(observed(first), met, strict=True)])
    terminated = xp.asarray(np.array([not truncated, truncated]))
    events, pending = finish(tables, state, terminated)
    counts = add_end(tables, counts, events, pending, xp.asarray(np.array([True, False])))
    first = type(counts)(*(array[0] for array in counts))
    ends = type(events)(events.codes[0])
    return seen, ends, np.asarray(pending)[0].tolist(), to_counts(tables, first)


@QUICK
@given(
    specs=spec_sets(),
    trace=TRACES,
    truncated=st.booleans(),
    dense_atoms=st.sampled_from([12, 0, 1, 2]),
)
def test_numpy_step_is_the_interpreter(specs, trace, truncated, dense_atoms):
    """``dense_atoms`` sends some or all of the specifications through decision diagrams."""
    machines, steps, _, ends = interpret(specs, trace, truncated)
    seen, end, pending, summary = array_episode(np, specs, trace, truncated, dense_atoms)
    assert seen == steps
    check_end(end, pending, ends)
    check_counts(summary, machines, ends)


@settings(QUICK, max_examples=25)
@given(
    specs=spec_sets(), trace=TRACES, truncated=st.booleans(), dense_atoms=st.sampled_from([12, 1])
)
def test_torch_step_is_the_interpreter(specs, trace, truncated, dense_atoms):
    torch = pytest.importorskip("torch")
    machines, steps, _, ends = interpret(specs, trace, truncated)
    seen, end, pending, summary = array_episode(torch, specs, trace, truncated, dense_atoms)
    assert seen == steps
    check_end(end, pending, ends)
    check_counts(summary, machines, ends)


@pytest.mark.slow
@settings(QUICK, max_examples=10)
@given(
    specs=spec_sets(), trace=TRACES, truncated=st.booleans(), dense_atoms=st.sampled_from([12, 1])
)
def test_jax_step_is_the_interpreter(specs, trace, truncated, dense_atoms):
    jnp = pytest.importorskip("jax.numpy")
    machines, steps, _, ends = interpret(specs, trace, truncated)
    seen, end, pending, summary = array_episode(jnp, specs, trace, truncated, dense_atoms)
    assert seen == steps
    check_end(end, pending, ends)
    check_counts(summary, machines, ends)


@pytest.mark.slow
def test_jax_jit_vmap_and_scan_give_the_numpy_events():
    jax = pytest.importorskip("jax")
    specs = SpecSet(
        [
            Specification("hold", "G(a -> (b W c))", recovery="F(b | c)"),
            Specification("many", "G !(" + " | ".join(f"p{i}" for i in range(14)) + ")",
                          trigger="p0 | p13", recovery="F !p0"),
        ]
    )  # fmt: skip
    here, there = make_tables(specs), make_tables(specs, jax.numpy)
    letters = np.random.default_rng(0).random((25, 6, here.num_propositions)) < 0.2

    state, expected = initial_state(here, (6,)), []
    for letter in letters:
        state, events = step(here, state, letter)
        expected.append(events.codes)

    def one(carry, letter):
        return step(there, carry, letter)

    start = initial_state(there, (6,))
    scanned_state, scanned = jax.jit(lambda s, ls: jax.lax.scan(one, s, ls))(start, letters)
    assert np.array_equal(np.asarray(scanned.codes), np.stack(expected))
    assert np.array_equal(np.asarray(scanned_state.automaton), state.automaton)
    assert np.array_equal(np.asarray(scanned_state.open), state.open)

    mapped = jax.vmap(one)(start, jax.numpy.asarray(letters[0]))[1]
    assert np.array_equal(np.asarray(mapped.codes), expected[0])
    static = jax.jit(step, static_argnums=0)(there, start, jax.numpy.asarray(letters[0]))[1]
    assert np.array_equal(np.asarray(static.codes), expected[0])
