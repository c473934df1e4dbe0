"""What the readers of HDF5 files share. The one place of the data where h5py is imported."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

from safe_rl.data.episode import IMAGES
from safe_rl.errors import MissingDependencyError


def hdf5(purpose: str) -> Any:
    """Return ``h5py``.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return import_module("h5py")
    except ImportError as error:
        raise MissingDependencyError("h5py", "data", purpose) from error


def observation_name(name: str, values: Any) -> str:
    """Return the name of an observation that a file calls ``name``: images by their camera.

    >>> observation_name("agentview_image", np.zeros((2, 8, 8, 3), np.uint8))
    'images.agentview'
    """
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII)
    if values.dtype == np.uint8 and values.ndim == 4 and values.shape[3] == 3:
        return IMAGES + (re.sub(r"_(image|rgb)$", "", plain) or plain)
    return plain
