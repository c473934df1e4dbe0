"""Several seeds in one compiled function, and one run over two devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from safe_rl.algos import PID
from safe_rl.algos.jax import BestPolicies, PPOLagrangian, load_policy
from tests.algos.jax import run_to_kill
from tests.algos.jax.run_to_kill import ARGUMENTS, arrays, environment, make_product

STEPS = 32


def build(**arguments: Any) -> PPOLagrangian:
    """The run of run_to_kill, in another form."""
    controller = PID(kp=0.01, ki=0.01, kd=0.01, delay=2, final_fraction=0.1)
    return PPOLagrangian(make_product(), controller=controller, **{**ARGUMENTS, **arguments})


def close(one: dict[str, np.ndarray], other: dict[str, np.ndarray], tolerance: float) -> None:
    """Equal up to rounding; what is an integer (counts, random keys) is equal."""
    for name, value in one.items():
        if np.issubdtype(value.dtype, np.floating):
            np.testing.assert_allclose(
                value, other[name], rtol=tolerance, atol=tolerance, err_msg=name
            )
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.slow
def test_seeds_side_by_side_are_the_runs_one_by_one(tmp_path: Path) -> None:
    """Each has its own controller. Batched products round differently, so up to rounding."""
    several = build(seed=[7, 8])
    rows: list[list[dict[str, float]]] = [[], []]
    several.learn(4 * STEPS, on_row=lambda run, step, row: rows[run].append(row))
    together = arrays(several)
    path = several.save(tmp_path / "several")
    for run, seed in enumerate((7, 8)):
        single = build(seed=seed)
        own: list[dict[str, float]] = []
        single.learn(4 * STEPS, on_row=lambda _, step, row, own=own: own.append(row))
        found = {
            name: value[run] for name, value in together.items() if not name.startswith("mult")
        }
        close(found, arrays(single), 2e-4)
        np.testing.assert_allclose(together["multipliers"][run], single.multipliers, rtol=1e-6)
        for mine, theirs in zip(rows[run], own, strict=True):
            assert mine.keys() == theirs.keys()
            for name in mine.keys() & {"cost/first", "lambda/second", "ratio/first"}:
                assert mine[name] == pytest.approx(theirs[name], rel=1e-5)
        observations = np.ones((2, 2))
        np.testing.assert_allclose(
            load_policy(path, run=run).action_probabilities(observations),
            single.policy().action_probabilities(observations),
            atol=1e-4,
        )
    resumed = PPOLagrangian.load(path, make_product())
    several.learn(6 * STEPS)
    resumed.learn(6 * STEPS)
    for name, value in arrays(several).items():
        np.testing.assert_array_equal(value, arrays(resumed)[name], err_msg=name)


DEVICES = """
import sys, numpy as np
from safe_rl.algos.jax import BestPolicies
from tests.algos.jax.test_many_runs import build, STEPS, arrays
two = build(seed=7)
two.learn(2 * STEPS, best=BestPolicies(sys.argv[3], every=2, episodes=10))
np.savez(sys.argv[1], **arrays(two))
two.save(sys.argv[2])
print(len(two.devices), "devices,", two.shards, "shards")
"""

SEEDS = """
import sys, numpy as np
from safe_rl.algos.jax import BestPolicies
from tests.algos.jax.test_many_runs import build, STEPS, arrays
seeds = build(seed=[7, 8])
seeds.learn(2 * STEPS, best=BestPolicies(sys.argv[2], every=2, episodes=10))
np.savez(sys.argv[1], **arrays(seeds))
print(len(seeds.devices), "devices,", seeds.shards, "shards")
"""


def on_two_devices(code: str, *files: str) -> str:
    """Run a program on two devices; return what it printed."""
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
    result = subprocess.run(
        [sys.executable, "-c", code, *files],
        cwd=Path(run_to_kill.__file__).parents[3],
        env={**environment(), "XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.strip()


def evaluations(folder: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(Path(folder, "evaluations.json").read_text())
    return rows


@pytest.mark.slow
def test_two_devices_and_one_agree(tmp_path: Path) -> None:
    """The same shards on two devices and on one: equal up to the order of sums.

    A run that two devices saved goes on on one.
    """
    files = [str(tmp_path / name) for name in ("two.npz", "saved", "best")]
    assert on_two_devices(DEVICES, *files) == "2 devices, 2 shards"
    one = build(seed=7, shards=2, devices=1)
    own = tmp_path / "own"
    one.learn(2 * STEPS, best=BestPolicies(own, every=2, episodes=10))
    assert evaluations(files[2]) == evaluations(str(own))
    with np.load(files[0]) as two:
        close(dict(two), arrays(one), 2e-4)
    resumed = PPOLagrangian.load(files[1], make_product())
    assert (resumed.shards, len(resumed.devices)) == (2, 1)
    resumed.learn(3 * STEPS)
    one.learn(3 * STEPS)
    close(arrays(resumed), arrays(one), 5e-4)


@pytest.mark.slow
def test_seeds_on_two_devices_and_on_one(tmp_path: Path) -> None:
    """Nothing passes between seeds, so they may be anywhere."""
    file, best = str(tmp_path / "seeds.npz"), tmp_path / "best"
    assert on_two_devices(SEEDS, file, str(best)) == "2 devices, 1 shards"
    seeds = build(seed=[7, 8])
    seeds.learn(2 * STEPS)
    with np.load(file) as spread:
        close(dict(spread), arrays(seeds), 2e-4)
    for seed in (7, 8):  # every episode of this environment is alike
        assert [row["returns"] for row in evaluations(str(best / f"seed_{seed}"))] == [66.0]
