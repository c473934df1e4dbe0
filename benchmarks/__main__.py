"""Run every benchmark: ``python -m benchmarks [--quick] [--peer-python PYTHON]``."""

import argparse
import sys
from collections.abc import Sequence

from benchmarks import (
    compile,
    counterexample,
    grounding_cost,
    model_checking,
    monitor_step,
    plan_checks,
    product_overhead,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run all benchmarks; each writes its own file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shows that they run, says little")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter with reelay")
    given = parser.parse_args(argv)
    shared = ["--quick"] if given.quick else []
    compile.main(shared)
    monitor_step.main([*shared, "--peer-python", given.peer_python])
    counterexample.main(shared)
    plan_checks.main(shared)
    model_checking.main(shared)
    product_overhead.main(shared)
    grounding_cost.main(shared)
    return 0


if __name__ == "__main__":
    sys.exit(main())
