"""Two blocks on the tabletop and an instruction that says which to lift, seen by a camera.

The blocks' places are exchangeable and the script is the same for both, so that nothing but picture
and words tells which block is meant.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.raycast import Camera, render
from safe_rl.envs.tabletop.dynamics import advance
from safe_rl.envs.tabletop.observing import PER_METRE
from safe_rl.envs.tabletop.parameters import TabletopParameters
from safe_rl.envs.tabletop.picture import shapes
from safe_rl.envs.tabletop.state import Array, World
from safe_rl.envs.tabletop.tasks.lift import Lift
from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS, between

CAMERA = "front"
VIEW = Camera((0.0, -0.62, 0.62), (0.0, 0.0, 0.06), 32.0, 64, 64)
FINGERS = TabletopParameters(finger_open=0.055)
"""Wider than a Panda's: a pixel of this camera is a centimetre."""
HORIZON = 70
OPEN, CLOSE = 1.0, -0.7
LIFTED = 0.1
"""m above the table at which a block counts as lifted."""


class LiftRed(Lift):
    """Lift the red block; the blue one stands beside it."""

    base_kinds = ("block", "base")
    touched = ("block",)
    instructions = ("lift the red block", "raise the red block into the air")

    def places(self, u: list[Array]) -> list[tuple[Array, Array]]:
        """Two places 12 to 20 cm apart, either of which may be the one that is meant."""
        x, y = between(u[0], -0.05, 0.05), between(u[1], -0.05, 0.05)
        half, angle = between(u[2], 0.06, 0.10), 6.2831853 * u[3]
        dx, dy = half * jnp.cos(angle), half * jnp.sin(angle)
        return [(x + dx, y + dy), (x - dx, y - dy)]


class LiftBlue(LiftRed):
    """Lift the blue block."""

    base_kinds = ("base", "block")
    touched = ("base",)
    instructions = ("lift the blue block", "raise the blue block into the air")


TASKS = (LiftRed(None, FINGERS), LiftBlue(None, FINGERS))
INSTRUCTIONS = tuple(task.instruction for task in TASKS)


@partial(jax.jit, static_argnums=0)
def start(which: int, key: Array) -> World:
    """The first state of an episode."""
    return TASKS[which].first_world(jax.random.uniform(key, (RANDOM_NUMBERS,), jnp.float32))


@partial(jax.jit, static_argnums=0)
def step(which: int, world: World, action: Array) -> World:
    """The state 50 ms later."""
    return advance(world, action, TASKS[which].layout)[0]


@partial(jax.jit, static_argnums=0)
def script(which: int, world: World) -> Array:
    """Which way to go to the meant block, down a funnel over it, and what the fingers do, ``[4]``.

    What it does changes over centimetres, as far as a camera can tell; the tabletop's own scripts
    decide by millimetres.
    """
    hand, body = world.gripper, world.bodies[0]
    aside = jnp.hypot(body.x - hand.x, body.y - hand.y)
    grip = body.z - 0.004
    down = grip + jnp.clip(2.0 * (aside - 0.01), 0.0, 0.16)
    there = (hand.z < grip + 0.015) & (aside < 0.025)
    to = [body.x, body.y, jnp.where(there, hand.z, down)]
    to[2] = jnp.where(body.held, 0.25, to[2])
    per_step = TASKS[which].layout.parameters.speed * TASKS[which].layout.parameters.frame
    now = [hand.x, hand.y, hand.z]
    move = [jnp.clip(0.5 * (g - h) / per_step, -0.5, 0.5) for g, h in zip(to, now, strict=True)]
    return jnp.stack([*move, jnp.where(there | body.held, CLOSE, OPEN)])


def drawn(generator: np.random.Generator) -> tuple[int, Array]:
    """Draw which block is meant, and the key of a layout."""
    which = int(generator.integers(2))
    return which, jax.random.key(int(generator.integers(2**31)))


def proprioception(world: World) -> NDArray[np.float32]:
    """The gripper's place and opening, numbers of order one, ``[..., 4]``.

    Its velocity is left out: it tells what the script has just done, and a clone would go on so.
    """
    hand = world.gripper
    values = [PER_METRE * v for v in (hand.x, hand.y, hand.z)]
    values.append(hand.opening / FINGERS.finger_open)
    return np.stack(values, axis=-1).astype(np.float32)


def picture(which: int, world: World) -> NDArray[np.uint8]:
    """What the camera sees."""
    return render(shapes(TASKS[which], world), VIEW)


def lifted_first(which: int, world: World) -> NDArray[np.int64]:
    """Which block is off the table: 0 the one that is meant, 1 the other, -1 none, ``[...]``."""
    raised = [
        body.held & (body.z - 0.5 * kind.height > LIFTED)
        for body, kind in zip(world.bodies, TASKS[which].layout.kinds, strict=True)
    ]
    return np.where(raised[0], 0, np.where(raised[1], 1, -1))


class TwoBlocks(gym.Env[dict[str, NDArray[Any]], NDArray[Any]]):
    """``TwoBlocks(look_every=k)``: the picture is drawn anew every ``k`` steps of an episode.

    ``reset(seed=..., options={"which": 0})`` chooses layout and block; without the option the seed
    draws the block too. The state is the gripper's own: place and opening.
    ``info["lifted"]`` is the block that was lifted first: 0 the one that is meant, 1 the other, -1
    none yet. Either ends the episode.
    """

    observation_space = gym.spaces.Dict(
        {
            "state": gym.spaces.Box(-np.inf, np.inf, (4,), np.float32),
            CAMERA: gym.spaces.Box(0, 255, (VIEW.height, VIEW.width, 3), np.uint8),
        }
    )
    action_space = gym.spaces.Box(-1.0, 1.0, (4,), np.float32)

    def __init__(self, look_every: int = 1) -> None:
        self._look_every = look_every
        self._which, self._time = 0, 0
        self.instruction = INSTRUCTIONS[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Draw a layout."""
        super().reset(seed=seed)
        which, key = drawn(self.np_random)
        self._which = (options or {}).get("which", which)
        self.instruction = INSTRUCTIONS[self._which]
        self._time = 0
        self._world = jax.device_get(start(self._which, key))
        return self._observation(), self._info()

    def step(
        self, action: NDArray[Any]
    ) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Advance by 50 ms."""
        self._time += 1
        self._world = jax.device_get(step(self._which, self._world, np.float32(action)))
        info = self._info()
        over = info["lifted"] >= 0
        cut = not over and self._time >= HORIZON
        return self._observation(), float(info["success"]), over, cut, info

    def scripted_action(self) -> NDArray[np.float32]:
        """What the script does now."""
        return np.asarray(script(self._which, self._world))

    def _info(self) -> dict[str, Any]:
        lifted = int(lifted_first(self._which, self._world))
        return {"success": lifted == 0, "lifted": lifted}

    def _observation(self) -> dict[str, NDArray[Any]]:
        if self._time % self._look_every == 0:
            self._picture = picture(self._which, self._world)
        return {"state": proprioception(self._world), CAMERA: self._picture}
