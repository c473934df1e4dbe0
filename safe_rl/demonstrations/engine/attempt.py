"""One attempt at a demonstration: draw, plan, execute, gate, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from safe_rl.data import Episode
from safe_rl.demonstrations.engine.execute import Executor, GraspMissedError, stay
from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.gate import Outcome, Reason, judge
from safe_rl.demonstrations.engine.variation import Draw, Mixture
from safe_rl.demonstrations.primitives.cameras import Cameras
from safe_rl.demonstrations.primitives.controller import Action
from safe_rl.demonstrations.primitives.grasps import grasps_of
from safe_rl.demonstrations.primitives.planner import PlanError
from safe_rl.demonstrations.primitives.recorder import Recorder
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.envs.robosuite import RobosuiteEnv
from safe_rl.envs.robosuite.motions import KEEP
from safe_rl.specs import SpecSet, load_specs
from safe_rl.wrappers import ProductMDP

_PATIENCE = 40  # control steps in which a goal may still come to be held


@dataclass(frozen=True)
class Attempt:
    """What one attempt brought.

    Attributes:
        index: its number in the collection; with the collection's seed it decides everything.
        seed: of the environment's reset.
        draw: what was drawn for it.
        outcome: what the gates say.
        episode: what was recorded.
    """

    index: int
    seed: int
    draw: Draw
    outcome: Outcome
    episode: Episode


def attempt_seed(base: int, index: int) -> int:
    """The seed of the environment in attempt ``index`` of a collection, below 2^31.

    >>> attempt_seed(0, 0) == attempt_seed(0, 0) != attempt_seed(0, 1)
    True
    """
    return int(np.random.SeedSequence([base, index]).generate_state(1)[0] >> 1)


def family_specs(family: Family) -> SpecSet:
    """The specifications by which a family's attempts are judged unless others are given."""
    specs = load_specs(family.specs)
    return specs if family.select is None else specs.select(family.select)


class Demonstrator:
    """Makes attempts at a family's task; each depends on the seed and its number alone."""

    def __init__(
        self,
        family: Family,
        mixture: Mixture,
        *,
        specs: SpecSet | None = None,
        seed: int = 0,
        image_size: int = 0,
        cameras: Sequence[str] | None = None,
    ) -> None:
        """Build the environment.

        Args:
            family: whose task.
            mixture: of the draws.
            specs: by which episodes are judged; default: the family's.
            seed: of all attempts.
            image_size: pixels to a side of the images that are recorded; 0 records none.
            cameras: whose; default: the family's.
        """
        self.family, self.mixture, self.seed = family, mixture, seed
        specs = family_specs(family) if specs is None else specs
        self.env = ProductMDP(family.make_env(), specs, features=None)
        base = self.env.unwrapped
        assert isinstance(base, RobosuiteEnv)
        self._base = base
        self._grasps = {thing: grasps_of(name) for thing, name in family.grasps.items()}
        names = family.cameras if cameras is None else cameras
        self.cameras = Cameras(base, names, image_size) if image_size else None

    def attempt(self, index: int) -> Attempt:
        """Make attempt ``index`` by the family's skeleton."""
        rng = np.random.default_rng([self.seed, index])
        draw = self.mixture.draw(rng)

        def perform(scene: Scene) -> Iterator[Action]:
            executor = Executor(scene, rng)
            for segment in self.family.skeleton(Situation(scene, draw, self._grasps)):
                yield from executor.run(segment)

        return self.led(index, perform, draw)

    def led(
        self, index: int, perform: Callable[[Scene], Iterator[Action]], draw: Draw | None = None
    ) -> Attempt:
        """Make attempt ``index`` by the actions that ``perform`` yields.

        Args:
            index: with the seed it decides the scene.
            perform: looks at the scene before each action.
            draw: what was drawn, to be noted.
        """
        seed = attempt_seed(self.seed, index)
        recorder = Recorder(self.env, seed, self.cameras)
        scene = Scene(self._base)
        failed, message = None, ""
        try:
            take_steps(recorder, perform(scene))
            waiting = stay(scene, _PATIENCE, KEEP)
            take_steps(recorder, takewhile(lambda _: not recorder.info["success"], waiting))
        except PlanError as error:
            failed, message = Reason.PLAN_FAILED, str(error)
        except GraspMissedError as error:
            failed, message = Reason.GRASP_MISSED, str(error)
        if not recorder.steps:  # an episode has at least one
            take_steps(recorder, stay(scene, 1, KEEP))
        episode = recorder.finish(instruction=self.family.instruction)
        outcome = judge(self.env.specs, recorder.info, failed, message)
        return Attempt(index, seed, draw or {}, outcome, episode)

    def close(self) -> None:
        """Free the simulation."""
        if self.cameras is not None:
            self.cameras.close()
        self.env.close()


def take_steps(recorder: Recorder, actions: Iterator[Action]) -> None:
    """Take actions until there are no more, or the environment ends the episode."""
    if recorder.ended:
        return
    for action in actions:
        recorder.step(action)
        if recorder.ended:
            return
