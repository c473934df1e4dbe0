"""The websocket protocol: the same answers as in process, and one clear error for each failure."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

msgpack = pytest.importorskip("msgpack")
websockets = pytest.importorskip("websockets")
torch = pytest.importorskip("torch")
import websockets.sync.server as websocket_server

from safe_rl.errors import ConfigurationError, PolicyError
from safe_rl.policies.openpi import PolicyServer, RemotePolicy, Served, pack, unpack, vla_served
from safe_rl.policies.vla import VLA, VLAConfig, VLAPolicy

CONFIG = VLAConfig(3, 2, 4, ("front",), image_size=16, width=8, layers=1, heads=2)
SEEN = {"state": np.ones((2, 3), np.float32), "images.front": np.zeros((2, 16, 16, 3), np.uint8)}


@contextmanager
def _running(served: Served) -> Iterator[PolicyServer]:
    server = PolicyServer(served)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join(5)


@contextmanager
def _behaving(handler) -> Iterator[str]:
    """A server of the websockets library that does what ``handler(connection)`` says."""
    with websocket_server.serve(handler, "127.0.0.1", 0, compression=None) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join(5)


def test_a_message_is_read_as_it_was_written() -> None:
    message = {
        "state": np.arange(6, dtype=np.float32).reshape(2, 3),
        "image": np.zeros((2, 2, 3), np.uint8),
        "scalar": np.float64(0.5),
        "words": np.array(["a", "bc"]),
        "prompt": "lift", "n": 3, "nested": {"flag": True, "none": None},
    }  # fmt: skip
    read = unpack(pack(message))
    for name, value in message.items():
        if isinstance(value, np.ndarray):
            assert read[name].dtype == value.dtype
            assert np.array_equal(read[name], value)
        else:
            assert read[name] == value


def test_the_bytes_are_those_of_openpi_client() -> None:
    array = np.array([[1.5, 2.5]], np.float32)
    wanted = {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": "<f4", b"shape": (1, 2)}
    assert pack({"actions": array}) == msgpack.packb({"actions": wanted})


@pytest.mark.parametrize(
    "array",
    [np.array([object()]), np.array([1j]), np.zeros(1, [("a", int)]), np.array(["2020"], "M8[D]")],
)
def test_objects_are_never_sent(array) -> None:
    with pytest.raises(PolicyError, match="cannot be sent"):
        pack({"x": array})


@pytest.mark.parametrize("dtype", ["|O", "|V4", "<c8", "O8", "nonsense", [["a", "<f4"]]])
def test_objects_are_never_read(dtype) -> None:
    array = {b"__ndarray__": True, b"data": b"\x00" * 8, b"dtype": dtype, b"shape": [1]}
    with pytest.raises(PolicyError, match="cannot be read"):
        unpack(msgpack.packb({"x": array}))


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x93\x01", msgpack.packb([1]), msgpack.packb({b"__ndarray__": True})]
)
def test_nonsense_is_refused(data: bytes) -> None:
    with pytest.raises(PolicyError):
        unpack(data)


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_served_policy_answers_as_it_does_in_process(deterministic: bool) -> None:
    torch.manual_seed(0)
    policy = VLAPolicy(VLA(CONFIG), deterministic=deterministic)
    with _running(vla_served(policy, {"task": "lift"})) as server:
        with RemotePolicy(server.address) as remote:
            assert remote.metadata["task"] == "lift"
            assert remote.chunk == 4
            for seeds in ([3, 4], [3, 5]):
                for one in (policy, remote):
                    one.reset([0, 1], seeds)
                for _ in range(3):
                    told = ["lift the cup", "stop"]
                    here = policy.act(SEEN, told, [0, 1])
                    assert np.array_equal(here, remote.act(SEEN, told, [0, 1]))


def test_a_request_that_cannot_be_answered_is_an_error_and_the_server_goes_on() -> None:
    with _running(vla_served(VLAPolicy(VLA(CONFIG)))) as server:
        with RemotePolicy(server.address) as remote:
            with pytest.raises(PolicyError, match="reports an error: .*looks at 'images.front'"):
                remote.act({"state": SEEN["state"]}, ["go"] * 2, [0, 1])
            remote.reset([0, 1], [1, 2])
            assert remote.act(SEEN, ["go"] * 2, [0, 1]).shape == (2, 4, 2)  # by a new connection


def _answering(answer):
    def handler(connection):
        connection.send(pack({"chunk": 4, "action_size": 2}))
        while True:
            connection.recv()
            connection.send(answer)

    return handler


GOOD = pack({"actions": np.zeros((4, 2), np.float32)})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (pack({"actions": np.zeros((3, 2))}), r"must be \[1, 4, 2\], but are \[1, 3, 2\]"),
        (pack({"actions": np.zeros((4, 7))}), r"but are \[1, 4, 7\]"),
        (pack({"actions": np.zeros(8)}), r"but are \[1, 8\]"),
        (pack({"actions": np.array([["a", "b"]] * 4)}), "must be numbers"),
        (pack({"actions": np.full((4, 2), np.nan)}), "has nan"),
        (pack({"actions": [[1.0], [1.0, 2.0]]}), "no array"),
        (pack({"state": np.zeros(3)}), "without 'actions'"),
        (b"\xc1", "no answer"),
        ("Traceback ...\nValueError: bad prompt", "reports an error: ValueError: bad prompt"),
    ],
)
def test_a_wrong_answer_is_one_clear_error(answer, words: str) -> None:
    with _behaving(_answering(answer)) as address:
        with RemotePolicy(address, timeout=5) as remote:
            with pytest.raises(PolicyError, match=f"{address}.*{words}"):
                remote.act(SEEN, ["go"] * 2, [0, 1])


def test_a_stalling_server_is_given_up_and_its_late_answer_never_taken() -> None:
    asked = []

    def handler(connection):
        connection.send(pack({"chunk": 4}))
        for message in connection:
            asked.append(unpack(message)["prompt"])
            if asked == ["first"]:
                time.sleep(0.6)
            value = 1.0 if asked[-1] == "first" else 2.0
            connection.send(pack({"actions": np.full((4, 2), value)}))

    one = {name: value[:1] for name, value in SEEN.items()}
    with _behaving(handler) as address, RemotePolicy(address, timeout=0.2, reconnect=3) as remote:
        begin = time.monotonic()
        with pytest.raises(PolicyError, match=r"did not answer within 0\.2 s"):
            remote.act(one, ["first"], [0])
        assert time.monotonic() - begin < 3
        remote._timeout = 5
        time.sleep(0.6)
        assert (remote.act(one, ["second"], [0]) == 2.0).all()


def test_a_server_that_dies_is_an_error_or_tried_again_where_asked() -> None:
    served = []

    def handler(connection):
        connection.send(pack({"chunk": 4}))
        served.append(connection)
        if len(served) % 2:
            connection.recv()
            connection.close(1011, "out of memory")
            return
        connection.recv()
        connection.send(GOOD)

    one = {name: value[:1] for name, value in SEEN.items()}
    with _behaving(handler) as address:
        with RemotePolicy(address, timeout=5) as remote:
            with pytest.raises(PolicyError, match=r"closed the connection.*out of memory"):
                remote.act(one, ["go"], [0])
        served.clear()
        with RemotePolicy(address, timeout=5, reconnect=1) as remote:
            assert remote.act(one, ["go"], [0]).shape == (1, 4, 2)
        assert len(served) == 2


def test_no_server_or_not_one_of_this_protocol() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(PolicyError, match="safe-rl serve"):
        RemotePolicy(f"ws://127.0.0.1:{port}", timeout=2)
    with pytest.raises(PolicyError, match="cannot be reached"):
        RemotePolicy("http://127.0.0.1:1", timeout=2)
    with _behaving(lambda connection: connection.send("hello")) as address:
        with pytest.raises(PolicyError, match="no metadata first"):
            RemotePolicy(address, timeout=5)
    with _behaving(lambda connection: time.sleep(1)) as address:
        with pytest.raises(PolicyError, match=r"did not answer within 0\.1 s"):
            RemotePolicy(address, timeout=0.1)


def test_servers_of_others_need_the_length_of_their_chunks_and_take_other_names() -> None:
    asked = []

    def handler(connection):
        connection.send(pack({}))
        for message in connection:
            asked.append(unpack(message))
            connection.send(pack({"actions": np.zeros((50, 7))}))

    with _behaving(handler) as address:
        with pytest.raises(ConfigurationError, match="give chunk=NUMBER"):
            RemotePolicy(address, timeout=5)
        keys = {"state": "observation/state", "images.front": "observation/image"}
        with RemotePolicy(address, timeout=5, chunk=50, keys=keys) as remote:
            assert remote.act(SEEN, ["go"] * 2, [0, 1]).shape == (2, 50, 7)
        assert set(asked[0]) == {"observation/state", "observation/image", "prompt"}
        assert asked[0]["observation/state"].shape == (3,)
        with RemotePolicy(address, chunk=50, keys={"images.wrist": "x"}) as remote:
            with pytest.raises(ConfigurationError, match=r"images\.wrist"):
                remote.act(SEEN, ["go"] * 2, [0, 1])


def test_the_server_listens_on_this_machine_and_to_no_web_page() -> None:
    with _running(Served(lambda *_: np.zeros((4, 2), np.float32), {"chunk": 4})) as server:
        assert server.address.startswith("ws://127.0.0.1:")
        import websockets.sync.client as websocket_client

        with pytest.raises(websockets.InvalidStatus, match="403"):
            websocket_client.connect(server.address, origin="https://example.org")
        with pytest.raises(ConfigurationError, match="cannot listen"):
            PolicyServer(Served(lambda *_: np.zeros((4, 2)), {}), port=server.port)
