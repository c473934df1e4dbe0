"""Tasks, plans and feedback in a closed vocabulary, for a small model trained from scratch.

A model that has never seen a wine glass cannot know that it is fragile, but the ontology does. So
an object is told by its properties under a name that means nothing (``o7 fragile washable``), and
what every kitchen has (``fridge``, ``sponge``) keeps its own name. Held-out objects are then new
combinations of known words.

    things o7 fragile washable vessel drinkware places cabinet table start inside o7 cabinet
    goal on o7 table

A plan is a row of actions, each its verb and its objects: ``open cabinet pick o7 place o7 table``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Final
from zlib import crc32

from safe_rl.envs.household import Action, Task
from safe_rl.envs.household.actions import ACTIONS, FLOOR
from safe_rl.envs.household.classes import classes_of, ontology
from safe_rl.envs.household.generate import rules
from safe_rl.envs.household.maniguard import MANIGUARD
from safe_rl.envs.household.vocabulary import FACTS, the
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.judgement import Judgement
from safe_rl.feedback.plans import Outcome, PlanResult, check_plan
from safe_rl.specs import load_specs
from safe_rl.specs.binding import arguments

KNOWN: Final = (
    FLOOR, "counter", "table", "sink", "faucet", "fridge", "cabinet", "drawer", "stove",
    "microwave", "cutting_board", "chef_knife", "dish_towel", "sponge", "jar", "saucepan_lid",
)  # fmt: skip
"""Objects with a word of their own: fixtures and tools that the tasks of every split share."""

SLOTS: Final = tuple(f"o{number}" for number in range(24))
"""Names for all other objects."""

CLASS_WORDS: Final = (
    "blade", "carrier", "cloth", "container", "cookware", "crushable", "cuttable", "dish", "door",
    "drinkware", "exposed", "food", "fragile", "heavy", "lid", "raw", "stacks", "tool", "toxic",
    "vessel", "washable",
)  # fmt: skip
"""The household's classes that tell things apart."""

PROPERTY_WORDS: Final = (
    "beverage", "bursts_when_heated", "edible", "flammable", "harmed_by_water", "heat_proof",
    "microwavable", "needs_cooking", "packaged_item", "perishable", "ready_to_eat",
    "sparks_in_microwave", "unwashed", "water_damaged",
)  # fmt: skip
"""The ontology's properties that the rules are about and that no class says."""

_SECTIONS: Final = ("things", "places", "start", "goal", "not")
WRONG: Final = "wrong"
"""The reply that tells nothing but that a plan is not safe and complete."""

_REPLIES: Final = (WRONG, "unsafe", "cannot", "missing", "at", "end", "unreadable")
_SHOWN: Final = 3
"""Violations that a reply tells, the first ones."""


@dataclass(frozen=True)
class Wording:
    """A task in the closed vocabulary.

    Attributes:
        task: the task.
        words: object to its word.

    >>> from safe_rl.envs.household import make_task
    >>> worded = wording(make_task("train", 12))
    >>> worded.plan(worded.task.reference)
    'close jar pick jar place jar counter'
    >>> print(worded.spelled("pick jar place jar counter"))
    pick(jar)
    place(jar, counter)
    >>> worded.reply(check_plan(worded.task.naive, worded.task))
    'unsafe close_before_lift at pick jar'
    """

    task: Task
    words: Mapping[str, str]

    def request(self) -> str:
        """Return the scene, the facts at the start and the goal."""
        things, places = ["things"], ["places"]
        for name, entity in self.task.entities.items():
            if name in KNOWN:
                places.append(name)
            else:
                things += [self.words[name], *properties(entity)]
        start = ["start"]
        for fact in sorted(self.task.initial):
            start += self._fact(fact)
        goal = ["goal"]
        for fact in self.task.goal_facts:
            goal += self._fact(fact)
        return " ".join([*things, *places, *start, *goal])

    def plan(self, actions: Sequence[Action]) -> str:
        """Return a plan's words."""
        return " ".join(self._action(action) for action in actions)

    def spelled(self, answer: str) -> str:
        """Return a plan in words as one action on each line, with the task's names of objects.

        Words that are no verb go with the verb before them, so that nothing is left out; what is
        wrong with them is for the check to say.
        """
        names = {word: name for name, word in self.words.items()}
        steps: list[list[str]] = []
        for word in answer.split():
            if word in ACTIONS or not steps:
                steps.append([word])
            else:
                steps[-1].append(names.get(word, word))
        return "\n".join(
            f"{verb}({', '.join(args)})" if verb in ACTIONS else " ".join([verb, *args])
            for verb, *args in steps
        )

    def reply(self, result: PlanResult) -> str:
        """Return what to tell the model of a plan that is not safe and complete."""
        match result.outcome:
            case Outcome.SAFE_AND_COMPLETE:
                return ""
            case Outcome.UNSAFE | Outcome.PRECONDITION_FAILURE:
                return " ".join([*self._violations(result), *self._failure(result)])
            case Outcome.GOAL_MISSED:
                last = result.trace[-1]
                lacking = [
                    fact
                    for fact in self.task.goal_facts
                    if (fact.removeprefix("!") in last) == fact.startswith("!")
                ]
                return " ".join(["missing", *(w for fact in lacking for w in self._fact(fact))])
        return "unreadable"

    def _action(self, action: Action) -> str:
        return " ".join([action.name, *(self.words[name] for name in action.args)])

    def _fact(self, fact: str) -> list[str]:
        text = fact.removeprefix("!")
        words = [text.partition("(")[0], *(self.words[name] for name in arguments(text))]
        return ["not", *words] if fact.startswith("!") else words

    def _violations(self, result: PlanResult) -> Iterator[str]:
        for found in result.violations[:_SHOWN]:
            yield "unsafe"
            yield found.specification
            yield from (self.words[name] for _, name in sorted(found.objects.items()))
            yield "at"
            ended = found.by_end or not 1 <= found.step <= len(result.actions)
            yield "end" if ended else self._action(result.actions[found.step - 1])

    def _failure(self, result: PlanResult) -> list[str]:
        failure = self.task.run(result.actions).failure
        if failure is None:
            return []
        named = {the(name): word for name, word in self.words.items()}
        names = "|".join(map(re.escape, sorted(named, key=len, reverse=True)))
        return plain_words(re.sub(names, lambda found: named[found[0]], failure.words))


def wording(task: Task, seed: int | None = None) -> Wording:
    """Return a task's wording; which object has which slot is drawn.

    Args:
        task: the task.
        seed: what is drawn from; by default the task's name, so that equal tasks read equally.

    Raises:
        ConfigurationError: the task has more objects than there are slots.
    """
    things = [name for name in task.objects if name not in KNOWN]
    if len(things) > len(SLOTS):
        raise ConfigurationError(
            f"{task.name} has {len(things)} objects without a word of their own, "
            f"and there are {len(SLOTS)} slots"
        )
    rng = Random(crc32(task.name.encode()) if seed is None else seed)
    slots = rng.sample(SLOTS, len(things))
    return Wording(task, {name: name for name in KNOWN} | dict(zip(things, slots, strict=True)))


@dataclass(frozen=True)
class WordedProblem:
    """A task as a problem of the refinement loop, in the closed vocabulary.

    Attributes:
        wording: the task's.
        split: the set that it is counted in.
        told: whether replies tell what is wrong, or only that something is.
    """

    wording: Wording
    split: str
    told: bool = True

    @property
    def name(self) -> str:
        """The task's name."""
        return self.wording.task.name

    def opening(self) -> tuple[dict[str, str], ...]:
        """Return the request as the one message."""
        return ({"role": "user", "content": self.wording.request()},)

    def judge(self, answer: str) -> Judgement:
        """Check a plan in words; the judgement's words are those of :meth:`Wording.reply`."""
        result = check_plan(self.wording.spelled(answer), self.wording.task)
        words = self.wording.reply(result)
        return replace(result.judgement(), words=words if self.told or not words else WRONG)


def worded_problem(task: Task) -> WordedProblem:
    """Return a task as a problem; its split is the one in its name."""
    return WordedProblem(wording(task), task.name.split("/")[1])


@cache
def properties(entity: str) -> tuple[str, ...]:
    """Return the words for what an entity of the ontology is.

    >>> properties("wine_glass")
    ('drinkware', 'fragile', 'vessel', 'washable')
    """
    classes = classes_of(entity)
    found = [word for word in CLASS_WORDS if word in classes]
    return (*found, *(word for word in PROPERTY_WORDS if ontology().has(entity, word)))


def plain_words(text: str) -> list[str]:
    """Return the words of a sentence, without punctuation.

    >>> plain_words("cannot place the jar: it is not in the hand")
    ['cannot', 'place', 'the', 'jar', 'it', 'is', 'not', 'in', 'the', 'hand']
    """
    return re.findall(r"\w+", text.lower())


@cache
def vocabulary() -> tuple[str, ...]:
    """Return every word that a request, a plan or a reply may have, sorted."""
    found = {*KNOWN, *SLOTS, *CLASS_WORDS, *PROPERTY_WORDS, *_SECTIONS, *_REPLIES, *FACTS, *ACTIONS}
    sets = [rules(), *(load_specs(name) for name in (*MANIGUARD, "maniguard_clutter_liquid"))]
    found |= {spec.id for specs in sets for spec in specs}
    for schema in ACTIONS.values():
        texts = (schema.cannot, *(need.otherwise for need in schema.needs))
        found.update(word for text in texts for word in plain_words(re.sub(r"\{\w+\}", "", text)))
    return tuple(sorted(found))
