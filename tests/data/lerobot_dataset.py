"""A small LeRobot v3 dataset, written with pyarrow in the layout that lerobot 0.6 reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from safe_rl.data import Episode

FPS = 20


def write_dataset(root: Path, episodes: list[Episode], *, terminated: bool = True) -> Path:
    """Write episodes frame by frame; the last frame's action leads nowhere. Returns the data file.

    Of each episode the reward of a frame is that of its action; one more is made up for the last.
    """
    names = episodes[0].propositions
    columns: dict[str, list] = {
        name: []
        for name in (
            "observation.state",
            "action",
            "next.reward",
            "next.done",
            "next.success",
            "safety.propositions",
            "safety.engaged",
            "timestamp",
            "frame_index",
            "episode_index",
            "index",
            "task_index",
        )
    }
    if terminated:
        columns["next.terminated"] = []
    tasks = list(dict.fromkeys(own.instruction for own in episodes))
    for number, own in enumerate(episodes):
        for frame, letter in enumerate(own.letters):
            last = frame == len(own.letters) - 1
            columns["observation.state"].append([0.0, 1.0])
            columns["action"].append([0.5])
            columns["next.reward"].append(99.0 if last else float(own.rewards[frame]))
            columns["next.done"].append(last)
            columns["next.success"].append(last and bool(own.success))
            columns["safety.propositions"].append([float(value) for value in letter])
            columns["safety.engaged"].append(bool(own.engaged[frame]))
            columns["timestamp"].append(frame / FPS)
            columns["frame_index"].append(frame)
            columns["episode_index"].append(number)
            columns["index"].append(len(columns["index"]))
            columns["task_index"].append(tasks.index(own.instruction))
            if terminated:
                columns["next.terminated"].append(last and own.terminated)
    vector = pa.list_(pa.float32(), len(names))
    table = {
        name: pa.array(values, vector if name == "safety.propositions" else None)
        for name, values in columns.items()
    }
    data = root / "data" / "chunk-000" / "file-000.parquet"
    data.parent.mkdir(parents=True)
    pq.write_table(pa.table(table), data)
    meta = root / "meta"
    (meta / "episodes" / "chunk-000").mkdir(parents=True)
    lengths = [len(own.letters) for own in episodes]
    ends = np.cumsum(lengths)
    pq.write_table(
        pa.table(
            {
                "episode_index": list(range(len(episodes))),
                "length": lengths,
                "data/chunk_index": [0] * len(episodes),
                "data/file_index": [0] * len(episodes),
                "dataset_from_index": (ends - lengths).tolist(),
                "dataset_to_index": ends.tolist(),
            }
        ),
        meta / "episodes" / "chunk-000" / "file-000.parquet",
    )
    pq.write_table(
        pa.table({"task_index": list(range(len(tasks))), "task": tasks}), meta / "tasks.parquet"
    )
    info = {
        "codebase_version": "v3.0",
        "robot_type": "panda",
        "fps": FPS,
        "total_episodes": len(episodes),
        "total_frames": int(sum(lengths)),
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "features": {
            "safety.propositions": {
                "dtype": "float32",
                "shape": [len(names)],
                "names": list(names),
            },
        },
        "safety": {"objects": {k: list(v) for k, v in episodes[0].objects.items()}},
    }
    (meta / "info.json").write_text(json.dumps(info))
    return data
