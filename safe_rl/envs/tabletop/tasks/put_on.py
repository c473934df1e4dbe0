"""Putting one thing onto another: what place and stack share."""

from __future__ import annotations

import jax.numpy as jnp

from safe_rl.envs.tabletop.state import Array, World
from safe_rl.envs.tabletop.tasks.task import Focus, Task, cleared, fetching, focus_on, rests_on


class PutOn(Task):
    """Put the first object onto the second one and let it go."""

    def potential(self, world: World, stage: Array) -> Array:
        """Reach, hold, carry, let go, clear."""
        body, half = world.bodies[0], 0.5 * self.layout.kinds[0].height
        offset = self.focus(world, stage).offset
        done = rests_on(body, 1)
        placed = 1.2 + 0.3 * cleared(world.gripper, body, half)
        fetched = fetching(world.gripper, body, self.layout.kinds[0], offset)
        return 2.0 * jnp.where(done, placed, fetched)

    def focus(self, world: World, stage: Array) -> Focus:
        """The first object, and its place on the second."""
        below = world.bodies[1]
        top = below.z + 0.5 * self.layout.kinds[1].height
        return focus_on(world.bodies[0], below.x, below.y, top + 0.5 * self.layout.kinds[0].height)

    def at_goal(self, world: World, stage: Array) -> Array:
        """The first object rests on the second and the gripper has cleared it."""
        half = 0.5 * self.layout.kinds[0].height
        free = world.gripper.z > world.bodies[0].z + half + 0.012
        return rests_on(world.bodies[0], 1) & free
