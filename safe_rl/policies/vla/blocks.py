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
    """Images to tokens, one per 16 x 16 pixels, by convolutions with strides of 4, 2 and 2."""

    def __init__(self, image_size: int, width: int) -> None:
        super().__init__()
        half = max(width // 2, 8)
        self.layers = nn.Sequential(
            nn.Conv2d(3, half, 6, stride=4, padding=1),
            nn.GELU(),
            nn.Conv2d(half, width, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1),
        )
        self.places = nn.Parameter(0.02 * torch.randn((image_size // 16) ** 2, width))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map uint8 ``[B, H, W, 3]`` to ``[B, H W / 256, width]``."""
        x = images.permute(0, 3, 1, 2).float() / 255.0 - 0.5
        return self.layers(x).flatten(2).transpose(1, 2) + self.places


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
