"""What holds of every counterexample, with the plain monitor and brute force as judges."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings

from safe_rl.automata import compile_ltlf
from safe_rl.feedback import Feedback, explain
from safe_rl.monitors import Monitor, Verdict
from tests.feedback.counterexamples.violating import (
    cases,
    changed,
    harmed,
    replaced,
    subsets,
    words,
)

every_case = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
MOST_TRIED = 300
"""Words tried for a shorter way; some instances have too many letters for all of them."""


def fails_at(feedback):
    return {(c.step, c.instance, c.by_end) for c in feedback.violations}


@every_case
@given(cases())
def test_violations_and_verdicts_are_the_monitors(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    monitor = Monitor(specs)
    expected = set()
    for step, events in enumerate(monitor.run(trace, truncated=truncated)):
        by_end = step == len(trace)
        for index, instance in enumerate(specs.instances):
            if events.violated[index]:
                expected.add((step - by_end, instance.id, by_end))
    assert fails_at(feedback) == expected
    summary = monitor.summary()
    assert feedback.verdicts == {name: counts.verdict for name, counts in summary.items()}
    assert feedback.violated == any(counts.V for counts in summary.values())
    # An instance that has recovered from a violation may owe something again.
    now = dict(zip(summary, monitor.verdicts, strict=True))
    presumed = [n for n, verdict in now.items() if verdict is Verdict.PRESUMABLY_VIOLATED]
    assert [c.instance for c in feedback.pending] == presumed
    assert all(name in presumed or c.V for name, c in summary.items() if c.pending)
    for found in feedback.violations:
        assert found.verdict is Verdict.VIOLATED
    for found in (*feedback.pending, *feedback.untriggered):
        assert found.verdict is now[found.instance]
    silent = [n for n, c in summary.items() if not (c.N or c.V or c.pending)]
    assert [c.instance for c in feedback.untriggered] == [n for n in silent if n not in presumed]
    assert feedback.vacuous == (len(feedback.untriggered) == len(summary))


@every_case
@given(cases())
def test_exposure_and_recovery_are_the_monitors(case):
    specs, trace, truncated = case
    events = Monitor(specs).run(trace, truncated=truncated)
    for index, instance in enumerate(specs.instances):
        found = [
            c
            for c in explain(specs, trace, truncated=truncated).violations
            if c.instance == instance.id
        ]
        assert sum(c.exposed for c in found) == sum(int(e.exposed[index]) for e in events)
        recoveries = {step for step, e in enumerate(events) if e.recovered[index]}
        assert {c.recovered for c in found} - {None} == recoveries


@every_case
@given(cases())
def test_the_deciding_atoms_avert_and_nothing_smaller_does(case):
    specs, trace, truncated = case
    for found in explain(specs, trace, truncated=truncated).violations:
        step, letter = found.step, trace[found.step]

        def averts(names, found=found, step=step, letter=letter):
            other = replaced(trace[: step + 1], step, changed(letter, names))
            return not harmed(specs, found.instance, other, first=step)

        if found.by_end:
            assert found.deciding == () and found.nearest is None and found.insertion is None
            continue
        names = [change.proposition for change in found.deciding]
        assert all(value == (name in letter) for name, value in found.deciding)
        if not found.deciding:
            assert not any(map(averts, subsets(found, range(len(found.propositions) + 1))))
            assert found.nearest is None
        elif found.together:
            assert averts(names)
            assert not any(map(averts, subsets(found, range(len(names)))))
        else:
            ways = [names for names in subsets(found, [1]) if averts(names)]
            assert sorted(ways) == sorted((name,) for name in names)
        if found.nearest is not None:
            own = frozenset(letter) & frozenset(found.propositions)
            fewest = len(names) if found.together else 1
            assert len(found.nearest ^ own) == fewest and averts(found.nearest ^ own)


@every_case
@given(cases())
def test_repairs_are_all_the_smallest_changes_of_one_step(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    for found in (*feedback.violations, *feedback.pending):
        read, ends = trace[: found.step + 1], found.by_end or found.kind == "pending"

        def repairs(step, names, found=found, read=read, ends=ends):
            other = replaced(read, step, changed(read[step], names))
            return not harmed(specs, found.instance, other, first=found.start, ends=ends)

        sizes = {len(repair.changes) for repair in found.repairs}
        assert len(sizes) <= 1
        for step, changes in found.repairs:
            assert all(value != (name in trace[step]) for name, value in changes)
            assert repairs(step, [name for name, _ in changes])
        smallest = next(iter(sizes), len(found.propositions) + 1)
        steps = range(found.start, found.step + 1)
        smaller = subsets(found, range(1, smallest))
        assert not any(repairs(step, names) for step in steps for names in smaller)
        if len(found.repairs) < 8:
            ways = {(s, n) for s in steps for n in subsets(found, sizes) if repairs(s, n)}
            assert {(s, tuple(name for name, _ in c)) for s, c in found.repairs} == ways


@every_case
@given(cases())
def test_no_shorter_word_dooms_fulfils_or_helps(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    for found in (*feedback.violations, *feedback.pending):
        ends = found.by_end or found.kind == "pending"
        place = found.step + ends
        read, letter = trace[:place], trace[found.step]

        def dooms(word, found=found, read=read, place=place):
            return not harmed(specs, found.instance, [*read, *word[:-1]], first=place) and harmed(
                specs, found.instance, [*read, *word], first=place
            )

        def fulfils(word, found=found, read=read, place=place):
            return not harmed(specs, found.instance, [*read, *word], first=place, ends=True)

        def helps(word, found=found, read=read, place=place, letter=letter):
            return not harmed(specs, found.instance, [*read, *word, letter], first=place)

        judged = [(found.doom, dooms), (found.fulfilment, fulfils)]
        judged += [(found.insertion, helps)] * (not ends)
        for word, right in judged:
            if word is not None:
                assert word and right(word)
            longest = 3 if word is None else len(word)
            for length in range(1, longest):
                tried = words(found, length)
                if len(tried) <= MOST_TRIED:
                    assert not any(map(right, tried))


@every_case
@given(cases())
def test_the_recovery_recovers_and_no_shorter_one_does(case):
    specs, trace, truncated = case
    for found in explain(specs, trace, truncated=truncated).violations:
        if found.by_end:
            assert found.recovery is None
            continue
        read, index = trace[: found.step + 1], [i.id for i in specs.instances].index(found.instance)

        def recovers(word, read=read, index=index):
            events = Monitor(specs).run([*read, *word], truncated=True)[len(read) : -1]
            last = events[-1]
            return bool(
                last.recovered[index]
                and not last.violated[index]
                and all(e.exposed[index] and not e.violated[index] for e in events[:-1])
            )

        if found.recovery is not None:
            assert recovers(found.recovery)
        longest = 3 if found.recovery is None else len(found.recovery)
        for length in range(1, longest):
            tried = words(found, length)
            if len(tried) <= MOST_TRIED:
                assert not any(map(recovers, tried))


@every_case
@given(cases())
def test_the_trace_begins_with_the_trigger_or_the_recovery(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    events = Monitor(specs).run(trace, truncated=truncated)
    ids = [instance.id for instance in specs.instances]
    for found in (*feedback.violations, *feedback.pending):
        index, step = ids.index(found.instance), found.step
        own = frozenset(found.propositions)
        assert found.trace == tuple(letter & own for letter in trace[found.start : step + 1])
        assert found.before == (trace[step - 1] & own if step else None)
        edges = [s for s in range(step + 1) if events[s].triggered[index]]
        recoveries = [s for s in range(step + 1) if events[s].recovered[index]]
        if not edges:
            assert found.triggered is None
        else:
            ends = found.by_end or found.kind == "pending"
            shut = [s for s in range(step + ends) if events[s].closed[index]]
            still_open = [s for s in edges if not any(s <= other for other in shut)]
            assert found.triggered == (still_open or edges[-1:])[0]
        armed_since = recoveries[-1] if recoveries else 0
        assert found.start == max(armed_since, found.triggered or 0)


@every_case
@given(cases())
def test_a_clause_is_named_where_it_is_broken_and_only_there(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    events = Monitor(specs).run(trace, truncated=truncated)
    ids = [instance.id for instance in specs.instances]
    for found in (*feedback.violations, *feedback.pending):
        spec = specs[found.specification]
        index = ids.index(found.instance)
        since = [s for s in range(found.step + 1) if events[s].recovered[index]]
        read = trace[since[-1] if since else 0 : found.step + 1]
        for clause in found.clauses:
            dfa = compile_ltlf(clause, semantics=spec.semantics)
            state = dfa.run(read)[-1]
            ends = found.by_end or found.kind == "pending"
            assert not dfa.is_accepting(state) if ends else dfa.is_doomed(state)
        if found.by_end or found.kind == "pending":
            assert found.clauses


@every_case
@given(cases())
def test_json_gives_the_same_back(case):
    specs, trace, truncated = case
    feedback = explain(specs, trace, truncated=truncated)
    data = feedback.to_json()
    again = Feedback.from_json(json.loads(json.dumps(data)))
    assert again == feedback and again.to_json() == data
    assert hash(again.counterexamples) == hash(feedback.counterexamples)


@every_case
@given(cases())
def test_text_and_prompt_name_the_rule_the_step_and_the_hint(case):
    specs, trace, truncated = case
    labels = [f"action {step}" for step in range(len(trace))]
    feedback = explain(specs, trace, truncated=truncated)
    text, prompt = feedback.text(labels), feedback.prompt(labels)
    for found in feedback.counterexamples:
        assert found.text(labels) in text and found.instance in text
        if found.kind == "untriggered":
            continue
        assert found.prompt(labels) in prompt and found.instance in prompt
        assert found.hint in text and found.hint in prompt
        if found.kind == "violation":
            assert f"step {found.step} (action {found.step})" in found.text(labels)
            assert f"step {found.step} (action {found.step})" in found.prompt(labels)


def test_judges_see_a_change():
    from safe_rl.specs import Specification, SpecSet

    specs = SpecSet([Specification("s", "G(a -> b)")])
    assert harmed(specs, "s", [{"a"}]) and not harmed(specs, "s", [{"a", "b"}])
    assert not harmed(specs, "s", [{"a"}, set()], first=2)
    with pytest.raises(ValueError, match="other"):
        harmed(specs, "other", [])
