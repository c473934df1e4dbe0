"""Scene frames of robosuite's and LIBERO's environments: scripted episodes, and demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

import safe_rl.envs  # noqa: F401 - registers the environments
from safe_rl.data import (
    SUFFIX,
    RecordedStates,
    load_episodes,
    read_demonstrations,
    recorded_states,
)
from safe_rl.errors import ConfigurationError, RecordingError
from safe_rl.evaluation.audit.scenes import SceneRecording
from safe_rl.evaluation.audit.simulators import GOAL, MujocoReplay
from safe_rl.grounding import SceneArrays

MANNERS: Final = ("careful", "drop_high", "drop_off_table", "throw", "knock", "slip", "slam")
"""The manners of robosuite's scripts; a task without one of them goes without."""


class SceneTape:
    """Collects the frames of an environment, episode by episode."""

    def __init__(self, env: Any) -> None:
        """Read from ``env``, a ``RobosuiteEnv``."""
        self._env = env
        self._episodes: list[list[SceneArrays]] = []
        self._goals: list[list[bool]] = []
        self._terminated: list[bool] = []

    def begin(self) -> None:
        """Start an episode, whose first frame the environment shows."""
        self._episodes.append([])
        self._goals.append([])
        self._terminated.append(False)
        self.add()

    def add(self, terminated: bool = False) -> None:
        """Take in the frame that the environment shows."""
        self._episodes[-1].append(SceneArrays(*map(np.array, self._env._frame.arrays)))
        self._goals[-1].append(bool(self._env.propositions()[GOAL]))
        self._terminated[-1] = terminated

    def recording(self, env_id: str) -> SceneRecording:
        """Return what was collected; shorter episodes are filled up with their last frame."""
        lengths = np.array([len(frames) for frames in self._episodes], np.int64)
        longest = int(lengths.max())
        padded = [frames + frames[-1:] * (longest - len(frames)) for frames in self._episodes]
        goals = [own + own[-1:] * (longest - len(own)) for own in self._goals]
        roles = self._env._scene.roles
        return SceneRecording(
            roles=roles,
            settings=self._env._grounding.settings,
            frames=SceneArrays(
                *(
                    np.stack(
                        [np.stack([frame[part] for frame in frames]) for frames in padded], axis=-1
                    )
                    for part in range(len(SceneArrays._fields))
                )
            ),
            lengths=lengths,
            terminated=np.array(self._terminated, np.bool_),
            own_names=(GOAL,),
            own_letters=np.array(goals, np.bool_).T[:, None, :],
            objects={kind: tuple(names) for kind, names in self._env.objects.items()},
            env_id=env_id,
        )


def record_scripted(
    env_id: str,
    arguments: Mapping[str, Any],
    episodes: int,
    *,
    manners: Sequence[str] = MANNERS,
    seed: int = 0,
) -> SceneRecording:
    """Simulate scripted episodes, in each manner by turns, and keep what the grounding reads.

    Args:
        env_id: of robosuite's or LIBERO's tasks.
        arguments: of the environment.
        episodes: how many.
        manners: those that the task's script does not know are left out.
        seed: of the first episode.

    Raises:
        ConfigurationError: the environment brings no scripted policy, or none of the manners.
        MissingDependencyError: the simulator is not installed.
    """
    made: Any = gymnasium.make(env_id, disable_env_checker=True, **arguments)
    env = made.unwrapped
    policies = []
    for manner in manners:
        try:
            policies.append(env.scripted_policy(manner))
        except ConfigurationError:
            continue
    if not policies:
        raise ConfigurationError(f"{env_id} has no script that does {', '.join(manners)}")
    tape = SceneTape(env)
    for number in range(episodes):
        policy = policies[number % len(policies)]
        observation, _ = env.reset(seed=seed + number)
        tape.begin()
        start, over = True, False
        while not over:
            action, _ = policy.predict(observation[None], episode_start=np.array([start]))
            observation, _, terminated, truncated, _ = env.step(np.asarray(action)[0])
            tape.add(bool(terminated))
            start, over = False, bool(terminated or truncated)
    env.close()
    return tape.recording(env_id)


def record_demonstrations(paths: Sequence[Path], replay: MujocoReplay) -> SceneRecording:
    """Show the recorded states of demonstrations and keep what the grounding reads.

    Args:
        paths: of one environment: HDF5 files, or our own of episodes with simulator states.
        replay: its simulator.

    Raises:
        RecordingError: a file is damaged, or its states are not those of the simulator's model.
    """
    tape = SceneTape(replay.env)
    for path in paths:
        for recorded in _states_in(path):
            replay.replay(recorded, tape)
    return tape.recording(replay.env_id)


def _states_in(path: Path) -> list[RecordedStates]:
    if not path.name.endswith(SUFFIX):
        return [recorded_states(demo) for demo in read_demonstrations(path)]
    found = []
    for number, own in enumerate(load_episodes(path)):
        if own.states is None:
            raise RecordingError(
                f"{path}, episode {number}: no simulator states, so nothing can be shown"
            )
        found.append(RecordedStates(own.states, own.actions, own.placements))
    return found
