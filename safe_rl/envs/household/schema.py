"""Action schemata: what an action needs, what it changes, and how it may turn out.

Conditions are Boolean formulas in the grammar of :mod:`safe_rl.logic`, over the facts of the
vocabulary, the classes of objects and the relations ``goes_onto``, ``goes_inside`` and ``same``.
The arguments of their atoms are the schema's parameters, quantified variables, and the floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Variables = Mapping[str, str]
"""Variable to the class that it ranges over."""


@dataclass(frozen=True)
class Need:
    """A condition without which an action cannot be done.

    Attributes:
        formula: What must hold.
        otherwise: What is said where it does not; ``{o}`` stands for the object bound to ``o``.
        forall: The formula must hold for each choice of objects; the words are about the first
            choice for which it does not.
        exists: It must hold for some choice.
        unless: Where this holds, nothing is needed; it is about the parameters only.
    """

    formula: str
    otherwise: str
    forall: Variables = field(default_factory=dict)
    exists: Variables = field(default_factory=dict)
    unless: str = "false"


@dataclass(frozen=True)
class Effect:
    """What an action changes.

    Attributes:
        changes: Facts that become true, with ``!`` those that become false, and events.
        when: The condition, about the state before the action.
        forall: It is so for each choice of objects.
    """

    changes: tuple[str, ...]
    when: str = "true"
    forall: Variables = field(default_factory=dict)


@dataclass(frozen=True)
class Branch:
    """One way in which an action may turn out, beside the common effects.

    Attributes:
        name: ``"done"`` for the intended one.
        effects: What it changes.
        probability: How probable it is where it can happen; the intended outcome, which stands
            first, has what is left.
        when: Where it can happen.
        exists: Variables of ``when``; one choice for which it holds is enough.
    """

    name: str
    effects: tuple[Effect, ...] = ()
    probability: float = 0.0
    when: str = "true"
    exists: Variables = field(default_factory=dict)


@dataclass(frozen=True)
class Schema:
    """An action over variables.

    Attributes:
        name: Its name.
        parameters: The names of its arguments; each may be any object, and what fits is for
            ``needs`` to say.
        cannot: The beginning of the words for a failure, after "cannot".
        needs: Checked in order.
        effects: What every outcome changes.
        branches: The outcomes, the intended one first.
        says: What it does, in one sentence.
        aliases: Other words for it.
    """

    name: str
    parameters: tuple[str, ...]
    cannot: str
    needs: tuple[Need, ...]
    effects: tuple[Effect, ...]
    says: str
    branches: tuple[Branch, ...] = (Branch("done"),)
    aliases: tuple[str, ...] = ()
