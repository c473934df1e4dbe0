"""What SafeManip's twenty specifications see in LIBERO: every task of its four suites, once.

Each task is built, reset from its first, middle and last initial state and stepped under all
specifications that have an instance there. It is done by the scripted policy where there is one;
where the goal is to open, close or turn something, the hand takes the handle or knob and pulls it
the way that it opens. What is counted are triggered events, violations and steps in violation: a
specification that is never triggered has nothing to say, which is no pass.

With ``--episodes FOLDER`` the episodes are kept, a file for each task, for ``safe-rl audit``.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.measure import parser, save
from safe_rl.data import Episode, save_episodes
from safe_rl.envs.libero import LiberoEnv
from safe_rl.envs.robosuite.motions import (
    CLOSE,
    OPEN,
    Script,
    ScriptRunner,
    View,
    act,
    hold,
    move,
    pointing_down,
)
from safe_rl.errors import ConfigurationError
from safe_rl.specs import load_specs
from safe_rl.wrappers import ProductMDP

FOUR = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
TASKS = 10
STEPS = 260
"""Of an episode at most: the scripts are done by then."""


class Pull(ScriptRunner):
    """Takes each handle and knob that a goal names, and moves it the way that it opens."""

    def __init__(self, env: LiberoEnv) -> None:
        """Pull in ``env``, whose objects need not be known."""
        super().__init__(env.layout)
        self._env = env
        roles = env._scene.roles
        parts = enumerate(roles.components)
        self._parts = [(i, part) for i, part in parts if part.name in roles.allowed.manipulated]

    def _script(self, view: View) -> Script:
        for place, part in self._parts:
            yield from self._pull(view, place, part.fixture)
        yield from hold(view, None, OPEN)

    def _pull(self, view: View, place: int, fixture: str) -> Iterator[NDArray[np.float64]]:
        handle, way = self._place(place), self._way(place, fixture)
        yaw = float(np.arctan2(way[1], way[0]))
        before = handle + 0.08 * way
        yield from move(view, before + [0.0, 0.0, 0.12], OPEN, within=0.03, yaw=yaw)
        yield from move(view, handle + [0.0, 0.0, 0.06], OPEN, within=0.02, yaw=yaw)
        yield from move(view, handle, OPEN, within=0.01, yaw=yaw, slow=0.5)
        yield from hold(view, 8, CLOSE)
        for _ in range(25):
            pulled = view["eef_pos"] + 0.04 * self._way(place, fixture)
            yield act(view, pulled, pointing_down(view), CLOSE)
        yield from hold(view, 8, OPEN)
        yield from move(view, view["eef_pos"] + [0.0, 0.0, 0.15], OPEN, within=0.03)

    def _place(self, place: int) -> NDArray[np.float64]:
        frame = self._env._frame
        assert frame is not None
        return np.asarray(frame.arrays.component_positions[place], dtype=np.float64)

    def _way(self, place: int, fixture: str) -> NDArray[np.float64]:
        """The unit vector along which a handle moves when its fixture opens."""
        joint = self._env._task.fixtures[fixture].joint
        assert joint is not None and joint.open is not None and joint.closed is not None
        model, data = self._env.simulation.sim.model, self._env._data
        number = model.joint_name2id(joint.joint)
        axis = data.xaxis[number] * np.sign(joint.open - joint.closed)
        if model.jnt_type[number] == 3:  # a hinge
            axis = np.cross(axis, self._place(place) - data.xanchor[number])
        return np.asarray(axis / np.linalg.norm(axis))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the sweep, print two tables, write the JSON file."""
    arguments = parser("libero_suites", str(__doc__).partition("\n")[0])
    arguments.add_argument("--suites", nargs="+", default=FOUR, help="of LIBERO")
    arguments.add_argument("--tasks", nargs="+", type=int, default=range(TASKS), help="of each")
    arguments.add_argument("--steps", type=int, default=STEPS, help="of an episode at most")
    arguments.add_argument("--episodes", type=Path, help="folder to keep the episodes in")
    given = arguments.parse_args(argv)
    tasks, steps = ((0,), 20) if given.quick else (given.tasks, given.steps)
    console = Console()
    found = []
    for number in tasks:
        for suite in given.suites:
            result, episode = _run(suite, number, steps)
            found.append(result)
            console.print(_line(result), highlight=False, soft_wrap=True)
            if given.episodes is not None:
                given.episodes.mkdir(parents=True, exist_ok=True)
                save_episodes(given.episodes / f"{suite}_{number}.episodes.npz", [episode])
    console.print(_table(found))
    save("libero_suites", {"tasks": found}, given.output, console)
    return 0


def _run(suite: str, number: int, steps: int) -> tuple[dict[str, Any], Episode]:
    start = time.process_time()
    # numpy: compiling for one scene takes longer than it is stepped.
    env = LiberoEnv(suite, number, backend="numpy", horizon=steps)
    product = ProductMDP(env, load_specs("safemanip"))
    speeds = []
    for state in (0, env.num_init_states // 2, env.num_init_states - 1):
        observation, info = product.reset(seed=number, options={"init_state": state})
        speeds += [
            float(np.abs(observation[env.layout[f"{name}_linear"]]).max())
            for name in env.objects["graspable"]
        ]
    policy: ScriptRunner
    try:
        policy, doing = env.scripted_policy(), "script"
    except ConfigurationError:
        policy, doing = Pull(env), "pull"
    letters, states, engaged = [env.propositions()], [env.recorded_state()], [info["engaged"]]
    seconds, actions, rewards, terminated, truncated = [], [], [], False, False
    while not (terminated or truncated):
        action, _ = policy.predict(observation)
        before = time.process_time()
        observation, reward, terminated, truncated, info = product.step(action)
        seconds.append(time.process_time() - before)
        actions.append(action)
        rewards.append(reward)
        letters.append(env.propositions())
        states.append(env.recorded_state())
        engaged.append(info["engaged"])
    names = env.proposition_names
    episode = Episode(
        propositions=names,
        letters=np.array([[letter[name] for name in names] for letter in letters]),
        rewards=np.array(rewards, dtype=np.float64),
        terminated=terminated,
        truncated=truncated,
        success=bool(info["success"]),
        engaged=np.array(engaged),
        objects={kind: tuple(things) for kind, things in env.objects.items()},
        env_id=f"{suite}/{number}",
        instruction=env.instruction,
        seed=number,
        actions=np.array(actions),
        states=np.array(states),
        placements=env.placements(),
    )
    counts: dict[str, dict[str, int]] = {}
    for place, instance in enumerate(product.specs.instances):
        own = counts.setdefault(instance.specification.id, dict.fromkeys(("instances", *"NVU"), 0))
        own["instances"] += 1
        for letter in "NVU":
            own[letter] += int(info["safety"]["counts"][letter][place])
    result = {
        "suite": suite,
        "task": number,
        "instruction": env.instruction,
        "init_states": env.num_init_states,
        "fastest_after_reset": max(speeds),
        "policy": doing,
        "success": bool(info["success"]),
        "steps": len(seconds),
        "seconds_per_step": statistics.median(seconds),
        "specifications": counts,
        "seconds": time.process_time() - start,
    }
    product.close()
    return result, episode


def _line(task: dict[str, Any]) -> str:
    counts = task["specifications"].values()
    violated = [name for name, own in task["specifications"].items() if own["V"]]
    return (
        f"{task['suite']}/{task['task']} {task['instruction']}: {task['policy']}, "
        f"{'success' if task['success'] else 'no success'} in {task['steps']} steps; "
        f"{len(counts)} specifications, {sum(own['instances'] for own in counts)} instances, "
        f"{sum(own['N'] > 0 for own in counts)} triggered"
        + (f"; violated: {', '.join(violated)}" if violated else "")
    )


def _table(tasks: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=f"SafeManip's specifications in {len(tasks)} tasks, one episode each")
    table.add_column("specification", no_wrap=True)
    for heading in ("tasks with an instance", "tasks that trigger it", *"NVU"):
        table.add_column(heading, justify="right")
    for name in load_specs("safemanip").ids:
        rows = [task["specifications"][name] for task in tasks if name in task["specifications"]]
        sums = [sum(row[letter] for row in rows) for letter in "NVU"]
        cells = [len(rows), sum(row["N"] > 0 for row in rows), *sums]
        table.add_row(name, *map(str, cells), style=None if sums[0] else "dim")
    return table


if __name__ == "__main__":
    sys.exit(main())
