"""Forbidden contact on arrays (SafeManip phi 1).

The rules are those of :mod:`safe_rl.grounding.contact_rules`, by pair of entities instead of pair
of geoms. One allowed class of F.1 is added that the scalar rules lack: a held receptacle may touch
its own contents (what rests on or in it).
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
    objects, fixtures = arrays.supports.shape[:2]
    # A debounced hold begins some frames after the fingers close, when the object may already be in
    # the air; its support is the last one it had before.
    rests = ~grasps.grasped & grasps.supported
    support = xp.where(rests, grasps.support, memory.support)
    rested_on = support[:, None] == numbers(fixtures + objects, frame.sanitising.ndim)
    excused = ContactMemory(
        robot_object=memory.robot_object & frame.robot_object,
        robot_fixture=memory.robot_fixture & frame.robot_fixture,
        robot_component=memory.robot_component & frame.robot_component,
        object_object=memory.object_object & frame.object_object,
        object_fixture=memory.object_fixture & frame.object_fixture,
        support=support,
        age=memory.age,
    )
    # By holder, then by content.
    contents = xp.moveaxis(frame.on_object, 0, 1) & arrays.receptacle[:, None]
    with_object = frame.object_object & ~(
        excused.object_object | arrays.held_object | rested_on[:, fixtures:] | contents
    )
    with_fixture = frame.object_fixture & ~(
        excused.object_fixture | arrays.held_fixture | rested_on[:, :fixtures]
    )
    wrong = any_of(xp, with_object, axis=1) | any_of(xp, with_fixture, axis=1)
    forbidden = (
        any_of(xp, grasps.grasped & wrong)
        | any_of(xp, frame.robot_object & ~(excused.robot_object | arrays.robot_object))
        | any_of(xp, frame.robot_fixture & ~(excused.robot_fixture | arrays.robot_fixture))
        | any_of(
            xp, frame.robot_component & ~(excused.robot_component | arrays.robot_component), axis=0
        )
    )
    age, sustained = age_counter(memory.age, forbidden, settings.forbidden_contact_tolerance)
    return excused._replace(age=age), forbidden, sustained
