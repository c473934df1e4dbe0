"""What a monitor reports of one step: verdicts, and the events packed into one byte.

The verdicts are RV-LTL's four (Bauer, Leucker and Schallhart, "Comparing LTL Semantics for Runtime
Verification", J. Logic and Computation 2010). The byte of an instance at one step:

=====  ============  ===========================================================
bit    name          meaning
=====  ============  ===========================================================
0      TRIGGERED     a triggered event (a rising edge of the trigger while armed)
1      VIOLATED      a violation starts at this step
2      EXPOSED       this step is spent in violation
3      RECOVERED     the recovery formula accepted: the monitor is armed again
4      CLOSED        no triggered event stays open: fulfilled, or violated
5, 6   (verdict)     the :class:`Verdict`, as a number
7      ARMED         the instance is armed after this step
=====  ============  ===========================================================
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final, NamedTuple, TypeAlias

from array_api_compat import array_namespace

Array: TypeAlias = Any
"""An array of NumPy, PyTorch or JAX. The array API standard publishes no type to import, and a
protocol of its operators would not match the libraries' own annotations."""

TRIGGERED: Final = 1
VIOLATED: Final = 2
EXPOSED: Final = 4
RECOVERED: Final = 8
CLOSED_BIT: Final = 4
CLOSED: Final = 1 << CLOSED_BIT
VERDICT_SHIFT: Final = 5
ARMED: Final = 128


class Verdict(IntEnum):
    """RV-LTL's four verdicts; a larger number is worse."""

    SATISFIED = 0
    """Every continuation satisfies the formula."""
    PRESUMABLY_SATISFIED = 1
    """It would be satisfied if the episode ended here."""
    PRESUMABLY_VIOLATED = 2
    """It would be violated if the episode ended here, but can still be satisfied."""
    VIOLATED = 3
    """No continuation satisfies it."""


class StepEvents(NamedTuple):
    """The events of one step: arrays of shape ``[..., instances]``.

    A NamedTuple, so that JAX and PyTorch see a pytree with the one leaf ``codes``.

    Attributes:
        codes: uint8, the packed events; see the module's table of bits.

    >>> import numpy as np
    >>> events = StepEvents(np.array([TRIGGERED | VIOLATED | EXPOSED | 3 << 5], np.uint8))
    >>> events.violated, Verdict(events.verdict[0]).name
    (array([ True]), 'VIOLATED')
    """

    codes: Array

    @property
    def triggered(self) -> Array:
        """Whether a triggered event (N) is counted at this step."""
        return (self.codes & TRIGGERED) != 0

    @property
    def violated(self) -> Array:
        """Whether a violation (V) starts at this step."""
        return (self.codes & VIOLATED) != 0

    @property
    def exposed(self) -> Array:
        """Whether this step counts as exposure (U)."""
        return (self.codes & EXPOSED) != 0

    @property
    def recovered(self) -> Array:
        """Whether the instance recovered from a violation at this step."""
        return (self.codes & RECOVERED) != 0

    @property
    def closed(self) -> Array:
        """Whether no triggered event is open after this step (accepting state, or violated)."""
        return (self.codes & CLOSED) != 0

    @property
    def armed(self) -> Array:
        """Whether the instance is armed, that is not in violation, after this step."""
        return (self.codes & ARMED) != 0

    @property
    def verdict(self) -> Array:
        """The :class:`Verdict` at this step, int8."""
        xp = array_namespace(self.codes)
        return xp.astype((self.codes >> VERDICT_SHIFT) & 3, xp.int8)
