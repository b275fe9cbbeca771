"""Requests a second of `auscult run avi` against an endpoint that takes 200 ms: reading media, asking, storing.

The endpoint is a process of its own on loopback. Besides the wall time the processor time of the command is told, since
a machine that does other work too shows in the first alone. Needs the extra `chat`: ``python tests/chat_speed.py``.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.cases.layouts.avibench import AviEntry, data_json, entry_json, task_folder
from auscult.media.frames import encode_png
from auscult.media.wav import encode_wav
from auscult.record.lines import read_lines

REQUESTS: Final = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
CONNECTIONS: Final = 32
LATENCY_S: Final = 0.2
BAR: Final = 120
_REPLY: Final = json.dumps(
    {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }
).encode()


def main() -> None:
    """Ask 3,000 questions about a picture and a sound of half a second each."""
    spawned = multiprocessing.get_context("spawn")
    parent, child = spawned.Pipe()
    times = spawned.Array("d", 2)  # when the first request came, and when the last reply went
    server = spawned.Process(target=_serve, args=(child, times), daemon=True)
    server.start()
    port = parent.recv()
    try:
        with tempfile.TemporaryDirectory() as place:
            tree, out = Path(place) / "tree", Path(place) / "out"
            _write(tree)
            command = [sys.executable, "-m", "auscult.cli", "run", "avi", "--data", str(tree), "--out", str(out)]
            command += ["--model", "chat:bench", "--base-url", f"http://127.0.0.1:{port}/v1", "--quiet"]
            command += ["--max-connections", str(CONNECTIONS)]
            before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            wall_s = time.perf_counter() - begun
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            stored = sum(row["model"] == "chat.bench" for row in read_lines(out / "predictions.jsonl"))
    finally:
        server.terminate()
        server.join()
    if stored != REQUESTS:
        raise RuntimeError(f"{stored} of {REQUESTS} replies are stored")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = REQUESTS / (times[1] - times[0])
    print(
        f"{REQUESTS:,} requests of {LATENCY_S * 1000:.0f} ms over {CONNECTIONS} connections, as the endpoint saw them:"
    )
    print(f"{rate:.0f} requests/s; the bar is {BAR}, and the endpoint allows {CONNECTIONS / LATENCY_S:.0f}")
    print(
        f"the whole command, which also starts, lists, scores and reports: {wall_s:.1f} s, {cpu_s:.1f} s of processor"
    )


def _write(tree: Path) -> None:
    home = tree / task_folder("reasoning", "AVH")
    (home / "input/wavs").mkdir(parents=True)
    shown = "input/shown.png"
    (home / shown).write_bytes(encode_png(np.zeros((8, 8, 3), np.uint8)))
    entries = []
    for number in range(REQUESTS):
        name = f"input/wavs/{number:05d}.wav"
        times = np.arange(8000, dtype=np.float32) / 16_000
        (home / name).write_bytes(encode_wav(0.5 * np.sin(np.float32(2 * np.pi * (100 + number)) * times), 16_000))
        entries.append(
            AviEntry(
                id=f"{number:05d}", folder="AVH", subtask="", prompt="Answer with yes, no or not sure.",
                text=f"Is it heard? ({number})", options=("yes", "no", "not sure"), answer="yes",
                images=(shown,), sounds=(name,),
            )
        )  # fmt: skip
    (home / "data.json").write_bytes(data_json(map(entry_json, entries)))


def _serve(port: Connection, times: Any) -> None:
    asyncio.run(_serving(port, times))


async def _serving(port: Connection, times: Any) -> None:
    server = await asyncio.start_server(partial(_answer, times), "127.0.0.1", 0, backlog=256)
    port.send(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


async def _answer(times: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            times[0] = times[0] or time.perf_counter()
            await asyncio.sleep(LATENCY_S)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_REPLY) + _REPLY)
            await writer.drain()
            times[1] = time.perf_counter()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


if __name__ == "__main__":
    main()
