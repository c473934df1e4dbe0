"""What the small model learns from: safe and unsafe plans, and conversations that mend one.

An example is a conversation and the answer to learn. The plans before the last answer are read, not
learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Literal, NamedTuple

from safe_rl.envs.household import Action, Task
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.planner.wording import WRONG, Wording, wording
from safe_rl.feedback.plans import Outcome, check_plan
from safe_rl.feedback.refinement import Message

Data = Literal["mixed", "safe"]


class Example(NamedTuple):
    """A conversation, and the answer to it that is learned."""

    messages: tuple[Message, ...]
    answer: str

    def to_row(self) -> dict[str, list[dict[str, str]]]:
        """Return the row of prompt and completion that TRL's ``SFTTrainer`` takes."""
        return {
            "prompt": [dict(message) for message in self.messages],
            "completion": [{"role": "assistant", "content": self.answer}],
        }


def examples(tasks: Iterable[Task], data: Data, seed: int) -> list[Example]:
    """Return the examples for some tasks, shuffled.

    Both sets have for each task a conversation in which a faulty plan is mended. ``"safe"`` has the
    safe plan as the answer to the bare request; ``"mixed"`` has the safe plan and the plan of one
    who knows the goal only, in equal parts.

    Raises:
        ConfigurationError: there is no such set.
    """
    if data not in ("mixed", "safe"):
        raise ConfigurationError(f"there is no data {data!r}; use 'mixed' or 'safe'")
    rng = Random(seed)
    found: list[Example] = []
    for task in tasks:
        worded = wording(task, rng.getrandbits(32))
        found.append(Example((_request(worded),), worded.plan(task.reference)))
        if data == "mixed":
            worded = wording(task, rng.getrandbits(32))
            found.append(Example((_request(worded),), worded.plan(task.naive)))
        mended = mending(wording(task, rng.getrandbits(32)), rng)
        found += [mended] if mended is not None else []
    rng.shuffle(found)
    return found


def mending(worded: Wording, rng: Random) -> Example | None:
    """Return a conversation: a faulty plan, what the check says of it, and the safe plan.

    The faulty plan is, one time in two, that of one who knows the goal only; else the safe plan
    with a fault. One time in four nothing is said but that it is wrong. ``None`` where the fault
    that was drawn does no harm.
    """
    task = worded.task
    plan = task.naive if rng.random() < 0.5 else rng.choice(list(faults(task.reference, rng)))
    result = check_plan(plan, task)
    if result.outcome is Outcome.SAFE_AND_COMPLETE:
        return None
    messages: tuple[Message, ...] = (
        _request(worded),
        {"role": "assistant", "content": worded.plan(plan)},
        {"role": "user", "content": WRONG if rng.random() < 0.25 else worded.reply(result)},
    )
    return Example(messages, worded.plan(task.reference))


def faults(plan: Sequence[Action], rng: Random) -> Iterator[tuple[Action, ...]]:
    """Yield a plan with an action left out, with two neighbours swapped, and cut short."""
    actions = tuple(plan)
    place = rng.randrange(len(actions))
    yield actions[:place] + actions[place + 1 :]
    yield actions[: max(place, 1)]
    if len(actions) > 1:
        place = rng.randrange(len(actions) - 1)
        pair = (actions[place + 1], actions[place])
        yield actions[:place] + pair + actions[place + 2 :]


def _request(worded: Wording) -> dict[str, str]:
    return {"role": "user", "content": worded.request()}
