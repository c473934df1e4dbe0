"""The audit of many files: several processes, a result per file, and nothing done twice.

The result of a file is kept under a key made of its content, the specifications and everything else
that decides it. An audit that was killed finds what is done and does the rest; a file that cannot
be audited is reported, and the others go on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from safe_rl.data import Episode, Recording, Replay, load_recording
from safe_rl.data.event_tape import in_portions, letter_columns, tape_of
from safe_rl.errors import ConfigurationError, RecordingError, SafeRLError
from safe_rl.evaluation.audit.monitoring import Monitored, count_events, join
from safe_rl.evaluation.audit.results import FileResult, KeptEpisode
from safe_rl.evaluation.audit.violations import Violation, find_violations
from safe_rl.monitors import make_tables
from safe_rl.specs import SpecSet
from safe_rl.wrappers.constraints import CostKind

RESULTS_VERSION: Final = 2
"""Raised whenever the same input would give another result; kept results are then made anew."""

Objects = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class AuditPlan:
    """What is audited, and how. It is sent to other processes.

    Attributes:
        specs: the specifications, bound or not.
        objects: property to objects, instead of those that a recording names.
        infer: finds objects from the names of propositions, where neither says them.
        cost: what an episode limit counts.
        make_replay: makes the simulator that labels recorded states.
        settings: whatever else decides the results, as plain data: what ``make_replay`` makes.
        keep: how many violated episodes of a file are kept letter by letter.
    """

    specs: SpecSet
    objects: Objects = field(default_factory=dict)
    infer: Callable[[SpecSet, Sequence[str]], Objects] | None = None
    cost: CostKind = "violation"
    make_replay: Callable[[], Replay] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep: int = 3

    def digest(self) -> str:
        """Return a text that changes whenever the results would."""
        rules = [
            (
                spec.id,
                spec.category,
                *map(str, (spec.formula, spec.trigger, spec.recovery, spec.semantics)),
                dict(spec.forall),
                str(spec.limit),
            )
            for spec in self.specs
        ]
        parts = [
            RESULTS_VERSION,
            rules,
            {kind: list(names) for kind, names in (self.specs.objects or {}).items()},
            {kind: list(names) for kind, names in self.objects.items()},
            self.infer is not None,
            self.cost,
            dict(self.settings),
            self.keep,
        ]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def bind(self, episode: Episode) -> SpecSet:
        """Return the specifications over the objects of an episode.

        Raises:
            SpecificationError: a property of a ``forall`` has no list of objects.
        """
        if not self.specs.properties:
            return self.specs
        objects: dict[str, Sequence[str]] = {**(self.specs.objects or {}), **episode.objects}
        objects |= self.objects
        unknown = [kind for kind in self.specs.properties if kind not in objects]
        if unknown and self.infer is not None:
            inferred = self.infer(self.specs, episode.propositions)
            objects |= {kind: inferred[kind] for kind in unknown}
        own = {kind: objects[kind] for kind in self.specs.properties if kind in objects}
        return self.specs.bind(own)


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes:
        recording: the file.
        result: where its result is kept, or ``None``.
        problem: why there is none, in words.
        reused: the result is that of an earlier audit.
    """

    recording: Recording
    result: Path | None
    problem: str = ""
    reused: bool = False


class FileAuditor:
    """Audits file after file in one process."""

    def __init__(self, plan: AuditPlan, store: Path) -> None:
        """Keep results in the folder ``store``."""
        self._plan = plan
        self._store = store
        self._mark = plan.digest()
        self._replay: Replay | None = None

    def audit(self, recording: Recording) -> Outcome:
        """Audit a file, unless its result is there; never raises for what the file holds."""
        try:
            start = perf_counter()
            content = recording.digest()
            key = hashlib.sha256(f"{content} {self._mark}".encode()).hexdigest()[:32]
            path = self._store / f"{key}.npz"
            if path.is_file() and _is_whole(path):
                return Outcome(recording, path, reused=True)
            seconds = {"hash": perf_counter() - start}
            self._audit(recording, seconds).save(path)
        except (SafeRLError, OSError) as error:
            return Outcome(recording, None, str(error).removeprefix(f"{recording.path}: "))
        except Exception as error:  # a fault of this program must not stop the other files
            return Outcome(recording, None, f"{type(error).__name__}: {error}")
        return Outcome(recording, path)

    def _audit(self, recording: Recording, seconds: dict[str, float]) -> FileResult:
        with _timed(seconds, "read"):
            episodes = self._read(recording)
        with _timed(seconds, "compile"):
            specs = self._plan.bind(episodes[0])
            tables = make_tables(specs)
            columns = letter_columns(specs, episodes[0].propositions)
        monitored: list[Monitored] = []
        violations: list[Violation] = []
        done = 0
        for some in in_portions(episodes):
            with _timed(seconds, "monitor"):
                tape = tape_of(tables, columns, some)
                monitored.append(count_events(specs, tape, some, self._plan.cost))
            with _timed(seconds, "explain"):
                violations += find_violations(tables, columns, tape, some, done)
            done += len(some)
        bad = list(dict.fromkeys(violation.episode for violation in violations))
        return FileResult(
            monitored=join(monitored),
            violations=tuple(violations),
            objects=dict(specs.objects or {}),
            env_ids=tuple(episode.env_id for episode in episodes),
            instructions=tuple(episode.instruction for episode in episodes),
            seeds=tuple(-1 if e.seed is None else e.seed for e in episodes),
            kept=tuple(
                KeptEpisode(i, episodes[i].letters[:, columns], not episodes[i].terminated)
                for i in bad[: self._plan.keep]
            ),
            seconds=seconds,
            drifts=tuple(episode.drift for episode in episodes),
        )

    def _read(self, recording: Recording) -> tuple[Episode, ...]:
        if recording.kind != "demonstrations":
            return load_recording(recording, observations=False)
        if self._plan.make_replay is None:
            raise ConfigurationError(
                "it holds simulator states and no propositions; say which simulator shows them, "
                "as in --env env=robosuite/lift"
            )
        if self._replay is None:
            self._replay = self._plan.make_replay()
        return load_recording(recording, self._replay, observations=False)


def _is_whole(path: Path) -> bool:
    try:
        FileResult.load(path)
    except RecordingError:
        return False
    return True


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - start


def run_audit(
    plan: AuditPlan,
    recordings: Sequence[Recording],
    store: Path,
    *,
    workers: int = 1,
    on_file: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Audit files, several at once, and return what became of each, in their order.

    Args:
        plan: what is audited, and how.
        recordings: the files.
        store: folder of the results.
        workers: processes; 1 works in this one.
        on_file: called as each file is done.

    Raises:
        ConfigurationError: ``workers`` is less than 1.
    """
    if workers < 1:
        raise ConfigurationError(f"workers must be at least 1, got {workers}")
    store.mkdir(parents=True, exist_ok=True)
    found: dict[Recording, Outcome] = {}

    def note(outcome: Outcome) -> None:
        found[outcome.recording] = outcome
        if on_file is not None:
            on_file(outcome)

    workers = min(workers, len(recordings))
    if workers <= 1:
        auditor = FileAuditor(plan, store)
        for recording in recordings:
            note(auditor.audit(recording))
    else:
        _in_processes(plan, store, recordings, workers, note)
        # A process that dies (out of memory, a crash in a simulator) takes the pool with it. What
        # it left is done one file to a process, so that the file at fault is known.
        for recording in recordings:
            if recording not in found:
                _in_processes(plan, store, [recording], 1, note)
            if recording not in found:
                note(Outcome(recording, None, "the process that audited it died"))
    return [found[recording] for recording in recordings]


def _in_processes(
    plan: AuditPlan,
    store: Path,
    recordings: Sequence[Recording],
    workers: int,
    note: Callable[[Outcome], None],
) -> None:
    """Audit in other processes; what a dying process leaves undone is not noted."""
    # Not forked: a fork of a process with threads (jax, a progress bar) can hang.
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_begin, initargs=(plan, store)
    )
    try:
        futures: list[Future[Outcome]] = [pool.submit(_audit, own) for own in recordings]
        for future in as_completed(futures):
            note(future.result())
    except BrokenProcessPool:
        pass
    finally:
        pool.shutdown(cancel_futures=True)


_auditor: FileAuditor | None = None
"""Of a process of the pool: its tables and its simulator serve all its files."""


def _begin(plan: AuditPlan, store: Path) -> None:
    global _auditor
    _auditor = FileAuditor(plan, store)


def _audit(recording: Recording) -> Outcome:
    assert _auditor is not None
    return _auditor.audit(recording)
