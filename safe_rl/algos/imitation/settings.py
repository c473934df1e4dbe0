"""How a policy is made from demonstrations, as numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from safe_rl.algos.imitation.windows import KEEPS
from safe_rl.errors import ConfigurationError, near

METHODS: Mapping[str, str] = {
    "cloning": "imitates what is kept",
    "weighted": "imitates the less, the more violations follow",
    "conditioned": "tells the policy how many violations follow, and asks for none when it acts",
    "lagrangian": "imitates under a bound on the violations that are predicted, per trigger",
    "preferences": "prefers what safe demonstrations did to what led to a violation",
}


@dataclass
class ImitationSettings:
    """Arguments of :class:`~safe_rl.algos.imitation.trainer.ImitationRun`."""

    method: str = "cloning"
    """One of ``METHODS``."""
    keep: str = "success"
    """``all``, ``success`` or ``safe``: the demonstrations that are imitated."""
    updates: int = 4000
    batch_size: int = 256
    learning_rate: float = 1e-3
    """The first; it falls to 0 along a half cosine."""
    weight_decay: float = 1e-4
    max_grad_norm: float = 1.0
    average: float = 0.995
    """Part of the averaged weights that an update keeps; the averaged policy is what is saved."""
    horizon: int = 100
    """Steps ahead within which a violation counts against a moment."""
    temperature: float = 0.5
    """``weighted``: violations ahead that lower the weight of a moment by a factor of e."""
    conditions: int = 3
    """``conditioned``: more violations than this are one and the same to the policy."""
    critic_updates: int = 2000
    """``lagrangian``: updates of the predictor before the policy's."""
    controller: str = "pid"
    controller_kwargs: dict[str, Any] = field(default_factory=dict)
    control_every: int = 20
    """``lagrangian``: updates of the policy between those of its multipliers."""
    beta: float = 0.1
    """``preferences``: how sharply log densities are compared."""
    lead: int = 16
    """``preferences``: steps before a violation that led to it."""
    imitation: float = 1.0
    """``preferences``: weight of imitating what is preferred, beside preferring it."""
    lora: int = 0
    """Rank of LoRA adapters in a transformer; 0 trains the whole policy."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.method not in METHODS:
            raise ConfigurationError(
                f"there is no method {self.method!r}{near(self.method, METHODS)}; "
                f"use one of {', '.join(METHODS)}"
            )
        if self.keep not in KEEPS:
            raise ConfigurationError(
                f"keep is {self.keep!r}{near(self.keep, KEEPS)}; use one of {', '.join(KEEPS)}"
            )
        counts = ("updates", "batch_size", "horizon", "conditions", "control_every", "lead")
        for name in counts:
            if getattr(self, name) < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("learning_rate", "max_grad_norm", "temperature", "beta"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name} must be above 0, got {getattr(self, name)}")
        for name in ("critic_updates", "weight_decay", "imitation", "lora"):
            if getattr(self, name) < 0:
                raise ConfigurationError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not 0 <= self.average < 1:
            raise ConfigurationError(f"average must be at least 0 and below 1, got {self.average}")
