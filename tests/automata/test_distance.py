"""The nearest letters into each successor, against all letters."""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from safe_rl.automata import compile_ltlf
from safe_rl.automata.distance import MOST_WAYS, nearest_flips
from tests.logic.strategies import formulas

NAMES = ("a", "b", "c", "d")


@settings(deadline=None, max_examples=150)
@given(formulas(NAMES, 6), st.tuples(*[st.booleans()] * 4), st.integers(0, 4))
def test_they_are_all_the_smallest_changes(formula, letter, which):
    dfa = compile_ltlf(formula, atoms=NAMES)
    state = which % dfa.num_states
    found = nearest_flips(dfa, state, letter)

    def after(flips):
        true = {n for i, n in enumerate(NAMES) if letter[i] != (i in flips)}
        return dfa.step(state, true)

    ways: dict[int, list[tuple[int, ...]]] = {}
    for size in range(len(NAMES) + 1):
        for flips in combinations(range(len(NAMES)), size):
            ways.setdefault(after(flips), []).append(flips)
    smallest = {
        reached: tuple(sorted(f for f in flips if len(f) == len(flips[0])))
        for reached, flips in ways.items()
    }
    assert found == smallest


def test_every_single_change_is_kept_and_not_every_larger_one():
    wide = compile_ltlf("G(" + " & ".join(f"p{i}" for i in range(20)) + ")")
    (doomed,) = [s for s in range(wide.num_states) if wide.is_doomed(s)]
    assert len(nearest_flips(wide, 0, [1] * 20)[doomed]) == 20
    pairs = " | ".join(f"p{i} & p{j}" for i, j in combinations(range(7), 2))
    two = compile_ltlf(f"G !({pairs})")
    (doomed,) = [s for s in range(two.num_states) if two.is_doomed(s)]
    ways = nearest_flips(two, 0, [0] * 7)[doomed]
    assert len(ways) == MOST_WAYS and set(ways) <= set(combinations(range(7), 2))
    assert list(ways) == sorted(ways)


def test_the_letter_itself_needs_no_change():
    dfa = compile_ltlf("a U b")
    for letter in product([False, True], repeat=2):
        true = {name for name, value in zip(dfa.atoms, letter, strict=True) if value}
        assert nearest_flips(dfa, 0, letter)[dfa.step(0, true)] == ((),)
