"""Several specifications together, and the objects that their variables stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import overload

import numpy as np

from safe_rl.errors import SpecificationError, near
from safe_rl.specs.binding import Binding
from safe_rl.specs.propositions import PropositionInfo
from safe_rl.specs.specification import Instance, Limit, Specification

Objects = Mapping[str, Sequence[str]]
"""Property to the names of the objects that carry it: ``{"graspable": ["mug_1", "bowl_1"]}``."""


class SpecSet(Sequence[Specification]):
    """An immutable sequence of specifications with distinct ids, bound to objects or not yet.

    Attributes:
        specifications: The specifications, in order.
        objects: Property to object names, or ``None`` before :meth:`bind`.
        propositions_meta: Proposition to what its file says of it (ManiGuard's JSON), else empty.

    Raises:
        SpecificationError: duplicate ids, something that is no specification, or objects that are
            not lists of distinct names.

    >>> rule = Specification("settles", "G(dropped(o) -> F settled(o))", forall={"o": "graspable"})
    >>> rules = SpecSet([rule], {"graspable": ["mug", "bowl"]})
    >>> [instance.id for instance in rules.instances]
    ['settles[o=mug]', 'settles[o=bowl]']
    >>> rules.propositions
    ('dropped(mug)', 'settled(mug)', 'dropped(bowl)', 'settled(bowl)')
    """

    specifications: tuple[Specification, ...]
    objects: Mapping[str, tuple[str, ...]] | None
    propositions_meta: Mapping[str, PropositionInfo]

    def __init__(
        self,
        specifications: Iterable[Specification],
        objects: Objects | None = None,
        propositions_meta: Mapping[str, PropositionInfo] | None = None,
    ) -> None:
        """Hold the specifications; ``objects`` binds their variables."""
        hold = super().__setattr__
        hold("specifications", tuple(specifications))
        hold("objects", None if objects is None else _checked(objects))
        hold("propositions_meta", dict(propositions_meta or {}))
        seen: set[str] = set()
        for spec in self.specifications:
            if not isinstance(spec, Specification):
                raise SpecificationError(
                    f"a SpecSet holds Specification objects, not {spec!r} "
                    f"({type(spec).__name__}); use load_specs for files and names"
                )
            if spec.id in seen:
                raise SpecificationError(
                    f"two specifications have the id {spec.id!r}; give each its own id"
                )
            seen.add(spec.id)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a SpecSet cannot be changed; {name} is set by bind(), select() or with_limits(), "
            "which return a new one"
        )

    def __len__(self) -> int:
        return len(self.specifications)

    @overload
    def __getitem__(self, key: int | str) -> Specification: ...
    @overload
    def __getitem__(self, key: slice) -> SpecSet: ...
    def __getitem__(self, key: int | str | slice) -> Specification | SpecSet:
        """Return a specification by position or id, or a part of the set by slice."""
        if isinstance(key, str):
            return self.specifications[self._position(key)]
        if isinstance(key, slice):
            return self._with(self.specifications[key])
        return self.specifications[key]

    def __iter__(self) -> Iterator[Specification]:
        return iter(self.specifications)

    def __contains__(self, item: object) -> bool:
        return item in self.ids if isinstance(item, str) else item in self.specifications

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpecSet):
            return NotImplemented
        return (self.specifications, self.objects, self.propositions_meta) == (
            other.specifications,
            other.objects,
            other.propositions_meta,
        )

    def __hash__(self) -> int:
        return hash(self.specifications)

    def __repr__(self) -> str:
        return f"SpecSet({list(self.ids)!r}, objects={self.objects!r})"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in order."""
        return tuple(spec.id for spec in self.specifications)

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """The monitor instances, specification by specification.

        A specification with ``forall`` has one instance for each choice of distinct objects that
        carry the properties, in the order in which the objects are listed; none where no object
        carries one.

        Raises:
            SpecificationError: a ``forall`` property has no list of objects.
        """
        found = []
        for spec in self.specifications:
            found += [spec.bind(binding) for binding in self._bindings(spec)]
        return tuple(found)

    @cached_property
    def instance_index(self) -> np.ndarray:
        """For each instance the position of its specification: int64 ``[num_instances]``."""
        positions = {spec.id: i for i, spec in enumerate(self.specifications)}
        return np.array(
            [positions[instance.specification.id] for instance in self.instances], dtype=np.int64
        )

    @cached_property
    def propositions(self) -> tuple[str, ...]:
        """Every proposition of every instance, each once, in order of first appearance."""
        names = (bound for instance in self.instances for bound in instance.atoms.values())
        return tuple(dict.fromkeys(names))

    @property
    def constraints(self) -> tuple[Specification, ...]:
        """The specifications that carry a limit, in order."""
        return tuple(spec for spec in self.specifications if spec.limit is not None)

    @property
    def properties(self) -> tuple[str, ...]:
        """The properties of objects that :meth:`bind` has to list, each once, in order."""
        kinds = (kind for spec in self.specifications for kind in spec.forall.values())
        return tuple(dict.fromkeys(kinds))

    def bind(self, objects: Objects) -> SpecSet:
        """Return the set over these objects (property to names); replaces an earlier binding.

        Raises:
            SpecificationError: a property that a ``forall`` uses is not listed.
        """
        bound = SpecSet(self.specifications, objects, self.propositions_meta)
        for spec in bound.specifications:
            next(bound._bindings(spec), None)  # raises for a property without a list
        return bound

    def select(self, ids: Iterable[str]) -> SpecSet:
        """Return the set of the specifications with these ids, in the order given.

        Raises:
            SpecificationError: an unknown id.
        """
        if isinstance(ids, str):
            ids = [ids]
        return self._with(self.specifications[self._position(spec_id)] for spec_id in ids)

    def with_limits(self, limits: Mapping[str, Limit | None]) -> SpecSet:
        """Return the set with the limits of some specifications replaced (``None``: removed).

        Raises:
            SpecificationError: an unknown id.
        """
        changed = list(self.specifications)
        for spec_id, limit in limits.items():
            position = self._position(spec_id)
            changed[position] = replace(changed[position], limit=limit)
        return self._with(changed)

    def _with(self, specifications: Iterable[Specification]) -> SpecSet:
        return SpecSet(specifications, self.objects, self.propositions_meta)

    def _position(self, spec_id: str) -> int:
        try:
            return self.ids.index(spec_id)
        except ValueError:
            raise SpecificationError(
                f"no specification has the id {spec_id!r}{near(spec_id, self.ids)}; "
                f"the ids are {', '.join(self.ids) or 'none'}"
            ) from None

    def _bindings(self, spec: Specification) -> Iterator[Binding]:
        if not spec.forall:
            yield Binding()
            return
        lists = []
        for variable, kind in spec.forall.items():
            if self.objects is None or kind not in self.objects:
                known = () if self.objects is None else self.objects
                raise SpecificationError(
                    f"specification {spec.id!r}, forall: no objects are given for the property "
                    f"{kind!r} of variable {variable!r}{near(kind, known)}; bind them, as in "
                    f'specs.bind({{"{kind}": ["mug_1"]}}) or objects= (an empty list is allowed)'
                )
            lists.append(self.objects[kind])
        yield from _distinct(tuple(spec.forall), lists)


def _distinct(variables: tuple[str, ...], lists: list[tuple[str, ...]]) -> Iterator[Binding]:
    """Yield each choice of distinct objects, the first variable changing slowest."""
    for choice in product(*lists):
        if len(set(choice)) == len(choice):
            yield Binding(zip(variables, choice, strict=True))


def _checked(objects: object) -> dict[str, tuple[str, ...]]:
    example = 'such as {"graspable": ["mug_1", "bowl_1"]}'
    if not isinstance(objects, Mapping):
        raise SpecificationError(
            f"objects must map properties to lists of names, {example}, but is {objects!r}"
        )
    checked = {}
    for kind, names in objects.items():
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise SpecificationError(
                f"objects, property {kind!r}: {names!r} must be a list of names, {example}"
            )
        listed = tuple(names)
        for name in listed:
            if (
                not isinstance(name, str)
                or not name
                or any(c in "(),[]\"'" or c.isspace() for c in name)
            ):
                raise SpecificationError(
                    f"objects, property {kind!r}: {name!r} is no object name; write a text "
                    "without spaces, brackets, commas and quotes"
                )
        if len(set(listed)) != len(listed):
            twice = next(name for name in listed if listed.count(name) > 1)
            raise SpecificationError(
                f"objects, property {kind!r}: {twice!r} is listed twice; list each object once"
            )
        checked[str(kind)] = listed
    return checked
