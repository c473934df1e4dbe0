"""Replays of recorded MuJoCo states: robosuite's tasks and LIBERO's, by their environments here.

Three ways to turn recorded states and actions into letters:

* ``steps`` sets each recorded state, steps the action that was taken in it, with contacts over all
  substeps, and sets the recorded state that follows. Positions are exact, and so are contacts as
  long as the action leads where the recording went. A step that ends further from it than
  ``TOLERANCE`` is another motion: its contacts are dropped, but for those of the recorded state at
  its end. Without actions it is ``states``.
* ``states`` sets every recorded state and lets MuJoCo derive the rest, contacts included. What
  touched only between two control steps is not seen. The recorded actions, where there are any,
  tell the gripper's targets; without them a release looks like a drop.
* ``actions`` sets the first state and steps the recorded actions. The physics is whole, but it
  drifts from the recording where another version of the simulator or of the controller recorded it.

Whenever actions are stepped, their drift from the recording is measured (``safe_rl.data.Drift``).
The model is that of the environment; of the file's own, only where its fixtures stand is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

import safe_rl.envs  # noqa: F401 - registers the environments
from safe_rl.data import Drift, RecordedStates, ReplayedLetters
from safe_rl.envs.robosuite.recorded_state import (
    check_states,
    keep_posture,
    place_bodies,
    show_state,
)
from safe_rl.errors import ConfigurationError, RecordingError

GOAL: Final = "task_goal"
"""The proposition of robosuite's own success criterion, now (``RobosuiteEnv``'s)."""
WAYS: Final = ("steps", "states", "actions")
TOLERANCE: Final = 1e-3
"""How far a stepped action may end from the recorded state, in any position (m, rad)."""
LIBERO: Final = "safe_rl/Libero"
MUJOCO: Final = ("safe_rl/Robosuite", LIBERO)
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
        how: one of ``WAYS``.

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
    """An environment of robosuite or LIBERO that is shown states.

    Everything that turns a state into a letter is the environment's own; only where its states come
    from is replaced.
    """

    def __init__(self, env_id: str, arguments: Mapping[str, Any], how: str) -> None:
        """Build the simulation."""
        self.env_id = env_id
        made: Any = gymnasium.make(env_id, disable_env_checker=True, **arguments)
        self.env: Any = made.unwrapped
        self.env.horizon = NO_END
        self.env._terminate = False
        self._how = how
        self._start, self._simulate = self.env._begin, self.env._simulate
        self.env._begin = self._begin
        self._recorded = RecordedStates(np.zeros((0, 0)))
        self._reached, self._drift = 0, Drift()

    def replay(self, recorded: RecordedStates, watcher: Watcher | None = None) -> ReplayedLetters:
        """Return the letters of one episode; see :class:`safe_rl.data.Replay`.

        ``watcher`` is told of every frame while the environment shows it.
        """
        states, actions = recorded.states, recorded.actions
        self._check(recorded)
        stepping = actions is not None and self._how != "states"
        self._recorded, self._reached, self._drift = recorded, 0, Drift()
        _, info = self.env.reset(seed=0)
        letters, engaged = [self.env.propositions()], [bool(info["engaged"])]
        if watcher is not None:
            watcher.begin()
        if actions is None:
            actions = np.zeros((len(states), *self.env.action_space.shape))
        for action in actions if stepping else actions[: len(states) - 1]:
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
            instruction=str(getattr(self.env, "instruction", "")),
            drift=self._drift if stepping else None,
        )

    def _check(self, recorded: RecordedStates) -> None:
        states, actions, env = recorded.states, recorded.actions, self.env
        own = env._task.name.rpartition("/")[2]  # LIBERO's without its suite
        if recorded.task and recorded.task != own:
            raise RecordingError(
                f"recorded in the task {recorded.task!r}, but {self.env_id} is made for {own!r}; "
                "its goal decides what may be touched, so choose the environment that was recorded"
            )
        check_states(env._model, states, self.env_id)
        if actions is None:
            if self._how == "actions":
                raise RecordingError(
                    "no actions are recorded, so none can be stepped; show the states"
                )
        elif len(actions) not in (len(states) - 1, len(states)):
            raise RecordingError(f"{len(actions)} actions for {len(states)} states")

    def _begin(self, options: dict[str, Any]) -> None:
        """Start an episode in the first recorded state."""
        env, recorded = self.env, self._recorded
        env._simulate = self._simulate
        self._start(options)  # makes the controllers; LIBERO's lets things come to rest
        stepping = recorded.actions is not None and self._how != "states"
        every = self._how == "actions"
        env._simulate = (self._step_only if every else self._step) if stepping else self._show
        place_bodies(env._model, env.placed_bodies, recorded.placements)
        show_state(env._model, env._data, recorded.states[0])
        if not self.env_id.startswith(LIBERO):  # whose initial states move the arm after the reset
            keep_posture(env.simulation)

    def _show(self, action: NDArray[Any]) -> None:
        """Stand in for the simulation of a control step: show where it led."""
        if self._recorded.actions is not None:
            self.env.simulation._pre_action(action, True)  # sets the gripper's targets
        self._reached += 1
        self._set_recorded()
        self.env._scene.begin_frame()
        self.env._scene.observe_contacts()

    def _step(self, action: NDArray[Any]) -> None:
        """Simulate a control step, and end it in the recorded state."""
        if self._step_only(action):
            if self._far:
                self.env._scene.begin_frame()
            self._set_recorded()
            self.env._scene.observe_contacts()

    def _step_only(self, action: NDArray[Any]) -> bool:
        """Simulate a control step; return whether its end is recorded, and measure the drift."""
        self._simulate(action)
        self._reached += 1
        if self._reached >= len(self._recorded.states):
            return False
        model, data = self.env._model, self.env._data
        wanted = self._recorded.states[self._reached, 1 : 1 + model.nq]
        difference = float(np.abs(data.qpos - wanted).max())
        self._far = not difference <= TOLERANCE  # what is no number is far
        self._drift = self._drift.after(self._reached, difference, TOLERANCE)
        return True

    def _set_recorded(self) -> None:
        show_state(self.env._model, self.env._data, self._recorded.states[self._reached])
