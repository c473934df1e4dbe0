"""Recorded episodes as HDF5 files of demonstrations, for robomimic, LIBERO and their tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safe_rl.data import Episode, save_demonstrations
from safe_rl.envs.robosuite.env import RobosuiteEnv
from safe_rl.envs.robosuite.recorded_state import check_states, place_bodies, state_size
from safe_rl.errors import RecordingError


def write_demonstrations(path: str | Path, env: RobosuiteEnv, episodes: Sequence[Episode]) -> Path:
    """Write recorded episodes in the layout that robomimic and LIBERO share.

    What their tools read is there: ``states`` (time, positions, velocities) and ``actions`` of each
    demonstration, ``rewards``, ``dones``, its model, and of all together the arguments of the
    environment, LIBERO's with the BDDL file. Observations are not: their tools make them from the
    states.

    Args:
        path: of the file.
        env: an environment of the task in which they were recorded. Its fixtures are moved.
        episodes: with simulator states, as ``eval.record=true`` keeps them.

    Raises:
        RecordingError: an episode has no states or actions, or is of another task.
        MissingDependencyError: h5py is not installed.
    """
    models = []
    for number, episode in enumerate(episodes):
        if episode.states is None:
            raise RecordingError(f"{path}: episode {number} has no simulator states")
        check_states(env._model, episode.states, env._task.name)
        place_bodies(env._model, env.placed_bodies, episode.placements)
        models.append(env.simulation.sim.model.get_xml())
    return save_demonstrations(
        path,
        episodes,
        state_size=state_size(env._model),
        attributes=_about(env),
        models=models,
    )


def _about(env: RobosuiteEnv) -> dict[str, str]:
    simulation: Any = env.simulation
    arguments: dict[str, Any] = {
        "robots": ["Panda"],
        "control_freq": 20,
        "lite_physics": True,
        "use_camera_obs": False,
        "has_renderer": False,
        "has_offscreen_renderer": False,
        "ignore_done": True,
    }
    about: dict[str, Any] = {
        "type": 1,  # robomimic's number of robosuite
        "env_name": type(simulation).__name__,
        "env_version": version("robosuite"),
        "env_kwargs": arguments,
    }
    task = getattr(env, "libero_task", None)
    if task is None:
        arguments["reward_shaping"] = True
        return {"env_args": json.dumps(about)}
    problem = simulation.parsed_problem["problem_name"]
    name = f"bddl_files/{task.suite}/{task.bddl.name}"
    return {
        "env_name": about["env_name"],
        "problem_info": json.dumps(
            {
                "problem_name": problem,
                "domain_name": "robosuite",
                "language_instruction": task.instruction,
            }
        ),
        "bddl_file_name": name,
        "bddl_file_content": task.bddl.read_text(encoding="utf-8"),
        "env_args": json.dumps({**about, "problem_name": problem, "bddl_file": name}),
    }
