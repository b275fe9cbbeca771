"""A program under test: answers with full masks, and badly in every way that the table of tests lists."""

from __future__ import annotations

import json
import os
import struct
import sys
import time
from pathlib import Path
from typing import Any


def size_of(path: str) -> list[int]:
    head = Path(path).read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return [height, width]


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def masks_of(question: dict[str, Any]) -> list[dict[str, Any]]:
    sizes = [size_of(path) for path in question["frames"]]
    return [{"size": size, "counts": [0, size[0] * size[1]]} for size in sizes]


def answer(mode: str, question: dict[str, Any]) -> None:  # noqa: C901, PLR0912, PLR0915 - a table of misbehaviour
    masks = masks_of(question)
    good = json.dumps({"id": question["id"], "masks": masks})
    match mode:
        case "dies":
            sys.stderr.write("out of luck\n")
            sys.exit(3)
        case "garbage":
            say("{'id': 1}")
        case "binary":
            sys.stdout.buffer.write(b"{\xff\xfe\x00\n")
            sys.stdout.buffer.flush()
        case "talk":
            say("I think it is the one on the left")
        case "other id":
            say(json.dumps({"id": "another", "masks": masks}))
        case "twice":
            say(good)
            say(good)
        case "other size":
            say(json.dumps({"id": question["id"], "masks": [{"size": [2, 2], "counts": [0, 4]}] * len(masks)}))
        case "too few":
            say(json.dumps({"id": question["id"], "masks": masks[:1]}))
        case "bad runs":
            say(json.dumps({"id": question["id"], "masks": [{**masks[0], "counts": [1, 2]}] * len(masks)}))
        case "no masks":
            say(json.dumps({"id": question["id"]}))
        case "list":
            say("{} []")
        case "says error":
            say(json.dumps({"id": question["id"], "error": "no car here"}))
        case "deep":
            say('{"id": ' + "[" * 100_000)
        case "huge line":
            while True:
                sys.stdout.write("{" + "x" * 1_000_000)
        case "closes":
            os.close(1)
            time.sleep(600)
        case "byte order mark":
            say("\ufeff" + good)
        case "behind text":
            say("\r100 %|####| " + good)
        case "no line break":
            sys.stdout.write(good)
            sys.stdout.flush()
        case "list of masks":
            say(json.dumps(masks))
        case "hangs":
            time.sleep(600)
        case "loud":
            sys.stderr.write("warning\n" * 100_000)
            say(good)
        case _:
            say(good)


def main() -> None:
    mode = sys.argv[1]
    if mode == "banner":
        say("Loading weights ...\n[####] 100 %\n")
    if mode == "dies at once":
        sys.exit("no weights here")
    for number, line in enumerate(sys.stdin):
        if mode == "dies at the second" and number:
            sys.exit(5)
        answer(mode, json.loads(line))
        if mode == "dies after":
            return


if __name__ == "__main__":
    main()
