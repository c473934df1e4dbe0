"""Combinations of properties, such as ``flammable & !has_handle``."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from safe_rl.errors import OntologyError
from safe_rl.grounding.ontology.trees import Trees


@dataclass(frozen=True)
class Combination:
    """Properties that must hold, and properties that must not."""

    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]

    def holds(self, properties: Container[str]) -> bool:
        """Whether something with exactly these properties fits."""
        return all(name in properties for name in self.wanted) and not any(
            name in properties for name in self.unwanted
        )


def parse_combination(text: str, trees: Trees) -> Combination:
    """Read properties joined by ``&``, each with ``!`` before it where it must not hold.

    Raises:
        OntologyError: an unknown property, or a combination that nothing could fit.
    """
    signs: dict[str, bool] = {}
    for part in text.split("&"):
        name = part.strip()
        positive = not name.startswith("!")
        name = name.removeprefix("!").strip()
        if not name:
            raise OntologyError(
                f"the combination {text!r} lacks a property; write it as in 'fragile & !heavy'"
            )
        trees[name]  # raises for a name that is none
        if signs.setdefault(name, positive) != positive:
            raise OntologyError(
                f"the combination {text!r} asks for {name!r} and for its absence; nothing fits"
            )
    return Combination(
        tuple(name for name, positive in signs.items() if positive),
        tuple(name for name, positive in signs.items() if not positive),
    )
