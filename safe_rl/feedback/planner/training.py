"""Training the small planner with TRL: imitation, and GRPO against the monitors' reward."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from safe_rl.feedback.planner.backend import datasets, transformers, trl
from safe_rl.feedback.planner.demonstrations import Example
from safe_rl.feedback.planner.wording import Wording
from safe_rl.feedback.trl import PlanValue, plan_reward_func


@dataclass(frozen=True)
class Imitation:
    """Settings of supervised fine-tuning.

    Attributes:
        epochs: passes over the examples.
        batch: examples in each step.
        learning_rate: its peak; it warms up and decays to zero on a cosine.
    """

    epochs: float = 5.0
    batch: int = 16
    learning_rate: float = 2e-3


def imitate(
    model: Any, tokenizer: Any, examples: Sequence[Example], seed: int, settings: Imitation
) -> list[dict[str, Any]]:
    """Train a model, in place, to answer as the examples do; return TRL's log of the training."""
    with tempfile.TemporaryDirectory() as folder:
        config = trl.SFTConfig(
            output_dir=folder,
            num_train_epochs=settings.epochs,
            per_device_train_batch_size=settings.batch,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="cosine",
            warmup_steps=0.05,
            weight_decay=0.01,
            max_grad_norm=1.0,
            adam_beta2=0.98,
            train_sampling_strategy="group_by_length",
            max_length=None,
            logging_steps=50,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            seed=seed,
            dataset_num_proc=None,
        )
        trainer = trl.SFTTrainer(
            model=model,
            args=config,
            train_dataset=datasets.Dataset.from_list([example.to_row() for example in examples]),
            processing_class=tokenizer,
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
        return list(trainer.state.log_history)


@dataclass(frozen=True)
class Reinforcement:
    """Settings of GRPO.

    Attributes:
        steps: updates of the model.
        prompts: requests in each step.
        group: plans that are drawn for each request.
        learning_rate: it decays to zero linearly.
        most_words: the longest plan.
        value: what plans are worth.
    """

    steps: int = 30
    prompts: int = 8
    group: int = 8
    learning_rate: float = 3e-4
    most_words: int = 96
    value: PlanValue = PlanValue()


def reinforce(
    model: Any, tokenizer: Any, requests: Sequence[Wording], seed: int, settings: Reinforcement
) -> list[dict[str, Any]]:
    """Train a model, in place, by GRPO on the value of its plans; return TRL's log of the training.

    Args:
        model: the model, which can write plans already.
        tokenizer: its tokenizer.
        requests: the tasks in words.
        seed: of the order of the requests and of the plans that are drawn.
        settings: see :class:`Reinforcement`.
    """
    worded = {one.task.name: one for one in requests}
    rows = [
        {"prompt": [{"role": "user", "content": one.request()}], "task": name}
        for name, one in worded.items()
    ]
    reward = plan_reward_func(
        {name: one.task for name, one in worded.items()},
        settings.value,
        spelling=lambda task, answer: worded[task.name].spelled(answer),
    )
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder,
            max_steps=settings.steps,
            per_device_train_batch_size=settings.prompts * settings.group,
            num_generations=settings.group,
            max_completion_length=settings.most_words,
            learning_rate=settings.learning_rate,
            max_grad_norm=1.0,
            temperature=1.0,
            beta=0.0,
            logging_steps=5,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            seed=seed,
        )
        trainer = trl.GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=config,
            train_dataset=datasets.Dataset.from_list(rows),
            processing_class=tokenizer,
        )
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()
        return list(trainer.state.log_history)
