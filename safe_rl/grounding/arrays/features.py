"""The memory of the array grounding as numbers in [0, 1], for observations.

With them beside the scene's own facts, the next frame's propositions depend on nothing older, but
for poses, distances and amounts of one frame ago (a velocity tells as much), the excused first
contacts, and what each object last rested on. The ages
of pairs are given as the highest age of each object, and a spot as whether it exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from safe_rl.grounding.arrays.constants import numbers
from safe_rl.grounding.arrays.devices import Debounce
from safe_rl.grounding.arrays.grounding import Memory, initial_memory
from safe_rl.grounding.arrays.onsets import ApproachMemory
from safe_rl.grounding.arrays.scene import Array, SceneRoles, empty_scene
from safe_rl.grounding.arrays.staging import any_of, greatest_of
from safe_rl.grounding.settings import GroundingSettings


class _Entry(NamedTuple):
    """Some of the memory: its name, the axis that it has besides the batch's, its largest value."""

    name: str
    axis: str
    value: Array
    most: int = 1


def memory_features(roles: SceneRoles, settings: GroundingSettings, memory: Memory) -> Array:
    """Float32 ``[K, ...]`` in [0, 1]; the columns are ``memory_feature_names``."""
    xp = array_namespace(memory.joints)
    pieces = []
    for entry in _entries(xp, roles, settings, memory):
        number = xp.astype(entry.value, xp.float32)
        number = number / np.float32(entry.most) if entry.most > 1 else number
        pieces.append(number if entry.axis else number[None])
    if not pieces:
        return xp.zeros((0, *memory.joints.shape[1:]), dtype=xp.float32)
    return xp.concat(pieces, axis=0)


def memory_feature_names(
    roles: SceneRoles, settings: GroundingSettings, names: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """What each column of ``memory_features`` is, for the memory of these propositions."""
    memory = initial_memory(roles, settings, empty_scene(roles, np), names)
    elements = {
        "O": roles.object_names,
        "F": roles.fixture_names,
        "A": tuple(part.name for part in roles.components),
    }
    found: list[str] = []
    for entry in _entries(array_namespace(memory.joints), roles, settings, memory):
        found += (
            [f"{entry.name}({e})" for e in elements[entry.axis]] if entry.axis else [entry.name]
        )
    return tuple(found)


def _entries(
    xp: ModuleType, roles: SceneRoles, settings: GroundingSettings, memory: Memory
) -> Iterator[_Entry]:
    tolerance = settings.forbidden_contact_tolerance + 1
    if (grasps := memory.grasps) is not None:
        yield _Entry("grasped_raw", "O", grasps.raw)
        yield _Entry("release_evidence", "O", grasps.evidence)
        yield from _debounce("grasped", "O", grasps.grasped, settings.grasp_window)
        yield from _debounce("stable", "O", grasps.stable, settings.stability_window)
        yield _Entry("settle_timeout", "O", grasps.elapsed, settings.settle_timeout + 1)
        yield _Entry("gripper_opening", "", grasps.opening)
    if (contacts := memory.contacts) is not None:
        yield _Entry("forbidden_contact_age", "", contacts.age, tolerance)
    if (marks := memory.hygiene) is not None:
        yield _Entry("contaminated", "O", marks.objects)
        yield _Entry("contaminated_part", "A", marks.components)
        yield _Entry("contaminated_robot", "", marks.robot)
        yield _Entry("raw_contact_age", "", marks.raw_age, tolerance)
        yield _Entry("clean_contact_age", "", marks.clean_age, tolerance)
        yield _Entry("exposure_age", "O", greatest_of(xp, marks.pair_age, axis=1), tolerance)
        yield _Entry("smear_age", "O", marks.robot_age, tolerance)
        yield _Entry("smear_age_part", "A", marks.component_age, tolerance)
        yield _Entry("resting_age", "O", marks.rest_age, tolerance)
        yield _Entry("left_spot", "O", marks.spot_fixture < len(roles.fixtures))
    if (onsets := memory.onsets) is not None:
        window = settings.onset_window
        yield from _approach("approach", "O", onsets.pick, roles.object_names, window)
        parts = tuple(part.name for part in roles.components)
        yield from _approach("approach_part", "A", onsets.action, parts, window)
        yield _Entry("was_held", "O", onsets.was_held)
        yield _Entry("outside_gripper", "O", onsets.left)
        yield _Entry("placed", "O", _one_hot(onsets.placed, len(roles.objects)))
    if (joints := memory.mechanism) is not None:
        for way in ("open", "close"):
            yield _Entry(f"{way}_hit", "F", getattr(joints, f"{way}_hit"))
            elapsed = getattr(joints, f"{way}_elapsed")
            yield _Entry(f"{way}_retract_timeout", "F", elapsed, settings.retract_timeout + 1)
    if (contents := memory.containment) is not None:
        yield _Entry("contained", "O", any_of(xp, contents.contained, axis=1))
        entry = greatest_of(xp, contents.entry, axis=1)
        yield _Entry("entry_age", "O", entry, settings.content_window)
        yield _Entry("dumping", "O", contents.dumping)
        yield _Entry("dump_idle", "O", contents.idle, settings.onset_window + 1)
        yield _Entry("in_transfer", "O", contents.moved)
        yield _Entry("poured", "", contents.poured)
        yield _Entry("tap", "F", contents.taps)
        yield _Entry("running", "F", contents.running)
        yield from _debounce("tap_settled", "", contents.tap_settled, settings.stability_window)
        most = settings.settle_timeout + 1
        yield _Entry("solid_timeout", "", contents.solid_elapsed, most)
        yield _Entry("liquid_timeout", "", contents.liquid_elapsed, most)
    if (interior := memory.enclosure) is not None:
        yield _Entry("reached", "F", interior.reached)
        yield _Entry("active", "O", interior.active)
        for fixture in interiors_of(roles):
            name = roles.fixture_names[fixture]
            yield _Entry(f"entered_{name}", "O", interior.entered[:, fixture])
            yield _Entry(f"within_{name}", "O", interior.within[:, fixture])
        yield from _debounce("empty", "F", interior.empty, settings.occupancy_window)


def interiors_of(roles: SceneRoles) -> tuple[int, ...]:
    """Places of the enclosures along the axis ``F``."""
    return tuple(i for i, fixture in enumerate(roles.fixtures) if fixture.is_enclosure)


def _debounce(name: str, axis: str, state: Debounce, window: int) -> Iterator[_Entry]:
    yield _Entry(name, axis, state.value)
    yield _Entry(f"{name}_debounce", axis, state.count, window)


def _approach(
    name: str, axis: str, state: ApproachMemory, elements: tuple[str, ...], window: int
) -> Iterator[_Entry]:
    yield _Entry(name, axis, state.age, 2 * window)
    yield _Entry(f"{name}_target", axis, _one_hot(state.target, len(elements)))


def _one_hot(index: Array, count: int) -> Array:
    return index[None] == numbers(count, index.ndim)
