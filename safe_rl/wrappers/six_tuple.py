"""Safety-Gymnasium's step, which returns the cost beside the reward."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from safe_rl.errors import ConfigurationError


class SixTuple(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Returns ``observation, reward, cost, terminated, truncated, info`` from ``step``.

    For code written against Safety-Gymnasium (Ji et al., NeurIPS 2023); the cost is
    ``info["cost"]``. A vector version exists, :class:`safe_rl.wrappers.VectorSixTuple`. Since
    Gymnasium's own wrappers expect five values, it has to be the outermost one.

    Example:
        >>> import gymnasium as gym
        >>> from safe_rl.specs import Specification
        >>> from safe_rl.wrappers import ProductMDP
        >>> env = ProductMDP(
        ...     gym.make("CartPole-v1"),
        ...     [Specification("upright", "G !tilted", trigger="true")],
        ...     grounding=lambda env: {"tilted": abs(env.unwrapped.state[2]) > 0.1},
        ... )
        >>> env = SixTuple(env)
        >>> _ = env.reset(seed=0)
        >>> observation, reward, cost, terminated, truncated, info = env.step(0)
        >>> cost
        0.0
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        """Wrap ``env``, which writes ``info["cost"]``."""
        RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)

    def step(  # type: ignore[override]
        self, action: Any
    ) -> tuple[Any, Any, float, bool, bool, dict[str, Any]]:
        """Step.

        Raises:
            ConfigurationError: the environment reports no cost.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, cost_of(info, self.env), terminated, truncated, info


def cost_of(info: dict[str, Any], env: Any) -> Any:
    """Return ``info["cost"]``.

    Raises:
        ConfigurationError: there is none.
    """
    if "cost" not in info:
        raise ConfigurationError(
            f"{env} writes no info['cost']; wrap it in ProductMDP or VectorProductMDP first"
        )
    return info["cost"]
