"""One evaluation: rollouts through the monitors, tables on screen, report and figures on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safe_rl.cli.backends import backend_of_checkpoint
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.chunk_policies import ChunkSource, chunk_source, policy_folder
from safe_rl.cli.policies import ScriptedPolicyAdapter, trained_policy
from safe_rl.cli.protocol import evaluate_protocol, report_notes, under_protocol
from safe_rl.cli.runs import SETTINGS_FILE, find_checkpoint
from safe_rl.cli.screen import counting_bar, screen
from safe_rl.cli.settings import EnvSettings, EvalSettings, SpecsSettings, load_settings, run_folder
from safe_rl.data import EpisodeWriter, LeRobotWriter
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.curves import (
    METRICS_FILE,
    constraint_panels,
    learning_curve_figure,
    read_run,
)
from safe_rl.evaluation.episode_files import write_episode
from safe_rl.evaluation.figures import per_trigger_figure
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.report import PolicyReport, write_report
from safe_rl.evaluation.rollouts import Policy, RandomPolicy, Recording, Rollouts, roll_out
from safe_rl.evaluation.tables import constraint_table, outcome_table, specification_table
from safe_rl.evaluation.timeline import replay
from safe_rl.wrappers import VectorProductMDP


def evaluate(settings: EvalSettings, check_env: Callable[[EnvSettings], None]) -> PolicyReport:
    """Evaluate a policy and write its report.

    Args:
        settings: everything; see :class:`EvalSettings`.
        check_env: refuses an environment that may not be built.

    Raises:
        ConfigurationError: settings that contradict each other.
        CheckpointError: a checkpoint is missing or damaged.
    """
    kind = settings.policy or ("checkpoint" if settings.checkpoint is not None else None)
    if kind is None:
        raise ConfigurationError(
            "there is nothing to evaluate: give checkpoint=RUN_DIR, or env=... with "
            "policy=served, policy=scripted or policy=random"
        )
    if kind == "checkpoint" and settings.checkpoint is None:
        raise ConfigurationError("policy=checkpoint needs checkpoint=RUN_DIR")
    env, specs_settings = _of_the_run(settings)
    check_env(env)
    checkpoint = None
    chunks = chunk_source(settings)
    if chunks is not None:  # it sees what the environment shows, and no monitors
        specs_settings = replace(specs_settings, features=None)
    elif kind == "checkpoint":
        assert settings.checkpoint is not None
        checkpoint = find_checkpoint(settings.checkpoint, settings.eval.which)
        backend_of_checkpoint(checkpoint).use_threads(settings.threads)
    rollout = settings.eval
    specs = build_specs(specs_settings)
    count = min(rollout.num_envs or env.num_envs, rollout.episodes)
    if rollout.protocol == "maniguard":
        env = under_protocol(env, rollout)
    product = build_product(
        env, specs_settings, specs, num_envs=count, kwargs=_recording(env, settings)
    )
    console = screen()
    folder = Path(settings.output)
    name = kind if kind != "scripted" else f"scripted ({settings.manner})"
    described = _described(kind, settings, checkpoint, chunks, env, specs_settings)

    def policy_of(seed: int, scenarios: Sequence[str] = ()) -> Policy:
        if chunks is not None:
            return chunks.runner(product, seed, scenarios)
        return _policy(kind, settings, checkpoint, product, seed)

    try:
        writer = _writer(folder, env, settings, product)
        if rollout.protocol == "maniguard":
            return evaluate_protocol(product, policy_of, settings, env, name, described, writer)
        rollouts = _roll_out(product, policy_of(settings.seed), settings, name, writer)
    finally:
        product.close()
    scores = score(
        rollouts.records,
        product.constraints,
        resamples=rollout.resamples,
        confidence=rollout.confidence,
        seed=settings.seed,
    )
    report = PolicyReport(name, scores, described, report_notes(rollouts.records))
    console.print(outcome_table([report]))
    console.print(specification_table(report))
    if report.scores.constraints:
        console.print(constraint_table(report))
    for note in report.notes:
        console.print(f"note: {note}", soft_wrap=True, highlight=False)
    paths = [*write_report(folder, [report])]
    rollouts.records.save(folder / "episodes.npz")
    paths.append(folder / "episodes.npz")
    if isinstance(writer, EpisodeWriter):
        paths += writer.paths
    elif writer is not None:
        paths.append(writer.root)
    paths += _figures(report, rollouts, product, folder, env, settings)
    for path in paths:
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return report


def _of_the_run(settings: EvalSettings) -> tuple[EnvSettings, SpecsSettings]:
    """Return environment and specifications: those that were given, else those of the run."""
    env, specs = settings.env, settings.specs
    if env is None or specs is None:
        if settings.checkpoint is None:
            missing = "env" if env is None else "specs"
            raise ConfigurationError(
                f"without a checkpoint, {missing}= has to be given, such as "
                "env=robosuite/stack specs=robosuite"
            )
        file = _run_folder(settings.checkpoint) / SETTINGS_FILE
        if not file.is_file() and policy_folder(settings.checkpoint) is not None:
            raise ConfigurationError(
                f"checkpoint={settings.checkpoint} is a policy that belongs to no run, so env= and "
                "specs= have to be given, such as env=robosuite/stack specs=safemanip"
            )
        run = load_settings(file)
        env, specs = env or run.env, specs or run.specs
    return env, specs


def _run_folder(checkpoint: str) -> Path:
    if not Path(checkpoint).exists():
        raise ConfigurationError(
            f"checkpoint={checkpoint}: no such file or folder; give the folder of a run, as "
            "train.py prints it at the end"
        )
    return run_folder(checkpoint)


def _recording(env: EnvSettings, settings: EvalSettings) -> dict[str, Any]:
    """Ask the environments that can for a record of every frame, to explain violations with."""
    wanted = settings.eval.frames and settings.eval.timelines > 0
    return dict(env.record_kwargs) if wanted else {}


def _policy(
    kind: str,
    settings: EvalSettings,
    checkpoint: Path | None,
    product: VectorProductMDP,
    seed: int,
) -> Policy:
    if kind == "random":
        return RandomPolicy(product, seed)
    if kind == "scripted":
        return ScriptedPolicyAdapter(product, settings.manner)
    assert checkpoint is not None
    return trained_policy(
        checkpoint,
        product,
        seed,
        averaged=settings.eval.averaged.lower(),
        deterministic=settings.eval.deterministic,
        device=settings.device,
    )


def _roll_out(
    product: VectorProductMDP,
    policy: Policy,
    settings: EvalSettings,
    name: str,
    writer: EpisodeWriter | LeRobotWriter | None,
) -> Rollouts:
    episodes = settings.eval.episodes
    with counting_bar(name) as bar:
        task = bar.add_task("episodes", total=episodes)
        rollouts = roll_out(
            product,
            policy,
            episodes,
            seed=settings.seed,
            keep_letters=settings.eval.timelines,
            on_episode=lambda done: bar.update(task, completed=done),
            on_recorded=None if writer is None else writer.add,
        )
    if isinstance(writer, LeRobotWriter):
        writer.close()
    elif writer is not None:
        writer.flush()
    return rollouts


def _writer(
    folder: Path, env: EnvSettings, settings: EvalSettings, product: VectorProductMDP
) -> EpisodeWriter | LeRobotWriter | None:
    """Return what keeps the episodes, as ``eval.record`` says."""
    how = settings.eval.record.lower()
    if how == "lerobot":
        fps = round(1 / (env.seconds_per_step or 0.05))
        return LeRobotWriter(folder / "lerobot", fps=fps, specs=product.specs, per_file=50)
    return EpisodeWriter(folder / "episodes") if how == "true" else None


def _described(
    kind: str,
    settings: EvalSettings,
    checkpoint: Path | None,
    chunks: ChunkSource | None,
    env: EnvSettings,
    specs: SpecsSettings,
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "env": env.name,
        "env_id": env.id,
        "env_kwargs": env.kwargs,
        "specs": specs.name,
        "policy": kind,
        "episodes": settings.eval.episodes,
        "seed": settings.seed,
        "resamples": settings.eval.resamples,
        "confidence": settings.eval.confidence,
    }
    if kind == "checkpoint":
        described["checkpoint"] = str(checkpoint or settings.checkpoint)
        described["deterministic"] = settings.eval.deterministic
        described["averaged"] = settings.eval.averaged
    if kind == "served":
        described["address"] = settings.served.address
    if chunks is not None:
        described["play"], described["prompt"] = chunks.play, chunks.form
    if kind == "scripted":
        described["manner"] = settings.manner
    return described


def _figures(
    report: PolicyReport,
    rollouts: Rollouts,
    product: VectorProductMDP,
    folder: Path,
    env: EnvSettings,
    settings: EvalSettings,
) -> list[Path]:
    paths = [per_trigger_figure([report], folder / "per_trigger.png")]
    for number, recording in enumerate(rollouts.recordings, start=1):
        paths += _episode(number, recording, product, folder, env, report.name)
    if settings.checkpoint is not None:
        run = _run_folder(settings.checkpoint)
        if (run / METRICS_FILE).is_file():
            curve = read_run(run, report.settings["env"])
            if curve.steps.size:
                bounds = {c.id: (c.kind, c.threshold) for c in product.constraints}
                paths.append(
                    learning_curve_figure(
                        [curve],
                        constraint_panels([curve], bounds),
                        folder / "learning_curves.png",
                        title=f"training of {run}",
                    )
                )
    return paths


def _episode(
    number: int,
    recording: Recording,
    product: VectorProductMDP,
    folder: Path,
    env: EnvSettings,
    name: str,
) -> list[Path]:
    names = product.specs.propositions
    letters = [dict(zip(names, map(bool, row), strict=True)) for row in recording.letters]
    timeline = replay(product.specs, letters, truncated=recording.truncated)
    return write_episode(
        timeline,
        folder,
        number,
        episode=recording.episode,
        title=f"{name} on {env.name}, episode {recording.episode}",
        frames=recording.frames,
        seconds_per_step=env.seconds_per_step,
    )
