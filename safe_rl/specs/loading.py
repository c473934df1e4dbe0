"""One way to specifications: a path, the name of a shipped set, a SpecSet, or a list."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from safe_rl.errors import SpecificationError, near
from safe_rl.specs.maniguard import read_maniguard
from safe_rl.specs.spec_set import SpecSet
from safe_rl.specs.specification import Specification
from safe_rl.specs.yaml_reader import read_yaml

Specs = SpecSet | Specification | Iterable[Specification] | str | os.PathLike[str]
"""What :func:`load_specs` takes."""

_READERS: Final = {".yaml": read_yaml, ".yml": read_yaml, ".json": read_maniguard}
_LIBRARY: Final = files("safe_rl.specs") / "library"


def load_specs(source: Specs) -> SpecSet:
    """Return the specifications that ``source`` names or holds.

    Args:
        source: A :class:`SpecSet` (returned as it is), one specification or several, the path of a
            YAML file or of a ManiGuard JSON file, or the name of a shipped set (see
            :func:`library_names`).

    Raises:
        SpecificationError: no such file or set, an unknown file type, or a malformed file.

    >>> len(load_specs("safemanip"))
    20
    """
    if isinstance(source, SpecSet):
        return source
    if isinstance(source, Specification):
        return SpecSet([source])
    if isinstance(source, str | os.PathLike):
        return _from_text(os.fspath(source))
    if isinstance(source, Iterable):
        return SpecSet(source)
    raise SpecificationError(
        f"specifications cannot be taken from {source!r} ({type(source).__name__}); give a SpecSet,"
        " a list of Specification, the path of a file, or the name of a shipped set"
    )


def library_names() -> tuple[str, ...]:
    """Return the names of the shipped sets, sorted.

    >>> "safemanip" in library_names()
    True
    """
    return tuple(sorted(_library()))


def library_text(name: str) -> str:
    """Return the text of a shipped set's file.

    Raises:
        SpecificationError: there is no such set.
    """
    return (_LIBRARY / _library_file(name)).read_text(encoding="utf-8")


def _library() -> dict[str, str]:
    names = (entry.name for entry in _LIBRARY.iterdir())
    return {Path(name).stem: name for name in names if Path(name).suffix in _READERS}


def _library_file(name: str) -> str:
    known = _library()
    if name not in known:
        raise SpecificationError(
            f"there is no shipped set {name!r}{near(name, known)}; "
            f"the sets are {', '.join(sorted(known))}"
        )
    return known[name]


def _from_text(text: str) -> SpecSet:
    suffix = Path(text).suffix.lower()
    is_path = bool(suffix) or os.sep in text
    if not is_path and text in _library():
        with as_file(_LIBRARY / _library_file(text)) as path:
            return _READERS[path.suffix](path)
    if not Path(text).is_file():
        names = library_names()
        raise SpecificationError(
            f"{text!r} is neither a file nor a shipped set{near(text, names)}; "
            f"the shipped sets are {', '.join(names)}"
        )
    if suffix not in _READERS:
        raise SpecificationError(
            f"{text}: the file type {suffix!r} is not known; "
            "use .yaml for specifications or .json for ManiGuard's format"
        )
    return _READERS[suffix](text)
