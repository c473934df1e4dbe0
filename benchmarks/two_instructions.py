"""Does the small policy understand which of two blocks it is told to lift, from pixels alone?

``python -m benchmarks.two_instructions [--seeds 3]`` demonstrates with a script, clones the
demonstrations with and without the words of the instruction, and plays the policies in layouts of
the demonstrations and in held-out ones. Without the words no policy lifts the right block more
often than in half of the episodes: that is chance. Demonstrations and finished policies are kept in
``--folder``, so a stopped command goes on where it was.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.measure import parser, save
from benchmarks.two_blocks import (
    CAMERA,
    HORIZON,
    INSTRUCTIONS,
    TwoBlocks,
    drawn,
    lifted_first,
    picture,
    proprioception,
    script,
    start,
    step,
)
from safe_rl.evaluation.plotting import figure_file
from safe_rl.policies import ChunkRunner
from safe_rl.policies.vla import VLA, VLAConfig, VLAPolicy, load_vla, save_vla, statistics_of
from safe_rl.policies.vla.checkpoint import is_vla

CHUNK, PLAY = 8, 4
PART = 100
"""Demonstrations that are kept in one file."""
HELD_OUT = 1_000_000
"""Seeds of layouts from here on are in no demonstration."""
ARMS = {"words": 8, "no words": 0}
"""How many words of the instruction a policy reads."""


class Demonstrations(NamedTuple):
    """Successful episodes, one frame after the other.

    Attributes:
        state: float32 ``[F, 4]``.
        image: uint8 ``[F, H, W, 3]``.
        action: float32 ``[F, chunk, 4]``, what the script did from this frame on.
        told: index of the episode's instruction, int64 ``[F]``.
        seeds: of the layouts, one for each episode.
    """

    state: NDArray[np.float32]
    image: NDArray[np.uint8]
    action: NDArray[np.float32]
    told: NDArray[np.int64]
    seeds: NDArray[np.int64]


def demonstrate(part: int, episodes: int) -> Demonstrations:
    """Let the script lift blocks while its hand is pushed now and then; keep what succeeds.

    The actions kept are the script's own, without the pushes: they show the way back. Every third
    frame is drawn and kept.
    """
    lanes = max(episodes, 8)  # of each instruction
    layouts = 1000 * part + 1 + np.arange(4 * lanes)
    starts = [drawn(seeding.np_random(int(layout))[0]) for layout in layouts]
    rng = np.random.default_rng(part)
    parts: list[tuple[Any, ...]] = []
    seeds: list[int] = []
    for which in range(len(INSTRUCTIONS)):
        own = [row for row, start in enumerate(starts) if start[0] == which][:lanes]
        worlds, actions = _scripted(which, jnp.stack([starts[row][1] for row in own]), rng)
        lifted = np.stack([lifted_first(which, world) for world in worlds])  # [T + 1, lanes]
        for lane in np.flatnonzero((lifted == 0).any(axis=0))[: (episodes + 1 - which) // 2]:
            steps = int((lifted[:, lane] == 0).argmax())
            frames = np.arange(rng.integers(3), steps, 3)
            ahead = np.minimum(frames[:, None] + np.arange(CHUNK), steps - 1)
            seen = [jax.tree.map(itemgetter(lane), worlds[frame]) for frame in frames]
            parts.append(
                (
                    np.stack([proprioception(world) for world in seen]),
                    np.stack([picture(which, world) for world in seen]),
                    actions[ahead, lane],
                    np.full(len(frames), which),
                )
            )
            seeds.append(int(layouts[own[lane]]))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Demonstrations(*columns, np.array(seeds))


def _scripted(which: int, keys: Any, rng: np.random.Generator) -> tuple[list[Any], Any]:
    """Play the script in many lanes: every state, and its actions ``[T, lanes, 4]``."""
    start_all, step_all, script_all = _vectorised(which)
    worlds = [jax.device_get(start_all(keys))]
    actions, lanes = [], len(keys)
    wild = rng.integers(0, 9, lanes)
    for time_now in range(HORIZON):
        action = np.asarray(script_all(worlds[-1]))
        pushed = (time_now < wild) | (rng.random(lanes) < 0.04)
        push = np.where(pushed[:, None], rng.normal(0.0, 0.5, (lanes, 3)), 0.0)
        played = action + np.concatenate([push, np.zeros((lanes, 1))], axis=1)
        worlds.append(jax.device_get(step_all(worlds[-1], np.float32(np.clip(played, -1, 1)))))
        actions.append(action)
    return worlds, np.stack(actions)


@cache
def _vectorised(which: int) -> tuple[Any, Any, Any]:
    """The task's functions over many lanes, compiled once."""
    start_all, step_all, script_all = (
        jax.jit(jax.vmap(partial(function, which))) for function in (start, step, script)
    )
    return start_all, step_all, script_all


def clone(data: Demonstrations, words: int, steps: int, seed: int, batch: int = 64) -> VLA:
    """Train a policy from scratch on the likelihood of the demonstrated chunks."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    config = VLAConfig(4, 4, CHUNK, (CAMERA,), width=64, layers=2, prompt_words=words)
    model = VLA(config, statistics_of([data.state], [data.action.reshape(-1, 4)]))
    optimiser = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 1e-3, total_steps=steps)
    for _ in range(steps):
        rows = rng.integers(0, len(data.state), batch)
        seen = {"state": data.state[rows], f"images.{CAMERA}": data.image[rows]}
        inputs = model.inputs(seen, [INSTRUCTIONS[told] for told in data.told[rows]])
        loss = -model.distribution(inputs).log_prob(torch.from_numpy(data.action[rows])).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
    return model


def play(model: VLA, seeds: Sequence[int]) -> dict[str, float]:
    """Play one episode in each layout; return the shares of how they end."""
    envs = SyncVectorEnv(
        [lambda: TwoBlocks(look_every=PLAY)] * len(seeds), autoreset_mode=AutoresetMode.DISABLED
    )
    runner = ChunkRunner(VLAPolicy(model, deterministic=True), envs, play=PLAY)
    observations, _ = envs.reset(seed=list(seeds))
    starts = np.ones(len(seeds), bool)
    lifted = np.full(len(seeds), -1)
    going = starts.copy()
    while going.any():
        observations, _, ended, cut, infos = envs.step(runner.act(observations, starts))
        starts = ended | cut
        now = going & starts
        lifted[now] = infos["lifted"][now]
        going &= ~now
        if starts.any() and going.any():  # what is over goes on in layouts that nobody looks at
            observations, _ = envs.reset(options={"reset_mask": starts})
    return {
        "right": float((lifted == 0).mean()),
        "wrong": float((lifted == 1).mean()),
        "none": float((lifted < 0).mean()),
    }


def demonstrations(folder: Path, episodes: int) -> Demonstrations:
    """Return so many demonstrations, or a few more; those that the folder lacks are made."""
    found, size = [], min(PART, episodes)
    for part in range(-(-episodes // size)):
        path = folder / f"demonstrations_{size}_{part}.npz"
        if not path.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            scratch = path.with_suffix(".tmp.npz")
            np.savez(scratch, **demonstrate(part, size)._asdict())
            scratch.rename(path)
        with np.load(path, allow_pickle=False) as file:
            found.append(Demonstrations(**{name: file[name] for name in Demonstrations._fields}))
    return Demonstrations(*(np.concatenate(column) for column in zip(*found, strict=True)))


def policy_of(folder: Path, arm: str, seed: int, episodes: int, steps: int) -> VLA:
    """Return one trained policy, from the folder where it is there."""
    own = folder / f"{arm.replace(' ', '_')}-{episodes}-{steps}-seed_{seed}"
    if not is_vla(own):
        model = clone(demonstrations(folder, episodes), ARMS[arm], steps, seed)
        save_vla(model, own, {"demonstrations": episodes, "steps": steps, "seed": seed})
    return load_vla(own).model


def measured(folder: Path, seeds: int, episodes: int, steps: int, layouts: int) -> dict[str, Any]:
    """Train and play every arm and seed; layouts of demonstrations, and held-out ones."""
    shown = demonstrations(folder, episodes).seeds[:layouts].tolist()
    unseen = list(range(HELD_OUT, HELD_OUT + layouts))
    found: dict[str, Any] = {}
    for arm in ARMS:
        rows = []
        for seed in range(seeds):
            begin = time.process_time()
            model = policy_of(folder, arm, seed, episodes, steps)
            spent = time.process_time() - begin
            row = {"seen": play(model, shown), "held out": play(model, unseen), "seconds": spent}
            print(arm, seed, row, flush=True)
            rows.append(row)
        found[arm] = rows
    return found


def table_of(found: dict[str, Any], layouts: int) -> Table:
    """Return the shares of episodes, means over seeds and the range of the seeds."""
    table = Table(
        title=f"Lift the block that is named: percent of {layouts} layouts", title_justify="left",
        caption="Mean over seeds (lowest, highest). Chance: who lifts a block in every episode and "
        "does not read the instruction lifts the right one in half of them.",
        caption_justify="left",
    )  # fmt: skip
    for heading in ("policy", "layouts", "right block", "other block", "none"):
        table.add_column(heading, justify="left" if heading in ("policy", "layouts") else "right")
    table.add_row("chance", "any", "50.0", "50.0", "0.0")
    for arm, rows in found.items():
        for where in ("seen", "held out"):
            cells = []
            for end in ("right", "wrong", "none"):
                values = [100 * row[where][end] for row in rows]
                cells.append(f"{np.mean(values):.1f} ({min(values):.0f}, {max(values):.0f})")
            table.add_row(f"cloned, {arm}", where, *cells)
    return table


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw two starts as the camera shows them, and the shares of the held-out layouts."""
    with figure_file(path, 8.0, 2.4) as figure:
        left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.8])
        for axes, which in ((left, 0), (middle, 1)):
            shown, _ = TwoBlocks().reset(seed=HELD_OUT, options={"which": which})
            axes.imshow(shown[CAMERA])
            axes.set_title(INSTRUCTIONS[which], fontsize=9)
            axes.axis("off")
        ends = ("right", "wrong", "none")
        for number, (arm, rows) in enumerate(found.items()):
            shares = [[100 * row["held out"][end] for row in rows] for end in ends]
            places = np.arange(len(ends)) + 0.4 * number - 0.2
            right.bar(places, np.mean(shares, axis=1), 0.36, label=arm)
            for place, values in zip(places, shares, strict=True):
                right.plot([place] * len(values), values, "k.", markersize=4)
        right.axhline(50.0, color="0.5", linestyle="--", linewidth=1)
        right.set_xticks(range(len(ends)), ["right block", "other block", "none"])
        right.set_ylabel("% of held-out layouts")
        right.legend()


def main(argv: Sequence[str] | None = None) -> int:
    """Train, play, print the table and write the file."""
    options = parser("two_instructions", str(__doc__))
    options.add_argument("--folder", type=Path, default=Path("outputs/two_instructions"))
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--demonstrations", type=int, default=800)
    options.add_argument("--steps", type=int, default=2500, help="of training, batches of 64")
    options.add_argument("--layouts", type=int, default=50, help="to play each policy in")
    options.add_argument("--figure", type=Path, help="where to draw the result")
    given = options.parse_args(argv)
    if given.quick:
        given.seeds, given.demonstrations, given.steps, given.layouts = 1, 1, 2, 2
    torch.set_num_threads(1)
    found = measured(given.folder, given.seeds, given.demonstrations, given.steps, given.layouts)
    console = Console()
    console.print(table_of(found, given.layouts))
    if given.figure:
        draw(found, given.figure)
    results = {"arms": found, "demonstrations": given.demonstrations, "steps": given.steps}
    save("two_instructions", results, given.output, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
