"""Reading and writing masks: the rules of every kind of picture, sizes, inline segmentations."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError, OutputError, TooLarge
from auscult.media.frames import MASK_SUFFIXES
from auscult.media.limits import Limits
from auscult.media.masks import davis_palette, encode_mask, object_indices, read_mask, write_labels, write_mask
from auscult.media.rle import encode
from auscult.types import MaskRef


@pytest.fixture
def mask() -> np.ndarray:
    out = np.zeros((11, 19), bool)
    out[2:8, 3:15] = True
    out[4, 5] = False
    return out


def saved(array: np.ndarray, path: Path, **options: Any) -> MaskRef:
    Image.fromarray(array).save(path, **options)
    return MaskRef(path=path)


def palette(indices: np.ndarray, path: Path) -> Path:
    picture = Image.fromarray(indices.astype(np.uint8)).convert("P")
    picture.putpalette(davis_palette().tobytes())
    picture.save(path)
    return path


@pytest.mark.parametrize("suffix", sorted(MASK_SUFFIXES - {".npy", ".webp"}))
@pytest.mark.parametrize("values", [(0, 255), (0, 1), (0, 128), (0, 7)])
def test_two_values_are_binary(tmp_path: Path, mask: np.ndarray, suffix: str, values: tuple[int, int]) -> None:
    mask_read = read_mask(
        saved(np.where(mask, *values[::-1]).astype(np.uint8), tmp_path / f"a{suffix}"), size=mask.shape
    )
    assert mask_read.reading == "binary"
    assert mask_read.mask.dtype == np.bool_
    assert np.array_equal(mask_read.mask, mask)


def test_one_bit_webp_rgb_and_16_bit_masks(tmp_path: Path, mask: np.ndarray) -> None:
    white = (mask * 255).astype(np.uint8)
    rgb = np.repeat(white[..., None], 3, axis=2)
    refs = [
        saved(mask, tmp_path / "a.png"),
        saved(rgb, tmp_path / "b.webp", lossless=True),
        saved(rgb, tmp_path / "c.png"),
        saved(mask.astype(np.uint16) * 40_000, tmp_path / "d.png"),
        saved(np.dstack((rgb, np.full_like(white, 255))), tmp_path / "e.png"),
        saved(mask, tmp_path / "f.tif", compression="group4"),
    ]
    for ref in refs:
        mask_read = read_mask(ref)
        assert np.array_equal(mask_read.mask, mask), ref
        assert mask_read.reading == "binary"
        assert set(np.unique(mask_read.mask.view(np.uint8))) <= {0, 1}


def test_empty_and_full_masks_are_masks(tmp_path: Path) -> None:
    for value in (0, 255):
        mask_read = read_mask(saved(np.full((5, 6), value, np.uint8), tmp_path / "a.png"))
        assert (mask_read.reading, bool(mask_read.mask.any()), bool(mask_read.mask.all())) == (
            "binary",
            value > 0,
            value > 0,
        )


def test_more_values_are_soft(tmp_path: Path) -> None:
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    mask_read = read_mask(saved(ramp, tmp_path / "a.png"))
    assert mask_read.reading == "soft>=0.5"
    assert np.array_equal(mask_read.mask, ramp / 255 >= 0.5)
    deep = np.arange(65_536, dtype=np.uint16).reshape(256, 256)
    assert np.array_equal(read_mask(saved(deep, tmp_path / "b.png")).mask, deep / 65_535 >= 0.5)
    share = np.linspace(0, 1, 30, dtype=np.float32).reshape(5, 6)
    mask_read = read_mask(saved(share, tmp_path / "c.tif"))
    assert mask_read.reading == "soft>=0.5"
    assert np.array_equal(mask_read.mask, share >= 0.5)


@pytest.mark.parametrize("largest", [255, 65_535])
def test_grey_values_of_which_none_is_half_are_no_soft_mask(tmp_path: Path, largest: int) -> None:
    kind = np.uint8 if largest == 255 else np.uint16
    half_count = largest // 2 + 1
    for values, listing in (
        ((0, 1, 2), "0, 1, 2"),
        ((1, 2, 3), "1, 2, 3"),
        ((0, 1, half_count - 1), f"0, 1, {half_count - 1}"),
    ):
        ref = saved(np.array([values, values], kind), tmp_path / "a.png")
        with pytest.raises(InputError, match=f"the grey values {listing} look like object indices") as error:
            read_mask(ref)
        assert f"{half_count} of {largest}" in error.value.expected
        assert "--labels" in error.value.hint
    soft = read_mask(saved(np.array([[0, 1, half_count]], kind), tmp_path / "b.png"))
    assert (soft.reading, soft.mask.tolist()) == ("soft>=0.5", [[False, False, True]])
    many_values = saved(np.arange(90, dtype=kind).reshape(9, 10), tmp_path / "c.png")
    with pytest.raises(InputError, match=r"8, 9, \.\.\. \(90 in all\)"):
        read_mask(many_values)


def test_two_values_without_a_background_are_refused(tmp_path: Path, mask: np.ndarray) -> None:
    array = np.where(mask, 255, 1).astype(np.uint8)
    np.save(tmp_path / "a.npy", array)
    for ref in (saved(array, tmp_path / "a.png"), MaskRef(path=tmp_path / "a.npy")):
        with pytest.raises(InputError, match="1 and 255 and no 0") as error:
            read_mask(ref)
        assert "background" in error.value.hint


def test_void_alone_is_no_mask(tmp_path: Path, mask: np.ndarray) -> None:
    void = palette(mask * 255, tmp_path / "a.png")
    grey = saved((mask * 255).astype(np.uint8), tmp_path / "b.png").path
    for ref in (MaskRef(path=void), MaskRef(path=grey, labels=True)):
        with pytest.raises(InputError, match="void") as error:
            read_mask(ref)
        assert "black and white" in error.value.hint
    assert not read_mask(MaskRef(path=palette(mask * 0, tmp_path / "c.png"))).mask.any()


def test_a_bool_array_holds_the_object_1_only(tmp_path: Path, mask: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", mask)
    assert np.array_equal(read_mask(MaskRef(path=tmp_path / "a.npy", index=1)).mask, mask)
    with pytest.raises(InputError, match="2 does not occur") as error:
        read_mask(MaskRef(path=tmp_path / "a.npy", index=2))
    assert "present: 1" in error.value.expected


def test_alpha_that_is_the_same_everywhere_is_no_mask(tmp_path: Path) -> None:
    grey = np.zeros((8, 10), np.uint8)
    grey[2:5, 3:7] = 255
    path = tmp_path / "a.png"
    Image.fromarray(np.dstack([grey, grey, grey, np.full_like(grey, 254)])).save(path)
    loaded = read_mask(MaskRef(path=path))
    assert loaded.reading == "binary"
    assert np.array_equal(loaded.mask, grey > 0)


def test_black_and_white_in_a_palette_that_begins_with_white_is_refused(tmp_path: Path) -> None:
    mask = np.zeros((8, 10), np.uint8)
    mask[2:5, 3:7] = 255
    path = tmp_path / "small.png"
    Image.fromarray(mask).convert("RGB").quantize(2).save(path)  # as tools that shrink files do
    for read in (object_indices, lambda path: read_mask(MaskRef(path=path, index=1))):
        with pytest.raises(InputError, match="index 0, which is the background, is white"):
            read(path)
    assert object_indices(path, labels=True) == (1,)


def test_a_palette_holds_objects(tmp_path: Path) -> None:
    indices = np.array([[0, 1, 1, 2], [255, 2, 0, 7]])
    path = palette(indices, tmp_path / "a.png")
    assert object_indices(path) == (1, 2, 7)
    assert object_indices(path, labels=True) == (1, 2, 7)
    union = read_mask(MaskRef(path=path))
    assert union.reading == "index"
    assert np.array_equal(union.mask, (indices > 0) & (indices != 255))
    for index in (1, 2, 7):
        assert np.array_equal(read_mask(MaskRef(path=path, index=index)).mask, indices == index)
    for absent in (3, 1000):
        assert not read_mask(MaskRef(path=path, index=absent, absent_ok=True)).mask.any()
        with pytest.raises(InputError, match=f"{absent} does not occur") as error:
            read_mask(MaskRef(path=path, index=absent))
        assert "1, 2, 7" in error.value.expected
    with pytest.raises(InputError, match="void"):
        read_mask(MaskRef(path=path, index=255))
    for wrong in (0, -1, True, 1.0):
        with pytest.raises(InputError, match="index"):
            read_mask(MaskRef(path=path, index=wrong))  # type: ignore[arg-type]


def test_labels_read_grey_values_as_indices(tmp_path: Path) -> None:
    values = np.array([[0, 1, 3], [3, 255, 1]], np.uint8)
    for array in (values, np.repeat(values[..., None], 3, axis=2)):
        path = saved(array, tmp_path / "a.png").path
        assert path is not None
        assert object_indices(path) is None
        assert object_indices(path, labels=True) == (1, 3)
        mask_read = read_mask(MaskRef(path=path, index=3, labels=True))
        assert mask_read.reading == "index"
        assert np.array_equal(mask_read.mask, values == 3)
        assert np.array_equal(read_mask(MaskRef(path=path, labels=True)).mask, (values > 0) & (values < 255))
    deep = saved(values.astype(np.uint16) * 100, tmp_path / "b.png").path
    assert deep is not None
    assert object_indices(deep, labels=True) == (100, 300, 25_500)


def test_alpha_is_the_mask_of_a_cut_out(tmp_path: Path, mask: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    photo = rng.integers(0, 256, (*mask.shape, 3), dtype=np.uint8)
    alpha = (mask * 255).astype(np.uint8)
    mask_read = read_mask(saved(np.dstack((photo, alpha)), tmp_path / "a.png"))
    assert mask_read.reading == "alpha"
    assert np.array_equal(mask_read.mask, mask)
    alpha[0, 0] = 127
    alpha[0, 1] = 128
    mask_read = read_mask(saved(np.dstack((photo, alpha)), tmp_path / "a.png"))
    assert mask_read.reading == "alpha>=0.5"
    assert mask_read.mask[0, :2].tolist() == [False, True]
    with pytest.raises(InputError, match="transparent everywhere"):
        read_mask(saved(np.dstack((photo, np.zeros_like(alpha))), tmp_path / "b.png"))


def test_a_picture_in_colour_is_refused(tmp_path: Path, mask: np.ndarray) -> None:
    colours = np.zeros((*mask.shape, 3), np.uint8)
    colours[mask] = (200, 30, 0)
    path = saved(colours, tmp_path / "a.png").path
    assert path is not None
    with pytest.raises(InputError, match="colour") as error:
        read_mask(MaskRef(path=path))
    assert "palette" in error.value.hint
    with pytest.raises(InputError, match="colour"):
        object_indices(path, labels=True)
    Image.fromarray(colours).convert("CMYK").save(tmp_path / "b.tif")
    for labels in (False, True):
        with pytest.raises(InputError, match="colour"):
            read_mask(MaskRef(path=tmp_path / "b.tif", labels=labels))


def test_another_size_than_the_frame_is_refused_with_both(tmp_path: Path, mask: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", mask)
    refs = [
        saved(mask, tmp_path / "a.png"),
        MaskRef(path=tmp_path / "a.npy"),
        MaskRef(segmentation=encode(mask)),
        MaskRef(segmentation=[[1, 1, 5, 1, 5, 5]], size=(11, 19)),
    ]
    for ref in refs:
        assert read_mask(ref, size=(11, 19)).mask.shape == (11, 19)
        with pytest.raises(InputError, match=r"11 x 19.* 480 x 854") as error:
            read_mask(ref, size=(480, 854))
        assert "resized" in error.value.hint
        with pytest.raises(InputError) as error:
            read_mask(ref, size=(19, 11))
        assert "exchanged" in error.value.hint
    with pytest.raises(InputError, match="11 x 19"):
        read_mask(MaskRef(segmentation=encode(mask), size=(5, 5)))


def test_several_pages_are_refused(tmp_path: Path, mask: np.ndarray) -> None:
    pages = [Image.fromarray((mask * value).astype(np.uint8)) for value in (255, 100)]
    for name in ("a.tif", "b.webp", "c.png"):
        pages[0].save(tmp_path / name, save_all=True, append_images=pages[1:])
        with pytest.raises(InputError, match="several pages"):
            read_mask(MaskRef(path=tmp_path / name))


def test_a_mask_is_turned_like_its_frame(tmp_path: Path, mask: np.ndarray) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    for name in ("a.png", "a.tif"):
        ref = saved((mask * 255).astype(np.uint8), tmp_path / name, exif=exif)
        assert np.array_equal(read_mask(ref, size=(19, 11)).mask, mask.T[:, ::-1])


def test_inline_segmentations(mask: np.ndarray) -> None:
    mask_read = read_mask(MaskRef(segmentation=encode(mask)), size=(11, 19))
    assert mask_read.reading == "rle"
    assert np.array_equal(mask_read.mask, mask)
    mask_read = read_mask(MaskRef(segmentation=[[1, 1, 5, 1, 5, 5, 1, 5]]), size=(11, 19))
    assert (mask_read.reading, int(mask_read.mask.sum())) == ("polygon", 16)
    for ref in (MaskRef(), MaskRef(segmentation="x"), MaskRef(segmentation=[[1, 1, 5, 1, 5, 5]])):
        with pytest.raises(InputError):
            read_mask(ref)


def test_files_that_are_no_masks(tmp_path: Path) -> None:
    (tmp_path / "zero.png").write_bytes(b"")
    (tmp_path / "text.png").write_text("mask")
    (tmp_path / "cut.png").write_bytes(encode_mask(np.eye(200, dtype=bool))[:150])
    for name in ("zero.png", "text.png", "cut.png", "missing.png", "missing.npy", "."):
        path = tmp_path / name
        with pytest.raises(InputError) as error:
            read_mask(MaskRef(path=path))
        assert error.value.path == str(path)
        with pytest.raises(InputError):
            object_indices(path, labels=True)
    with pytest.raises(TooLarge):
        read_mask(saved(np.zeros((9, 9), bool), tmp_path / "a.png"), limits=Limits(max_pixels=80))


def test_one_header_tells_that_a_file_holds_one_mask(tmp_path: Path) -> None:
    path = tmp_path / "cut.png"
    path.write_bytes(encode_mask(np.eye(200, dtype=bool))[:80])
    assert object_indices(path) is None


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 8), (2, 9), (480, 854)])
def test_a_written_mask_is_a_one_bit_png_and_comes_back(tmp_path: Path, shape: tuple[int, int]) -> None:
    mask = np.random.default_rng(1).random(shape) < 0.4
    path = tmp_path / "deep" / "a.png"
    write_mask(path, mask)
    assert path.read_bytes() == encode_mask(mask)
    with Image.open(path) as picture:
        picture.verify()
    with Image.open(path) as picture:
        assert (picture.format, picture.mode) == ("PNG", "1")
        assert np.array_equal(np.asarray(picture), mask)
    assert np.array_equal(read_mask(MaskRef(path=path), size=shape).mask, mask)


def test_written_labels_come_back_in_the_colours_of_davis(tmp_path: Path) -> None:
    indices = np.arange(256, dtype=np.uint8).reshape(8, 32)
    write_labels(tmp_path / "a.png", indices)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.mode == "P"
        assert np.array_equal(np.asarray(picture), indices)
        assert picture.getpalette()[:15] == [0, 0, 0, 128, 0, 0, 0, 128, 0, 128, 128, 0, 0, 0, 128]
    assert object_indices(tmp_path / "a.png") == tuple(range(1, 255))


def test_only_masks_and_labels_are_written(tmp_path: Path) -> None:
    for wrong in (np.zeros((2, 2)), np.zeros((2, 2, 1), bool), np.zeros((0, 2), bool)):
        with pytest.raises(ValueError, match="bool"):
            write_mask(tmp_path / "a.png", wrong)
    with pytest.raises(ValueError, match="uint8"):
        write_labels(tmp_path / "a.png", np.zeros((2, 2), np.int64))  # type: ignore[arg-type]
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError):
        write_mask(tmp_path / "file" / "a.png", np.zeros((2, 2), bool))


def test_the_palette_is_the_one_of_real_davis_files(data: Path) -> None:
    with Image.open(data / "video" / "davis2016" / "dog" / "pred_osvos" / "00000.png") as picture:
        theirs = np.array(picture.getpalette()).reshape(-1, 3)
    assert np.array_equal(theirs[:22], davis_palette()[:22])


@pytest.mark.parametrize("scale", [1, 257])
def test_classes_with_void_are_no_soft_mask(tmp_path: Path, scale: int) -> None:
    kind = np.uint8 if scale == 1 else np.uint16
    rows, columns = np.ogrid[:60, :80]
    classes = np.where((rows > 10) & (columns > 10), np.where(columns > 40, 3, 150), 0).astype(kind) * kind(scale)
    person = np.where((rows > 20) & (columns > 9), 1, 0).astype(kind)
    person[19:22] = 255 * scale
    for name, array in (("classes", classes), ("person", person)):
        ref = saved(array, tmp_path / f"{name}.png")
        with pytest.raises(InputError, match="fill areas, as object indices do") as error:
            read_mask(ref)
        assert "--labels" in error.value.hint
        assert ref.path is not None
        assert object_indices(ref.path, labels=None) == object_indices(ref.path, labels=True)
    soft = cv2.GaussianBlur((classes > 0) * np.float32(250 * scale), (0, 0), 3).round().astype(kind)
    assert read_mask(saved(soft + kind(2 * scale), tmp_path / "soft.png")).reading == "soft>=0.5"  # 2 all around
    blocks = cv2.resize(cv2.resize(soft, (14, 14), interpolation=cv2.INTER_AREA), (280, 210), interpolation=0)
    assert read_mask(saved(blocks, tmp_path / "blocks.png")).reading == "soft>=0.5"
    cutout = np.dstack([np.full((60, 80, 3), 90, np.uint8), np.where(classes > 0, np.where(rows > 30, 255, 9), 0)])
    assert read_mask(saved(cutout.astype(np.uint8), tmp_path / "cutout.png")).reading == "alpha>=0.5"


def test_davis_masks_have_the_pixels_that_are_on_record(data: Path) -> None:
    folder = data / "video" / "davis2016"
    with (folder / "frames.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 288
    for row in rows:
        name = f"{int(row['frame']):05d}.png"
        truth = read_mask(MaskRef(path=folder / row["video"] / "masks" / name)).mask
        guess = read_mask(MaskRef(path=folder / row["video"] / "pred_osvos" / name), size=truth.shape).mask
        assert int(truth.sum()) == int(row["mask_pixels"])
        iou = (truth & guess).sum() / (truth | guess).sum()
        assert abs(iou - float(row["iou_osvos_union_of_objects"])) < 6e-5


def test_every_real_mask_opens(data: Path) -> None:
    readings: dict[str, set[str]] = {}
    for folder in ("video/dogs-jump/masks", "images/bsds500_nc/segments", "images/stamps_gpl2"):
        for path in sorted((data / folder).rglob("*.png")):
            labels = folder.endswith("segments")
            readings.setdefault(folder, set()).add(read_mask(MaskRef(path=path, labels=labels)).reading)
            if labels:
                with pytest.raises(InputError, match=r"look like object indices|no 0"):
                    read_mask(MaskRef(path=path))
    assert readings["video/dogs-jump/masks"] == {"index"}
    assert readings["images/stamps_gpl2"] <= {"alpha", "alpha>=0.5", "index"}
    assert object_indices(data / "video" / "dogs-jump" / "masks" / "00000.png") == (1, 2, 3)
