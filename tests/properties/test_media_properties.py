"""Whatever bytes come in, what comes out is an array of the right shape or an InputError that names the file."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from auscult.errors import InputError
from auscult.media.frames import frame_size, read_frame
from auscult.media.limits import Limits
from auscult.media.masks import encode_mask, object_indices, rasterize, read_mask
from auscult.media.paths import inside, safe_name
from auscult.media.rle import decode, encode
from auscult.types import MaskRef

LIMITS = Limits(max_pixels=300_000, max_bytes=100_000)
PHOTO = np.random.default_rng(3).integers(0, 256, (13, 17, 3), dtype=np.uint8)
MASK = PHOTO[..., 0] > 128


def picture(array: np.ndarray, kind: str, mode: str | None = None, **options: Any) -> bytes:
    file = io.BytesIO()
    image = Image.fromarray(array)
    (image.convert(mode) if mode else image).save(file, kind, **options)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


EXIF = Image.Exif()
EXIF[0x0112] = 6
WHOLE = {
    "a.jpg": picture(PHOTO, "JPEG", exif=EXIF),
    "cmyk.jpg": picture(PHOTO, "JPEG", "CMYK"),
    "a.png": picture(PHOTO, "PNG", exif=EXIF),
    "alpha.png": picture(PHOTO, "PNG", "RGBA"),
    "deep.png": picture(PHOTO[..., 0].astype(np.uint16) * 257, "PNG"),
    "palette.png": picture(PHOTO, "PNG", "P"),
    "mask.png": encode_mask(MASK),
    "a.webp": picture(PHOTO, "WEBP", exif=EXIF),
    "a.tif": picture(PHOTO, "TIFF"),
    "float.tif": picture(PHOTO[..., 0].astype(np.float32) / 255, "TIFF"),
    "bool.npy": npy(MASK),
    "float.npy": npy(PHOTO[..., 0] / 255),
    "labels.npy": npy(PHOTO[..., 0].astype(np.int32) % 4),
}


@st.composite
def damage(draw: st.DrawFn, content_given: bytes) -> bytes:
    """A file that was cut, overwritten in a few places, or had bytes put in; headers are hit more often."""
    content = bytearray(content_given)
    place = st.one_of(st.integers(0, min(len(content_given), 90) - 1), st.integers(0, len(content_given) - 1))
    for _ in range(draw(st.integers(1, 6))):
        content[draw(place)] = draw(st.one_of(st.sampled_from([0, 1, 127, 128, 255]), st.integers(0, 255)))
    extra = draw(st.one_of(st.just(b""), st.binary(max_size=6)))
    position = draw(place)
    content[position:position] = extra
    return bytes(content[: draw(st.one_of(st.just(len(content)), st.integers(0, len(content))))])


def checked(path: Path, reader: Callable[[], Any]) -> Any:
    error_found: InputError | None = None
    try:
        return reader()
    except InputError as error:
        error_found = error
    assert error_found.message
    assert error_found.path == str(path)
    return None


@pytest.mark.parametrize("name", sorted(WHOLE))
@settings(deadline=None, max_examples=30)
@given(strategy=st.data())
def test_damaged_files(name: str, strategy: st.DataObject) -> None:
    content = strategy.draw(damage(WHOLE[name]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        frame = checked(path, lambda: read_frame(path, limits=LIMITS))
        if frame is not None:
            assert frame.dtype == np.uint8
            assert frame.flags.c_contiguous
            assert frame.shape == (*frame_size(path, limits=LIMITS), 3)
        for labels in (False, True):
            ref = MaskRef(path=path, labels=labels)
            mask_read = checked(path, lambda ref=ref: read_mask(ref, limits=LIMITS))
            if mask_read is not None:
                assert mask_read.mask.dtype == np.bool_
                assert mask_read.mask.ndim == 2
                assert 0 < mask_read.mask.size <= LIMITS.max_pixels
        indices = checked(path, lambda: object_indices(path, labels=True, limits=LIMITS))
        assert indices is None or list(indices) == sorted(set(indices) - {0})


MASKS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=24))


@settings(deadline=None, max_examples=60)
@given(mask=MASKS)
def test_a_mask_survives_rle_and_png(mask: np.ndarray) -> None:
    before = mask.copy()
    assert np.array_equal(decode(encode(mask)), mask)
    with Image.open(io.BytesIO(encode_mask(mask))) as image:
        assert np.array_equal(np.asarray(image), mask)
    assert np.array_equal(mask, before)
    for view in (mask.T, mask[::-1], np.asfortranarray(mask)):
        assert np.array_equal(decode(encode(view)), view)


@settings(deadline=None, max_examples=60)
@given(mask=MASKS, strategy=st.data())
def test_damaged_rle_text(mask: np.ndarray, strategy: st.DataObject) -> None:
    rle = encode(mask)
    text = strategy.draw(damage(rle["counts"].encode()))
    for counts in (text, text.decode("latin-1")):
        try:
            mask_again = decode({"size": rle["size"], "counts": counts})
        except InputError:
            continue
        assert mask_again.shape == mask.shape
        assert mask_again.dtype == np.bool_


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None, max_examples=60)
@given(
    segmentation=st.one_of(
        JSON,
        st.fixed_dictionaries({"size": JSON, "counts": JSON}),
        st.fixed_dictionaries({"size": st.just([4, 5]), "counts": st.lists(st.integers(-2, 12), max_size=6) | JSON}),
        st.lists(st.lists(st.floats(), max_size=9), max_size=3),
        st.lists(st.lists(st.floats(-20, 20) | st.integers(-9, 9), min_size=6, max_size=8), min_size=1, max_size=2),
    )
)
def test_any_json_as_a_segmentation(segmentation: Any) -> None:
    try:
        mask_read = read_mask(MaskRef(segmentation=segmentation), size=(4, 5), limits=LIMITS)
    except InputError:
        return
    assert mask_read.mask.shape == (4, 5)
    assert mask_read.mask.dtype == np.bool_


@settings(deadline=None, max_examples=60)
@given(
    corners=st.lists(st.tuples(st.integers(-40, 120), st.integers(-40, 120)), min_size=3, max_size=7),
    shift=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_a_polygon_moves_with_its_corners(corners: list[tuple[int, int]], shift: tuple[int, int]) -> None:
    big = 200
    original_place = rasterize([[float(v + 50) for corner in corners for v in corner]], size=(big, big))
    x, y = shift
    moved_place = rasterize([[float(v) for cx, cy in corners for v in (cx + 50 + x, cy + 50 + y)]], size=(big, big))
    assert np.array_equal(moved_place[y:, x:], original_place[: big - y, : big - x])


@settings(deadline=None, max_examples=60)
@given(name=st.one_of(st.text(max_size=40), st.lists(st.sampled_from(["..", ".", "a", "link", ""])).map("/".join)))
def test_no_name_leaves_the_folder(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "root"
        (root / "a").mkdir(parents=True)
        (root / "link").symlink_to(root.parent)
        try:
            path = inside(root, name)
        except InputError:
            return
        assert root in path.resolve().parents


@settings(deadline=None, max_examples=60)
@given(first=st.text(max_size=200), second=st.text(max_size=200))
def test_safe_names(first: str, second: str) -> None:
    name = safe_name(first)
    assert 1 <= len(name) <= 113
    assert Path(name).name == name
    assert (safe_name(second) == name) == (first == second)
