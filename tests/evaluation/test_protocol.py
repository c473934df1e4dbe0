"""ManiGuard's protocol: frozen scenarios, seeds of the sampler alone, rates per seed first."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from rich.console import Console

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.protocol import family_horizon, play_scenarios
from safe_rl.evaluation.protocol_report import diagnostics_table, protocol_json, rates_table
from safe_rl.evaluation.protocol_scores import RATES, protocol_scores
from safe_rl.policies import ChunkRunner, scenario_seed
from safe_rl.wrappers import GroundingInfo, VectorProductMDP
from tests.evaluation.episodes import episodes
from tests.evaluation.reach import NO_HIT, Reach


class Noisy:
    """Steps of about 1, decided by the seed of the episode."""

    chunk = 8

    def reset(self, rows, seeds):
        self.rng = getattr(self, "rng", {})
        self.rng.update((row, np.random.default_rng(s)) for row, s in zip(rows, seeds, strict=True))

    def act(self, observation, instruction, rows):
        assert set(instruction) == {"walk"}
        return np.stack([self.rng[row].normal(1.0, 0.4, (8, 1)) for row in rows])


def _envs(count: int) -> VectorProductMDP:
    envs = SyncVectorEnv(
        [lambda: GroundingInfo(Reach())] * count, autoreset_mode=AutoresetMode.SAME_STEP
    )
    return VectorProductMDP(envs, [NO_HIT], features=None)


def _played(count: int, names: list[str], seeds=(0, 1, 2)):
    envs, policy = _envs(count), Noisy()

    def policy_of(seed, now):
        return ChunkRunner(
            policy, envs, play=8, seed=seed,
            scenario=lambda row, k: now[row] if k == 0 and row < len(now) else f"more/{row}/{k}",
        )  # fmt: skip

    return play_scenarios(envs, names, policy_of, seeds=seeds)


NAMES = [f"reach/{index}" for index in range(5)]


def test_neither_order_nor_number_of_environments_has_a_part_in_it() -> None:
    one = _played(1, NAMES)
    for records in (
        _played(3, NAMES),
        [r.select(np.arange(5)[::-1]) for r in _played(1, NAMES[::-1])],
    ):
        for a, b in zip(one, records, strict=True):
            for name in ("lengths", "success", "violations", "first_charged", "exposure"):
                assert np.array_equal(getattr(a, name), getattr(b, name)), name
    lengths = [records.lengths.tolist() for records in one]
    assert lengths[0] != lengths[1] or lengths[1] != lengths[2]


def test_every_seed_of_the_policy_sees_the_same_first_states() -> None:
    Reach.begun.clear()
    _played(1, NAMES[:2], seeds=(0, 1))
    wanted = []
    for name in NAMES[:2]:
        drawn = np.random.Generator(np.random.PCG64(scenario_seed(0, name)))
        wanted.append(float(drawn.uniform(-1, 0)))
    assert [Reach.begun.count(place) for place in wanted] == [2, 2]


def test_a_violation_ends_nothing() -> None:
    records = _played(1, NAMES)
    hit = np.concatenate([r.violations[:, 0] > 0 for r in records])
    success = np.concatenate([r.success for r in records])
    assert (hit & success).any()


def test_rates_are_taken_per_seed_and_then_averaged() -> None:
    one = episodes(
        success=[1, 1, 0, 0], engaged=[1, 1, 1, 0], charged=[0, 1, 0, 0],
        violations=[[0, 0, 0], [1, 0, 1], [0, 0, 0], [0, 0, 0]],
        triggered=[[2, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]],
    )  # fmt: skip
    other = episodes(success=[1, 0, 0, 0], engaged=[1, 0, 0, 0], charged=[1, 0, 0, 0])
    scores = protocol_scores([one, other], (4, 9), resamples=50)
    mean = {name: rate.mean for name, rate in scores.rates.items()}
    assert mean["success"] == pytest.approx((0.5 + 0.25) / 2)
    assert mean["ssr"] == pytest.approx((0.25 + 0) / 2)
    assert mean["unsafe_success"] == pytest.approx(0.25)
    assert mean["unsuccessful_safe"] == pytest.approx((0.5 + 0.75) / 2)
    assert mean["evr"] == pytest.approx((1 / 3 + 1) / 2)  # not 2/4, the pooled ratio
    assert scores.rates["evr"].pooled.value == pytest.approx(0.5)
    assert scores.rates["evr"].deviation == pytest.approx(np.std([1 / 3, 1], ddof=1))
    assert mean["safe"] == pytest.approx(mean["vacuous_safe"] + mean["engaged_safe"])
    four = ("ssr", "unsafe_success", "unsuccessful_safe", "unsuccessful_unsafe")
    assert sum(mean[name] for name in four) == pytest.approx(1.0)
    assert scores.counts == {"grasp": (4, 1, 0), "drop": (1, 1, 0), "all": (5, 2, 0)}
    assert scores.specifications["grasp"]["per_trigger"].seeds == (0.25, None)
    assert scores.specifications["grasp"]["time"] is None  # these records do not tell


def test_diagnostics_count_from_first_contact_on() -> None:
    records = _played(1, NAMES)
    scores = protocol_scores(records, resamples=0)
    rates = scores.specifications["no_hit"]
    firsts = np.concatenate([r.first_charged[:, 0] for r in records])
    per_seed = [r.first_charged[:, 0] for r in records]
    assert rates["svr"].seeds == tuple(float((f >= 0).mean()) for f in per_seed)
    assert rates["svr"].seeds == scores.rates["svr"].seeds
    assert rates["time"].pooled.value == pytest.approx(firsts[firsts >= 0].mean())
    touched = [r.engaged for r in records]
    assert all((~f[t >= 0]).sum() == 0 for f, t in zip(touched, per_seed, strict=True))


def test_it_is_printed_and_kept_as_plain_data() -> None:
    scores = protocol_scores(_played(2, NAMES), resamples=20)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rates_table(scores, "walk"))
    console.print(diagnostics_table(scores))
    text = console.export_text()
    assert "5 scenarios x 3 seeds" in text and "no_hit" in text
    data = json.loads(json.dumps(protocol_json(scores), allow_nan=False))
    assert set(data["rates"]) == set(RATES)
    assert data["rates"]["ssr"]["mean"] == scores.rates["ssr"].mean


def test_horizons_are_half_as_long_again_as_the_longest_demonstration() -> None:
    assert family_horizon([10, 40, 33]) == 60
    with pytest.raises(ConfigurationError, match="at least one step"):
        family_horizon([])


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_scenarios_have_different_names(names) -> None:
    with pytest.raises(ConfigurationError, match="different names"):
        _played(1, names)
