"""Several actions at a time, with the cost of each."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector.utils import batch_space, iterate

from safe_rl.errors import ConfigurationError
from safe_rl.wrappers.reward import product_of
from safe_rl.wrappers.snapshot import load_env, save_env
from safe_rl.wrappers.tally import Happened

PER_STEP = ("cost", "costs", "constraint_costs")


class ChunkedSteps(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Plays a chunk of actions in one ``step``, as vision-language-action policies give them.

    A vector version exists, :class:`safe_rl.wrappers.VectorChunkedSteps`. The chunk stops where the
    episode ends. The reward is the sum; ``info`` is that of the last action played, in which
    ``"cost"``, ``"costs"``, ``"constraint_costs"`` and ``info["safety"]["happened"]`` are sums, and

    * ``"chunk_mask"`` bool ``[chunk]`` says which actions were played;
    * ``"chunk_cost"`` and ``"chunk_rewards"`` (float64 ``[chunk]``), ``"chunk_costs"``
      (``[chunk, S]``) and ``"chunk_constraint_costs"`` (``[chunk, K]``) hold what each of them cost
      and earned, zero where none was played.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> from safe_rl.wrappers import ProductMDP
        >>> env = ProductMDP(
        ...     gym.make("CartPole-v1"),
        ...     [Specification("upright", "G !tilted", trigger="true")],
        ...     grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
        ... )
        >>> env = ChunkedSteps(env, chunk=6)
        >>> _ = env.reset(seed=0)
        >>> *_, info = env.step(np.ones(6, int))
        >>> info["chunk_cost"]
        array([0., 0., 0., 0., 1., 0.])
    """

    def __init__(self, env: gym.Env[Any, Any], chunk: int) -> None:
        """Wrap ``env``, which has a :class:`ProductMDP` among its wrappers.

        Args:
            env: The environment.
            chunk: Number of actions in a chunk; the action space gets this leading axis.

        Raises:
            ConfigurationError: ``chunk`` is less than 1, or there is no ``ProductMDP``.
        """
        RecordConstructorArgs.__init__(self, chunk=chunk)
        gym.Wrapper.__init__(self, env)
        self._product = product_of(env)
        self.chunk = checked_chunk(chunk)
        self.action_space = batch_space(env.action_space, chunk)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play the actions ``[chunk, ...]`` one after another, until the episode ends."""
        rewards = np.zeros(self.chunk)
        played = np.zeros(self.chunk, np.bool_)
        infos: list[dict[str, Any]] = []
        terminated = truncated = False
        observation: Any = None
        for k, single in enumerate(iterate(self.action_space, action)):
            observation, reward, terminated, truncated, info = self.env.step(single)
            rewards[k], played[k] = float(reward), True
            infos.append(info)
            if terminated or truncated:
                break
        last = dict(infos[-1])
        for key in PER_STEP:
            values = np.zeros((self.chunk, *np.shape(last[key])))
            values[: len(infos)] = [info[key] for info in infos]
            last[f"chunk_{key}"] = values
            last[key] = values.sum(axis=0)
        last["cost"] = float(last["cost"])
        last["chunk_rewards"], last["chunk_mask"] = rewards, played
        parts = zip(*(info["safety"]["happened"] for info in infos), strict=True)
        happened = Happened(*(np.stack(part).sum(axis=0, dtype=np.int32) for part in parts))
        last["safety"] = {**last["safety"], "happened": happened}
        return observation, float(rewards.sum()), terminated, truncated, last

    def get_state(self) -> dict[str, Any]:
        """Return the state of the wrapped environment; a chunk leaves none of its own."""
        return {"env": save_env(self.env)}

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`get_state` returned."""
        load_env(self.env, state["env"])


def checked_chunk(chunk: int) -> int:
    """Return ``chunk`` if it is a possible length.

    Raises:
        ConfigurationError: it is less than 1.
    """
    if chunk < 1:
        raise ConfigurationError(f"chunk must be at least 1, but is {chunk}")
    return chunk
