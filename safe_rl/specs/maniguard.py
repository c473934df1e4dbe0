"""ManiGuard's JSON format of a task's safety specification (``ltl_safety``).

The file holds ``constraints`` (``id``, ``ltl``, ``description``) over ``propositions`` (``check``,
``state``, ``over``, ``relative_to``, ``negated``, ``params``) and, as a repetition,
``combined_ltl``. ManiGuard reads ``U`` as weak until and counts only finite bad prefixes (Table 6
and Table 7 of its paper), so each constraint becomes a specification with ``semantics`` set to
``"bad_prefix"``.

The format has no triggers. A constraint ``G(a -> psi)`` is triggered by ``a``; every other one
(``G !p``, ``a U b``) by ``true``, whose single rising edge at reset counts each episode as one
opportunity. It has no recovery either: a violation lasts to the end of the episode.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, Final

from safe_rl.automata import compile_ltlf, difference
from safe_rl.errors import FormulaSyntaxError, SpecificationError, UnknownPropositionError, near
from safe_rl.logic import parse
from safe_rl.specs.propositions import PropositionInfo
from safe_rl.specs.spec_set import SpecSet
from safe_rl.specs.specification import Specification, default_trigger

CONSTRAINT_KEYS: Final = ("id", "ltl", "description")
PROPOSITION_KEYS: Final = ("check", "state", "over", "relative_to", "negated", "params")
QUANTIFIERS: Final = ("any", "all")


def read_maniguard(path: str | Path) -> SpecSet:
    """Read a ManiGuard ``ltl_safety`` file, or a file that holds one under that key.

    The propositions' descriptions are kept in ``SpecSet.propositions_meta``.

    Raises:
        SpecificationError: the file cannot be read, or a value is wrong; the message names the
            file, the constraint or proposition, the value and the way out.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text, object_pairs_hook=_unique_keys)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecificationError(f"{path}: cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise SpecificationError(f"{path}: this is no valid JSON: {error}") from error
    except SpecificationError as error:
        raise SpecificationError(f"{path}: {error}") from None
    try:
        return from_maniguard(content)
    except SpecificationError as error:
        raise SpecificationError(f"{path}: {error}") from error.__cause__


def from_maniguard(content: object) -> SpecSet:
    """Return the specifications of an ``ltl_safety`` value that has been read already.

    Raises:
        SpecificationError: as for :func:`read_maniguard`.

    >>> from_maniguard({
    ...     "constraints": [{"id": "dry", "ltl": "G (!spilled)", "description": "Spill nothing."}],
    ...     "propositions": {"spilled": {"check": "any", "state": "spilled", "over": ["cup_*"]}},
    ... })["dry"].trigger
    parse('true')
    """
    if isinstance(content, Mapping) and "constraints" not in content and "ltl_safety" in content:
        content = content["ltl_safety"]
    if not isinstance(content, Mapping):
        raise SpecificationError(
            "ManiGuard's format is an object with 'constraints' and 'propositions', "
            f"but this is {type(content).__name__}"
        )
    propositions = content.get("propositions")
    if not isinstance(propositions, Mapping):
        raise SpecificationError(
            f"propositions: {propositions!r} must be an object that maps each name to its check"
        )
    meta = {name: _proposition(name, value) for name, value in propositions.items()}
    constraints = content.get("constraints")
    if not isinstance(constraints, list) or not constraints:
        raise SpecificationError(
            f"constraints: {constraints!r} must be a list of objects with id, ltl and description"
        )
    activity = content.get("activity_name")
    category = activity if isinstance(activity, str) and activity else "maniguard"
    specs = [_constraint(entry, i, meta, category) for i, entry in enumerate(constraints, 1)]
    if content.get("combined_ltl"):
        _check_combined(content["combined_ltl"], specs)
    return SpecSet(specs, propositions_meta=meta)


def _constraint(
    entry: object, position: int, meta: Mapping[str, PropositionInfo], category: str
) -> Specification:
    where = f"constraint number {position}"
    if not isinstance(entry, Mapping):
        raise SpecificationError(f"{where}: {entry!r} must be an object with id and ltl")
    _known_keys(entry, CONSTRAINT_KEYS, where)
    for key in ("id", "ltl"):
        if not isinstance(entry.get(key), str):
            raise SpecificationError(
                f"{where}, {key}: {entry.get(key)!r} must be a text; add the key {key!r}"
            )
    where = f"constraint {entry['id']!r}"
    try:
        formula = parse(entry["ltl"], propositions=tuple(meta))
    except UnknownPropositionError as error:
        raise SpecificationError(
            f"{where}, ltl: {error}; describe it under 'propositions'"
        ) from error
    except FormulaSyntaxError as error:
        raise SpecificationError(f"{where}, ltl: {error}") from error
    says = str(entry.get("description", "")).replace("{", "{{").replace("}", "}}")
    return Specification(
        entry["id"],
        formula,
        trigger=default_trigger(formula) or "true",
        category=category,
        says=says,
        semantics="bad_prefix",
    )


def _proposition(name: str, value: object) -> PropositionInfo:
    where = f"proposition {name!r}"
    if not isinstance(value, Mapping):
        raise SpecificationError(f"{where}: {value!r} must be an object with check, state and over")
    _known_keys(value, PROPOSITION_KEYS, where)
    check, state = value.get("check", "any"), value.get("state", "")
    for key, text in (("check", check), ("state", state)):
        if not isinstance(text, str):
            raise SpecificationError(f"{where}, {key}: {text!r} must be a text")
    if check in QUANTIFIERS and not state:
        raise SpecificationError(
            f"{where}, state: it is missing; with check {check!r} name the state that is looked at"
        )
    negated = value.get("negated", False)
    if not isinstance(negated, bool):
        raise SpecificationError(f"{where}, negated: {negated!r} must be true or false")
    params = value.get("params", {})
    if not isinstance(params, Mapping):
        raise SpecificationError(f"{where}, params: {params!r} must be an object")
    return PropositionInfo(
        name=name,
        check=check,
        state=state,
        over=_globs(value.get("over", ()), f"{where}, over"),
        relative_to=_globs(value.get("relative_to") or (), f"{where}, relative_to"),
        negated=negated,
        params=tuple(sorted((str(k), _frozen(v)) for k, v in params.items())),
    )


def _check_combined(combined: object, specs: list[Specification]) -> None:
    """Refuse a ``combined_ltl`` that has drifted from the constraints it repeats."""
    if not isinstance(combined, str):
        raise SpecificationError(f"combined_ltl: {combined!r} must be a text")
    try:
        stated = parse(combined)
    except FormulaSyntaxError as error:
        raise SpecificationError(f"combined_ltl: {error}") from error
    together = reduce(and_, (spec.formula for spec in specs))
    first, second = (compile_ltlf(f, semantics="bad_prefix") for f in (stated, together))
    trace = difference(first, second)
    if trace is not None:
        raise SpecificationError(
            f"combined_ltl: {combined!r} does not mean the same as the constraints together: "
            f"exactly one of them is violated on the trace {[sorted(step) for step in trace]}; "
            "remove combined_ltl (the constraints are what is monitored), or correct one of the two"
        )


def _globs(value: object, where: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple) or not all(isinstance(g, str) for g in listed):
        raise SpecificationError(f"{where}: {value!r} must be a list of object-name globs")
    return tuple(listed)


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


def _known_keys(mapping: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in mapping:
        if key not in known:
            raise SpecificationError(
                f"{where}: unknown key {key!r}{near(key, known)}; the keys are {', '.join(known)}"
            )


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SpecificationError(f"the key {key!r} is given twice in one object; keep one")
        found[key] = value
    return found
