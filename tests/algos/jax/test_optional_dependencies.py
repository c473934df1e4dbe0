"""Without a part of the extra: one clear error. With it: no PyTorch."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("jax")


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_absence_names_the_extra() -> None:
    result = run(
        "import sys; sys.modules['optax'] = None\n"
        "from safe_rl.errors import MissingDependencyError\n"
        "try:\n"
        "    import safe_rl.algos.jax\n"
        "except MissingDependencyError as error:\n"
        "    print(error)\n"
    )
    assert "optax" in result.stdout and "safe-rl-ltlf[jax]" in result.stdout, result


def test_no_other_framework_is_imported() -> None:
    result = run(
        "import sys; from safe_rl.algos.jax import PPOLagrangian, load_policy, Checkpoints\n"
        "print({'torch', 'stable_baselines3'} & set(sys.modules) or 'none')"
    )
    assert result.stdout.strip() == "none", result.stderr
