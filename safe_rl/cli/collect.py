"""The Hydra program behind ``safe-rl collect``."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.screen import screen
from safe_rl.demonstrations.collection import (
    CollectionSettings,
    Progress,
    Yields,
    collect,
    yields_of,
)
from safe_rl.demonstrations.collection.steering import steered, weights_of
from safe_rl.demonstrations.engine.variation import Mixture
from safe_rl.demonstrations.families import find_family
from safe_rl.errors import ConfigurationError, MissingDependencyError

try:
    import hydra
    from omegaconf import DictConfig
except ImportError as error:
    raise MissingDependencyError("hydra-core", "sb3", "collecting demonstrations") from error

from safe_rl.cli.collect_reading import read_collection
from safe_rl.cli.settings import MISSING, SpecsSettings, typed


@dataclass
class CollectSettings:
    """Everything that ``safe-rl collect`` takes; see ``configs/collect.yaml``."""

    family: str = MISSING
    episodes: int | None = 40
    attempts: int | None = None
    seed: int = 0
    workers: int = 2
    specs: SpecsSettings | None = None
    manners: dict[str, dict[str, float]] = field(default_factory=dict)
    steer: str | None = None
    images: int = 0
    cameras: list[str] | None = None
    output: str = MISSING


@hydra.main(version_base="1.3", config_path="pkg://safe_rl.configs", config_name="collect")
def main(composed: DictConfig) -> None:
    """Collect; Hydra calls this once per job of a sweep."""
    with clear_errors():
        run(typed(composed, CollectSettings))


def run(settings: CollectSettings) -> None:
    """Collect, and print what came of it."""
    for name in ("episodes", "attempts", "workers"):
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise ConfigurationError(f"the setting {name} is {value}; it must be at least 1")
    root = Path(settings.output)
    console = Console(file=sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(
        *columns, TimeElapsedColumn(), console=console, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=settings.episodes or settings.attempts)

        def tell(progress: Progress) -> None:
            done = progress.attempts if settings.episodes is None else progress.safe_successes
            words = f"safe successes ({progress.attempts} attempts)"
            bar.update(task, completed=done, description=words)

        rows = collect(
            collection_settings(settings),
            root,
            episodes=settings.episodes,
            max_attempts=settings.attempts,
            workers=settings.workers,
            on_attempt=tell,
        )
    screen().print(yield_table(settings.family, yields_of(rows)))
    print(f"wrote {root}")


def collection_settings(settings: CollectSettings) -> CollectionSettings:
    """What decides the attempts, the steering worked out."""
    specs = settings.specs
    chosen = CollectionSettings(
        family=settings.family,
        seed=settings.seed,
        specs=None if specs is None else specs.source,
        select=None if specs is None or specs.select is None else tuple(specs.select),
        image_size=settings.images,
        cameras=None if settings.cameras is None else tuple(settings.cameras),
    )
    mixture = Mixture.of(find_family(settings.family).parameters, settings.manners)
    if settings.steer is not None:
        episodes, rows = read_collection(Path(settings.steer))
        draws = [row.labels["draw"] for row in rows]
        mixture = steered(mixture, episodes, draws, chosen.spec_set())
    given: dict[str, Any] = {**vars(chosen), "weights": weights_of(mixture)}
    return CollectionSettings(**given)


def yield_table(family: str, yields: Yields) -> Table:
    """The reasons of a collection's attempts, and what was violated."""
    table = Table(title=f"{family}: {yields.attempts} attempts", title_justify="left")
    for heading in ("reason", "attempts", "share", "steps (mean)"):
        table.add_column(heading, justify="left" if heading == "reason" else "right")
    total = max(1, yields.attempts)
    for reason, count in yields.reasons.items():
        mean = f"{yields.steps[reason] / count:.0f}" if count else ""
        table.add_row(reason, str(count), f"{count / total:.0%}", mean)
    table.add_section()
    table.add_row("unsafe, goal reached", str(yields.unsafe_successes), "", "")
    for name, count in yields.violated.items():
        table.add_row(f"  violated {name}", str(count), f"{count / total:.0%}", "")
    return table


if __name__ == "__main__":
    main()
