"""OmniSafe's PPOLag as a peer of ``peers``: ``python -m benchmarks.omnisafe_peer CASE ...``.

Runs under an interpreter of its own, so this file imports nothing of safe_rl. The last line that it
prints is one JSON object.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import omnisafe
import torch
from gymnasium import spaces
from omnisafe.envs.core import CMDP, env_register

from benchmarks import drift

LEFT_OUT = 1
"""First epochs that do not count."""


@env_register
class Drift(CMDP):
    """``benchmarks.drift`` as OmniSafe takes it, one or many side by side."""

    _support_envs: ClassVar[list] = ["Drift-v0"]
    need_auto_reset_wrapper = True
    need_time_limit_wrapper = True

    def __init__(self, env_id: str, num_envs: int = 1, **unused: Any) -> None:
        self._num_envs = num_envs
        # OmniSafe's wrappers for these serve a single environment only.
        self.need_auto_reset_wrapper = self.need_time_limit_wrapper = num_envs == 1
        self._observation_space = spaces.Box(-np.inf, np.inf, (drift.SIZE,), np.float32)
        self._action_space = spaces.Box(-1.0, 1.0, (drift.ACTIONS,), np.float32)
        self._shape = (drift.SIZE,) if num_envs == 1 else (num_envs, drift.SIZE)
        self._pushes = torch.tensor(drift.PUSHES)

    @property
    def max_episode_steps(self) -> int:
        """Length of an episode."""
        return drift.HORIZON

    def reset(self, seed: Any = None, options: Any = None) -> Any:
        """Start anew."""
        self._count = 0
        self._point = 0.1 * torch.randn(self._shape)
        return self._point, {}

    def step(self, action: torch.Tensor) -> Any:
        """Move; where there are many environments, all episodes end together."""
        self._count += 1
        noise = torch.randn(self._shape)
        reached = self._point = drift.moved(self._point, action @ self._pushes, noise)
        over = torch.zeros(self._shape[:-1], dtype=torch.bool)
        info: dict[str, Any] = {}
        truncated = over
        if self._num_envs > 1 and self._count >= drift.HORIZON:
            truncated = ~over
            info = {"final_observation": reached.clone(), "_final_observation": truncated}
            self.reset()
        return (
            self._point,
            drift.reward(reached),
            drift.far(reached).float(),
            over,
            truncated,
            info,
        )

    def set_seed(self, seed: int) -> None:
        """Seed the noise."""
        torch.manual_seed(seed)

    def render(self) -> Any:
        """Draw nothing."""
        return np.zeros((8, 8, 3), np.uint8)

    def close(self) -> None:
        """Release nothing."""


def main() -> int:
    """Train and print.

    Arguments: ``own`` or ``alike``, environments, n_steps, minibatch, epochs, iterations.
    """
    case = sys.argv[1]
    envs, n_steps, batch, epochs, iterations = map(int, sys.argv[2:7])
    network = {"hidden_sizes": [64, 64]}
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "train_cfgs": {
                "total_steps": (LEFT_OUT + iterations) * n_steps * envs,
                "vector_env_nums": envs,
                "torch_threads": os.cpu_count(),
            },
            "algo_cfgs": {
                "steps_per_epoch": n_steps * envs,
                "batch_size": batch,
                "update_iters": epochs,
                "kl_early_stop": False,  # so that every update makes all of its passes
            },
            "model_cfgs": {"actor": network, "critic": network},
            "logger_cfgs": {"use_tensorboard": False, "log_dir": folder},
        }
        env_id = "SafetyPointGoal1-v0" if case == "own" else "Drift-v0"
        omnisafe.Agent("PPOLag", env_id, custom_cfgs=settings).learn()
        (log,) = Path(folder).rglob("progress.csv")
        with log.open(newline="") as lines:
            seconds = [float(row["Time/Epoch"]) for row in csv.DictReader(lines)][LEFT_OUT:]
    found = {
        "version": version("omnisafe"),
        "steps": len(seconds) * n_steps * envs,
        "seconds": sum(seconds),
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
