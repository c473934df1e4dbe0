"""A family of demonstrations: a task, and the skeleton that says what to do in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from safe_rl.demonstrations.engine.segments import Segment
from safe_rl.demonstrations.engine.variation import Draw, Parameter
from safe_rl.demonstrations.primitives.grasps import Grasp
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite import RobosuiteEnv


@dataclass(frozen=True)
class Situation:
    """What a skeleton sees of an attempt.

    Attributes:
        scene: live; a skeleton looks at it again before each segment.
        draw: what was drawn for the attempt.
        grasps: thing to its grasps.
    """

    scene: Scene
    draw: Draw
    grasps: Mapping[str, Sequence[Grasp]]

    def number(self, name: str) -> float:
        """A drawn number."""
        return float(self.draw[name])


Skeleton = Callable[[Situation], Iterator[Segment]]


@dataclass(frozen=True)
class Family:
    """One task, and how it is demonstrated.

    Attributes:
        name: such as ``robosuite/stack``: the module under ``families`` that defines it.
        env_id: Gymnasium id.
        skeleton: the segments of an attempt, in order; it may look at the scene before each one.
        parameters: what is drawn for each attempt.
        grasps: thing that is taken to the name of its grasps in the shipped file.
        env_kwargs: of the environment.
        specs: the shipped set by which its episodes are judged.
        select: ids of that set's specifications; all by default.
        cameras: whose images can be recorded.
        instruction: the task in words, where the environment does not know it.
    """

    name: str
    env_id: str
    skeleton: Skeleton
    parameters: tuple[Parameter, ...]
    grasps: Mapping[str, str] = field(default_factory=dict)
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    specs: str = "safemanip"
    select: tuple[str, ...] | None = None
    cameras: tuple[str, ...] = ("agentview", "robot0_eye_in_hand")
    instruction: str = ""

    def make_env(self, **further: Any) -> gymnasium.Env[Any, Any]:
        """The environment; a goal that was held for ten steps is a success and ends nothing.

        Ended there, an episode would leave open what the monitors still wait for, such as that a
        thing which was let go comes to rest.

        Args:
            further: arguments of the environment.
        """
        import safe_rl.envs  # noqa: F401 - registers the ids

        settings = {
            "terminate_on_success": False,
            "success_steps": 10,
            **self.env_kwargs,
            **further,
        }
        made = gymnasium.make(self.env_id, disable_env_checker=True, **settings)
        assert isinstance(made.unwrapped, RobosuiteEnv)
        return made
