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
from safe_rl.envs.tabletop.scripted import CAREFUL, HASTY, scripted_policy
from safe_rl.envs.tabletop.state import Array, World
from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS, Task

EPISODES = 64
"""Episodes of each scripted policy."""
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

    They are drawn evenly over the time of each episode, up to where the goal is first reached; an
    episode in which it is not reached gives none. The same task always gives the same states.
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
    length = np.where(done.any(axis=0), done.argmax(axis=0), 0)
    reached = np.flatnonzero(length)
    rng = np.random.default_rng(0)
    episode = rng.choice(reached, STARTS)
    time = (rng.random(STARTS) * length[episode]).astype(np.intp)
    found: Start = jax.tree.map(lambda leaf: leaf[time, episode], states)
    return found
