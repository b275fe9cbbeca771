"""The coefficient file: what it holds, that it is read exactly, and the arithmetic on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.errors import UsageError
from auscult.judge.masks.cues import model
from auscult.judge.masks.cues.model import CUES
from auscult.rng import generator
from auscult.types import DEFECTS

SHIPPED = model.load_coefficients()


def test_the_file_is_small_and_names_every_cue_and_defect() -> None:
    value = json.loads(model.FILE.read_text(encoding="utf-8"))
    assert model.FILE.stat().st_size < 300_000
    assert list(value) == ["schema", "cues", "defects", "iou", "interval", "prior", "novelty"]
    assert list(value["cues"]) == [cue.name for cue in CUES]
    assert tuple(value["defects"]) == model.CLASSES
    assert tuple(value["iou"]) == model.JUDGED
    assert "any" in value["interval"]
    for weights in (*value["defects"].values(), *value["iou"].values()):
        assert list(weights) == ["bias", *(cue.name for cue in CUES)]


def test_writing_and_reading_keep_every_number() -> None:
    once = model.to_json(SHIPPED)
    assert json.loads(model.FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(once))
    assert model.to_json(model.from_json(once)) == once


def test_it_is_read_once() -> None:
    assert model.load_coefficients() is SHIPPED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "cues": {"a": {}}}', "null"])
def test_a_broken_file_is_refused_with_its_path(text: str, tmp_path: Path) -> None:
    path = tmp_path / "coefficients.json"
    path.write_text(text)
    with pytest.raises(UsageError) as error:
        model.load_coefficients(path)
    assert error.value.path == str(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="coefficients"):
        model.load_coefficients(tmp_path / "none.json")


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 100_000), stretch=st.sampled_from([0.5, 1.0, 3.0, 50.0]))
def test_any_cues_give_a_sound_estimate(seed: int, stretch: float) -> None:
    vector = SHIPPED.mean + stretch * SHIPPED.spread * generator(seed, "cues").normal(size=len(CUES))
    estimate_ = model.estimate(vector, SHIPPED)
    assert tuple(estimate_.defect_probs) == DEFECTS
    assert sum(estimate_.defect_probs.values()) == pytest.approx(1.0, abs=1e-9)
    assert max(estimate_.defect_probs, key=estimate_.defect_probs.__getitem__) == estimate_.defect
    assert 0 <= estimate_.iou_low <= estimate_.iou <= estimate_.iou_high <= 1
    assert 0 <= estimate_.novelty <= 1


def test_novelty_grows_with_distance() -> None:
    step = SHIPPED.spread * np.where(np.arange(len(CUES)) % 2, 1.0, -1.0)
    novelties = [model.estimate(SHIPPED.mean + size * step, SHIPPED).novelty for size in (0.0, 1.0, 2.0, 4.0)]
    assert novelties == sorted(novelties)
    assert novelties[0] == 0
    assert novelties[-1] == 1


def vector_of(**cues: float) -> np.ndarray:
    """The mean of every cue, but for the named ones."""
    vector = SHIPPED.mean.copy()
    for name, value in {"log_area": np.log(5000), "thinness": np.log(30), "frame_share": 0.3, **cues}.items():
        vector[[cue.name for cue in CUES].index(name)] = value
    return vector


@pytest.mark.parametrize(
    ("cues", "sight"),
    [
        ({}, "clear"),
        ({"log_area": np.log(1024)}, "clear"),
        ({"log_area": np.log(1023)}, "small"),
        ({"log_area": np.log(64)}, "small"),
        ({"log_area": np.log(63)}, "tiny"),
        ({"log_area": 0.0, "contrast": 0.0, "edge_strength": 0.0}, "tiny"),
        ({"thinness": np.log(10_000)}, "tiny"),
        ({"thinness": 2.53, "compactness": 3.0}, "tiny"),
        ({"frame_share": np.sqrt(0.96)}, "full"),
        ({"frame_contact": 1.0}, "full"),
        ({"contrast": 0.2, "edge_strength": 0.1}, "flat"),
        ({"contrast": 0.2}, "clear"),
    ],
)
def test_what_can_be_looked_at(cues: dict[str, float], sight: str) -> None:
    vector = vector_of(**cues)
    assert model.sight_of(vector) == sight
    if sight == "small":
        estimate_ = model.estimate(vector, SHIPPED)
        assert (estimate_.sight, estimate_.novelty) == (sight, 1)
        assert estimate_.iou < 0.95
        assert estimate_.iou_high - estimate_.iou_low > 0.5
        assert estimate_.defect != "full_neg"


def test_a_mask_on_no_object_lowers_the_iou() -> None:
    based = model.basis(SHIPPED.mean[None], SHIPPED)
    probs = model.probabilities(based, SHIPPED)
    doubtful = probs.copy()
    doubtful[:, -1] += 1.0
    doubtful /= doubtful.sum()
    assert model.mixture(based, doubtful, SHIPPED)[0] < 0.6 * model.mixture(based, probs, SHIPPED)[0]
    assert model.named(doubtful)[0].sum() == pytest.approx(1.0)
    assert model.named(doubtful)[0].argmax() == DEFECTS.index("full_neg")


def test_another_object_does_not_enter_the_iou() -> None:
    based = model.basis(SHIPPED.mean[None], SHIPPED)
    probs = model.probabilities(based, SHIPPED)
    doubtful = probs.copy()
    doubtful[:, DEFECTS.index("full_neg")] *= 50
    doubtful /= doubtful.sum()
    assert model.mixture(based, doubtful, SHIPPED)[0] == pytest.approx(model.mixture(based, probs, SHIPPED)[0])
