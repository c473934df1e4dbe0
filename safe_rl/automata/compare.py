"""Language comparison of two DFAs, which may order their atoms differently."""

from __future__ import annotations

from collections import deque

from safe_rl.automata.dfa import DFA


def difference(first: DFA, second: DFA) -> list[frozenset[str]] | None:
    """Return a shortest trace that exactly one of two DFAs accepts, or ``None``.

    An atom that only one of them knows is free for the other.

    >>> from safe_rl.automata import compile_ltlf
    >>> difference(compile_ltlf("F a"), compile_ltlf("!G !a")) is None
    True
    >>> difference(compile_ltlf("G(a -> X b)"), compile_ltlf("G(a -> WX b)"))
    [frozenset({'a'})]
    """
    start = (first.initial, second.initial)
    words: dict[tuple[int, int], list[frozenset[str]]] = {start: []}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        word = words[pair]
        if first.accepting[pair[0]] != second.accepting[pair[1]]:
            return word
        for letter, successor in _joint_edges(first, second, pair):
            if successor not in words:
                words[successor] = [*word, letter]
                queue.append(successor)
    return None


def _joint_edges(
    first: DFA, second: DFA, pair: tuple[int, int]
) -> list[tuple[frozenset[str], tuple[int, int]]]:
    """The pairs of states that one letter leads to, each with one such letter."""
    found: dict[tuple[int, int], frozenset[str]] = {}
    stack: list[tuple[int, int, dict[str, bool]]] = [
        (first.roots[pair[0]], second.roots[pair[1]], {})
    ]
    while stack:
        left, right, chosen = stack.pop()
        left, right = _follow(first, left, chosen), _follow(second, right, chosen)
        if left >= 0 or right >= 0:
            name = first.atoms[first.var[left]] if left >= 0 else second.atoms[second.var[right]]
            stack.append((left, right, {**chosen, name: True}))
            stack.append((left, right, {**chosen, name: False}))
        else:
            found.setdefault((~left, ~right), frozenset(n for n, v in chosen.items() if v))
    return [(letter, successor) for successor, letter in found.items()]


def _follow(dfa: DFA, ref: int, chosen: dict[str, bool]) -> int:
    while ref >= 0 and dfa.atoms[dfa.var[ref]] in chosen:
        ref = dfa.high[ref] if chosen[dfa.atoms[dfa.var[ref]]] else dfa.low[ref]
    return ref
