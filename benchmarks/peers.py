"""Training throughput beside MASA's and OmniSafe's PPOLag, in environment steps per second.

Every learner trains on this machine, one after the other, with networks of 64x64 and 4 epochs: in
an environment that its own framework ships, and in one small environment that all of them get
(``benchmarks.drift``), so that learners are compared and not simulators. The peers have it as they
ship (one environment, minibatches of 64) and once more with 64 environments and wide minibatches.

Rates are per second of elapsed time and leave start-up and compilation out: of our learner from the
difference of two rows of its log (``time/fps``), of MASA from the times at which its iterations
ended, of OmniSafe from ``Time/Epoch`` in its log; each without the first of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

from benchmarks import drift
from benchmarks.measure import met, parser, per_second, save
from benchmarks.tabletop_learning import settings_of
from safe_rl.cli.backends.jax_backend import build_model
from safe_rl.cli.settings import TrainSettings
from safe_rl.cli.training import train
from safe_rl.evaluation.curves import METRICS_FILE
from safe_rl.specs import Limit, Specification
from safe_rl.wrappers.functional import FunctionalEnv, FunctionalProduct

OURS = "safe_rl"
OWN = "its own"
ALIKE = "drift"
WIDE = "drift, 64 side by side"
TARGET_RATE = 50_000
TARGETS = {"MASA": 25, "OmniSafe": 50}
LEFT_OUT = 8
"""First iterations of our learner that do not count."""
EPOCHS = 4


class Peer(NamedTuple):
    """One run of a peer.

    Attributes:
        framework: its name.
        where: which environment.
        shows: the environment in words.
        envs: environments side by side.
        n_steps: steps of each in an iteration.
        batch: minibatch.
        iterations: that count.
    """

    framework: str
    where: str
    shows: str
    envs: int
    n_steps: int
    batch: int
    iterations: int


PEERS = (
    Peer("MASA", OWN, "ColourBombGridWorldV2, Property2", 1, 2048, 64, 5),
    Peer("MASA", ALIKE, ALIKE, 1, 2048, 64, 5),
    Peer("MASA", WIDE, ALIKE, 64, 256, 2048, 4),
    Peer("OmniSafe", OWN, "SafetyPointGoal1-v0", 1, 1024, 64, 3),
    Peer("OmniSafe", ALIKE, ALIKE, 1, 2048, 64, 5),
    # An epoch of OmniSafe starts all episodes anew and has to see one of them end.
    Peer("OmniSafe", WIDE, ALIKE, 64, 1024, 2048, 1),
)
PROGRAMS = {"MASA": "benchmarks.masa_peer", "OmniSafe": "benchmarks.omnisafe_peer"}


class Drift(FunctionalEnv):
    """``benchmarks.drift`` as a functional environment with one proposition."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-np.inf, np.inf, (drift.SIZE,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (drift.ACTIONS,), np.float32)
        self.proposition_names = ("far",)
        self.max_episode_steps = drift.HORIZON

    def initial(self, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return a point near zero."""
        return 0.1 * jax.random.normal(rng, (drift.SIZE,))

    def transition(
        self, state: Any, action: jax.Array, rng: jax.Array, params: Any = None
    ) -> jax.Array:
        """Move."""
        push = action @ jnp.array(drift.PUSHES)
        moved: jax.Array = drift.moved(state, push, jax.random.normal(rng, (drift.SIZE,)))
        return moved

    def observation(self, state: Any, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return the point."""
        return jnp.asarray(state)

    def reward(
        self, state: Any, action: jax.Array, next_state: Any, rng: jax.Array, params: Any = None
    ) -> jax.Array:
        """Return the reward of the point reached."""
        return jnp.asarray(drift.reward(next_state))

    def terminal(self, state: Any, rng: jax.Array, params: Any = None) -> jax.Array:
        """Return false."""
        return jnp.zeros((), jnp.bool_)

    def letter(self, state: Any) -> jax.Array:
        """Return whether the point is far."""
        return jnp.asarray(drift.far(state))[None]


def between(rows: Sequence[dict[str, float]], left_out: int = LEFT_OUT) -> dict[str, float]:
    """Return steps and seconds of all iterations after the first ``left_out``.

    ``time/fps`` counts from the first iteration, after compilation, so steps / fps is a time.
    """
    ends = [(0.0, 0.0), *((row["step"], row["step"] / row["time/fps"]) for row in rows)]
    first, last = ends[min(left_out, len(rows) - 1)], ends[-1]
    return {"steps": last[0] - first[0], "seconds": last[1] - first[1]}


def ours_shipped(settings: TrainSettings) -> dict[str, float]:
    """Train as ``train.py`` does and read the run's own log."""
    train(settings, say=lambda text: None)
    lines = (Path(settings.run_dir) / METRICS_FILE).read_text().splitlines()
    return between([json.loads(line) for line in lines])


def ours_alike(settings: TrainSettings, total: int) -> dict[str, float]:
    """Train the preset's learner in the environment that all get, under one specification."""
    spec = Specification(
        "never_far",
        "G !far",
        trigger="far",
        recovery="!far",
        limit=Limit("episode", 25.0),
    )
    product = FunctionalProduct(Drift(), [spec])
    model = build_model(settings.algo, product, seed=0, num_envs=settings.env.num_envs)
    rows: list[dict[str, float]] = []
    model.learn(total, on_row=lambda _, step, row: rows.append({**row, "step": step}))
    return between(rows)


def run_peer(peer: Peer, python: str | None, quick: bool) -> dict[str, Any]:
    """Run a peer as a program; under ``missing``, why there are no figures."""
    option = f"--{peer.framework.lower()}"
    if python is None:
        return {"missing": f"not run: no {option} PYTHON"}
    case = "own" if peer.where == OWN else "alike"
    iterations = 1 if quick else peer.iterations
    sizes = (peer.envs, peer.n_steps, peer.batch, EPOCHS, iterations)
    command = [python, "-m", PROGRAMS[peer.framework], case, *map(str, sizes)]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"missing": f"not run: {error}"}
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"missing": f"not run: it failed under {python} ({last})"}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def row_of(peer: Peer, found: dict[str, Any]) -> dict[str, Any]:
    """Return a row for the table and the file; the rate is ``None`` where nothing was run."""
    rate = found["steps"] / found["seconds"] if "steps" in found else None
    settings = {**peer._asdict(), "epochs": EPOCHS, "network": [64, 64]}
    del settings["iterations"]
    return {**settings, **found, "steps_per_second": rate}


def ratios(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many times faster our learner is than each peer, in each setting."""
    ours = {row["where"]: row["steps_per_second"] for row in rows if row["framework"] == OURS}
    found = []
    for row in rows:
        if row["framework"] != OURS:
            base = ours[OWN] if row["where"] == OWN else ours[ALIKE]
            rate = row["steps_per_second"]
            times = None if rate is None else base / rate
            target = TARGETS[row["framework"]]
            entry = {"framework": row["framework"], "where": row["where"], "times": times}
            found.append({**entry, "target": target})
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Train all, print tables, write the JSON file."""
    arguments = parser("peers", __doc__.partition("\n")[0] if __doc__ else "")
    arguments.add_argument("--masa", metavar="PYTHON", help="interpreter that has MASA-Safe-RL")
    arguments.add_argument("--omnisafe", metavar="PYTHON", help="interpreter that has OmniSafe")
    arguments.add_argument("--steps", type=int, default=2_000_000, help="of each run of ours")
    arguments.add_argument("--threads", type=int, default=os.cpu_count(), help="of ours")
    given = arguments.parse_args(argv)
    console = Console(width=150) if not sys.stdout.isatty() else Console()
    steps = 2 * 32_768 if given.quick else given.steps
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        more = [f"algo.total_timesteps={steps}", f"threads={given.threads}"]
        more.append("algo.best_every=null")  # the peers do not evaluate meanwhile either
        settings = settings_of("place", "trigger", 0, Path(folder), more)
        own = ours_shipped(settings)
    algo = settings.algo
    if (list(algo.net_arch), algo.n_epochs) != ([64, 64], EPOCHS):
        raise RuntimeError(f"the preset has net_arch={algo.net_arch}, n_epochs={algo.n_epochs}")
    sizes = (settings.env.num_envs, algo.n_steps, algo.batch_size, 0)
    rows.append(row_of(Peer(OURS, OWN, "tabletop/place", *sizes), own))
    rows.append(row_of(Peer(OURS, ALIKE, ALIKE, *sizes), ours_alike(settings, steps)))
    pythons = {"MASA": given.masa, "OmniSafe": given.omnisafe}
    for peer in PEERS:
        rows.append(row_of(peer, run_peer(peer, pythons[peer.framework], given.quick)))
    console.print(_table(rows))
    faster = ratios(rows)
    _print_targets(console, rows[0]["steps_per_second"], faster)
    results = {"threads": given.threads, "jax": jax.__version__, "rows": rows, "ratios": faster}
    save("peers", results, given.output, console)
    return 0


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Training: 64x64 networks, 4 epochs, elapsed time")
    for column in ("framework", "environment", "side by side", "minibatch", "steps", "steps/s"):
        table.add_column(
            column, justify="left" if column in ("framework", "environment") else "right"
        )
    for row in rows:
        rate = row["steps_per_second"]
        cells = ["", "not run"] if rate is None else [f"{row['steps']:,.0f}", per_second(rate)]
        numbers = [f"{row['envs']:,}", f"{row['batch']:,}"]
        table.add_row(row["framework"], row["shows"], *numbers, *cells)
    return table


def _print_targets(console: Console, rate: float, faster: Sequence[dict[str, Any]]) -> None:
    kept = met(rate, TARGET_RATE, at_most=False)
    console.print(f"{OURS}, tabletop/place: {per_second(rate)} (>= {TARGET_RATE:,}/s: {kept})")
    for row in faster:
        what = f"against {row['framework']}, {row['where']}"
        if row["times"] is None:
            console.print(f"{what}: not run")
        else:
            kept = met(row["times"], row["target"], at_most=False)
            console.print(f"{what}: {row['times']:.1f}x (>= {row['target']}x: {kept})")


if __name__ == "__main__":
    sys.exit(main())
