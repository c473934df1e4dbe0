"""Generalised advantages from their definition, for tests of every backend."""

from __future__ import annotations


def by_hand(
    signal: list[float], ends: list[str], value: float, gamma: float, lam: float
) -> list[float]:
    """GAE from its definition, a sum over the steps to come; ``ends``: "", "stop" or "cut"."""
    size = len(signal)
    deltas = []
    for t in range(size):
        future = 0.0 if ends[t] == "stop" else value
        deltas.append(signal[t] + gamma * future - value)
    result = []
    for t in range(size):
        total, weight = 0.0, 1.0
        for k in range(t, size):
            total += weight * deltas[k]
            if ends[k]:
                break
            weight *= gamma * lam
        result.append(total)
    return result
