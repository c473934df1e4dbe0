"""Look-up rows for the plain monitor: transitions remembered by the letters that were met.

Neighbouring instances with small machines are looked up together, as one *block*: a row belongs to
the tuple of their states, and is filled as letters arrive. This is a memory of what the machines do
one by one, not a product automaton: a block is bounded, and a forgotten entry is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from safe_rl.monitors.machine import EventMachine

BLOCK_ENTRIES: Final = 8192
"""Instances share a block while their states times their letters stay within this number."""
ROW_ENTRIES: Final = 4096
"""A row that has met this many letters is emptied: a 40-atom invariant must not fill the memory."""
BLOCK_ROWS: Final = 65536
"""A block that has met this many states forgets them."""


class Row(dict[bytes, "Edge"]):
    """From one tuple of states: what each letter leads to.

    The key holds one byte, 0 or 1, for each atom of the block.
    """

    __slots__ = ("block", "states")

    def __init__(self, block: Block, states: tuple[int, ...]) -> None:
        """Make an empty row."""
        super().__init__()
        self.block = block
        self.states = states

    def __missing__(self, key: bytes) -> Edge:
        """Find what a letter leads to, and remember it.

        Raises:
            ValueError: the key holds a number other than 0 and 1.
        """
        if key.translate(None, b"\x00\x01"):
            raise ValueError("a letter holds a number other than 0 and 1")
        if len(self) >= ROW_ENTRIES:
            self.clear()
        found = self[key] = self.block.move(self.states, key)
        return found


Edge = tuple[Row, bytes]
"""The next row, and the packed events of each instance of the block."""


class Block:
    """The rows of one or several machines.

    Attributes:
        machines: The machine of each instance.
        picks: For each machine, where the block's key holds its atoms.
    """

    def __init__(
        self, machines: tuple[EventMachine, ...], picks: tuple[tuple[int, ...], ...]
    ) -> None:
        """Begin with no rows; use :func:`block_of`, which shares them."""
        self.machines = machines
        self.picks = picks
        self._rows: dict[tuple[int, ...], Row] = {}

    def row(self, states: tuple[int, ...]) -> Row:
        """Return the row of a tuple of states."""
        found = self._rows.get(states)
        if found is None:
            if len(self._rows) >= BLOCK_ROWS:
                self._rows.clear()
            found = self._rows[states] = Row(self, states)
        return found

    def move(self, states: tuple[int, ...], key: bytes) -> Edge:
        """Return the edge that the machines take on a letter (see ``EventMachine.transition``)."""
        reached = []
        codes = []
        for machine, state, pick in zip(self.machines, states, self.picks, strict=True):
            ref, var, low, high = machine.roots[state], machine.var, machine.low, machine.high
            while ref >= 0:
                ref = high[ref] if key[pick[var[ref]]] else low[ref]
            reached.append(machine.next_state[~ref])
            codes.append(machine.code[~ref])
        return self.row(tuple(reached)), bytes(codes)


@lru_cache(maxsize=1024)
def block_of(machines: tuple[EventMachine, ...], picks: tuple[tuple[int, ...], ...]) -> Block:
    """Return the one block of these machines, shared by all monitors."""
    return Block(machines, picks)


def split_into_blocks(
    machines: Sequence[EventMachine], atoms: Sequence[Sequence[str]]
) -> list[tuple[Block, list[str]]]:
    """Put neighbouring instances into blocks.

    Args:
        machines: The machine of each instance.
        atoms: The bound atoms of each instance, in the order of its machine's atoms.

    Returns:
        The blocks (at least one, possibly empty), each with the propositions that its key holds.
    """
    if not machines:
        return [(block_of((), ()), [])]
    groups: list[list[int]] = []
    names: list[list[str]] = []
    states = 0
    for i, machine in enumerate(machines):
        if groups:
            joined = list(dict.fromkeys([*names[-1], *atoms[i]]))
            if (states * machine.num_states) << len(joined) <= BLOCK_ENTRIES:
                groups[-1].append(i)
                names[-1] = joined
                states *= machine.num_states
                continue
        groups.append([i])
        names.append(list(dict.fromkeys(atoms[i])))
        states = machine.num_states
    return [
        (
            block_of(
                tuple(machines[i] for i in group),
                tuple(tuple(held.index(atom) for atom in atoms[i]) for i in group),
            ),
            held,
        )
        for group, held in zip(groups, names, strict=True)
    ]
