"""Small clips and photographs of one red block, and models that know it by its colour."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels, write_mask
from auscult.media.wav import encode_wav
from auscult.suites.registered import SuiteRun, run

SIZE = (48, 64)
RATE_HZ = 8000

MODEL = """
import hashlib, json
from pathlib import Path

import numpy as np

CALLS = Path(__file__).with_suffix(".calls")


def told(array):
    return None if array is None else hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def note(name, frames, query, sound, rate_hz, first_mask):
    row = {
        "model": name, "frames": told(frames), "text": query.text, "sound": told(sound), "rate_hz": rate_hz,
        "first_mask": told(first_mask), "shape": list(frames.shape),
    }
    with CALLS.open("a") as file:
        file.write(json.dumps(row) + "\\n")


def red(frames):
    high = frames.astype(int)
    return (high[..., 0] > 150) & (high[..., 1] < 110) & (high[..., 2] < 110)


def colour(frames, query, *, sound=None, rate_hz=None, first_mask=None):
    note("colour", frames, query, sound, rate_hz, first_mask)
    return red(frames)


def nothing(frames, query, *, sound=None, rate_hz=None, first_mask=None):
    note("nothing", frames, query, sound, rate_hz, first_mask)
    return np.zeros(frames.shape[:3], bool)


def soft(frames, query, **rest):
    return np.where(red(frames), 0.9, 0.2)


def picky(frames, query, **rest):
    if frames.shape[0] == 5:
        raise RuntimeError("five frames are too many")
    return red(frames)


def unsizely(frames, query, **rest):
    return np.zeros((2, 3, 3), bool)


def one_frame_only(frames, query, **rest):
    mask = red(frames)
    mask[2:] = False
    return mask
"""


def model_file(folder: Path, name: str = "mine.py", text: str = MODEL) -> Path:
    """The models above, in a file that notes every call in ``<name>.calls``."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(text)
    return file


def calls(file: Path) -> list[dict[str, Any]]:
    """What a file of models was asked so far."""
    calls_file = file.with_suffix(".calls")
    return [json.loads(line) for line in calls_file.read_text().splitlines()] if calls_file.exists() else []


def block(place: int, *, size: tuple[int, int] = SIZE) -> NDArray[np.bool_]:
    """The object at a time, two pixels further to the right each time."""
    mask = np.zeros(size, bool)
    mask[12:34, 8 + 2 * place : 30 + 2 * place] = True
    return mask


def picture(mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """A red object on a grey ground that is bright on the right."""
    frame = np.empty((*mask.shape, 3), np.uint8)
    frame[:] = np.linspace(60, 160, mask.shape[1]).astype(np.uint8)[None, :, None]
    frame[mask] = (230, 30, 30)
    return frame


def clip(folder: Path, frames: int = 5, *, hidden: Sequence[int] = ()) -> Path:
    """A sequence with ``frames/`` and ``masks/``; the object is out of the picture in the ``hidden`` frames."""
    for place in range(frames):
        mask = block(place) if place not in hidden else np.zeros(SIZE, bool)
        write_frame(folder / f"frames/{place:05d}.png", picture(mask))
        write_labels(folder / f"masks/{place:05d}.png", mask.astype(np.uint8))
    return folder


def clips(root: Path, **lengths: int) -> Path:
    """Sequences by name and length."""
    for name, frames in (lengths or {"one": 5, "two": 6}).items():
        clip(root / name, frames)
    return root


def line(root: Path, name: str, place: int, **fields: Any) -> dict[str, Any]:
    """A frame with its mask on disk, as a row of ``items.jsonl``."""
    frame, mask = f"frames/{name}-{place}.png", f"masks/{name}-{place}.png"
    write_frame(root / frame, picture(block(place)))
    write_mask(root / mask, block(place))
    return {"id": f"{name}-{place}", "frame": frame, "mask": mask, **fields}


def write_items(root: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write ``items.jsonl``."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


def photographs(root: Path, count: int = 4) -> Path:
    """Photographs with a sentence each."""
    return write_items(
        root, [line(root, f"p{place}", place, text=f"the red block number {place}") for place in range(count)]
    )


def spoken(root: Path, *, count: int = 2, frames: int = 4, text: str = "the red block that moves right") -> Path:
    """Videos with a sentence each."""
    return write_items(
        root,
        [
            line(root, f"v{number}", place, clip=f"v{number}", time_s=place / 5, text=f"{text}, number {number}")
            for number in range(count)
            for place in range(frames)
        ],
    )


def tone(hertz: float = 440.0, seconds: float = 1.0) -> NDArray[np.float32]:
    """A sound."""
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * RATE_HZ)) / RATE_HZ)).astype(np.float32)


def sounding(root: Path, *, count: int = 2) -> Path:
    """AVSBench ms3: five frames a clip and a sound; nothing sounds at the last frame."""
    folder = root / "Multi-sources"
    for clip_index in range(count):
        name = f"c{clip_index}"
        for number in range(1, 6):
            mask = block(number) if number < 5 else np.zeros(SIZE, bool)
            write_frame(folder / f"ms3_data/visual_frames/{name}/{name}.mp4_{number}.png", picture(mask))
            write_mask(folder / f"ms3_data/gt_masks/test/{name}/{name}_{number}.png", mask)
        sound = folder / f"ms3_data/audio_wav/test/{name}.wav"
        sound.parent.mkdir(parents=True, exist_ok=True)
        sound.write_bytes(encode_wav(tone(300.0 + 50 * clip_index, 5.0), RATE_HZ))
    (folder / "ms3_meta_data.csv").write_text(
        "name,split\n" + "".join(f"c{clip_index},test\n" for clip_index in range(count))
    )
    return folder


def run_r2(data: Path, out: Path, task: str, *models: str, **options: Any) -> SuiteRun:
    """Run the suite in this process, clean and low unless said otherwise."""
    settings = {"levels": ("low",), "workers": 0, **options}
    return run("r2", data=data, out=out, task=task, models=models, **settings)


def rows(out: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a file of the record; none where there is no file."""
    file = out / name
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def models_of(out: Path) -> list[str]:
    """The models that a folder was asked about, without those that could not be loaded."""
    request_rows = rows(out, "requests.jsonl")
    withdrawn = [(row["command"], row["model"]) for row in request_rows if "unloaded" in row]
    return list(dict.fromkeys(row["model"] for row in request_rows if (row["command"], row["model"]) not in withdrawn))


def questions_of(row: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What an error row says it cost, as model, condition and case."""
    return [
        (block["model"], condition, case)
        for block in row.get("questions", ())
        for condition in block["conditions"]
        for case in block["cases"]
    ]


def scores(out: Path, metric: str, condition: str = "clean", model: str | None = None) -> dict[str, float | None]:
    """Case id to its value; None where it is undefined."""
    return {
        row["id"]: row.get("value")
        for row in rows(out, "scores.jsonl")
        if row["metric"] == metric and row["condition"] == condition and model in {None, row["model"]}
    }
