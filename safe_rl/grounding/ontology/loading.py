"""From files to trees, entities and strata: everything that names something is checked here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from safe_rl.errors import OntologyError, near
from safe_rl.grounding.ontology.documents import Document, EntityEntry, Word, read_document
from safe_rl.grounding.ontology.rules import Strata, stratify
from safe_rl.grounding.ontology.trees import ROOTS, Trees

DATA: Final = files("safe_rl.grounding.ontology") / "data"


@dataclass(frozen=True)
class Contents:
    """What the files say, checked.

    Attributes:
        entities: Name to entity; ``attached`` is complete, what ``like`` brings included.
        aliases: Other name to entity name.
    """

    trees: Trees
    strata: Strata
    entities: Mapping[str, EntityEntry]
    aliases: Mapping[str, str]


@cache
def shipped_documents() -> tuple[Document, ...]:
    """Return the files of the package: trees, rules, then the entities by area."""
    areas = sorted((DATA / "entities").iterdir(), key=lambda path: path.name)
    paths = [DATA / "trees.yaml", DATA / "rules.yaml", *areas]
    return tuple(
        read_document(path.read_text(encoding="utf-8"), f"safe_rl ontology, {path.name}")
        for path in paths
    )


def read_file(path: str | os.PathLike[str]) -> Document:
    """Read a user's file.

    Raises:
        OntologyError: it cannot be read, or is malformed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OntologyError(f"{os.fspath(path)}: cannot be read: {error}") from error
    return read_document(text, os.fspath(path))


def assemble(documents: Iterable[Document]) -> Contents:
    """Put documents together, the later ones on top of the earlier.

    Raises:
        OntologyError: a name that does not exist or exists twice, a node of another tree, an
            attachment that its hyponym makes needless, or rules that cannot be stratified.
    """
    documents = tuple(documents)
    trees = Trees()
    for document in documents:
        known = {*ROOTS, *trees, *(node.name for node in document.nodes)}
        for word in document.extended:
            if word.text not in known:
                raise OntologyError(
                    f"{word.place}: trees: there is no node {word.text!r}{near(word.text, known)}; "
                    "under 'trees' each key is a node that exists, or one of the roots "
                    f"{', '.join(ROOTS)}"
                )
        trees = trees.extended((n.name, n.below.text, n.says, n.place) for n in document.nodes)
    strata = stratify((rule for document in documents for rule in document.rules), trees)
    written = _entities(documents)
    entities = {name: _complete(entry, written) for name, entry in written.items()}
    for entry in entities.values():
        _check_attachments(entry, trees)
    return Contents(trees, strata, entities, _aliases(entities, documents))


def _entities(documents: Iterable[Document]) -> dict[str, EntityEntry]:
    entities: dict[str, EntityEntry] = {}
    for document in documents:
        for entry in document.entities:
            earlier = entities.get(entry.name)
            if earlier is not None and not entry.replaces:
                raise OntologyError(
                    f"{entry.place}: the entity {entry.name!r} exists already ({earlier.place}); "
                    "rename it, or add 'replaces: true' to put it in the other's place"
                )
            if earlier is None and entry.replaces:
                raise OntologyError(
                    f"{entry.place}: the entity {entry.name!r} replaces nothing: there is none of "
                    f"that name{near(entry.name, entities)}; drop 'replaces'"
                )
            if earlier is not None and entry.like is not None and entry.like.text == entry.name:
                entry = _merged(entry, earlier)
            entities[entry.name] = entry
    return entities


def _merged(entry: EntityEntry, base: EntityEntry) -> EntityEntry:
    """Return ``entry`` with the trees that it does not give taken from ``base``."""
    return EntityEntry(
        entry.name,
        entry.place,
        base.attached | entry.attached,
        base.like,
        entry.aliases,
        entry.says or base.says,
        entry.replaces,
    )


def _complete(entry: EntityEntry, entities: Mapping[str, EntityEntry]) -> EntityEntry:
    """Follow ``like`` to its end."""
    seen = [entry.name]
    while entry.like is not None:
        like = entry.like
        if like.text not in entities:
            raise OntologyError(
                f"{like.place}: entity {entry.name!r}, like: there is no entity {like.text!r}"
                f"{near(like.text, entities)}"
            )
        if like.text in seen:
            raise OntologyError(
                f"{like.place}: entity {entry.name!r}, like: {' -> '.join([*seen, like.text])} "
                "is a circle; write the nodes of one of them"
            )
        seen.append(like.text)
        entry = _merged(entry, entities[like.text])
    return entry


def _check_attachments(entry: EntityEntry, trees: Trees) -> None:
    where = f"entity {entry.name!r}"
    if not entry.attached.get("kind"):
        raise OntologyError(
            f"{entry.place}: {where} has no kind; say what it is, such as kind: fruit"
        )
    for tree, words in entry.attached.items():
        for word in words:
            _check_node(word, tree, where, trees)
        for word in words:
            for other in words:
                if other != word and word.text in trees.upward(other.text):
                    raise OntologyError(
                        f"{word.place}: {where}, {tree}: {word.text!r} is needless beside "
                        f"{other.text!r}, which is below it; keep the most specific"
                    )


def _check_node(word: Word, tree: str, where: str, trees: Trees) -> None:
    try:
        node = trees[word.text]
    except OntologyError as error:
        raise OntologyError(f"{word.place}: {where}, {tree}: {error}") from None
    if node.tree != tree:
        raise OntologyError(
            f"{word.place}: {where}, {tree}: {word.text!r} is in the tree {node.tree!r}; "
            f"write it under '{node.tree}:'"
        )


def _aliases(entities: Mapping[str, EntityEntry], documents: Sequence[Document]) -> dict[str, str]:
    """Return alias to entity; an entity of a later file goes before an earlier file's alias."""
    rank = {e.name: i for i, document in enumerate(documents) for e in document.entities}
    aliases: dict[str, str] = {}
    for entry in entities.values():
        for word in entry.aliases:
            where = f"{word.place}: entity {entry.name!r}, aliases: {word.text!r} is"
            if word.text in entities:
                other = entities[word.text]
                if rank[other.name] > rank[entry.name]:
                    continue
                raise OntologyError(f"{where} itself an entity ({other.place}); drop the alias")
            if word.text in aliases:
                other = entities[aliases[word.text]]
                raise OntologyError(
                    f"{where} an alias of {other.name!r} already ({other.place}); drop one of them"
                )
            aliases[word.text] = entry.name
    return aliases
