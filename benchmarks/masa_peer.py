"""MASA's PPOLag as a peer of ``peers``: ``python -m benchmarks.masa_peer CASE ...``.

Runs under an interpreter of its own, so this file imports nothing of safe_rl. The last line that it
prints is one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version

import gymnasium as gym
import numpy as np
from masa.algorithms.on_policy import PPOLag
from masa.cli.cli_app import parse_config
from masa.common import registry
from masa.common.ltl import DFA, Atom, Neg
from masa.common.utils import load_callable, make_env
from masa.common.wrappers import VecWrapper

from benchmarks import drift

LEFT_OUT = 2
"""First iterations that do not count: they compile."""


class Drift(gym.Env):
    """``benchmarks.drift`` under Gymnasium's API."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (drift.SIZE,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (drift.ACTIONS,), np.float32)
    pushes = np.array(drift.PUSHES, np.float32)

    def reset(self, *, seed=None, options=None):
        """Start anew."""
        super().reset(seed=seed)
        self.point = self.np_random.standard_normal(drift.SIZE, np.float32) * np.float32(0.1)
        return self.point, {}

    def step(self, action):
        """Move."""
        noise = self.np_random.standard_normal(drift.SIZE, np.float32)
        self.point = drift.moved(self.point, action @ self.pushes, noise).astype(np.float32)
        return self.point, float(drift.reward(self.point)), False, False, {}


class Timed(PPOLag):
    """Notes when each iteration ended; its own logger has fetched the losses by then."""

    def optimize(self, *arguments, **options):
        """Update, and note the time."""
        super().optimize(*arguments, **options)
        self.ends.append(time.perf_counter())


def shipped():
    """Return MASA's own environment under its second property, as ``masa run`` makes it."""
    config = parse_config("ColourBombGridWorldV2", ["Property2"], "PPOLag", [])
    return make_env(
        config.env.id,
        config.constraint.type,
        config.env.max_episode_steps,
        label_fn=load_callable(config.env.label_fn),
        constraint_kwargs={"dfa": load_callable(config.constraint.dfa)()},
    )


def alike():
    """Return the environment that all learners get, under "never far", re-armed when back."""
    if "Drift" not in registry.ENV_REGISTRY.keys():
        registry.ENV_REGISTRY.register("Drift", Drift)
    dfa = DFA([0, 1], 0, [1])
    dfa.add_edge(0, 1, Atom("far"))
    dfa.add_edge(1, 0, Neg(Atom("far")))
    return make_env(
        "Drift",
        "LTL_SAFETY",
        drift.HORIZON,
        label_fn=lambda observation: {"far"} if drift.far(observation) else set(),
        constraint_kwargs={"dfa": dfa, "obs_type": "box"},
    )


def main() -> int:
    """Train and print.

    Arguments: ``own`` or ``alike``, environments, n_steps, minibatch, epochs, iterations.
    """
    case = sys.argv[1]
    envs, n_steps, batch, epochs, iterations = map(int, sys.argv[2:7])
    make = shipped if case == "own" else alike
    env = make() if envs == 1 else VecWrapper([make() for _ in range(envs)])
    settings = dict(parse_config("ColourBombGridWorldV2", ["Property2"], "PPOLag", [])["PPOLag"])
    settings.update(n_steps=n_steps, batch_size=batch, n_epochs=epochs)
    settings["policy_kwargs"] = {"net_arch": [64, 64], "log_std_init": 0.0}
    model = Timed(env, seed=0, **settings)
    model.ends = []
    model.train((LEFT_OUT + iterations) * n_steps * envs)
    counted = len(model.ends) - LEFT_OUT
    found = {
        "version": version("MASA-Safe-RL"),
        "steps": counted * n_steps * envs,
        "seconds": model.ends[-1] - model.ends[LEFT_OUT - 1],
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
