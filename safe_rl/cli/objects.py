"""Which objects ``forall`` variables stand for in a check: given, or read off the trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from safe_rl.errors import ConfigurationError, SpecificationError, near
from safe_rl.specs import SpecSet

_CALL = re.compile(r"([^()]+)\((.+)\)\Z")


def parse_objects(options: Sequence[str]) -> dict[str, list[str]]:
    """Read ``--objects graspable=mug_1,mug_2`` (repeatable).

    Raises:
        ConfigurationError: an option is not of that form, or names no object.

    >>> parse_objects(["graspable=mug_1,mug_2", "fragile=glass"])
    {'graspable': ['mug_1', 'mug_2'], 'fragile': ['glass']}
    """
    objects: dict[str, list[str]] = {}
    for option in options:
        kind, equals, names = option.partition("=")
        listed = [name.strip() for name in names.split(",") if name.strip()]
        if not equals or not kind.strip() or not listed:
            raise ConfigurationError(
                f"--objects {option!r} is not PROPERTY=NAME,NAME; "
                "write it as in --objects graspable=mug_1,mug_2"
            )
        objects.setdefault(kind.strip(), []).extend(listed)
    return objects


def infer_objects(specs: SpecSet, names: Iterable[str]) -> dict[str, list[str]]:
    """Find the objects of each property from the names in a trace.

    A name such as ``grasped(mug_1)`` matches the atom ``grasped(o)`` of a specification with
    ``forall: {o: graspable}``, so ``mug_1`` is taken to be graspable.

    Raises:
        ConfigurationError: some property has no matching name; nothing is bound to nothing.
    """
    known = list(names)
    calls = [(match[1], _arguments(match[2])) for name in known if (match := _CALL.match(name))]
    found: dict[str, list[str]] = {kind: [] for kind in specs.properties}
    for spec in specs:
        for atom in spec.atoms:
            match = _CALL.match(atom)
            if match is None:
                continue
            pattern = _arguments(match[2])
            for head, arguments in calls:
                if head != match[1] or len(arguments) != len(pattern):
                    continue
                fits = all(
                    wanted in spec.forall or wanted == got
                    for wanted, got in zip(pattern, arguments, strict=True)
                )
                if not fits:
                    continue
                for wanted, got in zip(pattern, arguments, strict=True):
                    if wanted in spec.forall and got not in found[spec.forall[wanted]]:
                        found[spec.forall[wanted]].append(got)
    for kind, objects in found.items():
        if not objects:
            raise ConfigurationError(
                f"--infer-objects: no name in the trace shows an object that is {kind!r}; "
                f"its names are {', '.join(known[:8]) or 'none'}. "
                f"Give the objects with --objects {kind}=NAME,NAME"
            )
    return found


def _arguments(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def bind(specs: SpecSet, options: Sequence[str], infer: bool, names: Sequence[str]) -> SpecSet:
    """Bind every ``forall`` of a set, or say what is missing.

    Args:
        specs: as loaded.
        options: the values of ``--objects``.
        infer: whether ``--infer-objects`` was given.
        names: proposition names in the trace.

    Raises:
        ConfigurationError: an unknown property, or nothing to check.
        SpecificationError: a property is left without objects.
    """
    given = parse_objects(options)
    for kind in given:
        if kind not in specs.properties:
            raise ConfigurationError(
                f"--objects {kind}=...: no specification has a forall over {kind!r}"
                f"{near(kind, specs.properties)}; "
                f"the properties are {', '.join(specs.properties) or 'none'}"
            )
    if specs.properties:
        objects: dict[str, Sequence[str]] = dict(specs.objects or {})
        if infer:
            objects |= infer_objects(specs, names)
        objects |= given
        for spec in specs:
            for variable, kind in spec.forall.items():
                if kind not in objects:
                    raise SpecificationError(
                        f"specification {spec.id!r} is for all {variable} that are {kind!r}, "
                        f"but no objects are given; add --objects {kind}=mug_1,mug_2, or "
                        "--infer-objects to take them from the names in the trace"
                    )
        specs = specs.bind(objects)
    unbound = [
        spec.id for index, spec in enumerate(specs) if not (specs.instance_index == index).any()
    ]
    if unbound:
        raise ConfigurationError(
            f"nothing to check for {', '.join(map(repr, unbound))}: "
            "there are not enough objects for its forall; list them with --objects PROPERTY=NAME"
        )
    if not len(specs):
        raise ConfigurationError("the file holds no specifications, so nothing can be checked")
    return specs
