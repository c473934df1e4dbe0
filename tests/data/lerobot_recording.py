"""Episodes with images, rules that annotate them, and a program that records until killed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from safe_rl.data import Episode, LeRobotWriter
from safe_rl.specs import Limit, Specification, SpecSet

NAMES = ("grasped(a)", "synced(a)", "grasped(b)", "synced(b)", "ask", "answer")
SPECS = SpecSet(
    [
        Specification(
            "held",
            "G(grasped(o) -> synced(o))",
            forall={"o": "graspable"},
            recovery="F synced(o)",
            weight=0.3,
            limit=Limit("per_trigger", 0.1, 3),
            says="Hold {o} steadily.",
        ),
        Specification("answered", "G(ask -> F answer)", phrases={"ask": ("one asks", "none asks")}),
    ]
)
FPS = 20


def recorded(number: int, *, steps: int | None = None, images: bool = True, **fields) -> Episode:
    """The ``number``-th episode: all of it follows from the number."""
    random = np.random.default_rng(number)
    steps = int(random.integers(1, 6)) if steps is None else steps
    seen = {"state": random.normal(size=(steps + 1, 3)).astype(np.float32)}
    seen["touch.left"] = random.normal(size=(steps + 1, 2, 2))
    if images:
        seen["images.front"] = random.integers(0, 256, (steps + 1, 24, 32, 3), np.uint8)
    terminated = bool(random.integers(2))
    plain = {
        "propositions": NAMES,
        "letters": random.random((steps + 1, len(NAMES))) < 0.5,
        "rewards": random.normal(size=steps),
        "terminated": terminated,
        "truncated": not terminated,
        "success": (True, False, None)[number % 3],
        "engaged": None if number % 4 == 3 else random.random(steps + 1) < 0.5,
        "objects": {"graspable": ("a", "b")},
        "env_id": "some/Env-v0",
        "instruction": f"hold it {number % 2}",
        "seed": None if number % 5 == 4 else number,
        "actions": random.normal(size=(steps, 4)).astype(np.float32),
        "states": random.normal(size=(steps + 1, 7)),
        "placements": {"door": tuple(random.normal(size=7).tolist())},
        "observations": seen,
    }
    return Episode(**{**plain, **fields})


def main(root: str, count: int) -> None:
    """Record episodes up to ``count``, going on with what is there; say how many there are."""
    with LeRobotWriter(Path(root), fps=FPS, specs=SPECS, resume=True) as writer:
        print(len(writer.episodes), flush=True)
        for number in range(len(writer.episodes), count):
            writer.add(recorded(number), labels={"number": number})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
