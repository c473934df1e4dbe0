"""``TabletopEnv``: a tabletop task as a functional environment with labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from safe_rl.envs.tabletop.dynamics import advance
from safe_rl.envs.tabletop.labels import own_letter, own_propositions
from safe_rl.envs.tabletop.observing import observe
from safe_rl.envs.tabletop.parameters import tabletop_parameters
from safe_rl.envs.tabletop.picture import draw
from safe_rl.envs.tabletop.scene import scene_arrays, scene_roles, still_frame
from safe_rl.envs.tabletop.starts import Start
from safe_rl.envs.tabletop.starts import demonstrated_starts as demonstrated_starts_of
from safe_rl.envs.tabletop.state import Array, Frame, TabletopState, World
from safe_rl.envs.tabletop.tasks import TASKS
from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS
from safe_rl.errors import ConfigurationError, near
from safe_rl.grounding import GroundingSettings
from safe_rl.grounding.arrays import (
    ground,
    initial_memory,
    memory_features,
    proposition_names,
)
from safe_rl.specs import load_specs
from safe_rl.wrappers.functional import FunctionalEnv

SETTINGS = GroundingSettings(
    forbidden_contact_tolerance=5,
    settle_timeout=40,
    retract_timeout=10,
    onset_window=4,
)
"""SafeManip's constants, with shorter windows where they measure how long a motion takes: this
gripper works about four times as fast as a person who teleoperates a robot."""

SUCCESS_REWARD = 5.0
STEP_REWARD = -0.02


class TabletopEnv(FunctionalEnv):
    """A gripper at a table: one of the tasks lift, place, stack, drawer and cook.

    The action is velocity along x, y, z and the fingers' speed (-1 closes, 1 opens), and in cook
    the gripper's tilt; all in [-1, 1]. The reward is what the last step added to a potential of
    staged progress, minus 0.02 per step, plus 5 at success, which ends the episode: the goal has
    to hold for half a second. Nothing in the reward asks for safety.

    Args:
        task: ``"lift"``, ``"place"``, ``"stack"``, ``"drawer"`` or ``"cook"``.
        shift: ``None`` as in training, or one of ManiGuard's shifts ``"target"`` (another object),
            ``"location"`` (other places), ``"distractors"`` (more objects), ``"instruction"``
            (other words).
        propositions: Which propositions ``letter`` has: ``"task"``, what the shipped set
            ``tabletop_<task>`` uses; ``"own"``, the tabletop's own, which need no memory;
            ``"all"``, these and everything that the shipped set ``safemanip`` uses; or the names
            themselves. What is not asked for costs nothing.
        observe_memory: Whether the observation contains what the smoothing devices of these
            propositions remember, so that costs are Markov.
        demonstrated_starts: The share of episodes, 0 to 1, that begin on the way of a scripted
            policy instead of at the task's start. It is for training: a long task is learnt sooner.
        settings: The constants of the grounding.
        **parameters: Fields of ``TabletopParameters``.

    Raises:
        ConfigurationError: for an unknown task, shift or parameter.
        GroundingError: for a proposition that the scene lacks.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(
        self,
        task: str = "place",
        *,
        shift: str | None = None,
        propositions: str | Collection[str] = "all",
        observe_memory: bool = True,
        demonstrated_starts: float = 0.0,
        settings: GroundingSettings = SETTINGS,
        **parameters: float,
    ) -> None:
        super().__init__()
        if task not in TASKS:
            raise ConfigurationError(
                f"task {task!r} is not known{near(str(task), TASKS)}; use one of {', '.join(TASKS)}"
            )
        self.task = TASKS[task](shift, tabletop_parameters(parameters))
        self.layout = self.task.layout
        self.roles = scene_roles(self.task)
        self.settings = settings
        self.instruction = self.task.instruction
        self.max_episode_steps = self.task.horizon
        self.objects = self._objects()
        own = own_propositions(self.layout)
        names = self._wanted(propositions)
        if names is None:
            self._shared = proposition_names(self.roles)
            self._own = tuple(range(len(own)))
        else:
            self._shared = proposition_names(self.roles, [n for n in names if n not in own])
            self._own = tuple(i for i, name in enumerate(own) if name in names)
        self.proposition_names = (*self._shared, *(own[i] for i in self._own))
        self.observe_memory = observe_memory
        if not 0.0 <= demonstrated_starts <= 1.0:
            raise ConfigurationError(
                f"demonstrated_starts is a share from 0 to 1, got {demonstrated_starts!r}"
            )
        self._share = demonstrated_starts
        self._starts = demonstrated_starts_of(self.task) if demonstrated_starts else None
        self.action_space = Box(-1.0, 1.0, (5 if self.task.tilts else 4,), np.float32)
        size = jax.eval_shape(
            lambda key: self.observation(self.initial(key), key), jax.random.key(0)
        )
        self.observation_space = Box(-np.inf, np.inf, size.shape, np.float32)

    def _objects(self) -> Mapping[str, Sequence[str]]:
        kinds = dict(zip(self.task.kinds, self.layout.kinds, strict=True))
        return {
            **self.roles.properties,
            "target": self._targets(),
            "delicate": tuple(n for n, k in kinds.items() if k.tips or k.fragile or k.liquid),
            "fragile": tuple(name for name, kind in kinds.items() if kind.fragile),
            "container": tuple(name for name, kind in kinds.items() if kind.liquid),
        }

    def _targets(self) -> tuple[str, ...]:
        """The objects that the task moves."""
        kinds = dict(zip(self.task.kinds, self.layout.kinds, strict=True))
        return tuple(n for n in self.task.touchable if n in kinds and kinds[n].graspable)

    def _wanted(self, propositions: str | Collection[str]) -> tuple[str, ...] | None:
        if not isinstance(propositions, str):
            return tuple(propositions)
        if propositions == "all":
            return None
        if propositions == "task":
            specs = load_specs(f"tabletop_{self.task.name}").bind(self.objects)
            return tuple(specs.propositions)
        if propositions == "own":
            return own_propositions(self.layout)
        raise ConfigurationError(
            f"propositions must be 'task', 'own', 'all' or names, got {propositions!r}"
        )

    def initial(self, rng: Array, params: Any = None) -> TabletopState:
        """Draw a layout in which everything stands still, or a state that was demonstrated."""
        numbers = jax.random.uniform(rng, (RANDOM_NUMBERS,), jnp.float32)
        world = self.task.first_world(numbers)
        if self._starts is None:
            return self.first_state(world)
        choose, draw = jax.random.split(jax.random.fold_in(rng, 1))
        chosen = jax.random.randint(draw, (), 0, len(self._starts.stage))
        demonstrated = jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], self._starts)
        start = jax.tree.map(
            partial(jnp.where, jax.random.uniform(choose) < self._share),
            demonstrated,
            Start(world, jnp.zeros((), jnp.int32)),
        )
        return self.first_state(start.world, start.stage)

    def first_state(self, world: World, stage: Array | int = 0) -> TabletopState:
        """The first state of an episode that starts with ``world``, with ``stage`` stages done."""
        frame = still_frame(world, self.layout)
        scene = scene_arrays(world, world, frame, self.layout, self.roles)
        memory = initial_memory(self.roles, self.settings, scene, self._shared)
        memory, shared = ground(self.roles, self.settings, memory, scene, self._shared)
        stage = jnp.asarray(stage, jnp.int32)
        return TabletopState(
            world=world,
            stage=stage,
            progress=self.task.potential(world, stage),
            letter=self._join(shared, world, frame),
            grounding=memory,
            engaged=jnp.zeros((), bool),
            held_goal=jnp.zeros((), jnp.int32),
        )

    def transition(
        self, state: TabletopState, action: Array, rng: Array, params: Any = None
    ) -> TabletopState:
        """Advance by one control frame of 50 ms; ``rng`` is not used."""
        world, frame = advance(state.world, action, self.layout)
        scene = scene_arrays(state.world, world, frame, self.layout, self.roles)
        memory, shared = ground(self.roles, self.settings, state.grounding, scene, self._shared)
        stage = self.task.advance_stage(world, state.stage)
        goal = self.task.at_goal(world, stage)
        touched = state.engaged
        for touch, name in zip(frame.touches, self.task.kinds, strict=True):
            touched = touched | touch.robot if name in self.task.touchable else touched
        most = self.task.success_frames
        return TabletopState(
            world=world,
            stage=stage,
            progress=self.task.potential(world, stage),
            letter=self._join(shared, world, frame),
            grounding=memory,
            engaged=touched,
            held_goal=jnp.where(goal, jnp.minimum(state.held_goal + 1, most), 0),
        )

    def observation(self, state: TabletopState, rng: Array, params: Any = None) -> Array:
        """What the policy sees, float32 ``[D]``; see ``observing.observe``."""
        seen = observe(self.task, state)
        if not self.observe_memory:
            return seen
        memory = memory_features(self.roles, self.settings, state.grounding)
        return jnp.concatenate([seen, memory.astype(jnp.float32)])

    def reward(
        self,
        state: TabletopState,
        action: Array,
        next_state: TabletopState,
        rng: Array,
        params: Any = None,
    ) -> Array:
        """Progress made, less the time used, plus the bonus of success (float32)."""
        gained = next_state.progress - state.progress + STEP_REWARD
        return gained + jnp.where(self.success(next_state), SUCCESS_REWARD, 0.0)

    def terminal(self, state: TabletopState, rng: Array, params: Any = None) -> Array:
        """An episode terminates at success only (bool)."""
        return self.success(state)

    def letter(self, state: TabletopState) -> Array:
        """Bool ``[P]``."""
        return state.letter

    def success(self, state: TabletopState) -> Array:
        """Whether the goal has held for ``success_frames`` frames (bool)."""
        return state.held_goal >= self.task.success_frames

    def engaged(self, state: TabletopState) -> Array:
        """Whether the robot has touched an object that the task lets it touch (bool)."""
        return state.engaged

    def _join(self, shared: Array, world: World, frame: Frame) -> Array:
        if not self._own:
            return shared
        own = own_letter(world, frame, self.layout)
        return jnp.concatenate([shared, jnp.stack([own[i] for i in self._own])])

    def render_init(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        """What pictures keep: their size, from ``width`` and ``height`` (pixels)."""
        return {"width": kwargs.get("width", 320), "height": kwargs.get("height", 240)}

    def render_image(
        self, state: TabletopState, render_state: Any, params: Any = None
    ) -> tuple[Any, NDArray[np.uint8]]:
        """A picture of the state, uint8 ``[H, W, 3]``."""
        size = render_state or self.render_init()
        return render_state, draw(self.task, state.world, **size)
