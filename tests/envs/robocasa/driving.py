"""Drives the arm through the small kitchen, under one specification at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from safe_rl.envs.robocasa import RoboCasaEnv
from safe_rl.envs.robosuite.motions import CLOSE, OPEN, View, act
from safe_rl.monitors import Monitor
from safe_rl.specs import load_specs

from .standin import STANDING, Setup

Point = tuple[float, float, float]
Counts = tuple[int, int, int, int]

_DIP = np.deg2rad(40)
FORWARD = np.array(
    [[0.0, np.sin(_DIP), np.cos(_DIP)], [1.0, 0.0, 0.0], [0.0, np.cos(_DIP), -np.sin(_DIP)]]
)
"""The gripper points along x and down by 40 degrees, into the fixtures, and closes along y."""


class Drive:
    """One episode: where things stand, how far doors are open, and what the arm does."""

    def __init__(
        self,
        env: RoboCasaEnv,
        specification: str,
        *,
        places: dict[str, Point] | None = None,
        doors: dict[str, float] | None = None,
    ) -> None:
        kitchen: Any = env.simulation
        kitchen.setup = Setup({**STANDING, **(places or {})}, 0.0, doors or {})
        self.env = env
        self.specs = load_specs("safemanip").select([specification]).bind(env.objects)
        self.monitor = Monitor(self.specs)
        self.view = View(env.layout)
        self.view.values = env.reset(seed=0)[0].astype(np.float64)
        self.letters = [env.propositions()]
        self.monitor.reset(self.letters[0])
        self.violations: list[tuple[int, str]] = []
        self.grip = OPEN

    def step(self, action: np.ndarray) -> None:
        """One control step."""
        self.view.values = self.env.step(action)[0].astype(np.float64)
        letter = self.env.propositions()
        self.letters.append(letter)
        violated = self.monitor.step(letter).violated
        names = (i.id for i, v in zip(self.specs.instances, violated, strict=True) if v)
        self.violations += [(len(self.letters) - 1, name) for name in names]

    def go(self, *target: float, slow: float = 1.0, within: float = 0.012, most: int = 60) -> Drive:
        """Bring the finger tips' middle to a place, pointing forward."""
        for _ in range(most):
            if np.linalg.norm(np.array(target) - self.view["eef_pos"]) < within:
                break
            self.step(act(self.view, np.array(target), FORWARD, self.grip, slow))
        return self

    def wait(self, steps: int) -> Drive:
        """Stay."""
        place = self.view["eef_pos"].copy()
        for _ in range(steps):
            self.step(act(self.view, place, FORWARD, self.grip))
        return self

    def grab(self, x: float, y: float, z: float) -> Drive:
        """Come from the front, and close on what is there."""
        self.go(-0.08, y, 1.15, within=0.03).go(x - 0.085, y, z + 0.03, within=0.02)
        return self.go(x, y, z, slow=0.5, within=0.006).close()

    def close(self) -> Drive:
        """Close the fingers, until a debounced hold can have begun."""
        self.grip = CLOSE
        return self.wait(14)

    def open(self) -> Drive:
        """Open them."""
        self.grip = OPEN
        return self.wait(8)

    def when(self, proposition: str) -> list[int]:
        """The frames on which it is true."""
        return [i for i, letter in enumerate(self.letters) if letter[proposition]]

    def counts(self, **binding: str) -> Counts:
        """N, V, U and pending of one instance of the specification."""
        self.monitor.finish(truncated=True)
        (name,) = self.specs.ids
        inside = ",".join(f"{k}={v}" for k, v in binding.items())
        found = self.monitor.summary()[f"{name}[{inside}]" if inside else name]
        return (found.N, found.V, found.U, found.pending)
