"""The one place where the protocol's libraries are imported."""

from __future__ import annotations

from safe_rl.errors import MissingDependencyError

try:
    import msgpack
    import websockets
    import websockets.sync.client
    import websockets.sync.server
except ImportError as error:
    raise MissingDependencyError(str(error.name), "vla", "serving policies") from error

__all__ = ["msgpack", "websockets"]
