"""Serving a policy over a websocket, as openpi does."""

from __future__ import annotations

import http
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from safe_rl.errors import ConfigurationError, PolicyError, SafeRLError
from safe_rl.policies.chunk_policy import Floats
from safe_rl.policies.openpi.backend import websockets
from safe_rl.policies.openpi.client import ACTIONS, DRAW, PROMPT, SEED
from safe_rl.policies.openpi.messages import LARGEST, pack, unpack

if TYPE_CHECKING:
    from safe_rl.policies.vla import VLAPolicy

_LOGGER = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"


class Served(NamedTuple):
    """A policy as a server needs it.

    Attributes:
        answer: called with one row's observation (no leading axis), prompt, seed (``None`` where
            none was sent) and the number of the answer in its episode; returns ``[chunk, A]``.
        metadata: plain data that the server says first.
    """

    answer: Callable[[Mapping[str, NDArray[Any]], str, int | None, int], Floats]
    metadata: Mapping[str, Any]


def vla_served(policy: VLAPolicy, info: Mapping[str, Any] | None = None) -> Served:
    """Return a policy of :mod:`safe_rl.policies.vla` as it is served.

    Args:
        policy: the policy.
        info: further metadata.
    """
    config = policy.model.config
    metadata = {
        **(info or {}),
        "chunk": config.chunk,
        "action_size": config.action_size,
        "state_size": config.state_size,
        "cameras": list(config.cameras),
        "image_size": config.image_size,
        "seeded": True,
    }
    return Served(policy.answer, metadata)


class PolicyServer:
    """A policy on a port, until it is closed; each client has a thread, answers come one by one.

    There is no authentication. The server listens on this machine alone unless it is given another
    ``host``, and refuses connections that a web page opens.

    Attributes:
        address: ``ws://HOST:PORT``.
    """

    def __init__(self, served: Served, *, host: str = LOOPBACK, port: int = 0) -> None:
        """Listen.

        Args:
            served: what answers.
            host: address to listen on.
            port: 0: any free one.

        Raises:
            ConfigurationError: the port is taken, or the host is not this machine's.
        """
        self._served, self._lock = served, threading.Lock()
        self._greeting = pack(served.metadata)
        try:
            self._server = websockets.sync.server.serve(
                self._handle,
                host,
                port,
                compression=None,
                max_size=LARGEST,
                origins=[None],
                process_request=_health,
            )
        except (OSError, OverflowError) as error:
            raise ConfigurationError(
                f"cannot listen on {host}:{port} ({error}); give another port, or port=0 for any"
            ) from None
        self.port = int(self._server.socket.getsockname()[1])
        self.address = f"ws://{host}:{self.port}"

    def serve_forever(self) -> None:
        """Answer clients until :meth:`close` is called from another thread, or a signal comes."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()

    def _handle(self, connection: Any) -> None:
        try:
            connection.send(self._greeting)
            while True:
                connection.send(self._answer(connection.recv()))
        except websockets.ConnectionClosed:
            return
        except Exception as error:  # what was asked cannot be answered: say so, as openpi does
            _LOGGER.warning(
                "a request was refused: %s", error, exc_info=not isinstance(error, SafeRLError)
            )
            connection.send(f"{type(error).__name__}: {error}")
            connection.close(1011, "the request was refused")

    def _answer(self, data: bytes | str) -> bytes:
        message = unpack(data)
        prompt, seed = message.pop(PROMPT, ""), message.pop(SEED, None)
        draw = message.pop(DRAW, 0)
        if not isinstance(prompt, str):
            raise PolicyError(f"the prompt must be text, but is {type(prompt).__name__}")
        for name, number in ((SEED, seed), (DRAW, draw)):
            if number is not None and not isinstance(number, int | np.integer):
                raise PolicyError(f"{name} must be a whole number, but is {number!r}")
        observation = {
            name: value for name, value in message.items() if isinstance(value, np.ndarray)
        }
        begin = time.perf_counter()
        with self._lock:
            actions = self._served.answer(
                observation, prompt, None if seed is None else int(seed), int(draw or 0)
            )
        spent = 1e3 * (time.perf_counter() - begin)
        return pack({ACTIONS: actions, "server_timing": {"infer_ms": spent}})


def _health(connection: Any, request: Any) -> Any:
    if request.path == "/healthz":
        return connection.respond(http.HTTPStatus.OK, "OK\n")
    return None
