"""One evaluation by ManiGuard's protocol: scenarios, seeds, tables and a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from safe_rl.cli.screen import counting_bar, screen
from safe_rl.cli.settings import EnvSettings, EvalSettings, RolloutSettings
from safe_rl.data import EpisodeWriter, LeRobotWriter
from safe_rl.errors import ConfigurationError
from safe_rl.evaluation.metrics import score
from safe_rl.evaluation.protocol import family_horizon, play_scenarios
from safe_rl.evaluation.protocol_report import diagnostics_table, protocol_json, rates_table
from safe_rl.evaluation.protocol_scores import protocol_scores
from safe_rl.evaluation.records import EpisodeRecords, concatenate
from safe_rl.evaluation.report import PolicyReport, write_report
from safe_rl.evaluation.rollouts import Policy
from safe_rl.wrappers import VectorProductMDP


def under_protocol(env: EnvSettings, rollout: RolloutSettings) -> EnvSettings:
    """Return the environment as the protocol wants it: goal held for 10 steps, family horizon.

    Raises:
        ConfigurationError: the environment has no such form.
    """
    if env.protocol_kwargs is None:
        raise ConfigurationError(
            f"eval.protocol=maniguard: env={env.name} does not say how a goal held for 10 steps "
            "ends an episode; set +env.protocol_kwargs='{...}' ({} where it does so anyway)"
        )
    further = dict(env.protocol_kwargs)
    if rollout.demonstrations is None:
        return replace(env, kwargs={**env.kwargs, **further})
    horizon = family_horizon(_lengths(rollout.demonstrations))
    if "horizon" in further:
        return replace(env, kwargs={**env.kwargs, **further, "horizon": horizon})
    return replace(env, kwargs={**env.kwargs, **further}, max_episode_steps=horizon)


def evaluate_protocol(
    product: VectorProductMDP,
    policy_of: Callable[[int, Sequence[str]], Policy],
    settings: EvalSettings,
    env: EnvSettings,
    name: str,
    described: Mapping[str, Any],
    writer: EpisodeWriter | LeRobotWriter | None,
) -> PolicyReport:
    """Play the scenarios, print both tables, and write the report.

    Args:
        product: the environment as :func:`under_protocol` returned it, with its monitors.
        policy_of: makes the policy of a seed, given the names of the scenarios that it plays.
        settings: of the evaluation.
        env: of the environment.
        name: of the policy.
        described: what the report says of the evaluation.
        writer: keeps the episodes.
    """
    rollout = settings.eval
    scenarios = [f"{env.name}/{index}" for index in range(rollout.episodes)]
    records = _played(product, policy_of, settings, name, scenarios, writer)
    scores = protocol_scores(
        records, rollout.policy_seeds, resamples=rollout.resamples, confidence=rollout.confidence
    )
    pooled = concatenate(records)
    console = screen()
    console.print(rates_table(scores, name))
    console.print(diagnostics_table(scores))
    settled = {**described, "protocol": "maniguard", "horizon": env.kwargs.get("horizon")}
    report = PolicyReport(
        name,
        score(pooled, product.constraints, resamples=0),
        {**settled, "policy_seeds": list(rollout.policy_seeds)},
        report_notes(pooled),
    )
    for note in report.notes:
        console.print(f"note: {note}", soft_wrap=True, highlight=False)
    folder = Path(settings.output)
    paths = write_report(folder, [report], {"protocol": protocol_json(scores)})
    pooled.save(folder / "episodes.npz")
    for path in (*paths, folder / "episodes.npz"):
        console.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return report


def _played(
    product: VectorProductMDP,
    policy_of: Callable[[int, Sequence[str]], Policy],
    settings: EvalSettings,
    name: str,
    scenarios: Sequence[str],
    writer: EpisodeWriter | LeRobotWriter | None,
) -> tuple[EpisodeRecords, ...]:
    seeds = settings.eval.policy_seeds
    with counting_bar(name) as bar:
        task = bar.add_task("rollouts", total=len(scenarios) * len(seeds))
        records = play_scenarios(
            product,
            scenarios,
            policy_of,
            seeds=seeds,
            scene_seed=settings.seed,
            on_episode=lambda done: bar.update(task, completed=done),
            on_recorded=None if writer is None else writer.add,
        )
    if isinstance(writer, LeRobotWriter):
        writer.close()
    elif writer is not None:
        writer.flush()
    return records


def _lengths(dataset: str) -> list[int]:
    """Lengths of a dataset's successes."""
    from safe_rl.cli.imitate import read_demonstrations

    lengths = [episode.steps for episode in read_demonstrations(dataset) if episode.success]
    if not lengths:
        raise ConfigurationError(
            f"eval.demonstrations={dataset}: none of its episodes is a success, so it gives no "
            "horizon"
        )
    return lengths


def report_notes(records: EpisodeRecords) -> tuple[str, ...]:
    """Return what a reader of the records' figures needs to know."""
    notes = []
    if records.success is None:
        notes.append("the environment reports no success, so success and SSR are not known")
    if records.engaged is None:
        notes.append(
            "the environment does not report contact, so every violation is charged, and the rates "
            "that need engagement are not known"
        )
    idle = [
        name
        for name, count in zip(
            records.columns.ids,
            records.columns.per_specification(records.triggered).sum(axis=0),
            strict=True,
        )
        if count == 0
    ]
    if idle:
        notes.append(f"never triggered, hence not tested: {', '.join(idle)}")
    return tuple(notes)
