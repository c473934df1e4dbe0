"""What a small planner learns from whom: one seed of the experiment, stage by stage.

A stage that was finished is not done again: its scores and its weights are in the seed's folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Final, Literal

from safe_rl.envs.household import Task, make_task
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.planner.demonstrations import examples
from safe_rl.feedback.planner.model import (
    Size,
    SmallPlanner,
    load_model,
    new_model,
    new_tokenizer,
    save_model,
)
from safe_rl.feedback.planner.together import AnswersMany, refine_together
from safe_rl.feedback.planner.training import Imitation, Reinforcement, imitate, reinforce
from safe_rl.feedback.planner.wording import WordedProblem, wording
from safe_rl.feedback.refinement import Message, score
from safe_rl.files import write_whole

Arm = Literal["mixed", "safe", "grpo"]

ARMS: Final[dict[str, str]] = {
    "mixed": "SFT on mixed plans",
    "safe": "SFT on safe plans only",
    "grpo": "SFT on mixed plans, then GRPO",
}
"""Each way to train, in words."""

ROUNDS: Final = 4
"""The first plan, and three more after feedback."""

VALIDATION: Final = 1_000_000
"""Seeds of the training split from here on are for choosing settings, never for training."""


@dataclass(frozen=True)
class Settings:
    """What decides an experiment's figures, beside the seed.

    Attributes:
        train: how many tasks of the split ``train`` are learned from.
        test: how many tasks of ``held_out`` and of ``longer`` are tested on.
        validation: test on the validation tasks instead.
        size: of the transformer.
        imitation: of both kinds of supervised fine-tuning.
        reinforcement: of GRPO.
    """

    train: int = 560
    test: int = 70
    validation: bool = False
    size: Size = field(default_factory=Size)
    imitation: Imitation = field(default_factory=Imitation)
    reinforcement: Reinforcement = field(default_factory=Reinforcement)


class Experiment:
    """One set of settings, its tasks made once for all seeds.

    Attributes:
        settings: see :class:`Settings`.
        folder: where finished stages are kept, a folder for each seed in it.
    """

    def __init__(
        self, settings: Settings, folder: Path, say: Callable[[str], None] = lambda text: None
    ) -> None:
        """Prepare the folder.

        Raises:
            ConfigurationError: the folder holds stages of other settings.
        """
        self.settings = settings
        self.folder = folder
        self._say = say
        self._train: list[Task] = []
        self._test: list[WordedProblem] = []
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "settings.json"
        own = json.dumps(asdict(settings), indent=1, sort_keys=True)
        if path.exists() and path.read_text() != own:
            raise ConfigurationError(
                f"{folder} holds an experiment with other settings; name another folder"
            )
        path.write_text(own)

    def run(self, seed: int) -> dict[str, Any]:
        """Do what is missing of a seed; return its scores by arm, with the CPU seconds of each."""
        return {arm: self._stage(seed, arm) for arm in ARMS}

    def _stage(self, seed: int, arm: str) -> dict[str, Any]:
        folder = self.folder / f"seed_{seed}" / arm
        path = folder / "scores.json"
        if path.exists():
            return dict(json.loads(path.read_text()))
        tokenizer = new_tokenizer()
        begun = process_time()
        settings = self.settings
        if arm == "grpo":
            self._stage(seed, "mixed")
            model = load_model(self.folder / f"seed_{seed}" / "mixed")
            begun = process_time()
            requests = [wording(task, seed) for task in self._train_tasks()]
            log = reinforce(model, tokenizer, requests, seed, settings.reinforcement)
        else:
            model = new_model(tokenizer, seed, settings.size)
            shown = examples(self._train_tasks(), "mixed" if arm == "mixed" else "safe", seed)
            log = imitate(model, tokenizer, shown, seed, settings.imitation)
        trained = process_time() - begun
        save_model(model, folder)
        answers = remembering(SmallPlanner(model, tokenizer).answers)
        found = {
            "scores": self._scores(answers),
            "told_nothing": self._scores(answers, told=False),
            "cpu_seconds": {"training": trained, "testing": process_time() - begun - trained},
            "log": log,
        }
        write_whole(path, json.dumps(found, indent=1))
        self._say(f"seed {seed}, {ARMS[arm]}: {summary(found)}")
        return found

    def _scores(self, answers: AnswersMany, told: bool = True) -> list[dict[str, Any]]:
        problems = [
            WordedProblem(problem.wording, problem.split, told) for problem in self._test_problems()
        ]
        refinements = refine_together(answers, problems, ROUNDS)
        return [one.to_json() for one in score(refinements, ROUNDS) if one.split]

    def _train_tasks(self) -> list[Task]:
        if not self._train:
            self._train = [make_task("train", seed) for seed in range(self.settings.train)]
        return self._train

    def _test_problems(self) -> list[WordedProblem]:
        if not self._test:
            self._test = scored_problems(self.settings)
        return self._test


def scored_problems(settings: Settings) -> list[WordedProblem]:
    """Return the problems that an experiment is scored on, by split."""
    numbers = range(settings.test)
    if settings.validation:
        tasks = [make_task("train", VALIDATION + number) for number in numbers]
        return [WordedProblem(wording(task), "validation") for task in tasks]
    return [
        WordedProblem(wording(make_task(split, number)), split)
        for split in ("held_out", "longer")
        for number in numbers
    ]


def remembering(answers: AnswersMany) -> AnswersMany:
    """Return the same answers, asking nothing twice: what replies tell changes no first round."""
    memory: dict[tuple[str, ...], str] = {}

    def remembered(conversations: Sequence[Sequence[Message]]) -> list[str]:
        keys = [tuple(message["content"] for message in one) for one in conversations]
        new = {k: one for k, one in zip(keys, conversations, strict=True) if k not in memory}
        if new:
            memory.update(zip(new, answers(list(new.values())), strict=True))
        return [memory[key] for key in keys]

    return remembered


def summary(found: dict[str, Any]) -> str:
    """Return the shares of safe and complete plans, before refinement and at its end."""
    parts = []
    for split in dict.fromkeys(row["split"] for row in found["scores"]):
        rows: Sequence[dict[str, Any]] = [r for r in found["scores"] if r["split"] == split]
        shares = [f"{row['success_and_safe'] / row['problems']:.2f}" for row in rows]
        parts.append(f"{split} {' '.join(shares)}")
    seconds = found["cpu_seconds"]
    return f"{'; '.join(parts)} ({seconds['training']:.0f} + {seconds['testing']:.0f} s)"
