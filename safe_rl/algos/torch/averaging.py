"""Exponential average of the actor's parameters over the updates of a run.

The optimum of a constrained problem is in general a mixture, and the last iterate of a primal-dual
method circles it. An average of the iterates converges where they circle (Polyak & Juditsky,
"Acceleration of Stochastic Approximation by Averaging", 1992).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch as th

from safe_rl.algos.torch.policies import CostCriticMixin
from safe_rl.errors import ConfigurationError

__all__ = ["PolicyAverage"]


class PolicyAverage:
    """The averaged actor.

    Args:
        policy: whose actor is averaged.
        decay: weight of the past at each update, below 1; 0 keeps no average. Early updates weigh
            more, ``min(decay, (1 + n) / (10 + n))``, so that the start is soon forgotten.
    """

    def __init__(self, policy: CostCriticMixin, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        self.values: dict[str, th.Tensor] = {}
        if decay:
            self.values = {
                name: value.detach().clone() for name, value in self._actor(policy).items()
            }

    @staticmethod
    def _actor(policy: CostCriticMixin) -> dict[str, th.Tensor]:
        chosen = {id(parameter) for parameter in policy.parameter_groups()[0]}
        return {
            name: parameter
            for name, parameter in policy.named_parameters()
            if id(parameter) in chosen
        }

    def update(self, policy: CostCriticMixin) -> None:
        """Take the policy's present parameters into the average."""
        if not self.decay:
            return
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))
        self.updates += 1
        with th.no_grad():
            for name, value in self._actor(policy).items():
                self.values[name].lerp_(value, 1.0 - decay)

    def apply(self, policy: CostCriticMixin) -> None:
        """Write the average into the policy.

        Raises:
            ConfigurationError: no average was kept.
        """
        if not self.decay:
            raise ConfigurationError(
                "this model keeps no averaged policy; build it with policy_average=0.95, say"
            )
        with th.no_grad():
            for name, value in self._actor(policy).items():
                value.copy_(self.values[name])

    @contextmanager
    def in_place(self, policy: CostCriticMixin) -> Iterator[None]:
        """Let the policy act by the average, where one is kept, and then put it back."""
        last = {name: value.detach().clone() for name, value in self._actor(policy).items()}
        if self.decay:
            self.apply(policy)
        try:
            yield
        finally:
            with th.no_grad():
                for name, value in self._actor(policy).items():
                    value.copy_(last[name])

    def load(self, values: Mapping[str, th.Tensor], updates: int) -> None:
        """Restore ``values`` and ``updates``."""
        self.values = {name: values[name].to(own.device) for name, own in self.values.items()}
        self.updates = updates
