"""LoRA through peft: small trainable matrices beside the weights, which stay as they are."""

from __future__ import annotations

from safe_rl.errors import ConfigurationError, MissingDependencyError
from safe_rl.policies.vla.model import VLA

ATTENTION = ("query", "key", "value", "out")
TARGETS = (*ATTENTION, "up", "down")


def add_lora(
    model: VLA,
    rank: int = 8,
    *,
    alpha: float | None = None,
    targets: tuple[str, ...] = TARGETS,
    train_head: bool = True,
) -> VLA:
    """Put LoRA adapters into the blocks of a transformer, in place; the rest is frozen.

    Args:
        model: a policy with cameras.
        rank: of the added matrices.
        alpha: their scale is ``alpha / rank``; default: ``2 * rank``.
        targets: which linear layers of a block get them.
        train_head: whether head and standard deviation go on learning.

    Returns:
        The model itself.

    Raises:
        ConfigurationError: the policy is a perceptron, which has no blocks.
        MissingDependencyError: peft is not installed.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise MissingDependencyError("peft", "trl", "LoRA") from error
    if model.config.state_only:
        raise ConfigurationError(
            "LoRA is for the transformer, but this policy looks at no camera and is a perceptron; "
            "train it as a whole"
        )
    settings = LoraConfig(
        r=rank, lora_alpha=2 * rank if alpha is None else alpha, target_modules=list(targets)
    )
    inject_adapter_in_model(settings, model)
    for name, parameter in model.named_parameters():
        own = name.startswith("head.") or name == "log_std"
        parameter.requires_grad = ".lora_" in name or (train_head and own)
    return model


def merge_lora(model: VLA) -> VLA:
    """Add the adapters into the weights, in place: again a plain model; returns it."""
    for block in getattr(model, "blocks", ()):
        for name, layer in list(block.named_children()):
            if hasattr(layer, "get_base_layer"):
                layer.merge()
                setattr(block, name, layer.get_base_layer())
    for parameter in model.parameters():
        parameter.requires_grad = True
    return model
