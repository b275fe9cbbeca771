"""The connection: the body of a request, and replies of bounded size and time without the key.

Each wait of a connection, for headers as for a body, ends at the deadline of the request: an endpoint that sends single
bytes slowly is abandoned then. Only name lookup has the time limit of the system.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from auscult.work.chat.replies import Malformed

SHORTEST_SECRET: Final = 12
"""Characters. A shorter key, such as ``EMPTY``, is a placeholder: to remove it would change replies."""
_PIECE: Final = 1 << 16
_MOST_BYTES: Final = 8 << 20  # of one reply
_KEPT_HEADERS: Final = ("Content-Type", "Retry-After", "Retry-After-Ms")


_PLACEHOLDER: Final = secrets.token_hex(16)
"""Stands for media in a body; no other text can contain it."""


@dataclass(frozen=True, slots=True)
class Base64:
    """Media in the body of a request, sent as base64 after a text such as ``data:image/png;base64,``."""

    data: bytes
    after: str = ""


def body_bytes(body: Mapping[str, Any]) -> bytes:
    """The JSON of a body, with each ``Base64`` as a string that is copied only once and not searched."""
    media: list[Base64] = []

    def place(value: object) -> str:
        if not isinstance(value, Base64):
            raise TypeError(f"{type(value).__name__} is no value of JSON")
        media.append(value)
        return _PLACEHOLDER

    first, *texts = json.dumps(body, default=place).encode("ascii").split(f'"{_PLACEHOLDER}"'.encode())
    parts = [first]
    for medium, text in zip(media, texts, strict=True):
        parts += [b'"', medium.after.encode("ascii"), b64encode(medium.data), b'"', text]
    return b"".join(parts)


class TooMuch(Malformed):
    """The reply exceeds the limit of bytes; the rest was not read."""


def http_client(base_url: str, *, secret: str, timeout_s: float, connections: int) -> Any:
    """An ``httpx2.Client`` that reads at most 8 MiB of a reply and follows no redirection.

    The key is removed from every reply first, so that an endpoint that repeats it cannot bring it into a record, unless
    it is shorter than `SHORTEST_SECRET`. Replies are requested without compression, and compressed ones refused, since
    few bytes may become many.
    """
    import httpx2

    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    inner = httpx2.HTTPTransport(limits=limits, proxy=_proxy(base_url))
    transport = _Bounded(inner, secret=secret, timeout_s=timeout_s)
    return httpx2.Client(transport=transport, follow_redirects=False)


class _Bounded:
    """A transport of ``httpx2`` that reads each reply whole, with bounded size and time."""

    def __init__(self, inner: Any, *, secret: str, timeout_s: float) -> None:
        self._inner, self._secret, self._timeout_s = inner, secret, timeout_s
        self._deadline = _Deadline()
        # only the pool takes a network backend, and httpx2 makes the pool itself
        pool = inner._pool  # noqa: SLF001
        pool._network_backend = _Timed(pool._network_backend, self._deadline)  # noqa: SLF001

    def handle_request(self, request: Any) -> Any:
        """Send a request; the response holds the whole body and three headers."""
        import httpx2

        request.headers["Accept-Encoding"] = "identity"
        self._deadline.until = time.monotonic() + self._timeout_s
        response = self._inner.handle_request(request)
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise Malformed("it is packed, which was not asked for")
            body = b"".join(_bounded(response.stream))
        finally:
            response.close()
        headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
        return httpx2.Response(response.status_code, headers=headers, content=struck(body, self._secret))

    def close(self) -> None:
        """Close all connections."""
        self._inner.close()


class _Deadline(threading.local):
    """The deadline of this thread's request; a connection is used by one thread at a time."""

    until = float("inf")

    def left(self, timeout: float | None) -> float:
        """Seconds left, above 0, at most ``timeout``; raises ReadTimeout after the deadline."""
        import httpcore2

        if (left := self.until - time.monotonic()) <= 0:
            raise httpcore2.ReadTimeout
        return left if timeout is None else min(left, timeout)


class _Timed:
    """A connection or backend of ``httpcore2`` of which each wait ends at the deadline of the request."""

    def __init__(self, inner: Any, deadline: _Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> _Timed:
        return _Timed(
            self._inner.connect_tcp(host, port, timeout=self._deadline.left(timeout), **options), self._deadline
        )

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Timed:
        return _Timed(self._inner.start_tls(ssl_context, server_hostname, self._deadline.left(timeout)), self._deadline)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):  # an endpoint may also receive slowly
            self._inner.write(buffer[start : start + _PIECE], self._deadline.left(timeout))


def _bounded(stream: Iterable[bytes]) -> Iterator[bytes]:
    read = 0
    for chunk in stream:
        read += len(chunk)
        if read > _MOST_BYTES:
            raise TooMuch(f"it has more than {_MOST_BYTES:,} bytes")
        yield chunk


def struck(text: bytes, secret: str) -> bytes:
    """Bytes without the key; a placeholder stays."""
    return text.replace(secret.encode(), b"***") if len(secret) >= SHORTEST_SECRET else text


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(base_url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return None if not proxy or proxy_bypass(parts.hostname or "") else proxy
