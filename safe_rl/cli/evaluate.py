"""The Hydra program behind ``eval.py`` and ``safe-rl eval``."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import hydra
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import DictConfig
except ImportError as error:
    raise MissingDependencyError("hydra-core", "sb3", "evaluation from the command line") from error

from safe_rl.cli.messages import clear_errors
from safe_rl.cli.settings import EvalSettings, checked, register_resolvers

register_resolvers()


@hydra.main(version_base="1.3", config_path="pkg://safe_rl.configs", config_name="eval")
def main(composed: DictConfig) -> None:
    """Evaluate one policy; Hydra calls this once per job of a sweep."""
    with clear_errors():
        run(composed)


def run(composed: DictConfig) -> None:
    """Check the settings, evaluate, print the tables and say where the files are."""
    from safe_rl.cli.building import check_importable
    from safe_rl.cli.scoring import evaluate

    settings = checked(composed, EvalSettings)
    given = list(HydraConfig.get().overrides.task)
    evaluate(settings, lambda env: check_importable(env, given))


if __name__ == "__main__":
    main()
