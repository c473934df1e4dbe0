"""Forbidden contact on arrays (SafeManip phi 1), by pair of entities.

What a task allows is said in :mod:`safe_rl.grounding.contact_rules`. Allowed besides are: what
touched in the first frame and ever since; a held object on the support that it rested on last; and
a held receptacle with its own contents (what rests on or in it).
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from safe_rl.grounding.arrays.constants import RoleArrays, numbers
from safe_rl.grounding.arrays.devices import age_counter
from safe_rl.grounding.arrays.grasping import COUNT, GraspFacts
from safe_rl.grounding.arrays.scene import Array, SceneArrays
from safe_rl.grounding.arrays.staging import any_of
from safe_rl.grounding.settings import GroundingSettings


class ContactMemory(NamedTuple):
    """What is remembered of contacts.

    Attributes:
        robot_object: bool ``[O, ...]``, pairs of the first frame that are still excused.
        robot_fixture: bool ``[F, ...]``, likewise.
        robot_component: bool ``[A, ...]``, likewise.
        object_object: bool ``[O, O, ...]``, likewise.
        object_fixture: bool ``[O, F, ...]``, likewise.
        support: integer ``[O, ...]``, what each object rested on last while not held.
        age: integer ``[...]``, frames of forbidden contact in a row.
    """

    robot_object: Array
    robot_fixture: Array
    robot_component: Array
    object_object: Array
    object_fixture: Array
    support: Array
    age: Array


class ForbiddenContacts(NamedTuple):
    """Which contacts of a frame no rule allows; bool, rows of pairs are the object that is held.

    Attributes:
        robot_object: ``[O, ...]``.
        robot_fixture: ``[F, ...]``.
        robot_component: ``[A, ...]``.
        object_object: ``[O, O, ...]``.
        object_fixture: ``[O, F, ...]``.
    """

    robot_object: Array
    robot_fixture: Array
    robot_component: Array
    object_object: Array
    object_fixture: Array


def initial_contacts(xp: ModuleType, arrays: RoleArrays, frame: SceneArrays) -> ContactMemory:
    """The memory with which the first frame is grounded as a first frame."""
    objects, fixtures = arrays.supports.shape[:2]
    nothing = xp.astype(xp.zeros_like(frame.gripper_gaps), COUNT)
    return ContactMemory(
        robot_object=frame.robot_object,
        robot_fixture=frame.robot_fixture,
        robot_component=frame.robot_component,
        object_object=frame.object_object,
        object_fixture=frame.object_fixture,
        support=nothing + COUNT(objects + fixtures),
        age=xp.astype(xp.zeros_like(frame.liquid_moving), COUNT),
    )


def step_contacts(
    xp: ModuleType,
    arrays: RoleArrays,
    settings: GroundingSettings,
    memory: ContactMemory,
    frame: SceneArrays,
    grasps: GraspFacts,
) -> tuple[ContactMemory, Array, Array]:
    """The next memory, the forbidden contact and the sustained one, bool ``[...]``."""
    # A debounced hold begins some frames after the fingers close, when the object may already be in
    # the air; its support is the last one it had before.
    rests = ~grasps.grasped & grasps.supported
    support = xp.where(rests, grasps.support, memory.support)
    excused = ContactMemory(
        robot_object=memory.robot_object & frame.robot_object,
        robot_fixture=memory.robot_fixture & frame.robot_fixture,
        robot_component=memory.robot_component & frame.robot_component,
        object_object=memory.object_object & frame.object_object,
        object_fixture=memory.object_fixture & frame.object_fixture,
        support=support,
        age=memory.age,
    )
    found = forbidden_contacts(xp, arrays, excused, frame, grasps.grasped)
    forbidden = (
        any_of(
            xp,
            any_of(xp, found.object_object, axis=1) | any_of(xp, found.object_fixture, axis=1),
        )
        | any_of(xp, found.robot_object)
        | any_of(xp, found.robot_fixture)
        | any_of(xp, found.robot_component)
    )
    age, sustained = age_counter(memory.age, forbidden, settings.forbidden_contact_tolerance)
    return excused._replace(age=age), forbidden, sustained


def forbidden_contacts(
    xp: ModuleType, arrays: RoleArrays, memory: ContactMemory, frame: SceneArrays, held: Array
) -> ForbiddenContacts:
    """The forbidden contacts of a frame, with the memory that follows it.

    Args:
        xp: array namespace.
        arrays: constants of the roles.
        memory: what is remembered once the frame has been grounded.
        frame: the frame.
        held: bool ``[O, ...]``, grasped in this frame.
    """
    objects, fixtures = arrays.supports.shape[:2]
    rested_on = memory.support[:, None] == numbers(fixtures + objects, frame.sanitising.ndim)
    # By holder, then by content.
    contents = xp.moveaxis(frame.on_object, 0, 1) & arrays.receptacle[:, None]
    with_object = frame.object_object & ~(
        memory.object_object | arrays.held_object | rested_on[:, fixtures:] | contents
    )
    with_fixture = frame.object_fixture & ~(
        memory.object_fixture | arrays.held_fixture | rested_on[:, :fixtures]
    )
    return ForbiddenContacts(
        robot_object=frame.robot_object & ~(memory.robot_object | arrays.robot_object),
        robot_fixture=frame.robot_fixture & ~(memory.robot_fixture | arrays.robot_fixture),
        robot_component=frame.robot_component & ~(memory.robot_component | arrays.robot_component),
        object_object=with_object & held[:, None],
        object_fixture=with_fixture & held[:, None],
    )
