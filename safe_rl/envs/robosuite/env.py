"""A Gymnasium environment around robosuite that brings its own propositions.

It is not robosuite's ``GymWrapper``: a seed given to ``reset`` decides the episode, reaching the
horizon truncates and never terminates, contacts are gathered over all 25 physics substeps of a
control step, and the whole state can be saved and restored exactly.
"""

from __future__ import annotations

import gc
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from safe_rl.envs.robosuite import recorded_state, simulator, snapshot
from safe_rl.envs.robosuite.control import HeldCommand
from safe_rl.envs.robosuite.motions import ScriptRunner
from safe_rl.envs.robosuite.observation import StateReader
from safe_rl.envs.robosuite.offscreen import OffscreenCamera
from safe_rl.envs.robosuite.tasks import TABLE, Task, find_task, scene_roles
from safe_rl.errors import CheckpointError, ConfigurationError, ResetNeededError
from safe_rl.grounding import (
    AgeCounter,
    FrameGrounding,
    FrameGroundingState,
    FrameRecord,
    GroundingSettings,
    Latch,
)
from safe_rl.grounding.mujoco import MujocoFrame, MujocoRoles, MujocoScene

GOAL = "task_goal"
"""The proposition that the environment adds: robosuite's own success criterion, now."""


@dataclass(frozen=True)
class RobosuiteState:
    """Everything that ``RobosuiteEnv.get_state`` saves."""

    task: str
    simulation: snapshot.SimulationState
    generator: dict[str, Any]
    grounding: FrameGroundingState
    letter: dict[str, bool]
    frame: MujocoFrame
    counters: tuple[int, bool, tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class RobosuiteEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """robosuite's Lift, Stack, PickPlaceCan or Door with a Panda, 20 steps a second, state only.

    Observation: flat float32; the places are in ``layout`` (robot, then objects, joints, sites),
    followed by the grounding's memory (``device_features``) unless ``observe_devices`` is off.
    Action: float32 in [-1, 1]^7, six for robosuite's OSC_POSE controller (up to 5 cm and 0.5 rad
    per step) and one for the gripper (negative opens, positive closes). Reward: robosuite's shaped
    reward, at most 1 per step; an episode that ends with its success gets 1 for each step that is
    left, so that it loses nothing by ending.

    ``info``: ``success`` (the goal has held for 10 steps in a row at some time of the episode),
    ``engaged`` (any part of the arm has touched an object or a handle in this episode), and, with
    ``record=True``, ``grounding`` (a ``FrameRecord``; see ``safe_rl.grounding.explain``).

    >>> import gymnasium, safe_rl.envs  # doctest: +SKIP
    >>> env = gymnasium.make("safe_rl/RobosuiteLift-v0")  # doctest: +SKIP
    >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
    >>> env.unwrapped.propositions()["object_grasped(cube)"]  # doctest: +SKIP
    False
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(
        self,
        task: str = "Lift",
        *,
        horizon: int | None = None,
        terminate_on_success: bool = False,
        success_steps: int = 10,
        propositions: str | Collection[str] = "all",
        settings: GroundingSettings | None = None,
        backend: str = "auto",
        observe_devices: bool = True,
        record: bool = False,
        model_seed: int = 0,
        render_mode: str | None = None,
        camera: str = "frontview",
        width: int = 256,
        height: int = 256,
    ) -> None:
        """Build the simulation (about a second, and 15 s of compilation on a machine's first step).

        Args:
            task: ``"Lift"``, ``"Stack"``, ``"PickPlaceCan"`` or ``"Door"``.
            horizon: steps until truncation; default: the task's own.
            terminate_on_success: end the episode as terminated once ``success``.
            success_steps: steps in a row for which the goal must hold to be a success.
            propositions: ``"all"`` that the shipped set ``safemanip`` uses, or names; what is not
                asked for is not computed, and its memory not observed.
            settings: constants of the grounding.
            backend: of the grounding, see ``FrameGrounding``.
            observe_devices: append the grounding's memory to the observation.
            record: put a ``FrameRecord`` into every info.
            model_seed: decides what is drawn once per model (Lift's cube size), for all episodes.
            render_mode: ``None`` or ``"rgb_array"``.
            camera: camera that renders.
            width: image width in pixels.
            height: image height in pixels.

        Raises:
            ConfigurationError: for arguments out of range.
            MissingDependencyError: if robosuite or MuJoCo is not installed.
            GroundingError: if the model lacks a body or geom that the grounding needs.
        """
        for name, value in (("horizon", horizon), ("success_steps", success_steps)):
            if value is not None and value < 1:
                raise ConfigurationError(f"{name} must be at least 1, got {value}")
        if isinstance(propositions, str) and propositions != "all":
            raise ConfigurationError(
                f"propositions must be 'all' or a list of names, got {propositions!r}"
            )
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigurationError(
                f"render_mode must be None or 'rgb_array', got {render_mode!r}"
            )
        self.render_mode = render_mode
        self._task, self.simulation, roles = self._make(task, model_seed)
        self.horizon = self._task.horizon if horizon is None else horizon
        # robosuite would call its two dozen observables 25 times per step; ours is read once.
        self.simulation._observables = {}
        self._terminate = terminate_on_success
        self._observe_devices, self._record = observe_devices, record
        self._image = (camera, width, height)
        self._camera: OffscreenCamera | None = None
        mujoco = simulator.load().mujoco
        self._substep = (mujoco.mj_step2, mujoco.mj_step1)
        self._model = self.simulation.sim.model._model
        self._data = self.simulation.sim.data._data
        self._substeps = round(self.simulation.control_timestep / self.simulation.model_timestep)
        self._held: HeldCommand | None = None
        settings = settings or GroundingSettings()
        wanted = None if isinstance(propositions, str) else set(propositions) - {GOAL}
        self._scene = MujocoScene(
            self._model,
            self._data,
            roles,
            simulator.geom_distance(self._model, self._data),
            settings,
            wanted,
        )
        self._grounding = FrameGrounding(self._scene.roles, settings, wanted, backend=backend)
        self._goal_held, self._succeeded = AgeCounter(success_steps - 1), Latch()
        self._engaged = Latch()
        devices = self._grounding.feature_names if observe_devices else ()
        self._reader = StateReader(self._task, self.simulation, devices)
        size = self._reader.size + len(devices)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (7,), np.float32)
        self._seeded = False
        self._running = False
        self._steps = 0
        self._letter: dict[str, bool] = {}
        self._frame: MujocoFrame | None = None

    # --- what another family of robosuite tasks replaces ----------------------------------------

    def _make(self, task: str, model_seed: int) -> tuple[Task, Any, MujocoRoles]:
        """The task, its simulation, and who is who in it."""
        found = find_task(task)
        simulation = simulator.make_simulation(task, model_seed)
        return found, simulation, scene_roles(found, simulation)

    def _begin(self, options: dict[str, Any]) -> None:
        """Put the simulation at the start of an episode, its derived quantities computed."""
        self.simulation.reset()

    def _achieved(self, goal: bool) -> bool:
        """Whether the frame counts towards success; ``goal`` is the simulation's own criterion."""
        return goal

    def _reward_left(self) -> float:
        """What the rest of the horizon would have paid an episode that succeeds and ends."""
        return float(self.horizon - self._steps)

    # --- what monitors read ---------------------------------------------------------------------

    @property
    def objects(self) -> dict[str, list[str]]:
        """Property to the objects that carry it, to bind ``forall`` specifications."""
        return {name: list(names) for name, names in self._grounding.roles.properties.items()}

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """Names of all propositions."""
        return (*self._grounding.proposition_names, GOAL)

    def propositions(self) -> dict[str, bool]:
        """The letter of the state reached.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._frame is None:
            raise ResetNeededError("propositions() was asked before the first reset()")
        return dict(self._letter)

    @property
    def layout(self) -> dict[str, slice]:
        """Name of each quantity to its place in the observation."""
        return dict(self._reader.layout)

    @property
    def device_features(self) -> tuple[str, ...]:
        """Names of the observation's last entries: the states of the grounding's devices."""
        return self._reader.names

    def frame_record(self) -> FrameRecord:
        """The facts of the last control frame, for people: see ``safe_rl.grounding.explain``.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._frame is None:
            raise ResetNeededError("frame_record() was asked before the first reset()")
        arrays, contacts = self._frame.arrays, self._frame.contacts
        wrong = self._scene.forbidden(self._frame, self._grounding.forbidden(arrays))
        return FrameRecord(
            step=self._steps,
            propositions=dict(self._letter),
            contacts=tuple(sorted(contact.geoms for contact in contacts)),
            forbidden=tuple(contact.geoms for contact in wrong),
            heights=dict(
                zip(
                    self._scene.roles.object_names,
                    arrays.object_positions[:, 2].tolist(),
                    strict=True,
                )
            ),
            aperture=float(arrays.finger_joints.sum()),
        )

    def scripted_policy(self, manner: str = "careful") -> ScriptRunner:
        """A policy that does the task by a script, in one of its manners.

        Raises:
            ConfigurationError: if there is no script for this task, or no such manner.
        """
        from safe_rl.envs.robosuite.scripted import ScriptedPolicy

        return ScriptedPolicy(self._task.name, manner)

    # --- Gymnasium ------------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; a seed decides the placement of objects and the arm's posture."""
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            # The generator is shared with the placement sampler, so it is set, not replaced.
            state = self.np_random.bit_generator.state
            self.simulation.rng.bit_generator.state = deepcopy(state)
            self._seeded = True
        self._begin(options or {})
        self._steps, self._running = 0, True
        self._scene.begin_frame()
        self._scene.observe_contacts()
        self._frame = self._scene.frame()
        self._letter = self._grounding.reset(self._frame.arrays)
        goal = bool(self.simulation._check_success())
        self._letter[GOAL] = goal
        self._succeeded.reset(self._goal_held.reset(self._achieved(goal)))
        self._engaged.reset(_touches(self._frame))
        return self._observation(), self._info()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold ``action`` for 50 ms.

        Raises:
            ResetNeededError: before the first reset and after the end of an episode.
            ConfigurationError: for an action of another shape or that is not finite.
        """
        if not self._running:
            raise ResetNeededError("step() needs reset() first: no episode is running")
        action = np.asarray(action, dtype=np.float64)
        if action.shape != (7,) or not np.isfinite(action).all():
            raise ConfigurationError(f"an action is 7 finite numbers, got {action!r}")
        self._simulate(action)
        self._steps += 1
        self._frame = self._scene.frame()
        self._letter = self._grounding.step(self._frame.arrays)
        goal = bool(self.simulation._check_success())
        self._letter[GOAL] = goal
        success = self._succeeded.step(self._goal_held.step(self._achieved(goal)))
        self._engaged.step(_touches(self._frame))
        reward = float(self.simulation.reward(action))
        terminated = success and self._terminate
        if terminated:
            reward += self._reward_left()
        truncated = not terminated and self._steps >= self.horizon
        self._running = not (terminated or truncated)
        return self._observation(), reward, terminated, truncated, self._info()

    def _simulate(self, action: np.ndarray) -> None:
        """Robosuite's control step, with a look at the contacts after every substep.

        robosuite computes the derived quantities of a state at the start of the next substep. Here
        they are computed at the end of this one: the same computations in the same order, and what
        is read afterwards belongs to the state reached.
        """
        simulation, scene = self.simulation, self._scene
        model, data = self._model, self._data
        advance, derive = self._substep
        simulation.timestep += 1
        scene.begin_frame()
        held = self._held = HeldCommand.of(simulation, self._held)
        for substep in range(self._substeps):
            if held is None:
                simulation._pre_action(action, substep == 0)
            elif substep == 0:
                held.take(action)
            else:
                held.apply()
            advance(model, data)
            derive(model, data)
            scene.observe_contacts()
        simulation.cur_time += simulation.control_timestep

    def _observation(self) -> np.ndarray:
        features = self._grounding.features if self._observe_devices else ()
        return self._reader.read(self._data, features)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"success": self._succeeded.value, "engaged": self._engaged.value}
        if self._record:
            info["grounding"] = self.frame_record()
        return info

    def render(self) -> np.ndarray | None:
        """The current image ``[height, width, 3]``, uint8, with ``render_mode="rgb_array"``."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                "render() does nothing without a render mode: "
                'make the environment with render_mode="rgb_array"'
            )
            return None
        if self._camera is None:
            self._camera = OffscreenCamera(self._model, *self._image)
        return self._camera.render(self._data)

    def close(self) -> None:
        """Free the renderer and the simulation."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None
        self._running = False
        if hasattr(self, "simulation"):
            # robosuite's parts refer to each other, and Python does not see how large they are.
            self.simulation.close()
            del self.simulation, self._model, self._data, self._scene, self._held
            gc.collect()

    # --- states as recordings keep them ---------------------------------------------------------

    @property
    def placed_bodies(self) -> tuple[str, ...]:
        """The bodies that a reset places in the model, where no state tells of them."""
        fixtures = self._task.fixtures.items()
        return tuple(f.body for name, f in fixtures if f.body is not None and name not in TABLE)

    def recorded_state(self) -> np.ndarray:
        """The simulator's state, float64: see ``safe_rl.envs.robosuite.recorded_state``."""
        return recorded_state.read_state(self._model, self._data)

    def placements(self) -> dict[str, tuple[float, ...]]:
        """Where the ``placed_bodies`` stand: metres, then a quaternion (w, x, y, z)."""
        return recorded_state.read_placements(self._model, self.placed_bodies)

    # --- exact states ---------------------------------------------------------------------------

    def get_state(self) -> RobosuiteState:
        """Everything that decides what happens next: a restored state replays bit for bit.

        Raises:
            ResetNeededError: before the first reset.
        """
        if self._frame is None:
            raise ResetNeededError("get_state() was asked before the first reset()")
        return RobosuiteState(
            task=self._task.name,
            simulation=snapshot.save(self.simulation),
            generator=deepcopy(dict(self.np_random.bit_generator.state)),
            grounding=self._grounding.get_state(),
            letter=dict(self._letter),
            frame=self._frame,
            counters=(
                self._steps,
                self._running,
                self._goal_held.get_state(),
                self._succeeded.get_state(),
                self._engaged.get_state(),
            ),
        )

    def set_state(self, state: RobosuiteState) -> None:
        """Restore what ``get_state`` returned, here or in another environment of the same kind.

        Raises:
            CheckpointError: if the state belongs to another task.
        """
        if state.task != self._task.name:
            raise CheckpointError(
                f"the state was saved by task {state.task!r}, this environment is "
                f"{self._task.name!r}"
            )
        if self._frame is None:
            self.reset(seed=0)  # controllers exist only after a reset
        snapshot.restore(self.simulation, state.simulation)
        self.np_random.bit_generator.state = deepcopy(state.generator)
        self._seeded = True
        self._grounding.set_state(state.grounding)
        self._letter, self._frame = dict(state.letter), state.frame
        self._steps, self._running, held, succeeded, engaged = state.counters
        self._goal_held.set_state(held)
        self._succeeded.set_state(succeeded)
        self._engaged.set_state(engaged)


def _touches(frame: MujocoFrame) -> bool:
    """Whether the robot touches an object or a component."""
    arrays = frame.arrays
    return bool(arrays.robot_object.any() or arrays.robot_component.any())
