"""Families of LIBERO's tasks "put this on (in) that": each says what goes where."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safe_rl.demonstrations.engine.family import Family, Situation
from safe_rl.demonstrations.engine.segments import Segment
from safe_rl.demonstrations.families.carrying import CARRYING, begin, bring, put, take


def placing(
    name: str,
    suite: str,
    task: str,
    *,
    thing: str,
    on: str,
    site: str | None = None,
    above: float = 0.05,
) -> Family:
    """A family that takes a thing and puts it on something.

    Args:
        name: of the family.
        suite: LIBERO's.
        task: LIBERO's name of it.
        thing: the object; its category names its grasps.
        on: the object or fixture that it comes to stand on.
        site: where; the middle of ``on`` by default.
        above: m, from which it is lowered.
    """

    def skeleton(situation: Situation) -> Iterator[Segment]:
        scene = situation.scene
        yield from begin(situation)
        yield from take(situation, thing)
        low, high = scene.bounds(on)
        middle = (low + high) / 2 if site is None else scene.site_position(site)
        floor = low[2] if site is None else middle[2]
        yield from bring(situation, thing, np.array([*middle[:2], max(floor, high[2])]), above)
        yield from put(situation, thing, on)

    return Family(
        name=name,
        env_id="safe_rl/Libero-v0",
        skeleton=skeleton,
        parameters=CARRYING,
        grasps={thing: f"libero/{thing.rsplit('_', 1)[0]}"},
        env_kwargs={"suite": suite, "task": task},
    )
