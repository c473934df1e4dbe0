"""Counterexamples in words: a hint, a few lines for people, sentences for a language model.

The words are the specification's own (``says`` and ``phrases``); a proposition without a phrase is
said to be true or false.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from safe_rl.monitors.deciding import Decision, decision_words
from safe_rl.specs import plain_phrase

if TYPE_CHECKING:
    from safe_rl.feedback.counterexamples.counterexample import Change, Counterexample, Feedback

STEPS_SHOWN: Final = 8
"""Steps of a trace that a prompt recounts, the last ones."""


def phrase(found: Counterexample, proposition: str, value: bool) -> str:
    """Return a proposition's truth value in the specification's words."""
    own = found.phrases.get(proposition) or plain_phrase(proposition)
    return own.of(value)


def hint(found: Counterexample) -> str:
    """Return how to avoid a counterexample, in one sentence.

    It is read off the automaton: *deciding* propositions that turned at the step are what should
    have waited, the others are what it should have waited for; where the wait has to be a step of
    its own, the shortest insertion says for what.
    """
    if found.kind == "untriggered":
        return f"Nothing put this rule to the test: there was no step with {found.trigger}."
    if found.kind == "pending" or found.by_end:
        wanted = _then(found, found.fulfilment or (), found.trace[-1])
        return f"Before the end, make sure that {wanted}."
    if found.deciding and not found.together:
        return _wait(found)
    if found.deciding:
        return f"{_at(found.step)}, make sure that {_otherwise(found, found.deciding, ' and ')}."
    if found.repairs:
        step, changes = found.repairs[0]
        return f"{_at(step)}, make sure that {_all(found, changes)}."
    return "No change of a single step would have avoided it."


def _wait(found: Counterexample) -> str:
    """The hint where each of the deciding propositions could have averted the violation alone."""
    before = found.before
    turned: list[Change] = []
    stood: list[Change] = []
    for change in found.deciding:
        name, value = change
        is_new = value if before is None else (name in before) != value
        (turned if is_new else stood).append(change)
    if turned and stood:
        return f"Before {_all(found, turned)}, make sure that {_otherwise(found, stood, ' or ')}."
    if stood:
        return f"{_at(found.step)}, make sure that {_otherwise(found, stood, ' or ')}."
    at_once = " at the same time" * (len(turned) > 1)
    if found.insertion is None:
        return f"Do not let it be that {_all(found, turned)}{at_once}."
    wanted = _then(found, found.insertion, found.trace[-1] if before is None else before)
    return f"Do not let it be that {_all(found, turned)}{at_once} until {wanted}."


def _all(found: Counterexample, changes: Iterable[Change]) -> str:
    return " and ".join(phrase(found, name, value) for name, value in changes)


def _otherwise(found: Counterexample, changes: Iterable[Change], joint: str) -> str:
    return joint.join(phrase(found, name, not value) for name, value in changes)


def _then(found: Counterexample, word: Sequence[frozenset[str]], before: frozenset[str]) -> str:
    """What a word changes, letter after letter."""
    told = []
    for letter in word:
        changes = _changed(found, before, letter)
        if changes:
            told.append(changes)
        before = letter
    return ", and then that ".join(told) or "a step passes"


def _changed(found: Counterexample, earlier: frozenset[str], letter: frozenset[str]) -> str:
    names = [name for name in found.propositions if (name in earlier) != (name in letter)]
    return " and ".join(phrase(found, name, name in letter) for name in names)


def _at(step: int) -> str:
    return f"At step {step}"


def named(step: int, labels: Sequence[str]) -> str:
    """Return ``step 3``, or ``step 3 (open(fridge))`` where the step has a label."""
    return f"step {step} ({labels[step]})" if 0 <= step < len(labels) else f"step {step}"


def text(found: Counterexample, labels: Sequence[str] = ()) -> str:
    """Return a few lines for people; see ``Counterexample.text``."""
    if found.kind == "untriggered":
        return f"{found.instance}: never triggered ({found.trigger})"
    if found.kind == "pending":
        title = "still owed at the end"
    elif found.by_end:
        title = f"violated by the end, after {named(found.step, labels)}"
    else:
        title = f"violated at {named(found.step, labels)}"
    rows = [("rule", found.rule), ("broken", _broken(found))]
    if found.triggered is not None and found.triggered < found.step:
        rows.append(("since", f"{named(found.triggered, labels)}: {found.trigger}"))
    if not found.by_end and found.kind == "violation":
        rows.append(("decided", _decided(found)))
    rows.append(("hint", found.hint))
    return "\n".join(
        [f"{found.instance}: {title}", *(f"  {key:<8} {value}" for key, value in rows if value)]
    )


def _broken(found: Counterexample) -> str:
    return "; ".join(found.clauses) or f"{found.formula} (its parts only together)"


def _decided(found: Counterexample) -> str:
    decision = Decision(tuple(range(len(found.deciding))), found.together)
    names, values = zip(*found.deciding, strict=True) if found.deciding else ((), ())
    return decision_words(names, values, decision, by_end=False)


def prompt(found: Counterexample, labels: Sequence[str] = ()) -> str:
    """Return sentences for a language model; see ``Counterexample.prompt``."""
    rule = f": {found.rule}" if found.rule else f": {found.formula}"
    name = f'The rule "{found.instance}"'
    if found.kind == "untriggered":
        return f"{name} was not put to the test{rule}"
    if found.kind == "pending":
        head = f"{name} still asks for something at the end{rule}"
    elif found.by_end:
        head = f"{name} is broken at the end, after {named(found.step, labels)}{rule}"
    else:
        head = f"{name} is broken at {named(found.step, labels)}{rule}"
    lines = [head]
    story = _story(found, labels)
    if story:
        lines.append(f"What happened: {story}.")
    if found.deciding:
        lines.append(f"Why: at step {found.step}, {_all(found, found.deciding)}.")
    lines.append(f"How to avoid it: {found.hint}")
    return "\n".join(lines)


def _story(found: Counterexample, labels: Sequence[str]) -> str:
    """The trace since the trigger: what was true at first, and then what changed."""
    told = []
    earlier: frozenset[str] = frozenset()
    for step, letter in enumerate(found.trace, start=found.start):
        changes = _changed(found, earlier, letter)
        if changes:
            told.append(f"{named(step, labels)}: {changes}")
        earlier = letter
    return "; ".join(told[-STEPS_SHOWN:])


def feedback_text(feedback: Feedback, labels: Sequence[str] = ()) -> str:
    """Return the counterexamples as text for people, with a first line that sums them up."""
    shown = [text(found, labels) for found in feedback.counterexamples]
    return "\n".join([_summary(feedback), *shown])


def feedback_prompt(feedback: Feedback, labels: Sequence[str] = ()) -> str:
    """Return violations and what is pending as a prompt, with a first line that sums them up."""
    told = [*feedback.violations, *feedback.pending]
    return "\n\n".join([_summary(feedback), *(prompt(found, labels) for found in told)])


def _summary(feedback: Feedback) -> str:
    if feedback.violated:
        rules = len({found.instance for found in feedback.violations})
        count = len(feedback.violations)
        again = f", {count} times in all" * (count > rules)
        return f"{rules} safety rule{'s are' if rules > 1 else ' is'} broken{again}."
    if feedback.vacuous:
        return "No safety rule is broken, but none was put to the test either."
    if feedback.pending:
        return f"No safety rule is broken yet; {len(feedback.pending)} still to be fulfilled."
    return "No safety rule is broken."
