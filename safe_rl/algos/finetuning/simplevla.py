"""A reward for managers of the shape that SimpleVLA-RL has: success less what violations cost."""

from __future__ import annotations

from typing import Any

import torch as th

from safe_rl.errors import ConfigurationError

__all__ = ["SafetyRewardManager"]


class SafetyRewardManager:
    """Called with a batch of rollouts; gives each its score at its last token.

    ``data.batch`` (or ``data`` itself) maps names to tensors: ``complete`` bool ``[B]``,
    ``finish_step`` int ``[B]``, ``responses`` ``[B, ...]`` (only its shape is read), and
    ``violations`` ``[B, S]``: V of each specification, as ``infos["safety"]["counts"]`` of a
    product has it. The score is ``complete - sum_s price_s V_s``, so a rollout's score does not
    depend on others of its group.
    """

    def __init__(self, prices: dict[str, float], tokens_per_action: int) -> None:
        """Set what a violation of each specification costs, in the order of the counts' columns.

        Args:
            prices: by specification; multipliers, or the specifications' weights.
            tokens_per_action: tokens that encode an action.

        Raises:
            ConfigurationError: a negative price, or no token.
        """
        for name, price in prices.items():
            if not price >= 0:
                raise ConfigurationError(f"the price of {name} is {price}; it must be at least 0")
        if tokens_per_action < 1:
            raise ConfigurationError(f"tokens_per_action must be at least 1: {tokens_per_action}")
        self.prices, self._tokens = dict(prices), tokens_per_action

    def verify(self, data: Any) -> th.Tensor:
        """Return the score of each rollout, ``[B]``.

        Raises:
            ConfigurationError: the batch says nothing of violations, or of others than the prices.
        """
        batch = getattr(data, "batch", data)
        if "violations" not in batch:
            raise ConfigurationError(
                "the batch has no 'violations', so nothing is known of safety; put V of the "
                "rollouts there, [B, S]"
            )
        violations = batch["violations"].float()
        if violations.ndim != 2 or violations.shape[1] != len(self.prices):
            raise ConfigurationError(
                f"violations must be [B, {len(self.prices)}], a column for each of "
                f"{', '.join(self.prices)}, but are {list(violations.shape)}"
            )
        prices = th.tensor(list(self.prices.values()), device=violations.device)
        return batch["complete"].float() - violations @ prices

    def __call__(self, data: Any) -> tuple[dict[str, th.Tensor], dict[str, float]]:
        """Return the rewards of the tokens, ``[B, L]`` under ``"all"``, and means for the log."""
        batch = getattr(data, "batch", data)
        score = self.verify(data)
        rows = len(score)
        rewards = th.zeros_like(batch["responses"], dtype=th.float32).reshape(rows, -1)
        last = batch["finish_step"].long() * self._tokens - 1
        if bool((last < 0).any()) or bool((last >= rewards.shape[1]).any()):
            raise ConfigurationError(
                f"finish_step is {batch['finish_step'].tolist()}, but responses hold "
                f"{rewards.shape[1] // self._tokens} actions of {self._tokens} tokens"
            )
        rewards[th.arange(rows), last] = score
        success = batch["complete"].float()
        safe = (batch["violations"].sum(1) == 0).float()
        metrics = {
            "reward_all": float(score.mean()),
            "success": float(success.mean()),
            "success_and_safe": float((success * safe).mean()),
        }
        for column, name in enumerate(self.prices):
            metrics[f"violations/{name}"] = float(batch["violations"][:, column].float().mean())
        return {"all": rewards, "gt_scores": rewards.clone()}, metrics
