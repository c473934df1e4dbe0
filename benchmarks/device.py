"""How fast one jitted program steps monitors and environments, in jax.

Monitors alone: random letters for many lanes, 1 to 100 SafeManip specifications. Then whole
environments under random actions, bare and in the product with monitors, with the same resets.
The lanes are shared out evenly over simulated host devices, one per core, with ``jax.shard_map``.
Rates are per second of elapsed time, from the best repeat: all cores work at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

if "jax" not in sys.modules:  # the number of devices is fixed when jax starts
    _flag = "--xla_force_host_platform_device_count"
    if _flag not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_flag}={os.cpu_count()}"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timing, measure, met, parser, per_second, save
from benchmarks.monitor_step import specifications
from safe_rl.envs.functional import make_functional
from safe_rl.monitors import StepEvents, initial_state, make_tables, step
from safe_rl.specs import Specification, SpecSet, load_specs
from safe_rl.wrappers.functional import FunctionalEnv, FunctionalProduct
from safe_rl.wrappers.functional.resets import FirstStates, Lanes

ENVIRONMENTS: dict[str, tuple[str, str]] = {
    "kitchen_grid": ("safe_rl/KitchenGrid-v0", "kitchen"),
    "tabletop_place": ("safe_rl/TabletopPlace-v0", "safemanip"),
    "tabletop_cook": ("safe_rl/TabletopCook-v0", "safemanip"),
}
"""By name: the environment's id, and the specifications that are put on it."""
MONITORS = 20
BARE = "bare, with labels"
TARGET_MONITORS = 200e6
TARGET_PRODUCT = 1e6
TARGET_OVERHEAD = 0.30
AXIS = "lanes"


def on_all_devices(run: Callable[[jax.Array], Any]) -> Callable[[jax.Array], Any]:
    """Return ``run(key)`` for every device at once, each with a key of its own."""
    mesh = Mesh(np.array(jax.devices()), (AXIS,))

    def own(key: jax.Array) -> Any:
        found = run(jax.random.fold_in(key, jax.lax.axis_index(AXIS)))
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], found)

    spec = PartitionSpec()
    mapped = jax.shard_map(
        own, mesh=mesh, in_specs=(spec,), out_specs=PartitionSpec(AXIS), check_vma=False
    )
    return jax.jit(mapped)


def timed(run: Callable[[jax.Array], Any], repeats: int) -> Timing:
    """Compile ``run`` for all devices and time it."""
    mapped = on_all_devices(run)
    key = jax.random.key(0)
    jax.block_until_ready(mapped(key))
    return measure(lambda: jax.block_until_ready(mapped(key)), repeats=repeats)


def time_monitors(specs: SpecSet, lanes: int, steps: int, repeats: int) -> dict[str, Any]:
    """Step the monitors of ``lanes`` lanes ``steps`` times with eight letters made beforehand."""
    tables = make_tables(specs, jnp, axis=0)
    share = max(lanes // jax.device_count(), 1)
    shape = (8, tables.num_propositions, share)

    def run(key: jax.Array) -> Any:
        # Counted as part of the run, so there are many steps to one such draw.
        letters = jax.random.bits(key, shape, jnp.uint8) < 128

        def one(state: Any, turn: jax.Array) -> Any:
            state, events = step(tables, state, letters[turn & 7])
            return state, jnp.sum(events.codes[0], dtype=jnp.int32)

        return jax.lax.scan(one, initial_state(tables, (share,)), jnp.arange(steps))[1][-1]

    timing = timed(run, repeats)
    done = share * jax.device_count() * steps
    return {
        "specifications": len(specs.instances),
        "lanes": share * jax.device_count(),
        "steps": steps,
        "run": timing,
        "lane_steps_per_second": done / timing.wall_best,
        "specification_steps_per_second": done * len(specs.instances) / timing.wall_best,
    }


def monitored(name: str, count: int) -> tuple[FunctionalEnv, SpecSet]:
    """Return an environment and ``count`` monitors on it: its own, repeated or cut short."""
    env_id, library = ENVIRONMENTS[name]
    env = make_functional(env_id)
    own = load_specs(library).bind(env.objects).instances
    found = []
    for index in range(count):
        instance = own[index % len(own)]
        spec, atoms = instance.specification, dict(instance.atoms)
        found.append(
            Specification(
                f"{spec.id}_{index}",
                spec.formula.rename(atoms),
                trigger=spec.trigger.rename(atoms),
                recovery=None if spec.recovery is None else spec.recovery.rename(atoms),
                limit=spec.limit,
            )
        )
    specs = SpecSet(found)
    if name.startswith("tabletop"):  # labels that no specification reads cost nothing
        env = make_functional(env_id, propositions=specs.propositions)
    return env, specs


def unlabelled(name: str, env: FunctionalEnv) -> FunctionalEnv:
    """Return the environment without any labels, where it can do without."""
    if name.startswith("tabletop"):
        return make_functional(ENVIRONMENTS[name][0], propositions=())
    return env


def bare_run(env: FunctionalEnv, lanes: int, steps: int) -> Callable[[jax.Array], Any]:
    """Return a run of the environment alone, with the resets of the product."""

    def draw(key: jax.Array, count: int) -> tuple[Lanes, StepEvents]:
        begin, see = jax.random.split(key)
        first = jax.vmap(env.initial)(jax.random.split(begin, count))
        shown = jax.vmap(env.observation)(first, jax.random.split(see, count))
        rows = (first, jnp.zeros(count, jnp.int32), shown)
        return Lanes(rows, ()), StepEvents(jnp.zeros((0, count), jnp.uint8))

    first = FirstStates(draw, np.array([], np.intp), None)

    def one(carry: Any, key: jax.Array) -> Any:
        now, total = carry
        state, count, _ = now.rows
        act, move, pay, end, see, again = jax.random.split(key, 6)
        actions = random_actions(env, act, lanes)
        reached = jax.vmap(env.transition)(state, actions, jax.random.split(move, lanes))
        paid = jax.vmap(env.reward)(state, actions, reached, jax.random.split(pay, lanes))
        done = jax.vmap(env.terminal)(reached, jax.random.split(end, lanes))
        shown = jax.vmap(env.observation)(reached, jax.random.split(see, lanes))
        if env.max_episode_steps is not None:
            done = done | (count + 1 >= env.max_episode_steps)
        now = first.where(done, Lanes((reached, count + 1, shown), ()), again)
        return (now, total + paid), None

    def run(key: jax.Array) -> Any:
        begin, rest = jax.random.split(key)
        carry = (first.all_lanes(begin, lanes), jnp.zeros(lanes))
        (now, total), _ = jax.lax.scan(one, carry, jax.random.split(rest, steps))
        return total.sum() + now.rows[2].sum()

    return run


def product_run(product: FunctionalProduct, lanes: int, steps: int) -> Callable[[jax.Array], Any]:
    """Return a run of the product: observations, rewards, ends and the constraints' costs."""

    def one(carry: Any, key: jax.Array) -> Any:
        state, _, total, costs = carry
        act, own = jax.random.split(key)
        actions = random_actions(product.env, act, lanes)
        state, t = product.step(state, actions, own)
        return (state, t.observation, total + t.reward, costs + t.constraint_costs), None

    def run(key: jax.Array) -> Any:
        begin, rest = jax.random.split(key)
        state, shown = product.reset(begin, lanes)
        costs = jnp.zeros((lanes, len(product.constraints)))
        carry = (state, shown, jnp.zeros(lanes), costs)
        (_, shown, total, costs), _ = jax.lax.scan(one, carry, jax.random.split(rest, steps))
        return total.sum() + shown.sum() + costs.sum()

    return run


def random_actions(env: FunctionalEnv, key: jax.Array, lanes: int) -> jax.Array:
    """Return uniform actions, ``[lanes, ...]``."""
    space = env.action_space
    if hasattr(space, "n"):
        return jax.random.randint(key, (lanes,), 0, int(space.n))
    return jax.random.uniform(key, (lanes, *(space.shape or ())), minval=-1.0, maxval=1.0)


def time_environment(name: str, lanes: int, steps: int, repeats: int) -> dict[str, Any]:
    """Return the rates of an environment, bare and under ``MONITORS`` monitors."""
    env, specs = monitored(name, MONITORS)
    share = max(lanes // jax.device_count(), 1)
    done = share * jax.device_count() * steps
    bare = bare_run(unlabelled(name, env), share, steps)
    runs = {
        "bare, no labels": timed(bare, repeats),
        BARE: timed(bare_run(env, share, steps), repeats),
    }
    for features in (None, "index", "one_hot"):
        product = FunctionalProduct(env, specs, features=features)  # type: ignore[arg-type]
        runs[f"product, features {features}"] = timed(product_run(product, share, steps), repeats)
    rates = {what: done / timing.wall_best for what, timing in runs.items()}
    return {
        "environment": name,
        "monitors": len(specs.instances),
        "lanes": share * jax.device_count(),
        "steps": steps,
        "runs": runs,
        "steps_per_second": rates,
        "overhead": {what: rates[BARE] / rate - 1 for what, rate in rates.items()},
    }


def time_growth(
    name: str, counts: Sequence[int], sizes: Sequence[int], steps: int, repeats: int
) -> list[dict[str, Any]]:
    """Return the rate of the product for each number of specifications and of lanes.

    Without monitor features, whose cost is that of a wider observation.
    """
    found = []
    for count in (0, *counts):
        env, specs = monitored(name, count or 1)
        for lanes in sizes:
            share = max(lanes // jax.device_count(), 1)
            if count:
                product = FunctionalProduct(env, specs, features=None)
                run = product_run(product, share, steps)
            else:
                run = bare_run(env, share, steps)
            timing = timed(run, repeats)
            done = share * jax.device_count() * steps
            found.append(
                {
                    "environment": name,
                    "specifications": count,
                    "lanes": share * jax.device_count(),
                    "steps": steps,
                    "run": timing,
                    "steps_per_second": done / timing.wall_best,
                }
            )
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, print tables, write the JSON file."""
    arguments = parser("device", str(__doc__).partition("\n")[0])
    arguments.add_argument(
        "--environment",
        action="append",
        choices=[*ENVIRONMENTS, "none"],
        help="which environments to step (default: all)",
    )
    given = arguments.parse_args(argv)
    console = Console()
    repeats, steps = (1, 4) if given.quick else (7, 256)
    sizes, counts = ((1, 20), (64,)) if given.quick else ((1, 5, 20, 100), (64, 1024, 4096, 16384))
    monitors = [
        time_monitors(specifications(size), lanes, steps, repeats)
        for size in sizes
        for lanes in counts
    ]
    console.print(_monitor_table(monitors, counts))
    names = given.environment or list(ENVIRONMENTS)
    lanes = 64 if given.quick else 8192
    run = partial(time_environment, lanes=lanes, steps=steps, repeats=repeats)
    environments = []
    for name in names:
        if name != "none":
            environments.append(run(name))
            console.print(_environment_table(environments[-1]))
    growth = time_growth("kitchen_grid", sizes, counts, steps, repeats)
    console.print(_growth_table(growth, counts))
    results = {
        "devices": jax.device_count(),
        "jax": jax.__version__,
        "monitors": monitors,
        "environments": environments,
        "growth": growth,
    }
    save("device", results, given.output, console)
    return 0


def _monitor_table(rows: list[dict[str, Any]], counts: Sequence[int]) -> Table:
    table = Table(title=f"Monitors alone: specification-steps/s ({jax.device_count()} devices)")
    table.add_column("specifications", justify="right")
    for lanes in counts:
        table.add_column(f"{lanes:,} lanes", justify="right")
    for size in dict.fromkeys(row["specifications"] for row in rows):
        cells = []
        for row in rows:
            if row["specifications"] == size:
                rate = row["specification_steps_per_second"]
                kept = met(rate, TARGET_MONITORS, at_most=False)
                shown = f" ({kept})" if size == MONITORS and row["lanes"] >= 4096 else ""
                cells.append(per_second(rate) + shown)
        table.add_row(str(size), *cells)
    return table


def _growth_table(rows: list[dict[str, Any]], counts: Sequence[int]) -> Table:
    table = Table(title=f"{rows[0]['environment']} with monitors: environment steps/s")
    table.add_column("specifications", justify="right")
    for lanes in counts:
        table.add_column(f"{lanes:,} lanes", justify="right")
    for size in dict.fromkeys(row["specifications"] for row in rows):
        own = [row for row in rows if row["specifications"] == size]
        table.add_row(
            str(size) if size else "none (bare)", *(per_second(r["steps_per_second"]) for r in own)
        )
    return table


def _environment_table(found: dict[str, Any]) -> Table:
    title = f"{found['environment']}, {found['lanes']:,} lanes, {found['monitors']} monitors"
    table = Table(title=title)
    for column in ("what", "steps/s", "against bare"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for what, rate in found["steps_per_second"].items():
        cells = [per_second(rate), ""]
        if what.startswith("product"):
            more = found["overhead"][what]
            cells[0] += f" ({met(rate, TARGET_PRODUCT, at_most=False)})"
            cells[1] = f"{more:+.0%} ({met(more, TARGET_OVERHEAD, at_most=True)})"
        table.add_row(what, *cells)
    return table


if __name__ == "__main__":
    sys.exit(main())
