"""Environments for TRL: what a model is offered, what it is told, and what it earns."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from safe_rl.envs.household import make_task, task_named
from safe_rl.errors import ConfigurationError
from safe_rl.feedback.trl import PlanEnvironment, environment_factory, plan_reward_func

JAR = make_task("train", 12)


def begun(task: str = JAR.name, **columns: object) -> PlanEnvironment:
    environment = environment_factory(task_named)()
    environment.reset(task=task, **columns)
    return environment


def test_only_the_tools_are_offered() -> None:
    """By TRL's own rule: public functions of the class, save ``reset`` and ``get_reward``."""
    members = inspect.getmembers(PlanEnvironment, predicate=inspect.isfunction)
    public = {name for name, _ in members if not name.startswith("_")}
    assert public == {"act", "look", "reset", "get_reward"}


def test_the_tools_describe_themselves() -> None:
    get_json_schema = pytest.importorskip("transformers.utils").get_json_schema
    for tool in (begun().act, begun().look):
        schema = get_json_schema(tool)["function"]
        assert schema["description"]
        assert all(p["description"] for p in schema["parameters"]["properties"].values())


def test_reset_tells_the_task_and_takes_all_columns() -> None:
    environment = environment_factory(task_named)()
    with pytest.raises(ConfigurationError, match="reset"):
        environment.act("pick(jar)")
    told = environment.reset(task=JAR.name, prompt="x", difficulty=3)
    assert JAR.instruction in told


@pytest.mark.parametrize("seed", [12, 8, 1, 3])
def test_a_plan_earns_what_it_earns_at_once(seed: int) -> None:
    task = make_task("train", seed)
    reward = plan_reward_func(task_named)
    for plan in (task.reference, task.naive, task.reference[:-1]):
        environment = begun(task.name)
        told = [environment.act(str(action)) for action in plan]
        assert all(text.startswith("Done") for text in told)
        (at_once,) = reward(prompts=[""], completions=["\n".join(map(str, plan))], task=[task.name])
        assert environment.get_reward() == at_once


def test_what_is_told() -> None:
    environment = begun()
    assert "inside" not in environment.look() and "the jar is open" in environment.look()
    assert environment.act("place(jar, counter)") == (
        "Not done: cannot place the jar: it is not in the hand."
    )
    assert environment.act("fly(jar)").startswith("That is not one action of this kitchen")
    assert environment.act("close(jar), pick(jar)").startswith("That is not one action")
    broken = environment.act("pick(jar)")
    assert broken.startswith("Done: pick(jar). This breaks a rule: ")
    assert "the jar is in the hand" in environment.look()
    assert environment.act("close(jar)").startswith("Not done: ")
    # What was not done counts for nothing; the violation stays.
    assert environment.act("place(jar, counter)") == "Done: place(jar, counter)."
    assert environment.act("close(jar)") == "Done: close(jar)."
    assert environment.get_reward() == 0.0


def test_nothing_done_earns_what_no_plan_earns() -> None:
    assert begun().get_reward() == -1.0


def test_a_reset_forgets() -> None:
    environment = begun()
    environment.act("pick(jar)")
    environment.reset(task=JAR.name)
    for action in JAR.reference:
        environment.act(str(action))
    assert environment.get_reward() == 1.0


@pytest.mark.slow
def test_grpo_takes_the_environment(tmp_path: Path) -> None:
    """One step with a tiny untrained model, which calls no tool and earns what no plan earns."""
    trl = pytest.importorskip("trl")
    from datasets import Dataset
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    words = {token: number for number, token in enumerate([*special, *letters])}
    inner = Tokenizer(models.BPE(words, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>",
        extra_special_tokens=special[1:2], padding_side="left",
        chat_template=(Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text(),
    )  # fmt: skip
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1,
            num_attention_heads=1, num_key_value_heads=1, head_dim=16,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip
    config = trl.GRPOConfig(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2, num_generations=2,
        max_completion_length=8, logging_steps=1, report_to="none", use_cpu=True, bf16=False,
        save_strategy="no", gradient_checkpointing=False, disable_tqdm=True,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": "Work. "}], "task": JAR.name}] * 2
        ),
        processing_class=tokenizer,
        environment_factory=environment_factory(task_named),
    )
    assert sorted(tool.__name__ for tool in trainer.tools) == ["act", "look"]
    trainer.train()
    (log,) = (entry for entry in trainer.state.log_history if "reward" in entry)
    assert log["rewards/PlanEnvironment/mean"] == log["reward"] == -1.0
