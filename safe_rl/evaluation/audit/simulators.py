"""Replays of recorded MuJoCo states: robosuite's tasks and LIBERO's, by their environments here.

Two ways, neither of which is the recording itself:

* ``states`` shows every recorded state to the grounding: positions and velocities are set, MuJoCo
  derives the rest, contacts included. Positions are exact. Contacts are those of the recorded
  instants: what touched only between two control steps is not seen. The recorded actions, where
  there are any, tell the gripper's targets; without them a release looks like a drop.
* ``actions`` sets the first state and steps the recorded actions, with contacts over all substeps.
  The physics is whole, but it drifts from the recording where the controller's own memory or
  another version of the simulator differs.

The model is that of the environment: the file's own model XML is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

import safe_rl.envs  # noqa: F401 - registers the environments
from safe_rl.data import ReplayedLetters
from safe_rl.errors import ConfigurationError, RecordingError

GOAL: Final = "task_goal"
"""The proposition of robosuite's own success criterion, now (``RobosuiteEnv``'s)."""
WAYS: Final = ("states", "actions")
MUJOCO: Final = ("safe_rl/Robosuite", "safe_rl/Libero")
"""How the ids of environments with MuJoCo states begin."""
NO_END: Final = 2**31
"""A horizon that no recording reaches: where it ends is what the recording says."""


class Watcher(Protocol):
    """Looks at the frames of a replay."""

    def begin(self) -> None:
        """The environment shows the first frame of an episode."""

    def add(self) -> None:
        """It shows the next one."""


def make_replay(env_id: str, arguments: Mapping[str, Any], how: str) -> MujocoReplay:
    """Make the simulator that shows recorded states.

    Args:
        env_id: Gymnasium id of one of robosuite's or LIBERO's tasks.
        arguments: of the environment.
        how: ``"states"`` or ``"actions"``.

    Raises:
        ConfigurationError: the environment has no MuJoCo states, or ``how`` is unknown.
        MissingDependencyError: the simulator is not installed.
    """
    if how not in WAYS:
        raise ConfigurationError(f"replay is {how!r}; choose one of {', '.join(WAYS)}")
    if not env_id.startswith(MUJOCO):
        raise ConfigurationError(
            f"{env_id} cannot show recorded MuJoCo states; robosuite's and LIBERO's tasks can, as "
            "in --env env=robosuite/lift"
        )
    return MujocoReplay(env_id, arguments, how)


class MujocoReplay:
    """An environment of robosuite that is shown states instead of simulating them.

    Everything that turns a state into a letter is the environment's own; only where its states come
    from is replaced.
    """

    def __init__(self, env_id: str, arguments: Mapping[str, Any], how: str) -> None:
        """Build the simulation."""
        self.env_id = env_id
        self._stepping = how == "actions"
        made: Any = gymnasium.make(env_id, disable_env_checker=True, **arguments)
        self.env: Any = made.unwrapped
        self.env.horizon = NO_END
        self.env._terminate = False
        self._start = self.env._begin
        self.env._begin = self._begin
        if not self._stepping:
            self.env._simulate = self._show_next
        self._states: NDArray[np.float64] = np.zeros((0, 0))
        self._next, self._commanded = 0, False

    def replay(
        self,
        states: NDArray[np.float64],
        actions: NDArray[Any] | None,
        watcher: Watcher | None = None,
    ) -> ReplayedLetters:
        """Return the letters of one episode; see :class:`safe_rl.data.Replay`.

        ``watcher`` is told of every frame while the environment shows it.
        """
        model = self.env._model
        size = 1 + model.nq + model.nv
        if states.ndim != 2 or states.shape[1] != size:
            raise RecordingError(
                f"states of the shape {states.shape}, but the model of {self.env_id} has {size} "
                f"numbers (time, {model.nq} positions, {model.nv} velocities); choose the "
                "environment that was recorded"
            )
        if self._stepping and actions is None:
            raise RecordingError("no actions are recorded, so none can be stepped; show the states")
        self._states, self._next, self._commanded = states, 0, actions is not None
        _, info = self.env.reset(seed=0)
        letters, engaged = [self.env.propositions()], [bool(info["engaged"])]
        if watcher is not None:
            watcher.begin()
        if actions is None:
            actions = np.zeros((len(states), *self.env.action_space.shape))
        for action in actions if self._stepping else actions[: len(states) - 1]:
            *_, info = self.env.step(action)
            letters.append(self.env.propositions())
            engaged.append(bool(info["engaged"]))
            if watcher is not None:
                watcher.add()
        names = tuple(letters[0])
        return ReplayedLetters(
            propositions=names,
            letters=np.array([[letter[name] for name in names] for letter in letters], np.bool_),
            engaged=np.array(engaged, np.bool_),
            # a demonstration often stops as soon as its goal is reached
            success=bool(info["success"]) or letters[-1][GOAL],
            objects={kind: tuple(own) for kind, own in self.env.objects.items()},
            env_id=self.env_id,
        )

    def _begin(self, options: dict[str, Any]) -> None:
        """Start an episode in the first recorded state."""
        self._start(options)  # makes the controllers
        self._set(0)

    def _show_next(self, action: NDArray[Any]) -> None:
        """Stand in for the simulation of a control step."""
        if self._commanded:
            self.env.simulation._pre_action(action, True)  # sets the gripper's targets
        self._next += 1
        self._set(self._next)
        self.env._scene.begin_frame()
        self.env._scene.observe_contacts()

    def _set(self, index: int) -> None:
        from safe_rl.envs.robosuite.simulator import load

        state, model, data = self._states[index], self.env._model, self.env._data
        data.time = state[0]
        data.qpos[:] = state[1 : 1 + model.nq]
        data.qvel[:] = state[1 + model.nq :]
        load().mujoco.mj_forward(model, data)
