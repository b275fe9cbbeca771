"""The defect classifier: what it learns from, that it learns, and that its file says the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

import torch

from auscult.errors import InputError, UsageError
from auscult.jobs.runner import Silent
from auscult.judge.masks.compact.view import CUE_COUNT
from auscult.judge.masks.prompted.network import TYPES, load_classifier
from auscult.judge.masks.prompted.view import SHAPE
from auscult.rng import generator
from auscult.train.prompted import defect_classifier
from auscult.train.prompted.defect_classifier import LabelledSamples
from auscult.train.prompted.material import Material

pytestmark = pytest.mark.extra_train


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Material:
    return small.material(tmp_path_factory.mktemp("data"))


def samples(seed: int, count: int) -> LabelledSamples:
    """The type shows in one cue each, in units of its own."""
    rng = generator(seed, "typed")
    types = rng.integers(0, len(TYPES), count)
    cues = rng.normal(0, 1, (count, CUE_COUNT))
    cues[np.arange(count), 10 * types] += 3
    scale = np.exp(generator(0, "units").normal(0, 2, CUE_COUNT))
    shape = rng.normal(0, 1, (count, SHAPE)).astype(np.float32)
    return LabelledSamples(cues=(cues * scale).astype(np.float32), shape=shape, types=types)


def test_masks_of_known_type_are_flawless_or_made_and_repeat(material: Material) -> None:
    picture = material.pictures[0]
    labelled = list(defect_classifier.labelled_masks(picture, seed=0))
    assert {"perfect", "cutout", "dilate", "erode"} <= {example.defect for example in labelled} <= set(TYPES)
    flawless = [
        example for example in labelled if example.defect == "perfect" and np.array_equal(example.mask, example.truth)
    ]
    assert len(flawless) >= 2, "one of each object"
    second = defect_classifier.samples_of([picture], seed=0, progress=Silent())
    assert second.cues.shape == (len(labelled), CUE_COUNT)
    assert [TYPES[type_index] for type_index in second.types] == [example.defect for example in labelled]
    assert np.array_equal(second.cues, defect_classifier.samples_of([picture], seed=0, progress=Silent()).cues)


def test_pictures_without_an_object_are_an_error() -> None:
    with pytest.raises(InputError, match="no object"):
        defect_classifier.samples_of([], seed=0, progress=Silent())


def test_what_is_learned_is_said_by_the_file_too(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    net = defect_classifier.fit_classifier(samples(1, 1500), seed=0)
    fresh = samples(2, 300)
    shipped = load_classifier(defect_classifier.export(net, tmp_path / "defect_classifier.onnx"))
    logits = shipped(fresh.cues, fresh.shape)
    assert np.mean(logits.argmax(axis=1) == fresh.types) > 0.8
    with torch.no_grad():
        own_logits = net(torch.from_numpy(fresh.cues), torch.from_numpy(fresh.shape)).numpy()
    assert np.abs(np.exp(logits) - np.exp(own_logits) / np.exp(own_logits).sum(axis=1, keepdims=True)).max() < 1e-4
    second = defect_classifier.export(
        defect_classifier.fit_classifier(samples(1, 1500), seed=0), tmp_path / "again.onnx"
    )
    assert second.read_bytes() == (tmp_path / "defect_classifier.onnx").read_bytes()
    with pytest.raises(UsageError, match="the calibration is for"):
        load_classifier(second, "0" * 64)
