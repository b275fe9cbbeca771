"""NPY masks: which arrays are masks, and headers that lie."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, TooLarge
from auscult.media.limits import Limits
from auscult.media.masks import object_indices, read_mask
from auscult.types import MaskRef


@pytest.fixture
def mask() -> np.ndarray:
    return np.arange(30).reshape(5, 6) % 4 == 0


def saved(array: np.ndarray, path: Path) -> MaskRef:
    np.save(path, array, allow_pickle=array.dtype.hasobject)
    return MaskRef(path=path)


@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", ">i2", "<f4", ">f8", "<f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_masks_of_zeros_and_ones(tmp_path: Path, mask: np.ndarray, dtype: str, order: str) -> None:
    mask_read = read_mask(saved(np.array(mask, dtype=dtype, order=order), tmp_path / "a.npy"), size=(5, 6))
    assert np.array_equal(mask_read.mask, mask)
    assert mask_read.mask.dtype == np.bool_
    assert mask_read.mask.flags.c_contiguous
    assert mask_read.reading == ("soft>=0.5" if "f" in dtype else "npy")


def test_two_values_a_leading_axis_and_soft_masks(tmp_path: Path, mask: np.ndarray) -> None:
    assert np.array_equal(read_mask(saved(mask * 255, tmp_path / "a.npy")).mask, mask)
    assert np.array_equal(read_mask(saved(mask[None], tmp_path / "b.npy")).mask, mask)
    soft = np.array([[0.0, 0.49], [0.5, 1.0]])
    assert read_mask(saved(soft, tmp_path / "c.npy")).mask.tolist() == [[False, False], [True, True]]


def test_object_indices(tmp_path: Path) -> None:
    labels = np.array([[0, 1, 1], [2, 255, 300]], np.int32)
    path = saved(labels, tmp_path / "a.npy").path
    assert path is not None
    assert object_indices(path) is None
    assert object_indices(path, labels=True) == (1, 2, 255, 300)
    assert read_mask(MaskRef(path=path, index=1)).mask.tolist() == [[False, True, True], [False] * 3]
    assert np.array_equal(read_mask(MaskRef(path=path, labels=True)).mask, labels > 0)
    with pytest.raises(InputError, match="more than two") as error:
        read_mask(MaskRef(path=path))
    assert "--labels" in error.value.hint
    eight = saved(labels.astype(np.uint8), tmp_path / "b.npy").path
    assert eight is not None
    assert object_indices(eight, labels=True) == (1, 2, 44)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.full((2, 2), np.nan), "NaN"),
        (np.array([[0.0, np.inf]]), "NaN or infinity"),
        (np.array([[0.0, 3.5]]), "from 0 to 3.5"),
        (np.array([[-0.1, 0.5]]), "from -0.1"),
        (np.array([[-1, 0, 1]]), "negative"),
        (np.zeros((2, 2, 2)), "shape"),
        (np.zeros(4), "shape"),
        (np.zeros((0, 4)), "shape"),
        (np.array([["a"]]), "type"),
        (np.array([[1j]]), "type"),
        (np.zeros((2, 2), [("a", "u1")]), "type"),
        (np.array([[{"a": 1}]], dtype=object), "pickled"),
    ],
)
def test_arrays_that_are_no_masks(tmp_path: Path, array: np.ndarray, words: str) -> None:
    ref = saved(array, tmp_path / "a.npy")
    with pytest.raises(InputError, match=words) as error:
        read_mask(ref)
    assert error.value.path == str(ref.path)


def header(text: str, version: bytes = b"\x01\x00") -> bytes:
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text.encode() + b"\0" * 64


@pytest.mark.parametrize(
    "content",
    [
        b"not an array",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff{",
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (2, -2)}\n"),
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (1000, 1000)}\n"),
        header("{'descr': 'nonsense', 'fortran_order': False, 'shape': (2, 2)}\n"),
        header("__import__('os').getcwd()\n"),
        header("(" * 900),
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2)}" + " " * 5000 + "\n"),
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (2, 2)}\n", b"\x09\x00"),
        header("{'descr': '|b1', 'fortran_order': False, 'shape': (2L, 2L)}\n")[:70],
    ],
)
def test_headers_that_lie(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_mask(MaskRef(path=path))
    assert error.value.path == str(path)


def test_a_huge_shape_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(header("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999, 9999999)}\n"))
    with pytest.raises(TooLarge, match="pixels"):
        read_mask(MaskRef(path=path))
    with pytest.raises(TooLarge):
        read_mask(saved(np.zeros((3, 3), bool), tmp_path / "b.npy"), limits=Limits(max_pixels=8))


def test_an_array_that_python_2_wrote_is_read_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(header("{'descr': '|b1', 'fortran_order': False, 'shape': (2L, 2L)}\n"))
    assert read_mask(MaskRef(path=path)).mask.shape == (2, 2)


def test_an_array_saved_by_numpy_is_whole(tmp_path: Path, mask: np.ndarray) -> None:
    file = io.BytesIO()
    np.save(file, mask)
    (tmp_path / "a.npy").write_bytes(file.getvalue()[:-1])
    with pytest.raises(InputError, match="truncated"):
        read_mask(MaskRef(path=tmp_path / "a.npy"))
