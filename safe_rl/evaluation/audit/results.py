"""What an audit keeps of one file, so that an interrupted audit need not read it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data import Drift
from safe_rl.data.archives import read_arrays, write_arrays
from safe_rl.errors import RecordingError
from safe_rl.evaluation.audit.monitoring import Monitored
from safe_rl.evaluation.audit.violations import Violation
from safe_rl.evaluation.records import records_from_arrays, records_to_arrays


@dataclass(frozen=True)
class KeptEpisode:
    """An episode kept letter by letter, to be drawn and explained.

    Attributes:
        episode: its place in the file.
        letters: bool ``[T + 1, P]`` over the specifications' propositions.
        truncated: it did not terminate.
    """

    episode: int
    letters: NDArray[np.bool_]
    truncated: bool


@dataclass(frozen=True)
class FileResult:
    """One audited file of ``E`` episodes.

    Attributes:
        monitored: the counts.
        violations: every one, explained.
        objects: property to objects, as the specifications were bound.
        env_ids: environment of each episode.
        instructions: words of each episode.
        seeds: of each episode, -1 for unknown.
        kept: the first violated episodes.
        seconds: time of each stage.
        drifts: of each episode whose actions a replay stepped, else ``None``.
    """

    monitored: Monitored
    violations: tuple[Violation, ...]
    objects: Mapping[str, tuple[str, ...]]
    env_ids: tuple[str, ...]
    instructions: tuple[str, ...]
    seeds: tuple[int, ...]
    kept: tuple[KeptEpisode, ...]
    seconds: Mapping[str, float]
    drifts: tuple[Drift | None, ...]

    def save(self, path: Path) -> None:
        """Write it as a whole."""
        document = {
            "violations": [violation.to_json() for violation in self.violations],
            "objects": {kind: list(names) for kind, names in self.objects.items()},
            "env_ids": self.env_ids,
            "instructions": self.instructions,
            "seeds": self.seeds,
            "kept": [(kept.episode, kept.truncated) for kept in self.kept],
            "seconds": dict(self.seconds),
            "drifts": self.drifts,
        }
        letters = {f"letters_{i}": kept.letters for i, kept in enumerate(self.kept)}
        write_arrays(
            path,
            {
                **records_to_arrays(self.monitored.records),
                "verdicts": self.monitored.verdicts,
                "unsafe": self.monitored.unsafe,
                "document": np.asarray(json.dumps(document)),
                **letters,
            },
        )

    @classmethod
    def load(cls, path: Path) -> FileResult:
        """Read what :meth:`save` wrote.

        Raises:
            RecordingError: the file is missing or damaged.
        """
        arrays = read_arrays(path)
        try:
            document: Any = json.loads(str(arrays["document"]))
            return cls(
                monitored=Monitored(
                    records_from_arrays(arrays), arrays["verdicts"], arrays["unsafe"]
                ),
                violations=tuple(Violation.from_json(own) for own in document["violations"]),
                objects={kind: tuple(names) for kind, names in document["objects"].items()},
                env_ids=tuple(document["env_ids"]),
                instructions=tuple(document["instructions"]),
                seeds=tuple(document["seeds"]),
                kept=tuple(
                    KeptEpisode(episode, arrays[f"letters_{i}"], truncated)
                    for i, (episode, truncated) in enumerate(document["kept"])
                ),
                seconds=document["seconds"],
                drifts=tuple(own if own is None else Drift(*own) for own in document["drifts"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise RecordingError(f"{path}: a damaged result of an audit ({error})") from None
