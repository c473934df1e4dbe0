"""A running monitor that can be asked why, at any step of an episode."""

from __future__ import annotations

from collections.abc import Mapping

from safe_rl.errors import ResetNeededError
from safe_rl.feedback.counterexamples.counterexample import Feedback
from safe_rl.feedback.counterexamples.explaining import explainer
from safe_rl.logic import Letter
from safe_rl.monitors import Monitor, StepEvents
from safe_rl.specs import Objects, Specs


class MonitorHistory:
    """A :class:`~safe_rl.monitors.Monitor` with the letters of its episode.

    Attributes:
        monitor: what counts; its ``summary()`` and ``verdicts`` are as ever.
        letters: of the episode so far, or of the one that has ended.

    >>> from safe_rl.specs import Specification
    >>> history = MonitorHistory([Specification("lid_first", "G(lifted -> lid_on)")])
    >>> events = history.reset({"lifted": False, "lid_on": False})
    >>> history.explain().vacuous
    True
    >>> events = history.step({"lifted": True, "lid_on": False})
    >>> [found.step for found in history.explain().violations]
    [1]
    """

    def __init__(self, specs: Specs, objects: Objects | None = None) -> None:
        """Compile the monitors; arguments and errors are those of ``Monitor``."""
        self.monitor = Monitor(specs, objects)
        self.letters: list[Letter] = []
        self._truncated = True

    def reset(self, letter: Letter) -> StepEvents:
        """Begin an episode and forget the last one; see ``Monitor.reset``."""
        events = self.monitor.reset(letter)
        self.letters = [self._copy(letter)]
        self._truncated = True
        return events

    def step(self, letter: Letter) -> StepEvents:
        """Consume a letter; see ``Monitor.step``."""
        events = self.monitor.step(letter)
        self.letters.append(self._copy(letter))
        return events

    def finish(self, truncated: bool = False) -> StepEvents:
        """End the episode; see ``Monitor.finish``."""
        events = self.monitor.finish(truncated)
        self._truncated = truncated
        return events

    def explain(self) -> Feedback:
        """Return what there is to say about the episode; while it runs, as if cut off here.

        Raises:
            ResetNeededError: no episode has begun.
        """
        if not self.letters:
            raise ResetNeededError("no episode has begun; call reset(letter) first")
        found = explainer(self.monitor.specs)
        return found.explain(self.letters, truncated=self._truncated)

    def _copy(self, letter: Letter) -> Letter:
        if isinstance(letter, Mapping):
            return {name: letter[name] for name in self.monitor.propositions}
        return frozenset(letter)
