"""Language models behind an OpenAI-compatible endpoint (chat completions) as planners.

The client is the ``openai`` package (extra ``llm``), which is imported here only. The key comes
from the environment and stays there: it is in no message, no log and no ``repr``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from safe_rl.errors import (
    ConfigurationError,
    MissingDependencyError,
    PlannerRefusedError,
    PlannerUnavailableError,
)
from safe_rl.feedback.refinement.planners import Answer, Message
from safe_rl.feedback.refinement.replies import read_completion, read_stream, retry_after

if TYPE_CHECKING:
    import openai

BASE_URL, MODEL, KEY = "OPENAI_BASE_URL", "OPENAI_MODEL", "OPENAI_API_KEY"
"""Variables of the environment: the address, the model's name and the key."""

_NO_KEY: Final = "none"  # what local servers, which want no key, are sent instead of one
_ABOUT_THE_REQUEST: Final = {400, 413, 422}
_MAY_PASS: Final = {408, 409, 425, 429}


@dataclass(frozen=True)
class Endpoint:
    """A model behind an endpoint: a planner that makes one HTTP request per call.

    It does not try again: :class:`~safe_rl.feedback.refinement.Caller` does, with the same care for
    any planner.

    Attributes:
        model: the model's name; default: the variable ``OPENAI_MODEL``.
        base_url: the address, such as ``http://127.0.0.1:8000/v1``; default: ``OPENAI_BASE_URL``,
            then the public OpenAI API. It may hold no password.
        temperature, seed, max_tokens: sent where given; ``None`` leaves them to the server.
        stream: take the answer as a stream of server-sent events.
        timeout: seconds without a byte after which a request has failed.
        deadline: seconds after which a stream has failed, however often it still says something.
        extra: further fields of the request's body; logs show them, so they may hold no secret.

    The key is read from ``OPENAI_API_KEY`` when the endpoint is made. Without that variable, an
    address of your own is sent a placeholder.

    Raises:
        MissingDependencyError: the extra ``llm`` is not installed.
        ConfigurationError: no model, no key for the public API, or a password in the address.
    """

    model: str = ""
    base_url: str = ""
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = 1024
    stream: bool = False
    timeout: float = 60.0
    deadline: float = 600.0
    extra: Mapping[str, object] = field(default_factory=dict)
    _client: openai.OpenAI = field(init=False, repr=False, compare=False)
    _key: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        model = self.model or os.environ.get(MODEL, "")
        base_url = self.base_url or os.environ.get(BASE_URL, "")
        key = os.environ.get(KEY, "")
        if not model:
            raise ConfigurationError(
                f"no model is named; give Endpoint(model=...) or set the variable {MODEL}"
            )
        address = urlsplit(base_url)
        if base_url and address.scheme not in ("http", "https"):
            raise ConfigurationError(
                f"base_url {_without_password(base_url)!r} is no http(s) address; "
                "an example is http://127.0.0.1:8000/v1"
            )
        if address.username is not None or address.password is not None:
            raise ConfigurationError(
                f"base_url {_without_password(base_url)!r} holds a user name or a password, which "
                f"logs would show; remove it, and give a key in the variable {KEY}"
            )
        if not base_url and not key:
            raise ConfigurationError(
                f"the OpenAI API needs a key, and the variable {KEY} is not set; set it, "
                "or give the base_url of an endpoint that needs none"
            )
        for name, seconds in (("timeout", self.timeout), ("deadline", self.deadline)):
            if not seconds > 0:
                raise ConfigurationError(f"{name} {seconds!r} must be a number of seconds above 0")
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "base_url", base_url)
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_client", self._connect(base_url, key))

    def _connect(self, base_url: str, key: str) -> openai.OpenAI:
        # max_retries=0: each attempt passes the caller's pacing and is counted.
        return _library().OpenAI(
            api_key=key or _NO_KEY, base_url=base_url or None, timeout=self.timeout, max_retries=0
        )

    @property
    def name(self) -> str:
        """The model and where it runs, for logs and tables."""
        return f"{self.model} at {urlsplit(self.base_url).netloc or 'api.openai.com'}"

    def settings(self) -> dict[str, object]:
        """What decides the answers, as plain data: without the key, and without waiting times."""
        return {
            "model": self.model,
            "base_url": self.base_url,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "extra": dict(self.extra),
        }

    def __call__(self, messages: Sequence[Message], /) -> Answer:
        """Return the model's answer to a conversation.

        Raises:
            PlannerUnavailableError: a timeout, a lost connection, the status 408, 409, 425, 429 or
                5xx, a cut stream, or a reply that is no chat completion.
            PlannerRefusedError: any other status.
        """
        library = _library()
        optional = {
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
        }
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            **{name: value for name, value in optional.items() if value is not None},
        }
        if self.extra:
            body["extra_body"] = dict(self.extra)
        create: Any = self._client.chat.completions.create
        try:
            if self.stream:
                chunks = create(**body, stream=True, stream_options={"include_usage": True})
                answer = read_stream(chunks, time.monotonic() + self.deadline)
            else:
                answer = read_completion(create(**body))
        except library.APITimeoutError:
            raise PlannerUnavailableError(
                f"{self.name} said nothing for {self.timeout:g} s"
            ) from None
        except library.APIConnectionError as error:
            cause = type(error.__cause__).__name__ if error.__cause__ else "no connection"
            raise PlannerUnavailableError(
                f"{self.name}: the connection was lost or refused ({cause})"
            ) from None
        except library.APIStatusError as error:
            raise self._status_error(error) from None
        except library.OpenAIError as error:  # such as an error inside a stream
            raise PlannerUnavailableError(f"{self.name}: {self._redacted(str(error))}") from None
        except PlannerUnavailableError as error:
            raise PlannerUnavailableError(f"{self.name}: {error}") from None
        except Exception as error:
            # A reply of any shape can come, and the client lets some errors of its HTTP library
            # through. None of them is an answer; all are reported, and tried again a few times.
            detail = f"{type(error).__name__}: {self._redacted(str(error)):.200}"
            raise PlannerUnavailableError(
                f"{self.name} sent something that is no chat completion ({detail})"
            ) from None
        return Answer(
            self._redacted(answer.text),
            answer.fault,
            answer.prompt_tokens,
            answer.completion_tokens,
        )

    def _status_error(
        self, error: openai.APIStatusError
    ) -> PlannerUnavailableError | PlannerRefusedError:
        status = error.status_code
        words = f"{self.name} answered with status {status}: {self._redacted(error.message):.300}"
        if status in _MAY_PASS or status >= 500:
            return PlannerUnavailableError(words, retry_after=retry_after(error.response.headers))
        remedies = {
            401: f"; check the variable {KEY}",
            403: f"; check what the key in {KEY} may do",
            404: "; check base_url and the model's name",
        }
        return PlannerRefusedError(
            words + remedies.get(status, ""),
            status=status,
            this_request_only=status in _ABOUT_THE_REQUEST,
        )

    def _redacted(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) >= 8 else text


def _library() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingDependencyError(
            "openai", "llm", "a language model behind an endpoint"
        ) from None
    return openai


def _without_password(url: str) -> str:
    address = urlsplit(url)
    return address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
