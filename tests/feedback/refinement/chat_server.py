"""A chat-completions server for tests: scripted, faulty, on the loopback interface, in a process.

Run as a program it prints its port and serves until it is killed. ``POST /script`` gives it a new
script and forgets what was asked before::

    {"faults": [{"kind": "status", "code": 429, "headers": {"Retry-After": "0"}}],
     "answers": {"MARK": ["first answer", "second answer"]},
     "default": "G(a)", "delay": 0.0}

The first requests meet the ``faults``, in order, one each. Every other request is answered: with
the ``answers`` of the first mark that its first message holds, the n-th to the n-th message of the
user (the last one again, from then on), else with ``default``. ``GET /stats`` tells what was asked.

Kinds of fault: ``status`` (with ``code``, ``headers``, ``body``), ``silence`` (``seconds`` without
a byte), ``garbage`` (no JSON), ``half json``, ``html``, ``cut body`` (fewer bytes than announced),
``cut error`` (the same with ``code``), ``cut stream`` (it ends after a piece of the answer),
``drip`` (a stream that never ends), ``error in stream``, ``no choices``, ``empty choices``,
``null content``, ``no usage``, ``finish`` (with ``reason``), ``refusal``, ``reset`` (the connection
is closed at once).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.in_flight = 0
        self.play({})

    def play(self, script: dict[str, Any]) -> None:
        self.script = script
        self.faults = list(script.get("faults", []))
        self.most_in_flight = 0
        self.begun: list[float] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        stats = {
            "requests": len(server.begun),
            "most_in_flight": server.most_in_flight,
            "begun": server.begun,
            "bodies": server.bodies,
            "keys": server.keys,
        }
        self._send(200, json.dumps(stats).encode())

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/script":
            with server.lock:
                server.play(body)
            self._send(200, b"{}")
            return
        with server.lock:
            server.begun.append(time.monotonic())
            server.bodies.append(body)
            server.keys.append(self.headers.get("Authorization", "").removeprefix("Bearer "))
            server.in_flight += 1
            server.most_in_flight = max(server.most_in_flight, server.in_flight)
            fault = server.faults.pop(0) if server.faults else {}
        try:
            time.sleep(server.script.get("delay", 0.0))
            self._answer(body, fault)
        finally:
            with server.lock:
                server.in_flight -= 1

    def _answer(self, body: dict[str, Any], fault: dict[str, Any]) -> None:
        kind = fault.get("kind", "")
        text = self._text(body["messages"])
        completion = _completion(text, body["model"])
        whole = json.dumps(completion).encode()
        choice = completion["choices"][0]
        if kind == "status":
            error = {"error": {"message": fault.get("body", "scripted")}}
            self._send(fault["code"], json.dumps(error).encode(), fault.get("headers", {}))
        elif kind == "silence":
            time.sleep(fault["seconds"])
            self.close_connection = True
        elif kind == "reset":
            self.close_connection = True
        elif kind == "garbage":
            self._send(200, b"this is no JSON")
        elif kind == "half json":
            self._send(200, whole[: len(whole) // 2])
        elif kind == "html":
            self._send(200, b"<html>gateway</html>", {"Content-Type": "text/html"})
        elif kind == "cut body":
            self._head(200, {"Content-Length": str(len(whole))})
            self.wfile.write(whole[: len(whole) // 2])
            self.close_connection = True
        elif kind == "cut error":
            self._head(fault["code"], {"Content-Length": str(len(whole))})
            self.wfile.write(b"{")
            self.close_connection = True
        elif kind == "no choices":
            self._send(200, b'{"id": "1", "object": "chat.completion"}')
        elif body.get("stream"):
            self._stream(text, fault)
        else:
            if kind == "empty choices":
                completion["choices"] = []
            elif kind == "null content":
                choice["message"]["content"] = None
            elif kind == "no usage":
                del completion["usage"]
            elif kind == "finish":
                choice["finish_reason"] = fault["reason"]
            elif kind == "refusal":
                choice["message"] |= {"content": None, "refusal": "I will not."}
            self._send(200, json.dumps(completion).encode())

    def _text(self, messages: list[dict[str, str]]) -> str:
        script = self.server.script
        turn = sum(message["role"] == "user" for message in messages)
        for mark, answers in script.get("answers", {}).items():
            if mark in messages[0]["content"]:
                return answers[min(turn, len(answers)) - 1]
        return script.get("default", "")

    def _stream(self, text: str, fault: dict[str, Any]) -> None:
        kind = fault.get("kind", "")
        self._head(200, {"Content-Type": "text/event-stream", "Connection": "close"})
        self.close_connection = True
        pieces = [text[i : i + 4] for i in range(0, len(text), 4)]
        for piece in pieces[:1] if kind == "cut stream" else pieces:
            self._event(_chunk({"content": piece}))
        if kind == "cut stream":
            return
        if kind == "error in stream":
            self._event({"error": {"message": "the model crashed"}})
            return
        while kind == "drip":
            try:
                self._event(_chunk({"content": "."}))
            except OSError:
                return
            time.sleep(0.01)
        self._event(_chunk({}, fault.get("reason", "stop")))
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        self._event(_chunk(None, usage=usage))
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, data: dict[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(data).encode() + b"\n\n")
        self.wfile.flush()

    def _head(self, code: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in ({"Content-Type": "application/json"} | headers).items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, code: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self._head(code, {"Content-Length": str(len(data))} | (headers or {}))
        self.wfile.write(data)


def _completion(text: str, model: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
    }


def _chunk(
    delta: dict[str, str] | None, reason: str | None = None, usage: dict[str, int] | None = None
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": [] if delta is None else [choice],
        "usage": usage,
    }


class RunningServer:
    """A server in another process, as tests see it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def play(self, **script: Any) -> None:
        """Give it a new script."""
        self._request("script", json.dumps(script).encode())

    def stats(self) -> dict[str, Any]:
        """What was asked since the last script."""
        return self._request("stats", None)

    def _request(self, path: str, body: bytes | None) -> dict[str, Any]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}/{path}", body, timeout=10) as reply:
            return json.load(reply)


@contextmanager
def serving() -> Iterator[RunningServer]:
    """Start a server; end its process afterwards."""
    process = subprocess.Popen([sys.executable, "-I", __file__], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield RunningServer(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    server = _Server()
    print(server.server_address[1], flush=True)
    server.serve_forever()
