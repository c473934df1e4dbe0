"""Checkpoints written while a run trains, of which the last few are kept."""

from __future__ import annotations

from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback

from safe_rl.algos.newest import newest_readable
from safe_rl.algos.torch.archive import read_archive
from safe_rl.errors import ConfigurationError

__all__ = ["CheckpointCallback", "latest_checkpoint"]


class CheckpointCallback(BaseCallback):
    """Writes a checkpoint every ``every`` iterations, between two rollouts, and at the end.

    SB3's callback of that name saves in the middle of a rollout, from which no run can go on with
    the same numbers. An iteration is one rollout of ``n_steps * n_envs`` steps and its update.

    Args:
        folder: where the files go, ``<prefix>_<timesteps>.zip``; it is made if need be.
        every: iterations between two checkpoints.
        keep: how many of the newest files stay; None keeps all.
        prefix: start of the file names.
        verbose: 1 prints each file's name.
    """

    def __init__(
        self,
        folder: str | Path,
        every: int = 10,
        keep: int | None = 3,
        prefix: str = "checkpoint",
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        if every < 1 or (keep is not None and keep < 1):
            raise ConfigurationError(
                f"every and keep must be at least 1, got every={every}, keep={keep}"
            )
        self.folder = Path(folder)
        self.every = every
        self.keep = keep
        self.prefix = prefix
        self._saved_at = -1

    def _on_training_start(self) -> None:
        # A run that resumes at a checkpoint must not write (and, where the environment has to be
        # reset for it, not reset) at the same place again.
        self._saved_at = self.model.iteration  # type: ignore[attr-defined]
        for partial in self.folder.glob(f".{self.prefix}_*.partial"):
            partial.unlink()  # left by a run that was killed while it wrote

    def _on_rollout_start(self) -> None:
        iteration = self.model.iteration  # type: ignore[attr-defined]
        if iteration > self._saved_at and iteration % self.every == 0:
            self._write(iteration)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        iteration = self.model.iteration  # type: ignore[attr-defined]
        if iteration > self._saved_at:
            self._write(iteration)

    def _write(self, iteration: int) -> None:
        path = self.folder / f"{self.prefix}_{self.num_timesteps:012d}.zip"
        self.model.checkpoint(path)  # type: ignore[attr-defined]
        self._saved_at = iteration
        if self.verbose:
            print(f"Saved {path}")
        if self.keep is not None:
            for old in _sorted(self.folder, self.prefix)[: -self.keep]:
                old.unlink()


def _sorted(folder: Path, prefix: str) -> list[Path]:
    """Return the checkpoints of a folder, oldest first; the names hold padded step counts."""
    return sorted(folder.glob(f"{prefix}_*.zip"))


def latest_checkpoint(folder: str | Path, prefix: str = "checkpoint") -> Path | None:
    """Return the newest checkpoint that can be read, or None if the folder has none.

    A damaged one is passed over with a warning, and the one before it is taken.

    Raises:
        CheckpointError: there are checkpoints, and all are damaged.
    """
    return newest_readable(folder, _sorted(Path(folder), prefix), read_archive)
