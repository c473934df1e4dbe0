"""Opens a dataset with lerobot itself and says what it saw, as JSON.

Run it with the Python of an environment that has lerobot (3.12; pip install "lerobot[dataset]"):

    python tests/data/lerobot_peer.py DATASET
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def main(root: str) -> dict:
    """Load the dataset, draw all of it in batches with windows of frames, compute statistics."""
    import lerobot
    import numpy as np
    import torch
    from lerobot.datasets.compute_stats import get_feature_stats
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    begin = time.perf_counter()
    plain = LeRobotDataset("local/dataset", root=root)
    step = 1 / plain.meta.fps
    windows = {"action": [0.0, step, 2 * step], "observation.state": [-step, 0.0]}
    windows |= {"safety.cost": [0.0, step]} if "safety.cost" in plain.features else {}
    dataset = LeRobotDataset("local/dataset", root=root, delta_timestamps=windows)
    loader = torch.utils.data.DataLoader(dataset, batch_size=8, shuffle=False)
    said = {
        "lerobot": lerobot.__version__,
        "episodes": dataset.num_episodes,
        "frames": len(dataset),
        "cameras": dataset.meta.camera_keys,
        "batches": 0,
        "drawn": 0,
        "padded": 0,
        "shapes": {},
        "sums": {},
        "tasks": [],
    }
    for batch in loader:
        said["batches"] += 1
        said["drawn"] += len(batch["index"])
        said["padded"] += int(batch["action_is_pad"].sum())
        said["tasks"] = sorted({*said["tasks"], *batch["task"]})
        said["shapes"] = {
            key: list(value.shape[1:]) for key, value in batch.items() if hasattr(value, "shape")
        }
        first = {
            "action": batch["action"][:, 0],
            "observation.state": batch["observation.state"][:, 1],
        }
        for key, value in {**batch, **first}.items():
            if key in dataset.features and (key in first or key not in windows):
                said["sums"][key] = said["sums"].get(key, 0.0) + float(value.double().sum())
    said["seconds"] = round(time.perf_counter() - begin, 2)
    columns = plain.hf_dataset.with_format("numpy")
    apart = 0.0
    for key, feature in plain.features.items():
        if feature["dtype"] in ("image", "video"):
            continue
        values = np.asarray(columns[key][: len(plain)], float).reshape(len(plain), -1)
        if len(values) > 1:
            found = get_feature_stats(values, axis=0, keepdims=False)
            for name in ("min", "max", "mean", "std"):
                apart = max(apart, float(np.abs(found[name] - plain.meta.stats[key][name]).max()))
    said["statistics_differ_by"] = apart
    said["seed_of_the_first"] = plain.meta.episodes[0].get("safety.seed")
    return said


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))
