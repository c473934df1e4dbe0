"""The one place that imports SciPy: sparse matrices, the sparse solver, and HiGHS."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    from scipy import sparse
    from scipy.optimize import linprog
    from scipy.sparse.linalg import spsolve
except ImportError as error:  # pragma: no cover - SciPy comes with the extra
    raise MissingDependencyError("scipy", "sb3", "the exact solver of product CMDPs") from error

__all__ = ["linprog", "sparse", "spsolve"]
