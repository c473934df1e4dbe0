"""Collections of attempts: parallel, resumable, and steered towards what is missing."""

from safe_rl.demonstrations.collection.collect import Progress, collect
from safe_rl.demonstrations.collection.coverage import Boundary, Coverage, coverage_of
from safe_rl.demonstrations.collection.settings import CollectionSettings
from safe_rl.demonstrations.collection.steering import steered
from safe_rl.demonstrations.collection.yields import Yields, yields_of

__all__ = [
    "Boundary",
    "CollectionSettings",
    "Coverage",
    "Progress",
    "Yields",
    "collect",
    "coverage_of",
    "steered",
    "yields_of",
]
