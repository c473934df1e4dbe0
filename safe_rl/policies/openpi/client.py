"""A policy behind a websocket, as openpi's servers offer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any

import numpy as np

from safe_rl.errors import ConfigurationError, PolicyError
from safe_rl.policies.chunk_policy import Floats, Observation, checked_chunks
from safe_rl.policies.openpi.backend import websockets
from safe_rl.policies.openpi.messages import LARGEST, pack, unpack

PROMPT, SEED, DRAW, ACTIONS = "prompt", "seed", "draw", "actions"


class RemotePolicy:
    """The chunk policy of a server; rows are asked one after the other.

    A server that stalls, dies, refuses or answers something else than finite numbers of the right
    shape is a ``PolicyError``. The connection is closed after each of them, so that a late answer
    is never taken for that to the next observation.

    Attributes:
        metadata: what the server said of itself.
        chunk: actions in an answer.
    """

    def __init__(
        self,
        address: str = "ws://127.0.0.1:8000",
        *,
        timeout: float = 30.0,
        reconnect: int = 0,
        chunk: int | None = None,
        actions: int | None = None,
        keys: Mapping[str, str] | None = None,
        seeded: bool | None = None,
    ) -> None:
        """Connect, and read the server's metadata.

        Args:
            address: ``ws://HOST:PORT``.
            timeout: seconds to wait for the connection, and for each answer.
            reconnect: how many times an observation is sent again over a new connection where the
                server closed the old one. A stall or a wrong answer is not tried again.
            chunk: actions in an answer; default: what the metadata say. Servers other than ours do
                not say it.
            actions: entries of an action; default: what the metadata say, else any.
            keys: our name of an observation to the server's, such as
                ``{"state": "observation/state", "images.agentview": "observation/image"}``; others
                are not sent. Default: all, under our names.
            seeded: whether seeds are sent, as ``"seed"`` and ``"draw"``, the number of the answer
                in its episode. Default: where the metadata say that the server reads them.

        Raises:
            PolicyError: there is no server, or not one of this protocol.
            ConfigurationError: nothing says how long the chunks are.
        """
        self.address, self._timeout, self._reconnect = address, timeout, reconnect
        self._keys = None if keys is None else dict(keys)
        self._connection: Any = None
        self._leaving = ExitStack()
        self.metadata = self._connect()
        try:
            self.chunk = self._chunk(chunk)
        except ConfigurationError:
            self.close()
            raise
        self._actions = self.metadata.get("action_size") if actions is None else actions
        self._seeded = bool(self.metadata.get("seeded")) if seeded is None else seeded
        self._seeds: dict[int, int] = {}
        self._draws: dict[int, int] = {}

    def reset(self, rows: Sequence[int], seeds: Sequence[int]) -> None:
        """Begin an episode in some rows; the server reads the seeds with the observations."""
        for row, seed in zip(rows, seeds, strict=True):
            self._seeds[row], self._draws[row] = seed, 0

    def act(
        self, observation: Observation, instruction: Sequence[str], rows: Sequence[int]
    ) -> Floats:
        """Return the next chunk of some rows, ``[B, chunk, A]``.

        Raises:
            PolicyError: no usable answer; see the class.
            ConfigurationError: an observation that ``keys`` names is not there.
        """
        answers = []
        for place, (words, row) in enumerate(zip(instruction, rows, strict=True)):
            message = self._message(observation, place)
            message[PROMPT] = words
            if self._seeded:
                message[SEED], message[DRAW] = self._seeds.get(row, 0), self._draws.get(row, 0)
            answers.append(self._checked(self._asked(pack(message))))
            self._draws[row] = self._draws.get(row, 0) + 1
        return np.concatenate(answers)

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):  # whatever state it is in, it is not used again
            self._leaving.close()
        self._connection = None

    def __enter__(self) -> RemotePolicy:
        """Return the policy; leaving closes its connection."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self.close()

    def _message(self, observation: Observation, place: int) -> dict[str, Any]:
        names = {name: name for name in observation} if self._keys is None else self._keys
        missing = [name for name in names if name not in observation]
        if missing:
            raise ConfigurationError(
                f"keys names the observation {missing[0]!r}, but the environment shows "
                f"{', '.join(sorted(observation))}"
            )
        return {
            theirs: np.ascontiguousarray(observation[own][place]) for own, theirs in names.items()
        }

    def _connect(self) -> dict[str, Any]:
        try:
            self._connection = self._leaving.enter_context(
                websockets.sync.client.connect(
                    self.address,
                    compression=None,
                    max_size=LARGEST,
                    open_timeout=self._timeout,
                    close_timeout=1.0,
                )
            )
        except TimeoutError:
            raise self._failed(f"was not reached within {self._timeout:g} s") from None
        except (OSError, websockets.InvalidHandshake, websockets.InvalidURI) as error:
            raise self._failed(
                f"cannot be reached ({error}); start one with: safe-rl serve policy=FOLDER"
            ) from None
        try:
            return unpack(self._received())
        except websockets.ConnectionClosed as error:
            raise self._failed(f"closed the connection at once ({error})") from None
        except PolicyError as error:
            raise self._failed(f"sent no metadata first: {error}") from None

    def _asked(self, message: bytes) -> dict[str, Any]:
        for attempt in range(self._reconnect + 1):
            try:
                if self._connection is None:
                    self._connect()
                self._connection.send(message)
                answer = self._received()
            except websockets.ConnectionClosed as error:
                if attempt < self._reconnect:
                    self.close()
                    continue
                raise self._failed(f"closed the connection ({error})") from None
            if isinstance(answer, str):
                last = (answer.strip().splitlines() or ["nothing"])[-1]
                raise self._failed(f"reports an error: {last}")
            try:
                return unpack(answer)
            except PolicyError as error:
                raise self._failed(f"sent what is no answer: {error}") from None
        raise AssertionError("the last attempt returns or raises")

    def _received(self) -> bytes | str:
        try:
            received: bytes | str = self._connection.recv(timeout=self._timeout)
        except TimeoutError:
            raise self._failed(f"did not answer within {self._timeout:g} s") from None
        return received

    def _checked(self, answer: Mapping[str, Any]) -> Floats:
        if ACTIONS not in answer:
            raise self._failed(f"answered {sorted(map(str, answer))} without {ACTIONS!r}")
        try:
            return checked_chunks([answer[ACTIONS]], 1, self.chunk, self._actions)
        except PolicyError as error:
            raise self._failed(f"gave a wrong answer: {error}") from None

    def _chunk(self, given: int | None) -> int:
        number = self.metadata.get("chunk") if given is None else given
        if not isinstance(number, int) or number < 1:
            raise ConfigurationError(
                f"the policy server at {self.address} does not say how long its chunks are "
                f"(its metadata: {sorted(map(str, self.metadata))}); give chunk=NUMBER"
            )
        return number

    def _failed(self, what: str) -> PolicyError:
        self.close()
        return PolicyError(f"the policy server at {self.address} {what}")
