"""LIBERO's tasks as Gymnasium environments that bring their own propositions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from safe_rl.envs.libero.init_states import read_init_states
from safe_rl.envs.libero.roles import read_scene
from safe_rl.envs.libero.simulation import make_simulation, placed_fixtures, start_episode
from safe_rl.envs.libero.tasks import SUITES, find_task
from safe_rl.envs.robosuite.env import RobosuiteEnv
from safe_rl.envs.robosuite.motions import ScriptRunner
from safe_rl.envs.robosuite.offscreen import OffscreenCamera
from safe_rl.envs.robosuite.tasks import Task
from safe_rl.errors import ConfigurationError
from safe_rl.grounding import GroundingSettings
from safe_rl.grounding.mujoco import MujocoRoles

CAMERAS = ("agentview", "robot0_eye_in_hand")
"""The cameras whose images LIBERO's policies see: of the scene, and in the gripper's hand."""


SETTINGS = GroundingSettings(fixture_motion=2e-3, gripper_closed=0.98 * 0.04)
"""SafeManip's constants for LIBERO (appendix F.3, table 6).

They differ from RoboCasa's in two. The table gives "gripper closed" as the closed fraction of a
finger, 0.02; a Panda's finger reads 0.04 m when it is open. (Stability, which the table gives as
motion per frame, is the same speed.)
"""


class LiberoEnv(RobosuiteEnv):
    """A task of LIBERO with its Panda, 20 control steps per second.

    It is a ``RobosuiteEnv``: seeds, truncation, contacts over all substeps, propositions, records
    and exact states are the same. What differs:

    - an episode starts in one of the task's initial states (``pruned_init``), after
      ``settle_steps`` steps in which the arm stands still and things come to rest. A seed draws the
      state; ``reset(options={"init_state": 3})`` chooses it;
    - goal and reward are LIBERO's: the BDDL file's, 1 or 0. A goal that has held for
      ``success_steps`` steps, with nothing that it names between the fingers, ends the episode, so
      that what was let go has come to rest before;
    - with ``images``, the observation is a dictionary: ``state``, and uint8
      ``[height, width, 3]`` per camera, top row first.

    Objects, fixtures and propositions bear LIBERO's names (``akita_black_bowl_1``); a cabinet's
    drawers are ``wooden_cabinet_1_top_drawer`` and so on.

    Attributes:
        instruction: the task in words.

    >>> import gymnasium, safe_rl.envs  # doctest: +SKIP
    >>> env = gymnasium.make("safe_rl/Libero-v0", suite="libero_goal", task=8)  # doctest: +SKIP
    >>> env.unwrapped.instruction  # doctest: +SKIP
    'put the bowl on the plate'
    """

    def __init__(
        self,
        suite: str = "libero_goal",
        task: int | str = 0,
        *,
        terminate_on_success: bool = True,
        success_steps: int = 30,
        settle_steps: int = 20,
        images: bool | Sequence[str] = False,
        camera: str = "agentview",
        settings: GroundingSettings | None = None,
        **kwargs: Any,
    ) -> None:
        """Build the simulation (some seconds, and 15 s of compilation on a machine's first step).

        Args:
            suite: one of ``SUITES``.
            task: its number in the suite, or its name.
            terminate_on_success: end the episode as terminated once ``success``.
            success_steps: steps in a row for which the goal must hold to be a success, while no
                finger touches the objects that it names. LIBERO counts the first step, at which
                they are often still in the gripper; 1 does that too.
            settle_steps: steps before the episode begins; things in LIBERO's initial states hang in
                the air, in the living room half a metre.
            images: cameras whose images are observed; ``True`` for ``CAMERAS``. They need OpenGL.
            camera: camera that ``render`` uses.
            settings: constants of the grounding; default: ``SETTINGS``.
            kwargs: further arguments of ``RobosuiteEnv``.

        Raises:
            ConfigurationError: for arguments out of range.
            MissingDependencyError: if LIBERO, robosuite or MuJoCo is not installed.
            GroundingError: for a fixture that the grounding does not know.
        """
        if settle_steps < 0:
            raise ConfigurationError(f"settle_steps must be at least 0, got {settle_steps}")
        self.libero_task = find_task(suite, task)
        self.instruction = self.libero_task.instruction
        self._init_states = read_init_states(self.libero_task.init_states)
        self._settle_steps, self._success_steps = settle_steps, success_steps
        self._eyes: dict[str, OffscreenCamera] = {}
        super().__init__(
            f"{suite}/{self.libero_task.name}",
            terminate_on_success=terminate_on_success,
            success_steps=success_steps,
            camera=camera,
            settings=settings or SETTINGS,
            **kwargs,
        )
        self._state_space = self.observation_space
        self._seen = (CAMERAS if images else ()) if isinstance(images, bool) else tuple(images)
        if self._seen:
            _, width, height = self._image
            picture = gymnasium.spaces.Box(0, 255, (height, width, 3), np.uint8)
            spaces = {"state": self.observation_space, **dict.fromkeys(self._seen, picture)}
            self.observation_space = gymnasium.spaces.Dict(spaces)  # type: ignore[assignment]

    @property
    def num_init_states(self) -> int:
        """How many initial states the task has."""
        return len(self._init_states)

    @property
    def goal(self) -> tuple[tuple[str, ...], ...]:
        """The goal's conjuncts, LIBERO's predicate first."""
        return self._goal

    @property
    def interiors(self) -> dict[str, str]:
        """LIBERO's region that is the inside of a drawer or a microwave, to the fixture's name."""
        return {
            fixture.interior: name
            for name, fixture in self._task.fixtures.items()
            if isinstance(fixture.interior, str)
        }

    @property
    def boxes(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Centre and half extents, in metres, of the box around each object in its own frame.

        Of a fixture that LIBERO places: its centre as seen from its place, along the world's axes.
        """
        who, data = self._scene.entities, self._data
        found = dict(zip(self._task.objects, who.objects, strict=True))
        boxes = {name: (np.array(box.center), np.array(box.half)) for name, box in found.items()}
        for role, box in zip(who.roles.fixtures, who.fixtures, strict=True):
            if role.name in self.simulation.fixtures_dict:
                turn = data.xmat[box.body].reshape(3, 3)
                boxes[role.name] = (turn @ box.center, np.array(role.half))
        return boxes

    @property
    def placed_bodies(self) -> tuple[str, ...]:
        """The fixtures' bodies that an episode's start places in the model."""
        return tuple(fixture.root_body for fixture in placed_fixtures(self.simulation))

    def scripted_policy(self, manner: str = "careful") -> ScriptRunner:
        """A policy that does the task by a script, in one of its manners.

        Raises:
            ConfigurationError: for an unknown manner, or a goal that is not known how to reach.
        """
        from safe_rl.envs.libero.scripted import LiberoScript

        return LiberoScript(self, manner)

    def _make(self, task: str, model_seed: int) -> tuple[Task, Any, MujocoRoles]:
        simulation = make_simulation(self.libero_task)
        columns = 1 + simulation.sim.model.nq + simulation.sim.model.nv
        if self._init_states.shape[1] != columns:
            raise ConfigurationError(
                f"the initial states of {task} have {self._init_states.shape[1]} numbers, its "
                f"model needs {columns}"
            )
        # The places of fixtures decide the boxes of the grounding.
        start_episode(simulation, self._init_states[0], np.random.default_rng(model_seed))
        scene = read_scene(simulation, task, SUITES[self.libero_task.suite])
        self._goal = scene.goal
        named = {word for part in scene.goal for word in part[1:]}
        self._goal_objects = [i for i, name in enumerate(scene.task.objects) if name in named]
        return scene.task, simulation, scene.roles

    def _begin(self, options: dict[str, Any]) -> None:
        generator = self.simulation.rng
        drawn = int(generator.integers(self.num_init_states))
        index = options.get("init_state", drawn)
        if not isinstance(index, int | np.integer) or not 0 <= index < self.num_init_states:
            raise ConfigurationError(
                f"init_state must be from 0 to {self.num_init_states - 1}, got {index!r}"
            )
        start_episode(self.simulation, self._init_states[index], generator)
        still = np.zeros(7)
        still[6] = -1.0  # the gripper is open
        for _ in range(self._settle_steps):
            self._simulate(still)

    def _reward_left(self) -> float:
        return 0.0  # LIBERO's reward is its own

    def _achieved(self, goal: bool) -> bool:
        if not goal or self._success_steps == 1:
            return goal
        assert self._frame is not None
        touched = self._frame.arrays.finger_contacts[self._goal_objects]
        return not touched.any()

    def _observation(self) -> Any:
        state = super()._observation()
        if not self._seen:
            return state
        self.simulation._post_process()  # a burner that is on is red
        return {"state": state, **{name: self._eye(name).render(self._data) for name in self._seen}}

    def _eye(self, name: str) -> OffscreenCamera:
        if name not in self._eyes:
            self._eyes[name] = OffscreenCamera(self._model, name, *self._image[1:])
        return self._eyes[name]

    def render(self) -> np.ndarray | None:
        """The current image ``[height, width, 3]``, uint8, with ``render_mode="rgb_array"``."""
        self.simulation._post_process()
        return super().render()

    def close(self) -> None:
        """Free the renderers and the simulation."""
        for eye in self._eyes.values():
            eye.close()
        self._eyes = {}
        super().close()
