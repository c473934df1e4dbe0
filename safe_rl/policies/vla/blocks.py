"""The parts of the transformer."""

from __future__ import annotations

from safe_rl.policies.vla.backend import torch

nn = torch.nn


class Block(nn.Module):
    """Attention, then a perceptron, each on normalised tokens and added to them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, tokens: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """Map ``[B, N, W]`` to the same shape; ``seen`` (bool ``[B, N]``): which tokens count."""
        x = self.before_attention(tokens)
        query, key, value = (self._split(part(x)) for part in (self.query, self.key, self.value))
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=seen[:, None, None, :]
        )
        tokens = tokens + self.out(mixed.transpose(1, 2).flatten(2))
        x = nn.functional.gelu(self.up(self.before_mlp(tokens)))
        return tokens + self.down(x)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Eye(nn.Module):
    """Images to tokens: one per 16 x 16 pixels, and one of places in the picture.

    The places are the expected coordinates under softmaxes over the picture, a pair of numbers for
    each feature (Levine et al., "End-to-End Training of Deep Visuomotor Policies", section 5.1):
    where something is, to a fraction of a pixel, from few demonstrations. The prompt scales and
    shifts the features (FiLM: Perez et al., "Visual Reasoning with a General Conditioning Layer"),
    so that they are looked for which it names.
    """

    grid: torch.Tensor

    def __init__(self, image_size: int, width: int, *, told: bool) -> None:
        super().__init__()
        half = max(width // 2, 8)
        self.stem = nn.Sequential(
            nn.Conv2d(3, half, 6, stride=4, padding=1),
            nn.GELU(),
            nn.Conv2d(half, half, 3, padding=1),
            nn.GroupNorm(1, half),
        )
        if told:
            self.film = nn.Linear(width, 2 * half)
        self.patches = nn.Conv2d(half, width, 4, stride=4)
        self.points = nn.Conv2d(half, half, 1)
        self.pointed = nn.Linear(2 * half, width)
        self.places = nn.Parameter(0.02 * torch.randn((image_size // 16) ** 2, width))
        line = torch.linspace(-1.0, 1.0, image_size // 4)
        grid = torch.stack(torch.meshgrid(line, line, indexing="ij"), dim=-1).flatten(0, 1)
        self.register_buffer("grid", grid, persistent=False)

    def forward(self, images: torch.Tensor, prompt: torch.Tensor | None) -> torch.Tensor:
        """Map uint8 ``[B, H, W, 3]`` to ``[B, 1 + H W / 256, width]``; prompt: ``[B, width]``."""
        x = self.stem(images.permute(0, 3, 1, 2).float() / 255.0 - 0.5)
        if prompt is not None:
            scale, shift = self.film(prompt)[:, :, None, None].chunk(2, dim=1)
            x = x * (1 + scale) + shift
        x = nn.functional.gelu(x)
        patches = self.patches(x).flatten(2).transpose(1, 2) + self.places
        attention = torch.softmax(4.0 * self.points(x).flatten(2), dim=-1)  # [B, half, H W / 16]
        points = self.pointed((attention @ self.grid).flatten(1))
        return torch.cat([points[:, None], patches], dim=1)


class Perceptron(nn.Module):
    """Layers of one width, each added to what it was given."""

    def __init__(self, inputs: int, width: int, layers: int) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(layers - 1))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map ``[B, inputs]`` to ``[B, width]``."""
        x = nn.functional.gelu(self.first(x))
        for layer in self.hidden:
            x = x + nn.functional.gelu(layer(x))
        return self.norm(x)
