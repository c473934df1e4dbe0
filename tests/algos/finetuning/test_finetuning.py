"""Fine-tuning of a policy that is too fast, under a rule against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

from safe_rl.algos import CheckpointCallback
from safe_rl.algos.finetuning import ChunkActorCritic, ChunkPPOLagrangian
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import VLA, Statistics, VLAConfig
from tests.algos.finetuning.runner import runners


def hasty(**changes: Any) -> VLA:
    """Return a policy whose speed is 0.8 at first, whatever it sees."""
    torch.manual_seed(0)
    given = {"chunk": 2, "width": 16, "layers": 1, "prompt_words": 0, "log_std": -0.7}
    config = VLAConfig(**{"state_size": 2, "action_size": 1, **given, **changes})
    neutral = Statistics.neutral(config.state_size, config.action_size)
    return VLA(config, neutral._replace(action_mean=np.full(1, 0.8, np.float32)))


def learner(start: VLA, *, seed: int = 0, **changes: Any) -> ChunkPPOLagrangian:
    arguments: dict[str, Any] = {
        "n_steps": 16,
        "batch_size": 64,
        "n_epochs": 4,
        "learning_rate": 3e-3,
        "critic_only": 2,
        "kl_coef": 0.0,
        "gamma": 0.95,
        "controller": "projected_gradient",
        "controller_kwargs": {"lr": 0.2},
    }
    config = start.config.to_json()
    model = ChunkPPOLagrangian(
        ChunkActorCritic,
        runners(),
        seed=seed,
        device="cpu",
        policy_kwargs={"vla": config, "net_arch": [16]},
        **(arguments | changes),
    )
    model.start_from(start)
    return model


def speed(model: ChunkPPOLagrangian) -> float:
    state = torch.linspace(-1, 1, 20).repeat(2, 1).T
    with torch.no_grad():
        return float(model.policy.actor.distribution({"state": state}).mean.mean())


def iterations(number: int) -> int:
    return number * 16 * 8


@pytest.mark.slow
def test_the_limit_slows_the_policy_down_and_reward_alone_does_not() -> None:
    bound = learner(hasty(), learning_rate=5e-3, controller_kwargs={"lr": 0.1})
    bound.learn(iterations(40))
    free = learner(hasty(), controller="unconstrained", controller_kwargs={}).learn(iterations(15))
    cost, free_cost = (
        float(np.mean([row[0] for row in model.recent_costs])) for model in (bound, free)
    )
    assert cost < 1.3 < 5.0 < free_cost  # the limit is 1 fast step per episode
    assert speed(bound) < 0.3 < 0.8 < speed(free)


def test_the_actor_waits_until_the_critics_have_begun() -> None:
    model = learner(hasty(), critic_only=2)
    before = [value.clone() for value in model.policy.actor.parameters()]
    critic = [value.clone() for value in model.policy.value_net.parameters()]
    model.learn(iterations(2))
    assert all(map(torch.equal, before, model.policy.actor.parameters()))
    assert not all(map(torch.equal, critic, model.policy.value_net.parameters()))
    model.learn(iterations(1), reset_num_timesteps=False)
    assert not all(map(torch.equal, before, model.policy.actor.parameters()))


def test_distance_from_the_reference_is_paid_for() -> None:
    def apart(coefficient: float) -> float:
        model = learner(hasty(), kl_coef=coefficient, controller_kwargs={"lr": 2.0})
        model.learn(iterations(10))
        shown = model._last_obs
        with torch.no_grad():
            return float(model.policy.reference_kl(torch.as_tensor(shown)).mean())

    near, far = apart(10.0), apart(0.0)
    assert 0.0 <= near < 0.5 * far


def test_the_reference_stays_what_it_was() -> None:
    start = hasty()
    model = learner(start)
    model.learn(iterations(4))
    for own, first in zip(model.policy.reference.parameters(), start.parameters(), strict=True):
        assert torch.equal(own, first)


def test_it_begins_with_the_noise_that_is_asked_for_and_so_does_the_reference() -> None:
    model = learner(hasty(), first_std=0.1)
    for own in (model.policy.actor, model.policy.reference):
        assert float(own.log_std.detach().exp()) == pytest.approx(0.1)
    assert float(learner(hasty()).policy.actor.log_std.detach()) == pytest.approx(-0.7)


@pytest.mark.parametrize("modes", [1, 2])
def test_smooth_noise_is_the_same_in_acting_and_in_learning(modes: int) -> None:
    model = learner(hasty(), noise_modes=modes)
    shown = torch.zeros(4000, model.observation_space.shape[0])
    with torch.no_grad():
        actions, *_, density = model.policy.forward_with_costs(shown)
        again = model.policy.evaluate_with_costs(shown, actions)[2]
    torch.testing.assert_close(density, again)
    together = float(actions[..., 0].T.corrcoef()[0, 1])
    assert together == pytest.approx({1: 1.0, 2: 0.0}[modes], abs=0.05)
    assert float(actions[..., 0].std()) == pytest.approx(np.exp(-0.7), rel=0.05)


def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = learner(hasty())
    whole.learn(iterations(6), callback=CheckpointCallback(tmp_path, every=3, keep=None))
    at_three = tmp_path / f"checkpoint_{iterations(3):012d}.zip"
    resumed = ChunkPPOLagrangian.load(at_three, runners(), device="cpu").resume()
    assert resumed.num_timesteps == whole.num_timesteps
    for name, value in whole.policy.state_dict().items():
        assert torch.equal(value, resumed.policy.state_dict()[name]), name
    assert np.array_equal(whole.multipliers, resumed.multipliers)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chunk": 3}, r"VectorChunkedSteps\(envs, 3\)"),
        ({"cameras": ("front",)}, "cameras="),
        ({"state_size": 9}, "reads 9 numbers"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        learner(hasty(**changes))
