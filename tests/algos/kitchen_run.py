"""Trains on KitchenGrid with a shipped preset and scores the kept policy exactly.

``python -m tests.algos.kitchen_run SEED FOLDER [ALGO]`` writes ``FOLDER/exact_SEED.json``: the
return and what each limit bounds, by one linear solve on the product CMDP, so that no sampling
noise is left. Both learners are scored by the same code.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from safe_rl.algos.exact import evaluate_policy, product_cmdp, solve_lp
from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.demo import compose
from safe_rl.cli.exact_scores import exact_json, exact_limits, policy_table
from safe_rl.cli.policies import trained_policy
from safe_rl.cli.runs import find_checkpoint
from safe_rl.cli.training import train


def main() -> None:
    seed, folder = int(sys.argv[1]), Path(sys.argv[2])
    algo = sys.argv[3] if len(sys.argv) > 3 else "ppo_lagrangian"
    settings = compose(algo, seed, folder, None)
    finished = train(settings)
    product = build_product(settings.env, settings.specs, build_specs(settings.specs), num_envs=1)
    kept = find_checkpoint(finished.folder, "best")
    policy = trained_policy(kept, product, 0)
    cmdp = product_cmdp(product.unwrapped.model, product.specs)
    evaluation = evaluate_policy(cmdp, policy_table(policy, product, cmdp))
    result = dict(exact_json(exact_limits(cmdp, evaluation), evaluation))
    optimum = solve_lp(cmdp)
    result["policy"] = kept.name
    result["optimum"] = optimum.value
    result["multipliers"] = finished.model.multipliers.tolist()
    result["duals"] = optimum.multipliers.tolist()
    (folder / f"exact_{seed}.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
