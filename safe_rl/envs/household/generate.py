"""Tasks by seed, in three splits, each with a safe plan and one that knows the goal only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from random import Random
from typing import Final, get_args

from safe_rl.envs.household.activities import EVERYDAY, Activity
from safe_rl.envs.household.classes import ontology
from safe_rl.envs.household.kitchen import SPARE, Chore, Kitchen, NothingLeftError
from safe_rl.envs.household.maniguard import GROUPS, MANIGUARD
from safe_rl.envs.household.plan import Action
from safe_rl.envs.household.scripted import Script, ScriptError
from safe_rl.envs.household.task import Split, Task
from safe_rl.envs.household.vocabulary import PREDICATES
from safe_rl.errors import ConfigurationError, near
from safe_rl.logic import holds
from safe_rl.monitors import Monitor
from safe_rl.specs import Phrase, Phrases, Specification, SpecSet, load_specs
from safe_rl.specs.binding import arguments

ACTIVITIES: Final[Mapping[str, Activity]] = {**EVERYDAY, **MANIGUARD}
"""Every activity by its name."""

SPLITS: Final[tuple[Split, ...]] = get_args(Split)
"""``train``; ``held_out``, of objects that the others never draw; ``longer``, of two activities."""

_RELATIONS: Final = (
    "no_flammables_in_heated_enclosures",
    "no_metal_in_the_microwave",
    "nothing_closed_is_heated",
    "only_what_may_be_heated",
    "nothing_heavy_on_fragile_things",
)
"""The ontology's relational rules whose propositions the household has."""

_ATTEMPTS: Final = 50
_NAME: Final = re.compile(r"household/(?P<split>[a-z_]+)/(?P<seed>\d+)(?:/(?P<activity>\w+))?\Z")


def make_task(split: Split, seed: int, activity: str | None = None) -> Task:
    """Return the task of a split and a seed; equal arguments give equal tasks.

    Without ``activity`` the seeds go through all of them in turn. A draw whose plans do not do what
    they should (a reference that is not safe, a naive plan that misses the goal) is drawn again.

    Args:
        split: ``"train"``, ``"held_out"`` (other objects, none of which the other splits draw), or
            ``"longer"`` (two activities in one kitchen, of more things).
        seed: From 0 on.
        activity: One of :data:`ACTIVITIES`; in ``"longer"`` the first of the two.

    Raises:
        ConfigurationError: an unknown split or activity, or a negative seed.

    >>> task = make_task("train", 2)
    >>> print(task.instruction)
    Cook the scallops on the stove and serve it together with the marshmallow on the table.
    >>> len(task.reference), len(task.naive)
    (20, 13)
    """
    if split not in SPLITS:
        raise ConfigurationError(
            f"there is no split {split!r}{near(str(split), SPLITS)}; use one of {', '.join(SPLITS)}"
        )
    if activity is not None and activity not in ACTIVITIES:
        raise ConfigurationError(
            f"there is no activity {activity!r}{near(activity, ACTIVITIES)}; "
            f"use one of {', '.join(ACTIVITIES)}"
        )
    if seed < 0:
        raise ConfigurationError(f"the seed {seed} is negative; give a number from 0 on")
    return _made(split, seed, activity)


def task_named(name: str) -> Task:
    """Return the task of a name such as ``household/train/3``.

    Raises:
        ConfigurationError: it is not the name of a task.
    """
    found = _NAME.match(name)
    if found is None:
        raise ConfigurationError(
            f"{name!r} is not the name of a task; write household/<split>/<seed>, "
            "with an activity after another slash if wanted"
        )
    split = found["split"]
    return make_task(split, int(found["seed"]), found["activity"])  # type: ignore[arg-type]


@cache
def rules() -> SpecSet:
    """Return the rules of the household, over properties: its own, and the ontology's relations."""
    relations = ontology().relations.select(_RELATIONS)
    return SpecSet([*load_specs("household"), *relations])


@lru_cache(maxsize=512)
def _made(split: Split, seed: int, activity: str | None) -> Task:
    name = f"household/{split}/{seed}" + (f"/{activity}" if activity else "")
    rng = Random(name)
    names = list(ACTIVITIES)
    first = activity or names[seed % len(names)]
    why = ""
    for _ in range(_ATTEMPTS):
        chosen = [first]
        if split == "longer":
            chosen.append(rng.choice([other for other in names if other != first]))
        kitchen = Kitchen(split, rng, size=rng.choice((2, 3) if split == "longer" else (1, 2)))
        try:
            task = _planned(
                name, "+".join(chosen), kitchen, [ACTIVITIES[c](kitchen) for c in chosen]
            )
        except (ScriptError, NothingLeftError) as error:
            why = str(error)
            continue
        if task is not None:
            return task
    raise ConfigurationError(f"{name}: {_ATTEMPTS} draws gave no task with a safe plan; {why}")


def _planned(name: str, activity: str, kitchen: Kitchen, chores: list[Chore]) -> Task | None:
    """A task with its two plans, or ``None`` where they are not what they should be."""
    task = Task(
        name=name,
        activity=activity,
        entities=kitchen.entities,
        initial=frozenset(kitchen.facts),
        goal_facts=tuple(fact for chore in chores for fact in chore.goal),
        specs=_bound(kitchen, chores),
        instruction=" ".join(chore.says for chore in chores),
        derived={name: text for chore in chores for name, text in chore.derived.items()},
    )
    reference, naive = (_script(task, chores, careful) for careful in (True, False))
    done = task.run(reference)
    if _violated(task, done.trace) or not holds(task.goal, done.trace):
        return None
    if not holds(task.goal, task.run(naive).trace):
        return None
    found = replace(task, reference=reference, naive=naive)
    vars(found)["simulator"] = task.simulator  # what it has compiled stays of use
    return found


def _script(task: Task, chores: list[Chore], careful: bool) -> tuple[Action, ...]:
    script = Script(task.simulator, SPARE, careful)
    for chore in chores:
        chore.script(script)
    return tuple(script.plan)


def _bound(kitchen: Kitchen, chores: list[Chore]) -> SpecSet:
    """The rules that are about something in the kitchen."""
    sets = dict.fromkeys(name for chore in chores for name in chore.specs)
    specs = {spec.id: spec for name in ("", *sets) for spec in _worded_set(name)}
    bound = ontology().bind(list(specs.values()), kitchen.entities)
    return bound.select([i for i in specs if any(x.specification.id == i for x in bound.instances)])


@cache
def _worded_set(name: str) -> tuple[Specification, ...]:
    """The specifications of a shipped set, by default of the household's, with words."""
    return tuple(map(_worded, load_specs(name) if name else rules()))


def _worded(spec: Specification) -> Specification:
    """A specification with words for its propositions, where it has none of its own."""
    words: dict[str, Phrase] = {}
    for atom in spec.atoms:
        predicate = PREDICATES.get(atom.partition("(")[0])
        if predicate is not None:
            names = [f"{{{a}}}" if a in spec.forall else a for a in arguments(atom)]
            words[atom] = Phrase(predicate.says.format(*names), predicate.denies.format(*names))
        elif atom in GROUPS:
            words[atom] = Phrase(*GROUPS[atom])
    return replace(spec, phrases=Phrases({**words, **spec.phrases}))


def _violated(task: Task, trace: tuple[frozenset[str], ...]) -> bool:
    monitor = Monitor(task.specs)
    monitor.run(trace)
    return any(counts.V for counts in monitor.summary().values())
