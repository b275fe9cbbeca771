"""A real HTTP server on loopback that speaks the protocol of chat completions, well or badly, as a script says."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[int, Mapping[str, Any]], bytes]
"""From the number of a request, from 0, and its body, to the bytes of the whole HTTP response."""


def http(body: bytes, *, status: int = 200, length: int | None = None, **headers: str) -> bytes:
    """A response; ``length`` is what the header says where that is a lie."""
    header_fields = {"Content-Type": "application/json", "Content-Length": str(len(body) if length is None else length)}
    header_fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in header_fields.items())
    return f"HTTP/1.1 {status} X\r\n{head}\r\n".encode() + body


def completed(text: str | None, **fields: Any) -> bytes:
    """A completed chat."""
    message = {"role": "assistant", "content": text, **fields.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": fields.pop("finish", "stop")}
    usage = fields.pop("usage", {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15})
    answer = {
        "id": "x",
        "object": "chat.completion",
        "model": "served-1",
        "choices": [choice],
        "usage": usage,
        **fields,
    }
    return http(json.dumps(answer).encode())


def error_response(status: int, message: str = "", *, code: str | None = None, **headers: str) -> bytes:
    """An error of the protocol."""
    error = {"error": {"message": message, "type": "x", "code": code}}
    return http(json.dumps(error).encode(), status=status, **headers)


def events(*pieces: str, end: bool = True) -> bytes:
    """A streamed chat."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    if end:
        chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
        chunks += [{"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": len(pieces)}}]
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"] * end
    return http("".join(lines).encode(), Content_Type="text/event-stream")


@dataclass
class Received:
    """The requests that a server received."""

    url: str = ""
    bodies: list[Mapping[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def serving(script: Script) -> Iterator[Received]:
    """Serve on a free port of loopback until the block ends."""
    served = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            with served.lock:
                number = len(served.bodies)
                served.bodies.append(json.loads(content))
                served.headers.append({name.lower(): text for name, text in self.headers.items()})
                served.times.append(time.monotonic())
            response = script(number, served.bodies[number])
            self.close_connection = self.close_connection or b"\r\nContent-Length: " not in response
            try:
                self.wfile.write(response)
                head, _, body = response.partition(b"\r\n\r\n")
                content_length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or 0)
                self.close_connection = self.close_connection or content_length != len(body)
            except OSError:  # whoever asked has gone
                self.close_connection = True

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """A connection that was closed early is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
