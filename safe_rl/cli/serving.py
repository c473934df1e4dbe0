"""What ``safe-rl serve`` does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields

import typer

from safe_rl.errors import ConfigurationError, near


@dataclass(frozen=True)
class ServeSettings:
    """The settings of ``safe-rl serve``.

    Attributes:
        policy: folder of a policy.
        host: address to listen on.
        port: 0: any free one.
        deterministic: answer the most likely chunk.
        cost: which cost to aim at, for a policy that reads it.
        device: of the network.
        threads: of the network's arithmetic.
    """

    policy: str
    host: str = "127.0.0.1"
    port: int = 8000
    deterministic: bool = False
    cost: float = 0.0
    device: str = "cpu"
    threads: int = 1

    @classmethod
    def of(cls, words: Sequence[str]) -> ServeSettings:
        """Read ``name=value`` words.

        Raises:
            ConfigurationError: an unknown name, or a value of another type.

        >>> ServeSettings.of(["policy=runs/x", "port=0"]).port
        0
        """
        kinds = {field.name: str(field.type) for field in fields(cls)}
        read: dict[str, object] = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not equals or name not in kinds:
                raise ConfigurationError(
                    f"there is no setting {word!r}{near(name, kinds)}; give NAME=VALUE, NAME being "
                    f"one of {', '.join(kinds)}"
                )
            read[name] = _value(name, value, kinds[name])
        if "policy" not in read:
            raise ConfigurationError("there is nothing to serve: give policy=FOLDER")
        return cls(**read)  # type: ignore[arg-type]


_READERS = {"str": str, "int": int, "float": float}


def _value(name: str, value: str, kind: str) -> object:
    try:
        if kind == "bool":
            return {"true": True, "false": False}[value.lower()]
        return _READERS[kind](value)
    except (KeyError, ValueError):
        raise ConfigurationError(f"the setting {name} must be {kind}, but is {value!r}") from None


def serve(settings: ServeSettings) -> None:
    """Read the policy, say where it is served, and answer until interrupted.

    Raises:
        CheckpointError: there is no policy, or it is damaged.
        ConfigurationError: the port is taken.
    """
    from safe_rl.policies.openpi import PolicyServer, vla_served
    from safe_rl.policies.vla import VLAPolicy, load_vla
    from safe_rl.policies.vla.backend import torch

    torch.set_num_threads(settings.threads)
    model, info = load_vla(settings.policy, settings.device)
    policy = VLAPolicy(model, deterministic=settings.deterministic, cost=settings.cost)
    server = PolicyServer(vla_served(policy, info), host=settings.host, port=settings.port)
    typer.echo(f"serving {settings.policy} on {server.address}; Ctrl-C stops it")
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    typer.echo("stopped")
