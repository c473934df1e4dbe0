"""``safe-rl grasps``: sample the grasps of a family's objects and try them in simulation."""

from __future__ import annotations

from pathlib import Path

import typer

from safe_rl.demonstrations.engine.validate import sample_grasps
from safe_rl.demonstrations.families import find_family
from safe_rl.demonstrations.primitives.grasps import load_grasps, save_grasps


def sample(family: str, output: Path, keep: int, tries: int, seed: int) -> None:
    """Sample the grasps of each object that a family takes, and put them into a file."""
    found = find_family(family)
    known = dict(load_grasps(output)) if output.exists() else {}
    for thing, name in found.grasps.items():
        grasps, tried = sample_grasps(found, thing, keep=keep, tries=tries, seed=seed)
        typer.echo(f"{name}: {len(grasps)} of {tried} grasps tried held the {thing}")
        if grasps:
            known[name] = tuple(grasps)
            save_grasps(output, known)
    typer.echo(f"wrote {output}")
