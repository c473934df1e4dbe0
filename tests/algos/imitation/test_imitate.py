"""What each method learns from demonstrations of which every second one is unsafe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safe_rl.algos.imitation import METHODS, Demonstrations, ImitationSettings, imitate
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.policies.vla import VLA, VLAConfig, load_vla
from tests.algos.imitation.two_ways import SPECS, episodes


@pytest.fixture(scope="module")
def demonstrations() -> Demonstrations:
    return Demonstrations.of(episodes(), SPECS, chunk=2)


def fresh(demonstrations: Demonstrations, *, reads_cost: bool = False, seed: int = 0) -> VLA:
    torch.manual_seed(seed)
    config = VLAConfig(
        3, 1, chunk=2, width=32, layers=1, prompt_words=0, reads_cost=reads_cost, log_std=-0.5
    )
    return VLA(config, demonstrations.statistics())


def settings(method: str, **changes: object) -> ImitationSettings:
    given = {"updates": 200, "batch_size": 64, "average": 0.95, "critic_updates": 200}
    return ImitationSettings(method, **(given | changes))  # type: ignore[arg-type]


def first_action(model: VLA, cost: float | None = None) -> float:
    """Return the mean of what the policy does at states like those in which it has the choice."""
    state = np.random.default_rng(5).normal(size=(200, 3)).astype(np.float32)
    told = None if cost is None else [cost] * 200
    with torch.no_grad():
        chosen = model.distribution(model.inputs({"state": state}, [""] * 200, told)).mean
    return float(chosen[:, 0].mean())


def learn(method: str, found: Demonstrations, folder: Path, **changes: object) -> VLA:
    model = fresh(found, reads_cost=method == "conditioned")
    return load_vla(imitate(folder, model, found, settings(method, **changes))).model


def test_cloning_everything_goes_between_and_cloning_what_is_safe_goes_left(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    assert abs(first_action(learn("cloning", demonstrations, tmp_path / "all"))) < 0.35
    safe = learn("cloning", demonstrations, tmp_path / "safe", keep="safe")
    assert first_action(safe) == pytest.approx(-1.0, abs=0.15)


def test_weights_lean_to_the_safe_way(demonstrations: Demonstrations, tmp_path: Path) -> None:
    plain = first_action(learn("cloning", demonstrations, tmp_path / "plain"))
    weighted = first_action(learn("weighted", demonstrations, tmp_path / "w", temperature=0.2))
    # Half of the moments of an unsafe episode have the violation ahead, the others behind them.
    assert weighted < plain - 0.2


def test_a_conditioned_policy_does_as_it_is_told(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    model = learn("conditioned", demonstrations, tmp_path)
    assert first_action(model, 1.0) > 0.7
    assert first_action(model, 0.0) < -0.1


def test_a_bound_on_predicted_violations_leans_to_the_safe_way(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    plain = first_action(learn("cloning", demonstrations, tmp_path / "plain"))
    bounded = learn("lagrangian", demonstrations, tmp_path / "bounded", control_every=5)
    assert first_action(bounded) < plain - 0.4
    last = json.loads((tmp_path / "bounded" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["lambda/no_hit"] > 0.0


def test_what_is_never_triggered_cannot_be_bounded(tmp_path: Path) -> None:
    still = [replace(own, letters=np.zeros_like(own.letters)) for own in episodes(4)]
    found = Demonstrations.of(still, SPECS, chunk=2)
    with pytest.raises(ConfigurationError, match="is triggered in these demonstrations"):
        imitate(tmp_path, fresh(found), found, settings("lagrangian"))


def test_a_policy_that_reads_no_cost_cannot_be_conditioned(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="reads_cost=True"):
        imitate(tmp_path, fresh(demonstrations), demonstrations, settings("conditioned"))


def test_preferences_move_away_from_what_led_to_a_violation(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    reference = learn("cloning", demonstrations, tmp_path / "reference")
    before = first_action(reference)
    folder = imitate(
        tmp_path / "preferred",
        reference,
        demonstrations,
        settings("preferences", lead=3, imitation=0.2, beta=0.3),
    )
    assert first_action(load_vla(folder).model) < before - 0.4


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_run_goes_on_to_the_same_weights(
    method: str, demonstrations: Demonstrations, tmp_path: Path
) -> None:
    class Stopped(Exception):
        pass

    def stop(update: int, logs: object) -> None:
        if update == 23:
            raise Stopped

    def run(folder: Path, watch: object = None) -> dict[str, object]:
        model = fresh(demonstrations, reads_cost=method == "conditioned")
        changes = settings(method, updates=40, critic_updates=10, control_every=7)
        imitate(folder, model, demonstrations, changes, checkpoint_every=10, watch=watch)  # type: ignore[arg-type]
        return dict(load_vla(folder).model.state_dict())

    whole = run(tmp_path / "whole")
    with pytest.raises(Stopped):
        run(tmp_path / "stopped", stop)
    resumed = run(tmp_path / "stopped")
    for name, value in whole.items():
        assert torch.equal(value, resumed[name]), name
    logs = [(tmp_path / name / "metrics.jsonl").read_text() for name in ("whole", "stopped")]
    assert logs[0] == logs[1]


def test_another_run_in_the_same_folder_is_refused(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    imitate(tmp_path, fresh(demonstrations), demonstrations, settings("cloning", updates=10))
    with pytest.raises(CheckpointError, match="other settings"):
        imitate(tmp_path, fresh(demonstrations), demonstrations, settings("cloning", updates=20))


def test_what_was_done_is_kept_beside_the_policy(
    demonstrations: Demonstrations, tmp_path: Path
) -> None:
    folder = imitate(
        tmp_path,
        fresh(demonstrations),
        demonstrations,
        settings("cloning", updates=10),
        info={"task": "reach"},
    )
    info = load_vla(folder).info
    assert info["task"] == "reach" and info["demonstrations"] == 40
    assert info["imitation"]["method"] == "cloning"
    json.dumps(dict(info))
