"""A pre-trained chunk policy as the actor of an actor-critic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch as th
from gymnasium import spaces
from stable_baselines3.common.type_aliases import PyTorchObs
from torch import nn

from safe_rl.algos.finetuning.motion import MotionDistribution
from safe_rl.algos.torch.policies import CostCriticMixin
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import VLA, ChunkDistribution, VLAConfig

__all__ = ["ChunkActorCritic"]


class ChunkActorCritic(CostCriticMixin):
    """A :class:`~safe_rl.policies.vla.VLA` acts; critics of reward and costs are new.

    Observations: the policy's state, float ``[D]``, and behind it what else the environment shows
    (monitor features), which only the critics see: the actor can then act where there are no
    monitors. Actions: ``[chunk, A]``.

    Attributes:
        actor: what is fine-tuned.
        reference: what it was before; its weights stay.
    """

    actor: VLA
    reference: VLA

    def __init__(
        self,
        *args: Any,
        vla: Mapping[str, Any],
        instruction: str = "",
        noise_modes: int = 1,
        **kwargs: Any,
    ) -> None:
        """Build actor and reference of a shape; :meth:`start_from` gives them their weights.

        Args:
            *args: as of SB3's policies.
            vla: ``VLAConfig.to_json()`` of the actor.
            instruction: the prompt, the same in every environment.
            noise_modes: of a chunk's noise, see :class:`MotionDistribution`.
            **kwargs: as of SB3's policies; ``net_arch`` is that of the critics.

        Raises:
            ConfigurationError: the actor looks at cameras or costs, or does not fit the spaces, or
                a chunk has fewer modes.
        """
        self.vla, self.instruction = dict(vla), instruction
        self.noise_modes = noise_modes
        super().__init__(*args, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        data = super()._get_constructor_parameters()
        data.update(vla=self.vla, instruction=self.instruction, noise_modes=self.noise_modes)
        return data

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        config = VLAConfig.from_json(self.vla)
        self._check(config)
        # In place of SB3's own actor.
        del self.action_net, self.log_std, self.mlp_extractor.policy_net
        self.actor, self.reference = VLA(config), VLA(config)
        self.reference.requires_grad_(False)
        words = self.actor.inputs(
            {"state": self.actor.state_mean.numpy()[None]}, [self.instruction]
        )
        self._told = tuple(name for name in words if name != "state")
        for name in self._told:
            self.register_buffer(f"told_{name}", words[name])
        actor, *critics = self.parameter_groups()
        groups = [{"params": actor}, {"params": [p for group in critics for p in group]}]
        self.optimizer = self.optimizer_class(
            groups,
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def _check(self, config: VLAConfig) -> None:
        if not 1 <= self.noise_modes <= config.chunk:
            raise ConfigurationError(
                f"noise_modes must be 1 to {config.chunk}, the steps of a chunk; got "
                f"{self.noise_modes}"
            )
        if config.cameras or config.reads_cost:
            raise ConfigurationError(
                "fine-tuning takes policies that see the state alone and are told no cost; this "
                f"one has cameras={list(config.cameras)}, reads_cost={config.reads_cost}"
            )
        shown, acts = self.observation_space, self.action_space
        flat = shown.shape if isinstance(shown, spaces.Box) and shown.shape is not None else ()
        if len(flat) != 1 or flat[0] < config.state_size:
            raise ConfigurationError(
                f"the policy reads {config.state_size} numbers, but the environment shows {shown}"
            )
        if acts.shape != (config.chunk, config.action_size):
            raise ConfigurationError(
                f"the policy answers [{config.chunk}, {config.action_size}], but the environment "
                f"takes {acts.shape}; wrap it in VectorChunkedSteps(envs, {config.chunk})"
            )

    def start_from(self, model: VLA, first_std: float = 0.0) -> None:
        """Give actor and reference the weights of a trained policy, and the noise to begin with."""
        for own in (self.actor, self.reference):
            own.load_state_dict(model.state_dict())
            if first_std:
                own.log_std.data.fill_(math.log(first_std))

    # --- acting ---------------------------------------------------------------------------------

    def chunk_distribution(self, obs: PyTorchObs, *, reference: bool = False) -> ChunkDistribution:
        """Return what the actor, or the reference, would do at ``obs`` ``[B, ...]``."""
        assert isinstance(obs, th.Tensor)
        model = self.reference if reference else self.actor
        given = {"state": obs[:, : model.config.state_size].float()}
        for name in self._told:
            value = getattr(self, f"told_{name}")
            given[name] = value.expand(len(obs), *value.shape[1:])
        return model.distribution(given)

    def motion_distribution(self, obs: PyTorchObs) -> MotionDistribution:
        """Return what the actor tries at ``obs``: its chunks, and smooth noise."""
        return MotionDistribution.of(self.chunk_distribution(obs), self.noise_modes)

    def _latents(self, obs: PyTorchObs) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        assert isinstance(obs, th.Tensor)
        size = self.actor.config.state_size
        features = th.cat([self.actor.normal_state(obs[:, :size]), obs[:, size:]], dim=1).float()
        latent_vf = self.mlp_extractor.forward_critic(features)
        latent_cost = latent_vf if self.share_cost_trunk else self.cost_extractor(features)
        return features, latent_vf, latent_cost

    def forward_with_costs(
        self, obs: PyTorchObs
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor, th.Tensor]:
        """Sample chunks; see :class:`CostCriticMixin`."""
        distribution = self.motion_distribution(obs)
        actions = distribution.sample()
        values, cost_values = self.predict_all_values(obs)
        return actions, values, cost_values, distribution.log_prob(actions)

    def evaluate_with_costs(
        self, obs: PyTorchObs, actions: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor, th.Tensor | None]:
        """Evaluate given chunks; see :class:`CostCriticMixin`."""
        distribution = self.motion_distribution(obs)
        log_prob = distribution.log_prob(actions.reshape(distribution.mean.shape))
        values, cost_values = self.predict_all_values(obs)
        return values, cost_values, log_prob, distribution.entropy()

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> th.Tensor:
        distribution = self.motion_distribution(observation)
        return distribution.mean if deterministic else distribution.sample()

    def reference_kl(self, obs: PyTorchObs) -> th.Tensor:
        """Return KL(actor || reference) of whole chunks in nats, ``[B]``.

        It counts every step, as if their noise were independent: where nothing is tried, nothing
        else keeps a chunk's shape.
        """
        with th.no_grad():
            reference = self.chunk_distribution(obs, reference=True)
        return self.chunk_distribution(obs).kl(reference).sum(1)

    def parameter_groups(self) -> list[list[nn.Parameter]]:
        """Return the parameters of the actor, the critic and the cost critic apart."""
        _, *critics = super().parameter_groups()
        return [list(self.actor.parameters()), *critics]
