"""Reading cut-outs: every mode with transparency, and what is none."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError, TooLarge
from auscult.media.frames import read_cutout
from auscult.media.limits import Limits


def _rgba() -> np.ndarray:
    rgba = np.zeros((12, 9, 4), np.uint8)
    rgba[..., :3] = (200, 40, 10)
    rgba[3:9, 2:7, 3] = 255
    rgba[2, 2:7, 3] = 90
    return rgba


@pytest.mark.parametrize("suffix", [".png", ".webp", ".tif"])
def test_colours_under_transparency_are_kept(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    options = {"lossless": True, "exact": True} if suffix == ".webp" else {}
    Image.fromarray(_rgba()).save(path, **options)
    pixels = read_cutout(path)
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels, _rgba())


def test_grey_and_palette(tmp_path: Path) -> None:
    picture = Image.fromarray(_rgba())
    picture.convert("LA").save(tmp_path / "grey.png")
    assert np.array_equal(read_cutout(tmp_path / "grey.png")[..., 3], _rgba()[..., 3])
    palette = Image.fromarray((_rgba()[..., 3] > 100).astype(np.uint8)).convert("P")
    palette.save(tmp_path / "palette.png", transparency=0)
    assert np.array_equal(read_cutout(tmp_path / "palette.png")[..., 3] > 0, _rgba()[..., 3] > 100)


def _blank(path: Path, side: int) -> None:
    """A square PNG of grey with alpha, every pixel 0, written line by line."""
    packer = zlib.compressobj(1)
    line = bytes(1 + 2 * side)
    pixels = b"".join([*(packer.compress(line) for _ in range(side)), packer.flush()])
    parts = [(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 4, 0, 0, 0)), (b"IDAT", pixels), (b"IEND", b"")]
    chunks = [
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))


def test_sixteen_megapixels_are_the_most(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    _blank(path, 4096)
    assert read_cutout(path).shape == (4096, 4096, 4)
    _blank(path, 4097)
    with pytest.raises(TooLarge, match="16,785,409") as error:
        read_cutout(path)
    assert (error.value.path, error.value.expected) == (str(path), "at most 16,777,216 pixels")


def test_photographs_and_broken_files_are_named(tmp_path: Path) -> None:
    Image.fromarray(_rgba()[..., :3]).save(tmp_path / "photo.jpg")
    with pytest.raises(InputError, match="no alpha") as error:
        read_cutout(tmp_path / "photo.jpg")
    assert error.value.path == str(tmp_path / "photo.jpg")
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 40, 4), np.uint8)).save(tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="truncated or damaged"):
        read_cutout(tmp_path / "cut.png")
    (tmp_path / "empty.png").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_cutout(tmp_path / "empty.png")
    with pytest.raises(TooLarge):
        read_cutout(tmp_path / "a.png", limits=Limits(max_pixels=100))
