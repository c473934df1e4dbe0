"""``safe-rl film``: an episode of a trained policy as a short film, violations in red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.cli.building import build_product, build_specs
from safe_rl.cli.policies import trained_policy
from safe_rl.cli.runs import SETTINGS_FILE
from safe_rl.cli.settings import load_settings, run_folder
from safe_rl.envs.raycast import caption, write_film
from safe_rl.errors import ConfigurationError

Frame = NDArray[np.uint8]


def film(
    runs: Sequence[Path], output: Path, *, seed: int = 0, every: int = 2, fps: float = 10.0
) -> Path:
    """Show one episode of each run, side by side, from the same seed.

    Args:
        runs: folders of runs, or checkpoints.
        output: the GIF to write.
        seed: of the episode and of the actions.
        every: steps between two frames.
        fps: frames per second.

    Raises:
        ConfigurationError: no run is given, or an environment draws no pictures.
    """
    if not runs or every < 1:
        raise ConfigurationError("give at least one run, and every=1 or more steps between frames")
    films = [record(run, seed, every) for run in runs]
    length = max(map(len, films))
    held = [frames + [frames[-1]] * (length - len(frames)) for frames in films]
    beside = [np.concatenate(row, axis=1) for row in zip(*held, strict=True)]
    return write_film(output, [*beside, *[beside[-1]] * round(fps)], fps)


def record(run: Path, seed: int, every: int = 1) -> list[Frame]:
    """Return the captioned frames of one episode, uint8 ``[H, W, 3]`` each.

    Args:
        run: its folder, or a checkpoint.
        seed: of the episode and of the actions.
        every: steps between two frames; the first and the last state are always shown, and so is
            every step on which a violation begins.
    """
    settings = load_settings(run_folder(str(run)) / SETTINGS_FILE)
    env = replace(settings.env, vectorization="sync", autoreset="disabled")
    product = build_product(
        env,
        settings.specs,
        build_specs(settings.specs),
        num_envs=1,
        kwargs={"render_mode": "rgb_array"},
    )
    try:
        policy = trained_policy(run, product, seed)
        observations, infos = product.reset(seed=seed)
        name = settings.algo.name
        frames, step = [_frame(product, name, 0, infos)], 0
        starts, over = np.ones(1, np.bool_), False
        while not over:
            actions = policy.act(observations, starts)
            observations, _, terminated, truncated, infos = product.step(actions)
            step, over = step + 1, bool(terminated[0] or truncated[0])
            starts = np.zeros(1, np.bool_)
            if over or step % every == 0 or infos["safety"]["events"].violated.any():
                frames.append(_frame(product, name, step, infos))
        return frames
    finally:
        product.close()


def _frame(product: Any, name: str, step: int, infos: dict[str, Any]) -> Frame:
    pictures = product.render()
    if not pictures or pictures[0] is None:
        raise ConfigurationError(f"{product.unwrapped} draws no pictures (render_mode='rgb_array')")
    exposed = np.asarray(infos["safety"]["events"].exposed)[0]
    ids = [product.specs.instances[i].id for i in np.flatnonzero(exposed)]
    return caption(np.asarray(pictures[0], np.uint8), name, step, ids)
