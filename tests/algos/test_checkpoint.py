"""Checkpoints: everything comes back, a resumed run is the same run, damage is one clear error."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from safe_rl.algos import (
    PID,
    CheckpointCallback,
    PPOLagrangian,
    ProjectedGradient,
    latest_checkpoint,
)
from safe_rl.algos.torch import archive
from safe_rl.algos.torch.plain import decode_space, encode_space
from safe_rl.algos.torch.progress import ProgressLog, read_progress
from safe_rl.errors import CheckpointError, ConfigurationError
from tests.algos import run_to_kill
from tests.algos.analytic_envs import SavableEnv, ScriptedEnv, constraint

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 8, "n_epochs": 1, "seed": 0, "device": "cpu"}


def trained(steps: int = 16, **arguments: Any) -> PPOLagrangian:
    model = PPOLagrangian(
        "MlpPolicy", ScriptedEnv(length=5), cost_limits=[1.0, 2.0], **{**SMALL, **arguments}
    )
    return model.learn(steps)


def without_clock(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in row.items() if k not in ("time/fps", "time/time_elapsed")} for row in rows
    ]


# --- a resumed run is the same run ---------------------------------------------------------------


def assert_same_run(folder: Path, reference: Path) -> None:
    first, second = np.load(folder / "result.npz"), np.load(reference / "result.npz")
    assert first.files == second.files
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    rows = without_clock(read_progress(folder / "progress.jsonl"))
    assert rows == without_clock(read_progress(reference / "progress.jsonl"))
    assert len(rows) == run_to_kill.TOTAL // 16


def launch(folder: Path, kind: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, str(Path(run_to_kill.__file__)), str(folder), kind],
        env=environment,
        cwd=ROOT,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kitchen", "savable", "reset"])
def test_killed_at_a_random_moment_and_resumed(tmp_path: Path, kind: str) -> None:
    """The parameters and the log of a run killed with SIGKILL equal those of one left alone.

    "kitchen" and "savable" restore the environment's state; "reset" has none to restore, so both
    runs re-seed and reset it at each checkpoint.
    """
    reference, folder = tmp_path / "alone", tmp_path / "killed"
    assert launch(reference, kind).wait() == 0
    folder.mkdir()
    kills = 0
    chooser = random.Random()
    for attempt in range(20):
        process = launch(folder, kind)
        if kills < 2:  # then let it finish
            target = chooser.randrange(2, 14)  # log rows of this attempt to wait for
            before = len(read_progress(folder / "progress.jsonl"))
            while process.poll() is None:
                time.sleep(0.002)
                if len(read_progress(folder / "progress.jsonl")) >= before + target:
                    break
            time.sleep(chooser.uniform(0.0, 0.05))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
        if process.wait() == 0:
            break
        assert process.returncode == -signal.SIGKILL, f"attempt {attempt} failed by itself"
    assert kills >= 1
    assert_same_run(folder, reference)


@pytest.mark.parametrize("kind", ["savable", "reset"])
@pytest.mark.parametrize("stop_after", [3, 10])
def test_resume_in_process_gives_the_same_numbers(
    tmp_path: Path, kind: str, stop_after: int
) -> None:
    """omnisafe 346: multipliers, optimisers, normalisers, counters and random states come back."""

    class Stop(CheckpointCallback):
        def _on_step(self) -> bool:
            return self.model.iteration < stop_after or self.num_timesteps % 16 < 6

        def _on_training_end(self) -> None:
            """Do not write: the run is to break off between checkpoints."""

    def log(name: str, done: int = 0) -> Any:
        from stable_baselines3.common.logger import Logger

        return Logger(None, [ProgressLog(tmp_path / name, done)])

    alone = run_to_kill.new_model(kind)
    alone.set_logger(log("alone"))
    alone.learn(run_to_kill.TOTAL, CheckpointCallback(tmp_path / "a", every=3))
    broken = run_to_kill.new_model(kind)
    broken.set_logger(log("broken"))
    broken.learn(run_to_kill.TOTAL, Stop(tmp_path / "b", every=3))
    assert broken.iteration == stop_after
    random.random(), np.random.rand(), th.rand(3)  # noqa: NPY002
    path = latest_checkpoint(tmp_path / "b")
    assert path is not None
    resumed = PPOLagrangian.load(path, run_to_kill.make_env(kind), device="cpu")
    assert resumed.iteration == stop_after // 3 * 3
    resumed.set_logger(log("broken", resumed.num_timesteps))
    resumed.resume(CheckpointCallback(tmp_path / "b", every=3))
    for (name, value), other in zip(
        alone.policy.state_dict().items(), resumed.policy.state_dict().values(), strict=True
    ):
        assert th.equal(value, other), name
    states = [m.policy.optimizer.state_dict()["state"] for m in (alone, resumed)]
    for key, state in states[0].items():
        for name, value in state.items():
            assert th.equal(value, states[1][key][name])
    assert alone.controller.state_dict() == resumed.controller.state_dict()
    normalisers = [m.get_vec_normalize_env() for m in (alone, resumed)]
    assert normalisers[0] is not None and normalisers[1] is not None
    np.testing.assert_array_equal(normalisers[0].obs_rms.mean, normalisers[1].obs_rms.mean)
    assert normalisers[0].ret_rms.var == normalisers[1].ret_rms.var
    assert without_clock(read_progress(tmp_path / "alone")) == without_clock(
        read_progress(tmp_path / "broken")
    )
    for name in ("num_timesteps", "iteration", "episodes", "_n_updates", "num_multiplier_updates"):
        assert getattr(alone, name) == getattr(resumed, name)


def test_gsde_resumes_exactly(tmp_path: Path) -> None:
    def build() -> PPOLagrangian:
        return PPOLagrangian(
            "MlpPolicy",
            SavableEnv(length=5, action="box"),
            cost_limits=[1.0, 2.0],
            use_sde=True,
            **SMALL,
        )

    alone = build().learn(64, CheckpointCallback(tmp_path / "a", every=4))
    build().learn(64, CheckpointCallback(tmp_path / "b", every=4, keep=None))
    path = tmp_path / "b" / "checkpoint_000000000032.zip"
    resumed = PPOLagrangian.load(path, SavableEnv(length=5, action="box"), device="cpu").resume()
    for a, b in zip(alone.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert th.equal(a, b)


def test_an_environment_that_its_seed_does_not_determine_is_told(tmp_path: Path) -> None:
    class Careless(ScriptedEnv):
        starts = 0.0

        def reset(self, **kwargs: Any) -> Any:
            obs, info = super().reset(**kwargs)
            Careless.starts += 0.01
            return obs + np.float32(Careless.starts), info

    model = PPOLagrangian("MlpPolicy", Careless(), cost_limits=[1.0, 1.0], **SMALL).learn(16)
    path = model.checkpoint(tmp_path / "x")
    with pytest.warns(UserWarning, match="not determined by its seed"):
        PPOLagrangian.load(path, Careless())


# --- what a file holds ---------------------------------------------------------------------------


def test_everything_comes_back(tmp_path: Path) -> None:
    model = trained(
        24,
        learning_rate=LinearSchedule(1e-3, 0.0, 1.0),
        controller=ProjectedGradient(lr=0.1, initial=[0.1, 0.2]),
        multiplier_min_episodes=3,
        policy_kwargs={
            "net_arch": {"pi": [8], "vf": [4], "cost": [6]},
            "activation_fn": th.nn.ReLU,
        },
        policy_average=0.5,
        clip_range=(0.2, 0.1),
        ent_coef=(0.04, 0.01, "geometric"),
    )
    path = model.save(tmp_path / "model")
    assert path == tmp_path / "model.zip"
    other = PPOLagrangian.load(path, ScriptedEnv(length=5), device="cpu")
    for name, value in model.policy.state_dict().items():
        assert th.equal(value, other.policy.state_dict()[name])
    for name, value in model.averaged.values.items():
        assert th.equal(value, other.averaged.values[name])
    np.testing.assert_array_equal(model.multipliers, other.multipliers)
    assert repr(model.controller) == repr(other.controller)
    assert other.constraints == model.constraints
    assert [row.tolist() for row in other._pending] == [row.tolist() for row in model._pending]
    assert list(other.recent_costs) == list(model.recent_costs)
    assert list(other.ep_info_buffer) == list(model.ep_info_buffer)
    assert other.lr_schedule(0.5) == model.lr_schedule(0.5) == 5e-4
    assert other.clip_schedule(0.5) == pytest.approx(0.15)
    assert other.entropy_schedule(0.5) == pytest.approx(0.02)
    assert other.policy.activation_fn is th.nn.ReLU
    assert other.num_timesteps == 24 and other.iteration == 3
    assert th.rand(1).item() == pytest.approx(_draw_after(model, path))


def _draw_after(model: PPOLagrangian, path: Path) -> float:
    PPOLagrangian.load(path, ScriptedEnv(length=5), device="cpu")
    return th.rand(1).item()


def test_predicts_without_an_environment(tmp_path: Path) -> None:
    model = trained()
    other = PPOLagrangian.load(model.save(tmp_path / "m.zip"))
    obs = np.array([[1.0, 0.5]], np.float32)
    assert other.env is None
    np.testing.assert_array_equal(
        model.predict(obs, deterministic=True)[0], other.predict(obs, deterministic=True)[0]
    )
    with pytest.raises(ConfigurationError, match="needs an environment"):
        PPOLagrangian("MlpPolicy", None)


def test_normaliser_comes_with_the_file(tmp_path: Path) -> None:
    """omnisafe 344, 386: evaluation from a file uses the trained statistics too."""
    env = VecNormalize(DummyVecEnv([lambda: ScriptedEnv(length=5)]), clip_obs=7.0)
    model = PPOLagrangian("MlpPolicy", env, cost_limits=[1.0, 1.0], **SMALL).learn(32)
    path = model.save(tmp_path / "m")
    raw = np.array([[3.0, 0.25]], np.float32)
    bare = PPOLagrangian.load(path)
    frozen = bare.evaluation_env(ScriptedEnv(length=5))
    assert isinstance(frozen, VecNormalize) and not frozen.training
    np.testing.assert_array_equal(frozen.normalize_obs(raw), env.normalize_obs(raw))
    wrapped = PPOLagrangian.load(path, ScriptedEnv(length=5)).get_vec_normalize_env()
    assert wrapped is not None and wrapped.clip_obs == 7.0
    np.testing.assert_array_equal(wrapped.normalize_obs(raw), env.normalize_obs(raw))
    # Saving the loaded model again keeps them.
    again = PPOLagrangian.load(bare.save(tmp_path / "again")).evaluation_env(ScriptedEnv(length=5))
    np.testing.assert_array_equal(again.normalize_obs(raw), env.normalize_obs(raw))
    plain = trained().save(tmp_path / "plain")
    with pytest.raises(CheckpointError, match="trained without a normaliser"):
        PPOLagrangian.load(plain, VecNormalize(DummyVecEnv([lambda: ScriptedEnv(length=5)])))


def test_what_a_file_cannot_hold_is_asked_for(tmp_path: Path) -> None:
    model = trained(learning_rate=lambda progress: 1e-3 * progress)
    path = model.save(tmp_path / "m")
    with pytest.raises(CheckpointError, match="pass learning_rate= to load"):
        PPOLagrangian.load(path)
    other = PPOLagrangian.load(path, learning_rate=lambda progress: 2e-3 * progress)
    assert other.lr_schedule(1.0) == 2e-3
    with pytest.raises(ConfigurationError, match="no argument speed"):
        PPOLagrangian.load(path, speed=1)


def test_another_run_is_refused(tmp_path: Path) -> None:
    path = trained().save(tmp_path / "m")
    env = ScriptedEnv(length=5)
    env.constraints = (constraint("glass", 1.0), constraint("wash", 2.0))
    with pytest.raises(CheckpointError, match="constraints cost_0, cost_1.*has glass, wash"):
        PPOLagrangian.load(path, env)
    with pytest.raises(CheckpointError, match="another environment"):
        PPOLagrangian.load(path, ScriptedEnv(length=5, action="box"))
    named = PPOLagrangian("MlpPolicy", env, **SMALL).learn(8).save(tmp_path / "named")
    env.constraints = (constraint("glass", 0.5), constraint("wash", 2.0))
    with pytest.raises(CheckpointError, match="pass cost_limits="):
        PPOLagrangian.load(named, env)
    assert PPOLagrangian.load(named, env, cost_limits=[0.5, 2.0]).constraints.limits == (0.5, 2.0)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, np.inf], np.float32)),
        spaces.Discrete(4, start=1),
        spaces.MultiDiscrete([2, 5]),
        spaces.MultiBinary(3),
        spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(0, 255, (2, 2), np.uint8)}),
    ],
    ids=lambda s: type(s).__name__,
)
def test_spaces_come_back(space: spaces.Space[Any]) -> None:
    tree, arrays = archive.encode_tree(encode_space(space))
    assert decode_space(archive._decode(json.loads(json.dumps(tree)), arrays)) == space


# --- damage, kills while writing, strangers' files -----------------------------------------------


def test_damaged_files_are_one_clear_error(tmp_path: Path) -> None:
    model = trained()
    good = model.save(tmp_path / "checkpoint_000000000008.zip")
    whole = good.read_bytes()
    bad = tmp_path / "checkpoint_000000000016.zip"
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 0xFF
    for damaged in (b"", b"no zip", whole[: len(whole) // 2], whole[:-1], bytes(middle)):
        bad.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"damaged.*other checkpoint there is .*08\.zip"):
            PPOLagrangian.load(bad)
    with pytest.warns(UserWarning, match="passing over a damaged checkpoint"):
        assert latest_checkpoint(tmp_path) == good
    good.unlink()
    with pytest.raises(CheckpointError, match="all 1 checkpoints"), pytest.warns(UserWarning):
        latest_checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        PPOLagrangian.load(tmp_path / "nothing")
    assert latest_checkpoint(tmp_path / "nowhere") is None


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    """Each byte of the contents is under a checksum; none changes a number silently."""
    path = trained().save(tmp_path / "m.zip")
    whole = path.read_bytes()
    tree, states = archive.read_archive(path)
    reference = archive.encode_tree(tree)
    rng = random.Random(0)
    for _ in range(60):
        copy = bytearray(whole)
        copy[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(copy))
        try:
            other, other_states = archive.read_archive(path)
        except CheckpointError:
            continue
        # What is not under a checksum (dates, attributes) must not matter.
        assert repr(archive.encode_tree(other)) == repr(reference)
        for name, value in states["policy"].items():
            assert th.equal(value, other_states["policy"][name])


def test_a_strangers_pickle_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "executed"

    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (mark,))

    path = trained().save(tmp_path / "m.zip")
    with zipfile.ZipFile(path) as zipped:
        members = {name: zipped.read(name) for name in zipped.namelist()}
    objects = io.BytesIO()
    np.savez(objects, a0=np.array([Evil()], dtype=object))
    evil_torch = io.BytesIO()
    th.save({"x": Evil()}, evil_torch)
    for name, content in (
        ("policy.pt", pickle.dumps(Evil(), protocol=2)),
        ("policy.pt", evil_torch.getvalue()),
        ("arrays.npz", objects.getvalue()),
    ):
        with zipfile.ZipFile(path, "w") as zipped:
            for member, value in (members | {name: content}).items():
                zipped.writestr(member, value)
        with pytest.raises(CheckpointError, match="cannot be read"):
            PPOLagrangian.load(path)
        assert not mark.exists()


def test_a_class_named_in_a_file_is_only_one_of_a_short_list(tmp_path: Path) -> None:
    path = trained(policy_kwargs={"activation_fn": th.nn.ReLU}).save(tmp_path / "m.zip")
    tree, states = archive.read_archive(path)
    changed = json.loads(json.dumps(archive.encode_tree(tree["arguments"]["policy_kwargs"])[0]))
    assert "torch.nn" in repr(changed)
    tree["arguments"]["policy_kwargs"] = {
        "mapping": [["activation_fn", {"class": ["subprocess", "Popen"]}]]
    }
    archive.write_archive(path, tree, states)
    with pytest.raises(CheckpointError, match="subprocess.Popen .* does not accept"):
        PPOLagrangian.load(path)


def test_a_failed_write_leaves_the_previous_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = trained()
    path = model.save(tmp_path / "m.zip")
    before = path.read_bytes()
    model.learn(8, reset_num_timesteps=False)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.zip"]


def test_callback_keeps_the_last_files(tmp_path: Path) -> None:
    (tmp_path / ".checkpoint_000000000008.zip.partial").write_text("left by a kill")
    (tmp_path / "notes.txt").write_text("somebody else's")
    model = PPOLagrangian("MlpPolicy", ScriptedEnv(), cost_limits=[1.0, 1.0], **SMALL)
    model.learn(8 * 7, CheckpointCallback(tmp_path, every=2, keep=2))
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [
        "checkpoint_000000000048.zip",
        "checkpoint_000000000056.zip",  # the end, though 7 is no multiple of 2
        "notes.txt",
    ]
    with pytest.raises(ConfigurationError, match="at least 1"):
        CheckpointCallback(tmp_path, every=0)


def test_controller_can_be_exchanged_when_loading(tmp_path: Path) -> None:
    path = trained().save(tmp_path / "m")
    other = PPOLagrangian.load(path, ScriptedEnv(length=5), controller=PID(ki=0.7))
    assert other.controller.config()["ki"] == 0.7
    assert other.multipliers.tolist() == [0.0, 0.0]


def test_progress_log_drops_what_a_killed_run_wrote_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    log = ProgressLog(path)
    for step in (8, 16, 24):
        log.write({"a": np.float32(0.5), "b": object(), "n": step}, {}, step)
    log.close()
    with open(path, "a") as file:
        file.write('{"step": 32, "a": 0.')  # cut off
    assert [row["step"] for row in read_progress(path)] == [8, 16, 24]
    assert read_progress(path)[0] == {"step": 8, "a": 0.5, "n": 8}
    log = ProgressLog(path, resume_at=16)
    log.write({"a": 1.0}, {}, 24)
    log.close()
    assert read_progress(path)[-1] == {"step": 24, "a": 1.0}
    assert len(read_progress(path)) == 3
    assert read_progress(tmp_path / "none") == []
