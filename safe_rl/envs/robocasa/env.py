"""RoboCasa's kitchens as Gymnasium environments that bring their own propositions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from safe_rl.envs.robocasa import installation
from safe_rl.envs.robocasa.frames import KitchenFrames
from safe_rl.envs.robocasa.kitchen import (
    REQUIRED,
    Kitchen,
    ObjectUtils,
    Placement,
    PlacementInitializer,
)
from safe_rl.envs.robocasa.memory import Memory, read_memory, write_memory
from safe_rl.envs.robocasa.predicates import PREFIX, NativePredicates
from safe_rl.envs.robocasa.roles import read_scene
from safe_rl.envs.robosuite import simulator
from safe_rl.envs.robosuite.env import GOAL, RobosuiteEnv, RobosuiteState
from safe_rl.envs.robosuite.tasks import Task
from safe_rl.errors import ConfigurationError
from safe_rl.grounding import AllowedContacts, GroundingSettings
from safe_rl.grounding.mujoco import MujocoRoles
from safe_rl.grounding.ontology import Ontology

ARM = 7
"""Entries of an action for the arm and the gripper."""
BASE = 5
"""Further ones for the base (forward, sideways, turn), the torso, and what is moved (> 0: base)."""
SETTINGS = GroundingSettings()
"""SafeManip's constants for RoboCasa (appendix F.3, table 6), which are the defaults."""
_ATTEMPTS = 100
_HERTZ = 20


@dataclass(frozen=True)
class RoboCasaState(RobosuiteState):
    """Everything that ``RoboCasaEnv.get_state`` saves."""

    memory: Memory


class RoboCasaEnv(RobosuiteEnv):
    """A RoboCasa kitchen with its mobile Panda, 20 control steps per second.

    It is a ``RobosuiteEnv``: seeds, truncation, contacts over all substeps, propositions, records
    and exact states are the same. What differs:

    - RoboCasa draws another kitchen at every reset. Here a kitchen is drawn once, by
      ``scene_seed``, when the environment is made, so that monitors and observation keep their
      meaning; a reset puts robot and objects elsewhere in it. For another kitchen make another
      environment;
    - an action moves arm and gripper, float32 in [-1, 1]^7; with ``base`` five entries follow, in
      RoboCasa's order: forward, sideways, turn, torso, and whether the base is moved (> 0);
    - goal and reward are RoboCasa's. A goal that has held for ``success_steps`` steps is a success;
    - with ``native_predicates`` the letter also holds RoboCasa's own predicates.

    Attributes:
        instruction: the task in words.
        parts: RoboCasa's fixture to the fixtures of the grounding that it is made of.

    >>> import gymnasium, safe_rl.envs  # doctest: +SKIP
    >>> env = gymnasium.make(
    ...     "safe_rl/RoboCasa-v0", kitchen="PickPlaceCounterToCabinet"
    ... )  # doctest: +SKIP
    >>> env.unwrapped.instruction  # doctest: +SKIP
    'Pick the apple from the counter and place it in the cabinet.'
    """

    def __init__(
        self,
        kitchen: str | Kitchen = "PickPlaceCounterToCabinet",
        *,
        scene_seed: int = 0,
        arguments: Mapping[str, Any] | None = None,
        base: bool = False,
        native_predicates: bool = False,
        object_utils: ObjectUtils | None = None,
        allowed: AllowedContacts | None = None,
        ontology_files: Sequence[str] = (),
        terminate_on_success: bool = True,
        propositions: str | Collection[str] = "all",
        camera: str = "robot0_agentview_left",
        settings: GroundingSettings | None = None,
        **kwargs: Any,
    ) -> None:
        """Build the kitchen (with RoboCasa's meshes, some ten seconds).

        Args:
            kitchen: RoboCasa's name of a task, or a kitchen environment, which belongs to this one
                from then on.
            scene_seed: decides the kitchen that is drawn, where a name is given.
            arguments: further arguments of RoboCasa's class (``layout_ids``, ``style_ids``,
                ``obj_instance_split`` ...), where a name is given.
            base: whether actions move the base and the torso.
            native_predicates: add RoboCasa's own predicates, ``robocasa_is_open(f)`` and so on.
            object_utils: RoboCasa's module of predicates; default: the installed one.
            allowed: what may touch what; default: what the task refers to.
            ontology_files: more entities and properties, see ``Ontology.load``.
            terminate_on_success: end the episode as terminated once ``success``.
            propositions: ``"all"`` that the shipped set ``safemanip`` uses, or names.
            camera: camera that ``render`` uses.
            settings: constants of the grounding; default: ``SETTINGS``.
            kwargs: further arguments of ``RobosuiteEnv``.

        Raises:
            ConfigurationError: for arguments out of range, an unknown task, missing meshes, or a
                kitchen that lacks names of RoboCasa's, runs at another rate or has another robot.
            MissingDependencyError: if RoboCasa, robosuite or MuJoCo is not installed.
            GroundingError: for a fixture that the grounding does not know.
            OntologyError: for an object that the ontology does not know.
        """
        self._given, self._arguments = kitchen, dict(arguments or {})
        self._ontology, self._contacts = Ontology.load(*ontology_files), allowed
        wanted = propositions
        if not isinstance(propositions, str):
            wanted = [name for name in propositions if not name.startswith(PREFIX)]
        super().__init__(
            kitchen if isinstance(kitchen, str) else type(kitchen).__name__,
            terminate_on_success=terminate_on_success,
            propositions=wanted,
            model_seed=scene_seed,
            camera=camera,
            settings=settings or SETTINGS,
            **kwargs,
        )
        self._give_back()
        self._scene = KitchenFrames(
            self.simulation,
            self._model,
            self._data,
            self._roles,
            simulator.geom_distance(self._model, self._data),
            self._grounding.settings,
            None if isinstance(wanted, str) else set(wanted) - {GOAL},
        )
        self._native: NativePredicates | None = None
        if native_predicates:
            utils = object_utils or installation.load().object_utils
            self._native = NativePredicates(self.simulation, utils)
        self._moves_base = base
        count = ARM + BASE * base
        if base and self.simulation.action_spec[0].shape != (count,):
            raise ConfigurationError(
                f"base=True needs a robot on a mobile base, with {count} action entries; this one "
                f"has {self.simulation.action_spec[0].shape[0]}"
            )
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (count,), np.float32)

    @property
    def placed_bodies(self) -> tuple[str, ...]:
        """None: fixtures stay where they were drawn."""
        return ()

    @property
    def proposition_names(self) -> tuple[str, ...]:
        """Names of all propositions."""
        return (*super().proposition_names, *(self._native.names if self._native else ()))

    def propositions(self) -> dict[str, bool]:
        """The letter of the state reached.

        Raises:
            ResetNeededError: before the first reset.
        """
        letter = super().propositions()
        return letter | self._native.letter() if self._native else letter

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Hold ``action`` for 50 ms.

        Raises:
            ResetNeededError: before the first reset and after the end of an episode.
            ConfigurationError: for an action of another shape or that is not finite.
        """
        action = np.asarray(action, dtype=np.float64)
        count = ARM + BASE * self._moves_base
        if action.shape != (count,) or not np.isfinite(action).all():
            raise ConfigurationError(f"an action is {count} finite numbers, got {action!r}")
        self._command = action
        return super().step(action[:ARM])

    # --- what robosuite's family of environments asks for -----------------------------------------

    def _make(self, task: str, model_seed: int) -> tuple[Task, Any, MujocoRoles]:
        kitchen = self._given
        if isinstance(kitchen, str):
            kitchen = installation.make_kitchen(kitchen, model_seed, self._arguments)
            task = f"{task}/{model_seed}"
        else:
            _check(kitchen)
            if getattr(kitchen, "sim", None) is None:
                kitchen.reset()  # draws the kitchen
        kitchen.hard_reset = False  # from now on it stays the same
        kitchen.sim.forward()
        self._fresh = read_memory(kitchen)
        scene = read_scene(kitchen, task, self._ontology, self._contacts)
        self.instruction, self.parts, self._roles = scene.task.goal, scene.parts, scene.roles
        # As robosuite's own tasks hold their objects, until the observation has found them.
        self._lent = {name: vars(kitchen).get(name, self) for name in scene.models}
        vars(kitchen).update(scene.models)
        return scene.task, kitchen, scene.roles

    def _give_back(self) -> None:
        for name, before in self._lent.items():
            if before is self:  # there was nothing of that name
                del vars(self.simulation)[name]
            else:
                setattr(self.simulation, name, before)

    def _begin(self, options: dict[str, Any]) -> None:
        kitchen: Kitchen = self.simulation
        write_memory(kitchen, self._fresh)
        if kitchen.placement_initializer is not None:
            kitchen.object_placements = self._placements(kitchen.placement_initializer)
        kitchen.reset()

    def _placements(self, initializer: PlacementInitializer) -> dict[str, Placement]:
        failed = (
            simulator.load().robosuite.utils.errors.robosuiteError
        )  # RoboCasa's derives from it
        for _ in range(_ATTEMPTS):
            try:
                return initializer.sample(placed_objects=self.simulation.fxtr_placements)
            except failed:
                continue
        raise ConfigurationError(f"the objects of {self._task.name} cannot be placed")

    def _reward_left(self) -> float:
        return 0.0  # RoboCasa's reward is its own

    def _simulate(self, action: np.ndarray) -> None:
        super()._simulate(self._robot_action())
        # Buttons and knobs have their effect; a few fixtures then move themselves.
        before = self._data.qpos.copy()
        self.simulation.update_state()
        if not np.array_equal(before, self._data.qpos):
            self._substep[1](self._model, self._data)

    def _robot_action(self) -> np.ndarray:
        """The command in the order of robosuite's controller."""
        command = self._command
        parts: dict[str, Any] = {"right": command[:6], "right_gripper": command[6:7]}
        if self._moves_base:
            parts |= {"base": command[7:10], "torso": command[10:11], "base_mode": command[11]}
        action: np.ndarray = self.simulation.robots[0].create_action_vector(parts)
        return action

    # --- exact states -----------------------------------------------------------------------------

    def get_state(self) -> RoboCasaState:
        """Everything that decides what happens next: a restored state replays bit for bit.

        Raises:
            ResetNeededError: before the first reset.
        """
        return RoboCasaState(**vars(super().get_state()), memory=read_memory(self.simulation))

    def set_state(self, state: RobosuiteState) -> None:
        """Restore what ``get_state`` returned, here or in another environment of the same kind.

        Raises:
            CheckpointError: if the state belongs to another task.
        """
        super().set_state(state)
        if isinstance(state, RoboCasaState):
            write_memory(self.simulation, state.memory)


def _check(kitchen: Kitchen) -> None:
    missing = [name for name in REQUIRED if not hasattr(kitchen, name)]
    # Objects and fixtures exist once a kitchen has been drawn.
    drawn = getattr(kitchen, "sim", None) is not None
    late = {"fixtures", "objects", "obj_body_id", "object_cfgs", "fixture_refs"}
    missing = [name for name in missing if drawn or name not in late]
    if missing:
        raise ConfigurationError(
            f"{type(kitchen).__name__} is no RoboCasa kitchen: it has no {', '.join(missing)}"
        )
    if kitchen.control_freq != _HERTZ:
        raise ConfigurationError(
            f"SafeManip counts frames of 50 ms, so a kitchen must run at {_HERTZ} Hz; this one has "
            f"control_freq={kitchen.control_freq}"
        )
