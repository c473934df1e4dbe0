"""The one place where pyarrow is imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from safe_rl.errors import MissingDependencyError, RecordingError
from safe_rl.files import replacing


def arrow() -> tuple[ModuleType, ModuleType]:
    """Return ``pyarrow`` and ``pyarrow.parquet``.

    Raises:
        MissingDependencyError: pyarrow is not installed.
    """
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingDependencyError("pyarrow", "data", "reading and writing Parquet") from error
    return pyarrow, parquet


def read_table(path: Path) -> Any:
    """Read a Parquet file as an Arrow table.

    Raises:
        RecordingError: it is missing or damaged.
    """
    pyarrow, parquet = arrow()
    if not path.is_file():
        raise RecordingError(f"{path}: no such file")
    try:
        # one file: no folder names such as chunk-000 are taken for columns
        return parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise RecordingError(f"{path}: not a Parquet file, or damaged ({error})") from None


def least_value(path: Path, column: str) -> int | None:
    """Return the least number in a column, read off the file's footer; ``None`` if it is not there.

    Without pyarrow, or of a damaged file, nothing is known: whoever reads the file will say so.
    """
    try:
        pyarrow, parquet = arrow()
        footer = parquet.ParquetFile(path).metadata
        place = footer.schema.names.index(column)
        groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
        found = [group.column(place).statistics for group in groups]
        return min(int(own.min) for own in found if own is not None and own.has_min_max)
    except (MissingDependencyError, ValueError, OSError):  # Arrow's own errors are among these
        return None


def write_table(path: Path, columns: Mapping[str, Sequence[Any]] | Any) -> Path:
    """Write columns, or an Arrow table, as one Parquet file; a killed program leaves no half."""
    pyarrow, parquet = arrow()
    table = pyarrow.table(dict(columns)) if isinstance(columns, Mapping) else columns
    with replacing(path) as file:
        parquet.write_table(table, file)
    return path
