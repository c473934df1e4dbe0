"""What monitor events and automaton distances are worth as reward: on arrays, for one or many."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from safe_rl.automata import DFA, compile_ltlf
from safe_rl.errors import ConfigurationError, GroundingError, near
from safe_rl.logic import Formula
from safe_rl.monitors import EventMachine
from safe_rl.specs import SpecSet
from safe_rl.wrappers.tally import Happened

Floats = NDArray[np.float64]
Weight = float | Mapping[str, float]
"""One number for every specification, or a number per id (0 for those left out)."""
Potential = Literal["accepting", "doomed"]


@dataclass(frozen=True)
class TaskFormula:
    """A task given as a formula, paid as reward machines pay (Toro Icarte et al., JAIR 2022).

    Attributes:
        formula: An LTLf formula over the propositions that the grounding gives.
        acceptance: Paid once, when the formula is satisfied: on the step after which every
            continuation satisfies it, or at a termination at which it holds. A truncation decides
            nothing and pays nothing.
        progress: Scale of the potential-based reward for coming nearer to acceptance, which leaves
            the optimal policies of the acceptance reward unchanged.
        ends_episode: Whether the episode terminates once the task is decided, either way.
        keep_reward: Whether the environment's own reward is added; by default the formula takes
            its place.
    """

    formula: str | Formula
    acceptance: float = 1.0
    progress: float = 0.0
    ends_episode: bool = False
    keep_reward: bool = False


class EventRewards:
    """Reward per event: ``violation``, ``exposure``, ``recovery`` and ``fulfilled``."""

    def __init__(
        self,
        specs: SpecSet,
        violation: Weight,
        exposure: Weight,
        recovery: Weight,
        fulfilled: Weight,
    ) -> None:
        """Spread the weights over the monitor instances of ``specs``."""
        self._violation = per_instance(specs, violation, "violation")
        self._exposure = per_instance(specs, exposure, "exposure")
        self._recovery = per_instance(specs, recovery, "recovery")
        self._fulfilled = per_instance(specs, fulfilled, "fulfilled")

    def of(self, happened: Happened) -> Floats:
        """Return the reward of a step's events (``[..., I]``), ``[...]``."""
        return (
            happened.violated @ self._violation
            + happened.exposed @ self._exposure
            + happened.recovered @ self._recovery
            + happened.fulfilled @ self._fulfilled
        )


class MonitorPotential:
    """A potential over monitor states, from the distances of the formulas' automata.

    ``"accepting"`` is 0 in accepting states, and falls to -1 as more steps are needed to get to one
    (-1 in violation). ``"doomed"`` is 0 in violation, and rises to 1 as more steps separate the
    state from a violation (1 where none is possible any more).
    """

    def __init__(
        self, specs: SpecSet, machines: Sequence[EventMachine], scale: Weight, target: Potential
    ) -> None:
        """Tabulate the potential.

        Raises:
            ConfigurationError: ``target`` is unknown, or ``scale`` names an unknown specification.
        """
        if target not in get_args(Potential):
            raise ConfigurationError(
                f"potential must be one of {get_args(Potential)}, but is {target!r}"
                + near(str(target), get_args(Potential))
            )
        scales = per_instance(specs, scale, "shaping")
        width = max((machine.num_states for machine in machines), default=1)
        self._table = np.zeros((len(machines), width), np.float64)
        for row, machine in enumerate(machines):
            main_state = np.array(machine.main_state)
            values = state_potential(machine.main, target)[main_state]
            values[main_state < 0] = -1.0 if target == "accepting" else 0.0
            self._table[row, : machine.num_states] = scales[row] * values
        self._rows = np.arange(len(machines))

    def of(self, states: NDArray[Any]) -> Floats:
        """Return the potential of monitor states (int ``[..., I]``), ``[...]``."""
        return self._table[self._rows, states].sum(axis=-1)


def state_potential(dfa: DFA, target: Potential) -> Floats:
    """Return the potential of each state of ``dfa``, as :class:`MonitorPotential` says it."""
    distance = dfa.distance(target).astype(np.float64)
    away = distance / (distance.max(initial=0.0) + 1.0)  # in [0, 1); -1 / n where unreachable
    away[distance < 0] = 1.0
    return -away if target == "accepting" else away


def shaped(before: Any, after: Any, terminated: Any, gamma: float) -> Any:
    """Return the potential-based reward ``gamma * after - before``.

    The potential of a terminal state is 0, else the optimum could change (Ng, Harada and Russell,
    "Policy invariance under reward transformations", ICML 1999; Grzes, "Reward shaping in episodic
    reinforcement learning", AAMAS 2017). A truncated episode has no terminal state: a learner
    bootstraps from its last one, whose potential stays.
    """
    return gamma * np.where(terminated, 0.0, after) - before


class TaskProgress:
    """The automaton of a :class:`TaskFormula`, stepped for one environment or many.

    Attributes:
        task: The task.
        dfa: Its automaton.
    """

    def __init__(self, task: TaskFormula) -> None:
        """Compile the formula.

        Raises:
            FormulaSyntaxError: its text cannot be parsed.
            ConfigurationError: it is decided before anything has happened.
        """
        self.task = task
        self.dfa = compile_ltlf(task.formula)
        self._roots = np.array(self.dfa.roots, np.int64)
        self._var = np.array(self.dfa.var, np.int64)
        self._low = np.array(self.dfa.low, np.int64)
        self._high = np.array(self.dfa.high, np.int64)
        self._accepting = np.array(self.dfa.accepting, np.bool_)
        self._potential = task.progress * state_potential(self.dfa, "accepting")
        if self.dfa.is_doomed(self.dfa.initial):
            raise ConfigurationError(f"no trace satisfies the task {str(task.formula)!r}")

    @property
    def initial(self) -> int:
        """The state before the first letter."""
        return self.dfa.initial

    def step(self, states: NDArray[Any], named: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return the states after a letter.

        Args:
            states: int ``[...]``.
            named: Proposition to bool ``[...]``.

        Raises:
            GroundingError: a proposition of the formula is missing.
        """
        missing = [name for name in self.dfa.atoms if name not in named]
        if missing:
            listed = ", ".join(repr(name) + near(name, named) for name in missing)
            raise GroundingError(
                f"the task {str(self.task.formula)!r} needs the propositions {listed}, which the "
                "grounding does not give; add them to it"
            )
        refs = self._roots[states]
        if not self.dfa.atoms or len(self._var) == 0:
            return ~refs
        letters = np.stack([np.asarray(named[name], np.bool_) for name in self.dfa.atoms], -1)
        while (walking := refs >= 0).any():
            node = np.where(walking, refs, 0)
            truth = np.take_along_axis(letters, self._var[node][..., None], axis=-1)[..., 0]
            refs = np.where(walking, np.where(truth, self._high[node], self._low[node]), refs)
        return ~refs

    def decided(self, states: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether no continuation can change the outcome any more, bool ``[...]``."""
        return np.asarray(self.dfa.safe)[states] | np.asarray(self.dfa.doomed)[states]

    def reward(
        self,
        before: NDArray[Any],
        after: NDArray[Any],
        first: NDArray[np.bool_] | bool,
        terminated: NDArray[np.bool_] | bool,
        gamma: float,
    ) -> Floats:
        """Return the reward of steps from ``before`` to ``after`` (int ``[...]``).

        Args:
            before: States before the steps.
            after: States after them.
            first: Whether a step is the first of its episode, which is paid what the letter of the
                first state decided already.
            terminated: Whether the episode terminated with the step.
            gamma: The learner's discount, for the progress.
        """
        safe = np.asarray(self.dfa.safe)
        newly = safe[after] & (~safe[before] | first)
        at_end = np.asarray(terminated) & self._accepting[after] & ~safe[after]
        progress = shaped(self._potential[before], self._potential[after], terminated, gamma)
        paid: Floats = self.task.acceptance * (newly | at_end) + progress
        return paid


def per_instance(specs: SpecSet, weight: Weight, name: str) -> Floats:
    """Spread a weight over the monitor instances of ``specs``: float64 ``[I]``.

    Raises:
        ConfigurationError: it names a specification that does not exist.
    """
    if isinstance(weight, Mapping):
        check_ids(specs, weight, name)
        values = np.array([float(weight.get(spec_id, 0.0)) for spec_id in specs.ids], np.float64)
    else:
        values = np.full(len(specs), float(weight))
    spread: Floats = values[np.asarray(specs.instance_index, np.intp)]
    return spread


def chosen_instances(specs: SpecSet, chosen: bool | Collection[str]) -> NDArray[np.bool_]:
    """Return which instances belong to the chosen specifications, bool ``[I]``.

    Raises:
        ConfigurationError: an unknown id.
    """
    if isinstance(chosen, bool):
        return np.full(len(specs.instances), chosen)
    ids = [chosen] if isinstance(chosen, str) else list(chosen)
    check_ids(specs, ids, "terminate")
    return np.array([instance.specification.id in ids for instance in specs.instances], np.bool_)


def check_ids(specs: SpecSet, ids: Collection[str], name: str) -> None:
    """Raise for an id in ``ids`` that no specification has.

    Raises:
        ConfigurationError: names it, with a near one.
    """
    for spec_id in ids:
        if spec_id not in specs.ids:
            raise ConfigurationError(
                f"{name}: no specification has the id {spec_id!r}{near(spec_id, specs.ids)}; the "
                f"ids are {', '.join(specs.ids)}"
            )
