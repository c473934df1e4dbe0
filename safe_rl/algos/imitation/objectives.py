"""What is minimised, method by method: rows of the demonstrations in, a loss out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from safe_rl.algos.controllers import Controller, make_controller
from safe_rl.algos.imitation.batches import Batch, Tensor, batch_of, log_likelihood
from safe_rl.algos.imitation.demonstrations import Demonstrations
from safe_rl.algos.imitation.pairs import preference_pairs
from safe_rl.algos.imitation.predictor import OutcomePredictor
from safe_rl.algos.imitation.settings import ImitationSettings
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import VLA, ChunkDistribution


class Objective(ABC):
    """One method. Rows are drawn by a numpy generator, noise by torch's own.

    Attributes:
        logs: numbers of the last loss.
    """

    def __init__(
        self, model: VLA, demonstrations: Demonstrations, settings: ImitationSettings
    ) -> None:
        """Learn with ``model`` from ``demonstrations``; ``settings`` says how."""
        self.model, self.settings = model, settings
        self.windows, self.demonstrations = demonstrations.windows, demonstrations
        self.rows = np.flatnonzero(demonstrations.kept(settings.keep)[self.windows.episode])
        self.logs: dict[str, float] = {}

    @abstractmethod
    def loss(self, rng: np.random.Generator) -> Tensor:
        """Draw a batch and return its loss."""

    def prepare(self, rng: np.random.Generator) -> None:
        """Do what comes before the first update; nothing by default."""
        del rng

    def modules(self) -> Mapping[str, torch.nn.Module]:
        """Return what is saved beside the policy."""
        return {}

    def state(self) -> dict[str, Any]:
        """Return plain numbers that are saved too."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        del state

    def draw(self, rng: np.random.Generator, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw a batch of some rows, with replacement."""
        return rows[rng.integers(len(rows), size=self.settings.batch_size)]


class Cloning(Objective):
    """Behaviour cloning by maximum likelihood; weighted or conditioned on costs if asked for.

    Weighted: a moment counts ``exp(-violations ahead / temperature)``, scaled to a mean of 1, as in
    advantage-weighted regression (Peng et al., 2019). Conditioned: the policy is told the
    violations ahead (Liu et al., "Constrained Decision Transformer", 2023).
    """

    def __init__(
        self, model: VLA, demonstrations: Demonstrations, settings: ImitationSettings
    ) -> None:
        """Learn with ``model`` from ``demonstrations``; ``settings`` says how."""
        super().__init__(model, demonstrations, settings)
        self._weight = self._cost = None
        if settings.method == "weighted":
            weight = np.exp(-self.windows.cost / settings.temperature)
            self._weight = (weight / weight[self.rows].mean()).astype(np.float32)
        if settings.method == "conditioned":
            if not model.config.reads_cost:
                raise ConfigurationError(
                    "the method 'conditioned' needs a policy that reads costs: "
                    "VLAConfig(reads_cost=True)"
                )
            self._cost = np.minimum(self.windows.cost, settings.conditions).astype(np.float32)

    def loss(self, rng: np.random.Generator) -> Tensor:
        """Draw a batch and return its loss."""
        return self._imitated(rng)[0]

    def _imitated(self, rng: np.random.Generator) -> tuple[Tensor, Batch, ChunkDistribution]:
        """Draw a batch of what is kept; return its loss, and what the policy would do there."""
        rows = self.draw(rng, self.rows)
        batch = batch_of(self.model, self.windows, rows, self._weight, self._cost)
        distribution = self.model.distribution(batch.inputs)
        density = log_likelihood(distribution, batch.actions, batch.mask)
        self.logs["log_likelihood"] = float(density.detach().mean())
        return -(batch.weight * density).mean(), batch, distribution


class Lagrangian(Cloning):
    """Cloning under ``E[V] / E[N] <= d`` for every specification with a limit per trigger.

    V and N of what the policy would do are predicted by an :class:`OutcomePredictor` that is fitted
    to all demonstrations first; the constraint ``E[V - d N] <= 0`` has a multiplier, moved by the
    same controllers as in reinforcement learning.
    """

    def __init__(
        self, model: VLA, demonstrations: Demonstrations, settings: ImitationSettings
    ) -> None:
        """Learn with ``model`` from ``demonstrations``; ``settings`` says how."""
        super().__init__(model, demonstrations, settings)
        limits = demonstrations.trigger_limits()
        self._ids = tuple(limits)
        self._columns = [self.windows.ids.index(name) for name in self._ids]
        self._limits = np.array(list(limits.values()))
        average = self.windows.triggers.mean(axis=0)[self._columns]
        self._unit = torch.tensor(np.maximum(average * self._limits, 1e-6), dtype=torch.float32)
        self.predictor = OutcomePredictor(model, len(self.windows.ids))
        self.controller: Controller = make_controller(
            settings.controller, **settings.controller_kwargs
        )
        self.controller.start(len(self._ids))
        self._seen: list[NDArray[np.float64]] = []

    def prepare(self, rng: np.random.Generator) -> None:
        """Fit the predictor to all demonstrations."""
        optimizer = torch.optim.AdamW(self.predictor.parameters(), lr=1e-3)
        every = np.arange(len(self.windows))
        for _ in range(self.settings.critic_updates):
            batch = batch_of(self.model, self.windows, self.draw(rng, every))
            loss = self.predictor.loss(self.model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        self.predictor.requires_grad_(False)

    def modules(self) -> Mapping[str, torch.nn.Module]:
        """Return what is saved beside the policy."""
        return {"predictor": self.predictor}

    def state(self) -> dict[str, Any]:
        """Return multipliers, and rates that they have not seen."""
        return {"controller": self.controller.state_dict(), "seen": list(self._seen)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore what :meth:`state` returned."""
        self.controller.load_state_dict(state["controller"])
        self._seen = [np.asarray(row) for row in state["seen"]]
        self.predictor.requires_grad_(False)

    def loss(self, rng: np.random.Generator) -> Tensor:
        """Draw a batch and return its loss."""
        imitation, batch, distribution = self._imitated(rng)
        noise = torch.randn_like(distribution.mean) * torch.exp(distribution.log_std)
        found = self.predictor.log_counts(
            self.model, batch.inputs["state"], distribution.mean + noise
        )
        violations, triggers = (log.exp()[:, self._columns].mean(0) for log in found)
        self._control(violations, triggers)
        limits = torch.tensor(self._limits, dtype=torch.float32)
        excess = (violations - limits * triggers) / self._unit
        multipliers = torch.tensor(self.controller.multipliers, dtype=torch.float32)
        for name, rate, multiplier in zip(
            self._ids, (violations / triggers).tolist(), multipliers.tolist(), strict=True
        ):
            self.logs[f"predicted/{name}"], self.logs[f"lambda/{name}"] = rate, multiplier
        return imitation + (multipliers * excess).sum()

    def _control(self, violations: Tensor, triggers: Tensor) -> None:
        self._seen.append((violations / triggers).detach().numpy().astype(np.float64))
        if len(self._seen) >= self.settings.control_every:
            rates = np.mean(self._seen, axis=0)
            self._seen = []
            self.controller.update(rates / self._limits, np.ones(len(self._ids)))


class Preferences(Cloning):
    """Prefer what safe demonstrations did to what led to a violation, near a reference policy.

    The loss of Rafailov et al., "Direct Preference Optimization" (2023), on chunks; the halves of a
    pair have states of their own, as in Hejna et al., "Contrastive Preference Learning" (2024).
    Beside it, what is kept is imitated.
    """

    def __init__(
        self, model: VLA, demonstrations: Demonstrations, settings: ImitationSettings
    ) -> None:
        """Learn with ``model`` from ``demonstrations``; ``settings`` says how."""
        super().__init__(model, demonstrations, settings)
        self.reference = deepcopy(model).eval().requires_grad_(False)
        self._pairs = preference_pairs(
            self.windows,
            demonstrations.annotations,
            demonstrations.kept("safe"),
            chunk=model.config.chunk,
            lead=settings.lead,
        )

    def modules(self) -> Mapping[str, torch.nn.Module]:
        """Return what is saved beside the policy."""
        return {"reference": self.reference}

    def loss(self, rng: np.random.Generator) -> Tensor:
        """Draw a batch and return its loss."""
        drawn = self.draw(rng, np.arange(len(self._pairs.chosen)))
        gains = []
        for rows in (self._pairs.chosen[drawn], self._pairs.rejected[drawn]):
            batch = batch_of(self.model, self.windows, rows)
            own, base = (m.distribution(batch.inputs) for m in (self.model, self.reference))
            gain = own.log_prob(batch.actions) - base.log_prob(batch.actions)
            gains.append((gain * batch.mask).sum(1))
        margin = self.settings.beta * (gains[0] - gains[1])
        self.logs["preferred"] = float((margin.detach() > 0).float().mean())
        return -F.logsigmoid(margin).mean() + self.settings.imitation * super().loss(rng)


def make_objective(
    model: VLA, demonstrations: Demonstrations, settings: ImitationSettings
) -> Objective:
    """Return the method that the settings name."""
    kinds: dict[str, type[Objective]] = {"lagrangian": Lagrangian, "preferences": Preferences}
    return kinds.get(settings.method, Cloning)(model, demonstrations, settings)
