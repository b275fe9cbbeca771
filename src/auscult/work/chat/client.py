"""One request to an OpenAI-compatible endpoint, tried until it is completed or has failed.

=====================================  ================================================================
reply                                  action
=====================================  ================================================================
a completed chat                       the reply, also one that is empty, cut at its limit or refuses
408, 409, 425, 429, 5xx                tried again, after what Retry-After or the error says, or twice as long as before
nothing, half an answer, no chat       the same
402, 429 for want of quota             ends the run: no later request can do better
401; 403, 404 before the first reply   ends the run; not a 403 that says that the input was flagged
any other 4xx                          a failed request
ten failed requests in a row           ends the run: nothing more is sent
=====================================  ================================================================

An ``EndpointError`` ends the run; replies received before it are kept, and the same command goes on.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from ssl import SSLError
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit
from zlib import crc32

from auscult.errors import AuscultError, InputError, TooLarge, UsageError
from auscult.rng import generator
from auscult.work.chat.replies import (
    ChatReply,
    Malformed,
    code_of,
    error_message,
    is_moderated,
    read_events,
    read_whole,
    retry_delay_s,
)
from auscult.work.chat.spending import Price, Spending, Tokens
from auscult.work.chat.wire import SHORTEST_SECRET, TooMuch, body_bytes, http_client

_AGAIN: Final = frozenset({408, 409, 425, 429})
_UNFIT: Final = frozenset({400, 413, 415, 422})
_SEE_PROFILE: Final = "look at what the profile says can be sent"
_UNPAID: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_LOGIN: Final = re.compile(r"//[^/\s]*@")
_NO_KEY: Final = "no-key"
_FIRST_WAIT_S: Final = 0.5
_MOST_WAIT_S: Final = 120.0  # before a try; an endpoint that asks for more has failed
_MOST_IN_A_ROW: Final = 10
_MOST_TEXT: Final = 200
_KEPT: Final = "what was answered is kept: the same command goes on from there"


class EndpointError(UsageError):
    """The endpoint can answer neither this request nor any later one."""


class Secret:
    """A key: never shown, only revealed to the client that sends it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key goes to no other process and into no file")

    def reveal(self) -> str:
        """The key itself."""
        return self._text


def key_of(variable: str) -> Secret | None:
    """The key in an environment variable; None where it is not set. One that no header can hold is refused."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    if not text.isascii() or not text.isprintable() or " " in text:
        raise UsageError(f"the environment variable {variable} holds no key", expected="printable ASCII without blanks")
    return Secret(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how to ask."""

    base_url: str  # up to and without ``/chat/completions``, such as ``http://127.0.0.1:8000/v1``
    key: Secret | None = None  # sent as a bearer token; None where none is needed
    timeout_s: float = 120.0  # for one try
    tries: int = 5  # how often a request is sent at most
    connections: int = 8  # requests under way at once

    def __post_init__(self) -> None:
        """Refuse an address that is none, or that holds a key itself."""
        parts = urlsplit(self.base_url)
        expected = "an address such as http://127.0.0.1:8000/v1"
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f"the base URL is no http address: {self.base_url[:80]!r}", expected=expected)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise UsageError(
                f"the base URL of {parts.hostname} holds a login, a query or a fragment",
                expected=expected,
                hint="a key is read from the environment alone, since addresses stand in records",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCall:
    """A request."""

    # the JSON of ``/chat/completions``, media in it as ``Base64``; with ``"stream": true`` the answer is read as events
    body: Mapping[str, Any]
    most: Tokens  # that it takes at most, for the budget


@dataclass(slots=True)
class _Health:
    """The state of an endpoint, shared by all threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    replied: bool = False
    failed_in_a_row: int = 0
    error: EndpointError | None = None


class ChatClient:
    """Asks one endpoint, from any number of threads.

    Args:
        endpoint: Where and how.
        price: What a million tokens cost; None where it is not known.
        spending: What is spent, with a budget; shared among clients.
    """

    def __init__(self, endpoint: Endpoint, *, price: Price | None = None, spending: Spending | None = None) -> None:
        self.endpoint, self._price, self._spending = endpoint, price, spending or Spending()
        if price is None and self._spending.limited:
            raise UsageError(
                "a budget needs a price",
                expected="[price] sent and received in the profile, in USD for a million tokens",
            )
        self._secret = "" if endpoint.key is None else endpoint.key.reveal()
        self._connection: _Connection | None = None
        self._lock, self._closed, self._health = threading.Lock(), threading.Event(), _Health()

    def ask(self, call: ChatCall) -> ChatReply:
        """The completed reply.

        Raises:
            InputError: The request has failed; another may not.
            EndpointError: No request can be answered.
            BudgetSpent: The reply may cost more than is left.
        """
        if self._health.error is not None:
            raise self._health.error
        most_cost = 0.0 if self._price is None else self._price.of(call.most)
        with self._spending.reserved(most_cost):
            reply, tries = self._reply(body_bytes(call.body), streamed=call.body.get("stream") is True)
            cost = None if self._price is None else self._price.of(reply.tokens or call.most)
            self._spending.add(cost or 0.0)
        with self._health.lock:
            self._health.replied, self._health.failed_in_a_row = True, 0
        return replace(
            reply,
            text=self.without_key(reply.text),
            model=self.without_key(reply.model),
            tries=tries,
            cost=cost,
        )

    def close(self) -> None:
        """Wake threads that wait for a retry, and close the connections; a second call does nothing."""
        self._closed.set()
        with self._lock:
            if self._connection is not None:
                self._connection.http.close()
                self._connection = None

    def _reply(self, content: bytes, *, streamed: bool) -> tuple[ChatReply, int]:
        problem = ""
        for number in range(1, self.endpoint.tries + 1):
            try:
                answer = self._send(content)
                if answer.status_code == 200:
                    return _read(answer, streamed=streamed), number
                problem, wait_s = self._problem(answer)
            except TooMuch as error:
                raise TooLarge(f"the answer was not read: {error}", expected="a reply of text") from None
            except Malformed as error:
                problem, wait_s = f"the answer cannot be read: {self.without_key(str(error))[:_MOST_TEXT]}", None
            except ConnectionError as error:
                problem, wait_s = str(error), None
            if number < self.endpoint.tries:
                self._wait(_wait_s(content, number) if wait_s is None else wait_s, problem)
        raise self._failure(f"{problem}; sent {self.endpoint.tries} times")

    def without_key(self, text: str) -> str:
        """A text without the key, which JSON escapes may have hidden in the bytes of the reply."""
        return text.replace(self._secret, "***") if len(self._secret) >= SHORTEST_SECRET else text

    def _send(self, content: bytes) -> Any:
        """The whole reply, of any status; ConnectionError if there is none."""
        connection = self._open()
        import httpx2

        try:
            return connection.http.send(
                httpx2.Request("POST", connection.url, headers=connection.headers, content=content)
            )
        except httpx2.TimeoutException:
            problem = f"there was no answer in {self.endpoint.timeout_s:g} s"
        except (httpx2.RequestError, SSLError) as error:
            problem = f"the connection failed: {self.without_key(_error_text(error))}"
        except RuntimeError:  # the client was closed meanwhile
            if not self._closed.is_set():
                raise
            problem = "the model was closed while it was asked"
        # Raised here, so that the traceback does not hold the request with its headers.
        raise ConnectionError(problem)

    def _open(self) -> _Connection:
        with self._lock:
            if self._closed.is_set():
                raise EndpointError("the model was closed while it was asked", hint=_KEPT)
            if self._connection is None:
                self._connection = _new_connection(self.endpoint, self._secret)
            return self._connection

    def _problem(self, answer: Any) -> tuple[str, float | None]:
        """The problem behind a status other than 200, and seconds to wait, if given; raises if no retry can help."""
        status, message = answer.status_code, self.without_key(error_message(answer.content))[:_MOST_TEXT]
        problem = f"the endpoint answered {status}" + (f": {message}" if message else "")
        if status == 401 or (status in {403, 404} and not self._health.replied and not is_moderated(answer.content)):
            raise self._end_error(problem, hint=_REFUSED[status])
        if status == 402 or (status == 429 and code_of(answer.content) in _UNPAID):
            raise self._end_error(problem, hint=f"its account has no credit left; {_KEPT}")
        if status not in _AGAIN and status < 500:
            if 300 <= status < 400:
                hint = "give the base URL that it leads to"
                raise InputError(problem, expected="no redirection: it would send media elsewhere", hint=hint)
            raise InputError(problem, expected="a completed chat", hint=_SEE_PROFILE if status in _UNFIT else "")
        return problem, _retry_after_s(answer.headers) or retry_delay_s(answer.content) or None

    def _wait(self, seconds: float, problem: str) -> None:
        if seconds > _MOST_WAIT_S:
            raise self._failure(f"{problem}; it asks to wait {seconds:.0f} s, the most is {_MOST_WAIT_S:g}")
        if self._closed.wait(seconds):
            raise EndpointError(problem, hint=_KEPT)

    def _failure(self, problem: str) -> AuscultError:
        """The error of a failed request; that of the endpoint after too many in a row."""
        with self._health.lock:
            self._health.failed_in_a_row += 1
            down = self._health.failed_in_a_row >= _MOST_IN_A_ROW
        if down:
            raise self._end_error(
                f"{_MOST_IN_A_ROW} requests in a row have failed, the last: {problem}",
                hint=f"is the endpoint up? {_KEPT}",
            )
        raise InputError(problem, expected="a completed chat", hint="the same command asks again for what has failed")

    def _end_error(self, problem: str, *, hint: str) -> EndpointError:
        """The error that ends the run, the same for all threads."""
        with self._health.lock:
            self._health.error = self._health.error or EndpointError(
                problem, expected=f"an endpoint that answers at {self.endpoint.base_url}", hint=hint
            )
            return self._health.error


_REFUSED: Final[Mapping[int, str]] = {
    401: "is the key of this endpoint in the environment variable that the profile names?",
    403: "the key may not use this model",
    404: "is the model's name right, and does the base URL end where /chat/completions begins?",
}


def require_extra() -> None:
    """Raise a UsageError where the package ``openai`` is missing."""
    if find_spec("openai") is None:
        raise UsageError(
            "models behind an endpoint need the extra `chat`",
            expected="the package openai",
            hint="pip install 'auscult[chat]', or '.[chat]' in a clone",
        )


@dataclass(frozen=True, slots=True, repr=False)
class _Connection:
    """HTTP client, address and headers, made once: ``openai`` takes as long for them as for sending."""

    http: Any
    url: Any
    headers: Any


def _new_connection(endpoint: Endpoint, secret: str) -> _Connection:
    require_extra()
    import httpx2
    import openai

    http = http_client(endpoint.base_url, secret=secret, timeout_s=endpoint.timeout_s, connections=endpoint.connections)
    # openai would send organization and project of the environment to any address: they are omitted.
    omitted = {"OpenAI-Organization": openai.Omit(), "OpenAI-Project": openai.Omit()}
    api = openai.OpenAI(
        api_key=secret or _NO_KEY, base_url=endpoint.base_url, default_headers=omitted, http_client=http
    )
    headers = {name: value for name, value in api.default_headers.items() if isinstance(value, str)} | api.auth_headers
    return _Connection(http, httpx2.URL(f"{api.base_url}chat/completions"), httpx2.Headers(headers))


def _read(answer: Any, *, streamed: bool) -> ChatReply:
    """The reply of a completed answer: events, or one object, as it came; some endpoints stream without being asked."""
    streamed = streamed or "event-stream" in answer.headers.get("Content-Type", "")
    whole = not streamed or answer.content.lstrip().startswith(b"{")
    return (read_whole if whole else read_events)(answer.content)


def _error_text(error: Exception) -> str:
    """Class and text of an error, without the login of an address, such as a proxy's."""
    text = _LOGIN.sub("//***@", " ".join(str(error).split()))
    return type(error).__name__ + (f" ({text[:100]})" if text else "")


def _wait_s(content: bytes, number: int) -> float:
    """Exponential backoff from half a second, with jitter in the upper half, so that retries are spread."""
    share = float(generator(0, "chat", crc32(content), number).random())
    return _FIRST_WAIT_S * 2.0 ** (number - 1) * (0.5 + 0.5 * share)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, given as seconds or as a date; None without it; 0 says nothing."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _seconds_until(text)
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _seconds_until(text: str) -> float:
    """Seconds until an HTTP date; -1 for anything else."""
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return -1.0
    return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
