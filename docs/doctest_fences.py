"""Griffe extension: shows doctests that stand in running text as code, not as quotations."""

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"(?:^[ ]*>>> .*\n(?:^[ ]*\S.*(?:\n|\Z))*)+", re.MULTILINE)
_SECTION = re.compile(r"^Examples:\s*$", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Puts fences around doctests outside ``Examples:`` sections, which griffe knows already."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is None:
            return
        text = obj.docstring.value
        section = _SECTION.search(text)
        end = section.start() if section else len(text)

        def fenced(found: re.Match[str]) -> str:
            indent = " " * (len(found[0]) - len(found[0].lstrip(" ")))
            return f"{indent}```pycon\n{found[0].rstrip()}\n{indent}```\n"

        obj.docstring.value = _DOCTEST.sub(fenced, text[:end]) + text[end:]
