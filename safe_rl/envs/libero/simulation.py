"""A LIBERO simulation: built once per environment, put at the start of each episode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.envs.libero.installation import load
from safe_rl.envs.libero.tasks import LiberoTask
from safe_rl.errors import ConfigurationError

_ATTEMPTS = 100


def make_simulation(task: LiberoTask) -> Any:
    """LIBERO's environment for a task, with a Panda, state only, 20 Hz, resets without a new model.

    Raises:
        MissingDependencyError: if LIBERO is not installed.
    """
    libraries = load()
    problem = libraries.problems[libraries.problem_name(task.bddl)]
    for attempt in range(_ATTEMPTS):
        # It places everything once while it is built; what it draws there is never used.
        with _numpy_seeded(attempt):
            try:
                simulation = problem(
                    str(task.bddl),
                    robots=["Panda"],
                    controller_configs=libraries.controller(),
                    initialization_noise=None,
                    use_camera_obs=False,
                    has_offscreen_renderer=False,
                    control_freq=20,
                    lite_physics=True,
                    ignore_done=True,  # the horizon is ours: reaching it truncates
                    hard_reset=False,
                )
                break
            except libraries.placement_failed:
                continue
    else:
        raise ConfigurationError(f"the objects of {task.bddl} cannot be placed")
    simulation.deterministic_reset = True  # the initial states place the objects
    for name, thing in simulation.objects_dict.items():
        setattr(simulation, name, thing)  # as robosuite's own tasks hold their objects
    return simulation


def start_episode(
    simulation: Any, state: NDArray[np.float64], generator: np.random.Generator
) -> None:
    """Put a simulation into one of the task's initial states.

    Such a state holds no places of fixtures: those are drawn from the regions that the task's BDDL
    file gives them (within 1 or 2 cm), as LIBERO does.
    """
    simulation.reset()
    _place_fixtures(simulation, generator)
    # Not before the reset, which would put everything back.
    simulation.sim.set_state_from_flattened(np.array(state))
    simulation.sim.forward()


def placed_fixtures(simulation: Any) -> list[Any]:
    """The fixtures that ``start_episode`` places, as robosuite's objects."""
    samplers = simulation.placement_initializer.samplers.values()
    every = [thing for sampler in samplers for thing in sampler.mujoco_objects]
    return [thing for thing in every if thing.name in simulation.fixtures_dict]


def _place_fixtures(simulation: Any, generator: np.random.Generator) -> None:
    model = simulation.sim.model
    with _numpy_seeded(int(generator.integers(2**32))):
        for sampler in simulation.placement_initializer.samplers.values():
            if any(thing.name in simulation.fixtures_dict for thing in sampler.mujoco_objects):
                for place, turn, fixture in sampler.sample().values():
                    body = model.body_name2id(fixture.root_body)
                    model.body_pos[body], model.body_quat[body] = place, turn


@contextmanager
def _numpy_seeded(seed: int) -> Iterator[None]:
    """LIBERO's samplers draw from numpy's global generator: seed it, and give it back unchanged."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
