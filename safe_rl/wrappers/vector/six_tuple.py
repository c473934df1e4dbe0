"""Safety-Gymnasium's step, which returns the costs beside the rewards; many environments."""

from __future__ import annotations

from typing import Any

from gymnasium.vector import VectorWrapper

from safe_rl.wrappers.six_tuple import cost_of


class VectorSixTuple(VectorWrapper[Any, Any, Any, Any, Any]):
    """Vector twin of :class:`safe_rl.wrappers.SixTuple`; every value has one row per environment.

    The costs are ``infos["cost"]``, so those of an episode's last step are returned by the step
    that reports the end, in every autoreset mode.
    """

    def step(  # type: ignore[override]
        self, actions: Any
    ) -> tuple[Any, Any, Any, Any, Any, dict[str, Any]]:
        """Return ``observations, rewards, costs, terminations, truncations, infos``.

        Raises:
            ConfigurationError: the environment reports no cost.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        costs = cost_of(infos, self.env)
        return observations, rewards, costs, terminations, truncations, infos
