"""Random specifications with random traces, and the plain monitor as the judge of changed ones."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set
from itertools import combinations, product

from hypothesis import strategies as st

from safe_rl.feedback import Counterexample
from safe_rl.monitors import Monitor
from safe_rl.specs import Specification, SpecSet
from tests.monitors.random_sets import random_formula, random_set

Letter = Set[str]
NAMES = ("a", "b", "c", "d")
INVARIANTS = (
    "G(a -> b)",
    "G(a -> (b W c))",
    "G(a -> F b)",
    "G(a -> X(b & WX c))",
    "G(a -> F[0,2] b)",
    "(!a W b) & G(a -> WX(!a W b))",
    "G(a & b -> !c)",
    "G(a -> Y b)",
    "G(a | b -> c & !d)",
    "a & WX false",
    "G(a <-> WX b)",
)


@st.composite
def cases(draw) -> tuple[SpecSet, list[frozenset[str]], bool]:
    """Specifications, a trace, and whether it was cut off."""
    seed = draw(st.integers(0, 10_000))
    if draw(st.booleans()):
        specs = random_set(seed, most=2)
    else:
        rng = random.Random(seed)
        specs = SpecSet(
            [
                Specification(
                    f"s{index}",
                    draw(st.sampled_from(INVARIANTS)),
                    trigger=random_formula(rng, rng.randint(0, 2), future=False),
                    recovery=random_formula(rng, rng.randint(0, 2))
                    if draw(st.booleans())
                    else None,
                )
                for index in range(2)
            ]
        )
    letters = st.frozensets(st.sampled_from(NAMES))
    return specs, draw(st.lists(letters, min_size=1, max_size=7)), draw(st.booleans())


def harmed(
    specs: SpecSet, instance: str, trace: Sequence[Letter], *, first: int = 0, ends: bool = False
) -> bool:
    """Whether an instance is in violation at a step from ``first`` on, or by the end."""
    monitor = Monitor(specs)
    index = [one.id for one in specs.instances].index(instance)
    for step, letter in enumerate(trace):
        events = monitor.step(letter) if step else monitor.reset(letter)
        if step >= first and (events.violated[index] or events.exposed[index]):
            return True
    return ends and bool(monitor.finish(truncated=False).violated[index])


def changed(letter: Letter, names: Sequence[str]) -> frozenset[str]:
    """The letter with some propositions turned over."""
    return frozenset(letter) ^ frozenset(names)


def replaced(trace: Sequence[Letter], step: int, letter: Letter) -> list[Letter]:
    """The trace with another letter at a step."""
    return [*trace[:step], letter, *trace[step + 1 :]]


def subsets(found: Counterexample, sizes: Sequence[int]) -> list[tuple[str, ...]]:
    """The sets of an instance's propositions with these sizes."""
    return [names for size in sizes for names in combinations(found.propositions, size)]


def words(found: Counterexample, length: int) -> list[tuple[frozenset[str], ...]]:
    """Every word of a length over an instance's propositions."""
    letters = [frozenset(names) for names in subsets(found, range(len(found.propositions) + 1))]
    return list(product(letters, repeat=length))
