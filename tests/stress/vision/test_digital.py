"""Brightness, saturation, contrast, JPEG, pixels and elastic warps beside plain forms of their formulas."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from PIL import Image

from auscult.arrays.overlap import iou
from auscult.errors import UsageError
from auscult.rng import generator
from auscult.stress.vision import apply, perturb
from auscult.stress.vision.elastic_transform import STRESSOR as ELASTIC
from auscult.stress.vision.elastic_transform import Bend, corners, maps
from auscult.types import Frame

LEVELS = (1, 2, 3, 4, 5)
FRAMES = hnp.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)))
STRENGTHS = st.floats(0.01, 5.0)


def textured(height: int, width: int) -> Frame:
    """Coloured patches of several sizes with grain, greys among them."""
    rng = generator(3, "texture")
    texture = np.zeros((height, width, 3), np.float32)
    for cells, weight in ((4, 0.5), (16, 0.3), (60, 0.2)):
        patches = rng.integers(0, 256, (cells, cells, 3)).astype(np.float32)
        texture += weight * cv2.resize(patches, (width, height), interpolation=cv2.INTER_LINEAR)
    texture[: height // 5] = texture[: height // 5, :, :1]
    return np.clip(1.4 * (texture - 128) + 128 + 1.5 * rng.standard_normal((height, width, 1)), 0, 255).astype(np.uint8)


def smooth_noise(height: int, width: int) -> Frame:
    """No pattern of its own that large pixels could fall in with."""
    noise = generator(4, "noise").integers(0, 256, (height, width, 3)).astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(noise, (0, 0), 3), dtype=np.uint8)


TEXTURED = textured(180, 240)


def agreement(output: Frame, expected: Frame) -> float:
    """The share of pixels all of whose channels are within 2 grey levels."""
    difference = np.abs(output.astype(int) - expected.astype(int)).max(axis=-1)
    return float(np.mean(difference <= 2))


def psnr_db(output: Frame, clean: Frame) -> float:
    return float(10 * np.log10(255.0**2 / max(float(np.mean((output.astype(float) - clean) ** 2)), 1e-9)))


# Plain forms of the formulas, in float64 and through HSV, as ImageNet-C has them.


def hsv_of(frame: Frame) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Hue 0..6, saturation and value 0..1; hue 0 for grey."""
    rgb = frame.astype(np.float64) / 255
    value, spread = rgb.max(-1), rgb.max(-1) - rgb.min(-1)
    divisor = np.where(spread > 0, spread, 1)
    red, green, blue = np.moveaxis(rgb, -1, 0)
    hue = np.where(red == value, (green - blue) / divisor, np.where(green == value, 2 + (blue - red) / divisor, 0))
    hue = np.where((blue == value) & (red != value) & (green != value), 4 + (red - green) / divisor, hue)
    return hue % 6, np.where(value > 0, spread / np.where(value > 0, value, 1), 0), value


def rgb_of(hue: NDArray[np.float64], saturation: NDArray[np.float64], value: NDArray[np.float64]) -> Frame:
    def channel(offset: int) -> NDArray[np.float64]:
        angle = (offset + hue) % 6
        return value * (1 - saturation * np.clip(np.minimum(angle, 4 - angle), 0, 1))

    return np.uint8(np.clip(np.stack([channel(5), channel(3), channel(1)], -1), 0, 1) * 255)


def plain_brightness(frame: Frame, level: int) -> Frame:
    hue, saturation, value = hsv_of(frame)
    return rgb_of(hue, saturation, np.clip(value + (0.1, 0.2, 0.3, 0.4, 0.5)[level - 1], 0, 1))


def plain_saturate(frame: Frame, level: int) -> Frame:
    hue, saturation, value = hsv_of(frame)
    scale, added_share = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))[level - 1]
    return rgb_of(hue, np.clip(saturation * scale + added_share, 0, 1), value)


def plain_contrast(frame: Frame, level: int) -> Frame:
    x = frame / 255.0
    means = x.mean(axis=(0, 1), keepdims=True)
    return np.uint8(np.clip((x - means) * (0.4, 0.3, 0.2, 0.1, 0.05)[level - 1] + means, 0, 1) * 255)


def plain_jpeg(frame: Frame, level: int) -> Frame:
    file = io.BytesIO()
    Image.fromarray(frame).save(file, "JPEG", quality=(25, 18, 15, 10, 7)[level - 1])
    return np.array(Image.open(file))


def through(frame: Frame, rows: int, columns: int) -> Frame:
    small = Image.fromarray(frame).resize((columns, rows), Image.Resampling.BOX)
    return np.array(small.resize((frame.shape[1], frame.shape[0]), Image.Resampling.NEAREST))


def plain_pixelate(frame: Frame, level: int) -> Frame:
    factor = (0.6, 0.5, 0.4, 0.3, 0.25)[level - 1]
    return through(frame, int(frame.shape[0] * factor), int(frame.shape[1] * factor))


def plain_pixelate_r2bench(frame: Frame, level: int) -> Frame:
    side = int(512 * (0.6, 0.5, 0.4, 0.3, 0.25)[level - 1])
    return through(frame, side, side)


PLAIN: dict[str, Callable[[Frame, int], Frame]] = {
    "brightness": plain_brightness,
    "saturate": plain_saturate,
    "contrast": plain_contrast,
    "jpeg_compression": plain_jpeg,
    "pixelate": plain_pixelate,
    "pixelate_r2bench": plain_pixelate_r2bench,
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PLAIN)
def test_agrees_with_the_plain_formula(name: str, level: int) -> None:
    for frame in (TEXTURED, TEXTURED[:57, :101].copy(), np.zeros((20, 30, 3), np.uint8)):
        assert agreement(apply(name, frame, severity=level), PLAIN[name](frame, level)) >= 0.99


@pytest.mark.parametrize("size", [(480, 854), (427, 640), (333, 500), (700, 301)])
def test_large_pixels_lie_where_pillow_puts_them(size: tuple[int, int]) -> None:
    frame = textured(*size)
    for level in LEVELS:
        for name in ("pixelate", "pixelate_r2bench"):
            difference = np.abs(apply(name, frame, severity=level).astype(int) - PLAIN[name](frame, level))
            assert difference.max() <= 1, (name, level)


@given(FRAMES, st.sampled_from(["brightness", "saturate", "contrast"]), st.sampled_from(LEVELS))
def test_colours_agree_pixel_by_pixel_on_any_frame(frame: Frame, name: str, level: int) -> None:
    difference = np.abs(apply(name, frame, severity=level).astype(int) - PLAIN[name](frame, level))
    assert difference.max() <= 1


@given(FRAMES, STRENGTHS)
def test_brightness_darkens_nothing_and_keeps_grey_grey(frame: Frame, strength: float) -> None:
    assert (apply("brightness", frame, severity=strength) >= frame).all()
    grey = np.repeat(frame[..., :1], 3, axis=-1)
    output = apply("brightness", grey, severity=strength)
    assert (output == output[..., :1]).all()


@given(FRAMES, STRENGTHS)
def test_saturation_keeps_the_value_of_every_pixel(frame: Frame, strength: float) -> None:
    assert np.array_equal(apply("saturate", frame, severity=strength).max(-1), frame.max(-1))


def test_saturation_passes_through_no_change_between_levels_2_and_3() -> None:
    assert np.array_equal(apply("saturate", TEXTURED, severity=2 + 0.9 / 1.9), TEXTURED)
    assert psnr_db(apply("saturate", TEXTURED, severity=2), TEXTURED) < 30
    assert psnr_db(apply("saturate", TEXTURED, severity=3), TEXTURED) < 30


def test_saturation_makes_grey_reddish_where_the_release_does() -> None:
    grey = np.full((4, 4, 3), 100, np.uint8)
    assert np.array_equal(apply("saturate", grey, severity=3), grey)
    assert apply("saturate", grey, severity=5)[0, 0].tolist() == [100, 80, 80]


@given(FRAMES, STRENGTHS)
def test_contrast_brings_every_channel_nearer_to_its_mean(frame: Frame, strength: float) -> None:
    means = frame.mean(axis=(0, 1))
    output = apply("contrast", frame, severity=strength)
    assert (np.abs(output - means) <= np.abs(frame - means) + 1).all()


@given(FRAMES, STRENGTHS, st.sampled_from(["pixelate", "pixelate_r2bench"]))
def test_large_pixels_keep_the_range_of_every_channel(frame: Frame, strength: float, name: str) -> None:
    output = apply(name, frame, severity=strength)
    assert (output.min((0, 1)) >= frame.min((0, 1))).all()
    assert (output.max((0, 1)) <= frame.max((0, 1))).all()


def test_frames_below_the_square_stay_as_they_are() -> None:
    small = TEXTURED[:100, :120].copy()
    assert np.array_equal(apply("pixelate_r2bench", small, severity=5), small)


@pytest.mark.parametrize("name", ["brightness", "saturate", "contrast", "pixelate", "elastic_transform"])
def test_a_little_strength_changes_little(name: str) -> None:
    smooth = cv2.GaussianBlur(TEXTURED, (0, 0), 4)
    assert psnr_db(apply(name, smooth, severity=0.02), smooth) > 35


def test_jpeg_takes_what_a_file_can_hold() -> None:
    with pytest.raises(UsageError, match="65501"):
        apply("jpeg_compression", np.zeros((1, 65_501, 3), np.uint8))


# Damage grows where it is declared to.

GROWING: dict[str, Sequence[Sequence[float]]] = {
    "brightness": [LEVELS],
    "contrast": [LEVELS],
    "saturate": [(1, 2), (3, 4, 5)],
    "jpeg_compression": [LEVELS],
    "pixelate": [LEVELS],
    "pixelate_r2bench": [LEVELS],
    "elastic_transform": [(1, 2), (3, 4, 5)],
}


@pytest.mark.parametrize("name", GROWING)
def test_a_higher_level_does_more_damage(name: str) -> None:
    frame = smooth_noise(480, 640) if "pixelate" in name else TEXTURED
    for levels in GROWING[name]:
        psnrs = [psnr_db(apply(name, frame, severity=level), frame) for level in levels]
        assert psnrs == sorted(psnrs, reverse=True), (levels, psnrs)


# Elastic: where pixels go.


def field_of(seed: int, height: float, blur: float) -> NDArray[np.float64]:
    """How far the field alone moves each pixel of a 512 x 512 frame, (2, 512, 512)."""
    bend = Bend(height=height, blur=blur, corners=0.0)
    parts = list(maps(seed, bend, (512, 512), most=0.2))
    rows, columns = np.mgrid[:512, :512]
    return np.stack([np.vstack([x for _, x, _ in parts]) - columns, np.vstack([y for _, _, y in parts]) - rows])


def blur_matrix(deviation: float) -> NDArray[np.float64]:
    """What a Gaussian with mirrored edges does to 512 values, cut off at 3 deviations."""
    reach = int(3 * deviation + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / deviation) ** 2)
    mirror = np.pad(np.arange(512), reach, mode="symmetric")
    matrix = np.zeros((512, 512))
    for row in range(512):
        np.add.at(matrix[row], mirror[row : row + 2 * reach + 1], weights / weights.sum())
    return matrix


@pytest.mark.parametrize(("height", "blur", "seeds", "tolerance"), [(0.12, 0.01, 3, 0.04), (2.0, 0.08, 40, 0.15)])
def test_the_field_is_as_strong_as_blurred_uniform_noise(
    height: float, blur: float, seeds: int, tolerance: float
) -> None:
    one_way = np.mean(blur_matrix(512 * blur) ** 2 * 512)
    expected = 512 * height * np.sqrt(one_way * one_way / 3)  # a uniform draw from -1 to 1 has variance 1/3
    rms = np.sqrt(np.mean([np.mean(field_of(seed, height, blur) ** 2) for seed in range(seeds)]))
    assert rms == pytest.approx(expected, rel=tolerance)


def test_neighbours_move_together_as_in_blurred_uniform_noise() -> None:
    field = field_of(7, 0.12, 0.01)
    for lag in (3, 8):
        correlation = np.mean(field[:, :, lag:] * field[:, :, :-lag]) / np.mean(field**2)
        assert correlation == pytest.approx(np.exp(-(lag**2) / (4 * 5.12**2)), abs=0.05)


def test_the_triangle_goes_where_the_release_moves_it() -> None:
    """With no field, what stood at the corners stands where they were moved to; compared with OpenCV's own solution."""
    start = np.float32([(426, 426), (426, 86), (86, 86)])
    goal = start + np.float32(0.1 * 512 * corners(11, most=0.2))
    backwards = cv2.invertAffineTransform(cv2.getAffineTransform(start, goal))
    parts = list(maps(11, Bend(height=0.0, blur=0.7, corners=0.1), (512, 512), most=0.2))
    x, y = np.vstack([part[1] for part in parts]), np.vstack([part[2] for part in parts])
    rows, columns = np.mgrid[:512, :512]
    expected = np.tensordot(backwards, np.stack([columns, rows, np.ones_like(rows)]), axes=1)
    assert np.abs(np.stack([x, y]) - expected).max() < 1e-3


@pytest.mark.parametrize("level", LEVELS)
def test_the_joined_map_does_what_the_release_does_in_two_steps(level: int) -> None:
    frame = cv2.GaussianBlur(textured(512, 512), (0, 0), 2)
    params = ELASTIC.choose(generator(level, "two steps"), None, strength=level)  # type: ignore[arg-type]
    height, blur, reach = ELASTIC.levels[level]
    start = np.float32([(426, 426), (426, 86), (86, 86)])
    first_map = cv2.getAffineTransform(start, start + np.float32(512 * reach * corners(params.seed, most=0.2)))
    sheared = cv2.warpAffine(frame, first_map, (512, 512), borderMode=cv2.BORDER_REFLECT_101)
    rows, columns = np.mgrid[:512, :512]
    x, y = (field_of(params.seed, height, blur) + np.stack([columns, rows])).astype(np.float32)
    expected = cv2.remap(sheared, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT)
    inside = slice(16, -16), slice(16, -16)
    assert psnr_db(ELASTIC.render(frame, params)[inside], expected[inside]) > 38


def test_corners_never_fold_the_picture() -> None:
    for seed in range(300):
        corners_moved = 512 * 0.2 * corners(seed, most=0.2)
        below, right = corners_moved[0] - corners_moved[1] + (0, 340), corners_moved[1] - corners_moved[2] + (340, 0)
        assert right[0] * below[1] - right[1] * below[0] > 0.05 * 340 * 340


@pytest.mark.parametrize("size", [(180, 240), (240, 90), (60, 400)])
@pytest.mark.parametrize("level", LEVELS)
def test_masks_follow_their_pixels(level: int, size: tuple[int, int]) -> None:
    height, width = size
    rows, columns = np.mgrid[:height, :width]
    mask = ((rows - height / 2) / (height / 4)) ** 2 + ((columns - width / 2) / (width / 3)) ** 2 <= 1
    frame = np.where(mask[..., None], np.uint8(220), np.uint8(30)).repeat(3, axis=-1)
    perturbed = perturb("elastic_transform", frame, severity=level, seed=level, masks=[mask, np.ones_like(mask)])
    assert perturbed.truth.masks is not None
    moved_mask, inside = perturbed.truth.masks  # outside the second is what is mirrored
    assert iou(moved_mask, (perturbed.output[..., 0] >= 125) & inside) > 0.97
    assert iou(moved_mask, mask) < 1.0


def test_a_mirror_image_is_no_object() -> None:
    """Whatever the corners do, a mask keeps its share of the picture it came from, and never has a copy."""
    mask = np.zeros((200, 300), np.bool_)
    mask[60:140, 90:210] = True
    for seed in range(12):
        perturbed = perturb("elastic_transform", np.zeros((200, 300, 3), np.uint8), severity=2, seed=seed, masks=[mask])
        assert perturbed.truth.masks is not None
        pieces, _ = cv2.connectedComponents(perturbed.truth.masks[0].view(np.uint8))
        assert pieces <= 2


def test_in_a_clip_the_field_stands_still() -> None:
    clip = np.stack([TEXTURED] * 3)
    output = apply("elastic_transform", clip, severity=4)
    assert np.array_equal(output[0], output[1])
    assert np.array_equal(output[0], output[2])


def test_another_seed_bends_otherwise_and_any_size_bends() -> None:
    assert not np.array_equal(apply("elastic_transform", TEXTURED), apply("elastic_transform", TEXTURED, seed=1))
    with pytest.raises(UsageError, match="40000"):
        apply("elastic_transform", np.zeros((1, 40_000, 3), np.uint8))
