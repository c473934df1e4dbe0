"""How the command line says that something is wrong: one message on stderr, exit status 2."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from safe_rl.errors import SafeRLError

BAD_INPUT = 2


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn the package's own errors into one message and exit status 2, without a traceback.

    Anything else is a fault of this program and keeps its traceback.
    """
    try:
        yield
    except SafeRLError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(BAD_INPUT) from None
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        raise SystemExit(BAD_INPUT) from None
