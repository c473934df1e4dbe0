"""Where jax keeps compiled programs, so that the second command need not compile again."""

from __future__ import annotations

import os
from pathlib import Path


def keep_compiled_programs() -> None:
    """Let jax keep what it compiles in the user's cache folder, unless told otherwise.

    To be called before jax is imported. ``JAX_COMPILATION_CACHE_DIR`` chooses another folder, and
    ``JAX_ENABLE_COMPILATION_CACHE=false`` keeps nothing. A program is found again by its text, the
    versions and the machine, so a change compiles anew.
    """
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(root) / "safe_rl" / "jax"))
    # Most of a command's many small programs compile in less than jax's own second.
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")
