"""A whole run in one folder, written by orbax: what is saved and how it comes back.

A checkpoint is a folder with three parts: ``meta`` (JSON: arguments, spaces, constraints,
controllers' states, counters, recent episodes), ``policy`` (the actor, its average, the statistics
of observations) and ``training`` (all other arrays: critics, optimiser, environments with their
monitors, sums of the episodes under way, random keys). A policy that is kept to act with, and not
to go on from, lacks ``training``. Orbax writes it under another name and
renames it when it is complete, so a run that is killed leaves no half checkpoint. Nothing is
pickled: the arrays are found by their place in the state that the code builds.
"""

from __future__ import annotations

import logging
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from safe_rl.algos.newest import newest_readable
from safe_rl.errors import CheckpointError, ConfigurationError

__all__ = [
    "PARTS",
    "POLICY_LEAVES",
    "PREFIX",
    "Checkpoints",
    "checkpoints_in",
    "decode_leaf",
    "latest_checkpoint",
    "prune",
    "read_parts",
    "restore",
    "save",
]

FORMAT = 1
PREFIX = "checkpoint"
PARTS = ("policy", "training")
POLICY_LEAVES = (".shared.params['actor']", ".shared.average", ".shared.observations")


@dataclass(frozen=True)
class Checkpoints:
    """Where checkpoints go while a run trains.

    Attributes:
        folder: gets ``checkpoint_<timesteps>``, one folder each.
        every: iterations between two.
        keep: how many of the newest stay; None keeps all.
    """

    folder: Path
    every: int = 10
    keep: int | None = 3

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigurationError: one is below 1.
        """
        if self.every < 1 or (self.keep is not None and self.keep < 1):
            raise ConfigurationError(
                f"every and keep must be at least 1, got every={self.every}, keep={self.keep}"
            )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep orbax's progress reports out of the terminal."""
    loggers = [logging.getLogger(name) for name in ("absl", "orbax")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="orbax")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _describe(tree: Any) -> list[list[Any]]:
    """Name every leaf with its shape and type, in order."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [
        [jax.tree_util.keystr(path), list(leaf.shape), str(leaf.dtype)] for path, leaf in leaves
    ]


# --- writing -------------------------------------------------------------------------------------


def _part(name: str) -> str:
    """Return the part that a leaf belongs to."""
    return "policy" if name.startswith(POLICY_LEAVES) else "training"


def save(
    path: str | os.PathLike[str],
    state: Any,
    meta: Mapping[str, Any],
    parts: tuple[str, ...] = PARTS,
) -> Path:
    """Write a run's state and what the host knows of it; return the folder.

    Args:
        path: the folder.
        state: of the run.
        meta: what the host knows.
        parts: which parts of the state; ``("policy",)`` cannot be resumed from.

    Raises:
        CheckpointError: the file system refused.
    """
    path = Path(os.path.abspath(path))
    arrays: dict[str, dict[str, np.ndarray[Any, Any]]] = {part: {} for part in parts}
    described: list[list[Any]] = []
    for row, leaf in zip(_describe(state), jax.tree.leaves(state), strict=True):
        if _part(row[0]) not in parts:
            continue
        if leaf.size:  # orbax refuses empty arrays; their shape is all there is to them
            data = jax.random.key_data(leaf) if _is_key(leaf) else leaf
            arrays[_part(row[0])][f"{len(described):05d}"] = np.asarray(data)
        described.append(row)
    whole = {
        "format": FORMAT,
        "versions": {"jax": jax.__version__},
        **meta,
        "parts": list(parts),
        "leaves": described,
    }
    arguments = ocp.args.Composite(
        meta=ocp.args.JsonSave(whole),
        **{part: ocp.args.StandardSave(own) for part, own in arrays.items()},
    )
    try:
        with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as checkpointer:
            checkpointer.save(path, args=arguments, force=True)
    except OSError as error:
        raise CheckpointError(
            f"could not write the checkpoint {path}: {error}; free some space or choose another "
            f"folder"
        ) from error
    return path


def checkpoints_in(folder: str | Path) -> list[Path]:
    """Return the complete checkpoints of a folder, oldest first; names hold padded step counts."""
    found = Path(folder).glob(f"{PREFIX}_*")
    return sorted(path for path in found if path.name.removeprefix(f"{PREFIX}_").isdigit())


def prune(folder: str | Path, keep: int | None) -> None:
    """Remove all but the newest ``keep`` checkpoints, and what killed runs left half written."""
    for partial in Path(folder).glob(f"{PREFIX}_*orbax-checkpoint-tmp*"):
        shutil.rmtree(partial, ignore_errors=True)
    if keep is not None:
        for old in checkpoints_in(folder)[:-keep]:
            shutil.rmtree(old, ignore_errors=True)


# --- reading -------------------------------------------------------------------------------------


def read_parts(path: Path, parts: tuple[str, ...]) -> dict[str, Any]:
    """Return ``{"meta": ..., "arrays": ...}``; the arrays of ``parts``, by their number.

    Raises:
        CheckpointError: the checkpoint is missing, damaged or of another format.
    """
    path = Path(os.path.abspath(path))  # orbax takes no other
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint {path}{_others(path)}")
    try:
        with _quiet(), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as checkpointer:
            meta = checkpointer.restore(
                path, args=ocp.args.Composite(meta=ocp.args.JsonRestore())
            ).meta
            if not isinstance(meta, dict) or meta.get("format") != FORMAT:
                found = meta.get("format") if isinstance(meta, dict) else None
                raise CheckpointError(
                    f"{path} has checkpoint format {found!r}, this version reads format {FORMAT}; "
                    f"load it with the version of the package that wrote it"
                )
            if not set(parts) <= set(meta.get("parts", PARTS)):
                raise CheckpointError(
                    f"{path} holds a policy to act with, and no training to go on with"
                    f"{_others(path)}"
                )
            wanted = {name: _template(meta, name) for name in parts}
            restored = checkpointer.restore(
                path,
                args=ocp.args.Composite(
                    **{name: ocp.args.StandardRestore(item) for name, item in wanted.items()}
                ),
            )
    except CheckpointError:
        raise
    except Exception as error:  # orbax and tensorstore raise errors of many kinds
        raise CheckpointError(
            f"the checkpoint {path} cannot be read, it is damaged or no checkpoint of this "
            f"package: {type(error).__name__}: {str(error)[:300]}{_others(path)}"
        ) from error
    arrays: dict[str, Any] = {}
    for name in parts:
        arrays |= dict(restored[name])
    return {"meta": meta, "arrays": arrays}


def _template(meta: Mapping[str, Any], part: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return empty arrays of the shapes of one part, which orbax fills with numpy arrays."""
    template = {}
    for number, (name, shape, dtype) in enumerate(meta["leaves"]):
        if 0 in shape or _part(name) != part:
            continue
        if dtype.startswith("key<"):
            data = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0)))
            template[f"{number:05d}"] = np.zeros((*shape, *data.shape), data.dtype)
        else:
            template[f"{number:05d}"] = np.zeros(shape, dtype)
    return template


def decode_leaf(number: int, described: list[Any], arrays: Mapping[str, Any]) -> Any:
    """Return a leaf of the state, given its number and what ``meta["leaves"]`` says of it."""
    _, shape, dtype = described
    if 0 in shape:
        return np.zeros(shape, dtype)
    data = np.asarray(arrays[f"{number:05d}"])
    return jax.random.wrap_key_data(jnp.asarray(data)) if dtype.startswith("key<") else data


def restore(path: str | os.PathLike[str], found: Mapping[str, Any], expected: Any) -> Any:
    """Return the saved state in the structure of ``expected`` (arrays, or their shapes).

    Args:
        path: of the checkpoint, for the message.
        found: what :func:`read_parts` returned for all parts.
        expected: the state of a run as the code builds it.

    Raises:
        CheckpointError: the checkpoint belongs to another run.
    """
    saved, own = found["meta"]["leaves"], _describe(expected)
    for there, here in zip(saved, own, strict=False):
        if list(there) != here:
            raise CheckpointError(
                f"{path} does not fit the run: it holds {there[0]} {there[1]} {there[2]} where "
                f"{here[0]} {here[1]} {here[2]} is expected; was the environment, the "
                f"specifications, the code or an argument changed since the run started?"
            )
    if len(saved) != len(own):
        raise CheckpointError(
            f"{path} does not fit the run: it holds {len(saved)} arrays, {len(own)} are expected"
        )
    leaves = [decode_leaf(i, row, found["arrays"]) for i, row in enumerate(saved)]
    return jax.tree.unflatten(jax.tree.structure(expected), leaves)


def latest_checkpoint(folder: str | Path) -> Path | None:
    """Return the newest checkpoint that can be read, or None if the folder has none.

    A damaged one is passed over with a warning, and the one before it is taken.

    Raises:
        CheckpointError: there are checkpoints, and all are damaged.
    """
    return newest_readable(folder, checkpoints_in(folder), lambda path: read_parts(path, PARTS))


def _others(path: Path) -> str:
    """Name the newest other checkpoint beside ``path``, as the way out."""
    if not path.parent.is_dir():
        return f"; the folder {path.parent} does not exist"
    others = [other for other in checkpoints_in(path.parent) if other != path]
    return f"; the newest other checkpoint there is {others[-1]}" if others else ""
