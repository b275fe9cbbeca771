"""Any separator as a program: reads requests as lines of JSON and writes answers as lines of JSON.

So a separator runs in an environment of its own, with the torch and the packages that it was released for::

    auscult run separation --model "cmd:envs/demucs/bin/python examples/serve_separator.py demucs@weights" ...
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from auscult.errors import AuscultError
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.models.separators import load_separator
from auscult.types import Samples, SoundQuery, Span


def serve(separate: Callable[..., Samples | Mapping[str, Samples]]) -> None:
    """Answer every line of the standard input with ``separate(mixture, query, *, rate_hz)``, or say what went wrong."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            print(json.dumps({"id": asked["id"], **answer(separate, asked)}), flush=True)
        except AuscultError as error:
            print(json.dumps({"id": asked["id"], "error": str(error)}), flush=True)


def answer(separate: Callable[..., Samples | Mapping[str, Samples]], asked: dict[str, Any]) -> dict[str, Any]:
    """Separate one mixture, and write the sounds that it gives beside it."""
    sound = read_sound(Path(asked["mixture"]))
    spans = tuple(Span(*span) for span in asked["spans_s"])
    query = SoundQuery(text=asked["text"], spans=spans, picture=Path(asked["video"]) if asked["video"] else None)
    found = separate(sound.samples, query, rate_hz=sound.rate_hz)
    tracks = found if isinstance(found, Mapping) else {"separated": found}
    for number, track in enumerate(tracks.values()):
        data = wav_bytes(Sound(samples=np.atleast_2d(track), rate_hz=sound.rate_hz), "float32")
        (Path(asked["folder"]) / f"{number}.wav").write_bytes(data)
    if isinstance(found, Mapping):
        return {"tracks": {name: f"{number}.wav" for number, name in enumerate(tracks)}}
    return {"separated": "0.wav"}


if __name__ == "__main__":
    serve(load_separator(sys.argv[1]).separate)
