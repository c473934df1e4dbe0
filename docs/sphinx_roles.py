"""MkDocs hook: shows Sphinx roles in docstrings, such as ``:class:`X```, as plain code."""

import re
from typing import Any

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):<code>~?(?P<name>[^<]*)</code>")


def on_page_content(html: str, **_: Any) -> str:
    """Replace each role by the name it points to."""
    return _ROLE.sub(lambda found: f"<code>{found['name']}</code>", html)
