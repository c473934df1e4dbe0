"""Importing robosuite: quietly, in one place, and with one clear error where it cannot work."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from safe_rl.envs.robosuite import simulator
from safe_rl.errors import ConfigurationError, MissingDependencyError


@pytest.fixture(autouse=True)
def _forget_the_libraries() -> None:
    simulator.load.cache_clear()


@pytest.mark.parametrize("installed", ["3.10.0", "3.11.2", "4.0.0", "3.2.7"])
def test_mujoco_that_breaks_robosuite_is_refused(
    installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulator, "version", lambda name: installed)
    with pytest.raises(ConfigurationError) as caught:
        simulator.load()
    assert str(caught.value) == (
        f"robosuite 1.5.2 needs mujoco >=3.3,<3.10, found {installed}; "
        'install a version that works with: pip install "mujoco>=3.3,<3.10"'
    )


@pytest.mark.parametrize("installed", ["3.3.0", "3.3.7", "3.9.0", "3.9.1"])
def test_mujoco_that_works_is_accepted(installed: str) -> None:
    simulator.check_mujoco_version(installed)


def test_missing_mujoco_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(simulator, "version", absent)
    with pytest.raises(MissingDependencyError, match=r"needs mujoco.*safe-rl-ltlf\[robosuite\]"):
        simulator.load()


def test_missing_robosuite_names_the_extra_and_the_second_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulator, "version", lambda name: "3.9.0")
    monkeypatch.setitem(sys.modules, "mujoco", sys)  # any module: only robosuite is in question
    monkeypatch.delitem(sys.modules, "robosuite", raising=False)

    class Absent:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "robosuite":
                raise ModuleNotFoundError("No module named 'robosuite'", name="robosuite")

    monkeypatch.setattr(sys, "meta_path", [Absent, *sys.meta_path])
    with pytest.raises(MissingDependencyError) as caught:
        simulator.load()
    assert str(caught.value).endswith(
        'pip install "safe-rl-ltlf[robosuite]" && pip install --no-deps robosuite==1.5.2'
    )


@pytest.mark.robosuite
@pytest.mark.slow
def test_importing_and_making_prints_nothing() -> None:
    code = (
        "import safe_rl.envs, sys; assert 'mujoco' not in sys.modules\n"
        "from safe_rl.envs.robosuite import RobosuiteEnv\n"
        "assert 'mujoco' not in sys.modules\n"
        "RobosuiteEnv('Lift').reset(seed=0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
