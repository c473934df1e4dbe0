"""The YAML format of specifications.

A file is a list of specifications, or a mapping with the keys ``specifications`` and, if wanted,
``objects`` (property to object names, which binds the ``forall`` variables), ``phrases`` (atoms in
words, for every specification that has the atom and no phrase of its own) and ``description``. The
keys of a specification are those of :class:`~safe_rl.specs.Specification`, and ``like``: the
name of a shipped set and of one of its specifications, such as
``safemanip/dropped_object_was_released``. What the entry does not give is taken from there, its id
too, so that a limit or a narrower binding can be added without writing the formula again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import yaml

from safe_rl.errors import SpecificationError, near
from safe_rl.specs.phrases import named_atom
from safe_rl.specs.spec_set import SpecSet
from safe_rl.specs.specification import Limit, Specification

FILE_KEYS: Final = ("specifications", "objects", "phrases", "description")
SPEC_KEYS: Final = (
    "id",
    "formula",
    "trigger",
    "recovery",
    "category",
    "forall",
    "weight",
    "limit",
    "says",
    "semantics",
    "initial",
    "phrases",
    "like",
)
LIMIT_KEYS: Final = ("kind", "value", "cap")


class _UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML's safe loader, except that a key given twice is an error: the last would win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key!r} is given twice", key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path) -> SpecSet:
    """Read a YAML file of specifications.

    Raises:
        SpecificationError: the file cannot be read, is not YAML, or one of its values is wrong. The
            message names the file, the specification, the key, the value and the way out.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"{path}: cannot be read: {error}") from error
    return parse_yaml(text, str(path))


def parse_yaml(text: str, source: str = "<text>") -> SpecSet:
    """Return the specifications in a YAML text; ``source`` names it in messages.

    Raises:
        SpecificationError: as for :func:`read_yaml`.

    >>> parse_yaml("- {id: calm, formula: G !spilled, trigger: spilled}").ids
    ('calm',)
    """
    try:
        content = yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as error:
        raise SpecificationError(
            f"{source}: this is no valid YAML: {error}; a formula that begins with a sign such as "
            "! or [ has to be put in quotes"
        ) from error
    try:
        return _file(content)
    except SpecificationError as error:
        raise SpecificationError(f"{source}: {error}") from error.__cause__


def _file(content: object) -> SpecSet:
    objects = phrases = None
    if isinstance(content, Mapping):
        _known_keys(content, FILE_KEYS, "the file")
        if "specifications" not in content:
            raise SpecificationError(
                "the key 'specifications' is missing; write the list of specifications under it, "
                "or let the file be that list"
            )
        objects, phrases = content.get("objects"), content.get("phrases")
        content = content["specifications"]
    if not isinstance(content, list) or not content:
        raise SpecificationError(
            f"a list of specifications is expected, but this is {_shown(content)}; "
            "begin each with '- id: ...'"
        )
    specs = [_specification(entry, i) for i, entry in enumerate(content, 1)]
    return SpecSet(specs if phrases is None else _with_phrases(specs, phrases), objects)


def _with_phrases(specs: list[Specification], phrases: object) -> list[Specification]:
    """Give each specification the file's phrases for those of its atoms that have none."""
    if not isinstance(phrases, Mapping):
        raise SpecificationError(
            f"phrases: {_shown(phrases)} must map atoms to words, such as lid_on: the lid is on"
        )
    atoms = dict.fromkeys(atom for spec in specs for atom in spec.atoms)
    named = {}
    for written, words in phrases.items():
        atom = named_atom(written, atoms)
        if atom is None:
            raise SpecificationError(
                f"phrases: {written!r} is an atom of none of the specifications"
                f"{near(str(written), atoms)}; the atoms are {', '.join(atoms)}"
            )
        named[atom] = words
    worded = []
    for spec in specs:
        own: Any = {atom: words for atom, words in named.items() if atom in spec.atoms}
        worded.append(replace(spec, phrases=own | dict(spec.phrases)))
    return worded


def _specification(entry: object, position: int) -> Specification:
    if not isinstance(entry, Mapping):
        raise SpecificationError(
            f"specification number {position} must be a mapping with the keys id and formula, "
            f"but is {_shown(entry)}"
        )
    named = isinstance(entry.get("id"), str)
    name = f"specification {entry['id']!r}" if named else f"specification number {position}"
    _known_keys(entry, SPEC_KEYS, name)
    for key, value in entry.items():
        if value is None and key not in ("id", "formula"):
            raise SpecificationError(f"{name}, {key}: the value is empty; give one, or remove it")
    values = dict(entry)
    if "limit" in values:
        values["limit"] = _limit(values["limit"], name)
    if "like" in values:
        values = {**_shipped(values.pop("like"), name), **values}
    for key in ("id", "formula"):
        if values.get(key) is None:
            raise SpecificationError(f"{name}: the key {key!r} is missing; add it")
    try:
        return Specification(**values)
    except SpecificationError as error:
        if named:
            raise
        raise SpecificationError(f"{name}: {error}") from error.__cause__


def _shipped(like: object, name: str) -> dict[str, Any]:
    """Return the parts of the shipped specification that ``like`` names."""
    from safe_rl.specs.loading import load_specs  # which itself reads files by this module

    library, slash, identity = str(like).partition("/")
    if not slash:
        raise SpecificationError(
            f"{name}, like: {_shown(like)} names no shipped specification; "
            "write the set, a slash and the id, such as safemanip/no_forbidden_contact"
        )
    (found,) = load_specs(library).select([identity])
    return {field.name: getattr(found, field.name) for field in fields(found)}


def _limit(value: object, name: str) -> Limit:
    example = "write {kind: episode, value: 0.1}, with kind episode, probability or per_trigger"
    if not isinstance(value, Mapping):
        raise SpecificationError(f"{name}, limit: {_shown(value)} is no mapping; {example}")
    _known_keys(value, LIMIT_KEYS, f"{name}, limit")
    for key in ("kind", "value"):
        if key not in value:
            raise SpecificationError(f"{name}, limit: the key {key!r} is missing; {example}")
    try:
        return Limit(**value)
    except SpecificationError as error:
        raise SpecificationError(f"{name}, limit: {error}") from error.__cause__


def _known_keys(mapping: Mapping[Any, Any], known: tuple[str, ...], where: str) -> None:
    for key in mapping:
        if key not in known:
            raise SpecificationError(
                f"{where}: unknown key {key!r}{near(str(key), known)}; "
                f"the keys are {', '.join(known)}"
            )


def _shown(value: object) -> str:
    text = repr(value)
    return "empty" if value is None else text if len(text) <= 80 else text[:77] + "..."
