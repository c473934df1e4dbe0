"""Reduced ordered binary decision diagrams, as small as the compiler needs.

A node is an index into three parallel lists. Nodes are unique, so equal functions are equal
integers (Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", 1986).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

ZERO: Final = 0
ONE: Final = 1
_TERMINAL_VAR: Final = 1 << 60
_TICK: Final = 0xFFF


class Diagrams:
    """A store of shared decision diagrams over variables 0, 1, 2 … in that order.

    Attributes:
        var: The variable that each node tests; the two terminals come after every variable.
        low: The node reached where the variable is false.
        high: The node reached where it is true.
    """

    def __init__(self, on_growth: Callable[[], None] | None = None) -> None:
        """Create a store; ``on_growth`` is called now and then while it grows, and may raise."""
        self.var: list[int] = [_TERMINAL_VAR, _TERMINAL_VAR]
        self.low: list[int] = [ZERO, ONE]
        self.high: list[int] = [ZERO, ONE]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._ite: dict[tuple[int, int, int], int] = {}
        self._on_growth = on_growth

    def node(self, var: int, low: int, high: int) -> int:
        """Return the node that tests ``var`` and continues with ``low`` or ``high``."""
        if low == high:
            return low
        key = (var, low, high)
        found = self._unique.get(key)
        if found is None:
            found = self._unique[key] = len(self.var)
            self.var.append(var)
            self.low.append(low)
            self.high.append(high)
            if self._on_growth is not None and not found & _TICK:
                self._on_growth()
        return found

    def variable(self, var: int) -> int:
        """Return the function that is the variable itself."""
        return self.node(var, ZERO, ONE)

    def ite(self, f: int, g: int, h: int) -> int:
        """Return ``if f then g else h``."""
        if f <= ONE:
            return g if f else h
        if g == h:
            return g
        if g == f:
            g = ONE
        if h == f:
            h = ZERO
        if g == ONE and h == ZERO:
            return f
        key = (f, g, h)
        found = self._ite.get(key)
        if found is None:
            var, low, high = self.var, self.low, self.high
            var_f, var_g, var_h = var[f], var[g], var[h]
            top = var_f
            if var_g < top:
                top = var_g
            if var_h < top:
                top = var_h
            if var_f == top:
                f0, f1 = low[f], high[f]
            else:
                f0 = f1 = f
            if var_g == top:
                g0, g1 = low[g], high[g]
            else:
                g0 = g1 = g
            if var_h == top:
                h0, h1 = low[h], high[h]
            else:
                h0 = h1 = h
            # The base cases are looked at here as well: they are most of the calls.
            if f0 <= ONE:
                below = g0 if f0 else h0
            elif g0 == h0:
                below = g0
            else:
                below = self.ite(f0, g0, h0)
            if f1 <= ONE:
                above = g1 if f1 else h1
            elif g1 == h1:
                above = g1
            else:
                above = self.ite(f1, g1, h1)
            found = self._ite[key] = below if below == above else self.node(top, below, above)
        return found

    def negate(self, f: int) -> int:
        """Return ``not f``."""
        return self.ite(f, ZERO, ONE)

    def conjoin(self, f: int, g: int) -> int:
        """Return ``f and g``."""
        return self.ite(f, g, ZERO) if f <= g else self.ite(g, f, ZERO)

    def disjoin(self, f: int, g: int) -> int:
        """Return ``f or g``."""
        return self.ite(f, ONE, g) if f <= g else self.ite(g, ONE, f)
