"""``apply``, ``perturb`` and ``render`` of pictures: shapes that go in and come out, bad input, plug-ins, truth."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.errors import InputError, UnknownName, UsageError
from auscult.rng import generator
from auscult.stress.vision import apply, perturb, render

NAMES = ("gaussian_noise", "brightness", "contrast", "jpeg_compression", "pixelate", "elastic_transform")


def random_image(*shape: int) -> NDArray[np.uint8]:
    return generator(1, "drawn").integers(0, 256, shape).astype(np.uint8)


PICTURE = random_image(40, 60, 3)

# Shapes and types.


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "shape", [(40, 60), (40, 60, 3), (40, 60, 4), (3, 40, 60, 3), (1, 1), (1, 1, 3), (1, 1, 4), (1, 50, 3), (50, 1, 3)]
)
def test_what_comes_out_is_like_what_went_in(name: str, shape: tuple[int, ...]) -> None:
    image = random_image(*shape)
    original = image.copy()
    output = apply(name, image, severity=4)
    assert output.shape == shape
    assert output.dtype == np.uint8
    assert np.array_equal(image, original)
    assert not np.shares_memory(output, image)


@pytest.mark.parametrize("name", NAMES)
def test_grey_stays_grey_and_is_perturbed_as_its_rgb_copy(name: str) -> None:
    grey = random_image(40, 60)
    colour = apply(name, np.repeat(grey[..., None], 3, axis=-1), severity=3)
    weights = np.array([0.299, 0.587, 0.114])
    assert np.abs(apply(name, grey, severity=3) - colour @ weights).max() <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_transparency_stays_and_colour_does_not_depend_on_it(name: str) -> None:
    image = random_image(40, 60, 4)
    output = apply(name, image, severity=3)
    assert np.array_equal(output[..., 3], image[..., 3])
    assert np.array_equal(output[..., :3], apply(name, image[..., :3], severity=3))


@pytest.mark.parametrize("name", NAMES)
def test_views_and_read_only_pictures_will_do(name: str) -> None:
    wide = random_image(40, 120, 3)
    view = wide[::-1, ::2]
    view.setflags(write=False)
    assert np.array_equal(apply(name, view), apply(name, np.ascontiguousarray(view)))


def test_a_frame_of_a_clip_is_made_alone_as_within_it() -> None:
    clip = random_image(4, 30, 40, 3)
    perturbed = perturb("gaussian_noise", clip, severity=3)
    assert not np.array_equal(perturbed.output[0].astype(int) - clip[0], perturbed.output[1].astype(int) - clip[1])
    assert np.array_equal(render("gaussian_noise", clip[:2], perturbed.params), perturbed.output[:2])


@pytest.mark.parametrize(
    "image",
    [
        random_image(40, 60, 3).astype(np.uint16),
        random_image(40, 60).astype(np.uint16),
        random_image(40, 60, 3).astype(np.float32) / 255,
        random_image(40, 60).astype(bool),
        random_image(40, 60, 2),
        random_image(40, 60, 5),
        random_image(2, 40, 60, 4),
        random_image(40),
        np.zeros((0, 60, 3), np.uint8),
        np.zeros((0, 40, 60, 3), np.uint8),
        [[1, 2], [3, 4]],
        None,
        "picture.png",
    ],
    ids=lambda image: f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__,
)
def test_other_images_are_refused_with_what_would_be_right(image: Any) -> None:
    with pytest.raises(UsageError) as error:
        apply("brightness", image)
    assert "uint8" in error.value.expected
    given_as = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
    assert given_as in error.value.message


def test_16_bit_pictures_get_a_next_step() -> None:
    with pytest.raises(UsageError) as error:
        apply("brightness", np.zeros((4, 4, 3), np.uint16))
    assert "0..255" in error.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_48_megapixels(name: str) -> None:
    image = np.zeros((6000, 8000, 3), np.uint8)
    image[::7, ::5] = (250, 120, 30)
    output = apply(name, image, severity=3)
    assert output.shape == image.shape
    assert not np.array_equal(output, image)


# Severities and names.


@pytest.mark.parametrize("severity", [-1, 5.01, 6, float("nan"), float("inf"), "mild", "", None, True, [3]])
def test_other_severities_are_refused(severity: Any) -> None:
    with pytest.raises(UsageError) as error:
        apply("brightness", PICTURE, severity=severity)
    assert "low, medium, high" in error.value.expected


@pytest.mark.parametrize("name", NAMES)
def test_severity_0_is_a_copy_and_words_are_levels(name: str) -> None:
    assert np.array_equal(apply(name, PICTURE, severity=0), PICTURE)
    for word, level in (("low", 1), ("medium", 3), ("high", 5), ("2.5", 2.5)):
        assert np.array_equal(apply(name, PICTURE, severity=word), apply(name, PICTURE, severity=level))


@pytest.mark.parametrize("name", ["", "fogg", "vision.brightness.v99", "sound.brightness", "../brightness"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(UnknownName):
        apply(name, PICTURE)


def test_a_perturbation_of_sound_is_none_of_pictures() -> None:
    with pytest.raises(UnknownName):
        apply("gain", PICTURE)


# Replay.


@given(st.sampled_from(NAMES), st.floats(0.0, 5.0), st.integers(-(2**40), 2**40), st.text(max_size=8))
def test_what_was_recorded_makes_it_again(name: str, severity: float, seed: int, key: str) -> None:
    perturbed = perturb(name, PICTURE, severity=severity, seed=seed, key=key)
    recorded = json.loads(json.dumps(perturbed.params, allow_nan=False))
    assert np.array_equal(render(name, PICTURE, recorded), perturbed.output)
    assert recorded["strength"] == severity


def test_seed_and_key_decide() -> None:
    first = apply("gaussian_noise", PICTURE, seed=1, key="a")
    assert np.array_equal(first, apply("gaussian_noise", PICTURE, seed=1, key="a"))
    assert not np.array_equal(first, apply("gaussian_noise", PICTURE, seed=2, key="a"))
    assert not np.array_equal(first, apply("gaussian_noise", PICTURE, seed=1, key="b"))


@pytest.mark.parametrize(
    "recorded", [{}, {"strength": 3}, {"strength": 9.0, "seed": 1}, {"strength": 1.0, "seed": "x"}, 3]
)
def test_hostile_records_are_refused(recorded: Any) -> None:
    with pytest.raises(InputError):
        render("gaussian_noise", PICTURE, recorded)


# Truth.

MASK = np.zeros((40, 60), np.bool_)
MASK[10:30, 15:40] = True
BOX = (15, 10, 40, 30)


def test_masks_and_boxes_stay_where_no_pixel_moves() -> None:
    perturbed = perturb("brightness", PICTURE, masks=[MASK], boxes=[BOX])
    assert perturbed.truth.masks is not None
    assert np.array_equal(perturbed.truth.masks[0], MASK)
    assert not np.shares_memory(perturbed.truth.masks[0], MASK)
    assert perturbed.truth.boxes == (BOX,)


def test_nothing_is_told_of_masks_that_were_not_given() -> None:
    perturbed = perturb("elastic_transform", PICTURE)
    assert perturbed.truth.masks is None
    assert perturbed.truth.boxes is None


@pytest.mark.parametrize("severity", [0.5, 1, 2, 3, 4, 5])
def test_boxes_follow_as_the_masks_that_fill_them(severity: float) -> None:
    perturbed = perturb("elastic_transform", PICTURE, severity=severity, masks=[MASK], boxes=[BOX])
    assert perturbed.truth.masks is not None
    assert perturbed.truth.boxes == (box_of(perturbed.truth.masks[0]),)
    assert not np.array_equal(perturbed.truth.masks[0], MASK)


def test_at_severity_0_masks_and_boxes_stay() -> None:
    perturbed = perturb("elastic_transform", PICTURE, severity=0, masks=[MASK], boxes=[BOX])
    assert perturbed.truth.masks is not None
    assert np.array_equal(perturbed.truth.masks[0], MASK)
    assert perturbed.truth.boxes == (BOX,)


def test_a_mask_of_a_clip_moves_in_every_frame_as_one_of_a_picture() -> None:
    clip = np.stack([PICTURE] * 3)
    moved_masks = perturb("elastic_transform", clip, severity=2, masks=[np.stack([MASK, ~MASK, MASK])]).truth.masks
    alone = perturb("elastic_transform", PICTURE, severity=2, masks=[MASK]).truth.masks
    assert moved_masks is not None
    assert alone is not None
    assert np.array_equal(moved_masks[0][0], alone[0])
    assert np.array_equal(moved_masks[0][2], alone[0])
    assert not (moved_masks[0][1] & alone[0]).any()


def test_a_box_that_leaves_the_picture_is_none() -> None:
    corner = (0, 0, 2, 2)
    boxes_found = [
        perturb("elastic_transform", PICTURE, severity=2, seed=seed, boxes=[corner]).truth.boxes for seed in range(9)
    ]
    assert (None,) in boxes_found


@pytest.mark.parametrize("name", ["brightness", "elastic_transform"])
def test_boxes_with_fractions_are_rounded_outwards(name: str) -> None:
    boxes_whole = perturb(name, PICTURE, severity=1, boxes=[BOX]).truth.boxes
    for box in ((15.9, 10.2, 39.1, 29.5), [15.0, 10.0, 40.0, 30.0], np.array([15.5, 10.5, 39.5, 29.5], np.float32)):
        assert perturb(name, PICTURE, severity=1, boxes=[box]).truth.boxes == boxes_whole
    assert perturb(name, PICTURE, severity=1, boxes=np.array([BOX])).truth.boxes == boxes_whole
    assert all(type(side) is int for side in boxes_whole[0])


@pytest.mark.parametrize("name", ["brightness", "elastic_transform"])
@pytest.mark.parametrize(
    "boxes",
    [
        [(40, 10, 15, 30)],
        [(15, 30, 40, 10)],
        [(15, 10, 40)],
        [(15, 10, 40, 30, 1)],
        [(15, 10, 40, float("nan"))],
        [(15, 10, float("inf"), 30)],
        [(15, 10, 10**400, 30)],
        [("15", 10, 40, 30)],
        [None],
        ["abcd"],
        (15, 10, 40, 30),
        7,
    ],
    ids=lambda boxes: repr(boxes)[:40],
)
def test_what_is_no_box_is_refused(name: str, boxes: Any) -> None:
    with pytest.raises(UsageError, match="box"):
        perturb(name, PICTURE, boxes=boxes)


def test_a_key_that_is_no_text_draws_as_any_other() -> None:
    images_made = {
        perturb("gaussian_noise", PICTURE, key=key).output.tobytes() for key in ("\ud800", "\udfff", "?", "")
    }
    assert len(images_made) == 4


@pytest.mark.parametrize(
    "mask",
    [MASK[:-1], MASK.astype(np.uint8), np.stack([MASK] * 2), np.zeros((0, 0), np.bool_)],
    ids=lambda m: str(m.shape),
)
def test_masks_of_another_size_or_type_are_refused(mask: Any) -> None:
    with pytest.raises(UsageError, match="mask"):
        perturb("brightness", PICTURE, masks=[mask])


@pytest.mark.parametrize("name", ["brightness", "elastic_transform"])
@pytest.mark.parametrize(
    "masks_input", [5, 0.5, True, "mask", {"dog": MASK}, np.array(1), MASK], ids=lambda value: str(type(value))
)
def test_what_is_no_list_of_masks_is_refused(name: str, masks_input: Any) -> None:
    with pytest.raises(UsageError, match="mask"):
        perturb(name, PICTURE, masks=masks_input)


def test_masks_may_come_as_one_array() -> None:
    perturbed = perturb("brightness", PICTURE, masks=np.stack([MASK, ~MASK]))
    assert perturbed.truth.masks is not None
    assert np.array_equal(np.stack(perturbed.truth.masks), np.stack([MASK, ~MASK]))


def test_boxes_of_a_clip_are_refused() -> None:
    with pytest.raises(UsageError, match="clip"):
        perturb("brightness", np.stack([PICTURE] * 2), boxes=[BOX])


# Plug-ins.

_PLUGGED = """
import numpy as np
from auscult.stress.perturbation import Fixed
from auscult.types import Metadata

MADE = {
    "right": lambda frame: 255 - frame,
    "smaller": lambda frame: frame[:-1],
    "grey": lambda frame: frame[..., 0],
    "floats": lambda frame: frame / 255.0,
    "nothing": lambda frame: None,
    "raises": lambda frame: 1 // 0,
}


class Plugged(Fixed):
    levels = tuple((float(at),) for at in range(6))
    meta = Metadata(summary="a test's", goal="none", modality="image", source="none", truth="none", origin="sensor")

    def __init__(self, kind):
        self.name = f"vision.plugged_{kind}.v1"
        self.kind = kind

    def render(self, frame, params, *, index=0):
        return MADE[self.kind](frame)


for kind in MADE:
    globals()[kind] = Plugged(kind)
"""
_KINDS = ("right", "smaller", "grey", "floats", "nothing", "raises")


@pytest.fixture(scope="module")
def _plugged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    site: Path = tmp_path_factory.mktemp("site")
    (site / "plugged_stressors.py").write_text(_PLUGGED)
    info = site / "plugged_stressors-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-stressors\nVersion: 1.0\n")
    points = "".join(f"vision.plugged_{kind}.v1 = plugged_stressors:{kind}\n" for kind in _KINDS)
    (info / "entry_points.txt").write_text(f"[auscult.stressors]\n{points}")
    sys.path.insert(0, str(site))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(site))
    sys.modules.pop("plugged_stressors", None)
    importlib.invalidate_caches()


@pytest.mark.usefixtures("_plugged")
def test_a_plug_in_is_called_by_its_name() -> None:
    assert np.array_equal(apply("plugged_right", PICTURE), 255 - PICTURE)


@pytest.mark.usefixtures("_plugged")
@pytest.mark.parametrize(
    ("kind", "message"),
    [("smaller", "(39, 60, 3)"), ("grey", "(40, 60)"), ("floats", "float64"), ("nothing", "NoneType")],
)
def test_a_plug_in_that_makes_something_else_is_named(kind: str, message: str) -> None:
    for image in (PICTURE, np.stack([PICTURE] * 2)):
        with pytest.raises(UsageError) as error:
            apply(f"plugged_{kind}", image)
        assert f"vision.plugged_{kind}.v1" in error.value.message
        assert message in error.value.message
        assert "uint8 (40, 60, 3)" in error.value.expected


@pytest.mark.usefixtures("_plugged")
def test_what_a_plug_in_raises_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        apply("plugged_raises", PICTURE)
    assert np.array_equal(apply("plugged_raises", PICTURE, severity=0), PICTURE)
