"""A simulation's state as recordings keep it: plain numbers, and where fixtures stand.

The first ``1 + nq + nv`` numbers are those of robomimic's and LIBERO's files: time, positions,
velocities. The accelerations from which MuJoCo's solver starts follow, so that a step from the
state ends in the same bits; a state without them is shown too. Nothing else of ``snapshot`` is
needed: the arm's controller remembers the posture of its reset only, and the gripper's set point
follows from the actions since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.robosuite.simulator import load
from safe_rl.errors import RecordingError


def state_size(model: Any) -> int:
    """How many numbers robomimic's and LIBERO's files hold per state: ``1 + nq + nv``."""
    return int(1 + model.nq + model.nv)


def read_state(model: Any, data: Any) -> NDArray[np.float64]:
    """The state now, ``[1 + nq + 2 nv]``."""
    return np.concatenate([[data.time], data.qpos, data.qvel, data.qacc_warmstart])


def check_states(model: Any, states: NDArray[Any], name: str) -> None:
    """Raise ``RecordingError`` unless ``states`` ``[F, S]`` are finite and of this model.

    Args:
        model: ``mujoco.MjModel``.
        states: a recording's.
        name: what the model is of, for the message.
    """
    size = state_size(model)
    if states.ndim != 2 or states.shape[1] not in (size, size + model.nv):
        raise RecordingError(
            f"states of the shape {states.shape}, but the model of {name} has {size} numbers "
            f"(time, {model.nq} positions, {model.nv} velocities); choose the environment that "
            "was recorded"
        )
    if not np.isfinite(states).all():
        raise RecordingError("a recorded state holds a number that is not finite")


def show_state(model: Any, data: Any, state: NDArray[np.float64]) -> None:
    """Put the simulation into ``state``, derived quantities and contacts included."""
    size = state_size(model)
    data.time = state[0]
    data.qpos[:] = state[1 : 1 + model.nq]
    data.qvel[:] = state[1 + model.nq : size]
    if len(state) > size:
        data.qacc_warmstart[:] = state[size:]
    # Not mj_forward: that would run the solver and so move the warm start.
    load().mujoco.mj_step1(model, data)


def read_placements(model: Any, bodies: Iterable[str]) -> dict[str, tuple[float, ...]]:
    """Where ``bodies`` stand in the model: metres, then a quaternion (w, x, y, z)."""
    found = {}
    for name in bodies:
        body = model.body(name).id
        found[name] = (*model.body_pos[body].tolist(), *model.body_quat[body].tolist())
    return found


def place_bodies(
    model: Any, bodies: Iterable[str], placements: Mapping[str, tuple[float, ...]]
) -> None:
    """Put ``bodies`` where ``placements`` says; other bodies that it names stay.

    Raises:
        RecordingError: it says nothing of one of them.
    """
    for name in bodies:
        if name not in placements:
            raise RecordingError(
                f"the recording does not say where the fixture {name!r} stood, and no state tells; "
                "robomimic's and LIBERO's files keep it in each demonstration's 'model_file'"
            )
        body = model.body(name).id
        model.body_pos[body], model.body_quat[body] = placements[name][:3], placements[name][3:]


def keep_posture(simulation: Any) -> None:
    """Make the arm's present posture the one to which its controller tends, as a reset does."""
    part = simulation.robots[0].composite_controller.part_controllers["right"]
    part.update_initial_joints(simulation.sim.data.qpos[part.qpos_index])
