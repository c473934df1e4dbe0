"""Without PyTorch and Stable-Baselines3: controllers work, the rest is one clear error."""

from __future__ import annotations

import subprocess
import sys

import pytest

import safe_rl.algos


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_controllers_import_no_framework() -> None:
    result = run(
        "import sys; from safe_rl.algos import PID; PID();"
        "print({'torch', 'stable_baselines3', 'scipy', 'jax'} & set(sys.modules) or 'none')"
    )
    assert result.stdout.strip() == "none", result.stderr


@pytest.mark.parametrize("missing", ["torch", "stable_baselines3"])
@pytest.mark.parametrize("name", ["PPOLagrangian", "VectorEnvAdapter", "CheckpointCallback"])
def test_absence_names_the_extra(missing: str, name: str) -> None:
    result = run(
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from safe_rl.errors import MissingDependencyError\n"
        "try:\n"
        f"    from safe_rl.algos import {name}\n"
        "except MissingDependencyError as error:\n"
        "    print(error)\n"
    )
    assert missing in result.stdout and "safe-rl-ltlf[sb3]" in result.stdout, result


def test_names() -> None:
    assert set(safe_rl.algos.__all__) <= set(dir(safe_rl.algos))
    with pytest.raises(AttributeError, match="no attribute 'PPO'"):
        _ = safe_rl.algos.PPO
