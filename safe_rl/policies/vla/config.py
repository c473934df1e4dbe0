"""The size and shape of a policy, as numbers that a JSON file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from safe_rl.errors import ConfigurationError, near


@dataclass(frozen=True)
class VLAConfig:
    """What a :class:`VLA` is built from.

    Attributes:
        state_size: entries of the robot's own state, ``D``.
        action_size: entries of an action, ``A``.
        chunk: actions in an answer.
        cameras: names of the cameras that are looked at, as in ``"images.<camera>"``; none: the
            policy sees the state alone, and is a multilayer perceptron.
        image_size: height and width of their images in pixels, a multiple of 16.
        width: entries of a token.
        layers: transformer blocks, or hidden layers of the perceptron.
        heads: of attention, a divisor of ``width``.
        prompt_words: words of the prompt that are read, further ones are cut off; 0: none are.
        vocabulary: numbers that words are hashed to.
        reads_state: whether the state is looked at; without it, a policy that sees images alone.
        reads_cost: whether the policy is told which cost to aim at (conditioned cloning).
        log_std: the first logarithm of the actions' standard deviation, in units of ``Statistics``.
    """

    state_size: int
    action_size: int
    chunk: int = 8
    cameras: tuple[str, ...] = ()
    image_size: int = 64
    width: int = 96
    layers: int = 3
    heads: int = 4
    prompt_words: int = 16
    vocabulary: int = 1024
    reads_state: bool = True
    reads_cost: bool = False
    log_std: float = -1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "cameras", tuple(self.cameras))
        for name in ("state_size", "action_size", "chunk", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ConfigurationError(
                    f"VLAConfig.{name} must be at least 1, got {getattr(self, name)}"
                )
        if self.prompt_words < 0 or self.vocabulary < 2:
            raise ConfigurationError(
                "VLAConfig needs prompt_words of at least 0 and a vocabulary of at least 2, got "
                f"{self.prompt_words} and {self.vocabulary}"
            )
        if self.width % self.heads:
            raise ConfigurationError(
                f"VLAConfig.width must be a multiple of heads, got {self.width} and {self.heads}"
            )
        if self.image_size < 16 or self.image_size % 16:
            raise ConfigurationError(
                f"VLAConfig.image_size must be a multiple of 16, got {self.image_size}"
            )
        if not self.reads_state and not self.cameras:
            raise ConfigurationError("a policy must see something: cameras, or reads_state=True")

    @property
    def state_only(self) -> bool:
        """Whether the policy looks at no camera."""
        return not self.cameras

    def to_json(self) -> dict[str, Any]:
        """Return plain data for :meth:`from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> VLAConfig:
        """Read what :meth:`to_json` gave.

        Raises:
            ConfigurationError: an unknown name, a missing one, or a value of another type.
        """
        known = {field.name: field for field in fields(cls)}
        for name, value in data.items():
            if name not in known:
                raise ConfigurationError(f"VLAConfig has no {name!r}{near(name, known)}")
            wanted = _JSON_TYPES[str(known[name].type)]
            if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
                raise ConfigurationError(f"VLAConfig.{name} cannot be {value!r}")
        try:
            return cls(**data)
        except TypeError as error:
            raise ConfigurationError(f"VLAConfig: {error}") from None


_JSON_TYPES: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "tuple[str, ...]": (list, tuple),
}
