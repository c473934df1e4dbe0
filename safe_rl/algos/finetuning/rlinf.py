"""The environments' side of RLinf: ``chunk_step`` on tensors, with the cost of every action."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.policies import instructions_of, named_observation
from safe_rl.wrappers import VectorChunkedSteps

__all__ = ["ChunkStepEnvs"]


class ChunkStepEnvs:
    """``reset`` and ``chunk_step`` as RLinf's embodied workers call them (its ``LiberoEnv``).

    Observations: ``states`` float32 ``[n, D]``, ``main_images`` uint8 ``[n, H, W, 3]`` (the first
    camera, or ``None``) and ``task_descriptions``. Infos hold, beside ours, ``chunk_costs``
    float32 ``[n, chunk]`` (the weighted cost of each action) and, where an episode ended,
    ``final_observation`` and ``episode`` (``success_once``, ``violations``).
    """

    def __init__(self, envs: VectorChunkedSteps) -> None:
        """Present ``envs``, which reset themselves in the step that ends an episode.

        Raises:
            ConfigurationError: they do not.
        """
        mode = envs.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ConfigurationError(
                f"RLinf expects environments that reset themselves within the step, but these are "
                f"in the mode {mode}; make them with AutoresetMode.SAME_STEP"
            )
        self.envs, self.num_envs = envs, envs.num_envs

    def reset(self, *, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset all environments."""
        observations, infos = self.envs.reset(seed=seed)
        return self._shown(observations), dict(infos)

    def chunk_step(
        self, chunk_actions: Any
    ) -> tuple[list[dict[str, Any]], th.Tensor, th.Tensor, th.Tensor, list[dict[str, Any]]]:
        """Play a chunk in every environment.

        Args:
            chunk_actions: tensor or array ``[n, chunk, A]``.

        Returns:
            The last observation in a list, rewards float32, terminations and truncations bool,
            each ``[n, chunk]`` and at the action at which they happened, and the infos in a list.
        """
        actions = th.as_tensor(chunk_actions).detach().cpu().numpy()
        observations, _, terminations, truncations, infos = self.envs.step(actions)
        mask = np.asarray(infos["chunk_mask"])
        told: dict[str, Any] = {
            "chunk_costs": th.as_tensor(infos["chunk_cost"], dtype=th.float32),
            "chunk_mask": th.as_tensor(mask),
            "safety": infos["safety"],
        }
        ended = np.logical_or(terminations, truncations)
        if ended.any():
            last = with_final(observations, infos["final_obs"], ended)
            told["final_observation"] = self._shown(last)
            told["_final_observation"] = th.as_tensor(ended)
            told["episode"] = self._episodes(infos, ended)
        return (
            [self._shown(observations)],
            th.as_tensor(np.asarray(infos["chunk_rewards"]), dtype=th.float32),
            _at_the_end(mask, np.asarray(terminations, np.bool_)),
            _at_the_end(mask, np.asarray(truncations, np.bool_)),
            [told],
        )

    def _episodes(self, infos: dict[str, Any], ended: NDArray[np.bool_]) -> dict[str, th.Tensor]:
        final = {**infos, **infos.get("final_info", {})}  # counts stand in the step itself
        counts = final["safety"]["counts"]
        violations = np.asarray(counts["V"] if isinstance(counts, dict) else counts.V)
        episodes = {"violations": th.as_tensor(np.where(ended, violations.sum(-1), 0))}
        if "success" in final:
            episodes["success_once"] = th.as_tensor(np.asarray(final["success"], np.bool_) & ended)
        return episodes

    def _shown(self, observations: Any) -> dict[str, Any]:
        named = named_observation(observations)
        images = [value for name, value in named.items() if name.startswith("images.")]
        return {
            "states": th.as_tensor(named["state"]),
            "main_images": th.as_tensor(images[0]) if images else None,
            "task_descriptions": list(instructions_of(self.envs)),
        }


def with_final(observations: Any, final: Any, ended: NDArray[np.bool_]) -> Any:
    """Return observations with the last ones of the episodes that ended in their rows."""
    if isinstance(observations, dict):
        return {
            name: with_final(value, _entry(final, name), ended)
            for name, value in observations.items()
        }
    shown = np.array(observations)
    for row in np.flatnonzero(ended):
        shown[row] = final[row]
    return shown


def _entry(final: Any, name: str) -> Any:
    """Return an entry of last observations: a dictionary of arrays, or dictionaries by row."""
    if isinstance(final, dict):
        return final[name]
    return [None if row is None else row[name] for row in final]


def _at_the_end(mask: NDArray[np.bool_], happened: NDArray[np.bool_]) -> th.Tensor:
    """Put what happened in a chunk at the last action that was played of it."""
    placed = np.zeros(mask.shape, np.bool_)
    last = np.maximum(mask.sum(axis=1) - 1, 0)
    placed[np.arange(len(mask)), last] = happened
    return th.as_tensor(placed)
