"""The Hydra program behind ``train.py`` and ``safe-rl train``."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig
except ImportError as error:
    raise MissingDependencyError("hydra-core", "sb3", "training from the command line") from error

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.settings import TrainSettings, checked, register_resolvers

register_resolvers()


@hydra.main(version_base="1.3", config_path="pkg://safe_rl.configs", config_name="train")
def main(composed: DictConfig) -> None:
    """Train one policy; Hydra calls this once per job of a sweep."""
    with clear_errors():
        run(composed)


def run(composed: DictConfig) -> None:
    """Check the settings, train, and say what came of it."""
    from safe_rl.cli.building import check_importable
    from safe_rl.cli.training import train

    settings = checked(composed, TrainSettings)
    check_importable(settings.env, list(HydraConfig.get().overrides.task))
    finished = train(settings)
    print(f"trained: {finished.checkpoint}")
    print(f"metrics: {finished.folder / 'metrics.jsonl'}")
    print(f"score it with: python eval.py checkpoint={finished.folder}")


if __name__ == "__main__":
    main()
