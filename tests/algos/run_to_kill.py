"""A training run for a test to kill: ``python run_to_kill.py FOLDER KIND`` starts or resumes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch as th
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import safe_rl.envs  # noqa: F401 (registers the ids)
from safe_rl.algos import PID, CheckpointCallback, PPOLagrangian, latest_checkpoint
from safe_rl.algos.torch.progress import ProgressLog
from safe_rl.wrappers import VectorProductMDP
from tests.algos.analytic_envs import SavableEnv, ScriptedEnv

TOTAL = 16 * 24


def make_env(kind: str) -> Any:
    if kind == "kitchen":
        envs = gym.make_vec(
            "safe_rl/KitchenGrid-v0",
            num_envs=2,
            vectorization_mode="vector_entry_point",
            observation="features",
            autoreset_mode="SameStep",
        )
        return VectorProductMDP(envs, "kitchen")
    env_class = SavableEnv if kind == "savable" else ScriptedEnv
    fns = [lambda n=n: gym.wrappers.TimeLimit(env_class(40), n) for n in (5, 11)]
    return VecNormalize(DummyVecEnv(fns), gamma=0.95)


def new_model(kind: str) -> PPOLagrangian:
    return PPOLagrangian(
        "MlpPolicy",
        make_env(kind),
        learning_rate=(1e-3, 0.0),
        ent_coef=(0.01, 0.0),
        n_steps=8,
        batch_size=8,
        n_epochs=2,
        cost_limits=None if kind == "kitchen" else [40.0, 300.0],
        controller=PID(kp=0.01, ki=0.01, kd=0.01, delay=2, final_fraction=0.1),
        policy_average=0.9,
        policy_kwargs={"net_arch": [16]},
        seed=7,
        device="cpu",
    )


def train(folder: Path, kind: str) -> PPOLagrangian:
    th.set_num_threads(1)
    found = latest_checkpoint(folder)
    done = 0
    if found is None:
        model = new_model(kind)
    else:
        model = PPOLagrangian.load(found, make_env(kind), device="cpu")
        done = model.num_timesteps
    model.set_logger(Logger(None, [ProgressLog(folder / "progress.jsonl", resume_at=done)]))
    callback = CheckpointCallback(folder, every=3, keep=2)
    if found is None:
        model.learn(TOTAL, callback)
    else:
        model.resume(callback)
    return model


def main() -> None:
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    model = train(folder, kind)
    values = {name: value.numpy() for name, value in model.policy.state_dict().items()}
    values |= {f"average.{name}": value.numpy() for name, value in model.averaged.values.items()}
    values["multipliers"] = model.multipliers
    values["last_draw"] = np.array([th.rand(1).item(), np.random.rand()])  # noqa: NPY002
    np.savez(folder / "result.npz", **values)


if __name__ == "__main__":
    main()
