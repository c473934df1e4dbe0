"""Specification patterns for finite traces: Dwyer's eleven by five scopes, and Declare's templates.

The catalogue is that of Dwyer, Avrunin and Corbett, "Patterns in Property Specifications for
Finite-State Verification" (ICSE 1999), written here for LTLf. A scope cuts the trace into segments,
closed on the left and open on the right, and the pattern has to hold on every segment read as a
finite trace of its own:

* ``globally`` - the whole trace;
* ``before`` r - the steps before the first ``r``, if there is one (a trace that starts with ``r``
  leaves an empty segment, on which an existence fails);
* ``after`` q - from the first ``q`` on;
* ``between`` q and r - from each ``q & !r`` to the step before the next ``r``, if one comes;
* ``after_until`` q, r - the same, and where no ``r`` comes, to the end of the trace.

Several formulas of the published catalogue are not this: they let a response come after the scope
has closed, or start an "after" scope at a later ``q``. ``tests/specs/test_patterns.py`` lists each
difference with a trace that shows it.

The Declare templates (Pesic and van der Aalst, "A Declarative Approach for Flexible Business
Processes Management", 2006) follow the LTLf readings in De Giacomo, De Masellis and Montali,
"Reasoning on LTL on Finite Traces: Insensitivity to Infiniteness" (AAAI 2014), without the
assumption that exactly one proposition holds at each step.
"""

from __future__ import annotations

import re
from typing import Final

from safe_rl.errors import ConfigurationError, near
from safe_rl.logic import Formula, parse

SCOPES: Final = ("globally", "before", "after", "between", "after_until")

#: Dwyer's patterns, one formula per scope in the order of ``SCOPES``. ``q`` opens a scope and ``r``
#: closes it; the other letters are the pattern's own.
_DWYER: Final[dict[str, tuple[str, str, str, str, str]]] = {
    # p never holds.
    "absence": (
        "G !p",
        "F r -> (!p U r)",
        "G(q -> G !p)",
        "G(q & !r & F r -> (!p U r))",
        "G(q & !r -> (!p W r))",
    ),
    # p holds at some step.
    "existence": (
        "F p",
        "!r W (p & !r)",
        "F q -> F(q & F p)",
        "G(q & !r -> (!r W (p & !r)))",
        "G(q & !r -> (!r U (p & !r)))",
    ),
    # p holds during at most two uninterrupted stretches.
    "bounded_existence": (
        "!p W (p W (!p W (p W G !p)))",
        "F r -> ((!p & !r) U (r | ((p & !r) U (r | ((!p & !r) U (r | ((p & !r) U"
        " (r | (!p U r)))))))))",
        "!q W (q & (!p W (p W (!p W (p W G !p)))))",
        "G(q & F r -> ((!p & !r) U (r | ((p & !r) U (r | ((!p & !r) U (r | ((p & !r) U"
        " (r | (!p U r))))))))))",
        "G(q & !r -> ((!p & !r) W (r | ((p & !r) W (r | ((!p & !r) W (r | ((p & !r) W"
        " (r | (!p W r))))))))))",
    ),
    # p holds at every step.
    "universality": (
        "G p",
        "F r -> (p U r)",
        "G(q -> G p)",
        "G(q & !r & F r -> (p U r))",
        "G(q & !r -> (p W r))",
    ),
    # p does not hold until s does.
    "precedence": (
        "!p W s",
        "F r -> (!p U (s | r))",
        "!q W (q & (!p W s))",
        "G(q & !r & F r -> (!p U (s | r)))",
        "G(q & !r -> (!p W (s | r)))",
    ),
    # Every p is answered by an s, at once or later.
    "response": (
        "G(p -> F s)",
        "F r -> ((p -> (!r U (s & !r))) U r)",
        "G(q -> G(p -> F s))",
        "G(q & !r & F r -> ((p -> (!r U (s & !r))) U r))",
        "G(q & !r -> ((p -> (!r U (s & !r))) W r))",
    ),
    # p does not hold until s and, later, t have.
    "precedence_chain_2_1": (
        "!p W (s & !p & X(!p U t))",
        "F r -> (!p U (r | (s & !p & X(!p U t))))",
        "!q W (q & (!p W (s & !p & X(!p U t))))",
        "G(q & F r -> (!p U (r | (s & !p & X(!p U t)))))",
        "G(q -> (!p W (r | (s & !p & X(!p U t)))))",
    ),
    # s with a later t does not come before p has held.
    "precedence_chain_1_2": (
        "!(s & X F t) W p",
        "F r -> (!(s & !r & X(!r U (t & !r))) U (p | r))",
        "!q W (q & (!(s & X F t) W p))",
        "G(q & F r -> (!(s & !r & X(!r U (t & !r))) U (p | r)))",
        "G(q -> (!(s & !r & X(!r U (t & !r))) W (p | r)))",
    ),
    # Every s with a later t is answered by a p, at that t or after it.
    "response_chain_2_1": (
        "G(s & X F t -> X F(t & F p))",
        "F r -> ((s & X(!r U (t & !r)) -> X(!r U (t & (!r U (p & !r))))) U r)",
        "G(q -> G(s & X F t -> X F(t & F p)))",
        "G(q & F r -> ((s & X(!r U (t & !r)) -> X(!r U (t & (!r U (p & !r))))) U r))",
        "G(q -> ((s & X(!r U (t & !r)) -> X(!r U (t & (!r U (p & !r))))) W r))",
    ),
    # Every p is answered by an s and, later, a t.
    "response_chain_1_2": (
        "G(p -> F(s & X F t))",
        "F r -> ((p -> (!r U (s & !r & X(!r U (t & !r))))) U r)",
        "G(q -> G(p -> F(s & X F t)))",
        "G(q & F r -> ((p -> (!r U (s & !r & X(!r U (t & !r))))) U r))",
        "G(q -> ((p -> (!r U (s & !r & X(!r U (t & !r))))) W r))",
    ),
    # Every p is answered by an s and, later, a t, with no z from the s until that t.
    "constrained_response_chain": (
        "G(p -> F(s & !z & X(!z U t)))",
        "F r -> ((p -> (!r U (s & !r & !z & X((!r & !z) U (t & !r))))) U r)",
        "G(q -> G(p -> F(s & !z & X(!z U t))))",
        "G(q & F r -> ((p -> (!r U (s & !r & !z & X((!r & !z) U (t & !r))))) U r))",
        "G(q -> ((p -> (!r U (s & !r & !z & X((!r & !z) U (t & !r))))) W r))",
    ),
}

#: Declare's templates over ``a`` (and ``b``); the counting ones are built by ``_counted``.
_DECLARE: Final[dict[str, str]] = {
    "init": "a",
    "end": "F(last & a)",
    "choice": "F a | F b",
    "exclusive_choice": "(F a | F b) & !(F a & F b)",
    "responded_existence": "F a -> F b",
    "co_existence": "F a <-> F b",
    "response": "G(a -> F b)",
    "precedence": "!b W a",
    "succession": "G(a -> F b) & (!b W a)",
    "alternate_response": "G(a -> X(!a U b))",
    "alternate_precedence": "(!b W a) & G(b -> WX(!b W a))",
    "alternate_succession": "G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))",
    "chain_response": "G(a -> X b)",
    "chain_precedence": "!b & G(X b -> a)",
    "chain_succession": "!b & G(a <-> X b)",
    "not_co_existence": "!(F a & F b)",
    "not_succession": "G(a -> !F b)",
    "not_chain_succession": "G(a -> WX !b)",
}
_COUNTED: Final = ("existence", "absence", "exactly")

_PLACEHOLDER: Final = re.compile(r"\b[abpqrstz]\b")


def pattern_names() -> tuple[str, ...]:
    """Return the names of Dwyer's eleven patterns, in the order of the catalogue.

    >>> pattern_names()[:3]
    ('absence', 'existence', 'bounded_existence')
    """
    return tuple(_DWYER)


def declare_names() -> tuple[str, ...]:
    """Return the names of the Declare templates.

    >>> "alternate_response" in declare_names()
    True
    """
    return (*_COUNTED, *_DECLARE)


def pattern_template(name: str, scope: str = "globally") -> str:
    """Return the text of one of Dwyer's patterns over the letters p, s, t, z and q, r.

    Raises:
        ConfigurationError: if there is no pattern or scope of that name.

    >>> pattern_template("response", "after_until")
    'G(q & !r -> ((p -> (!r U (s & !r))) W r))'
    """
    if name not in _DWYER:
        raise ConfigurationError(
            f"there is no pattern {name!r}{near(name, _DWYER)}; the patterns are "
            f"{', '.join(_DWYER)}"
        )
    if scope not in SCOPES:
        raise ConfigurationError(
            f"there is no scope {scope!r}{near(scope, SCOPES)}; the scopes are {', '.join(SCOPES)}"
        )
    return _DWYER[name][SCOPES.index(scope)]


def pattern(name: str, *, scope: str = "globally", **parts: str | Formula) -> Formula:
    """Return one of Dwyer's patterns as a formula over given propositions or formulas.

    Args:
        name: a name from ``pattern_names()``.
        scope: one of ``SCOPES``; ``before`` needs ``r``, ``after`` needs ``q``, the last two both.
        **parts: what stands for each letter of the pattern: the text of a formula (usually one
            proposition) or a ``Formula``. Which letters a pattern has is in the module's source and
            in the error that a wrong set of letters raises.

    Raises:
        ConfigurationError: for an unknown pattern or scope, or a missing or surplus letter.
        FormulaSyntaxError: where the text of a part is not a formula.

    >>> print(pattern("response", scope="after", p="alarm", s="halt", q="armed"))
    G(armed -> G(alarm -> F halt))
    """
    return _fill(pattern_template(name, scope), parts, f"pattern {name!r}, scope {scope!r},")


def declare(name: str, *, n: int | None = None, **parts: str | Formula) -> Formula:
    """Return a Declare template as a formula over given propositions or formulas.

    ``existence``, ``absence`` and ``exactly`` count the steps at which ``a`` holds: at least ``n``,
    fewer than ``n`` and exactly ``n`` (default 1). In the binary templates ``a`` is the activity
    written first: in ``precedence``, ``b`` must be preceded by ``a``. ``chain_precedence`` and
    ``chain_succession`` also refuse a ``b`` at the first step, which nothing can precede.

    Raises:
        ConfigurationError: for an unknown template, a missing or surplus letter, an ``n`` below 1
            or an ``n`` for a template that does not count.

    >>> print(declare("absence", n=2, a="pour"))
    !F(pour & X F pour)
    """
    if name not in _DECLARE and name not in _COUNTED:
        raise ConfigurationError(
            f"there is no Declare template {name!r}{near(name, declare_names())}; the templates "
            f"are {', '.join(declare_names())}"
        )
    if name in _COUNTED:
        count = 1 if n is None else n
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ConfigurationError(
                f"Declare template {name!r} counts at least one step, but n is {n!r}"
            )
        template = _counted(name, count)
    elif n is not None:
        raise ConfigurationError(
            f"Declare template {name!r} does not count, so it takes no n (got {n!r}); "
            f"those that do are {', '.join(_COUNTED)}"
        )
    else:
        template = _DECLARE[name]
    return _fill(template, parts, f"Declare template {name!r}")


def _counted(name: str, n: int) -> str:
    def at_least(count: int) -> str:
        text = "F a"
        for _ in range(count - 1):
            text = f"F(a & X {text})"
        return text

    if name == "existence":
        return at_least(n)
    if name == "absence":
        return f"!({at_least(n)})"
    return f"{at_least(n)} & !({at_least(n + 1)})"


def _fill(template: str, parts: dict[str, str | Formula], what: str) -> Formula:
    letters = sorted(set(_PLACEHOLDER.findall(template)))
    if sorted(parts) != letters:
        missing = [letter for letter in letters if letter not in parts]
        surplus = [letter for letter in sorted(parts) if letter not in letters]
        problems = [f"lacks {', '.join(missing)}"] if missing else []
        problems += [f"does not take {', '.join(surplus)}"] if surplus else []
        raise ConfigurationError(
            f"{what} has the letters {', '.join(letters)}; the call {' and '.join(problems)}"
        )
    texts = {
        letter: f"({part if isinstance(part, Formula) else parse(part)})"
        for letter, part in parts.items()
    }
    return parse(_PLACEHOLDER.sub(lambda found: texts[found[0]], template))
