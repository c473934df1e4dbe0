"""``VLA``: images, the robot's state and the instruction in, a distribution over a chunk out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError
from safe_rl.policies.observations import IMAGES, STATE
from safe_rl.policies.vla.backend import torch
from safe_rl.policies.vla.blocks import Block, Eye, Perceptron
from safe_rl.policies.vla.config import VLAConfig
from safe_rl.policies.vla.distribution import ChunkDistribution
from safe_rl.policies.vla.statistics import Statistics
from safe_rl.policies.vla.words import PADDING, word_numbers

nn = torch.nn
Tensors = dict[str, torch.Tensor]

WORDS, COST = "words", "cost"
LOG_STD_BOUNDS = (-5.0, 1.0)


class VLA(nn.Module):
    """A transformer over image patches, state, words and cost; without cameras, a perceptron.

    ``inputs`` turns arrays into tensors, ``distribution`` answers them. States and actions are in
    the environment's own units on both sides: the statistics are buffers of the module, saved with
    its weights.

    Attributes:
        config: what it was built from.
    """

    state_mean: torch.Tensor
    state_std: torch.Tensor
    action_mean: torch.Tensor
    action_std: torch.Tensor

    def __init__(self, config: VLAConfig, statistics: Statistics | None = None) -> None:
        """Draw first weights from torch's generator.

        Args:
            config: sizes.
            statistics: of the training data; default: those that change nothing.

        Raises:
            ConfigurationError: the statistics are of other sizes.
        """
        super().__init__()
        self.config = config
        found = statistics or Statistics.neutral(config.state_size, config.action_size)
        sizes = {STATE: config.state_size, "action": config.action_size}
        for name, value in found._asdict().items():
            if value.shape != (sizes[name.partition("_")[0]],):
                raise ConfigurationError(
                    f"the statistics' {name} has shape {list(value.shape)}, but states have "
                    f"{config.state_size} entries and actions {config.action_size}"
                )
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32))
        width = config.width
        if config.prompt_words:
            self.words = nn.Embedding(config.vocabulary, width, padding_idx=PADDING)
            self.word_places = nn.Parameter(0.02 * torch.randn(config.prompt_words, width))
        if config.state_only:
            known = config.state_size + config.reads_cost + width * bool(config.prompt_words)
            self.trunk = Perceptron(known, width, config.layers)
        else:
            self.eyes = nn.ModuleList(
                Eye(config.image_size, width, told=bool(config.prompt_words))
                for _ in config.cameras
            )
            self.readout = nn.Parameter(0.02 * torch.randn(1, width))
            if config.reads_state:
                self.state = nn.Linear(config.state_size, width)
            if config.reads_cost:
                self.cost = nn.Linear(1, width)
            self.blocks = nn.ModuleList(Block(width, config.heads) for _ in range(config.layers))
            self.norm = nn.LayerNorm(width)
        last = nn.Linear(width, config.chunk * config.action_size)
        with torch.no_grad():  # begin near the mean action
            last.weight.mul_(0.1)
            last.bias.zero_()
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), last)
        self.log_std = nn.Parameter(torch.full((config.action_size,), config.log_std))

    def inputs(
        self,
        observation: Mapping[str, NDArray[Any]],
        instruction: Sequence[str],
        cost: NDArray[Any] | Sequence[float] | None = None,
    ) -> Tensors:
        """Return what ``distribution`` takes, on the module's device.

        Args:
            observation: ``"state"`` ``[B, D]`` and ``"images.<camera>"`` uint8 ``[B, H, W, 3]``;
                further entries are not looked at.
            instruction: prompts, ``B`` of them.
            cost: which cost to aim at, ``[B]``; for a policy that reads it, default: 0.

        Raises:
            ConfigurationError: something is missing, or of another shape.
        """
        config, device = self.config, self.log_std.device
        rows = len(instruction)
        given: dict[str, NDArray[Any]] = {}
        if config.reads_state:
            state = _entry(observation, STATE, (rows, config.state_size))
            given[STATE] = np.asarray(state, np.float32)
        for camera in config.cameras:
            size = config.image_size
            given[IMAGES + camera] = _entry(observation, IMAGES + camera, (rows, size, size, 3))
        if config.prompt_words:
            given[WORDS] = word_numbers(instruction, config.prompt_words, config.vocabulary)
        if config.reads_cost:
            aimed = np.zeros(rows) if cost is None else np.asarray(cost)
            given[COST] = aimed.astype(np.float32).reshape(rows, 1)
        elif cost is not None:
            raise ConfigurationError(
                "this policy reads no cost; build it with VLAConfig(reads_cost=True)"
            )
        return {name: torch.from_numpy(np.array(a)).to(device) for name, a in given.items()}

    def features(self, inputs: Tensors) -> torch.Tensor:
        """Return what the policy made of its inputs, ``[B, width]``, for its head and critics."""
        return self._perceive(inputs) if self.config.state_only else self._attend(inputs)

    def distribution_of(self, features: torch.Tensor) -> ChunkDistribution:
        """Return the distribution that the features lead to."""
        size = (self.config.chunk, self.config.action_size)
        mean = self.head(features).unflatten(-1, size) * self.action_std + self.action_mean
        log_std = self.log_std.clamp(*LOG_STD_BOUNDS) + torch.log(self.action_std)
        return ChunkDistribution(mean, log_std)

    def distribution(self, inputs: Tensors) -> ChunkDistribution:
        """Return the distribution over the next ``chunk`` actions."""
        return self.distribution_of(self.features(inputs))

    def forward(self, inputs: Tensors) -> torch.Tensor:
        """Return the most likely chunk, ``[B, chunk, A]``."""
        return self.distribution(inputs).mean

    def normal_state(self, state: torch.Tensor) -> torch.Tensor:
        """Return states ``[B, D]`` in units of the statistics, as the policy sees them."""
        scaled = (state - self.state_mean) / self.state_std
        return scaled.clamp(-10.0, 10.0)  # what is far outside the training data, is just far

    def _worded(self, inputs: Tensors) -> torch.Tensor:
        return self.words(inputs[WORDS]) + self.word_places

    def _prompt(self, inputs: Tensors) -> torch.Tensor:
        """The mean of the words that are there, ``[B, width]``."""
        there = (inputs[WORDS] != PADDING)[..., None].float()
        return (self._worded(inputs) * there).sum(1) / there.sum(1).clamp(min=1.0)

    def _perceive(self, inputs: Tensors) -> torch.Tensor:
        parts = [self.normal_state(inputs[STATE])]
        if self.config.prompt_words:
            parts.append(self._prompt(inputs))
        if self.config.reads_cost:
            parts.append(inputs[COST])
        return self.trunk(torch.cat(parts, dim=-1))

    def _attend(self, inputs: Tensors) -> torch.Tensor:
        config = self.config
        images = [inputs[IMAGES + camera] for camera in config.cameras]
        parts = [self.readout.expand(len(images[0]), 1, -1)]
        prompt = self._prompt(inputs) if config.prompt_words else None
        parts += [eye(image, prompt) for eye, image in zip(self.eyes, images, strict=True)]
        if config.reads_state:
            parts.append(self.state(self.normal_state(inputs[STATE]))[:, None])
        if config.reads_cost:
            parts.append(self.cost(inputs[COST])[:, None])
        tokens = torch.cat(parts, dim=1)
        seen = torch.ones(tokens.shape[:2], dtype=torch.bool, device=tokens.device)
        if config.prompt_words:
            tokens = torch.cat([tokens, self._worded(inputs)], dim=1)
            seen = torch.cat([seen, inputs[WORDS] != PADDING], dim=1)
        for block in self.blocks:
            tokens = block(tokens, seen)
        return self.norm(tokens[:, 0])


def _entry(
    observation: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    if name not in observation:
        raise ConfigurationError(
            f"the policy looks at {name!r}, but is given {', '.join(sorted(observation))}"
        )
    value = np.asarray(observation[name])
    if value.shape != shape or (name != STATE and value.dtype != np.uint8):
        kind = "" if name == STATE else "uint8 "
        raise ConfigurationError(
            f"the policy takes {name!r} as {kind}{list(shape)}, but is given {value.dtype} "
            f"{list(value.shape)}"
        )
    return value
