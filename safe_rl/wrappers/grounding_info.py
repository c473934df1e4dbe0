"""Letters written into ``info`` by each sub-environment, so that no autoreset can lose one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.utils import RecordConstructorArgs

from safe_rl.errors import ResetNeededError
from safe_rl.wrappers.labels import KEY, Grounding, LabelSource


class GroundingInfo(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Writes the letter of the present state into ``info["propositions"]``.

    For the sub-environments of a vector environment: in ``AutoresetMode.SAME_STEP`` the last state
    of an episode is gone when ``step`` returns, and only what its ``info`` says is left of it.
    :class:`VectorProductMDP` reads the letters from there. It needs no vector version.

    Example:
        >>> import gymnasium as gym
        >>> from gymnasium.vector import AutoresetMode, SyncVectorEnv
        >>> from safe_rl.specs import Specification
        >>> from safe_rl.wrappers import VectorProductMDP
        >>> def tilted(env):
        ...     return {"tilted": abs(env.unwrapped.state[2]) > 0.1}
        >>> envs = SyncVectorEnv(
        ...     [lambda: GroundingInfo(gym.make("CartPole-v1"), tilted)] * 2,
        ...     autoreset_mode=AutoresetMode.SAME_STEP,
        ... )
        >>> envs = VectorProductMDP(envs, [Specification("upright", "G !tilted", trigger="true")])
        >>> _, infos = envs.reset(seed=0)
        >>> infos["propositions"]
        {'tilted': array([False, False])}
    """

    writes_propositions = True
    """How :class:`VectorLabelSource` knows that it need not ask."""

    def __init__(self, env: gym.Env[Any, Any], grounding: Grounding | None = None) -> None:
        """Wrap ``env``; without ``grounding`` its own ``propositions()`` is called."""
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, grounding=grounding)
        gym.Wrapper.__init__(self, env)
        self._labels = LabelSource(env, grounding)
        self._letter: dict[str, Any] | None = None

    def propositions(self) -> dict[str, Any]:
        """Return the letter of the present state.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._letter is None:
            raise ResetNeededError("propositions() before the first reset; call reset() first")
        return dict(self._letter)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset, and write the first letter."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._labels.start()
        return observation, self._with_letter(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and write the letter of the state reached."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, self._with_letter(info)

    def _with_letter(self, info: dict[str, Any]) -> dict[str, Any]:
        self._letter = self._labels.read(info)
        return {**info, KEY: dict(self._letter)}
