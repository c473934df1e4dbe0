"""Columns of arrays as Arrow tables, in the types that LeRobot reads, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.data.lerobot.columns import FINAL
from safe_rl.data.lerobot.description import Description
from safe_rl.data.lerobot.images import decode_image, encode_png
from safe_rl.data.lerobot.rows import COUNTS
from safe_rl.data.parquet import arrow
from safe_rl.errors import RecordingError


def frames_table(description: Description, frames: Mapping[str, NDArray[Any]]) -> Any:
    """Return the table of ``data/``: one row per frame, images as PNG inside it."""
    pyarrow, _ = arrow()
    names = [name for name, own in description.features.items() if own["dtype"] != "video"]
    columns = [_column(description.features[name], frames[name]) for name in names]
    return pyarrow.table(columns, names=names)


def episodes_table(description: Description, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return the table of ``meta/episodes``: one row per episode, of the same types in each file.

    Args:
        description: of the dataset.
        rows: values by column; those under ``final/`` are arrays without the axis of frames.
    """
    pyarrow, _ = arrow()
    columns: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name.startswith(FINAL):
            columns[name] = _column(
                description.features[name.removeprefix(FINAL)], np.stack(values)
            )
        else:
            columns[name] = pyarrow.array(values, _type_of(description, name))
    return pyarrow.table(columns)


def tasks_table(tasks: Sequence[str]) -> Any:
    """Return ``meta/tasks.parquet``: the index of each instruction, which pandas reads as such."""
    pyarrow, _ = arrow()
    table = pyarrow.table({"task_index": list(range(len(tasks))), "task": list(tasks)})

    def described(name: str, kind: str, numpy_type: str) -> dict[str, Any]:
        return {
            "name": name,
            "field_name": name,
            "pandas_type": kind,
            "numpy_type": numpy_type,
            "metadata": None,
        }

    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            described("task_index", "int64", "int64"),
            described("task", "unicode", "object"),
        ],
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def column_array(
    where: str, table: Any, name: str, feature: Mapping[str, Any], shape: Sequence[int] | None
) -> NDArray[Any]:
    """Read a column: ``[rows, *shape]``.

    Args:
        where: the file, for messages.
        table: an Arrow table.
        name: of the column in it.
        feature: its entry in ``info.json``.
        shape: of what a row holds, or ``None`` for the feature's own.

    Raises:
        RecordingError: the column is not what its feature says.
    """
    column = table.column(name).combine_chunks()
    if feature.get("dtype") == "image":
        return _images(where, name, column.to_pylist())
    own = list(feature.get("shape", [])) if shape is None else list(shape)
    try:
        while hasattr(column, "flatten") and not _is_plain(column):
            if column.null_count:
                raise ValueError("a value is missing")
            column = column.flatten()
        if column.null_count:
            raise ValueError("a value is missing")
        values = column.to_numpy(zero_copy_only=False).reshape(len(table), *own)
        return values.astype(np.dtype(str(feature["dtype"])), casting="same_kind")
    except (TypeError, ValueError, KeyError) as error:
        raise RecordingError(
            f"{where}: the column {name!r} does not hold {feature.get('dtype')} of shape "
            f"{own} in every row ({error})"
        ) from None


def _is_plain(column: Any) -> bool:
    pyarrow, _ = arrow()
    return not pyarrow.types.is_nested(column.type)


def _images(where: str, name: str, values: Sequence[Any]) -> NDArray[np.uint8]:
    images = []
    for number, value in enumerate(values):
        content = value.get("bytes") if isinstance(value, dict) else None
        if content is None:
            raise RecordingError(f"{where}: the image {number} of {name!r} is not in the file")
        images.append(decode_image(content, f"{where}, image {number} of {name!r}"))
    if len({image.shape for image in images}) > 1:
        raise RecordingError(f"{where}: the images of {name!r} differ in size")
    return np.stack(images)


def _column(feature: Mapping[str, Any], values: NDArray[Any]) -> Any:
    """An array ``[rows, ...]`` as an Arrow column."""
    pyarrow, _ = arrow()
    if feature["dtype"] in ("image", "video"):
        kind = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
        images = [{"bytes": encode_png(image), "path": None} for image in values]
        return pyarrow.array(images, kind)
    flat = pyarrow.array(np.ascontiguousarray(values).reshape(-1))
    if feature["shape"] == [1]:
        return flat
    return pyarrow.FixedSizeListArray.from_arrays(flat, feature["shape"][0])


def _type_of(description: Description, name: str) -> Any:
    pyarrow, _ = arrow()
    if name.startswith("stats/"):
        _, column, stat = name.split("/")
        if stat == "count":
            return pyarrow.list_(pyarrow.int64())
        kind = pyarrow.list_(pyarrow.float64())
        camera = description.features[column]["dtype"] in ("image", "video")
        return pyarrow.list_(pyarrow.list_(kind)) if camera else kind
    known = {
        "tasks": pyarrow.list_(pyarrow.string()),
        "safety.seed": pyarrow.int64(),
        **{f"safety.{count}": pyarrow.list_(pyarrow.int64()) for count in COUNTS},
        **dict.fromkeys(
            (
                "safety.success",
                "safety.safe",
                "safety.terminated",
                "safety.truncated",
                "safety.engaged_known",
            ),
            pyarrow.bool_(),
        ),
        **dict.fromkeys(("safety.reason", "safety.labels", "safety.placements"), pyarrow.string()),
    }
    if name.endswith("timestamp"):
        return pyarrow.float64()
    return known.get(name, pyarrow.int64())
