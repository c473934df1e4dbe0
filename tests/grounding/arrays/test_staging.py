"""Computations laid out for a compiler: the same values, in as many kernels as was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from safe_rl.grounding.arrays.staging import any_of, as_one_kernel, computed_once, sum_of

jax = pytest.importorskip("jax")


def some(xp: Any, x: Any, y: Any) -> Any:
    turned = computed_once(xp, xp.sqrt(x * x + 1))
    return sum_of(xp, turned[:, None] * y), any_of(xp, turned[:, None] > y), xp.flip(y, axis=0)


def kernels(function: Any, *arguments: Any) -> int:
    """How many calls and fusions the compiled program starts, one after the other."""
    text = jax.jit(function).lower(*arguments).compile().as_text()
    main = text[text.index("ENTRY") :]
    return sum(f" {kind}(" in line for line in main.splitlines() for kind in ("call", "fusion"))


def test_one_kernel_gives_the_same_values() -> None:
    x, y = np.arange(3, dtype=np.float32), np.ones((3, 4), np.float32)

    def function(x: Any, y: Any) -> Any:
        return some(jax.numpy, x, y)

    for one, plain in zip(jax.jit(as_one_kernel(function))(x, y), some(np, x, y), strict=True):
        assert np.allclose(one, plain) and one.dtype == plain.dtype
    assert kernels(function, x, y) > 1
    assert kernels(as_one_kernel(function), x, y) == 1
