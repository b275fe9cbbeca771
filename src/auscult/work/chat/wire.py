"""What goes over the connection: the body of a request, and replies of bounded size and time without the key.

Each wait of a connection, for headers as for a body, is for what is left of the request's time, however little comes at
once: an endpoint that sends a byte now and then is left when that time is over. Only the lookup of a name is the
system's.
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
"""Characters. A shorter key, such as ``EMPTY``, is a placeholder: to strike it would change replies."""
_PIECE: Final = 1 << 16
_KEPT: Final = ("Content-Type", "Retry-After", "Retry-After-Ms")


_PLACE: Final = secrets.token_hex(16)
"""Stands for media in a body; no text that is sent can hold it."""


@dataclass(frozen=True, slots=True)
class Base64:
    """Media in the body of a request, sent as base64 after a text such as ``data:image/png;base64,``."""

    data: bytes
    after: str = ""


def body_bytes(body: Mapping[str, Any]) -> bytes:
    """The JSON of a body, with each ``Base64`` in it as a string, which is copied once and not searched."""
    media: list[Base64] = []

    def place(value: object) -> str:
        if not isinstance(value, Base64):
            raise TypeError(f"{type(value).__name__} is no value of JSON")
        media.append(value)
        return _PLACE

    first, *texts = json.dumps(body, default=place).encode("ascii").split(f'"{_PLACE}"'.encode())
    parts = [first]
    for medium, text in zip(media, texts, strict=True):
        parts += [b'"', medium.after.encode("ascii"), b64encode(medium.data), b'"', text]
    return b"".join(parts)


class TooMuch(Malformed):
    """The answer is larger than it may be; nothing more of it was read."""


def http_client(base_url: str, *, secret: str, most_bytes: int, timeout_s: float, connections: int) -> Any:
    """An ``httpx2.Client`` that reads at most so many bytes of an answer and follows no redirection.

    The key is struck out of every answer before anybody sees it: an endpoint that repeats it cannot bring it into a
    record, unless it is shorter than `SHORTEST_SECRET`. Answers are asked for unpacked, and refused packed, since few
    bytes may become many.
    """
    import httpx2

    limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
    transport = _Bounded(
        httpx2.HTTPTransport(limits=limits, proxy=_proxy(base_url)),
        secret=secret,
        most_bytes=most_bytes,
        timeout_s=timeout_s,
    )
    return httpx2.Client(transport=transport, follow_redirects=False)


class _Bounded:
    """A transport of ``httpx2`` that reads each answer as a whole, within bounds."""

    def __init__(self, within: Any, *, secret: str, most_bytes: int, timeout_s: float) -> None:
        self._within, self._secret, self._most_bytes, self._timeout_s = within, secret, most_bytes, timeout_s
        self._time = _Time()
        # what makes connections can be given to the pool alone, which httpx2 makes itself
        pool = within._pool  # noqa: SLF001
        pool._network_backend = _Timed(pool._network_backend, self._time)  # noqa: SLF001

    def handle_request(self, request: Any) -> Any:
        """Send a request; what comes back holds its whole body and three of its headers."""
        import httpx2

        request.headers["Accept-Encoding"] = "identity"
        self._time.until = time.monotonic() + self._timeout_s
        response = self._within.handle_request(request)
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise Malformed("it is packed, which was not asked for")
            body = b"".join(_bounded(response.stream, self._most_bytes))
        finally:
            response.close()
        headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
        return httpx2.Response(response.status_code, headers=headers, content=struck(body, self._secret))

    def close(self) -> None:
        """Close all connections."""
        self._within.close()


class _Time(threading.local):
    """When the request of this thread has to be over; each connection is used by one thread at a time."""

    until = float("inf")

    def left(self, most: float | None) -> float:
        """Seconds to wait, above 0."""
        import httpcore2

        if (left := self.until - time.monotonic()) <= 0:
            raise httpcore2.ReadTimeout
        return left if most is None else min(left, most)


class _Timed:
    """A connection of ``httpcore2``, or what makes them, of which no wait ends after the request's time."""

    def __init__(self, within: Any, limit: _Time) -> None:
        self._within, self._time = within, limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._within, name)

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **how: Any) -> _Timed:
        return _Timed(self._within.connect_tcp(host, port, timeout=self._time.left(timeout), **how), self._time)

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Timed:
        return _Timed(self._within.start_tls(ssl_context, server_hostname, self._time.left(timeout)), self._time)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._within.read(max_bytes, self._time.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):  # a long request may be taken slowly too
            self._within.write(buffer[start : start + _PIECE], self._time.left(timeout))


def _bounded(stream: Iterable[bytes], most_bytes: int) -> Iterator[bytes]:
    read = 0
    for chunk in stream:
        read += len(chunk)
        if read > most_bytes:
            raise TooMuch(f"it has more than {most_bytes:,} bytes")
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
