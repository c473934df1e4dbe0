"""A collection that is killed and taken up again is the one that was left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("robosuite")
pytest.importorskip("toppra")
pytest.importorskip("pyarrow")
pytest.importorskip("hydra")

from safe_rl.data.lerobot import lerobot_episodes, load_lerobot
from safe_rl.demonstrations.collection import CollectionSettings, collect, yields_of
from safe_rl.errors import ConfigurationError

pytestmark = [pytest.mark.robosuite, pytest.mark.slow]


def command(folder: Path, attempts: int) -> list[str]:
    words = ("family=robosuite/lift", "episodes=null", f"attempts={attempts}", "workers=2")
    call = "from safe_rl.cli import app; app()"
    return [sys.executable, "-c", call, "collect", *words, f"output={folder}"]


def written(folder: Path) -> int:
    try:
        return len(lerobot_episodes(folder))
    except Exception:
        return 0


def test_a_killed_collection_goes_on_without_a_lost_or_double_attempt(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    collect(CollectionSettings("robosuite/lift", weights=own_weights()), whole, max_attempts=4)
    process = subprocess.Popen(command(broken, 4), start_new_session=True, cwd=tmp_path)
    end = time.monotonic() + 300
    while written(broken) < 1 and process.poll() is None and time.monotonic() < end:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert 1 <= written(broken) < 4, "it was killed on the way"
    done = subprocess.run(
        command(broken, 4), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "safe success" in done.stdout and "wrote" in done.stdout
    one, other = load_lerobot(whole), load_lerobot(broken)
    assert len(one) == len(other) == 4
    for a, b in zip(one, other, strict=True):
        assert a.seed == b.seed
        assert np.array_equal(a.actions, b.actions) and np.array_equal(a.letters, b.letters)
        assert np.array_equal(a.observations["state"], b.observations["state"])
    assert lerobot_episodes(whole) == lerobot_episodes(broken)
    yields = yields_of(lerobot_episodes(whole))
    assert yields.attempts == sum(yields.reasons.values()) == 4


def own_weights() -> dict[str, tuple[float, ...]]:
    from safe_rl.demonstrations.collection.steering import weights_of
    from safe_rl.demonstrations.engine.variation import Mixture
    from safe_rl.demonstrations.families import find_family

    return dict(weights_of(Mixture.of(find_family("robosuite/lift").parameters, None)))


def test_a_folder_holds_one_collection(tmp_path: Path) -> None:
    from safe_rl.demonstrations.collection.settings import keep_settings

    keep_settings(tmp_path, CollectionSettings("robosuite/lift"))
    keep_settings(tmp_path, CollectionSettings("robosuite/lift"))
    with pytest.raises(ConfigurationError, match="seed=0, not 1"):
        keep_settings(tmp_path, CollectionSettings("robosuite/lift", seed=1))
    with pytest.raises(ConfigurationError, match="how many"):
        collect(CollectionSettings("robosuite/lift"), tmp_path)
