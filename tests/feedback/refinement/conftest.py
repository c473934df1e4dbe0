"""A chat server, and an environment that holds nothing of the person who runs the tests."""

import os
from collections.abc import Iterator

import pytest

from tests.feedback.refinement.chat_server import RunningServer, serving

KEY = "sk-secret-of-the-tests-0123456789"


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No OPENAI_* variables but a key, and no proxy."""
    for name in list(os.environ):
        if name.startswith("OPENAI_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return monkeypatch


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with serving() as running:
        yield running
