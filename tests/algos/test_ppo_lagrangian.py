"""Constrained PPO: spaces, sums across rollouts, several constraints, limits, normalisers."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch as th
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from safe_rl.algos import PID, PPOLagrangian, ProjectedGradient
from safe_rl.errors import ConfigurationError
from tests.algos.analytic_envs import ChoiceVectorEnv, ScriptedEnv, constraint

SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "n_epochs": 1, "seed": 0}


class Rows(BaseCallback):
    """Keeps what each iteration logged, and each update of the multipliers."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, float]] = []
        self.updates: list[np.ndarray] = []

    def _on_training_start(self) -> None:
        original = self.model.controller.update

        def update(values: Any, limits: Any, **kwargs: Any) -> np.ndarray:
            self.updates.append(np.array(values))
            return original(values, limits, **kwargs)

        self.model.controller.update = update

        dump = self.logger.dump

        def keep(step: int = 0) -> None:
            self.rows.append(dict(self.logger.name_to_value))
            dump(step)

        self.logger.dump = keep  # type: ignore[method-assign]

    def _on_step(self) -> bool:
        return True


@pytest.mark.parametrize("observation", ["box", "discrete", "multidiscrete", "dict"])
@pytest.mark.parametrize("action", ["discrete", "multidiscrete", "box"])
def test_every_space_trains(observation: str, action: str) -> None:
    """omnisafe 283: Discrete and Dict spaces."""
    policy = "MultiInputPolicy" if observation == "dict" else "MlpPolicy"
    model = PPOLagrangian(
        policy,
        ScriptedEnv(observation=observation, action=action, truncates=True),
        cost_limits=[1.0, 2.0],
        **SMALL,
    )
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(32)
    after = model.policy.state_dict()
    assert all(th.isfinite(value).all() for value in after.values())
    assert any(not th.equal(before[name], after[name]) for name in after)
    obs = model.env.reset()
    actions, _ = model.predict(obs)
    assert model.env.action_space.contains(actions[0])


def test_gsde_and_shared_cost_trunk_train() -> None:
    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(action="box"),
        cost_limits=[1.0, 2.0],
        use_sde=True,
        sde_sample_freq=4,
        policy_kwargs={"share_cost_trunk": True, "net_arch": {"pi": [8], "vf": [8]}},
        **SMALL,
    )
    model.learn(16)
    assert len(model.policy.cost_extractor) == 0
    assert model.policy.cost_value_net.in_features == 8


def test_rollout_shorter_than_an_episode() -> None:
    """omnisafe 384, 285, "cost is nan": it trains; the multiplier waits for an ended episode."""
    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(length=20),
        cost_limits=[1.0, 1.0],
        controller=ProjectedGradient(lr=0.5),
        **SMALL,
    )
    rows = Rows()
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(48, callback=rows, log_interval=1)  # 6 rollouts of 8; episodes end at 20 and 40
    assert [len(r) for r in (rows.rows, rows.updates)] == [6, 2]
    expected = np.array([10.0 * 20 + sum(range(20)), 100.0 * sum(range(20))])
    for values in rows.updates:
        np.testing.assert_array_equal(values, expected)
    multipliers = [row["lambda/cost_0"] for row in rows.rows]
    assert multipliers[:2] == [0.0, 0.0]
    assert multipliers[2] == multipliers[3] == 0.5 * (expected[0] - 1.0)
    assert multipliers[4] == multipliers[5] == 2 * 0.5 * (expected[0] - 1.0)
    assert all(np.isfinite(list(row.values())).all() for row in rows.rows)
    moved = zip(before, model.policy.parameters(), strict=True)
    assert any(not th.equal(old, new) for old, new in moved)


def test_beyond_target_kl_the_actor_waits_and_the_critics_go_on() -> None:
    def groups_after(**changes: Any) -> list[list[th.Tensor]]:
        model = PPOLagrangian("MlpPolicy", ScriptedEnv(), cost_limits=[1.0, 1.0], **SMALL | changes)
        model.learn(SMALL["n_steps"])
        return [[value.clone() for value in group] for group in model.policy.parameter_groups()]

    once = groups_after(n_epochs=1)
    waiting = groups_after(n_epochs=6, target_kl=1e-9)  # any step is too far
    going = groups_after(n_epochs=6)
    assert all(map(th.equal, once[0], waiting[0])), "the actor moved after its first step"
    assert not all(map(th.equal, once[0], going[0]))
    for critic in (1, 2):
        assert not all(map(th.equal, once[critic], waiting[critic])), "a critic waited"
        assert all(map(th.equal, waiting[critic], going[critic])), "a critic learned another way"


def test_multiplier_min_episodes_gathers_across_rollouts() -> None:
    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(length=4),
        cost_limits=[1.0, 1.0],
        multiplier_min_episodes=5,
        **SMALL,
    )
    model.learn(48)  # 12 episodes: 2 a rollout, so updates after 6 and 12
    assert model.num_multiplier_updates == 2
    assert model.episodes == 12


@pytest.mark.parametrize("relative", [False, True])
def test_relative_violations_and_the_margin(relative: bool) -> None:
    """An episode of 4 steps costs 46 and 600; the limits are 23 and 1200, a tenth in reserve."""
    env = ScriptedEnv(length=4)
    env.constraints = (constraint("over", 23.0), constraint("under", 1200.0))
    model = PPOLagrangian(
        "MlpPolicy",
        env,
        controller=ProjectedGradient(lr=0.5, initial=1000.0),
        relative_violations=relative,
        limit_margin=0.1,
        **SMALL,
    )
    model.learn(8)  # one rollout, so one update
    violations = np.array([46 - 0.9 * 23, 600 - 0.9 * 1200])
    if relative:
        violations = violations / [23, 1200]
    np.testing.assert_allclose(model.multipliers, 1000.0 + 0.5 * violations)


@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("num_envs", [1, 3])
def test_episode_sums_are_exact_across_rollouts(truncates: bool, num_envs: int) -> None:
    """cleanrl 499, Gymnasium PR 1624: no sum is off by one step at an autoreset."""
    env = DummyVecEnv(
        [lambda i=i: ScriptedEnv(length=3 + 2 * i, truncates=truncates) for i in range(num_envs)]
    )
    env.observation_space = env.envs[-1].observation_space
    model = PPOLagrangian(
        "MlpPolicy", env, cost_limits=[1.0, 1.0], n_steps=7, batch_size=7, n_epochs=1, seed=0
    )
    ended: list[np.ndarray] = []
    original = model.episode_sums.add

    def add(costs: np.ndarray, dones: np.ndarray) -> np.ndarray:
        sums = original(costs, dones)
        ended.extend(zip(np.flatnonzero(dones).tolist(), sums.tolist(), strict=True))
        return sums

    model.episode_sums.add = add  # type: ignore[method-assign]
    model.learn(7 * num_envs * 6)
    assert len(ended) == sum(42 // (3 + 2 * i) for i in range(num_envs))
    for index, sums in ended:
        length = 3 + 2 * index
        steps = range(length)
        assert sums == [sum(10.0 + t for t in steps), sum(100.0 * t for t in steps)]


def test_several_constraints_stay_apart() -> None:
    """omnisafe 365, FSRL: one multiplier and one critic head each, never one summed scalar."""
    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(length=4),
        cost_limits={"first": 1000.0, "second": 100.0},
        controller=ProjectedGradient(lr=0.01),
        **SMALL,
    )
    assert model.policy.cost_value_net.out_features == 2
    rows = Rows()
    model.learn(8, callback=rows, log_interval=1)
    # Sums are 46 and 600: the first is far below its limit, the second above.
    assert rows.rows[0]["lambda/first"] == 0.0
    assert rows.rows[0]["lambda/second"] == pytest.approx(0.01 * 500.0)
    assert rows.rows[0]["cost/first"] == 46.0
    assert rows.rows[0]["cost/second"] == 600.0
    assert rows.rows[0]["limit/second"] == 100.0


class SafetyGymStyle(gym.Wrapper[Any, Any, Any, Any]):
    """An environment that only knows the convention ``info["cost"]``."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, {"cost": float(info["constraint_costs"][0])}


def test_plain_info_cost() -> None:
    env = SafetyGymStyle(ScriptedEnv(length=4))
    model = PPOLagrangian("MlpPolicy", env, cost_limits=[25.0], cost_key="cost", **SMALL)
    rows = Rows()
    model.learn(16, callback=rows, log_interval=1)
    assert rows.rows[-1]["cost/cost"] == 46.0
    assert model.constraints.limits == (25.0,)


def test_limits_come_from_the_environment() -> None:
    env = ScriptedEnv()
    env.constraints = (constraint("glass", 0.5), constraint("wash", 0.25, "probability"))
    model = PPOLagrangian("MlpPolicy", env, **SMALL)
    assert model.constraints.ids == ("glass", "wash")
    assert model.constraints.limits == (0.5, 0.25)
    assert model.constraints.kinds == ("episode", "probability")
    partly = PPOLagrangian("MlpPolicy", env, cost_limits={"wash": 0.75}, **SMALL)
    assert partly.constraints.limits == (0.5, 0.75)
    with pytest.raises(ConfigurationError, match="did you mean 'glass'"):
        PPOLagrangian("MlpPolicy", env, cost_limits={"gloss": 1.0}, **SMALL)
    with pytest.raises(ConfigurationError, match="gives 1 limits .* 2 constraints: glass, wash"):
        PPOLagrangian("MlpPolicy", env, cost_limits=[1.0], **SMALL)


def test_without_constraints_it_is_ppo() -> None:
    """The baseline runs through the same code, and equals SB3's PPO in what it learns from."""
    from stable_baselines3 import PPO

    arguments: dict[str, Any] = {
        **SMALL,
        "policy_kwargs": {"optimizer_kwargs": {"eps": 1e-5, "fused": False}},
    }
    ours = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(truncates=True),
        cost_limits=[],
        normalize_advantage=False,
        max_grad_norm=1e9,
        **arguments,
    ).learn(32)
    theirs = PPO(
        "MlpPolicy",
        ScriptedEnv(truncates=True),
        normalize_advantage=False,
        max_grad_norm=1e9,
        **arguments,
    ).learn(32)
    for name, value in theirs.policy.state_dict().items():
        np.testing.assert_allclose(
            ours.policy.state_dict()[name].numpy(), value.numpy(), atol=1e-6, err_msg=name
        )


def test_missing_and_bad_costs_name_the_environment() -> None:
    with pytest.raises(ConfigurationError, match=r"environment 0 gives no info\['constraint_costs"):
        PPOLagrangian("MlpPolicy", ScriptedEnv(costs=False), cost_limits=[1.0], **SMALL).learn(8)
    with pytest.raises(ConfigurationError, match=r"shape \(1, 2\), expected \(1, 1\)"):
        PPOLagrangian("MlpPolicy", ScriptedEnv(), cost_limits=[1.0], **SMALL).learn(8)
    env = ScriptedEnv()
    plain_step = env.step

    def step(action: Any) -> Any:
        obs, reward, terminated, truncated, _ = plain_step(action)
        return obs, reward, terminated, truncated, {"constraint_costs": np.array([1.0, np.nan])}

    env.step = step  # type: ignore[method-assign]
    with pytest.raises(ConfigurationError, match="environment 0 .* must be finite"):
        PPOLagrangian("MlpPolicy", env, cost_limits=[1.0, 1.0], **SMALL).learn(8)


def test_bad_arguments_are_clear_errors() -> None:
    def build(**arguments: Any) -> PPOLagrangian:
        return PPOLagrangian("MlpPolicy", ScriptedEnv(), **{**SMALL, **arguments})

    with pytest.raises(ConfigurationError, match="batch_size=64 is larger than a rollout"):
        build(batch_size=64)
    with pytest.raises(ConfigurationError, match="n_epochs must be at least 1, got 0"):
        build(n_epochs=0)
    with pytest.raises(ConfigurationError, match="cost_gamma must be between 0 and 1, got 1.5"):
        build(cost_gamma=1.5)
    with pytest.raises(ConfigurationError, match="would be ignored"):
        build(controller=PID(), controller_kwargs={"kp": 1.0})
    with pytest.raises(ConfigurationError, match="learning_rate must be a number"):
        build(learning_rate="fast")
    with pytest.raises(ConfigurationError, match="finite numbers"):
        build(cost_limits=[float("nan"), 1.0])
    with pytest.raises(ConfigurationError, match="keeps no averaged policy"):
        build(cost_limits=[]).use_averaged_policy()


def test_costs_keep_their_unit_under_a_normaliser() -> None:
    """Rewards and observations are normalised, costs are not, so the limit means what it says."""
    env = VecNormalize(DummyVecEnv([lambda: ScriptedEnv(length=4)]), gamma=0.9)
    model = PPOLagrangian("MlpPolicy", env, cost_limits=[1.0, 1.0], **SMALL)
    rows = Rows()
    model.learn(64, callback=rows, log_interval=1)
    assert rows.rows[-1]["cost/cost_0"] == 46.0
    assert abs(model.rollout_buffer.rewards).max() < 4.0
    assert model.rollout_buffer.costs.max() == 300.0


def test_evaluation_uses_the_trained_statistics() -> None:
    """omnisafe 344, 386: never fresh ones."""
    env = VecNormalize(DummyVecEnv([lambda: ScriptedEnv(length=4)]))
    model = PPOLagrangian("MlpPolicy", env, cost_limits=[1.0, 1.0], **SMALL)
    model.learn(64)
    evaluation = model.evaluation_env(ScriptedEnv(length=4))
    assert isinstance(evaluation, VecNormalize)
    raw = np.array([[2.0, 0.5]], np.float32)
    np.testing.assert_array_equal(evaluation.normalize_obs(raw), env.normalize_obs(raw))
    assert not np.allclose(evaluation.normalize_obs(raw), raw)
    before = evaluation.obs_rms.mean.copy()
    evaluation.reset()
    _, rewards, _, _ = evaluation.step(np.array([0]))
    assert rewards[0] == 1.0  # raw
    np.testing.assert_array_equal(evaluation.obs_rms.mean, before)  # frozen
    plain = PPOLagrangian("MlpPolicy", ScriptedEnv(), cost_limits=[1.0, 1.0], **SMALL)
    assert not isinstance(plain.evaluation_env(ScriptedEnv()), VecNormalize)


@pytest.mark.parametrize("seed", [0, 1])
def test_finds_the_constrained_optimum_and_its_multiplier(seed: int) -> None:
    """Take the costly action with probability d; the price of cost is 1 (see ChoiceVectorEnv).

    With the entropy bonus ``a``, in units of reward, the optimum at the multiplier ``l`` has
    ``1 - l = a log(p / (1 - p))``, so that ``p = d`` holds at ``l = 1 - a log(d / (1 - d))``.
    """
    limit, bonus = 0.3, 0.1
    model = PPOLagrangian(
        "MlpPolicy",
        ChoiceVectorEnv(64, limit),
        n_steps=8,
        batch_size=256,
        n_epochs=4,
        gamma=1.0,
        learning_rate=(5e-3, 5e-4),
        ent_coef=bonus,
        controller=PID(kp=0.2, ki=0.05, smoothing=0.5, final_fraction=0.2),
        policy_average=0.95,
        policy_kwargs={"net_arch": [16]},
        seed=seed,
    )
    model.learn(512 * 120, log_interval=None)

    def probability() -> float:
        distribution = model.policy.get_distribution(th.ones(1, 1)).distribution
        return float(distribution.probs[0, 1].detach())

    assert probability() == pytest.approx(limit, abs=0.05)
    price = 1.0 - bonus * np.log(limit / (1.0 - limit))
    assert model.multipliers[0] == pytest.approx(price, abs=0.05)
    model.use_averaged_policy()
    assert probability() == pytest.approx(limit, abs=0.05)


def test_progress_bar_tensorboard_and_callbacks(tmp_path: Any) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = PPOLagrangian(
        "MlpPolicy",
        ScriptedEnv(length=4),
        cost_limits={"glass": 1.0, "wash": 2.0},
        tensorboard_log=str(tmp_path),
        **SMALL,
    )
    rows = Rows()
    model.learn(16, callback=[rows], progress_bar=True)
    events = EventAccumulator(str(next(tmp_path.iterdir())))
    events.Reload()
    tags = events.Tags()["scalars"]
    for name in ("lambda/glass", "cost/glass", "limit/wash", "violation/wash", "train/value_loss"):
        assert name in tags
    assert len(rows.rows) == 2
