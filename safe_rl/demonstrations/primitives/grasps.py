"""Grasps as poses of the gripper in an object's frame, and the one file that keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from safe_rl.demonstrations.primitives.planner import PlanError
from safe_rl.demonstrations.primitives.pose import Pose, quaternion
from safe_rl.demonstrations.primitives.scene import Scene
from safe_rl.demonstrations.primitives.world import World
from safe_rl.errors import ConfigurationError, near
from safe_rl.files import write_whole

_FLIP = Pose(np.zeros(3), np.diag([-1.0, -1.0, 1.0]))  # the fingers are alike
_STEEPEST = np.cos(np.deg2rad(50))  # of the direction in which the gripper looks


@dataclass(frozen=True)
class Grasp:
    """Where the gripper is to close on an object.

    Attributes:
        pose: of the gripper, in the object's frame.
        width: m, of what is between the fingers.
    """

    pose: Pose
    width: float

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "position": [round(float(x), 5) for x in self.pose.position],
            "quaternion": [round(float(x), 5) for x in quaternion(self.pose.rotation)],
            "width": round(self.width, 5),
        }


def load_grasps(path: Path | None = None) -> dict[str, tuple[Grasp, ...]]:
    """Object to its grasps, from a file or from the one that is shipped.

    Raises:
        ConfigurationError: the file is damaged.
    """
    source = files("safe_rl.demonstrations") / "grasps.json" if path is None else path
    try:
        found = json.loads(source.read_text(encoding="utf-8"))
        return {
            str(name): tuple(
                Grasp(
                    Pose.of(np.array(g["position"], float), _unit(g["quaternion"])),
                    float(g["width"]),
                )
                for g in grasps
            )
            for name, grasps in found.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{source}: no file of grasps ({error})") from None


def _unit(numbers: Sequence[float]) -> Any:
    values = np.array(numbers, float)
    if values.shape != (4,) or not 0.99 < np.linalg.norm(values) < 1.01:
        raise ValueError(f"a quaternion is 4 numbers of length 1, not {numbers}")
    return values / np.linalg.norm(values)


def save_grasps(path: Path, grasps: Mapping[str, Sequence[Grasp]]) -> None:
    """Write the file that ``load_grasps`` reads: a line per grasp."""
    blocks = []
    for name in sorted(grasps):
        lines = ",\n".join(f"  {json.dumps(grasp.to_json())}" for grasp in grasps[name])
        blocks.append(f"{json.dumps(name)}: [\n{lines}\n]")
    write_whole(path, "{\n" + ",\n".join(blocks) + "\n}\n")


def grasps_of(name: str) -> tuple[Grasp, ...]:
    """The shipped grasps of an object.

    Raises:
        ConfigurationError: there are none.
    """
    known = load_grasps()
    if name not in known:
        raise ConfigurationError(
            f"no grasps of {name!r} are known{near(name, known)}; sample them with: safe-rl grasps"
        )
    return known[name]


def choose_grasp(
    scene: Scene, thing: str, grasps: Sequence[Grasp], quantile: float, approach: float = 0.08
) -> Pose:
    """A grasp in the world, from above, that the arm can reach and that hits nothing.

    Args:
        scene: as it is.
        thing: the object.
        grasps: in its frame.
        quantile: from 0 to 1, which of those that point down is tried first.
        approach: m, how far before the grasp the gripper must have room too.

    Raises:
        PlanError: none of them can be reached.
    """
    place, now = scene.pose(thing), scene.gripper
    options = []
    for grasp in grasps:
        either = (place @ grasp.pose, place @ grasp.pose @ _FLIP)
        pose = min(either, key=lambda option: now.apart(option)[1])
        if -pose.rotation[2, 2] >= _STEEPEST:
            options.append(pose)
    world = World(scene, held=None, touching=(thing,), clearance=0.0)
    first = int(quantile * len(options))
    for pose in options[first:] + options[:first]:
        before = world.reach(pose.back(approach), world.start)
        if before is None or not world.free(before):
            continue
        joints = world.reach(pose, before)
        if joints is not None and world.free(joints):
            return pose
    raise PlanError(f"none of {len(options)} grasps of {thing} from above can be reached")
