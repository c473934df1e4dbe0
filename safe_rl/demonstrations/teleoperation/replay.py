"""A leader that replays the joints of a recorded episode."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.data import Episode
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.demonstrations.teleoperation.leader import JointCommand
from safe_rl.errors import RecordingError


class ReplayLeader:
    """Streams the arm's recorded joints, and the gripper's part of the actions.

    A recorded posture is commanded one step before it was reached, and is held on to until the
    gripper is near where it was then, as a patient person would.
    """

    def __init__(self, episode: Episode, within: float = 0.01, patience: int = 3) -> None:
        """Replay ``episode``.

        Args:
            episode: with simulator states and actions.
            within: m, how near the gripper has to be before the next posture is commanded.
            patience: control steps after which it is commanded in any case.

        Raises:
            RecordingError: the episode has no states or no actions.
        """
        if episode.states is None or episode.actions is None:
            raise RecordingError("a replay needs the episode's states and actions; it has not both")
        self._states, self._actions = episode.states, np.asarray(episode.actions)
        self._within, self._patience = within, patience
        self._commands: Iterator[JointCommand] = iter(())

    def start(self, scene: Scene) -> None:
        """Begin with the first posture."""
        self._commands = self._stream(scene)

    def read(self) -> JointCommand | None:
        """The posture to be in next."""
        return next(self._commands, None)

    def close(self) -> None:
        """Nothing is held."""

    def _stream(self, scene: Scene) -> Iterator[JointCommand]:
        world = World(scene, held=None, touching=(), clearance=0.0)
        for state, action in zip(self._states[1:], self._actions, strict=True):
            command = JointCommand(state[1 + scene.arm_qpos], float(action[6]))
            there = world.put(command.joints)
            yield command
            for _ in range(self._patience):
                if scene.gripper.apart(there)[0] < self._within:
                    break
                yield command
