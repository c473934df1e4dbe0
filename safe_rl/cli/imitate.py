"""The Hydra program behind ``safe-rl imitate``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.screen import counting_bar
from safe_rl.data import Episode, find_recordings, load_recording
from safe_rl.data.annotations import bind_specs
from safe_rl.errors import ConfigurationError, MissingDependencyError
from safe_rl.policies import prompt

try:
    import hydra
    import torch
    from omegaconf import DictConfig
except ImportError as error:
    raise MissingDependencyError(str(error.name), "sb3", "learning from demonstrations") from error

from safe_rl.algos.imitation import Demonstrations, ImitationSettings, imitate
from safe_rl.cli.building import build_specs
from safe_rl.cli.settings import MISSING, SpecsSettings, typed
from safe_rl.policies.vla import VLA, VLAConfig, load_vla


@dataclass
class PolicySizes:
    """Sizes of a new policy; see :class:`~safe_rl.policies.vla.VLAConfig`."""

    chunk: int = 8
    cameras: list[str] = field(default_factory=list)
    width: int = 192
    layers: int = 2
    heads: int = 4
    prompt_words: int = 0
    log_std: float = -1.0


@dataclass
class ImitateSettings:
    """Everything that ``safe-rl imitate`` takes; see ``configs/imitate.yaml``."""

    dataset: Any = MISSING
    output: str = MISSING
    limit_episodes: int | None = None
    start: str | None = None
    prompt: str = "none"
    checkpoint_every: int = 1000
    threads: int = 1
    specs: SpecsSettings = field(default_factory=SpecsSettings)
    policy: PolicySizes = field(default_factory=PolicySizes)
    imitation: ImitationSettings = field(default_factory=ImitationSettings)


@hydra.main(version_base="1.3", config_path="pkg://safe_rl.configs", config_name="imitate")
def main(composed: DictConfig) -> None:
    """Learn one policy; Hydra calls this once per job of a sweep."""
    with clear_errors():
        run(typed(composed, ImitateSettings))


def run(settings: ImitateSettings) -> Path:
    """Learn a policy, and say where it is."""
    torch.set_num_threads(settings.threads)
    specs = build_specs(settings.specs)
    episodes = read_demonstrations(settings.dataset, settings.limit_episodes)
    if settings.prompt != "none":
        rules = bind_specs(specs, episodes[0])  # as in the environment, so as in evaluations
        found = {e.instruction: prompt(e.instruction, rules, settings.prompt) for e in episodes}
        episodes = [replace(own, instruction=found[own.instruction]) for own in episodes]
    start = None if settings.start is None else load_vla(settings.start).model
    chunk = settings.policy.chunk if start is None else start.config.chunk
    demonstrations = Demonstrations.of(
        episodes, specs, chunk=chunk, horizon=settings.imitation.horizon
    )
    model = new_policy(settings, demonstrations) if start is None else start
    with counting_bar(settings.imitation.method) as bar:
        task = bar.add_task(settings.imitation.method, total=settings.imitation.updates)
        folder = imitate(
            settings.output,
            model,
            demonstrations,
            settings.imitation,
            checkpoint_every=settings.checkpoint_every,
            info={"prompt": settings.prompt, "specs": settings.specs.source},
            watch=lambda update, logs: bar.update(task, completed=update),
        )
    kept = int(demonstrations.kept(settings.imitation.keep).sum())
    print(f"learned from {kept} of {len(episodes)} demonstrations: {folder}")
    return folder


def new_policy(settings: ImitateSettings, demonstrations: Demonstrations) -> VLA:
    """Make a policy that fits the demonstrations, with weights drawn from the seed."""
    windows, sizes = demonstrations.windows, settings.policy
    images = {name: windows.observations.get(f"images.{name}") for name in sizes.cameras}
    for name, image in images.items():
        if image is None:
            raise ConfigurationError(
                f"policy.cameras names {name!r}, but the demonstrations show "
                f"{', '.join(windows.observations)}"
            )
    square = {image.shape[1] for image in images.values() if image is not None}
    config = VLAConfig(
        state_size=windows.observations["state"].shape[1],
        action_size=windows.actions.shape[2],
        image_size=square.pop() if square else 64,
        reads_cost=settings.imitation.method == "conditioned",
        **{**vars(sizes), "cameras": tuple(sizes.cameras)},
    )
    torch.manual_seed(settings.imitation.seed)
    return VLA(config, demonstrations.statistics())


def read_demonstrations(paths: Any, limit: int | None = None) -> list[Episode]:
    """Read recorded episodes with what was observed, at most ``limit`` of them.

    Raises:
        RecordingError: there are none, or a file is damaged.
    """
    given = [paths] if isinstance(paths, str) else list(paths)
    return [own for found in find_recordings(given) for own in load_recording(found)][:limit]
