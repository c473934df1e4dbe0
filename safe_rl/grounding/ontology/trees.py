"""The four hypernym trees; each node below a root is a property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from safe_rl.errors import OntologyError, near

ROOTS: Final = ("kind", "hazard", "affordance", "role")
"""What a thing is, how it is dangerous, what can be done with it, what part it plays."""


@dataclass(frozen=True)
class Node:
    """A node below a root.

    Attributes:
        name: Distinct over all four trees.
        tree: The root that it stands below.
        parent: Its hypernym: a node, or the root.
        says: Its definition; empty where the name says it.
        place: ``file:line`` where it is written.
    """

    name: str
    tree: str
    parent: str
    says: str
    place: str


class Trees:
    """Immutable trees.

    They grow from the roots downwards, one node at a time and each below one that exists, so that
    every node is reached from its root, and none is its own hypernym.

    >>> trees = Trees().grown("food", "kind").grown("meat", "food")
    >>> trees.upward("meat")
    ('meat', 'food')
    """

    __slots__ = ("_nodes",)

    _nodes: Mapping[str, Node]

    def __init__(self, nodes: Mapping[str, Node] | None = None) -> None:
        """Hold the nodes of other trees; by default none but the roots."""
        self._nodes = dict(nodes or {})

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __getitem__(self, name: str) -> Node:
        """Return a node.

        Raises:
            OntologyError: there is none of that name.
        """
        if name in self._nodes:
            return self._nodes[name]
        if name in ROOTS:
            raise OntologyError(
                f"{name!r} is the root of a tree and no property; name a node below it"
            )
        raise OntologyError(f"there is no property {name!r}{near(name, self._nodes)}")

    def grown(self, name: str, below: str, says: str = "", place: str = "") -> Trees:
        """Return the trees with one more node below an existing one.

        Raises:
            OntologyError: ``below`` does not exist, or ``name`` does already.
        """
        return self.extended([(name, below, says, place)])

    def extended(self, entries: Iterable[tuple[str, str, str, str]]) -> Trees:
        """Return the trees with several more nodes: name, hypernym, definition and place each.

        Raises:
            OntologyError: as for :meth:`grown`; the message begins with the place.
        """
        nodes = dict(self._nodes)
        for name, below, says, place in entries:
            at = f"{place}: " if place else ""
            if name in ROOTS:
                raise OntologyError(f"{at}the node {name!r} has the name of a root; rename it")
            if name in nodes:
                other = nodes[name]
                raise OntologyError(
                    f"{at}the node {name!r} exists already, below {other.parent!r}"
                    f"{f' ({other.place})' if other.place else ''}; a node has one hypernym. "
                    f"To add nodes below it, write {name!r} directly under 'trees'"
                )
            if below not in nodes and below not in ROOTS:
                raise OntologyError(
                    f"{at}the node {name!r} is put below {below!r}, which does not exist"
                    f"{near(below, [*ROOTS, *nodes])}; the roots are {', '.join(ROOTS)}"
                )
            tree = below if below in ROOTS else nodes[below].tree
            nodes[name] = Node(name, tree, below, says, place)
        return Trees(nodes)

    def upward(self, name: str) -> tuple[str, ...]:
        """Return the node and its hypernyms, the most specific first, without the root.

        Raises:
            OntologyError: there is no such node.
        """
        path = [self[name]]
        while path[-1].parent not in ROOTS:
            path.append(self._nodes[path[-1].parent])
        return tuple(node.name for node in path)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the nodes directly below a node or a root, in the order of the files."""
        return tuple(node.name for node in self._nodes.values() if node.parent == name)
