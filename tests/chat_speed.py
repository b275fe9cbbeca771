"""Requests a second against an endpoint that takes 200 ms: of `auscult run avi`, and of audits by a chat judge.

The endpoint is a process of its own on loopback. Besides the wall time the processor time of the command is told, since
a machine that does other work too shows in the first alone. Needs the extra `chat`: ``python tests/chat_speed.py 3000
avi``, or ``photographs`` or ``clips`` instead: masks on pictures of 480x854, thirteen on each, alone or with the frames
of a clip of ten.
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

import cv2
import numpy as np

from auscult.cases.avibench import AviEntry, data_json, entry_json, task_folder
from auscult.media.frames import encode_jpeg, encode_png
from auscult.media.masks import encode_mask
from auscult.media.wav import encode_wav
from auscult.record.lines import read_lines

REQUESTS: Final = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
CONNECTIONS: Final = 32
LATENCY_S: Final = 0.2
BAR: Final = 120
SUBJECT: Final = sys.argv[2] if len(sys.argv) > 2 else "avi"
MASKS_BAR: Final = 60
MASKS_A_FRAME: Final = 13
_SAID: Final = "yes" if SUBJECT == "avi" else "<iou> 0.8 </iou> <mask_type> erode </mask_type>"


def main() -> None:
    """Ask about a picture and a sound of half a second each, or about masks."""
    spawned = multiprocessing.get_context("spawn")
    parent, child = spawned.Pipe()
    times = spawned.Array("d", 2)  # when the first request came, and when the last reply went
    server = spawned.Process(target=_serve, args=(child, times, _SAID), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{parent.recv()}/v1"
    try:
        with tempfile.TemporaryDirectory() as place:
            data, out = Path(place) / "data", Path(place) / "out"
            if SUBJECT == "avi":
                _write(data)
                words, rows = ["run", "avi", "--data", str(data), "--model", "chat:bench"], "predictions.jsonl"
            else:
                _write_masks(data, frames=10 if SUBJECT == "clips" else 1)
                words, rows = ["audit", str(data / "items.jsonl"), "--judge", "chat:bench"], "verdicts.jsonl"
            command = [sys.executable, "-m", "auscult", *words, "--out", str(out), "--base-url", url, "--quiet"]
            command += ["--max-connections", str(CONNECTIONS)]
            before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            wall_s = time.perf_counter() - start_s
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            row_count = sum(row.get("model", "chat.bench") == "chat.bench" for row in read_lines(out / rows))
    finally:
        server.terminate()
        server.join()
    if row_count != REQUESTS:
        raise RuntimeError(f"{row_count} of {REQUESTS} replies are stored")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rate = REQUESTS / (times[1] - times[0])
    print(f"{REQUESTS:,} requests ({SUBJECT}) of {LATENCY_S * 1000:.0f} ms over {CONNECTIONS} connections:")
    print(f"as the endpoint saw them {rate:.0f}/s, of the {CONNECTIONS / LATENCY_S:.0f} that it allows; bar {BAR}")
    print(f"the whole command, start and report included: {wall_s:.1f} s, {REQUESTS / wall_s:.0f}/s; bar {MASKS_BAR}")
    print(f"{cpu_s:.1f} s of processor, {1000 * cpu_s / REQUESTS:.1f} ms each")


def _write_masks(root: Path, *, frames: int) -> None:
    """Clips of so many frames, with masks on the middle one; a last clip may have fewer masks."""
    rng = np.random.default_rng(0)
    lines = []
    for clip in range(-(-REQUESTS // MASKS_A_FRAME)):
        folder = root / f"v{clip}"
        folder.mkdir(parents=True)
        for number in range(frames):
            small = rng.integers(0, 256, (60, 107, 3), dtype=np.uint8)
            frame = np.asarray(cv2.resize(small, (854, 480), interpolation=cv2.INTER_CUBIC), np.uint8)
            (folder / f"{number:05d}.jpg").write_bytes(encode_jpeg(frame))
        for place in range(min(MASKS_A_FRAME, REQUESTS - clip * MASKS_A_FRAME)):
            mask = np.zeros((480, 854), np.bool_)
            mask[100 : 300 + place, 200 : 500 + 7 * place] = True
            (root / f"v{clip}_{place}.png").write_bytes(encode_mask(mask))
            frame_name = f"v{clip}/{frames // 2:05d}.jpg"
            row = {"id": f"{clip}/{place}", "frame": frame_name, "mask": f"v{clip}_{place}.png", "text": "the dog"}
            lines.append(row | ({"clip": f"v{clip}"} if frames > 1 else {}))
    (root / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _write(tree: Path) -> None:
    task_home = tree / task_folder("AVH")
    (task_home / "input/wavs").mkdir(parents=True)
    picture = "input/shown.png"
    (task_home / picture).write_bytes(encode_png(np.zeros((8, 8, 3), np.uint8)))
    entries = []
    for number in range(REQUESTS):
        name = f"input/wavs/{number:05d}.wav"
        times = np.arange(8000, dtype=np.float32) / 16_000
        (task_home / name).write_bytes(encode_wav(0.5 * np.sin(np.float32(2 * np.pi * (100 + number)) * times), 16_000))
        entries.append(
            AviEntry(
                id=f"{number:05d}", folder="AVH", subtask="", prompt="Answer with yes, no or not sure.",
                text=f"Is it heard? ({number})", options=("yes", "no", "not sure"), answer="yes",
                images=(picture,), sounds=(name,),
            )
        )  # fmt: skip
    (task_home / "data.json").write_bytes(data_json(map(entry_json, entries)))


def _serve(port: Connection, times: Any, reply_text: str) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": reply_text}, "finish_reason": "stop"}
    reply = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 1}}).encode()
    asyncio.run(_serving(port, times, reply))


async def _serving(port: Connection, times: Any, reply: bytes) -> None:
    server = await asyncio.start_server(partial(_answer, times, reply), "127.0.0.1", 0, backlog=256, limit=1 << 22)
    port.send(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


async def _answer(times: Any, reply: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            times[0] = times[0] or time.perf_counter()
            await asyncio.sleep(LATENCY_S)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply)
            await writer.drain()
            times[1] = time.perf_counter()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


if __name__ == "__main__":
    main()
