"""The household's simulator: states are integers, a step is a few comparisons of masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from safe_rl.envs.household.actions import ACTIONS
from safe_rl.envs.household.classes import Scene
from safe_rl.envs.household.ground import Cubes, GroundAction, GroundBranch, Grounder, holds
from safe_rl.envs.household.plan import Action, Failure, Run
from safe_rl.envs.household.vocabulary import facts
from safe_rl.errors import ConfigurationError, near

_MOST_LETTERS: Final = 1 << 11
_MOST_MOVES: Final = 1 << 12

Moved = tuple[int, frozenset[str]]
"""The state reached, and the events on the way."""


class Outcome(NamedTuple):
    """One way in which an action turns out.

    Attributes:
        probability: Its probability; those of an action sum to 1.
        state: The state reached.
        events: The events on the way.
        name: ``"done"`` for the intended one.
    """

    probability: float
    state: int
    events: frozenset[str]
    name: str


class Simulator:
    """What actions do in one scene.

    Attributes:
        scene: The objects with their classes.
        facts: Every fact that can hold; its position is the number of its bit.
        derived: Further propositions, each with the condition on facts that it stands for.
        start: The state at the start.
    """

    def __init__(
        self, scene: Scene, initial: Iterable[str], derived: Mapping[str, str] | None = None
    ) -> None:
        """Number the facts of a scene; actions are compiled when they are first met.

        Args:
            scene: The objects.
            initial: The facts at the start.
            derived: Further propositions, each with a condition on facts.

        Raises:
            ConfigurationError: something in ``initial`` is no fact of this scene, a derived
                proposition has the name of a fact, or its condition names something that is neither
                a fact of the scene nor a class of objects.
        """
        self.scene = scene
        held = frozenset(initial)
        self.facts = tuple(facts(scene, held))
        self.derived = dict(derived or {})
        bits = {fact: i for i, fact in enumerate(self.facts)}
        self._bits = bits
        self.start = self.state(held)
        self._grounder = Grounder(scene, bits)
        for name in self.derived:
            if name in bits:
                raise ConfigurationError(f"{name!r} is a fact and cannot be derived as well")
        self._derived: list[tuple[Cubes, str]] = [
            (self._grounder.cubes(text), name) for name, text in self.derived.items()
        ]
        self._actions: dict[Action, GroundAction] = {}
        self._letters: dict[int, frozenset[str]] = {}
        self._moves: dict[tuple[int, Action], Moved | str] = {}

    def state(self, facts: Iterable[str]) -> int:
        """Return the state in which exactly these facts hold.

        Raises:
            ConfigurationError: one of them is no fact of this scene.
        """
        found = 0
        for fact in facts:
            if fact not in self._bits:
                raise ConfigurationError(
                    f"{fact!r} is no fact that can hold here{near(fact, self.facts)}"
                )
            found |= 1 << self._bits[fact]
        return found

    def holds(self, state: int, fact: str) -> bool:
        """Whether a fact holds in a state; what cannot hold in this scene does not."""
        bit = self._bits.get(fact)
        return bit is not None and bool(state >> bit & 1)

    def true_facts(self, state: int) -> list[str]:
        """Return the facts that hold, in the order of :attr:`facts`."""
        found = []
        while state:
            low = state & -state
            found.append(self.facts[low.bit_length() - 1])
            state ^= low
        return found

    def letter(self, state: int, events: frozenset[str] = frozenset()) -> frozenset[str]:
        """Return the letter of a state reached with some events: all that is true."""
        found = self._letters.get(state)
        if found is None:
            if len(self._letters) >= _MOST_LETTERS:
                self._letters.clear()
            names = self.true_facts(state)
            names += [name for cubes, name in self._derived if holds(cubes, state)]
            found = self._letters[state] = frozenset(names)
        return found | events if events else found

    def why_not(self, state: int, action: Action) -> str | None:
        """Return in words why an action cannot be done, or ``None`` where it can.

        Raises:
            ConfigurationError: no such action or object, or the wrong number of objects.
        """
        ground = self._ground(action)
        if ground.can(state):
            return None
        words = next(words for cubes, words in ground.needs if not holds(cubes, state))
        return ground.cannot + words

    def move(self, state: int, action: Action) -> Moved | str:
        """Return what an action does if all goes as intended, or why it cannot be done.

        Raises:
            ConfigurationError: as for :meth:`why_not`.
        """
        key = (state, action)
        found = self._moves.get(key)
        if found is None:
            if len(self._moves) >= _MOST_MOVES:
                self._moves.clear()
            words = self.why_not(state, action)
            if words is None:
                found = self._ground(action).branches[0].apply(state)
            else:
                found = words
            self._moves[key] = found
        return found

    def outcomes(self, state: int, action: Action) -> tuple[Outcome, ...]:
        """Return every way in which an action may turn out, the intended one first.

        Raises:
            ConfigurationError: as for :meth:`why_not`, or the action cannot be done in this state.
        """
        words = self.why_not(state, action)
        if words is not None:
            raise ConfigurationError(f"{action} has no outcome here: {words}")
        intended, *others = self._ground(action).branches
        others = [branch for branch in others if holds(branch.cubes, state)]
        left = 1.0 - sum(branch.probability for branch in others)
        return (
            Outcome(left, *intended.apply(state), intended.name),
            *(self._outcome(branch, state) for branch in others),
        )

    def run(self, plan: Sequence[Action], seed: int | None = None) -> Run:
        """Carry out a plan from the start: without a seed as intended, else with drawn outcomes.

        Raises:
            ConfigurationError: no such action or object, or the wrong number of objects.
        """
        rng = None if seed is None else Random(seed)
        state, trace = self.start, [self.letter(self.start)]
        happened: list[str] = []
        for step, action in enumerate(plan):
            moved = self.move(state, action)
            if isinstance(moved, str):
                return Run(tuple(trace), Failure(step, action, moved), tuple(happened))
            name = "done"
            if rng is not None:
                drawn = self._drawn(state, action, rng)
                moved, name = (drawn.state, drawn.events), drawn.name
            state, events = moved
            trace.append(self.letter(state, events))
            happened.append(name)
        return Run(tuple(trace), None, tuple(happened))

    def _drawn(self, state: int, action: Action, rng: Random) -> Outcome:
        found = self.outcomes(state, action)
        if len(found) == 1:
            return found[0]
        return rng.choices(found, [outcome.probability for outcome in found])[0]

    def _outcome(self, branch: GroundBranch, state: int) -> Outcome:
        return Outcome(branch.probability, *branch.apply(state), branch.name)

    def _ground(self, action: Action) -> GroundAction:
        found = self._actions.get(action)
        if found is None:
            schema = ACTIONS.get(action.name)
            if schema is None:
                raise ConfigurationError(
                    f"there is no action {action.name!r}{near(action.name, ACTIONS)}"
                )
            if len(action.args) != len(schema.parameters):
                raise ConfigurationError(
                    f"{action} has {len(action.args)} objects, but {schema.name} takes "
                    f"{len(schema.parameters)}: {Action(schema.name, schema.parameters)}"
                )
            for name in action.args:
                if name not in self.scene.entities:
                    known = self.scene.entities
                    raise ConfigurationError(
                        f"{action}: there is no object {name!r}{near(name, known)}"
                    )
            found = self._actions[action] = self._grounder.action(schema, action.args)
        return found
