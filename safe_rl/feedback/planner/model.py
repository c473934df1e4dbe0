"""The small planner: a transformer over the closed vocabulary, and its tokenizer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from safe_rl.errors import CheckpointError
from safe_rl.feedback.planner.backend import tokenizers, torch, transformers
from safe_rl.feedback.planner.wording import vocabulary
from safe_rl.feedback.refinement import Message

PAD: Final = "<pad>"
UNKNOWN: Final = "<unk>"
USER: Final = "<user>"
PLAN: Final = "<plan>"
END: Final = "<end>"

TEMPLATE: Final = (
    "{% for message in messages %}"
    "{% if message['role'] == 'assistant' %}"
    f"{PLAN} "
    "{% generation %}{{ message['content'] + ' " + END + " ' }}{% endgeneration %}"
    "{% else %}"
    f"{USER} "
    "{{ message['content'] + ' ' }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}" + PLAN + " {% endif %}"
)
"""How a conversation is written; an assistant's turn ends with its own token."""


@dataclass(frozen=True)
class Size:
    """The size of the transformer.

    Attributes:
        width: of the residual stream.
        layers: how many blocks.
        heads: of attention.
        inner: width of the feed-forward part.
        positions: the longest conversation, in words.
    """

    width: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 384
    positions: int = 1024


def new_tokenizer() -> Any:
    """Return the tokenizer: one token for each word of the vocabulary."""
    words = [PAD, UNKNOWN, USER, PLAN, END, *vocabulary()]
    inner = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(
            {word: number for number, word in enumerate(words)}, unk_token=UNKNOWN
        )
    )
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        extra_special_tokens=[USER, PLAN],
        chat_template=TEMPLATE,
        padding_side="left",
    )


def new_model(tokenizer: Any, seed: int, size: Size | None = None) -> Any:
    """Return a transformer with random weights."""
    size = size or Size()
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.width // size.heads,
        max_position_embeddings=size.positions,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.Qwen3ForCausalLM(config)


def save_model(model: Any, folder: str | os.PathLike[str]) -> None:
    """Write a model's configuration and weights (safetensors) into a folder."""
    model.save_pretrained(folder)


def load_model(folder: str | os.PathLike[str]) -> Any:
    """Return the model in a folder; nothing is looked up on the network.

    Raises:
        CheckpointError: there is none.
    """
    if not (Path(folder) / "config.json").is_file():
        raise CheckpointError(f"{folder} holds no model: there is no config.json in it")
    return transformers.Qwen3ForCausalLM.from_pretrained(folder, local_files_only=True)


@dataclass(frozen=True)
class SmallPlanner:
    """A model with its tokenizer, as a planner of the refinement loop.

    It reads the request and the last exchange only, as it has learned.

    Attributes:
        model: the transformer.
        tokenizer: its tokenizer.
        most_words: the longest plan that it may write.
        first_words: after so many, a batch goes on with the plans that have not ended yet.
        batch: how many conversations are answered at once.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    most_words: int = 192
    first_words: int = 48
    batch: int = 64

    def __call__(self, messages: Sequence[Message], /) -> str:
        """Return the answer to one conversation, the most probable word at each place."""
        return self.answers([messages])[0]

    def answers(
        self, conversations: Sequence[Sequence[Message]], temperature: float = 0.0
    ) -> list[str]:
        """Return the answers to some conversations.

        Args:
            conversations: each ends with a user's message.
            temperature: 0 for the most probable word at each place; else words are drawn from
                torch's global random state.
        """
        found = [""] * len(conversations)
        texts = [
            self.tokenizer.apply_chat_template(
                last_exchange(messages), add_generation_prompt=True, tokenize=False
            )
            for messages in conversations
        ]
        words = min(self.first_words, self.most_words)
        pending, left = list(range(len(texts))), self.most_words
        while pending and left > 0:
            pending.sort(key=lambda number: len((texts[number] + found[number]).split()))
            for first in range(0, len(pending), self.batch):
                numbers = pending[first : first + self.batch]
                begun = [texts[number] + found[number] for number in numbers]
                more = self._generated(begun, words, temperature)
                for number, text in zip(numbers, more, strict=True):
                    found[number] += text
            pending = [number for number in pending if END not in found[number].split()]
            left -= words
            words = left
        return [text.split(END)[0].strip() for text in found]

    def _generated(self, texts: list[str], words: int, temperature: float) -> list[str]:
        """What comes after some texts: up to so many words, the end's own word among them."""
        inputs = self.tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        chosen = {"temperature": temperature} if temperature > 0 else {}
        self.model.eval()
        with torch.inference_mode():
            tokens = self.model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=words,
                do_sample=temperature > 0,
                top_k=0 if temperature > 0 else None,
                **chosen,
            )
        answers = tokens[:, inputs["input_ids"].shape[1] :]
        return [str(t) + " " for t in self.tokenizer.batch_decode(answers)]


def last_exchange(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Return a conversation's first message with its last answer and the reply to it."""
    kept = messages if len(messages) <= 3 else [messages[0], *messages[-2:]]
    return [dict(message) for message in kept]
