"""Where bodies stand in a MuJoCo model, read from its XML.

Nothing is built from foreign XML, and a document type declaration, which could name other files or
grow without bound, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

import numpy as np

from safe_rl.errors import RecordingError

_DEPTH = 3  # <mujoco><worldbody><body>


def placements_in(where: str, xml: str) -> dict[str, tuple[float, ...]]:
    """Return where a MuJoCo model has the bodies that stand directly in its world.

    Args:
        where: what the text is of, for messages.
        xml: the model.

    Raises:
        RecordingError: it is no XML, declares a document type, or a place is no place.

    >>> placements_in("x", '<mujoco><worldbody><body name="a" pos="1 2 3"/></worldbody></mujoco>')
    {'a': (1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0)}
    """
    found: dict[str, tuple[float, ...]] = {}
    path: list[str] = []

    def start(tag: str, attributes: Mapping[str, str]) -> None:
        path.append(tag)
        if path[1:] == ["worldbody", "body"] and len(path) == _DEPTH and "name" in attributes:
            name = attributes["name"]
            place = [
                *attributes.get("pos", "0 0 0").split(),
                *attributes.get("quat", "1 0 0 0").split(),
            ]
            try:
                values = tuple(map(float, place))
            except ValueError:
                values = ()
            if len(values) != 7 or not np.isfinite(values).all():
                raise RecordingError(f"{where}: the model's body {name!r} stands at {place}")
            found[name] = values

    def refuse(*_: Any) -> None:
        raise RecordingError(f"{where}: the model declares a document type; it is not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(xml, True)
    except expat.ExpatError as error:
        raise RecordingError(f"{where}: the attribute 'model_file' is no XML ({error})") from None
    return found
