"""A bad file in a folder of assets costs itself only, and is named with what was expected."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from auscult.errors import UsageError
from auscult.jobs.make import make_scenes
from auscult.jobs.options import MakeOptions
from auscult.media.frames import write_frame
from auscult.media.wav import encode_wav
from auscult.scenes.options import SceneOptions

RATE_HZ = 8_000


def cutout(path: Path, *, size: int = 40, alpha: int = 255, tone: int = 30) -> None:
    rgba = np.zeros((size, size, 4), np.uint8)
    edge = size // 5
    rgba[edge : size - edge or None, edge : size - edge or None] = (210, 40, tone, alpha)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rgba).save(path)


def sound(path: Path, *, level: float = 0.3, seconds: float = 1.0, hz: float = 440.0) -> None:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_wav((level * np.sin(2 * np.pi * hz * times)).astype(np.float32), RATE_HZ))


def text(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good folder: six categories of two cut-outs, three with sounds, four photographs."""
    root = tmp_path / "assets"
    for place, category in enumerate(("bell", "cup", "drum", "kite", "owl", "hat")):
        for number in range(2):
            cutout(root / "cutouts" / category / f"{number}.png", tone=30 + 2 * place + number)
    for place, label in enumerate(("bell", "drum", "owl")):
        for number in range(2):
            sound(root / "sounds" / label / f"{number}.wav", hz=300 + 50 * (2 * place + number))
    rng = np.random.default_rng(1)
    for name in "abcd":
        write_frame(root / "backgrounds" / f"{name}.jpg", rng.integers(0, 255, (100, 170, 3), np.uint8))
    return root


@dataclass(frozen=True)
class Bad:
    """One bad file: where, how it is made, and a word of what is said of it."""

    name: str
    make: Callable[[Path], object]
    message: str


BAD = [
    Bad("cutouts/cup/broken.png", lambda path: text(path, b"\x89PNG\r\n\x1a\nno"), "cannot be"),
    Bad("cutouts/cup/dot.png", lambda path: Image.new("RGBA", (1, 1), (9, 9, 9, 255)).save(path), "pixels"),
    Bad("cutouts/cup/nothing.png", lambda path: cutout(path, alpha=0), "transparent"),
    Bad("cutouts/cup/no_alpha.png", lambda path: Image.new("RGB", (40, 40)).save(path), "alpha"),
    Bad("cutouts/cup/opaque.png", lambda path: Image.new("RGBA", (40, 40), (1, 2, 3, 255)).save(path), "opaque"),
    Bad("cutouts/unnamed.png", cutout, "no name"),
    Bad("cutouts/names.csv", lambda path: text(path, b"\xff\xfe\x00"), "UTF-8"),
    Bad("backgrounds/broken.jpg", lambda path: text(path, b"none"), "no picture"),
    Bad("backgrounds/dot.png", lambda path: Image.new("RGB", (1, 1)).save(path), "pixels"),
    Bad("backgrounds/names.csv", lambda path: text(path, b"picture,thing\na.jpg,cup\n"), "columns"),
    Bad("sounds/bell/broken.wav", lambda path: text(path, b"no sound"), ""),
    Bad("sounds/bell/silent.wav", lambda path: sound(path, level=0.0), "silent"),
    Bad("sounds/bell/short.wav", lambda path: sound(path, seconds=0.01), ""),
    Bad("sounds/unnamed.wav", sound, "no name"),
    Bad("cutouts/cup/copy.png", lambda path: shutil.copy(path.with_name("1.png"), path), "same content as 'cup/1.png'"),
    Bad("backgrounds/e.jpg", lambda path: path.symlink_to("a.jpg"), "same content as 'a.jpg'"),
    Bad("sounds/owl/2.wav", lambda path: shutil.copy(path.parents[1] / "bell/0.wav", path), "content as 'bell/0.wav'"),
    Bad("cutouts/the cup/a.png", lambda path: cutout(path, tone=99), "article"),
    Bad("sounds/names.csv", lambda path: text(path, b"file,name\nowl/9.wav,owl\n"), "not in the folder"),
]


def options(folder: Path, out: Path) -> MakeOptions:
    scene = SceneOptions(size=(96, 160), seconds=4.0, rate_hz=RATE_HZ)
    return MakeOptions(out=out, count=2, seed=1, assets=folder, scene=scene, split="train", workers=0)


@pytest.mark.parametrize("bad", BAD, ids=[bad.name for bad in BAD])
def test_a_bad_file_costs_itself_and_is_named(bad: Bad, folder: Path, tmp_path: Path) -> None:
    bad.make(folder / bad.name)
    summary, _ = make_scenes(options(folder, tmp_path / "out"))
    assert (summary.ok, summary.failed) == (2, 0)
    (row,) = [json.loads(line) for line in (tmp_path / "out/errors.jsonl").read_text().splitlines()]
    assert row["path"].endswith(bad.name)
    assert bad.message in row["error"]
    assert row["expected"]


def test_all_of_them_together(folder: Path, tmp_path: Path) -> None:
    for bad in BAD:
        bad.make(folder / bad.name)
    summary, _ = make_scenes(options(folder, tmp_path / "out"))
    assert summary.ok == 2
    assert len((tmp_path / "out/errors.jsonl").read_text().splitlines()) == len(BAD)


@pytest.mark.parametrize("part", ["cutouts", "backgrounds"])
def test_a_folder_with_nothing_to_use_says_what_it_needs(part: str, folder: Path, tmp_path: Path) -> None:
    for path in (folder / part).rglob("*.*"):
        path.write_bytes(b"broken")
    with pytest.raises(UsageError, match="nothing to use"):
        make_scenes(options(folder, tmp_path / "out"))
