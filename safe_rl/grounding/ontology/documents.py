"""The YAML format of the ontology, read with the place of every word.

A file is a mapping with some of the keys ``trees``, ``entities`` and ``rules``::

    trees:
      meat: {game: "Hunted, not farmed."}          # game is a new node below meat
    entities:
      venison: {kind: game, affordance: freezable, aliases: [deer_meat]}
      my_mug: {like: mug, hazard: []}              # as mug, without the hazards given to it
    rules:
      game_is_tough: {if: game, unless: cured_meat, then: needs_cooking}

Here only the format is checked; what the names mean is the loader's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import yaml

from safe_rl.errors import OntologyError, near
from safe_rl.grounding.ontology.rules import Rule
from safe_rl.grounding.ontology.trees import ROOTS

FILE_KEYS: Final = ("trees", "entities", "rules")
ENTITY_KEYS: Final = (*ROOTS, "like", "aliases", "says", "replaces")
RULE_KEYS: Final = ("if", "unless", "then", "says")
SAYS: Final = "says"

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\Z")
_STRING: Final = "tag:yaml.org,2002:str"
_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"
# The parser in C gives the same nodes and marks, about ten times as fast.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Word(NamedTuple):
    """A name and where it stands, as ``file:line``."""

    text: str
    place: str


@dataclass(frozen=True)
class NodeEntry:
    """A node of a tree as written: its hypernym, its definition and its place."""

    name: str
    below: Word
    says: str
    place: str


@dataclass(frozen=True)
class EntityEntry:
    """An entity as written.

    Attributes:
        attached: Tree to the nodes given; a tree that is not given is missing.
        like: The entity from which trees that are not given are taken.
        replaces: Whether it takes the place of an entity of an earlier file.
    """

    name: str
    place: str
    attached: dict[str, tuple[Word, ...]]
    like: Word | None = None
    aliases: tuple[Word, ...] = ()
    says: str = ""
    replaces: bool = False


@dataclass(frozen=True)
class Document:
    """One file of the ontology."""

    source: str
    nodes: tuple[NodeEntry, ...] = ()
    extended: tuple[Word, ...] = field(default=())
    entities: tuple[EntityEntry, ...] = ()
    rules: tuple[Rule, ...] = ()


def read_document(text: str, source: str) -> Document:
    """Read a YAML text; ``source`` names it in messages.

    Raises:
        OntologyError: no YAML, an unknown key, a key given twice, or a value of the wrong sort. The
            message begins with file and line.

    >>> read_document("entities: {pebble: {kind: stone}}", "mine.yaml").entities[0].name
    'pebble'
    """
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise OntologyError(f"{source}: this is no valid YAML: {error}") from error
    return _Reader(source).document(root)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source

    def document(self, root: yaml.Node | None) -> Document:
        nodes: list[NodeEntry] = []
        extended: list[Word] = []
        entities: list[EntityEntry] = []
        rules: list[Rule] = []
        if root is None:
            raise OntologyError(
                f"{self.source}: the file is empty; give it some of the keys {', '.join(FILE_KEYS)}"
            )
        for key, value in self._items(root, "the file", FILE_KEYS):
            if key.text == "trees":
                for node, children in self._items(value, "trees"):
                    extended.append(node)
                    nodes += self._nodes(node, children)
            elif key.text == "entities":
                entities += [self._entity(*item) for item in self._items(value, "entities")]
            else:
                rules += [self._rule(*item) for item in self._items(value, "rules")]
        return Document(self.source, tuple(nodes), tuple(extended), tuple(entities), tuple(rules))

    def _nodes(self, below: Word, children: yaml.Node) -> Iterator[NodeEntry]:
        for name, value in self._items(children, f"the nodes below {below.text!r}"):
            if name.text == SAYS:
                continue
            says, deeper = "", None
            if isinstance(value, yaml.MappingNode):
                deeper = value
                for key, words in self._items(value, f"node {name.text!r}"):
                    if key.text == SAYS:
                        says = self._text(words, f"node {name.text!r}, says")
            elif not self._empty(value):
                says = self._text(value, f"node {name.text!r}")
            yield NodeEntry(self._name(name, "node").text, below, says, name.place)
            if deeper is not None:
                yield from self._nodes(name, deeper)

    def _entity(self, name: Word, value: yaml.Node) -> EntityEntry:
        where = f"entity {self._name(name, 'entity').text!r}"
        attached: dict[str, tuple[Word, ...]] = {}
        aliases: tuple[Word, ...] = ()
        like, says, replaces = None, "", False
        for key, given in self._items(value, where, ENTITY_KEYS):
            here = f"{where}, {key.text}"
            if key.text in ROOTS:
                attached[key.text] = self._words(given, here)
            elif key.text == "like":
                like = self._word(given, here)
            elif key.text == "aliases":
                aliases = tuple(self._name(word, "alias") for word in self._words(given, here))
            elif key.text == "replaces":
                replaces = self._truth(given, here)
            else:
                says = self._text(given, here)
        return EntityEntry(name.text, name.place, attached, like, aliases, says, replaces)

    def _rule(self, name: Word, value: yaml.Node) -> Rule:
        where = f"rule {self._name(name, 'rule').text!r}"
        parts: dict[str, tuple[str, ...]] = {"if": (), "unless": (), "then": ()}
        says = ""
        for key, given in self._items(value, where, RULE_KEYS):
            if key.text == SAYS:
                says = self._text(given, f"{where}, says")
            else:
                words = self._words(given, f"{where}, {key.text}")
                parts[key.text] = tuple(word.text for word in words)
        for key_name in ("if", "then"):
            if not parts[key_name]:
                raise OntologyError(
                    f"{name.place}: {where}: the key {key_name!r} is missing or empty; "
                    "write {if: meat, then: perishable}"
                )
        return Rule(name.text, parts["if"], parts["unless"], parts["then"], says, name.place)

    def _items(
        self, node: yaml.Node, where: str, known: tuple[str, ...] = ()
    ) -> list[tuple[Word, yaml.Node]]:
        """Return keys and values of a mapping; nothing where it is left empty."""
        if self._empty(node):
            return []
        if not isinstance(node, yaml.MappingNode):
            raise OntologyError(
                f"{self._place(node)}: {where}: a mapping is expected here, "
                f"but this is {_shown(node)}; write 'name: ...' lines or {{name: ...}}"
            )
        items: dict[str, tuple[Word, yaml.Node]] = {}
        for key_node, value in node.value:
            key = self._word(key_node, where)
            if key.text in items:
                first = items[key.text][0].place
                raise OntologyError(
                    f"{key.place}: {where}: {key.text!r} is given twice, first at {first}; "
                    "keep one of them"
                )
            if known and key.text not in known:
                raise OntologyError(
                    f"{key.place}: {where}: unknown key {key.text!r}{near(key.text, known)}; "
                    f"the keys are {', '.join(known)}"
                )
            items[key.text] = (key, value)
        return list(items.values())

    def _words(self, node: yaml.Node, where: str) -> tuple[Word, ...]:
        if isinstance(node, yaml.SequenceNode):
            words = tuple(self._word(item, where) for item in node.value)
        else:
            words = (self._word(node, where),)
        seen: set[str] = set()
        for word in words:
            if word.text in seen:
                raise OntologyError(f"{word.place}: {where}: {word.text!r} is listed twice")
            seen.add(word.text)
        return words

    def _word(self, node: yaml.Node, where: str) -> Word:
        return Word(self._text(node, where), self._place(node))

    def _text(self, node: yaml.Node, where: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag != _STRING or not node.value:
            raise OntologyError(
                f"{self._place(node)}: {where}: a text is expected here, "
                f"but this is {_shown(node)}; put it in quotes if it is meant as a text"
            )
        return str(node.value)

    def _truth(self, node: yaml.Node, where: str) -> bool:
        if not isinstance(node, yaml.ScalarNode) or node.tag != _BOOL:
            raise OntologyError(
                f"{self._place(node)}: {where}: true or false is expected here, "
                f"but this is {_shown(node)}"
            )
        return str(node.value).lower() in ("true", "yes", "on")

    def _name(self, word: Word, sort: str) -> Word:
        if not _NAME.match(word.text):
            raise OntologyError(
                f"{word.place}: the {sort} {word.text!r} is no name; "
                "write lower-case letters, digits and single underscores, such as olive_oil"
            )
        return word

    def _empty(self, node: yaml.Node) -> bool:
        return isinstance(node, yaml.ScalarNode) and node.tag == _NULL

    def _place(self, node: yaml.Node) -> str:
        return f"{self.source}:{node.start_mark.line + 1}"


def _shown(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return "empty" if node.tag == _NULL else repr(node.value)
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
