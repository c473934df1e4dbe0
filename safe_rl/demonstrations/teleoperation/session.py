"""One teleoperated attempt: led by a device, recorded and gated as every other."""

from __future__ import annotations

import time
from collections.abc import Iterator

from safe_rl.demonstrations.engine.attempt import Attempt, Demonstrator
from safe_rl.demonstrations.primitives.controller import Action
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.teleoperation.leader import Leader, Retargeting

_PERIOD = 0.05  # s


def teleoperate(
    demonstrator: Demonstrator, leader: Leader, index: int, *, paced: bool = False
) -> Attempt:
    """One attempt led by a device.

    Args:
        demonstrator: environment, monitors and gates.
        leader: the device.
        index: number of the attempt, which decides the scene.
        paced: wait for the wall clock, so that a step takes 50 ms for the person who leads.
    """

    def lead(scene: Scene) -> Iterator[Action]:
        leader.start(scene)
        retargeting = Retargeting(scene)
        due = time.monotonic()
        while (command := leader.read()) is not None:
            yield retargeting.action(command)
            due += _PERIOD
            if paced:
                time.sleep(max(0.0, due - time.monotonic()))

    return demonstrator.led(index, lead)
