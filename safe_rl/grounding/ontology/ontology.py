"""The ontology: which properties an object has, and why; which of a scene's objects have one."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file
from typing import Literal

from safe_rl.errors import OntologyError, near
from safe_rl.grounding.ontology.combinations import parse_combination
from safe_rl.grounding.ontology.loading import (
    DATA,
    Contents,
    assemble,
    read_file,
    shipped_documents,
)
from safe_rl.grounding.ontology.naming import candidates
from safe_rl.grounding.ontology.rules import Reason, Rule, close
from safe_rl.grounding.ontology.trees import ROOTS, Trees
from safe_rl.specs import Specification, SpecSet, load_specs
from safe_rl.specs.loading import Specs
from safe_rl.specs.spec_set import Objects

Unknown = Literal["error", "skip"]
"""What to do with a name that stands for no entity: refuse it, or leave it out with a warning."""

Names = Iterable[str] | Mapping[str, str]
"""Names of objects; or object to the entity that it is, where the name does not say so."""


@dataclass(frozen=True)
class Entity:
    """A kind of thing, with all that follows from what it is attached to.

    Attributes:
        name: Its name in the ontology.
        attached: Tree to its nodes there, the most specific ones.
        reasons: Property to why it has it, every hypernym and consequence included.
        aliases: Other names for it.
        says: What its file says of it; may be empty.
        place: ``file:line``.
    """

    name: str
    attached: Mapping[str, tuple[str, ...]]
    reasons: Mapping[str, Reason]
    aliases: tuple[str, ...]
    says: str
    place: str

    @property
    def properties(self) -> tuple[str, ...]:
        """All its properties, sorted."""
        return tuple(sorted(self.reasons))

    @property
    def derived(self) -> Mapping[str, Reason]:
        """The properties that only a rule gives, with the rule."""
        return {name: why for name, why in self.reasons.items() if why.rule is not None}


class Ontology:
    """Trees, entities and rules; immutable.

    >>> ontology = Ontology.load()
    >>> ontology.has("milk_1", "perishable"), ontology.has("milk_1", "sharp")
    (True, False)
    >>> print(ontology.why("milk_1", "perishable"))
    rule dairy_spoils (dairy -> perishable)
    >>> ontology.objects(["wine_glass_1", "mug", "knife"])["fragile"]
    ('wine_glass_1', 'mug')
    """

    def __init__(self, contents: Contents) -> None:
        """Hold what :func:`~safe_rl.grounding.ontology.loading.assemble` returns."""
        self._contents = contents
        self._closed: dict[str, Entity] = {}

    @classmethod
    def load(cls, *extra_files: str | os.PathLike[str]) -> Ontology:
        """Return the shipped ontology with a user's files on top.

        Raises:
            OntologyError: a file is malformed or does not fit; the message begins with file and
                line.
        """
        return cls(assemble((*shipped_documents(), *map(read_file, extra_files))))

    def __repr__(self) -> str:
        sizes = f"{len(self.entities)} entities, {len(self.properties)} properties"
        return f"Ontology({sizes}, {len(self.rules)} rules)"

    @property
    def trees(self) -> Trees:
        """The four trees."""
        return self._contents.trees

    @property
    def properties(self) -> tuple[str, ...]:
        """Every property, tree by tree, in the order in which they were written."""
        return tuple(n for root in ROOTS for n in self.trees if self.trees[n].tree == root)

    @property
    def entities(self) -> tuple[str, ...]:
        """The names of all entities, sorted."""
        return tuple(sorted(self._contents.entities))

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The commonsense rules, sorted by name."""
        rules = (rule for stratum in self._contents.strata for rule in stratum)
        return tuple(sorted(rules, key=lambda rule: rule.name))

    @cached_property
    def relations(self) -> SpecSet:
        """The shipped relational rules: specifications over two things with given properties."""
        with as_file(DATA / "relations.yaml") as path:
            return load_specs(path)

    def find(self, name: str) -> str | None:
        """Return the entity that an object's name stands for, or ``None``.

        The name itself or an alias, then the same without instance suffixes; see
        :func:`~safe_rl.grounding.ontology.naming.candidates`.
        """
        for text in candidates(name):
            if text in self._contents.entities:
                return text
            if text in self._contents.aliases:
                return self._contents.aliases[text]
        return None

    def entity(self, name: str) -> Entity:
        """Return the entity that an object's name stands for.

        Raises:
            OntologyError: it stands for none; the message offers near names.
        """
        found = self.find(name)
        if found is None:
            raise OntologyError(self._unknown(name))
        if found not in self._closed:
            entry = self._contents.entities[found]
            attached = {
                tree: tuple(word.text for word in entry.attached.get(tree, ())) for tree in ROOTS
            }
            nodes = [node for tree in ROOTS for node in attached[tree]]
            self._closed[found] = Entity(
                found,
                attached,
                close(nodes, self._contents.strata, self.trees),
                tuple(word.text for word in entry.aliases),
                entry.says,
                entry.place,
            )
        return self._closed[found]

    def has(self, name: str, combination: str) -> bool:
        """Whether an object has a property, or a combination such as ``fragile & !heavy``.

        Raises:
            OntologyError: an unknown object or property.
        """
        wanted = parse_combination(combination, self.trees)
        return wanted.holds(self.entity(name).reasons)

    def why(self, name: str, prop: str) -> Reason | None:
        """Return why an object has a property, or ``None`` where it has not.

        Raises:
            OntologyError: an unknown object or property.
        """
        return self.entity(name).reasons.get(self.trees[prop].name)

    def with_property(self, combination: str) -> tuple[str, ...]:
        """Return the entities with a property or a combination, sorted.

        Raises:
            OntologyError: an unknown property.
        """
        wanted = parse_combination(combination, self.trees)
        return tuple(name for name in self.entities if wanted.holds(self.entity(name).reasons))

    def recognise(self, names: Names, unknown: Unknown = "error") -> dict[str, Entity]:
        """Return each object's entity, in the order given.

        Args:
            names: Names of objects, or a mapping of objects to entities.
            unknown: ``"skip"`` leaves out what stands for no entity and warns.

        Raises:
            OntologyError: a name stands for no entity, and ``unknown`` is ``"error"``.
        """
        if isinstance(names, str):
            names = [names]
        if unknown not in ("error", "skip"):
            raise OntologyError(f"unknown must be 'error' or 'skip', but is {unknown!r}")
        pairs = names.items() if isinstance(names, Mapping) else ((name, name) for name in names)
        found: dict[str, Entity] = {}
        skipped = []
        for name, meaning in pairs:
            if self.find(meaning) is None and unknown == "skip":
                skipped.append(name)
            else:
                found[name] = self.entity(meaning)
        if skipped:
            warnings.warn(
                f"not in the ontology, so left out of every property: {', '.join(skipped)}",
                stacklevel=3,
            )
        return found

    def objects(self, names: Names, unknown: Unknown = "error") -> dict[str, tuple[str, ...]]:
        """Return for every property the objects that have it: what ``SpecSet.bind`` takes.

        Args:
            names: Names of objects, or a mapping of objects to entities.
            unknown: ``"skip"`` leaves out what stands for no entity and warns.

        Raises:
            OntologyError: a name stands for no entity, and ``unknown`` is ``"error"``.
        """
        known = self.recognise(names, unknown)
        return {
            prop: tuple(name for name, entity in known.items() if prop in entity.reasons)
            for prop in self.properties
        }

    def bind(
        self,
        specs: Specs,
        names: Names,
        objects: Objects | None = None,
        unknown: Unknown = "error",
    ) -> SpecSet:
        """Bind the ``forall`` variables of specifications to a scene's objects.

        A ``forall`` may name a property or a combination such as ``fragile & !heavy``.

        Args:
            specs: What :func:`~safe_rl.specs.load_specs` takes.
            names: Names of objects, or a mapping of objects to entities.
            objects: Objects of properties that the ontology cannot know, such as ``target``; they
                go before what it knows.
            unknown: ``"skip"`` leaves out what stands for no entity and warns.

        Raises:
            OntologyError: an unknown object or property.
            SpecificationError: the specifications are malformed.
        """
        specs = load_specs(specs)
        known = self.recognise(names, unknown)
        bound: dict[str, Sequence[str]] = {**(specs.objects or {}), **(objects or {})}
        for text in specs.properties:
            if text in bound:
                continue
            try:
                wanted = parse_combination(text, self.trees)
            except OntologyError as error:
                raise OntologyError(
                    f"forall: {error}; a property that depends on the task is given by "
                    f'objects={{"{text}": [...]}}'
                ) from None
            bound[text] = [name for name, e in known.items() if wanted.holds(e.reasons)]
        return specs.bind(bound)

    def pairs(
        self, relation: str | Specification, names: Names, unknown: Unknown = "error"
    ) -> tuple[tuple[str, ...], ...]:
        """Return the choices of distinct objects to which a relational rule applies.

        Args:
            relation: The id of one of :attr:`relations`, or any specification with ``forall``.
            names: Names of objects, or a mapping of objects to entities.
            unknown: ``"skip"`` leaves out what stands for no entity and warns.

        Raises:
            OntologyError: an unknown object or property.
            SpecificationError: there is no such relational rule.

        >>> Ontology.load().pairs("no_metal_in_the_microwave", ["fork", "bowl", "microwave_1"])
        (('fork', 'microwave_1'),)
        """
        rule = self.relations[relation] if isinstance(relation, str) else relation
        bound = self.bind(SpecSet([rule]), names, unknown=unknown)
        return tuple(tuple(instance.binding.values()) for instance in bound.instances)

    def needless(self, name: str) -> tuple[str, ...]:
        """Return the nodes that an entity is attached to although rules give them anyway.

        Raises:
            OntologyError: an unknown entity.
        """
        entity = self.entity(name)
        nodes = [node for tree in ROOTS for node in entity.attached[tree]]
        return tuple(
            node
            for node in nodes
            if close([n for n in nodes if n != node], self._contents.strata, self.trees).keys()
            == entity.reasons.keys()
        )

    def _unknown(self, name: str) -> str:
        known = [*self._contents.entities, *self._contents.aliases]
        text = next(iter(candidates(name)), name)
        return (
            f"no entity is named {name!r}{near(text, known)}; say which entity it is, as in "
            f'{{"{name}": "mug"}}, or add it in a file of your own (see docs/ontology.md)'
        )
