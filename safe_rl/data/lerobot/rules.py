"""Specifications as plain data, for files that have to say under which rules they were labelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from safe_rl.specs import Specification, SpecSet
from safe_rl.specs.yaml_reader import parse_yaml


def specs_to_json(specs: SpecSet) -> dict[str, Any]:
    """Return a set as the document that a YAML file of specifications holds.

    >>> rule = Specification("lid_first", "G(lifted -> lid_on)")
    >>> specs_from_json(specs_to_json(SpecSet([rule]))) == SpecSet([rule])
    True
    """
    document: dict[str, Any] = {"specifications": [_entry(spec) for spec in specs]}
    if specs.objects is not None:
        document["objects"] = {kind: list(names) for kind, names in specs.objects.items()}
    return document


def specs_from_json(document: Mapping[str, Any], where: str = "specifications") -> SpecSet:
    """Read what :func:`specs_to_json` returned.

    Raises:
        SpecificationError: a value is wrong.
    """
    # JSON is YAML, and there is one reader of rules.
    return parse_yaml(json.dumps(document, ensure_ascii=False), where)


def _entry(spec: Specification) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": spec.id,
        "formula": str(spec.formula),
        "trigger": str(spec.trigger),
        "recovery": None if spec.recovery is None else str(spec.recovery),
        "category": spec.category,
        "forall": dict(spec.forall),
        "weight": spec.weight,
        "limit": None if spec.limit is None else asdict(spec.limit),
        "says": spec.says,
        "semantics": spec.semantics,
        "initial": spec.initial,
        "phrases": {atom: words for atom, words in spec.phrases.items()},
    }
    return {key: value for key, value in entry.items() if value is not None}
