"""Small data roots in the layout of Ref-AVSBench: discs and blocks that wander through ten frames."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

FRAMES = 10
SIZE = (96, 128)
COLOURS = ((200, 60, 40), (60, 180, 60), (50, 80, 210), (200, 190, 60))


@dataclass(frozen=True)
class Clip:
    """A clip of one object per word; each word has one expression."""

    name: str
    split: str
    words: tuple[str, ...] = ("dog", "drum", "bell")
    leaves_after: int = FRAMES  # from this frame on the first object is out of the picture


def standard() -> list[Clip]:
    """Two training clips, two seen, one unseen."""
    return [
        Clip("a", "train"),
        Clip("b", "train"),
        Clip("c", "test_s"),
        Clip("d", "test_s", words=("drum", "dog")),
        Clip("e", "test_u", words=("yak", "harp", "dog")),
    ]


def write_root(root: Path, clips: list[Clip]) -> Path:
    """Write the clips with frames, masks, sound and table; returns ``root``."""
    rows = []
    for clip in clips:
        for frame in range(FRAMES):
            masks = draw(clip, frame)
            picture = np.full((*SIZE, 3), 128, np.uint8)
            for index, mask in reversed(list(enumerate(masks))):
                picture[mask] = COLOURS[index % len(COLOURS)]
            _write(root / f"media/{clip.name}/frames/{frame}.jpg", picture)
            for fid, mask in enumerate(masks):
                _write(root / f"gt_mask/{clip.name}/fid_{fid}/{frame:05d}.png", mask.astype(np.uint8) * 255)
        (root / f"media/{clip.name}/audio.wav").write_bytes(b"RIFF" + clip.name.encode())
        rows += [
            (clip.name, f"{clip.name}_{word}_{fid + 1}", clip.split, fid, f"The {word} on the left.")
            for fid, word in enumerate(clip.words)
        ]
    write_table(root, rows)
    return root


def write_table(root: Path, rows: list[tuple[str, str, str, int, str]]) -> None:
    """Write ``metadata.csv``."""
    with (root / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("vid", "uid", "split", "fid", "exp"))
        writer.writerows(rows)


def draw(clip: Clip, frame: int) -> list[NDArray[np.bool_]]:
    """The visible masks of a frame, the first object in front."""
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]]
    hidden = np.zeros(SIZE, np.bool_)
    masks = []
    for index in range(len(clip.words)):
        x, y = 28 + 34 * index + frame, 34 + 26 * (index % 2) + frame // 2
        if index % 2:
            mask = (abs(columns - x) < 15) & (abs(rows - y) < 17)
        else:
            mask = (columns - x) ** 2 + (rows - y) ** 2 < 19**2
        if index == 0 and frame >= clip.leaves_after:
            mask = np.zeros(SIZE, np.bool_)
        masks.append(mask & ~hidden)
        hidden |= mask
    return masks


def _write(path: Path, picture: NDArray[np.uint8]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    flipped = picture[..., ::-1] if picture.ndim == 3 else picture
    assert cv2.imwrite(str(path), flipped)
