"""Training by imitation: updates, an averaged policy, and checkpoints for an exact resume."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from safe_rl.algos.imitation.demonstrations import Demonstrations
from safe_rl.algos.imitation.objectives import make_objective
from safe_rl.algos.imitation.settings import ImitationSettings
from safe_rl.algos.progress import ProgressFile
from safe_rl.algos.torch.archive import read_archive, write_archive
from safe_rl.errors import CheckpointError
from safe_rl.policies.vla import VLA, add_lora, save_vla

CHECKPOINT = "training.zip"
METRICS = "metrics.jsonl"
LOG_EVERY = 50
Watch = Callable[[int, Mapping[str, float]], None]


def imitate(
    folder: str | Path,
    model: VLA,
    demonstrations: Demonstrations,
    settings: ImitationSettings,
    *,
    checkpoint_every: int = 1000,
    info: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
) -> Path:
    """Train a policy from demonstrations and save it; returns the folder.

    A run that was stopped is begun again by the same call, and goes on from its last checkpoint to
    the same weights, bit by bit.

    Args:
        folder: of the policy (see :func:`~safe_rl.policies.vla.save_vla`), with ``metrics.jsonl``.
        model: as it begins: new, or trained before. It is changed.
        demonstrations: what is learned from.
        settings: how.
        checkpoint_every: updates between checkpoints.
        info: plain data to keep beside the policy.
        watch: called after each update with its number and the numbers that are logged.

    Raises:
        ConfigurationError: the demonstrations do not have what the method needs.
        CheckpointError: the folder holds another run.
    """
    run = ImitationRun(Path(folder), model, demonstrations, settings)
    run.go_on(checkpoint_every, watch)
    about = {"imitation": asdict(settings), "demonstrations": len(demonstrations.episodes)}
    return save_vla(run.averaged, folder, {**(info or {}), **about})


class ImitationRun:
    """One run: policy, optimiser, generators, and what its method keeps."""

    def __init__(
        self,
        folder: Path,
        model: VLA,
        demonstrations: Demonstrations,
        settings: ImitationSettings,
    ) -> None:
        """Begin a run, or restore the one that the folder holds."""
        self.folder, self.settings = folder, settings
        torch.manual_seed(settings.seed)
        self._rng = np.random.default_rng(settings.seed)
        self.model: VLA = add_lora(model, settings.lora) if settings.lora else model
        self.objective = make_objective(self.model, demonstrations, settings)
        self._average = AveragedModel(
            self.model, multi_avg_fn=get_ema_multi_avg_fn(settings.average)
        )
        trained = [p for p in self.model.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            trained, lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self._trained = trained
        self._mark = {"settings": asdict(settings), "moments": len(demonstrations.windows)}
        self.update = 0
        self._folder_begun = (folder / CHECKPOINT).is_file()
        if self._folder_begun:
            self._restore()

    @property
    def averaged(self) -> VLA:
        """The policy whose weights are the average over the updates."""
        return self._average.module  # type: ignore[return-value]

    def go_on(self, checkpoint_every: int, watch: Watch | None = None) -> None:
        """Train up to the last update."""
        metrics = ProgressFile(self.folder / METRICS, resume_at=self.update)
        try:
            if not self._folder_begun:
                self.objective.prepare(self._rng)
            while self.update < self.settings.updates:
                logs = self._update()
                if self.update % LOG_EVERY == 0 or self.update == self.settings.updates:
                    metrics.append(logs, self.update)
                if self.update % checkpoint_every == 0 or self.update == self.settings.updates:
                    self._save()
                if watch is not None:
                    watch(self.update, logs)
        finally:
            metrics.close()

    def _update(self) -> dict[str, float]:
        settings = self.settings
        rate = settings.learning_rate * 0.5
        rate *= 1 + math.cos(math.pi * self.update / settings.updates)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self.model.train()
        loss = self.objective.loss(self._rng)
        if not bool(torch.isfinite(loss)):
            raise FloatingPointError(
                f"the loss of update {self.update} is {float(loss)}; lower the learning rate "
                f"(now {settings.learning_rate:g})"
            )
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained, settings.max_grad_norm)
        self._optimizer.step()
        self._average.update_parameters(self.model)
        self.update += 1
        return {"loss": float(loss.detach()), "learning_rate": rate, **self.objective.logs}

    def _states(self) -> dict[str, Any]:
        own = {"model": self.model, "average": self._average, "optimizer": self._optimizer}
        return {**own, **self.objective.modules()}

    def _save(self) -> None:
        tree = {
            "mark": self._mark,
            "update": self.update,
            "rng": self._rng,
            "torch_rng": torch.get_rng_state().numpy(),
            "objective": self.objective.state(),
        }
        states = {name: part.state_dict() for name, part in self._states().items()}
        write_archive(self.folder / CHECKPOINT, tree, states)

    def _restore(self) -> None:
        path = self.folder / CHECKPOINT
        tree, states = read_archive(path)
        if tree["mark"] != self._mark:
            raise CheckpointError(
                f"{path} is of a run with other settings or other demonstrations; choose another "
                "folder, or remove it"
            )
        for name, part in self._states().items():
            part.load_state_dict(states[name])
        self.objective.load_state(tree["objective"])
        self._rng = tree["rng"]
        torch.set_rng_state(torch.from_numpy(tree["torch_rng"].copy()))
        self.update = tree["update"]
