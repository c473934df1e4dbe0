"""Actor-critic policies with one cost critic head per constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch as th
from stable_baselines3.common.policies import (
    ActorCriticCnnPolicy,
    ActorCriticPolicy,
    MultiInputActorCriticPolicy,
)
from stable_baselines3.common.type_aliases import PyTorchObs
from torch import nn

__all__ = ["CostActorCriticPolicy", "CostCnnPolicy", "CostCriticMixin", "CostMultiInputPolicy"]


class CostCriticMixin(ActorCriticPolicy):
    """Adds to an SB3 actor-critic policy a critic with ``num_costs`` outputs.

    Args:
        num_costs: the number of constraints, ``K``; 0 gives SB3's own policy.
        share_cost_trunk: let the cost heads sit on the reward critic's hidden layers. By default
            they have hidden layers of their own, ``net_arch["cost"]`` if that is given, else as
            many and as wide as the reward critic's.
    """

    def __init__(
        self, *args: Any, num_costs: int = 0, share_cost_trunk: bool = False, **kwargs: Any
    ) -> None:
        self.num_costs = num_costs
        self.share_cost_trunk = share_cost_trunk
        if kwargs.get("optimizer_class", th.optim.Adam) is th.optim.Adam:
            # SB3's epsilon; one fused kernel instead of a dozen small ones per parameter, which is
            # most of the time of an update on networks of this size.
            defaults = {"eps": 1e-5, "fused": True}
            kwargs["optimizer_kwargs"] = defaults | (kwargs.get("optimizer_kwargs") or {})
        super().__init__(*args, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data = super()._get_constructor_parameters()
        data.update(num_costs=self.num_costs, share_cost_trunk=self.share_cost_trunk)
        return data

    def _build_mlp_extractor(self) -> None:
        # Called at the start of _build(): the optimiser made at its end then sees these modules.
        super()._build_mlp_extractor()
        self.cost_extractor = nn.Sequential()
        width = self.mlp_extractor.latent_dim_vf
        if self.num_costs and not self.share_cost_trunk:
            if isinstance(self.net_arch, dict):
                layers = self.net_arch.get("cost", self.net_arch.get("vf", []))
            else:
                layers = self.net_arch
            width = self.features_dim
            for size in layers:
                self.cost_extractor.append(nn.Linear(width, size))
                self.cost_extractor.append(self.activation_fn())
                width = size
        self.cost_value_net = nn.Linear(width, self.num_costs) if self.num_costs else None

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        if self.ortho_init and self.cost_value_net is not None:
            # In place, so the optimiser keeps its references; the same gains as SB3's critic.
            for layer in self.cost_extractor.modules():
                self.init_weights(layer, gain=float(np.sqrt(2)))
            self.init_weights(self.cost_value_net, gain=1.0)

    def _latents(self, obs: PyTorchObs) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        """Return the actor's, the critic's and the cost critic's last hidden layers."""
        features = self.extract_features(obs)
        pi_features, vf_features = features if isinstance(features, tuple) else (features, features)
        latent_vf = self.mlp_extractor.forward_critic(vf_features)
        if self.share_cost_trunk:
            latent_cost = latent_vf
        else:
            latent_cost = self.cost_extractor(vf_features)
        return self.mlp_extractor.forward_actor(pi_features), latent_vf, latent_cost

    def _cost_values(self, latent_cost: th.Tensor) -> th.Tensor:
        if self.cost_value_net is None:
            return latent_cost.new_zeros((len(latent_cost), 0))
        return self.cost_value_net(latent_cost)

    def forward_with_costs(
        self, obs: PyTorchObs
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor, th.Tensor]:
        """Sample actions.

        Returns:
            Actions ``[B, ...]``, values ``[B, 1]``, cost values ``[B, K]``, log-probabilities
            ``[B]``.
        """
        latent_pi, latent_vf, latent_cost = self._latents(obs)
        distribution = self._get_action_dist_from_latent(latent_pi)
        actions = distribution.get_actions()
        log_prob = distribution.log_prob(actions)
        actions = actions.reshape((-1, *self.action_space.shape))  # type: ignore[misc]
        return actions, self.value_net(latent_vf), self._cost_values(latent_cost), log_prob

    def evaluate_with_costs(
        self, obs: PyTorchObs, actions: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor, th.Tensor | None]:
        """Evaluate given actions.

        Returns:
            Values ``[B, 1]``, cost values ``[B, K]``, log-probabilities ``[B]`` and the entropy
            ``[B]`` (None where it has no analytical form).
        """
        latent_pi, latent_vf, latent_cost = self._latents(obs)
        distribution = self._get_action_dist_from_latent(latent_pi)
        log_prob = distribution.log_prob(actions)
        values, cost_values = self.value_net(latent_vf), self._cost_values(latent_cost)
        return values, cost_values, log_prob, distribution.entropy()

    def predict_all_values(self, obs: PyTorchObs) -> tuple[th.Tensor, th.Tensor]:
        """Return the values ``[B, 1]`` and the cost values ``[B, K]`` of a batch of states."""
        _, latent_vf, latent_cost = self._latents(obs)
        return self.value_net(latent_vf), self._cost_values(latent_cost)

    def parameter_groups(self) -> list[list[nn.Parameter]]:
        """Return the parameters of the actor, the critic and the cost critic apart.

        Their gradients are clipped group by group: the critics regress episode sums in their own
        units, and one clip over all would let a large cost error shrink the step of the policy.
        Modules that several of them use (a shared features extractor) count with the actor.
        """
        critic: tuple[str, ...] = ("value_net.", "mlp_extractor.value_net.")
        if not self.share_features_extractor:
            critic = (*critic, "vf_features_extractor.")
        groups: tuple[list[nn.Parameter], ...] = ([], [], [])
        for name, parameter in self.named_parameters():
            if name.startswith(("cost_value_net.", "cost_extractor.")):
                groups[2].append(parameter)
            elif name.startswith(critic):
                groups[1].append(parameter)
            else:
                groups[0].append(parameter)
        return [group for group in groups if group]


class CostActorCriticPolicy(CostCriticMixin, ActorCriticPolicy):
    """``"MlpPolicy"``: multilayer perceptrons over a flattened observation."""


class CostCnnPolicy(CostCriticMixin, ActorCriticCnnPolicy):
    """``"CnnPolicy"``: NatureCNN features, for image observations."""


class CostMultiInputPolicy(CostCriticMixin, MultiInputActorCriticPolicy):
    """``"MultiInputPolicy"``: for dictionary observations."""
