"""Random structures and CTL formulas, by seed."""

import random

from safe_rl.logic import Op
from safe_rl.logic.ctl import CTL, Quantifier

UNARY = (Op.NEXT, Op.EVENTUALLY, Op.ALWAYS)
BINARY = (Op.UNTIL, Op.WEAK_UNTIL, Op.RELEASE, Op.STRONG_RELEASE)
BOOLEAN = (Op.NOT, Op.AND, Op.OR, Op.XOR, Op.IMPLIES, Op.IFF)


def random_ctl(rng: random.Random, depth: int, names="pq", bounded: bool = True) -> CTL:
    """A formula with every quantifier and operator; some with intervals if ``bounded``."""
    if depth == 0 or rng.random() < 0.1:
        if rng.random() < 0.1:
            return CTL(rng.choice([Op.TRUE, Op.FALSE]))
        return CTL(Op.ATOM, (), rng.choice(names))

    def sub() -> CTL:
        return random_ctl(rng, depth - 1, names, bounded)

    if rng.random() < 0.35:
        op = rng.choice(BOOLEAN)
        return CTL(op, (sub(),) if op is Op.NOT else (sub(), sub()))
    op = rng.choice(UNARY + BINARY)
    bounds = None
    if bounded and rng.random() < 0.3:
        low = rng.randint(0, 2)
        if op is Op.NEXT:
            bounds = (2, 2)
        elif op in (Op.EVENTUALLY, Op.ALWAYS, Op.UNTIL):
            bounds = (low, rng.choice([None, low, low + 1, low + 2]))
    args = (sub(),) if op in UNARY else (sub(), sub())
    quantifier = rng.choice([Quantifier.ALL, Quantifier.SOME])
    return CTL(quantifier, (CTL(op, args, "", bounds),))


def random_letters(rng: random.Random, count: int, names="pq"):
    return [frozenset(name for name in names if rng.random() < 0.5) for _ in range(count)]


def random_graph(rng: random.Random, largest: int = 8):
    """Successors of each state, none for some, and letters."""
    count = rng.randint(1, largest)
    successors = [
        sorted(rng.sample(range(count), rng.randint(0, min(3, count)))) for _ in range(count)
    ]
    return successors, random_letters(rng, count)


def random_parents(rng: random.Random, largest: int = 8):
    """Parents of the nodes of a tree in some order, and letters."""
    count = rng.randint(1, largest)
    places = rng.sample(range(count), count)
    parents = [-1] * count
    for i in range(1, count):
        parents[places[i]] = places[rng.randrange(i)]
    return parents, random_letters(rng, count)


def children(parents):
    return [[c for c, parent in enumerate(parents) if parent == s] for s in range(len(parents))]
