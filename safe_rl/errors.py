"""The errors that safe_rl raises, one small family.

Every message says what was wrong, where, the value seen, and the way out. ``SafeRLError`` catches
them all; each also derives from the built-in exception that a Python user would expect.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SafeRLError(Exception):
    """Base class of every error that this package raises on purpose."""


class FormulaSyntaxError(SafeRLError, ValueError):
    """A formula's text cannot be parsed; the message shows the text and a caret."""


class UnknownPropositionError(SafeRLError, ValueError):
    """A formula names a proposition that the vocabulary does not hold."""


class CompilationLimitError(SafeRLError):
    """A formula's automaton passes the state limit or the time limit."""


class OracleError(SafeRLError):
    """An external tool used for cross-checks is missing, failed, or answered nonsense."""


class MissingDependencyError(SafeRLError, ImportError):
    """An optional dependency is not installed; the message names the extra to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        """Name the missing ``package``, the ``extra`` that brings it, and what needs it."""
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f'install it with: pip install "safe-rl-ltlf[{extra}]"'
        )


class SpecificationError(SafeRLError, ValueError):
    """A specification, or a file of specifications, is malformed."""


class GroundingError(SafeRLError, ValueError):
    """A letter lacks a proposition, or gives it a value that is not Boolean."""


class OntologyError(SafeRLError, ValueError):
    """A file of the ontology is malformed, or a name or a property is not in the ontology."""


class ConfigurationError(SafeRLError, ValueError):
    """An argument or a configuration value is out of its range or contradicts another."""


class ResetNeededError(SafeRLError, RuntimeError):
    """A monitor or an environment was stepped before it was reset."""


class CheckpointError(SafeRLError):
    """A checkpoint is missing, damaged, or belongs to another run."""


class RecordingError(SafeRLError, ValueError):
    """A file of recorded episodes is missing, damaged, or lacks what is asked of it."""


class PolicyError(SafeRLError):
    """A policy's answer cannot be used, or the server behind it stalled, died or refused."""


class PlannerUnavailableError(SafeRLError):
    """A call failed in a way that may pass: a timeout, a full queue, a cut or garbled reply.

    Attributes:
        retry_after: how many seconds the endpoint asks to be left alone, or ``None``.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Say what failed."""
        super().__init__(message)
        self.retry_after = retry_after


class PlannerRefusedError(SafeRLError):
    """A call was refused, and would be refused again.

    Attributes:
        status: the HTTP status, or ``None``.
        this_request_only: whether the refusal is about the request (too long, malformed), so that
            others may still succeed, and not about the key, the model or the address.
    """

    def __init__(
        self, message: str, *, status: int | None = None, this_request_only: bool = False
    ) -> None:
        """Say what was refused."""
        super().__init__(message)
        self.status = status
        self.this_request_only = this_request_only


class StoppedError(SafeRLError):
    """A run was told to stop while a call was waiting."""


def near(name: str, options: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest of ``options``, or an empty string.

    >>> near("graped", ["grasped", "open"])
    "; did you mean 'grasped'?"
    >>> near("zzz", ["grasped", "open"])
    ''
    """
    known = list(options)
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    if not found:  # difflib is case-sensitive, people are not
        lowered = {option.lower(): option for option in known}
        found = [lowered[key] for key in get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)]
    return f"; did you mean {found[0]!r}?" if found else ""
