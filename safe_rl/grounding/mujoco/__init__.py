"""Any MuJoCo simulation as frames for the array grounding, with roles given as data.

A new simulator is attached in four steps; no class of it needs to be known here:

1. Say who is who in the model, by names of bodies, joints, geoms and sites: a ``MujocoRoles`` with
   ``MujocoObject`` (what it is: food, raw, a receptacle ...), ``MujocoFixture`` (kind, joint,
   inside, outlet), ``MujocoComponent`` (handles, buttons, knobs) and ``GripperNames``. Names that
   the model lacks, and geoms that belong to nothing, are errors.
2. Make ``MujocoScene(model, data, roles, distance, settings)``, where ``distance`` is
   ``mj_geomDistance`` on this model and data, after the kinematics of one posture are computed.
3. In every control step call ``begin_frame()``, then ``observe_contacts()`` after each physics
   substep (after ``mj_step1``, so that contacts belong to the state reached), then ``frame()``.
   After a reset call all three once.
4. Give ``frame().arrays`` to ``FrameGrounding(scene.roles, settings, names)``: ``reset`` with the
   first frame of an episode, ``step`` with every further one. Both return the letter.

What a simulator knows better than these names say (a running tap, a washed hand) it replaces in the
frame: ``frame.arrays._replace(dispensing=...)``.

Approximations, beside those of the array grounding:

- Half extents of fixtures, interiors and components are along the world's axes in the posture in
  which the scene was made; their places follow the simulation. A fixture that is turned by more
  than a few degrees from one episode to the next needs a new scene.
- An object rests on what pushes it upwards (a contact normal within 60 degrees of vertical), and in
  a receptacle also when it lies on other contents within the receptacle's box.
- Contacts with the first frame's partner are excused by entity, not by geom.
"""

from safe_rl.grounding.mujoco.bindings import GeomDistance, MujocoData, MujocoModel
from safe_rl.grounding.mujoco.contacts import Contact
from safe_rl.grounding.mujoco.names import (
    BodyBox,
    GripperNames,
    JointRange,
    MujocoComponent,
    MujocoFixture,
    MujocoObject,
    MujocoParticles,
    MujocoRoles,
)
from safe_rl.grounding.mujoco.scene import MujocoFrame, MujocoScene

__all__ = [
    "BodyBox",
    "Contact",
    "GeomDistance",
    "GripperNames",
    "JointRange",
    "MujocoComponent",
    "MujocoData",
    "MujocoFixture",
    "MujocoFrame",
    "MujocoModel",
    "MujocoObject",
    "MujocoParticles",
    "MujocoRoles",
    "MujocoScene",
]
