"""What decides the attempts of a collection; kept beside the dataset, so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from safe_rl.demonstrations.engine.attempt import Demonstrator, family_specs
from safe_rl.demonstrations.engine.variation import Mixture
from safe_rl.demonstrations.families import find_family
from safe_rl.errors import ConfigurationError
from safe_rl.files import write_whole
from safe_rl.specs import SpecSet, load_specs

FILE = "collection.json"


@dataclass(frozen=True)
class CollectionSettings:
    """With these, the number of an attempt decides it to the last bit.

    Attributes:
        family: such as ``robosuite/stack``.
        seed: of all attempts.
        specs: a shipped set or a file, by which attempts are judged; ``None`` for the family's.
        select: ids of them; ``None`` for all.
        weights: parameter to its weights; ``None`` for the family's own.
        image_size: pixels to a side of recorded images; 0 records none.
        cameras: whose images; ``None`` for the family's.
    """

    family: str
    seed: int = 0
    specs: str | None = None
    select: tuple[str, ...] | None = None
    weights: Mapping[str, tuple[float, ...]] | None = None
    image_size: int = 0
    cameras: tuple[str, ...] | None = None

    def spec_set(self) -> SpecSet:
        """The specifications."""
        if self.specs is None:
            own = family_specs(find_family(self.family))
        else:
            own = load_specs(self.specs)
        return own if self.select is None else own.select(self.select)

    def mixture(self) -> Mixture:
        """The distribution of the draws."""
        own = Mixture.of(find_family(self.family).parameters, None)
        if self.weights is None:
            return own
        given = {name: np.array(values) for name, values in self.weights.items()}
        return Mixture(own.parameters, {**own.weights, **given})

    def demonstrator(self) -> Demonstrator:
        """What makes the attempts; it builds the environment."""
        return Demonstrator(
            find_family(self.family),
            self.mixture(),
            specs=self.spec_set(),
            seed=self.seed,
            image_size=self.image_size,
            cameras=self.cameras,
        )

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


def recorded_settings(root: Path) -> CollectionSettings:
    """The settings of the collection in a folder.

    Raises:
        ConfigurationError: there are none, or the file is damaged.
    """
    path = root / FILE
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        lists: dict[str, Any] = {n: tuple(v) for n, v in plain.items() if isinstance(v, list)}
        weights = plain["weights"]
        if weights is not None:
            lists["weights"] = {name: tuple(values) for name, values in weights.items()}
        return CollectionSettings(**{**plain, **lists})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path}: no settings of a collection ({error})") from None


def keep_settings(root: Path, settings: CollectionSettings) -> None:
    """Write the settings into a new dataset's folder, or compare them with those there.

    Raises:
        ConfigurationError: the folder's collection was made with other settings, or its file is
            damaged.
    """
    path, plain = root / FILE, settings.plain()
    if not path.exists():
        write_whole(path, json.dumps(plain, indent=1) + "\n")
        return
    before = recorded_settings(root).plain()
    different = [name for name in plain if before[name] != plain[name]]
    if different:
        name = different[0]
        raise ConfigurationError(
            f"{root} holds a collection with {name}={before[name]}, not {plain[name]}; go on "
            "with the same settings, or collect into another folder"
        )
