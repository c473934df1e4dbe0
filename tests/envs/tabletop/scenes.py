"""Scenes for the tabletop's tests: how to set one up, and how to lead the gripper through it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from safe_rl.envs.tabletop import TabletopEnv, TabletopState
from safe_rl.envs.tabletop.state import Body
from safe_rl.envs.tabletop.tasks.task import RANDOM_NUMBERS
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

OPEN, CLOSE, KEEP = 1.0, -0.8, -0.2
KEY = jax.random.key(0)
# Compiling is what takes the time here, not running.
FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


@cache
def environment(task: str, propositions: Any = "own", **arguments: Any) -> TabletopEnv:
    """A tabletop environment; by default without SafeManip's propositions, which compiles fast."""
    return TabletopEnv(task, propositions=propositions, **arguments)


@lru_cache(maxsize=8)
def _step(env: TabletopEnv) -> Any:
    return jax.jit(lambda state, action: env.transition(state, action, KEY), compiler_options=FAST)


@lru_cache(maxsize=8)
def _begin(env: TabletopEnv) -> Any:
    return jax.jit(env.first_state, compiler_options=FAST)


class Scene:
    """One episode that a test leads step by step; ``letters`` holds what was seen."""

    def __init__(self, env: TabletopEnv, seed: int = 0) -> None:
        self.env = env
        numbers = jax.random.uniform(jax.random.key(seed), (RANDOM_NUMBERS,))
        self.first = env.task.first_world(numbers)
        self.state: TabletopState = _begin(env)(self.first)
        self.letters = [self.letter()]

    def put(self, places: Mapping[str, tuple[float, float]], **world: Any) -> Scene:
        """Start anew with objects at other places; other parts of the world by name."""
        first = self.first
        bodies = list(first.bodies)
        for name, (x, y) in places.items():
            i = self.env.task.kinds.index(name)
            bodies[i] = bodies[i]._replace(x=jnp.float32(x), y=jnp.float32(y))
        values = {key: jnp.float32(value) for key, value in world.items()}
        gripper = first.gripper._replace(
            x=jnp.float32(0), y=jnp.float32(-0.05), z=jnp.float32(0.25)
        )
        changed = first._replace(bodies=tuple(bodies), gripper=gripper, **values)
        self.state = _begin(self.env)(changed)
        self.letters = [self.letter()]
        return self

    def letter(self) -> dict[str, bool]:
        """The present labels by name."""
        values = np.asarray(self.env.letter(self.state)).tolist()
        return dict(zip(self.env.proposition_names, values, strict=True))

    def step(self, *action: float) -> None:
        """Take one step; entries left out are zero."""
        whole = np.zeros(5 if self.env.task.tilts else 4, np.float32)
        whole[: len(action)] = action
        self.state = _step(self.env)(self.state, whole)
        self.letters.append(self.letter())

    def go(self, x: float, y: float, z: float, fingers: float, cap: float = 0.5) -> None:
        """Lead the finger tips to a place, in a straight line along each axis."""
        p = self.env.layout.parameters
        for _ in range(80):
            hand = self.state.world.gripper
            away = np.array([x - float(hand.x), y - float(hand.y), z - float(hand.z)])
            if np.abs(away).max() < 1e-3:
                return
            self.step(*np.clip(away / (p.speed * p.frame), -cap, cap), fingers)

    def wait(self, frames: int, fingers: float = 0.0, tilt: float = 0.0) -> None:
        """Stay for some frames."""
        for _ in range(frames):
            self.step(0.0, 0.0, 0.0, fingers, *([tilt] if self.env.task.tilts else []))

    def grasp(self, name: str, above: float = 0.2) -> None:
        """Take an object from above and lift it a little."""
        body = self.body(name)
        self.go(float(self.hand.x), float(self.hand.y), above, OPEN)
        self.go(float(body.x), float(body.y), above, OPEN)
        self.go(float(body.x), float(body.y), float(body.z) - 0.01, OPEN)
        self.wait(5, CLOSE)
        self.go(float(body.x), float(body.y), float(body.z) + 0.05, KEEP)

    def body(self, name: str) -> Body:
        """An object."""
        return self.state.world.bodies[self.env.task.kinds.index(name)]

    @property
    def hand(self) -> Any:
        """The gripper."""
        return self.state.world.gripper

    def counts(self, identity: str, library: str = "safemanip") -> tuple[int, int]:
        """Triggered events and violations of one specification over the letters seen."""
        specs = load_specs(library).select([identity]).bind(self.env.objects)
        monitor = Monitor(specs)
        triggered = violated = 0
        for i, letter in enumerate(self.letters):
            events = monitor.step(letter) if i else monitor.reset(letter)
            triggered += int(events.triggered.sum())
            violated += int(events.violated.sum())
        return triggered, violated
