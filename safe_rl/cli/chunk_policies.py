"""The policies that plan chunks, for an evaluation: a folder of ours, or a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from safe_rl.cli.settings import POLICY_FOLDER, EvalSettings
from safe_rl.errors import ConfigurationError
from safe_rl.policies import POLICY_FILE, ChunkPolicy, ChunkRunner, prompt
from safe_rl.wrappers import VectorProductMDP


@dataclass(frozen=True)
class ChunkSource:
    """A policy that plans chunks, and what it is to be told.

    Attributes:
        policy: the policy.
        form: of its prompt.
        instruction: instead of the environment's own words.
        play: actions of a chunk that are played.
    """

    policy: ChunkPolicy
    form: str
    instruction: str | None
    play: int

    def runner(
        self, envs: VectorProductMDP, seed: int, scenarios: Sequence[str] = ()
    ) -> ChunkRunner:
        """Return the policy of a rollout.

        Args:
            envs: where it acts.
            seed: the base of its seeds.
            scenarios: names of the first episode of each row; further ones are named after row and
                number.
        """

        def name(row: int, episode: int) -> str:
            named = episode == 0 and row < len(scenarios)
            return scenarios[row] if named else f"row {row}, episode {episode}"

        def told(words: str) -> str:
            instruction = words if self.instruction is None else self.instruction
            return prompt(instruction, envs.specs, self.form)

        return ChunkRunner(self.policy, envs, play=self.play, seed=seed, scenario=name, prompt=told)


def chunk_source(settings: EvalSettings) -> ChunkSource | None:
    """Return the chunk policy that the settings ask for; ``None``: they ask for another kind.

    Raises:
        CheckpointError: a folder is damaged.
        PolicyError: a server cannot be reached.
    """
    if settings.policy == "served":
        return _source(settings, _remote(settings), None)
    folder = policy_folder(settings.checkpoint)
    if settings.policy not in (None, "checkpoint") or folder is None:
        return None
    from safe_rl.policies.vla import VLAPolicy, load_vla
    from safe_rl.policies.vla.backend import torch

    torch.set_num_threads(settings.threads)
    model, info = load_vla(folder, settings.device)
    policy = VLAPolicy(model, deterministic=settings.eval.deterministic, cost=settings.eval.cost)
    return _source(settings, policy, info.get("prompt"))


def policy_folder(checkpoint: str | None) -> Path | None:
    """Return the folder of a chunk policy: itself, or that of the run which fine-tuned it."""
    if checkpoint is None:
        return None
    folders = (Path(checkpoint), Path(checkpoint) / POLICY_FOLDER)
    return next((folder for folder in folders if (folder / POLICY_FILE).is_file()), None)


def _remote(settings: EvalSettings) -> ChunkPolicy:
    from safe_rl.policies.openpi import RemotePolicy

    served = settings.served
    return RemotePolicy(
        served.address,
        timeout=served.timeout,
        reconnect=served.reconnect,
        chunk=served.chunk,
        keys=served.keys,
        seeded=served.seeded,
    )


def _source(settings: EvalSettings, policy: ChunkPolicy, trained_form: str | None) -> ChunkSource:
    if isinstance(form := settings.eval.prompt, str):
        chosen = form
    else:
        told = getattr(policy, "metadata", {}).get("prompt")
        chosen = trained_form or (told if isinstance(told, str) else "none")
    if settings.eval.play > policy.chunk:
        raise ConfigurationError(
            f"eval.play is {settings.eval.play}, but the policy's chunks hold {policy.chunk} "
            f"actions; set eval.play={policy.chunk} or less"
        )
    return ChunkSource(policy, chosen, settings.eval.instruction, settings.eval.play)
