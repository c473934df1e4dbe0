"""``safe-rl imitate`` on recorded episodes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("hydra")

from hydra import compose, initialize_config_module

from safe_rl.cli.imitate import ImitateSettings, run
from safe_rl.cli.settings import register_resolvers, typed
from safe_rl.data import save_episodes
from safe_rl.errors import ConfigurationError
from safe_rl.policies.vla import load_vla
from tests.algos.imitation.two_ways import episodes

RULE = """
- id: no_hit
  formula: "G(go -> G !hit)"
  limit: {kind: per_trigger, value: 0.1}
  says: "Do not hit the wall."
"""


def imitate(folder: Path, *more: str) -> Path:
    """Run the command on ten demonstrations, every second one unsafe."""
    folder.mkdir(exist_ok=True)
    save_episodes(folder / "ten.episodes.npz", episodes(10))
    (folder / "rule.yaml").write_text(RULE)
    words = [
        f"dataset={folder / 'ten.episodes.npz'}",
        "specs=file",
        f"specs.source={folder / 'rule.yaml'}",
        f"output={folder / 'policy'}",
        "policy.chunk=2",
        "policy.width=16",
        "imitation.updates=5",
        "imitation.batch_size=8",
        *more,
    ]
    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return run(typed(compose("imitate", words), ImitateSettings))


def test_a_policy_is_learned_from_what_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = imitate(tmp_path, "imitation.keep=safe")
    assert "learned from 5 of 10 demonstrations" in capsys.readouterr().out
    saved = load_vla(folder)
    assert saved.model.config.chunk == 2 and saved.model.config.state_size == 3
    assert saved.info["imitation"]["keep"] == "safe" and saved.info["prompt"] == "none"


def test_a_policy_goes_on_from_another_and_is_told_the_rules(tmp_path: Path) -> None:
    told = ("policy.prompt_words=8", "prompt=words")
    first = imitate(tmp_path / "first", *told)
    folder = imitate(
        tmp_path / "second",
        f"start={first}",
        "imitation.method=preferences",
        "limit_episodes=4",
        *told,
    )
    saved = load_vla(folder)
    assert saved.info["demonstrations"] == 4 and saved.model.config.prompt_words == 8


def test_cameras_that_the_demonstrations_lack_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"names 'front', but the demonstrations show"):
        imitate(tmp_path, "policy.cameras=[front]")
