"""How frames are prepared, against the library's own processors where they run without torchvision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny_hf
from auscult.errors import UsageError
from auscult.nets.hf_folder import PREPARED, Preparation, batches, read_preparation
from tiny_clip import needs_clip

pytestmark = pytest.mark.extra_clip
needs_clip()

_STEP = 1 / 255 / 0.2  # one grey level after normalising by the smallest deviation below


@pytest.mark.parametrize("size", [(48, 70), (240, 320), (352, 352), (500, 401)])
@pytest.mark.parametrize("resample", [2, 3])
def test_a_square_is_prepared_as_the_library_does(size: tuple[int, int], resample: int) -> None:
    import transformers

    frames = tiny_hf.clip_of(2, size=size)
    settings: dict[str, Any] = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4], "resample": resample}
    library = transformers.ViTImageProcessorPil(size={"height": 352, "width": 352}, **settings)
    expected = library(list(frames), return_tensors="pt")["pixel_values"].numpy()
    pixels = Preparation(size=(352, 352), mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), cubic=resample == 3)(
        frames
    ).numpy()
    assert pixels.shape == expected.shape
    assert pixels.dtype == np.float32
    assert (
        np.abs(pixels - expected).max() < (1.5 if resample == 2 else 2.5) * _STEP
    )  # cubic weights are rounded differently
    assert (np.abs(pixels - expected) > 0.5 * _STEP).mean() < 0.01


@pytest.mark.parametrize("size", [(48, 70), (70, 48), (64, 64), (40, 200), (300, 100), (256, 300)])
def test_a_shape_is_kept_as_the_library_does(size: tuple[int, int]) -> None:
    import transformers

    frames = tiny_hf.clip_of(1, size=size)
    library = transformers.GroundingDinoImageProcessorPil(size={"shortest_edge": 256, "longest_edge": 400})
    expected = library(list(frames), return_tensors="pt")["pixel_values"].numpy()
    pixels = Preparation(edges=(256, 400))(frames).numpy()
    assert pixels.shape == expected.shape
    assert np.abs(pixels - expected).max() < 1.5 / 255 / 0.224


def test_settings_are_read_from_either_file(tmp_path: Path) -> None:
    usual = Preparation(size=(352, 352))
    assert read_preparation(tmp_path, side=None, usual=usual) == usual
    settings_ = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "size": 224, "resample": 3}
    expected = Preparation(size=(224, 224), mean=(0.5,) * 3, std=(0.5,) * 3, cubic=True)
    (tmp_path / "processor_config.json").write_text(json.dumps({"image_processor": settings_}))
    assert read_preparation(tmp_path, side=None, usual=usual) == expected
    (tmp_path / PREPARED).write_text(json.dumps({**settings_, "rescale_factor": 1 / 255, "do_pad": False}))
    assert read_preparation(tmp_path, side=None, usual=usual) == expected
    assert read_preparation(tmp_path, side=64, usual=usual).size == (64, 64)
    (tmp_path / PREPARED).write_text(json.dumps({"size": {"shortest_edge": 256}, "max_size": 512}))
    assert read_preparation(tmp_path, side=None, usual=Preparation()) == Preparation(edges=(256, 512))


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": {"height": 10**6, "width": 10**6}},
        {"size": {"height": 352.0, "width": 352}},
        {"size": "large"},
        {"size": {"shortest_edge": 352}},
        {"image_mean": [0.5, 0.5]},
        {"image_std": [0, 0.5, 0.5]},
        {"image_std": [True, 0.5, 0.5]},
        {"resample": 0},
        {"do_normalize": False},
        {"rescale_factor": 1.0},
    ],
    ids=json.dumps,
)
def test_what_is_not_done_here_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (tmp_path / PREPARED).write_text(json.dumps(wrong))
    with pytest.raises(UsageError, match=next(iter(wrong))):
        read_preparation(tmp_path, side=None, usual=Preparation(size=(352, 352)))


def test_batches_are_the_clip() -> None:
    frames = tiny_hf.clip_of(7)
    runs = list(batches(frames, 3))
    assert [len(run) for run in runs] == [3, 3, 1]
    assert (np.concatenate(runs) == frames).all()
