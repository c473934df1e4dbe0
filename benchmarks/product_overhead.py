"""What the product MDP adds to a step of a real simulator, robosuite's Lift.

One environment is stepped with the same actions in short blocks, by turns: through ``ProductMDP``,
and without it. A robosuite environment as the library makes it takes its turn too, so that the cost
of our own wrapper (contacts over all substeps, the grounding's propositions) is seen and not hidden
in "bare". The overhead is the median, over the rounds, of how much longer one block took than the
other beside it, so that other work on the machine disturbs both alike.
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
from safe_rl.errors import MissingDependencyError

TARGET = 0.05
NO_END = 10**9
"""A horizon that no run reaches: resets are not part of what is measured."""

Step = Callable[[NDArray[np.float32]], object]


def time_blocks(
    steps: dict[str, Step], actions: NDArray[np.float32], block: int
) -> dict[str, list[float]]:
    """Return, per variant, the CPU seconds of one step in each block.

    Variants take turns, and every other round in the reverse order.
    """
    found: dict[str, list[float]] = {name: [] for name in steps}
    order = list(steps)
    for begin in range(0, len(actions), block):
        order.reverse()
        for name in order:
            advance = steps[name]
            start = time.process_time()
            for action in actions[begin : begin + block]:
                advance(action)
            found[name].append((time.process_time() - start) / block)
    return found


SPECIFICATIONS = (
    "no_forbidden_contact",
    "grasp_remains_synced_until_dropped",
    "dropped_object_was_released",
    "released_object_eventually_settles",
)


def robosuite_step() -> Step:
    """Return the step of a Lift environment as robosuite makes it, state only, at 20 Hz."""
    import robosuite

    env = robosuite.make(
        "Lift",
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        reward_shaping=True,
        control_freq=20,
        horizon=NO_END,
        hard_reset=False,
    )
    env.reset()
    return lambda action: env.step(np.asarray(action, dtype=np.float64))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print a table, write the JSON file; without robosuite, say so."""
    arguments = parser("product_overhead", str(__doc__).partition("\n")[0])
    given = arguments.parse_args(argv)
    console = Console()
    block, blocks = (2, 3) if given.quick else (5, 160)
    try:
        measured = _measure(block, blocks)
    except MissingDependencyError as error:
        console.print(f"[yellow]product_overhead is left out: {error}[/yellow]")
        save("product_overhead", {"missing": str(error)}, given.output, console)
        return 0
    console.print(_table(measured))
    save("product_overhead", measured, given.output, console)
    return 0


def _measure(block: int, blocks: int) -> dict[str, Any]:
    import gymnasium

    import safe_rl.envs  # noqa: F401 - registers the environments
    from safe_rl.specs import load_specs
    from safe_rl.wrappers import ProductMDP

    bare = gymnasium.make("safe_rl/RobosuiteLift-v0", horizon=NO_END)
    product = ProductMDP(bare, load_specs("safemanip").select(SPECIFICATIONS))
    product.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (block * (blocks + 1), 7)).astype(np.float32)
    steps: dict[str, Step] = {
        "robosuite": robosuite_step(),
        "bare": bare.step,
        "product": product.step,
    }
    time_blocks(steps, actions[:block], block)  # the first steps compile robosuite's controllers
    seconds = time_blocks(steps, actions[block:], block)
    found: dict[str, Any] = {
        "specifications": [spec.id for spec in product.specs],
        "instances": len(product.specs.instances),
        "steps_per_variant": block * blocks,
        "seconds_per_step": {name: statistics.median(times) for name, times in seconds.items()},
        "against_bare": {name: _ratio(times, seconds["bare"]) for name, times in seconds.items()},
        "blocks": seconds,
    }
    found["overhead"] = found["against_bare"]["product"] - 1
    return found


def _ratio(times: list[float], others: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(times, others, strict=True))


def _table(found: dict[str, Any]) -> Table:
    medians = found["seconds_per_step"]
    table = Table(title=f"robosuite Lift, {found['steps_per_variant']} steps each, CPU time")
    for column in ("variant", "a step", "steps/s", "against bare", "target"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    names = {
        "robosuite": "robosuite as it is made by the library",
        "bare": "RobosuiteEnv (with propositions)",
        "product": f"ProductMDP, {len(found['specifications'])} specifications",
    }
    for key, label in names.items():
        change = found["against_bare"][key] - 1
        kept = f"< {TARGET:.0%}: {met(change, TARGET, at_most=True)}" if key == "product" else ""
        table.add_row(
            label,
            milliseconds(medians[key]),
            f"{1 / medians[key]:,.0f}",
            "" if key == "bare" else f"{change:+.1%}",
            kept,
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
