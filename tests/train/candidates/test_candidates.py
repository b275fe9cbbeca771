"""What every candidate promises: exact IoU, a type that its mask has, the same again from the same generator."""

from __future__ import annotations

from collections import Counter

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auscult.arrays.overlap import iou
from auscult.errors import UsageError
from auscult.rng import generator
from auscult.train.candidates import Candidate, CandidateScene, candidates, mixture
from auscult.train.candidates.mixture import MAKERS, SHARES, of_kind, working
from auscult.types import Frame, Mask

KINDS = [kind for kind, _ in mixture()]
HEIGHT, WIDTH = 150, 190


def test_weights_are_shares_and_names_are_unique() -> None:
    kinds = mixture()
    assert sum(weight for _, weight in kinds) == pytest.approx(1.0)
    assert all(weight > 0 for _, weight in kinds)
    assert set(SHARES) == set(MAKERS)
    assert len({kind for kind, _ in kinds}) == len(kinds)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_keeps_what_it_promises(kind: str) -> None:
    made_candidates = [
        (scene, candidate)
        for number, scene in enumerate((_scene(), _scene(thin=True), _scene(parts=True)))
        for candidate in _several(scene, kind, number)
    ]
    assert made_candidates, "no object allows this kind"
    for scene, candidate in made_candidates:
        assert candidate.kind == kind
        _check(scene, candidate)


def test_the_same_generator_gives_the_same_candidates() -> None:
    first, second = (candidates(_scene(), generator(3, "x"), 40) for _ in range(2))
    assert [(candidate.kind, candidate.defect, candidate.iou) for candidate in first] == [
        (candidate.kind, candidate.defect, candidate.iou) for candidate in second
    ]
    assert all((candidate.mask == other.mask).all() for candidate, other in zip(first, second, strict=True))
    other = candidates(_scene(), generator(4, "x"), 40)
    assert [candidate.iou for candidate in first] != [candidate.iou for candidate in other]


def test_groups_come_in_their_shares_no_type_is_rare_and_the_iou_spreads() -> None:
    scene = _scene()
    made_candidates = [candidate for call in range(80) for candidate in candidates(scene, generator(5, call), 6)]
    group_of = {kind: group for group, makers in MAKERS.items() for kind in makers}
    groups = Counter(group_of[candidate.kind] for candidate in made_candidates)
    for group, share in SHARES.items():
        assert groups[group] / len(made_candidates) == pytest.approx(share, abs=0.04), groups
    counts = Counter(candidate.defect for candidate in made_candidates)
    for defect in ("perfect", "cutout", "dilate", "erode", "merge"):
        assert 0.07 < counts[defect] / len(made_candidates) < 0.22, counts
    assert counts["cutout"] > groups["cutout"]  # parts that end along inner edges are cutouts too
    assert 0.2 < counts[None] / len(made_candidates) < 0.4
    objects = np.array([candidate.iou for candidate in made_candidates if candidate.defect != "arbitrary"])
    assert np.mean(objects > 0.7) > 0.6
    shares, _ = np.histogram(objects, (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01))
    assert (shares / objects.size > 0.008).all(), shares / objects.size


def test_nothing_given_is_written_to() -> None:
    scene = _scene()
    given_arrays = [scene.frame, scene.mask, *scene.others, *(scene.before or ())]
    copies = [array.copy() for array in given_arrays]
    for kind in KINDS:
        _several(scene, kind, 0)
    assert all((array == copy).all() for array, copy in zip(given_arrays, copies, strict=True))


def test_without_others_there_is_no_merge_and_without_a_neighbour_no_flow() -> None:
    with_others = _scene()
    alone = CandidateScene(frame=with_others.frame, mask=with_others.mask)
    made_candidates = candidates(alone, generator(6), 120)
    assert len(made_candidates) == 120
    assert not any(candidate.defect == "merge" for candidate in made_candidates)
    assert not {"delayed", "propagated"} & {candidate.kind for candidate in made_candidates}


def test_flow_carries_a_mask_nearer_than_waiting_does() -> None:
    scene = _scene()
    assert scene.before is not None
    stale = iou(scene.before[1], scene.mask)
    carried = [candidate.iou for candidate in _several(scene, "propagated", 1)]
    assert np.median(carried) > stale + 0.03


def test_others_may_be_larger_than_the_object() -> None:
    scene = _scene()
    beside_larger = CandidateScene(frame=scene.frame, mask=scene.mask, others=scene.others[:1])
    merge_candidates = _several(beside_larger, "any_other", 2)
    assert merge_candidates
    assert all(candidate.iou < 0.5 and candidate.defect == "merge" for candidate in merge_candidates)


@settings(deadline=None, max_examples=20)
@given(
    st.tuples(st.integers(-20, 170), st.integers(-20, 210), st.integers(1, 120), st.integers(1, 120)),
    st.integers(0, 2**32),
)
def test_any_object_gives_as_many_as_wanted(ellipse: tuple[int, int, int, int], seed: int) -> None:
    row, column, high, wide = ellipse
    object_mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.ellipse(object_mask, (column, row), (wide, high), 0.0, 0.0, 360.0, (1,), -1)
    object_mask[min(max(row, 0), HEIGHT - 1), min(max(column, 0), WIDTH - 1)] = 1
    scene = CandidateScene(frame=_scene().frame, mask=object_mask.view(np.bool_))
    made_candidates = candidates(scene, generator(seed), 8)
    assert len(made_candidates) == 8
    for candidate in made_candidates:
        _check(scene, candidate)


def test_what_does_not_fit_is_refused() -> None:
    scene = _scene()
    with pytest.raises(UsageError, match="empty"):
        candidates(CandidateScene(frame=scene.frame, mask=np.zeros_like(scene.mask)), generator(0), 1)
    with pytest.raises(UsageError, match="shapes"):
        candidates(CandidateScene(frame=scene.frame[:-1], mask=scene.mask), generator(0), 1)
    with pytest.raises(UsageError, match="shapes"):
        candidates(CandidateScene(frame=scene.frame, mask=scene.mask, others=(scene.mask[1:],)), generator(0), 1)


def _several(scene: CandidateScene, kind: str, number: int) -> list[Candidate]:
    work, rng = working(scene), generator(9, kind, number)
    return [candidate for candidate in (of_kind(work, kind, rng) for _ in range(5)) if candidate is not None]


def _check(scene: CandidateScene, candidate: Candidate) -> None:
    """The promises of ``Candidate``, each by its plainest computation."""
    truth, mask = scene.mask, candidate.mask
    assert mask.shape == truth.shape
    assert mask.dtype == np.bool_
    assert mask.any()
    assert candidate.iou == iou(mask, truth)
    if candidate.defect != "perfect":
        assert candidate.iou < 1.0
    missing, gained = truth & ~mask, mask & ~truth
    if candidate.defect == "perfect":
        assert candidate.iou >= 0.97
    elif candidate.defect in {"erode", "cutout"}:
        assert missing.any()
        assert not gained.any()
    elif candidate.defect == "dilate":
        assert gained.any()
        assert not missing.any()
    elif candidate.defect == "merge":
        assert not missing.any()
        shares = [np.count_nonzero(other & gained) / max(1, np.count_nonzero(other)) for other in scene.others]
        assert max(shares) >= 0.5
    elif candidate.defect == "arbitrary":
        assert candidate.iou < 0.05


def _scene(*, thin: bool = False, parts: bool = False) -> CandidateScene:
    """A coloured blob with a limb on a textured ground, a larger and a smaller other object, and a frame before."""
    mask, before = (_object(shift, thin=thin, parts=parts) for shift in (0, -6))
    large, small = (np.zeros((HEIGHT, WIDTH), np.uint8) for _ in range(2))
    cv2.rectangle(large, (100, 5), (185, 140), (1,), -1)
    cv2.circle(small, (15, 20), 11, (1,), -1)
    others = (large.view(np.bool_) & ~mask, small.view(np.bool_))
    return CandidateScene(
        frame=_painted_frame(mask, others, shift=0),
        mask=mask,
        others=others,
        before=(_painted_frame(before, others, shift=-6), before),
    )


def _object(shift: int, *, thin: bool, parts: bool) -> Mask:
    object_mask = np.zeros((HEIGHT, WIDTH), np.uint8)
    if thin:
        cv2.ellipse(object_mask, (60 + shift, 75), (48, 9), 30.0, 0.0, 360.0, (1,), -1)
    else:
        cv2.ellipse(object_mask, (60 + shift, 70), (30, 36), 0.0, 0.0, 360.0, (1,), -1)
    cv2.line(object_mask, (60 + shift, 95), (84 + shift, 136), (1,), 9)
    if parts:
        object_mask[:, 66 + shift : 72 + shift] = 0
    return object_mask.view(np.bool_)


def _painted_frame(mask: Mask, others: tuple[Mask, ...], *, shift: int) -> Frame:
    rng = generator(11, "texture")
    ground = rng.integers(60, 200, (HEIGHT // 10, WIDTH // 10, 3), dtype=np.uint8)
    frame = np.array(cv2.resize(ground, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    spots = rng.integers(0, 90, (HEIGHT, WIDTH + 20), dtype=np.uint8)[:, 10 - shift : 10 - shift + WIDTH]
    for other, colour in zip(others, ((40, 90, 200), (200, 40, 160)), strict=True):
        frame[other] = colour
    frame[mask] = np.stack([160 + spots // 2, 60 + spots, 40 + spots // 3], axis=-1)[mask]
    return frame
