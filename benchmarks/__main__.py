"""Run every benchmark: ``python -m benchmarks [--quick]``."""

import sys
from collections.abc import Sequence

from benchmarks import compile, monitor_step, product_overhead


def main(argv: Sequence[str] | None = None) -> int:
    """Run all benchmarks with the same options; each writes its own file."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for benchmark in (compile, monitor_step, product_overhead):
        benchmark.main(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
