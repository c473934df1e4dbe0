"""Recorded scene frames: what the grounding reads, so that it can be read again otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Episode
from safe_rl.errors import MissingDependencyError
from safe_rl.grounding import GroundingSettings, SceneArrays, SceneRoles
from safe_rl.grounding.arrays import ground, initial_memory, proposition_names

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class SceneRecording:
    """``E`` episodes frame by frame, the longest of ``L`` frames.

    Attributes:
        roles: who is in the scene.
        settings: the constants with which the environment grounds.
        frames: the facts, NumPy arrays ``[L, ..., E]``; beyond an episode's end anything.
        lengths: frames of each episode, int64 ``[E]``.
        terminated: bool ``[E]``.
        own_names: propositions that no constant decides.
        own_letters: theirs, bool ``[L, Q, E]``.
        objects: property to objects.
        env_id: of the environment.
    """

    roles: SceneRoles
    settings: GroundingSettings
    frames: SceneArrays
    lengths: NDArray[np.int64]
    terminated: Bools
    own_names: tuple[str, ...]
    own_letters: Bools
    objects: Mapping[str, tuple[str, ...]]
    env_id: str

    def ground(self, settings: GroundingSettings, propositions: tuple[str, ...]) -> list[Episode]:
        """Return the episodes as they are labelled under other constants.

        Args:
            settings: the constants.
            propositions: those that are wanted.

        Raises:
            GroundingError: the scene has no such proposition.
        """
        shared = tuple(name for name in propositions if name not in self.own_names)
        shared = tuple(proposition_names(self.roles, shared))
        letters = np.zeros((len(self.own_letters), len(shared), len(self.lengths)), np.bool_)
        if shared:
            memory = initial_memory(self.roles, settings, self._frame(0), shared)
            for time in range(len(letters)):
                memory, letters[time] = ground(
                    self.roles, settings, memory, self._frame(time), shared
                )
        together = np.concatenate([letters, self.own_letters], axis=1)
        return [
            Episode(
                propositions=(*shared, *self.own_names),
                letters=together[:length, :, row],
                rewards=np.zeros(length - 1),
                terminated=bool(self.terminated[row]),
                truncated=not self.terminated[row],
                objects=self.objects,
                env_id=self.env_id,
            )
            for row, length in enumerate(self.lengths)
        ]

    def _frame(self, time: int) -> SceneArrays:
        return SceneArrays(*(part[time] for part in self.frames))


MANNERS = ("careful", "hasty")


def record_tabletop(
    task: str, episodes: int, *, noise: float = 0.05, seed: int = 0, **parameters: Any
) -> SceneRecording:
    """Simulate scripted episodes of a tabletop task and keep what the grounding reads.

    Half of them are careful, half hasty, and noise on the actions brings them near the thresholds.
    No constant of the grounding enters the dynamics, so one simulation serves all of its settings.

    Args:
        task: ``"lift"``, ``"place"``, ``"stack"``, ``"drawer"`` or ``"cook"``.
        episodes: how many.
        noise: standard deviation of what is added to each action.
        seed: of layouts and noise.
        **parameters: of ``TabletopEnv``.

    Raises:
        MissingDependencyError: jax is not installed.
        ConfigurationError: an unknown task or parameter.
    """
    try:
        import jax
        import jax.numpy as jnp
    except ImportError as error:
        raise MissingDependencyError("jax", "jax", "simulating tabletop episodes") from error
    from safe_rl.envs.tabletop import TabletopEnv
    from safe_rl.envs.tabletop.dynamics import advance
    from safe_rl.envs.tabletop.labels import own_letter, own_propositions
    from safe_rl.envs.tabletop.scene import scene_arrays, still_frame
    from safe_rl.envs.tabletop.scripted import CAREFUL, HASTY, scripted_policy
    from safe_rl.envs.tabletop.starts import Start
    from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS

    env = TabletopEnv(task, **parameters)
    layout, roles = env.layout, env.roles
    styles = [scripted_policy(env.task, style) for style in (CAREFUL, HASTY)]

    def facts(before: Any, world: Any, frame: Any) -> tuple[Any, Any]:
        own = own_letter(world, frame, layout)
        return scene_arrays(before, world, frame, layout, roles), jnp.stack(own)

    def episode(numbers: Any, key: Any, hasty: Any, noise: Any) -> Any:
        world = env.task.first_world(numbers)

        def step(now: Any, key: Any) -> Any:
            start, held = now
            action = jnp.where(hasty, styles[1](start), styles[0](start))
            action = action + noise * jax.random.normal(key, action.shape)
            world, frame = advance(start.world, jnp.clip(action, -1.0, 1.0), layout)
            stage = env.task.advance_stage(world, start.stage)
            held = jnp.where(env.task.at_goal(world, stage), held + 1, 0)
            return (Start(world, stage), held), (facts(start.world, world, frame), held)

        first = facts(world, world, still_frame(world, layout))
        begin = (Start(world, jnp.zeros((), jnp.int32)), jnp.zeros((), jnp.int32))
        _, (rest, held) = jax.lax.scan(step, begin, jax.random.split(key, env.task.horizon))
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest), held

    draw, noises = jax.random.split(jax.random.key(seed))
    numbers = jax.random.uniform(draw, (episodes, RANDOM_NUMBERS), jnp.float32)
    hasty = jnp.arange(episodes) % 2 == 1
    keys = jax.random.split(noises, episodes)
    run = jax.jit(jax.vmap(episode, in_axes=(0, 0, 0, None)))
    (frames, own), held = run(numbers, keys, hasty, jnp.float32(noise))
    succeeded = np.asarray(held) >= env.task.success_frames  # [E, T]
    done: Bools = np.any(succeeded, axis=1)
    lengths = np.where(done, succeeded.argmax(axis=1) + 2, env.task.horizon + 1)
    return SceneRecording(
        roles=roles,
        settings=env.settings,
        frames=SceneArrays(*(np.moveaxis(np.asarray(part), 0, -1) for part in frames)),
        lengths=lengths.astype(np.int64),
        terminated=done,
        own_names=own_propositions(layout),
        own_letters=np.moveaxis(np.asarray(own), 0, -1),
        objects={kind: tuple(names) for kind, names in env.objects.items()},
        env_id=f"safe_rl/Tabletop{task.capitalize()}-v0",
    )
