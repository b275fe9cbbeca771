"""Batches: the same from seed and number alone, and what is seen in them is what is said of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small_material as small

pytest.importorskip("torch", reason="the extra `train` is not installed")

from auscult.arrays.overlap import iou
from auscult.errors import InputError
from auscult.judge.masks.prompted.view import Lens, look
from auscult.media.rle import encode
from auscult.nets.prompted import TYPES
from auscult.rng import generator
from auscult.train.candidates import Candidate, CandidateScene
from auscult.train.prompted.feed import Arrays, Feed, boxes_or_points, chosen, prompt_of
from auscult.train.prompted.material import Picture

pytestmark = pytest.mark.extra_train
LENS = Lens(side=64, margin=1.5)
WIDE = Lens(side=256, margin=4.0)
"""Holds all of an object, also where its candidate is a small part of it."""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Picture]:
    return small.material(tmp_path_factory.mktemp("data")).pictures


@pytest.fixture(scope="module")
def batch(pictures: list[Picture]) -> Arrays:
    return Feed(pictures, seed=4, lens=WIDE).batch(0, 24)


def test_a_batch_follows_from_seed_and_number_alone(pictures: list[Picture]) -> None:
    feed = Feed(pictures, seed=3, lens=LENS)
    later_batch, first = feed.batch(1, 3), feed.batch(0, 3)
    second = Feed(pictures, seed=3, lens=LENS).batch(0, 3)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    for other in (later_batch, Feed(pictures, seed=4, lens=LENS).batch(0, 3)):
        assert not any(np.array_equal(first[name], other[name]) for name in ("crop", "candidate", "truth", "strip"))


@pytest.mark.parametrize("size", [3, 5])
def test_a_batch_has_its_shapes_and_types(pictures: list[Picture], size: int) -> None:
    batch_ = Feed(pictures, seed=3, lens=LENS).batch(0, size)
    assert {name: (value.shape[1:], value.dtype) for name, value in batch_.items()} == {
        "crop": ((3, 64, 64), np.uint8), "candidate": ((32, 32), np.uint8), "truth": ((32, 32), np.uint8),
        "prompt": ((4, 32, 32), np.uint8), "strip": ((6, 24, 256), np.uint8), "shape": ((10,), np.float32),
        "iou": ((), np.float32), "answered": ((), np.float32), "type": ((), np.int64),
    }  # fmt: skip
    assert {len(value) for value in batch_.values()} == {size}


def test_the_iou_is_that_of_candidate_and_truth(batch: Arrays) -> None:
    candidates_, true = (batch[name].astype(float) for name in ("candidate", "truth"))
    recomputed = np.minimum(candidates_, true).sum(axis=(1, 2)) / np.maximum(candidates_, true).sum(axis=(1, 2))
    large = (true >= 128).sum(axis=(1, 2)) > 300  # the outline's cells count little
    assert large.sum() >= 12
    assert np.abs(recomputed - batch["iou"])[large].max() < 0.06
    assert np.ptp(batch["iou"]) > 0.4


def test_types_are_named_and_the_flawless_are_flawless(batch: Arrays) -> None:
    assert set(batch["type"].tolist()) <= {-1, *range(len(TYPES))}
    perfect = batch["type"] == TYPES.index("perfect")
    assert perfect.any()
    assert (batch["iou"][perfect] >= 0.97).all()
    is_flawless = batch["iou"] == 1.0
    assert is_flawless.any()
    assert np.array_equal(batch["candidate"][is_flawless], batch["truth"][is_flawless])


def test_the_answer_counts_where_the_prompt_says_what_is_meant(pictures: list[Picture]) -> None:
    batch = Feed(pictures, seed=5, lens=WIDE).batch(0, 96)
    by_mask = (batch["prompt"][:, 0] == batch["candidate"]).all(axis=(1, 2))
    nothing_like_it = batch["iou"] < 0.15
    assert by_mask[nothing_like_it].any()
    assert (batch["answered"][by_mask & nothing_like_it] == 0).all()
    assert (batch["answered"][~nothing_like_it] == 1).all()


def test_a_prompt_is_the_candidate_or_a_box_or_points(pictures: list[Picture]) -> None:
    truth = small.objects(0)[0]
    view = look(pictures[0].frame(), truth, LENS)
    kinds = set()
    for seed in range(60):
        prompt, is_own = prompt_of(truth, truth, view=view, rng=generator(seed, "prompt"))
        used_prompts = tuple(prompt.any(axis=(1, 2)).tolist())
        kinds.add(used_prompts)
        assert used_prompts in {(True, False, False, False), (False, True, False, False), (False, False, True, False),
                        (False, False, True, True)}  # fmt: skip
        assert not (is_own and used_prompts[0])
        assert np.array_equal(prompt[0], view.candidate) or not used_prompts[0]
    assert len(kinds) == 4


def test_points_lie_in_the_region_and_outside_it_and_boxes_round_it() -> None:
    inside = np.zeros((64, 64), np.bool_)
    inside[16:48, 10:30] = True
    for seed in range(40):
        _, box, points, wrong = boxes_or_points(inside, generator(seed, "points")) > 0
        if box.any():
            rows, columns = np.flatnonzero(box.any(axis=1)), np.flatnonzero(box.any(axis=0))
            assert np.abs(np.array([rows[0], rows[-1] + 1, columns[0], columns[-1] + 1]) - (16, 48, 10, 30)).max() <= 3
            assert box.sum() == (np.ptp(rows) + 1) * (np.ptp(columns) + 1)
        else:
            # a point is a disc of radius 2 about a cell of the region
            assert points.any()
            assert not points[:14].any()
            assert not points[:, 32:].any()
            assert not wrong[20:44, 14:26].any()


def test_a_region_without_background_gets_no_points_outside() -> None:
    for seed in range(20):
        assert not boxes_or_points(np.ones((8, 8), np.bool_), generator(seed))[3].any()


def test_candidates_are_real_ones_and_made_ones() -> None:
    disc, box = small.objects(0)
    scene = CandidateScene(frame=small.picture(0), mask=disc, others=(box,))
    chosen_candidates = [
        candidate for seed in range(8) for candidate in chosen(scene, [disc, box, np.zeros_like(disc)], generator(seed))
    ]
    real = [candidate for candidate in chosen_candidates if candidate.kind == "real"]
    assert 0 < len(real) < len(chosen_candidates) == 24
    assert {candidate.iou for candidate in real} == {0.0, 1.0}
    assert all(candidate.defect is None for candidate in real)


def test_no_made_candidate_is_a_better_mask_of_another_object(monkeypatch: pytest.MonkeyPatch) -> None:
    disc, box = small.objects(0)
    scene = CandidateScene(frame=small.picture(0), mask=disc, others=(box,))
    made_candidates = [
        Candidate(mask=mask, kind=kind, defect=None, iou=iou(mask, disc))
        for kind, mask in (("other", box), ("both", box | disc), ("speck", disc & (np.arange(200) < 14)), ("own", disc))
    ]
    monkeypatch.setattr("auscult.train.prompted.feed.candidates", lambda *_: list(made_candidates))
    kinds = {candidate.kind for seed in range(20) for candidate in chosen(scene, [], generator(seed))}
    assert kinds == {"both", "own"}


def test_pictures_without_an_object_are_refused(pictures: list[Picture]) -> None:
    bare = [replace(picture, objects=(encode(np.eye(*small.SHAPE, dtype=np.bool_)),)) for picture in pictures]
    for unusable in ([], bare):
        with pytest.raises(InputError, match="no object"):
            Feed(unusable, seed=0, lens=LENS)
