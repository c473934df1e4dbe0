"""One control frame to one letter, on arrays: every proposition of SafeManip's specifications.

Pure functions in numpy or jax (jit, vmap, scan) for one frame, or for a batch of any shape in the
*last* axes (see :mod:`safe_rl.grounding.arrays.scene`). Roles, settings and names are static.
``initial_memory`` is made from the first frame, and grounding that same frame
with it gives the letter of the first frame: levels as they stand, no edges.

    memory = initial_memory(roles, settings, first)
    memory, letter = ground(roles, settings, memory, first)   # the letter for the monitors' reset
    memory, letter = ground(roles, settings, memory, second)  # and so on

What each subject approximates is said in its module.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

from array_api_compat import array_namespace

from safe_rl.grounding.arrays.constants import RoleArrays, role_arrays
from safe_rl.grounding.arrays.contacts import ContactMemory, initial_contacts, step_contacts
from safe_rl.grounding.arrays.containment import (
    ContainmentFacts,
    ContainmentMemory,
    initial_containment,
    step_containment,
)
from safe_rl.grounding.arrays.contamination import (
    ContaminationMemory,
    initial_contamination,
    step_contamination,
)
from safe_rl.grounding.arrays.enclosure import (
    EnclosureMemory,
    initial_enclosure,
    step_enclosure,
)
from safe_rl.grounding.arrays.geometry import quaternions, world_half
from safe_rl.grounding.arrays.grasping import (
    GraspFacts,
    GraspMemory,
    initial_grasps,
    step_grasps,
)
from safe_rl.grounding.arrays.mechanism import (
    MechanismMemory,
    initial_mechanism,
    joint_motion,
    step_mechanism,
)
from safe_rl.grounding.arrays.onsets import OnsetFacts, OnsetMemory, initial_onsets, step_onsets
from safe_rl.grounding.arrays.preconditions import (
    action_ready,
    destination_ready,
    is_upright,
    pick_ready,
    placed_mover,
    poured_mover,
)
from safe_rl.grounding.arrays.scene import SKILLS, Array, SceneArrays, SceneRoles
from safe_rl.grounding.arrays.staging import any_of, computed_once
from safe_rl.grounding.arrays.vocabulary import Column, vocabulary
from safe_rl.grounding.settings import GroundingSettings


class Memory(NamedTuple):
    """What the grounding remembers between frames; ``None`` for parts that were not asked for.

    Attributes:
        joints: float ``[F, ...]``, the open fractions one frame ago.
        grasps: of grasp and release.
        contacts: of forbidden contact.
        hygiene: of contamination.
        onsets: of skills that start.
        mechanism: of joints and obstacles.
        containment: of contents and transfers.
        enclosure: of interiors.
    """

    joints: Array
    grasps: GraspMemory | None
    contacts: ContactMemory | None
    hygiene: ContaminationMemory | None
    onsets: OnsetMemory | None
    mechanism: MechanismMemory | None
    containment: ContainmentMemory | None
    enclosure: EnclosureMemory | None


def initial_memory(
    roles: SceneRoles,
    settings: GroundingSettings,
    frame: SceneArrays,
    names: tuple[str, ...] | None = None,
) -> Memory:
    """The memory with which the first frame is to be grounded.

    Args:
        roles: who is in the scene.
        settings: the constants.
        frame: the first frame of each episode.
        names: the propositions that will be asked for; default: all.
    """
    xp, arrays = (
        array_namespace(frame.gripper_position),
        scene_constants(roles, settings, frame.sanitising.ndim),
    )
    parts = vocabulary(roles, names).parts
    half = world_half(quaternions(frame.object_quaternions), arrays.half)
    half = computed_once(xp, half)
    grasps = initial_grasps(xp, arrays, settings, frame)
    held = grasps.grasped.value
    return Memory(
        joints=frame.joint_fractions,
        grasps=grasps if "grasps" in parts else None,
        contacts=initial_contacts(xp, arrays, frame) if "contacts" in parts else None,
        hygiene=initial_contamination(xp, arrays, frame) if "hygiene" in parts else None,
        onsets=initial_onsets(xp, frame) if "onsets" in parts else None,
        mechanism=initial_mechanism(xp, frame) if "mechanism" in parts else None,
        containment=(
            initial_containment(xp, arrays, settings, frame, half)
            if "containment" in parts
            else None
        ),
        enclosure=(
            initial_enclosure(xp, arrays, frame, held, half) if "enclosure" in parts else None
        ),
    )


def ground(
    roles: SceneRoles,
    settings: GroundingSettings,
    memory: Memory,
    frame: SceneArrays,
    names: tuple[str, ...] | None = None,
) -> tuple[Memory, Array]:
    """The next memory and the letter of a frame.

    Args:
        roles: who is in the scene.
        settings: the constants.
        memory: what ``initial_memory`` or the frame before gave, for the same names.
        frame: the facts.
        names: the propositions asked for; what they do not need is not computed. Default: all.

    Returns:
        The memory, and the letter: bool ``[P, ...]``, columns ``proposition_names(roles, names)``.

    Raises:
        GroundingError: for a name that this scene has no proposition of.
    """
    xp, arrays = (
        array_namespace(frame.gripper_position),
        scene_constants(roles, settings, frame.sanitising.ndim),
    )
    words = vocabulary(roles, names)
    values: dict[str, Array] = {}
    following = _advance(xp, roles, arrays, settings, words.parts, memory, frame, values)
    pieces = [_bind(xp, values[c.kind.head], c) for c in words.columns]
    if not pieces:
        return following, xp.zeros((0, *frame.sanitising.shape), dtype=bool)
    return following, xp.concat(pieces, axis=0)


def scene_constants(
    roles: SceneRoles, settings: GroundingSettings, batch_axes: int = 0
) -> RoleArrays:
    """The roles as constant arrays, to be broadcast over so many trailing batch axes."""
    return role_arrays(
        roles,
        settings.interior_shrink,
        settings.interior_shrink_most,
        settings.contamination_radius,
        batch_axes,
    )


def _advance(
    xp: ModuleType,
    roles: SceneRoles,
    arrays: RoleArrays,
    settings: GroundingSettings,
    parts: frozenset[str],
    memory: Memory,
    frame: SceneArrays,
    values: dict[str, Array],
) -> Memory:
    """The next memory; fills ``values`` with each proposition's array by its head."""
    half = world_half(quaternions(frame.object_quaternions), arrays.half)
    upright = is_upright(frame, settings)
    motion = joint_motion(settings, memory.joints, frame.joint_fractions)
    half, upright, motion = computed_once(xp, (half, upright, motion))
    following = memory._replace(joints=frame.joint_fractions)
    if memory.grasps is not None:
        state, grasps = step_grasps(xp, arrays, settings, memory.grasps, frame)
        grasps = computed_once(xp, grasps)
        following = following._replace(grasps=state)
        _add_grasps(values, grasps)
        if memory.contacts is not None:
            contacts, values["forbidden_contact"], values["forbidden_contact_sustained"] = (
                step_contacts(xp, arrays, settings, memory.contacts, frame, grasps)
            )
            following = following._replace(contacts=contacts)
        if memory.onsets is not None:
            onset_state, onsets = step_onsets(xp, arrays, settings, memory.onsets, frame, grasps)
            onsets = computed_once(xp, onsets)
            following = following._replace(onsets=onset_state)
            _add_onsets(xp, roles, frame, values, onsets)
            if "pick_ready" in parts:
                values["preconditions_satisfied_pick"] = pick_ready(
                    xp, arrays, settings, frame, grasps, half, onsets.pick_target
                )
            if "action_ready" in parts:
                ready = action_ready(
                    xp, roles, arrays, settings, frame, motion, half, upright,
                    onsets.action_target,
                )  # fmt: skip
                for skill in SKILLS:
                    values[f"preconditions_satisfied_{skill}"] = _by_fixture(
                        xp, roles, frame, ready, skill
                    )
            if "place_ready" in parts:
                mover = placed_mover(xp, frame, half, onsets.placed)
                fits = any_of(xp, arrays.supports & onsets.placed[:, None])
                anything = xp.ones_like(frame.robot_object)
                ready = destination_ready(
                    xp, arrays, settings, frame, grasps, half, upright, mover, anything, fits
                )
                values["preconditions_satisfied_place"] = onsets.placed & ready
        if memory.containment is not None:
            contents, facts = step_containment(
                xp, arrays, settings, memory.containment, frame, grasps, half, upright
            )
            following = following._replace(containment=contents)
            _add_containment(values, facts)
            if "dump_ready" in parts:
                target = facts.dumping
                mover = poured_mover(xp, arrays, frame, facts.contained, target)
                liquid = any_of(xp, target & facts.pours_liquid)
                solid = any_of(xp, target & facts.pours_solid)
                wanted = any_of(xp, arrays.held_object & (mover.ignored & ~target)[:, None])
                fits = (arrays.receptacle | (wanted & ~liquid)) & (liquid | solid)
                ready = destination_ready(
                    xp, arrays, settings, frame, grasps, half, upright, mover, fits,
                    arrays.sink & ~solid,
                )  # fmt: skip
                values["preconditions_satisfied_dump"] = target & ready
        if memory.enclosure is not None:
            interior, access = step_enclosure(
                xp, roles, arrays, settings, memory.enclosure, frame, grasps, motion, half
            )
            following = following._replace(enclosure=interior)
            values["object_reach_in_microwave"] = access.object_reach
            values["object_left_microwave"] = access.object_left
            values["microwave_empty"] = access.empty
            values["reach_in_fixture"] = access.reach
            values["left_fixture"] = access.left
            values["fixture_fully_open"] = access.fully_open
            values["object_reach_in_fixture"] = access.object_enters
            values["object_in_same_fixture"] = access.object_inside
    if memory.hygiene is not None:
        marks, hygiene = step_contamination(xp, arrays, settings, memory.hygiene, frame)
        following = following._replace(hygiene=marks)
        values["robot_contact_raw_contaminated"] = hygiene.raw_contact
        values["robot_contact_clean_sustained"] = hygiene.clean_contact
        values["sanitized"] = hygiene.sanitized
    if memory.mechanism is not None:
        joints, hits = step_mechanism(
            xp, roles, arrays, settings, memory.mechanism, frame, motion, half
        )
        following = following._replace(mechanism=joints)
        for way in ("open", "close"):
            values[f"fixture_{way}_obstacle_hit"] = getattr(hits, f"{way}_hit")
            values[f"fixture_{way}_retracting"] = getattr(hits, f"{way}_retracting")
            values[f"fixture_{way}_retract_timeout"] = getattr(hits, f"{way}_overdue")
    return following


def _add_grasps(values: dict[str, Array], facts: GraspFacts) -> None:
    values["object_grasped_raw"] = facts.raw
    values["object_grasped"] = facts.grasped
    values["object_sync"] = facts.sync
    values["object_dropped"] = facts.dropped
    values["object_released"] = facts.released
    values["object_left_gripper"] = facts.left
    values["object_supported"] = facts.supported
    values["object_settled"] = facts.settled
    values["release_object_settle_timeout"] = facts.overdue


def _add_onsets(
    xp: ModuleType,
    roles: SceneRoles,
    frame: SceneArrays,
    values: dict[str, Array],
    facts: OnsetFacts,
) -> None:
    values["skill_pick_onset"] = facts.pick
    values["skill_pick_onset_end"] = facts.pick_end
    values["skill_place_onset"] = facts.place
    for skill in SKILLS:
        values[f"skill_{skill}_onset"] = _by_fixture(xp, roles, frame, facts.action, skill)
        values[f"skill_{skill}_onset_end"] = _by_fixture(xp, roles, frame, facts.action_end, skill)


def _add_containment(values: dict[str, Array], facts: ContainmentFacts) -> None:
    values["skill_dump_onset"] = facts.dump_onset
    values["skill_dump_onset_end"] = facts.dump_end
    values["liquid_transfer_event"] = facts.liquid_event
    values["liquid_settled"] = facts.liquid_settled
    values["solid_transfer_event"] = facts.solid_event
    values["solid_settled"] = facts.solid_settled
    values["object_settle_timeout"] = facts.overdue


def _by_fixture(
    xp: ModuleType, roles: SceneRoles, frame: SceneArrays, by_component: Array, skill: str
) -> Array:
    """Bool ``[F, ...]`` from ``[A, ...]``: the component with that skill, false without one."""
    columns = []
    for number, fixture in enumerate(roles.fixtures):
        found = [
            index
            for index, part in enumerate(roles.components)
            if part.fixture == fixture.name and part.skill == skill
        ]
        if found:
            columns.append(by_component[found[0]])
        else:
            columns.append(xp.zeros_like(frame.robot_fixture[number]))
    return xp.stack(columns, axis=0) if columns else frame.robot_fixture


def _bind(xp: ModuleType, value: Array, column: Column) -> Array:
    """The wanted entries of one proposition's array, along one first axis."""
    places = column.places
    if places == ((),):
        return value[None]
    if len(places[0]) == 2:
        rows, width = value.shape[:2]
        value = xp.reshape(value, (rows * width, *value.shape[2:]))
        indices = [row * width + at for row, at in places]
    else:
        indices = [at for (at,) in places]
    runs = [value[start:end] for start, end in _runs(indices)]
    return runs[0] if len(runs) == 1 else xp.concat(runs, axis=0)


def _runs(indices: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive indices as slices, which a compiler fuses better than a gather."""
    start = 0
    for at in range(1, len(indices) + 1):
        if at == len(indices) or indices[at] != indices[at - 1] + 1:
            yield indices[start], indices[at - 1] + 1
            start = at
