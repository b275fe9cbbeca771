"""Masks predicted elsewhere: found by condition, case and frame; missing, extra, of another size, empty, soft."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from asking import question
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from auscult.errors import InputError, UsageError
from auscult.media.masks import write_labels, write_mask
from auscult.models.adapters.folder import FolderOfPredictions, read_stored

SHAPE = (2, 6, 8)
NAMES = ("00000", "00001")


def write(path: Path, array: NDArray) -> None:
    """NPY or PNG, as a model's own script writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        cv2.imwrite(str(path), array)


def predictions(folder: Path, *arrays: NDArray, suffix: str = ".png") -> FolderOfPredictions:
    for name, array in zip(NAMES, arrays, strict=False):
        write(folder / "clean" / "v1" / "f3" / (name + suffix), array)
    return FolderOfPredictions(folder)


def grey(value: int, *, background: int = 0) -> NDArray:
    array = np.full(SHAPE[1:], background, np.uint8)
    array[1:3, 2:5] = value
    return array


BLACK, WHITE = grey(0), grey(255)


@pytest.mark.parametrize(
    ("arrays", "suffix", "pixels", "threshold"),
    [
        ((WHITE, WHITE), ".png", (6, 6), None),
        ((BLACK, grey(1)), ".png", (0, 6), None),
        ((BLACK, BLACK), ".png", (0, 0), None),
        ((grey(255, background=255), BLACK), ".png", (48, 0), None),
        ((grey(200, background=20), grey(100, background=20)), ".png", (6, 0), 0.5),
        ((grey(127), grey(128)), ".png", (0, 6), 0.5),
        ((grey(127, background=40), grey(90)), ".png", (0, 0), 0.5),
        ((WHITE > 0, BLACK > 0), ".npy", (6, 0), None),
        ((WHITE // 255, BLACK), ".npy", (6, 0), None),
        ((WHITE / 255, BLACK / 255), ".npy", (6, 0), 0.5),
        ((np.where(WHITE, 0.5, 0.49).astype(np.float32), BLACK / 255), ".npy", (6, 0), 0.5),
    ],
    ids=[
        "white", "one is an object", "empty", "full", "soft", "soft by its clip", "soft and nothing sure",
        "bool", "whole numbers", "probabilities", "a half is in",
    ],
)  # fmt: skip
def test_files_are_read_by_clip(
    tmp_path: Path, arrays: tuple[NDArray, ...], suffix: str, pixels: tuple[int, ...], threshold: float | None
) -> None:
    answer = predictions(tmp_path, *arrays, suffix=suffix)(question(SHAPE))
    assert tuple(answer.masks.sum(axis=(1, 2)).tolist()) == pixels
    assert answer.masks.dtype == np.bool_
    assert answer.threshold == threshold


def test_palette_pictures_are_objects_without_void(tmp_path: Path) -> None:
    indices = grey(3)
    indices[0] = 255
    for name in NAMES:
        (tmp_path / "clean" / "v1" / "f3").mkdir(parents=True, exist_ok=True)
        write_labels(tmp_path / "clean" / "v1" / "f3" / f"{name}.png", indices)
    answer = FolderOfPredictions(tmp_path)(question(SHAPE))
    assert answer.masks.sum() == 12
    assert answer.threshold is None


def _palette(path: Path, indices: NDArray, colours: list[int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(indices).convert("P")
    picture.putpalette(colours)
    picture.save(path)


_RAMP = [level for level in range(256) for _ in range(3)]
_COLOURS = [0, 0, 0, 255, 0, 0, *([0] * 759), 255, 255, 255]


@pytest.mark.parametrize(
    ("indices", "pixels", "threshold"),
    [(WHITE, 6, None), (grey(1), 6, None), (grey(200, background=20), 6, 0.5), (BLACK, 0, None)],
    ids=["black and white", "one", "soft", "empty"],
)
def test_a_palette_of_greys_is_a_grey_picture(
    tmp_path: Path, indices: NDArray, pixels: int, threshold: float | None
) -> None:
    """As a grey picture becomes that is converted to a palette picture: 255 is white, not void."""
    _palette(tmp_path / "clean" / "v1" / "f3.png", indices, _RAMP)
    answer = FolderOfPredictions(tmp_path)(question((1, *SHAPE[1:])))
    assert (answer.masks.sum(), answer.threshold) == (pixels, threshold)


def test_labels_beside_void_are_labels_whatever_their_colours(tmp_path: Path) -> None:
    """As ``Image.fromarray(labels).convert("P")`` writes them: a grey ramp for a palette."""
    indices = np.zeros((8, 10), np.uint8)
    indices[:4, :5], indices[6:] = 1, 255
    _palette(tmp_path / "v1.png", indices, _RAMP)
    stored = read_stored(tmp_path / "v1.png", size=(8, 10))
    assert stored.kind == "mask"
    assert (stored.values == (indices == 1)).all()


def test_a_palette_picture_of_void_alone_is_refused(tmp_path: Path) -> None:
    _palette(tmp_path / "clean" / "v1" / "f3.png", WHITE, [*_COLOURS[:-3], 0, 255, 0])
    with pytest.raises(InputError, match="the only index above 0 is 255") as error:
        FolderOfPredictions(tmp_path)(question((1, *SHAPE[1:])))
    assert "grey picture" in error.value.hint


@pytest.mark.parametrize(
    ("arrays", "pixels", "threshold"),
    [
        ((BLACK, grey(1)), (0, 0), 0.5),
        ((grey(2, background=1), grey(3)), (0, 0), 0.5),
        ((WHITE, BLACK), (6, 0), None),
    ],
    ids=["round(p * 255)", "small", "sure"],
)
def test_a_clip_of_nothing_among_soft_ones_is_soft(
    tmp_path: Path, arrays: tuple[NDArray, ...], pixels: tuple[int, ...], threshold: float | None
) -> None:
    write(tmp_path / "fog" / "v2" / "00000.png", grey(200, background=20))
    answer = predictions(tmp_path, *arrays)(question(SHAPE))
    assert tuple(answer.masks.sum(axis=(1, 2)).tolist()) == pixels
    assert answer.threshold == threshold


def test_one_is_an_object_where_only_masks_lie_beside_it(tmp_path: Path) -> None:
    for array, name in ((WHITE, "white"), (grey(1), "one"), (grey(2), "two")):
        write(tmp_path / "clean" / f"{name}.png", array)
    (tmp_path / "clean" / "broken.png").write_bytes(b"no picture")
    assert predictions(tmp_path, BLACK, grey(1))(question(SHAPE)).masks.sum() == 6


@pytest.mark.parametrize(
    ("arrays", "pixels"), [((grey(100), BLACK), 0), ((grey(200), BLACK), 6)], ids=["below one half", "above"]
)
def test_black_and_one_grey_are_probabilities(tmp_path: Path, arrays: tuple[NDArray, ...], pixels: int) -> None:
    answer = predictions(tmp_path, *arrays)(question(SHAPE))
    assert (answer.masks.sum(), answer.threshold) == (pixels, 0.5)


@pytest.mark.parametrize("value", [2, 100, 128, 254])
def test_one_grey_everywhere_is_refused(tmp_path: Path, value: int) -> None:
    with pytest.raises(InputError, match=f"every pixel has the grey value {value}"):
        predictions(tmp_path, grey(value, background=value), grey(value, background=value))(question(SHAPE))


def test_a_photograph_needs_no_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "clean" / "v1" / "f3.png", WHITE)
    assert FolderOfPredictions(tmp_path)(question((1, *SHAPE[1:]))).masks.sum() == 6


@settings(max_examples=20, deadline=None)
@given(
    masks=st.lists(st.lists(st.booleans(), min_size=48, max_size=48), min_size=2, max_size=2),
    file_form=st.sampled_from(["bits", "npy"]),
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, masks: list[list[bool]], file_form: str
) -> None:
    folder = tmp_path_factory.mktemp("predictions")
    truth = np.array(masks).reshape(SHAPE)
    for name, mask in zip(NAMES, truth, strict=True):
        if file_form == "npy":
            write(folder / "clean" / "v1" / "f3" / f"{name}.npy", mask)
        else:
            write_mask(folder / "clean" / "v1" / "f3" / f"{name}.png", mask)
    np.testing.assert_array_equal(FolderOfPredictions(folder)(question(SHAPE)).masks, truth)


def no_files(folder: Path) -> None:
    del folder


def one_frame(folder: Path) -> None:
    predictions(folder, WHITE)


def another_case(folder: Path) -> None:
    write(folder / "clean" / "v2" / "00000.png", WHITE)


def another_condition(folder: Path) -> None:
    write(folder / "fog" / "v1" / "f3" / "00000.png", WHITE)


def another_size(folder: Path) -> None:
    predictions(folder, WHITE, np.zeros((8, 6), np.uint8))


def indices(folder: Path) -> None:
    predictions(folder, grey(1, background=2), grey(1))


def colours(folder: Path) -> None:
    predictions(folder, WHITE, np.stack([WHITE, BLACK, BLACK], axis=2))


def damaged(folder: Path) -> None:
    predictions(folder, WHITE, WHITE)
    place = folder / "clean" / "v1" / "f3" / "00001.png"
    place.write_bytes(place.read_bytes()[:50])


def both_files(folder: Path) -> None:
    predictions(folder, WHITE, WHITE)
    predictions(folder, WHITE > 0, WHITE > 0, suffix=".npy")


def logits(folder: Path) -> None:
    predictions(folder, WHITE - 3.0, WHITE - 3.0, suffix=".npy")


def nan(folder: Path) -> None:
    predictions(folder, np.full(SHAPE[1:], np.nan), WHITE / 255, suffix=".npy")


def several(folder: Path) -> None:
    predictions(folder, grey(1, background=2), BLACK, suffix=".npy")


def pickled(folder: Path) -> None:
    predictions(folder, np.array([{}], dtype=object), BLACK, suffix=".npy")


@pytest.mark.parametrize(
    ("make", "message", "path"),
    [
        (no_files, "no predictions under the condition 'clean'", "clean"),
        (another_condition, "no predictions under the condition 'clean'", "clean"),
        (another_case, "no predictions of the case under 'clean'", "clean/v1/f3/00000.png"),
        (one_frame, "no prediction of this frame", "clean/v1/f3/00001.png"),
        (another_size, "the mask is 8 x 6, its frame 6 x 8", "clean/v1/f3/00001.png"),
        (indices, "look like object indices", "clean/v1/f3/00000.png"),
        (colours, "in colour", "clean/v1/f3/00001.png"),
        (damaged, "", "clean/v1/f3/00001.png"),
        (both_files, "several predictions of one frame: 00000.png, 00000.npy", "clean/v1/f3"),
        (logits, "numbers from -3 to 252", "clean/v1/f3/00000.npy"),
        (nan, "NaN", "clean/v1/f3/00000.npy"),
        (several, "several whole numbers above 0", "clean/v1/f3/00000.npy"),
        (pickled, "pickled objects, which are never loaded", "clean/v1/f3/00000.npy"),
    ],
    ids=lambda function: getattr(function, "__name__", None),
)
def test_what_is_no_prediction_costs_its_case(
    tmp_path: Path, make: Callable[[Path], None], message: str, path: str
) -> None:
    make(tmp_path)
    with pytest.raises(InputError) as error:
        FolderOfPredictions(tmp_path)(question(SHAPE))
    assert message in error.value.message
    assert error.value.path == str(tmp_path / path)
    assert error.value.expected


@pytest.mark.parametrize("fields", [{"id": "../fog/v1"}, {"id": "/etc"}, {"condition": ".."}, {"id": ""}])
def test_ids_stay_in_their_condition(tmp_path: Path, fields: dict[str, str]) -> None:
    for condition in ("clean", "fog"):
        write(tmp_path / condition / "v1" / "00000.png", WHITE)
        write(tmp_path / condition / "v1" / "00001.png", WHITE)
    with pytest.raises(InputError, match=r"leaves the folder|absolute|the folder itself|no predictions"):
        FolderOfPredictions(tmp_path)(question(SHAPE, **fields))


def test_files_that_nobody_asked_for_are_listed(tmp_path: Path) -> None:
    model = predictions(tmp_path, WHITE, WHITE)
    for extra in ("clean/v1/f3/00002.png", "clean/v9/00000.png", "fog/v1/f3/00000.png", "notes.txt", ".DS_Store"):
        write(tmp_path / extra, WHITE) if extra.endswith(".png") else (tmp_path / extra).write_text("", "utf-8")
    asks = [question(SHAPE), question(SHAPE, id="../x"), question((1, *SHAPE[1:]), id="v9")]
    unasked_files = model.unasked(asks)
    assert unasked_files == ("clean/v1/f3/00002.png", "fog/v1/f3/00000.png", "notes.txt")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        FolderOfPredictions(tmp_path / "none")
