"""Sweeping the constants of the grounding over scene frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.audit.scenes import SceneRecording, record_tabletop
from safe_rl.evaluation.audit.sensitivity import (
    drift_figure,
    sweep,
    sweep_columns,
    tried_values,
)
from safe_rl.grounding import FixtureRole, GroundingSettings, ObjectRole, SceneArrays, SceneRoles
from safe_rl.grounding.arrays import empty_scene
from safe_rl.specs import Specification, SpecSet

ROLES = SceneRoles(
    (ObjectRole("mug", (0.04, 0.04, 0.05)),), (FixtureRole("table", "counter", (1, 1, 0.02)),)
)
HELD = SpecSet(
    [
        Specification(
            "never_held",
            "G !object_grasped(o)",
            trigger="object_grasped(o)",
            forall={"o": "graspable"},
        ),
        Specification("never_lost", "G !lost", trigger="lost"),
    ]
)


def held_for(*frames: int, length: int = 16) -> SceneRecording:
    """Episodes in which both closed fingers touch the mug for so many frames, from frame 2 on."""
    nothing = empty_scene(ROLES, np)
    parts = {
        name: np.zeros((length, *part.shape, len(frames)), part.dtype) + part[None, ..., None]
        for name, part in nothing._asdict().items()
    }
    for row, count in enumerate(frames):
        during = slice(2, 2 + count)
        parts["finger_contacts"][during, ..., row] = True
        parts["opposed"][during, ..., row] = True
        parts["in_gripper_box"][during, ..., row] = True
        parts["robot_object"][during, ..., row] = True
    return SceneRecording(
        roles=ROLES,
        settings=GroundingSettings(),
        frames=SceneArrays(*(parts[name].astype(nothing._asdict()[name].dtype) for name in parts)),
        lengths=np.full(len(frames), length),
        terminated=np.zeros(len(frames), bool),
        own_names=("lost",),
        own_letters=np.zeros((length, 1, len(frames)), bool),
        objects={"graspable": ("mug",)},
        env_id="by hand",
    )


def test_a_window_that_decides_drifts_and_others_do_not():
    # with the window of 5 frames the mug is grasped in the episodes of 6 and 12 frames
    recording = held_for(0, 4, 6, 12)
    specs = HELD.bind(recording.objects)
    found = sweep(recording, specs, factors=[0.4, 2.0])
    assert found.verdicts == 4 * 2
    by_name = {own.constant: own for own in found.constants}
    window = by_name["grasp_window"]
    assert [setting.value for setting in window.settings] == [2, 5, 10]
    # 2 frames: the one of 4 is grasped too; 10: the one of 6 is not any more
    assert [setting.changed for setting in window.settings] == [1, 0, 1]
    assert [setting.violations for setting in window.settings] == [3, 2, 1]
    assert [setting.drift for setting in window.settings] == [1 / 8, 0, 1 / 8]
    assert window.largest == 1 / 8
    assert window.moved == ("never_held",)
    assert by_name["linear_stability"].largest == 0.0
    assert "onset_window" in found.unread
    # what is not read can change nothing
    default = recording.ground(recording.settings, specs.propositions)
    for name in found.unread:
        if name.endswith("cosine"):
            continue
        other = replace(recording.settings, **{name: 3 * getattr(recording.settings, name)})
        for a, b in zip(default, recording.ground(other, specs.propositions), strict=True):
            np.testing.assert_array_equal(a.letters, b.letters)


def test_tables_and_figures(tmp_path):
    recording = held_for(4, 12)
    found = sweep(recording, HELD, constants=["grasp_window", "onset_window"], factors=[0.4, 2.0])
    assert [own.constant for own in found.constants] == ["grasp_window"]
    columns = sweep_columns(found)
    assert columns["value"] == [2, 5, 10]
    assert len({len(column) for column in columns.values()}) == 1
    picture = drift_figure(found.constants, tmp_path / "drift.png", title="by hand")
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ConfigurationError, match="no constants"):
        drift_figure([], tmp_path / "none.png")


def test_values_that_are_tried():
    assert tried_values("grasp_window", 1, [0.5, 2.0]) == [1, 2]  # never 0 frames
    assert tried_values("support_cosine", 0.5, [2.0, 3.0]) == [0.5, 1.0]
    assert tried_values("settle_timeout", 100, [0.999, 1.001]) == [99, 100, 101]


def test_errors():
    recording = held_for(4)
    with pytest.raises(ConfigurationError, match="'grasp_windw'.*did you mean 'grasp_window'"):
        sweep(recording, HELD, constants=["grasp_windw"])
    with pytest.raises(ConfigurationError, match="factors must be positive"):
        sweep(recording, HELD, factors=[-1.0])


@pytest.mark.slow
def test_scripted_episodes_ground_as_their_environment_does():
    jax = pytest.importorskip("jax")
    from safe_rl.envs.tabletop import TabletopEnv
    from safe_rl.envs.tabletop.scripted import CAREFUL, scripted_policy
    from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS

    recording = record_tabletop("lift", 2, noise=0.0, seed=4)
    # few propositions compile sooner
    env = TabletopEnv("lift", propositions=["object_grasped(cup)", "object_sync(cup)"])
    names = env.proposition_names
    (own, _) = recording.ground(recording.settings, names)
    draw, _ = jax.random.split(jax.random.key(4))
    numbers = jax.random.uniform(draw, (2, RANDOM_NUMBERS))[0]
    state = env.first_state(env.task.first_world(numbers))
    policy, key = scripted_policy(env.task, CAREFUL), jax.random.key(0)
    step = jax.jit(lambda state: env.transition(state, policy(state), key))
    columns = [own.propositions.index(name) for name in names]
    for frame, letter in enumerate(own.letters):
        np.testing.assert_array_equal(np.asarray(env.letter(state)), letter[columns], str(frame))
        last, state = state, step(state)
    assert bool(env.success(last)) == own.terminated
    assert own.terminated
