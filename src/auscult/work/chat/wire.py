"""What goes over the connection: replies of bounded size and time, without the key, from one address alone.

Time is looked at between pieces of a body, and the wait for a piece is what was left after the headers: an answer ends
within twice its time once its headers are there. Headers alone, bounded in size, may take that time for each piece.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from auscult.work.chat.replies import Malformed

SHORTEST_SECRET: Final = 12
"""Characters. A shorter key, such as ``EMPTY``, is a placeholder: to strike it would change replies."""
_KEPT: Final = ("Content-Type", "Retry-After", "Retry-After-Ms")


class TooMuch(Malformed):
    """The answer is larger than it may be; nothing more of it was read."""


class TooLate(Malformed):
    """The answer was still coming when its time was over."""


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
    timeout = httpx2.Timeout(timeout_s, pool=None)
    return httpx2.Client(transport=transport, timeout=timeout, follow_redirects=False)


class _Bounded:
    """A transport of ``httpx2`` that reads each answer as a whole, within bounds."""

    def __init__(self, within: Any, *, secret: str, most_bytes: int, timeout_s: float) -> None:
        self._within, self._secret, self._most_bytes, self._timeout_s = within, secret, most_bytes, timeout_s

    def handle_request(self, request: Any) -> Any:
        """Send a request; what comes back holds its whole body and three of its headers."""
        import httpx2

        request.headers["Accept-Encoding"] = "identity"
        until = time.monotonic() + self._timeout_s
        response = self._within.handle_request(request)
        try:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise Malformed("it is packed, which was not asked for")
            left = max(0.001, until - time.monotonic())
            request.extensions.get("timeout", {})["read"] = left  # of the body, which is read after this
            body = b"".join(_bounded(response.stream, self._most_bytes, until=until))
        finally:
            response.close()
        headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
        return httpx2.Response(response.status_code, headers=headers, content=struck(body, self._secret))

    def close(self) -> None:
        """Close all connections."""
        self._within.close()


def _bounded(stream: Iterable[bytes], most_bytes: int, *, until: float) -> Iterator[bytes]:
    read = 0
    for chunk in stream:
        read += len(chunk)
        if read > most_bytes:
            raise TooMuch(f"it has more than {most_bytes:,} bytes")
        if time.monotonic() > until:
            raise TooLate("it was still coming when its time was over")
        yield chunk


def struck(text: bytes, secret: str) -> bytes:
    """Bytes without the key; a placeholder stays."""
    return text.replace(secret.encode(), b"***") if len(secret) >= SHORTEST_SECRET else text


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for an address."""
    parts = urlsplit(base_url)
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    return None if not found or proxy_bypass(parts.hostname or "") else found
