"""Processes that make attempts, each with its own simulation; results in the order of attempts.

A process whose parent is gone finds its pipe closed and ends.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from safe_rl.demonstrations.collection.settings import CollectionSettings
from safe_rl.demonstrations.engine.attempt import Attempt
from safe_rl.errors import SafeRLError


class WorkerError(SafeRLError, RuntimeError):
    """A process that makes attempts has failed or died."""


def attempts(settings: CollectionSettings, first: int, workers: int) -> Iterator[Attempt]:
    """Attempt ``first`` and all that follow, without end, in order.

    Args:
        settings: decide each of them.
        first: its number.
        workers: processes; 1 makes the attempts in this one.

    Raises:
        WorkerError: a process failed.
    """
    if workers == 1:
        demonstrator = settings.demonstrator()
        try:
            while True:
                yield demonstrator.attempt(first)
                first += 1
        finally:
            demonstrator.close()
    else:
        with _Team(settings, workers) as team:
            yield from team.results(first)


class _Team:
    """The processes, and what each of them is busy with."""

    def __init__(self, settings: CollectionSettings, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes = []
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, settings), daemon=True)
            process.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            end.close()
        for process in self._processes:
            process.terminate()
            process.join()

    def results(self, first: int) -> Iterator[Attempt]:
        """Attempts in order; no process runs ahead of the others by more than its share."""
        ahead = 2 * len(self._ends)
        given = first
        done: dict[int, Attempt] = {}
        idle = list(self._ends)
        while True:
            while idle and given < first + ahead:
                idle.pop().send(given)
                given += 1
            while first in done:
                yield done.pop(first)
                first += 1
                if idle:
                    break
            else:
                for end in wait([end for end in self._ends if end not in idle]):
                    attempt = _received(end)
                    done[attempt.index] = attempt
                    idle.append(end)  # type: ignore[arg-type]


def _received(end: Any) -> Attempt:
    try:
        found = end.recv()
    except EOFError:
        raise WorkerError(
            "a process that makes attempts has died (out of memory?); the attempts so far are kept"
        ) from None
    if not isinstance(found, Attempt):
        raise WorkerError(f"a process that makes attempts failed: {found}")
    return found


def _work(end: Connection, settings: CollectionSettings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the work
    try:
        demonstrator = settings.demonstrator()
        while True:
            end.send(demonstrator.attempt(end.recv()))
    except (EOFError, BrokenPipeError):
        return  # the parent is gone, or wants no more
    except Exception as error:
        end.send(f"{type(error).__name__}: {error}")
