"""From demonstrations to a safe policy: cloning of all, of the safe, conditioned, and fine-tuned.

``python -m benchmarks.from_demonstrations --task stack --dataset FOLDER [--seeds 3]`` learns a
state-only policy from a collection (``safe-rl collect``) by every arm on every seed, evaluates each
on the same episodes with the monitors watching, and writes a table and a JSON file. What is
finished is used again, so a stopped command goes on where it was.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from hydra import compose, initialize_config_module
from rich.console import Console
from rich.table import Table

from benchmarks.measure import parser, save
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.imitate import ImitateSettings
from safe_rl.cli.imitate import run as imitate
from safe_rl.cli.settings import POLICY_FOLDER, TrainSettings, checked, register_resolvers, typed
from safe_rl.cli.training import train
from safe_rl.evaluation.metrics import Scores, score
from safe_rl.evaluation.report import write_json
from safe_rl.evaluation.rollouts import roll_out
from safe_rl.policies import ChunkRunner
from safe_rl.policies.vla import VLAPolicy, load_vla

FIRST_EVALUATION_SEED = 500_000


class Task(NamedTuple):
    """What is learned and under which rules.

    Attributes:
        env: preset of the environment, with its specifications.
        more: overrides of it, for training and evaluation. The number of environments decides which
            episodes an evaluation plays, so it is the same for every arm.
        training: further ones for training.
    """

    env: str
    more: tuple[str, ...] = ()
    training: tuple[str, ...] = ()


STRICT = tuple(
    f"specs.limits.{name}={{kind: {kind}, value: 0.02}}"
    for name, kind in {
        "no_forbidden_contact": "episode",
        "grasp_remains_synced_until_dropped": "per_trigger",
        "dropped_object_was_released": "per_trigger",
        "released_object_eventually_settles": "per_trigger",
        "pick_preconditions_safe": "per_trigger",
        "place_preconditions_safe": "per_trigger",
        "open_close_preconditions_safe": "per_trigger",
    }.items()
)
"""Limits far below what demonstrations of the safe alone lead to."""

ENDS = "+env.train_kwargs.terminate_on_success=true"
"""Training ends episodes as the protocol does: what is open at the end of one counts in both."""

SIDE_BY_SIDE = "env.num_envs=4"

TASKS = {
    "stack": Task(
        "robosuite/stack",
        ("specs=safemanip", *STRICT),
        (SIDE_BY_SIDE, "+env.train_kwargs.horizon=200", ENDS),
    ),
    "door": Task("robosuite/door", STRICT, (SIDE_BY_SIDE, "+env.train_kwargs.horizon=220", ENDS)),
    "libero": Task(
        "libero/libero_goal",
        ("env.protocol_kwargs.horizon=450", *STRICT),
        (SIDE_BY_SIDE, "+env.train_kwargs.horizon=260"),
    ),
    "place": Task("tabletop/place", ("env.num_envs=64", "algo.controller_kwargs.warmup=0.0")),
}


class Arm(NamedTuple):
    """A way to a policy.

    Attributes:
        label: how the table calls it.
        imitation: overrides of ``safe-rl imitate``.
        tuned_from: the arm whose policy is fine-tuned; ``None`` for imitation.
    """

    label: str
    imitation: tuple[str, ...] = ()
    tuned_from: str | None = None


ARMS = {
    "all": Arm("cloning, all", ("imitation.keep=all",)),
    "safe": Arm("cloning, safe", ("imitation.keep=safe",)),
    "conditioned": Arm("conditioned", ("imitation.method=conditioned",)),
    "tuned": Arm("safe, fine-tuned", tuned_from="safe"),
}


def composed(kind: str, overrides: Sequence[str]) -> Any:
    """Compose a preset."""
    register_resolvers()
    with initialize_config_module(version_base="1.3", config_module="safe_rl.configs"):
        return compose(kind, list(overrides))


def env_settings(task: Task, seed: int, more: Sequence[str] = ()) -> TrainSettings:
    """Return the environment's settings, as training has them."""
    given = [f"env={task.env}", f"seed={seed}", *task.more, *more]
    return checked(composed("train", given), TrainSettings)


def specs_name(task: Task) -> str:
    """Return the preset of specifications that a task is judged by."""
    return env_settings(task, 0).specs.name


def learn(task: Task, arm: str, seed: int, folder: Path, given: Any) -> Path:
    """Learn, or find what was learned; return the policy's folder."""
    own = folder / arm / f"seed_{seed}"
    chosen = ARMS[arm]
    if chosen.tuned_from is None:
        words = [
            f"dataset={given.dataset}",
            f"specs={specs_name(task)}",
            f"output={own}",
            f"imitation.seed={seed}",
            f"threads={given.threads}",
            *chosen.imitation,
            *given.imitate,
        ]
        return imitate(typed(composed("imitate", words), ImitateSettings))
    start = folder / chosen.tuned_from / f"seed_{seed}"
    words = [
        "tuning=chunks",
        f"algo.policy={start}",
        f"run_dir={own}",
        f"threads={given.threads}",
        *task.training,
        *given.tune,
    ]
    train(env_settings(task, seed, words), say=lambda text: None)
    return own / POLICY_FOLDER


def evaluate(task: Task, policy: Path, seed: int, episodes: int) -> Scores:
    """Score a policy on the episodes that every arm is scored on."""
    settings = env_settings(task, seed, ["specs.features=null"])
    envs = build_product(
        settings.env,
        settings.specs,
        build_specs(settings.specs),
        kwargs=settings.env.protocol_kwargs,
    )
    try:
        model = load_vla(policy).model
        runner = ChunkRunner(
            VLAPolicy(model, deterministic=True), envs, play=model.config.chunk, seed=seed
        )
        records = roll_out(envs, runner, episodes, seed=FIRST_EVALUATION_SEED).records
        return score(records, envs.constraints, resamples=1000, seed=seed)
    finally:
        envs.close()


def row_of(found: Scores) -> dict[str, Any]:
    """Return the numbers of an evaluation as plain data."""
    everything = found.pooled
    rates = {}
    for name in ("success", "ssr", "engaged"):
        rate = found.outcomes[name]
        assert rate is not None, f"the environment does not tell {name}"
        rates[name] = rate.value
    return {
        **rates,
        "N": everything.triggered,
        "V": everything.violations,
        "specifications": {
            r.name: [r.triggered, r.violations] for r in found.specifications if r.triggered
        },
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Learn, score, print and write; returns 0."""
    given_parser = parser("from_demonstrations", __doc__ or "")
    given_parser.add_argument("--task", default="stack", choices=list(TASKS))
    given_parser.add_argument("--dataset", type=Path, required=True)
    given_parser.add_argument("--seeds", type=int, default=3)
    given_parser.add_argument("--arms", default=",".join(ARMS), help="comma-separated")
    given_parser.add_argument("--episodes", type=int, default=50)
    given_parser.add_argument("--runs", type=Path, default=Path("runs/from_demonstrations"))
    given_parser.add_argument("--threads", type=int, default=1)
    given_parser.add_argument("--imitate", nargs="*", default=[], help="overrides of imitate")
    given_parser.add_argument("--tune", nargs="*", default=[], help="overrides of train.py")
    given = given_parser.parse_args(argv)
    task, folder = TASKS[given.task], given.runs / given.task
    console = Console(width=130) if not sys.stdout.isatty() else Console()
    found: dict[str, list[dict[str, Any]]] = {arm: [] for arm in given.arms.split(",")}
    for seed in range(given.seeds):
        for arm in found:
            scores_file = folder / arm / f"seed_{seed}" / f"scores_{given.episodes}.json"
            if not scores_file.is_file():
                begun = time.perf_counter()
                policy = learn(task, arm, seed, folder, given)
                seconds = time.perf_counter() - begun
                row = row_of(evaluate(task, policy, seed, given.episodes))
                write_json(scores_file, {"seed": seed, "seconds": round(seconds), **row})
            row = json.loads(scores_file.read_text(encoding="utf-8"))
            found[arm].append(row)
            console.print(
                f"{given.task}, {ARMS[arm].label}, seed {seed}: success {row['success']:.2f}, "
                f"SSR {row['ssr']:.2f}, V/N {row['V']}/{row['N']}, {row['seconds']} s",
                highlight=False,
            )
    console.print(table_of(given.task, found, given.episodes))
    save(
        f"from_demonstrations_{given.task}",
        {"task": given.task, "episodes": given.episodes, "arms": found},
        given.output,
        console,
    )
    return 0


def interval(values: Sequence[float], episodes: int, resamples: int = 2000) -> str:
    """Return a mean over seeds and its 95% bootstrap interval over seeds and episodes."""
    rng = np.random.default_rng(0)
    rates = np.asarray(values)
    drawn = rates[rng.integers(len(rates), size=(resamples, len(rates)))]
    means = rng.binomial(episodes, np.clip(drawn, 0.0, 1.0)).mean(axis=1) / episodes
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{rates.mean():.2f} [{low:.2f}, {high:.2f}]"


def table_of(task: str, found: dict[str, list[dict[str, Any]]], episodes: int) -> Table:
    """Return the arms below each other: means over seeds with intervals."""
    table = Table(title=f"{task}: {episodes} episodes for each seed", title_justify="left")
    for name in ("", "success", "SSR", "engaged", "V/N", "N per episode", "s of learning"):
        table.add_column(name, justify="right" if name else "left")
    for arm, rows in found.items():
        total = [sum(row[name] for row in rows) for name in ("V", "N")]
        table.add_row(
            ARMS[arm].label,
            *(interval([r[name] for r in rows], episodes) for name in ("success", "ssr")),
            f"{np.mean([r['engaged'] for r in rows]):.2f}",
            f"{total[0] / total[1]:.3f}" if total[1] else "not triggered",
            f"{total[1] / episodes / len(rows):.1f}",
            f"{np.mean([r['seconds'] for r in rows]):.0f}",
        )
    table.caption = "In brackets: 95% over seeds and episodes. V and N over all specifications."
    return table


if __name__ == "__main__":
    sys.exit(main())
