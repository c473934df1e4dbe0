"""One specification: a formula, what triggers it, how it is recovered from, and its limit.

A :class:`Specification` is the only place where a rule's formula is written. Everything else, from
the monitor to the report, refers to it.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn, get_args

from safe_rl.errors import FormulaSyntaxError, SpecificationError, near
from safe_rl.logic import Formula, Op, parse
from safe_rl.specs.binding import Binding, arguments, bind_atom
from safe_rl.specs.phrases import Phrase, Phrases, named_atom

LimitKind = Literal["episode", "probability", "per_trigger"]
Semantics = Literal["finite", "bad_prefix"]
PhraseLike = str | Phrase | tuple[str, str] | Mapping[str | bool, str]
"""What stands for a phrase: see :class:`Specification`."""

_PHRASE_EXAMPLE: Final = "such as lid_on: {true: the lid is on, false: the lid is off}"
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*\Z")
_ID: Final = re.compile(r"[^\s\[\]]+\Z")
_LOOKS_LIKE_A_VARIABLE: Final = re.compile(r"[a-z]\d*\Z")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Limit:
    """What constrained learning bounds for one specification.

    Attributes:
        kind: ``"episode"`` bounds E[sum of costs in an episode]; ``"probability"`` bounds
            P(any violation in an episode); ``"per_trigger"`` bounds E[V] / E[N].
        value: The bound, at least 0 (and at most 1 for a probability).
        cap: For ``per_trigger`` only: how many triggered events of an episode earn credit, so that
            the ratio cannot be bought with harmless triggers. ``None`` is no cap.

    Raises:
        SpecificationError: an unknown kind, a value out of range, or a cap where none applies.

    >>> Limit("per_trigger", 0.02)
    Limit(kind='per_trigger', value=0.02, cap=None)
    """

    kind: LimitKind
    value: float
    cap: int | None = None

    def __post_init__(self) -> None:
        kinds = get_args(LimitKind)
        if self.kind not in kinds:
            raise SpecificationError(
                f"limit kind {self.kind!r} is not known{near(str(self.kind), kinds)}; "
                f"use one of {', '.join(kinds)}"
            )
        if not _number(self.value) or self.value < 0:
            raise SpecificationError(
                f"limit value {self.value!r} must be a finite number from 0 on; "
                "give the largest cost, probability or V/N that is acceptable"
            )
        if self.kind == "probability" and self.value > 1:
            raise SpecificationError(
                f"limit value {self.value!r} is no probability; give a number between 0 and 1"
            )
        if self.cap is not None:
            if self.kind != "per_trigger":
                raise SpecificationError(
                    f"limit cap {self.cap!r} makes no sense for kind {self.kind!r}; "
                    "a cap is for per_trigger limits, remove it"
                )
            if not isinstance(self.cap, int) or isinstance(self.cap, bool) or self.cap < 1:
                raise SpecificationError(
                    f"limit cap {self.cap!r} must be a whole number from 1 on, or left out"
                )
        object.__setattr__(self, "value", float(self.value))


@dataclass(frozen=True, init=False)
class Specification:
    """A temporal safety rule over named propositions.

    Attributes:
        id: A name without spaces or brackets.
        formula: The LTLf formula that every episode should satisfy.
        trigger: A formula without operators of the future; its rising edges are the triggered
            events N (past operators are allowed).
        recovery: The formula whose first acceptance after a violation re-arms the monitor; ``None``
            makes a violation absorbing.
        category: A name under which reports gather specifications.
        forall: Variable to property: one monitor instance per object that carries the property.
            Several variables stand for distinct objects.
        weight: The weight of this specification in ``info["cost"]``.
        limit: What constrained learning bounds, or ``None``.
        says: The rule in words; ``{o}`` stands for the object bound to ``o``.
        semantics: ``"finite"`` (LTLf), or ``"bad_prefix"``: ``U`` is read as ``W`` and only finite
            bad prefixes count, as in ManiGuard.
        initial: Whether the rule must hold at reset, else the reset is drawn again.
        phrases: Atom to words for its two values, for those that have words; ``{o}`` as in
            ``says``.
    """

    id: str
    formula: Formula
    trigger: Formula = field(kw_only=True)
    recovery: Formula | None = field(kw_only=True)
    category: str = field(kw_only=True)
    forall: Binding = field(kw_only=True)
    weight: float = field(kw_only=True)
    limit: Limit | None = field(kw_only=True)
    says: str = field(kw_only=True)
    semantics: Semantics = field(kw_only=True)
    initial: bool = field(kw_only=True)
    phrases: Phrases = field(kw_only=True)

    def __init__(
        self,
        id: str,
        formula: str | Formula,
        *,
        trigger: str | Formula | None = None,
        recovery: str | Formula | None = None,
        category: str = "general",
        forall: Mapping[str, str] | None = None,
        weight: float = 1.0,
        limit: Limit | None = None,
        says: str = "",
        semantics: Semantics = "finite",
        initial: bool = False,
        phrases: Mapping[str, PhraseLike] | None = None,
    ) -> None:
        """Check and hold the parts; texts are parsed.

        Where ``formula`` is ``G(a -> psi)`` and ``a`` does not look ahead, the trigger defaults to
        ``a``; otherwise it has to be given. A phrase is a text for the proposition being true, a
        pair of texts (true, false), or a mapping with the keys ``true`` and ``false``.

        Raises:
            SpecificationError: names the specification, the key, the value and the way out.

        >>> rule = Specification("lid_first", "G(lifted -> lid_on)", says="Lid before lift.")
        >>> rule.trigger
        parse('lifted')
        """
        if not isinstance(id, str) or not _ID.match(id):
            raise SpecificationError(
                f"specification id {id!r} must be a text without spaces or brackets"
                + _yaml_hint(id)
            )
        hold = object.__setattr__
        hold(self, "id", id)
        hold(self, "formula", self._parsed("formula", formula))
        hold(self, "trigger", self._trigger(trigger))
        hold(self, "recovery", None if recovery is None else self._parsed("recovery", recovery))
        if not isinstance(category, str) or not category:
            self._refuse("category", category, "must be a text; name the kind of hazard")
        hold(self, "category", category)
        if not _number(weight) or weight < 0:
            self._refuse("weight", weight, "must be a finite number from 0 on; 1.0 is the default")
        hold(self, "weight", float(weight))
        if limit is not None and not isinstance(limit, Limit):
            self._refuse("limit", limit, "must be a Limit, such as Limit('episode', 0.1)")
        hold(self, "limit", limit)
        if semantics not in get_args(Semantics):
            self._refuse(
                "semantics",
                semantics,
                f"must be one of {', '.join(get_args(Semantics))}"
                + near(str(semantics), get_args(Semantics)),
            )
        hold(self, "semantics", semantics)
        if not isinstance(initial, bool):
            self._refuse("initial", initial, "must be true or false")
        hold(self, "initial", initial)
        hold(self, "forall", self._variables({} if forall is None else forall))
        hold(self, "says", self._words("says", says))
        hold(self, "phrases", self._phrases({} if phrases is None else phrases))

    @property
    def atoms(self) -> tuple[str, ...]:
        """The atoms of formula, trigger and recovery, each once, in order of appearance."""
        parts = (self.formula, self.trigger, self.recovery)
        return tuple(dict.fromkeys(a for part in parts if part is not None for a in part.atoms))

    def bind(self, binding: Mapping[str, str]) -> Instance:
        """Return the instance in which each ``forall`` variable stands for an object."""
        return Instance(self, Binding({name: binding[name] for name in self.forall}))

    def _refuse(self, key: str, value: object, why: str) -> NoReturn:
        raise SpecificationError(f"specification {self.id!r}, {key}: {value!r} {why}")

    def _parsed(self, key: str, value: object) -> Formula:
        if isinstance(value, Formula):
            return value
        if not isinstance(value, str):
            self._refuse(key, value, "must be the text of a formula" + _yaml_hint(value))
        try:
            return parse(value)
        except FormulaSyntaxError as error:
            raise SpecificationError(f"specification {self.id!r}, {key}: {error}") from error

    def _trigger(self, given: str | Formula | None) -> Formula:
        if given is None:
            default = default_trigger(self.formula)
            if default is None:
                raise SpecificationError(
                    f"specification {self.id!r}, trigger: it is missing, and {str(self.formula)!r} "
                    "is not of the form G(a -> ...) with an a that does not look ahead, from which "
                    "it could be taken; give the condition whose rising edges are the "
                    "opportunities to violate (trigger: true counts one for each episode)"
                )
            return default
        trigger = self._parsed("trigger", given)
        if trigger.has_future:
            self._refuse(
                "trigger",
                str(trigger),
                "looks ahead; a trigger is decided at its own step: "
                "use propositions, Boolean operators and past operators (Y O H S)",
            )
        return trigger

    def _variables(self, forall: object) -> Binding:
        example = "such as forall: {o: graspable}"
        if not isinstance(forall, Mapping):
            self._refuse("forall", forall, f"must map variables to properties, {example}")
        for name, kind in forall.items():
            if not isinstance(name, str) or not _IDENTIFIER.match(name):
                self._refuse("forall", name, f"is no variable name; write an identifier, {example}")
            if not isinstance(kind, str) or not kind:
                self._refuse(
                    "forall", kind, f"is no property of objects; write its name, {example}"
                )
        used = {argument for atom in self.atoms for argument in arguments(atom)}
        for name in forall:
            if name not in used:
                self._refuse(
                    "forall",
                    name,
                    f"is declared but no atom takes it; write atoms such as grasped({name}), "
                    "or remove the variable",
                )
        if forall:
            for argument in sorted(used - set(forall)):
                if _LOOKS_LIKE_A_VARIABLE.match(argument):
                    self._refuse(
                        "forall",
                        argument,
                        f"looks like a variable but is not declared{near(argument, forall)}; "
                        f"add {argument}: <property> to forall, or give the object a longer name",
                    )
        return Binding(forall)

    def _words(self, key: str, words: object) -> str:
        if not isinstance(words, str):
            self._refuse(key, words, "must be a text" + _yaml_hint(words))
        try:
            fields = [name for _, name, _, _ in string.Formatter().parse(words) if name is not None]
        except ValueError:
            self._refuse(key, words, "has a lone brace; write {{ or }} for the sign itself")
        for name in fields:
            if name not in self.forall:
                self._refuse(
                    key,
                    f"{{{name}}}",
                    f"is no variable of forall{near(name, self.forall)}; "
                    "use a declared variable, or write {{ and }} for the signs themselves",
                )
        return words

    def _phrases(self, phrases: object) -> Phrases:
        if not isinstance(phrases, Mapping):
            self._refuse("phrases", phrases, f"must map atoms to words, {_PHRASE_EXAMPLE}")
        found: dict[str, Phrase] = {}
        for written, words in phrases.items():
            atom = named_atom(written, self.atoms)
            if atom is None:
                self._refuse(
                    "phrases",
                    written,
                    f"is no atom of the specification{near(str(written), self.atoms)}; "
                    f"its atoms are {', '.join(self.atoms)}",
                )
            if atom in found:
                self._refuse("phrases", written, f"names the atom {atom!r} a second time")
            found[atom] = self._phrase(f"phrases, {atom}", words)
        return Phrases(found)

    def _phrase(self, key: str, words: object) -> Phrase:
        if isinstance(words, Mapping):
            # YAML reads the keys true and false as truth values, JSON and people write texts.
            given = {str(name).lower(): text for name, text in words.items()}
            unknown = [name for name in given if name not in ("true", "false")]
            if unknown or "true" not in given or len(given) != len(words):
                self._refuse(key, words, f"must give the words for true, {_PHRASE_EXAMPLE}")
            pair = (given["true"], given.get("false"))
        elif isinstance(words, tuple | list):
            if len(words) != 2:
                self._refuse(key, words, "must be two texts, for true and for false")
            pair = (words[0], words[1])
        else:
            pair = (words, None)
        true, false = pair
        true = self._words(key, true)
        if false is None:
            return Phrase(true, f"it is not the case that {true}")
        return Phrase(true, self._words(key, false))


@dataclass(frozen=True)
class Instance:
    """A specification bound to objects: what one monitor watches.

    Attributes:
        specification: The specification, shared by all its instances.
        binding: Variable to object; empty where the specification has no ``forall``.
    """

    specification: Specification
    binding: Binding

    @property
    def id(self) -> str:
        """The specification's id, followed by ``[o=mug_1]`` where objects are bound."""
        bound = f"[{self.binding}]" if self.binding else ""
        return self.specification.id + bound

    @property
    def atoms(self) -> dict[str, str]:
        """The specification's atoms, each with the bound atom that it stands for."""
        return {atom: bind_atom(atom, self.binding) for atom in self.specification.atoms}

    @property
    def says(self) -> str:
        """The rule in words, about the bound objects."""
        return self.specification.says.format(**self.binding)

    @property
    def phrases(self) -> dict[str, Phrase]:
        """Bound atom to its words, about the bound objects; for the atoms that have words."""
        return {
            bind_atom(atom, self.binding): Phrase(*(t.format(**self.binding) for t in phrase))
            for atom, phrase in self.specification.phrases.items()
        }

    @property
    def formula(self) -> Formula:
        """The formula over the bound atoms."""
        return self.specification.formula.rename(self.atoms)


def default_trigger(formula: Formula) -> Formula | None:
    """Return ``a`` for ``G(a -> psi)`` where ``a`` does not look ahead, else ``None``.

    >>> default_trigger(parse("G(grasped -> F released)"))
    parse('grasped')
    """
    if formula.op is not Op.ALWAYS or formula.bounds is not None:
        return None
    body = formula.args[0]
    if body.op is not Op.IMPLIES or body.args[0].has_future:
        return None
    return body.args[0]


def _yaml_hint(value: Any) -> str:
    if isinstance(value, bool):
        return " (YAML reads yes, no, on and off as truth values: put the text in quotes)"
    if isinstance(value, int | float | list | dict):
        return " (put the text in quotes)"
    return ""
