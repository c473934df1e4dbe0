"""Fine-tuning of a chunk policy: what differs from training one action at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymnasium.vector import VectorEnv
from stable_baselines3.common.vec_env import VecEnv

from safe_rl.algos import PPOLagrangian
from safe_rl.cli.settings import POLICY_FOLDER, AlgoSettings
from safe_rl.wrappers import VectorChunkedSteps, VectorProductMDP

if TYPE_CHECKING:
    from safe_rl.algos.finetuning import ChunkPPOLagrangian
    from safe_rl.policies.vla import VLA


def begun_with(algo: AlgoSettings) -> VLA | None:
    """Return the policy that is fine-tuned, if one is.

    Raises:
        CheckpointError: there is none in that folder.
    """
    if algo.policy is None:
        return None
    from safe_rl.policies.vla import load_vla

    return load_vla(algo.policy).model


def chunked(product: VectorProductMDP, policy: VLA | None) -> VectorEnv[Any, Any, Any]:
    """Return the environments in which a step is a chunk of the policy, if there is one."""
    return product if policy is None else VectorChunkedSteps(product, policy.config.chunk)


def learner() -> type[ChunkPPOLagrangian]:
    """Return the class of the learner."""
    from safe_rl.algos.finetuning import ChunkPPOLagrangian

    return ChunkPPOLagrangian


def build(
    policy: VLA, envs: VecEnv, *, net_arch: list[int], log_std_init: float, **arguments: Any
) -> PPOLagrangian:
    """Make a new learner, whose actor begins as ``policy``; its deviations are kept."""
    from safe_rl.algos.finetuning import ChunkActorCritic

    del log_std_init
    try:
        instruction = str(envs.get_attr("instruction", [0])[0] or "")
    except AttributeError:
        instruction = ""
    model = learner()(
        ChunkActorCritic,
        envs,
        policy_kwargs={
            "vla": policy.config.to_json(),
            "instruction": instruction,
            "net_arch": net_arch,
        },
        **arguments,
    )
    model.start_from(policy)
    return model


def export(model: PPOLagrangian, folder: Path) -> Path:
    """Write the fine-tuned policy into the folder of its run."""
    from safe_rl.algos.finetuning import ChunkActorCritic
    from safe_rl.policies.vla import save_vla

    assert isinstance(model.policy, ChunkActorCritic)
    if model.averaged.decay:
        model.use_averaged_policy()
    return save_vla(model.policy.actor, folder / POLICY_FOLDER, {"steps": model.num_timesteps})
