"""Starts on the way: states that the scripted policies pass through, for episodes to begin in.

A long task is learnt much sooner if some episodes begin where a demonstration already was: Nair et
al., "Overcoming Exploration in Reinforcement Learning with Demonstrations" (2018), section IV-D.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from safe_rl.envs.tabletop.dynamics import advance
from safe_rl.envs.tabletop.resting import FIXTURE_SURFACES
from safe_rl.envs.tabletop.scripted import CAREFUL, HASTY, scripted_policy
from safe_rl.envs.tabletop.state import Array, World
from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS, Task

EPISODES = 64
"""Episodes of each scripted policy."""
RARE = 32
"""A phase that is seen in fewer frames than that is left out."""
STARTS = 2048
"""States that are kept of all of them."""


class Start(NamedTuple):
    """Where an episode begins.

    Attributes:
        world: everything that moves.
        stage: int32, how many stages of the task are done.
    """

    world: World
    stage: Array


def demonstrated_starts(task: Task) -> Start:
    """States from careful and hasty scripted episodes, the first axis of each leaf ``[STARTS]``.

    They are drawn evenly over the phases of the task (the stage, which objects are held, which rest
    on the table, and whether the gripper is contaminated), up to where the goal is first reached:
    letting go takes no longer than a frame, and would else hardly be among them. The same task
    always gives the same states.
    """
    numbers = jax.random.uniform(jax.random.key(0), (EPISODES, RANDOM_NUMBERS))
    begin = Start(jax.vmap(task.first_world)(numbers), jnp.zeros(EPISODES, jnp.int32))

    def roll_out(style: int) -> tuple[Start, Array]:
        policy = scripted_policy(task, (CAREFUL, HASTY)[style])

        def one(now: Start) -> tuple[Start, Array]:
            world, _ = advance(now.world, policy(now), task.layout)
            stage = task.advance_stage(world, now.stage)
            return Start(world, stage), task.at_goal(world, stage)

        def step(now: Start, _: None) -> tuple[Start, tuple[Start, Array]]:
            reached, done = jax.vmap(one)(now)
            return reached, (reached, done)

        return jax.lax.scan(step, begin, None, task.horizon)[1]

    parts = [jax.jit(roll_out, static_argnums=0)(style) for style in (0, 1)]
    states, done = jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *parts)
    before = np.cumsum(done, axis=0) == 0
    before &= done.any(axis=0)  # an episode that never reaches the goal shows nothing
    time, episode = np.nonzero(before)
    states = jax.tree.map(lambda leaf: leaf[time, episode], states)
    table = len(task.kinds) + FIXTURE_SURFACES.index("table")
    rests = [(body.held, body.support == table) for body in states.world.bodies]
    dirty = states.world.gripper.contaminated
    phase = np.stack([states.stage, dirty, *(part for pair in rests for part in pair)])
    _, number, sizes = np.unique(phase, axis=1, return_inverse=True, return_counts=True)
    weight = np.where(sizes < RARE, 0.0, 1.0 / sizes)[number.reshape(-1)]
    chosen = np.random.default_rng(0).choice(len(weight), STARTS, p=weight / weight.sum())
    found: Start = jax.tree.map(lambda leaf: leaf[chosen], states)
    return found
