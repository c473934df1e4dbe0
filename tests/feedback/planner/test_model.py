"""The small planner: its model, tokenizer and answers; and what TRL takes of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from datasets import Dataset, load_dataset

from safe_rl.envs.household import make_task
from safe_rl.errors import CheckpointError, ConfigurationError
from safe_rl.feedback.planner import (
    Example,
    Experiment,
    Imitation,
    Reinforcement,
    Settings,
    Size,
    SmallPlanner,
    examples,
    imitate,
    load_model,
    new_model,
    new_tokenizer,
    refine_together,
    reinforce,
    save_model,
    worded_problem,
    wording,
)
from safe_rl.feedback.planner.experiment import remembering
from safe_rl.feedback.planner.model import END, PLAN, USER, last_exchange
from safe_rl.feedback.planner.wording import vocabulary
from safe_rl.feedback.trl import (
    dpo_rows,
    kto_rows,
    logged,
    mending_rows,
    plan_reward_func,
    sampled,
    sft_rows,
    write_rows,
)

TINY = Size(width=32, layers=1, heads=2, inner=64, positions=512)
TASKS = [make_task("train", seed) for seed in (12, 8, 10)]
CPU: dict[str, Any] = {
    "use_cpu": True,
    "bf16": False,
    "report_to": "none",
    "save_strategy": "no",
    "disable_tqdm": True,
    "gradient_checkpointing": False,
}


def test_each_word_is_one_token_and_comes_back() -> None:
    tokenizer = new_tokenizer()
    text = " ".join(vocabulary())
    tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert len(tokens) == len(vocabulary()) and tokenizer.unk_token_id not in tokens
    assert tokenizer.decode(tokens) == text


def test_how_a_conversation_is_written() -> None:
    tokenizer = new_tokenizer()
    messages = [
        {"role": "user", "content": "goal on jar counter"},
        {"role": "assistant", "content": "pick jar"},
        {"role": "user", "content": "wrong"},
    ]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text.split() == (
        f"{USER} goal on jar counter {PLAN} pick jar {END} {USER} wrong {PLAN}".split()
    )
    # A prompt's tokens are those at the beginning of the whole: trainers cut there.
    whole = tokenizer.apply_chat_template([*messages, messages[1]])["input_ids"]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    assert whole[: len(prompt)] == prompt
    assert last_exchange([*messages, messages[1], messages[2]]) == [
        messages[0], messages[1], messages[2],
    ]  # fmt: skip


def test_answers_do_not_depend_on_the_batch() -> None:
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    conversations = [list(worded_problem(task).opening()) for task in TASKS]
    alone = [SmallPlanner(model, tokenizer, most_words=8)(c) for c in conversations]
    assert SmallPlanner(model, tokenizer, most_words=8).answers(conversations) == alone
    two = SmallPlanner(model, tokenizer, most_words=8, batch=2).answers(conversations)
    assert two == alone
    parts = SmallPlanner(model, tokenizer, most_words=8, first_words=3).answers(conversations)
    assert parts == alone
    assert max(len(answer.split()) for answer in alone) == 8


def test_a_plan_that_ends_is_not_gone_on_with() -> None:
    """Drawn words: some plans end early, and hold nothing of what the model would write after."""
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    request = list(worded_problem(TASKS[0]).opening())
    planner = SmallPlanner(model, tokenizer, most_words=60, first_words=20)
    torch.manual_seed(0)
    answers = planner.answers([request] * 200, temperature=1.0)
    lengths = [len(answer.split()) for answer in answers]
    assert max(lengths) == 60 and min(lengths) < 60
    assert not any(END in answer for answer in answers)


def test_no_conversation_is_answered_twice() -> None:
    asked = []

    def answers(conversations):
        asked.extend(conversations)
        return [str(len(asked))] * len(conversations)

    remembered = remembering(answers)
    one, other = [{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]
    assert remembered([one, other, one]) == ["2", "2", "2"]
    assert remembered([other]) == ["2"] and asked == [one, other]


def test_saved_and_loaded(tmp_path: Path) -> None:
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 3, TINY)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    for name, weight in model.state_dict().items():
        assert torch.equal(same.state_dict()[name], weight), name
    with pytest.raises(CheckpointError, match="no model"):
        load_model(tmp_path)


@pytest.mark.slow
def test_it_learns_one_plan_by_heart() -> None:
    """Imitation of one task's mending: the plan is right at once, or after the feedback."""
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    problem = worded_problem(TASKS[0])
    worded = problem.wording
    naive, reference = worded.plan(TASKS[0].naive), worded.plan(TASKS[0].reference)
    request = problem.opening()[0]
    reply = {"role": "user", "content": problem.judge(naive).words}
    shown = [
        Example((request,), naive),
        Example((request, {"role": "assistant", "content": naive}, reply), reference),
    ]
    log = imitate(model, tokenizer, shown * 60, 0, Imitation(epochs=3, batch=4, learning_rate=1e-2))
    assert log[-1]["train_loss"] < 1.5
    planner = SmallPlanner(model, tokenizer, most_words=16)
    (found,) = refine_together(planner.answers, [problem], 3)
    assert [one.answer for one in found.rounds] == [naive, reference]
    assert [one.judgement.safe for one in found.rounds] == [False, True]
    assert found.stopped == "success"


@pytest.mark.slow
def test_grpo_prefers_the_safe_plan() -> None:
    """From one half of each, GRPO on the monitors' reward makes the safe plan the likelier one."""
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    problem = worded_problem(TASKS[0])
    worded = problem.wording
    request = (problem.opening()[0],)
    plans = [worded.plan(TASKS[0].naive), worded.plan(TASKS[0].reference)]
    shown = [Example(request, plan) for plan in plans] * 60
    imitate(model, tokenizer, shown, 0, Imitation(epochs=5, batch=4, learning_rate=1e-2))
    planner = SmallPlanner(model, tokenizer, most_words=16)

    def safe_share() -> float:
        torch.manual_seed(1)
        answers = planner.answers([request] * 64, temperature=1.0)
        return sum(problem.judge(answer).safe for answer in answers) / len(answers)

    before = safe_share()
    settings = Reinforcement(steps=12, prompts=1, group=16, learning_rate=3e-3, most_words=16)
    log = reinforce(model, tokenizer, [worded], 0, settings)
    assert 0.2 < before < 0.8
    assert safe_share() > 0.9
    logged_metrics = set().union(*log)
    assert {"plan/success_and_safe", "plan/valid", "violated/close_before_lift"} <= logged_metrics


def rounds_of_rows() -> list[Any]:
    """Samples with both labels, and a conversation, from a scripted planner."""
    problems = [worded_problem(task) for task in TASKS]
    by_request = {problem.opening()[0]["content"]: problem for problem in problems}

    def scripted(many: Any) -> list[str]:
        answers = []
        for messages in many:
            worded = by_request[messages[0]["content"]].wording
            plan = worded.task.naive if len(messages) == 1 else worded.task.reference
            answers.append(worded.plan(plan))
        return answers

    return logged([found.rounds for found in refine_together(scripted, problems, 2)])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sft", "mending", "dpo", "kto"])
def test_the_trainers_take_the_rows(kind: str, tmp_path: Path) -> None:
    import trl

    rows = {"sft": sft_rows, "mending": mending_rows, "dpo": dpo_rows, "kto": kto_rows}[kind]
    path = tmp_path / "rows.jsonl"
    write_rows(rows(rounds_of_rows()), path)
    data = load_dataset(
        "json", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
    )
    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    shared: dict[str, Any] = {
        "output_dir": str(tmp_path), "max_steps": 2, "per_device_train_batch_size": 2, **CPU,
    }  # fmt: skip
    arguments: dict[str, Any] = {
        "model": model, "train_dataset": data, "processing_class": tokenizer,
    }  # fmt: skip
    trainer: Any
    if kind in ("sft", "mending"):
        trainer = trl.SFTTrainer(args=trl.SFTConfig(max_length=None, **shared), **arguments)
    elif kind == "dpo":
        reference = new_model(tokenizer, 0, TINY)
        config = trl.DPOConfig(max_length=None, **shared)
        trainer = trl.DPOTrainer(ref_model=reference, args=config, **arguments)
    else:
        reference = new_model(tokenizer, 0, TINY)
        config = trl.KTOConfig(max_length=None, **shared)
        trainer = trl.KTOTrainer(ref_model=reference, args=config, **arguments)
    trainer.train()
    assert trainer.state.global_step == 2
    changed = [not torch.equal(weight, before[n]) for n, weight in model.state_dict().items()]
    assert any(changed)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["GRPO", "RLOO"])
@pytest.mark.parametrize("conversational", [True, False])
def test_the_trainers_take_the_reward(algorithm: str, conversational: bool, tmp_path: Path) -> None:
    import trl

    tokenizer = new_tokenizer()
    model = new_model(tokenizer, 0, TINY)
    problem = worded_problem(TASKS[0])
    text = problem.opening()[0]["content"]
    prompt: Any = [{"role": "user", "content": text}] if conversational else text
    rows = [{"prompt": prompt, "task": TASKS[0].name, "difficulty": 1}] * 4
    config = getattr(trl, f"{algorithm}Config")(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=4, num_generations=4,
        max_completion_length=8, logging_steps=1, beta=0.0, **CPU,
    )  # fmt: skip
    trainer = getattr(trl, f"{algorithm}Trainer")(
        model=model,
        args=config,
        reward_funcs=plan_reward_func(
            {TASKS[0].name: TASKS[0]}, spelling=lambda task, a: problem.wording.spelled(a)
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()
    metrics = set().union(*trainer.state.log_history)
    assert {"plan/valid", "plan/safe", "rewards/plan_reward/mean"} <= metrics


@pytest.mark.slow
def test_an_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    settings = Settings(
        train=6,
        test=1,
        size=TINY,
        imitation=Imitation(epochs=1, batch=4),
        reinforcement=Reinforcement(steps=1, prompts=1, group=2, most_words=4),
    )
    said: list[str] = []
    first = Experiment(settings, tmp_path / "runs", said.append).run(0)
    assert list(first) == ["mixed", "safe", "grpo"] and len(said) == 3
    for found in first.values():
        assert {row["split"] for row in found["scores"]} == {"held_out", "longer"}
        assert [row["round"] for row in found["scores"]] == [1, 2, 3, 4] * 2
        assert all(row["problems"] == 1 for row in found["scores"])
    again = Experiment(settings, tmp_path / "runs", said.append).run(0)
    assert again == first and len(said) == 3
    with pytest.raises(ConfigurationError, match="other settings"):
        Experiment(Settings(train=7), tmp_path / "runs")


def test_sampled_plans_of_the_model_make_rows() -> None:
    tokenizer = new_tokenizer()
    planner = SmallPlanner(new_model(tokenizer, 0, TINY), tokenizer, most_words=6)
    problem = worded_problem(TASKS[0])
    torch.manual_seed(0)
    answers = planner.answers([problem.opening()] * 4, temperature=1.0)
    good = wording(TASKS[0]).plan(TASKS[0].reference)
    rows = kto_rows(sampled(problem, [*answers, good]))
    assert [row["label"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert len(examples(TASKS, "safe", 0)) >= len(TASKS)
