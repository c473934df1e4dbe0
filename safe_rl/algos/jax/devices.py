"""Which devices a run uses, and how a CPU's cores become several."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from safe_rl.errors import ConfigurationError

__all__ = ["Devices", "choose_devices", "devices_for_shards", "use_cpu_cores"]

Devices = str | int | Sequence[jax.Device]
"""``"auto"``, a number, or the devices themselves."""


def use_cpu_cores(number: int) -> None:
    """Let jax see ``number`` CPU devices, so that ``devices="auto"`` uses as many cores.

    The same as ``XLA_FLAGS=--xla_force_host_platform_device_count=<number>``. To be called before
    jax computes anything.

    Raises:
        ConfigurationError: jax has started already with another number.
    """
    try:
        jax.config.update("jax_num_cpu_devices", number)
    except RuntimeError as error:
        if len(jax.devices("cpu")) == number:
            return
        raise ConfigurationError(
            f"jax has started with {len(jax.devices('cpu'))} CPU devices, so it cannot be given "
            f"{number}; call use_cpu_cores first of all"
        ) from error


def choose_devices(devices: Devices, *parts: int) -> tuple[jax.Device, ...]:
    """Return the devices to spread over.

    Args:
        devices: ``"auto"`` takes as many as divide all ``parts`` evenly; a number takes the first
            ones.
        *parts: what has to be divided evenly.

    Raises:
        ConfigurationError: there are fewer devices, or the parts do not divide.
    """
    present = jax.devices()
    if isinstance(devices, str):
        if devices != "auto":
            raise ConfigurationError(f"devices must be 'auto' or a number, got {devices!r}")
        number = max(n for n in range(1, len(present) + 1) if all(part % n == 0 for part in parts))
        return tuple(present[:number])
    if isinstance(devices, int):
        if not 1 <= devices <= len(present):
            raise ConfigurationError(
                f"devices={devices}, but jax sees {len(present)} ({present[0].platform}); for the "
                f"cores of a CPU call use_cpu_cores({devices}) first of all"
            )
        return tuple(present[:devices])
    if not devices:
        raise ConfigurationError("devices is empty; give at least one, or 'auto'")
    return tuple(devices)


def devices_for_shards(devices: Devices, shards: int, several: bool) -> Devices:
    """Return one device where there are not as many as a run has shards."""
    if devices == "auto" and not several and len(jax.devices()) < shards:
        return 1
    return devices
