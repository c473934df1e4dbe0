"""Several seeds in one compiled function, and one run over two devices."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
from safe_rl.algos import PID
from safe_rl.algos.jax import PPOLagrangian, load_policy
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
from safe_rl.algos.jax import PPOLagrangian
from tests.algos.jax.test_many_runs import build, STEPS, arrays, make_product
import jax
assert len(jax.devices()) == 2
two = build(seed=7)
assert two.shards == 2 and len(two.devices) == 2, two.devices
two.learn(2 * STEPS)
np.savez(sys.argv[1], **arrays(two))
two.save(sys.argv[2])
"""

SEEDS = """
import sys, numpy as np
from tests.algos.jax.test_many_runs import build, STEPS, arrays
seeds = build(seed=[7, 8])
assert len(seeds.devices) == 2 and seeds.shards == 1
seeds.learn(2 * STEPS)
np.savez(sys.argv[1], **arrays(seeds))
"""


def on_two_devices(code: str, *files: str) -> None:
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


@pytest.mark.slow
def test_two_devices_and_one_agree(tmp_path: Path) -> None:
    """The same shards on two devices and on one: equal up to the order of sums.

    A run that two devices saved goes on on one.
    """
    files = [str(tmp_path / name) for name in ("two.npz", "saved")]
    on_two_devices(DEVICES, *files)
    one = build(seed=7, shards=2, devices=1)
    one.learn(2 * STEPS)
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
    file = str(tmp_path / "seeds.npz")
    on_two_devices(SEEDS, file)
    seeds = build(seed=[7, 8])
    seeds.learn(2 * STEPS)
    with np.load(file) as spread:
        close(dict(spread), arrays(seeds), 2e-4)
