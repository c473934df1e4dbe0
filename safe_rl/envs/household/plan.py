"""Plans, what becomes of them, and what a planning task has to offer.

Both domains, the household and VirtualHome's, give these; whoever checks plans needs nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from safe_rl.logic import Formula
from safe_rl.specs import SpecSet

Trace = tuple[frozenset[str], ...]
"""The letters of an episode: the first holds before any action, then one for each action."""


class Action(NamedTuple):
    """A ground action.

    >>> print(Action("place", ("cup", "table")))
    place(cup, table)
    """

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args)})"


@dataclass(frozen=True)
class Failure:
    """Why a plan could not go on.

    Attributes:
        step: The position of the action in the plan, from 0.
        action: The action that could not be done.
        words: The reason, such as "cannot place the cup: it is not in the hand".
    """

    step: int
    action: Action
    words: str


@dataclass(frozen=True)
class Run:
    """What a plan did.

    Attributes:
        trace: One letter for the start and one for each action that was done.
        failure: What stopped the plan, or ``None`` where it ran to its end.
        happened: Per action done, the outcome that came about (``"done"`` is the intended one).
    """

    trace: Trace
    failure: Failure | None = None
    happened: tuple[str, ...] = ()


class PlanningTask(Protocol):
    """A task: actions over objects, rules of safety, and a goal."""

    @property
    def name(self) -> str:
        """What the task is called, such as ``household/train/3``."""

    @property
    def instruction(self) -> str:
        """The goal in words."""

    @property
    def setting(self) -> str:
        """Who acts where, one sentence."""

    @property
    def signatures(self) -> Mapping[str, tuple[str, ...]]:
        """Each action's name with the names of its parameters."""

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other words for actions, such as ``{"pick_up": "pick"}``."""

    @property
    def objects(self) -> Sequence[str]:
        """The names that an action's arguments may have."""

    @property
    def other_names(self) -> Mapping[str, str]:
        """Other words for objects, each with the object."""

    @property
    def specs(self) -> SpecSet:
        """The rules of safety, bound to the task's objects."""

    @property
    def goal(self) -> Formula:
        """The goal as an LTLf formula over a trace's letters."""

    def run(self, plan: Sequence[Action], seed: int | None = None) -> Run:
        """Carry out a plan of known actions, with chance drawn from ``seed``.

        Without a seed everything goes as intended.
        """

    def missing(self, letter: frozenset[str]) -> tuple[str, ...]:
        """Return in words what of the goal does not hold in a letter."""

    def start_in_words(self) -> Iterable[str]:
        """Return what holds at the start, one clause for each fact."""

    def actions_in_words(self) -> Iterable[str]:
        """Return each action with what it does, such as ``pick(o): take o into the hand``."""
