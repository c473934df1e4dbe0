"""The statistics of each feature that LeRobot keeps beside a dataset, for normalisation.

Of an episode minimum, maximum, mean, standard deviation and quantiles over its frames; of a dataset
the same, put together episode by episode as LeRobot does (its quantiles are weighted means of the
episodes' quantiles). Images count per channel, in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Stats = Mapping[str, NDArray[Any]]
QUANTILES: Final = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
GREYS: Final = np.arange(256) / 255.0
"""The values that a channel of a pixel can have."""


def column_stats(values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the statistics of a column over its frames.

    Args:
        values: ``[T]`` or ``[T, D]``; images uint8 ``[T, H, W, 3]``.

    Returns:
        Arrays ``[1]``, ``[D]``, or ``[3, 1, 1]`` of images; ``count`` is ``[1]``, the frames.

    >>> found = column_stats(np.array([[0.0, 1.0], [2.0, 1.0]]))
    >>> found["mean"].tolist(), found["std"].tolist(), found["count"].tolist()
    ([1.0, 1.0], [1.0, 0.0], [2])
    """
    count = np.array([len(values)], np.int64)
    if values.ndim == 4:
        return {**_image_stats(values), "count": count}
    rows = values.reshape(len(values), -1).astype(np.float64)
    return {
        "min": rows.min(axis=0),
        "max": rows.max(axis=0),
        "mean": rows.mean(axis=0),
        "std": rows.std(axis=0),
        **dict(zip(QUANTILES, np.quantile(rows, list(QUANTILES.values()), axis=0), strict=True)),
        "count": count,
    }


def _image_stats(images: NDArray[np.uint8]) -> dict[str, NDArray[np.float64]]:
    """Statistics of all pixels, from how many of them have each value."""
    counts = [np.bincount(images[..., c].reshape(-1), minlength=256) for c in range(3)]
    share = np.stack(counts) / counts[0].sum()
    reached = np.cumsum(share, axis=1)
    mean = share @ GREYS
    found = {
        "min": GREYS[(share > 0).argmax(axis=1)],
        "max": GREYS[255 - (share[:, ::-1] > 0).argmax(axis=1)],
        "mean": mean,
        "std": np.sqrt(np.sum(share * (GREYS - mean[:, None]) ** 2, axis=1)),
        **{name: GREYS[(reached >= q - 1e-12).argmax(axis=1)] for name, q in QUANTILES.items()},
    }
    return {name: value.reshape(3, 1, 1) for name, value in found.items()}


def joined_stats(one: Stats, other: Stats) -> dict[str, NDArray[Any]]:
    """Return the statistics of two sets of frames together.

    >>> parts = [column_stats(np.array([0.0, 2.0])), column_stats(np.array([5.0]))]
    >>> whole = column_stats(np.array([0.0, 2.0, 5.0]))
    >>> together = joined_stats(*parts)
    >>> [bool(np.allclose(together[name], whole[name])) for name in ("mean", "std", "max")]
    [True, True, True]
    """
    count = one["count"] + other["count"]
    share = (other["count"] / count).reshape([-1] + [1] * (one["mean"].ndim - 1))
    apart = other["mean"] - one["mean"]
    variance = one["std"] ** 2 * (1 - share) + other["std"] ** 2 * share
    found = {name: one[name] * (1 - share) + other[name] * share for name in ("mean", *QUANTILES)}
    found["min"] = np.minimum(one["min"], other["min"])
    found["max"] = np.maximum(one["max"], other["max"])
    found["std"] = np.sqrt(variance + apart**2 * share * (1 - share))
    return {**found, "count": count}
