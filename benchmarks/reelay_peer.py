"""The peer of ``monitor_step``: reelay stepping one formula. Run by that benchmark as a program.

reelay may live in an environment of its own (``--peer-python``), so this file imports nothing of
safe_rl. It prints one JSON object.
"""

import json
import random
import sys
import time
from importlib.metadata import version

FORMULA = "historically({grasped} -> ({synced} since {released}))"


def main() -> int:
    """Step the monitor over random letters; argument: how many steps for each of five repeats."""
    import reelay

    steps = int(sys.argv[1])
    rng = random.Random(0)
    names = ("grasped", "synced", "released")
    letters = [{name: rng.random() < 0.5 for name in names} for _ in range(512)]
    monitor = reelay.discrete_timed_monitor(pattern=FORMULA, semantics="boolean", condense=False)
    rates = []
    for _ in range(5):
        update = monitor.update
        start = time.process_time()
        for i in range(steps):
            update(letters[i & 511])
        rates.append(steps / (time.process_time() - start))
    print(json.dumps({"version": version("reelay"), "formula": FORMULA, "rates": rates}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
