"""Reading and writing frames: every format, depth and orientation, and what is refused."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError, OutputError, TooLarge
from auscult.media.frames import FRAME_SUFFIXES, encode_jpeg, frame_size, read_frame, write_frame
from auscult.media.limits import Limits

HEIGHT, WIDTH = 24, 36


@pytest.fixture
def photo() -> np.ndarray:
    """A smooth picture whose four corners differ, so that every turn shows."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    return np.stack([rows * 10, columns * 7, 255 - rows * 5 - columns * 3], axis=2).astype(np.uint8)


def saved(array: np.ndarray, path: Path, mode: str | None = None, **options: Any) -> Path:
    picture = Image.fromarray(array)
    (picture.convert(mode) if mode else picture).save(path, **options)
    return path


@pytest.mark.parametrize("suffix", sorted(FRAME_SUFFIXES))
def test_every_format(tmp_path: Path, photo: np.ndarray, suffix: str) -> None:
    options = {"lossless": True} if suffix == ".webp" else {}
    path = saved(photo, tmp_path / f"a{suffix}", **options)
    frame = read_frame(path)
    assert frame.dtype == np.uint8
    assert frame.flags.c_contiguous
    assert frame.shape == (HEIGHT, WIDTH, 3)
    assert frame_size(path) == (HEIGHT, WIDTH)
    tolerance = 20 if suffix.startswith(".jp") else 0
    assert np.abs(frame.astype(int) - photo).max() <= tolerance


def test_a_jpeg_gives_the_bytes_that_pillow_gives(tmp_path: Path, photo: np.ndarray) -> None:
    path = saved(photo, tmp_path / "a.jpg", quality=80)
    with Image.open(path) as picture:
        assert np.array_equal(read_frame(path), np.asarray(picture))


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
def test_exif_orientation(tmp_path: Path, photo: np.ndarray, turn: int, suffix: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = turn
    options: dict[str, Any] = {".jpg": {"quality": 100, "subsampling": 0}, ".webp": {"lossless": True}}.get(suffix, {})
    path = saved(photo, tmp_path / f"a{suffix}", exif=exif, **options)
    transposed = photo.swapaxes(0, 1)
    # What each value means in the EXIF standard: where the stored first row and first column lie.
    upright = {
        1: photo,
        2: photo[:, ::-1],
        3: photo[::-1, ::-1],
        4: photo[::-1],
        5: transposed,
        6: transposed[:, ::-1],
        7: transposed[::-1, ::-1],
        8: transposed[::-1],
    }[turn]
    frame = read_frame(path)
    assert frame.shape == upright.shape
    assert np.abs(frame.astype(int) - upright).max() <= (4 if suffix == ".jpg" else 0)
    assert frame_size(path) == upright.shape[:2]


def test_a_broken_orientation_is_passed_over(tmp_path: Path, photo: np.ndarray) -> None:
    path = saved(photo, tmp_path / "a.jpg", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
    assert read_frame(path).shape == (HEIGHT, WIDTH, 3)


def test_16_bits_keep_the_upper_8(tmp_path: Path) -> None:
    deep = (np.arange(HEIGHT * WIDTH, dtype=np.uint16) * 75).reshape(HEIGHT, WIDTH)
    for name in ("a.png", "a.tif"):
        frame = read_frame(saved(deep, tmp_path / name))
        assert np.array_equal(frame, np.repeat((deep >> 8)[..., None], 3, axis=2))


@pytest.mark.parametrize("mode", ["L", "1", "P"])
def test_grey_bilevel_and_palette_become_rgb(tmp_path: Path, photo: np.ndarray, mode: str) -> None:
    path = saved(photo, tmp_path / "a.png", mode)
    with Image.open(path) as picture:
        expected = np.asarray(picture.convert("RGB"))
    assert np.array_equal(read_frame(path), expected)


def test_cmyk_is_converted(tmp_path: Path, photo: np.ndarray) -> None:
    path = saved(photo, tmp_path / "a.jpg", "CMYK", quality=100, subsampling=0)
    assert np.abs(read_frame(path).astype(int) - photo).max() <= 6


def test_alpha_is_composited_over_black(tmp_path: Path, photo: np.ndarray) -> None:
    alpha = np.full((HEIGHT, WIDTH, 1), 255, np.uint8)
    alpha[:10] = 0
    alpha[10:12] = 128
    frame = read_frame(saved(np.concatenate((photo, alpha), axis=2), tmp_path / "a.png"))
    assert not frame[:10].any()
    assert np.abs(frame[10:12] - photo[10:12] * (128 / 255)).max() <= 0.5
    assert np.array_equal(frame[12:], photo[12:])
    grey = np.stack((photo[..., 0], alpha[..., 0]), axis=2)
    assert not read_frame(saved(grey, tmp_path / "b.png"))[:10].any()


def test_a_transparent_palette_colour_is_black(tmp_path: Path) -> None:
    indices = Image.fromarray(np.array([[0, 1], [1, 1]], np.uint8)).convert("P")
    indices.putpalette([200, 10, 10, 20, 220, 20])
    indices.save(tmp_path / "a.png", transparency=0)
    assert read_frame(tmp_path / "a.png").tolist() == [[[0, 0, 0], [20, 220, 20]], [[20, 220, 20]] * 2]


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_depths_without_a_white_are_refused(tmp_path: Path, dtype: type) -> None:
    path = saved(np.ones((4, 4), dtype), tmp_path / "a.tif")
    with pytest.raises(InputError, match="no defined white"):
        read_frame(path)


def png_header(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(10_001, 10_000), (13_000, 13_000), (100_000, 100_000), (2**31 - 1, 2**31 - 1)])
def test_a_gigapixel_picture_is_refused_from_its_header(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "bomb.png"
    path.write_bytes(png_header(*size))
    for reader in (read_frame, frame_size):
        with pytest.raises(TooLarge, match="pixels") as error:
            reader(path)
        assert error.value.path == str(path)


def test_a_large_picture_below_the_limit_passes_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    path.write_bytes(png_header(9_900, 9_900))
    assert frame_size(path) == (9_900, 9_900)


def test_limits_are_the_callers(tmp_path: Path, photo: np.ndarray) -> None:
    path = saved(photo, tmp_path / "a.png")
    assert read_frame(path, limits=Limits(max_pixels=HEIGHT * WIDTH)).size
    with pytest.raises(TooLarge, match="24 x 36"):
        read_frame(path, limits=Limits(max_pixels=HEIGHT * WIDTH - 1))
    with pytest.raises(TooLarge, match="bytes"):
        frame_size(path, limits=Limits(max_bytes=100))


def test_files_that_are_no_pictures(tmp_path: Path) -> None:
    contents = {
        "zero.jpg": (b"", "empty"),
        "text.jpg": (b"hello, this is not a picture\n", "looks like text"),
        "noise.png": (b"\x01\x02\x03\xfe" * 40, "unknown data"),
        "anim.gif": (b"GIF89a" + b"\0" * 50, "GIF"),
        "phone.jpg": (b"\0\0\0\x18ftypheic" + b"\0" * 40, "HEIC"),
        "head.png": (b"\x89PNG\r\n\x1a\n", "damaged"),
    }
    for name, (content, words) in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        for reader in (read_frame, frame_size):
            with pytest.raises(InputError, match=words) as error:
                reader(path)
            assert error.value.path == str(path)
            assert error.value.hint


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
def test_a_truncated_picture_is_refused(tmp_path: Path, photo: np.ndarray, suffix: str) -> None:
    content = saved(np.tile(photo, (4, 4, 1)), tmp_path / f"whole{suffix}").read_bytes()
    for share in (0.3, 0.6, 0.9):
        path = tmp_path / f"cut{suffix}"
        path.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(InputError, match="damaged") as error:
            read_frame(path)
        assert error.value.path == str(path)


def test_a_truncated_jpeg_with_a_whole_thumbnail_is_refused(tmp_path: Path, photo: np.ndarray) -> None:
    exif = b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0" + encode_jpeg(photo)
    content = saved(np.tile(photo, (4, 4, 1)), tmp_path / "whole.jpg", exif=exif).read_bytes()
    (tmp_path / "cut.jpg").write_bytes(content[: content.rindex(b"\xff\xda") + 200])
    with pytest.raises(InputError, match="damaged"):
        read_frame(tmp_path / "cut.jpg")


def test_writing_and_reading_again(tmp_path: Path, photo: np.ndarray) -> None:
    write_frame(tmp_path / "new" / "a.png", photo)
    assert np.array_equal(read_frame(tmp_path / "new" / "a.png"), photo)
    write_frame(tmp_path / "a.JPEG", photo, quality=95)
    assert np.abs(read_frame(tmp_path / "a.JPEG").astype(int) - photo).max() <= 20
    assert len(encode_jpeg(photo, quality=30)) < len(encode_jpeg(photo, quality=95))
    with Image.open(io.BytesIO(encode_jpeg(photo))) as picture:
        assert (picture.format, picture.size) == ("JPEG", (WIDTH, HEIGHT))


def test_what_cannot_be_written(tmp_path: Path, photo: np.ndarray) -> None:
    with pytest.raises(ValueError, match="webp"):
        write_frame(tmp_path / "a.webp", photo)
    for wrong in (photo[..., 0], photo.astype(np.float32), photo[:0]):
        with pytest.raises(ValueError, match="frame"):
            encode_jpeg(wrong)
    with pytest.raises(OutputError, match="70000"):
        encode_jpeg(np.zeros((1, 70_000, 3), np.uint8))


def test_every_real_picture_opens(data: Path) -> None:
    folders = [data / "images" / "coco", data / "images" / "camvid_nc" / "images", data / "video" / "dogs-jump"]
    folders += [data / "images" / "stamps_gpl2", data / "video" / "davis2016" / "dog" / "frames", data / "av"]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in FRAME_SUFFIXES]
    assert len(paths) > 300
    for path in paths:
        assert read_frame(path).shape[:2] == frame_size(path)
