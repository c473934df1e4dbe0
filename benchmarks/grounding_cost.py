"""What share of a control step the safety layer takes, in robosuite and LIBERO.

The same steps are simulated several times from the same saved states, with more and more of the
safety layer switched on: nothing of it; contacts of all 25 physics substeps; the facts of the frame
as arrays; all propositions of SafeManip; the 20 monitors and the information of ``ProductMDP``. The
variants take turns in short blocks, so that other work on the machine disturbs all alike. The tasks
are done by the scripted policy, so that the gripper is near objects and handles.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.measure import met, milliseconds, parser, save
from benchmarks.product_overhead import NO_END, Step
from safe_rl.errors import MissingDependencyError

TARGETS = {"robosuite": 0.15, "libero": 0.10}
TASKS = ("Lift", "Stack", "Door", "libero_goal/8", "libero_object/0", "libero_10/0")
VARIANTS = ("simulation", "contacts", "facts", "propositions", "monitors")
"""Each is the one before it, with one layer more."""


class _Without:
    """A stand-in for the scene and the grounding, which gives what the last real one gave."""

    def __init__(self, env: Any, variant: str) -> None:
        self.scene, self.grounding = env._scene, env._grounding
        self.last, self.letter = env._frame, dict(env._letter)
        self.features = np.array(self.grounding.features)
        self.level = VARIANTS.index(variant)
        self.begin_frame: Callable[[], None] = self.scene.begin_frame
        nothing: Callable[[], None] = lambda: None  # noqa: E731
        self.observe_contacts = self.scene.observe_contacts if self.level >= 1 else nothing

    def frame(self) -> Any:
        return self.scene.frame() if self.level >= 2 else self.last

    def step(self, _: Any) -> dict[str, bool]:
        return dict(self.letter)


def _step_of(product: Any, variant: str) -> Step:
    """The step of a variant, on the environment inside ``product``."""
    env = product.env
    if variant == "monitors":
        step: Step = product.step
        return step
    scene, grounding = env._scene, env._grounding

    def advance(action: NDArray[np.float32]) -> object:
        return env.step(action)

    if variant == "propositions":
        return advance
    without = _Without(env, variant)

    def stripped(action: NDArray[np.float32]) -> object:
        env._scene, env._grounding = without, without
        try:
            return env.step(action)
        finally:
            env._scene, env._grounding = scene, grounding

    return stripped


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print a table, write the JSON file; without robosuite, say so."""
    arguments = parser("grounding_cost", str(__doc__).partition("\n")[0])
    arguments.add_argument(
        "--tasks",
        nargs="+",
        default=TASKS,
        help="robosuite's names, or SUITE/NUMBER of LIBERO",
    )
    arguments.add_argument("--backend", default="auto", help="of the grounding")
    given = arguments.parse_args(argv)
    console = Console()
    block, blocks = (2, 3) if given.quick else (5, 60)
    found: dict[str, dict[str, Any]] = {}
    missing: dict[str, str] = {}
    for task in given.tasks:
        try:
            found[task] = _measure(task, given.backend, block, blocks)
        except MissingDependencyError as error:
            console.print(f"[yellow]{task} is left out: {error}[/yellow]")
            missing[task] = str(error)
    if found:
        console.print(_table(found))
    save("grounding_cost", {"tasks": found, "missing": missing}, given.output, console)
    return 0


def _made(task: str, backend: str) -> tuple[Any, Any]:
    """An environment whose episodes do not end, and the policy that does its task."""
    if "/" in task:
        from safe_rl.envs.libero import LiberoEnv
        from safe_rl.envs.libero.scripted import LiberoScript

        suite, number = task.split("/")
        libero = LiberoEnv(
            suite, int(number), horizon=NO_END, backend=backend, terminate_on_success=False
        )
        return libero, LiberoScript(libero)
    from safe_rl.envs.robosuite import RobosuiteEnv
    from safe_rl.envs.robosuite.scripted import ScriptedPolicy

    return RobosuiteEnv(task, horizon=NO_END, backend=backend), ScriptedPolicy(task)


def _measure(task: str, backend: str, block: int, blocks: int) -> dict[str, Any]:
    from safe_rl.specs import load_specs
    from safe_rl.wrappers import ProductMDP

    env, policy = _made(task, backend)
    product = ProductMDP(env, load_specs("safemanip"))
    product.reset(seed=0)
    observation = env._observation()
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    elapsed: dict[str, list[float]] = {name: [] for name in VARIANTS}
    order = list(VARIANTS)
    for number in range(blocks + 1):  # the first one compiles robosuite's controllers
        state = env.get_state()
        actions = []
        for _ in range(block):
            actions.append(policy.predict(observation)[0])
            observation = env.step(actions[-1])[0]
        after = env.get_state()
        order.reverse()
        for name in order:
            env.set_state(state)
            step = _step_of(product, name)
            start, begun = time.process_time(), time.perf_counter()
            for action in actions:
                step(action)
            if number:
                seconds[name].append((time.process_time() - start) / block)
                elapsed[name].append((time.perf_counter() - begun) / block)
        env.set_state(after)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    # Each layer is what it adds to the variant before it, as a part of the whole step.
    whole = seconds["monitors"]
    shares = {}
    for less, more in zip(VARIANTS, VARIANTS[1:], strict=False):
        pairs = zip(seconds[less], seconds[more], whole, strict=True)
        shares[more] = statistics.median((b - a) / c for a, b, c in pairs)
    total = statistics.median(
        (c - a) / c for a, c in zip(seconds["simulation"], whole, strict=True)
    )
    product.close()
    return {
        "backend": env._grounding.backend,
        "propositions": len(env.proposition_names),
        "specifications": len(product.specs),
        "instances": len(product.specs.instances),
        "steps_per_variant": block * blocks,
        "seconds_per_step": medians,
        "wall_seconds_per_step": {name: statistics.median(t) for name, t in elapsed.items()},
        "shares": shares,
        "share": total,
        "target": TARGETS["libero" if "/" in task else "robosuite"],
        "blocks": seconds,
    }


def _table(found: dict[str, dict[str, Any]]) -> Table:
    table = Table(title="Share of a control step that the safety layer takes, CPU time")
    table.add_column("layer")
    for task, result in found.items():
        table.add_column(
            f"{task}: {result['propositions']} propositions, {result['instances']} monitors",
            justify="right",
        )
    labels = {
        "contacts": "contacts of 25 substeps",
        "facts": "facts as arrays",
        "propositions": "propositions",
        "monitors": "monitors, info of ProductMDP",
    }
    table.add_row(
        "the whole step",
        *(milliseconds(r["seconds_per_step"]["monitors"]) for r in found.values()),
    )
    for key, label in labels.items():
        table.add_row(label, *(f"{result['shares'][key]:.1%}" for result in found.values()))
    table.add_row(
        "all four",
        *(
            f"{r['share']:.1%} (< {r['target']:.0%}: {met(r['share'], r['target'], at_most=True)})"
            for r in found.values()
        ),
    )
    return table


if __name__ == "__main__":
    sys.exit(main())
