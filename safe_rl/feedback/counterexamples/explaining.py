"""From a trace to counterexamples: the monitors run over it, and every answer is looked into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from operator import getitem
from struct import Struct
from typing import Final

from safe_rl.data import Episode
from safe_rl.errors import ConfigurationError, GroundingError
from safe_rl.feedback.counterexamples.counterexample import Counterexample, Feedback
from safe_rl.feedback.counterexamples.instances import Subject
from safe_rl.feedback.counterexamples.runs import Place, Run, marks
from safe_rl.logic import Letter, as_bool, missing_propositions
from safe_rl.monitors import Verdict, bind_specs
from safe_rl.monitors.events import TRIGGERED, VIOLATED
from safe_rl.monitors.rows import Row, split_into_blocks
from safe_rl.specs import Objects, Specs, SpecSet, load_specs

_VIOLATED: Final = marks(VIOLATED)
_TRIGGERED: Final = marks(TRIGGERED)


def explain(
    specs: Specs,
    trace: Iterable[Letter],
    *,
    truncated: bool = False,
    objects: Objects | None = None,
) -> Feedback:
    """Return what the monitors have to say about a trace; events are those of ``Monitor``.

    Args:
        specs: What :func:`safe_rl.specs.load_specs` takes. A ``SpecSet`` is compiled once.
        trace: One letter for each step, that of the first state first: the set of the true
            propositions, or a mapping that names every proposition that the specifications use.
        truncated: The trace was cut off, and what is owed at its end is pending. Otherwise it is
            complete, and what is owed at its end is violated.
        objects: Binds ``forall`` variables, as :meth:`safe_rl.specs.SpecSet.bind` does.

    Raises:
        ConfigurationError: the trace is empty, or there are no specifications.
        SpecificationError: a ``forall`` variable is not bound.
        GroundingError: a letter lacks a proposition, or gives it a value not Boolean.
        CompilationLimitError: an automaton passes its limit.

    >>> from safe_rl.specs import Specification
    >>> rule = Specification("settle", "G(released -> F settled)")
    >>> feedback = explain([rule], [set(), {"released"}, set()])
    >>> feedback.violated, feedback.violations[0].hint
    (True, 'Before the end, make sure that settled is true.')
    """
    return explainer(specs, objects).explain(trace, truncated=truncated)


def explain_episode(specs: Specs, episode: Episode, *, objects: Objects | None = None) -> Feedback:
    """Return what the monitors have to say about a recorded episode.

    An episode that neither terminated nor was truncated is read as truncated.

    Args:
        specs: What :func:`safe_rl.specs.load_specs` takes.
        episode: See :mod:`safe_rl.data`.
        objects: Property to object names, instead of those that were recorded, which in turn come
            before those of the specifications.

    Raises:
        GroundingError: the recording lacks a proposition that the specifications use.
        ConfigurationError, SpecificationError, CompilationLimitError: as for :func:`explain`.
    """
    loaded = load_specs(specs)
    known = {**(loaded.objects or {}), **episode.objects, **(objects or {})}
    own = {kind: known[kind] for kind in loaded.properties if kind in known}
    names = episode.propositions
    letters = [dict(zip(names, row, strict=True)) for row in episode.letters.tolist()]
    bound = loaded.bind(own) if own else loaded
    return explainer(bound).explain(letters, truncated=not episode.terminated)


def explainer(specs: Specs, objects: Objects | None = None) -> Explainer:
    """Return what :func:`explain` uses: compiled once for each bound ``SpecSet``.

    Raises:
        ConfigurationError: there are no specifications.
        SpecificationError: a ``forall`` variable is not bound.
        CompilationLimitError: an automaton passes its limit.
    """
    if objects is None and isinstance(specs, SpecSet):
        known = _KNOWN.get(id(specs))  # to hash many specifications takes longer than a short trace
        if known is not None and known[0] is specs:
            return known[1]
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        found = _equal_explainer(specs)
        _KNOWN[id(specs)] = specs, found
        return found
    return _equal_explainer(bind_specs(specs, objects))


@lru_cache(maxsize=64)
def _equal_explainer(specs: SpecSet) -> Explainer:
    return Explainer(specs)


_MOST_KNOWN: Final = 64
_KNOWN: Final[dict[int, tuple[SpecSet, Explainer]]] = {}
"""By identity, of sets that are kept here and so cannot be mistaken for a later one."""


class Explainer:
    """Explains traces under bound specifications; :func:`explain` keeps one for each set.

    Attributes:
        specs: the bound specifications.
    """

    def __init__(self, specs: SpecSet) -> None:
        """Compile the monitors.

        Raises:
            ConfigurationError: there are no specifications.
            SpecificationError: a ``forall`` variable is not bound.
            CompilationLimitError: an automaton passes its limit.
        """
        if len(specs) == 0:
            raise ConfigurationError("there are no specifications to explain; give at least one")
        self.specs = specs
        self._subjects = [Subject(instance) for instance in specs.instances]
        blocks = split_into_blocks(
            [subject.machine for subject in self._subjects],
            [subject.names for subject in self._subjects],
        )
        self._names = [name for _, held in blocks for name in held]
        self._cut = Struct("".join(f"{len(held)}s" for _, held in blocks)).unpack
        self._initial: tuple[Row, ...] = ()
        waiting, offset = iter(self._subjects), 0
        for number, (block, held) in enumerate(blocks):
            for position, picks in enumerate(block.picks):
                columns = tuple(offset + pick for pick in picks)
                next(waiting).put(Place(columns, number, position))
            self._initial += (block.row(tuple(m.initial for m in block.machines)),)
            offset += len(held)

    def explain(self, trace: Iterable[Letter], *, truncated: bool = False) -> Feedback:
        """Return what the monitors have to say about a trace; see :func:`explain`."""
        return self._look_into(self._read(trace), truncated)

    def _read(self, trace: Iterable[Letter]) -> Run:
        """Step every instance over the letters, by the same look-ups as ``Monitor``."""
        names, cut, rows = self._names, self._cut, self._initial
        letters: list[bytes] = []
        passed: list[tuple[Row, ...]] = []
        codes: list[bytes] = []
        for letter in trace:
            kind = type(letter)
            if kind is set or kind is frozenset:
                flat = bytes(map(letter.__contains__, names))
            else:
                flat = self._checked(letter)
            passed.append(rows)
            rows, parts = zip(*map(getitem, rows, cut(flat)))  # noqa: B905 - equal, and fast
            letters.append(flat)
            codes.extend(parts)
        if not letters:
            raise ConfigurationError(
                "the trace is empty; it has at least the letter of its first state"
            )
        passed.append(rows)
        return Run(letters, passed, b"".join(codes))

    def _checked(self, letter: Letter) -> bytes:
        if isinstance(letter, Mapping):
            lacking = [name for name in self.specs.propositions if name not in letter]
            if lacking:
                raise missing_propositions(lacking, letter)
            return bytes(as_bool(letter[name], name) for name in self._names)
        if isinstance(letter, Set):
            return bytes(name in letter for name in self._names)
        raise GroundingError(
            "a letter is a mapping of propositions to truth values, or the set of the true ones, "
            f"not {letter!r} ({type(letter).__name__})"
        )

    def _look_into(self, run: Run, truncated: bool) -> Feedback:
        subjects, last = self._subjects, len(run.letters) - 1
        count = len(subjects)
        columns = [run.codes[index::count] for index in range(count)]
        triggers = run.codes.translate(_TRIGGERED)
        found: list[Counterexample] = []
        violated: set[int] = set()
        starts = run.codes.translate(_VIOLATED)
        place = starts.find(1)
        while place >= 0:
            step, index = divmod(place, count)
            violated.add(index)
            found.append(subjects[index].violation(run, columns[index], step, by_end=False))
            place = starts.find(1, place + 1)
        verdicts: dict[str, Verdict] = {}
        pending: list[Counterexample] = []
        untriggered: list[Counterexample] = []
        for index, (subject, column) in enumerate(zip(subjects, columns, strict=True)):
            broken, so_far = subject.at_the_end(run)
            verdict = so_far if truncated else Verdict.SATISFIED
            if broken and not truncated:
                violated.add(index)
                found.append(subject.violation(run, column, last, by_end=True))
            elif verdict is Verdict.PRESUMABLY_VIOLATED:
                pending.append(subject.owed(run, column, last))
            elif index not in violated and 1 not in triggers[index::count]:
                untriggered.append(subject.untested(last, verdict))
            verdicts[subject.id] = Verdict.VIOLATED if index in violated else verdict
        return Feedback(last + 1, truncated, verdicts, (*found, *pending, *untriggered))
