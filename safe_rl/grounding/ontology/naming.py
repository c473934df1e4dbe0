"""From the name of an object in a scene to the names of entities that it may stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SENSE: Final = re.compile(r"\.[a-z]\.\d+")  # WordNet's .n.01
_WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATOR: Final = re.compile(r"[^a-z0-9]+")
_SUFFIX: Final = re.compile(r"(?:_(?:\d+|[a-z]|main|object|obj)|\d+)\Z")


def candidates(name: str) -> Iterator[str]:
    """Yield the entity names that an object's name may mean, the first that exists is meant.

    The name in lower-case words joined by ``_`` (``AkitaBlackBowl`` is ``akita_black_bowl``),
    without a WordNet sense (``.n.01``); then the same without its last suffix, again and again. A
    suffix is a number, a single letter, or one of the words main, object and obj.

    >>> list(candidates("akita_black_bowl_2"))
    ['akita_black_bowl_2', 'akita_black_bowl']
    >>> list(candidates("cubeA"))
    ['cube_a', 'cube']
    >>> list(candidates("wineglass.n.01_1"))
    ['wineglass_1', 'wineglass']
    """
    words = _WORD_START.sub("_", _SENSE.sub("", name))
    text = _SEPARATOR.sub("_", words.lower()).strip("_")
    while text:
        yield text
        shorter = _SUFFIX.sub("", text)
        if shorter == text:
            return
        text = shorter
