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
from auscult.train.candidates import Candidate, CandidateScene, candidates, mixture, of_mask
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
    made = [
        (scene, one)
        for number, scene in enumerate((_scene(), _scene(thin=True), _scene(parts=True)))
        for one in _several(scene, kind, number)
    ]
    assert made, "no object allows this kind"
    for scene, one in made:
        assert one.kind == kind
        _check(scene, one)


def test_the_same_generator_gives_the_same_candidates() -> None:
    first, again = (candidates(_scene(), generator(3, "x"), 40) for _ in range(2))
    assert [(one.kind, one.defect, one.iou) for one in first] == [(one.kind, one.defect, one.iou) for one in again]
    assert all((one.mask == other.mask).all() for one, other in zip(first, again, strict=True))
    other = candidates(_scene(), generator(4, "x"), 40)
    assert [one.iou for one in first] != [one.iou for one in other]


def test_groups_come_in_their_shares_no_type_is_rare_and_the_iou_spreads() -> None:
    scene = _scene()
    made = [one for call in range(80) for one in candidates(scene, generator(5, call), 6)]
    group_of = {kind: group for group, makers in MAKERS.items() for kind in makers}
    groups = Counter(group_of[one.kind] for one in made)
    for group, share in SHARES.items():
        assert groups[group] / len(made) == pytest.approx(share, abs=0.04), groups
    counts = Counter(one.defect for one in made)
    for defect in ("perfect", "cutout", "dilate", "erode", "merge"):
        assert 0.07 < counts[defect] / len(made) < 0.22, counts
    assert counts["cutout"] > groups["cutout"]  # parts that end along inner edges are cutouts too
    assert 0.2 < counts[None] / len(made) < 0.4
    objects = np.array([one.iou for one in made if one.defect != "arbitrary"])
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
    whole = _scene()
    alone = CandidateScene(frame=whole.frame, mask=whole.mask)
    made = candidates(alone, generator(6), 120)
    assert len(made) == 120
    assert not any(one.defect == "merge" for one in made)
    assert not {"delayed", "propagated"} & {one.kind for one in made}


def test_flow_carries_a_mask_nearer_than_waiting_does() -> None:
    scene = _scene()
    assert scene.before is not None
    stale = iou(scene.before[1], scene.mask)
    carried = [one.iou for one in _several(scene, "propagated", 1)]
    assert np.median(carried) > stale + 0.03


def test_others_may_be_larger_than_the_object() -> None:
    scene = _scene()
    beside_larger = CandidateScene(frame=scene.frame, mask=scene.mask, others=scene.others[:1])
    merged = _several(beside_larger, "any_other", 2)
    assert merged
    assert all(one.iou < 0.5 and one.defect == "merge" for one in merged)


@settings(deadline=None, max_examples=20)
@given(
    st.tuples(st.integers(-20, 170), st.integers(-20, 210), st.integers(1, 120), st.integers(1, 120)),
    st.integers(0, 2**32),
)
def test_any_object_gives_as_many_as_wanted(ellipse: tuple[int, int, int, int], seed: int) -> None:
    row, column, high, wide = ellipse
    drawn = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.ellipse(drawn, (column, row), (wide, high), 0.0, 0.0, 360.0, (1,), -1)
    drawn[min(max(row, 0), HEIGHT - 1), min(max(column, 0), WIDTH - 1)] = 1
    scene = CandidateScene(frame=_scene().frame, mask=drawn.view(np.bool_))
    made = candidates(scene, generator(seed), 8)
    assert len(made) == 8
    for one in made:
        _check(scene, one)


def test_what_does_not_fit_is_refused() -> None:
    scene = _scene()
    with pytest.raises(UsageError, match="empty"):
        candidates(CandidateScene(frame=scene.frame, mask=np.zeros_like(scene.mask)), generator(0), 1)
    with pytest.raises(UsageError, match="shapes"):
        candidates(CandidateScene(frame=scene.frame[:-1], mask=scene.mask), generator(0), 1)
    with pytest.raises(UsageError, match="shapes"):
        candidates(CandidateScene(frame=scene.frame, mask=scene.mask, others=(scene.mask[1:],)), generator(0), 1)
    with pytest.raises(UsageError, match="dtype"):
        of_mask(scene, scene.mask[1:], kind="osvos")


def test_a_given_mask_has_no_type() -> None:
    scene = _scene()
    one = of_mask(scene, scene.others[0] | scene.mask, kind="osvos")
    assert one is not None
    assert one.defect is None
    assert one.kind == "osvos"
    assert one.iou == iou(one.mask, scene.mask)
    assert of_mask(scene, np.zeros_like(scene.mask), kind="osvos") is None


def _several(scene: CandidateScene, kind: str, number: int) -> list[Candidate]:
    work, rng = working(scene), generator(9, kind, number)
    return [one for one in (of_kind(work, kind, rng) for _ in range(5)) if one is not None]


def _check(scene: CandidateScene, one: Candidate) -> None:
    """The promises of ``Candidate``, each by its plainest computation."""
    truth, mask = scene.mask, one.mask
    assert mask.shape == truth.shape
    assert mask.dtype == np.bool_
    assert mask.any()
    assert one.iou == iou(mask, truth)
    if one.defect != "perfect":
        assert one.iou < 1.0
    lost, gained = truth & ~mask, mask & ~truth
    if one.defect == "perfect":
        assert one.iou >= 0.97
    elif one.defect in {"erode", "cutout"}:
        assert lost.any()
        assert not gained.any()
    elif one.defect == "dilate":
        assert gained.any()
        assert not lost.any()
    elif one.defect == "merge":
        assert not lost.any()
        shares = [np.count_nonzero(other & gained) / max(1, np.count_nonzero(other)) for other in scene.others]
        assert max(shares) >= 0.5
    elif one.defect == "arbitrary":
        assert one.iou < 0.05


def _scene(*, thin: bool = False, parts: bool = False) -> CandidateScene:
    """A coloured blob with a limb on a textured ground, a larger and a smaller other object, and a frame before."""
    mask, before = (_object(shift, thin=thin, parts=parts) for shift in (0, -6))
    large, small = (np.zeros((HEIGHT, WIDTH), np.uint8) for _ in range(2))
    cv2.rectangle(large, (100, 5), (185, 140), (1,), -1)
    cv2.circle(small, (15, 20), 11, (1,), -1)
    others = (large.view(np.bool_) & ~mask, small.view(np.bool_))
    return CandidateScene(
        frame=_painted(mask, others, shift=0),
        mask=mask,
        others=others,
        before=(_painted(before, others, shift=-6), before),
    )


def _object(shift: int, *, thin: bool, parts: bool) -> Mask:
    drawn = np.zeros((HEIGHT, WIDTH), np.uint8)
    if thin:
        cv2.ellipse(drawn, (60 + shift, 75), (48, 9), 30.0, 0.0, 360.0, (1,), -1)
    else:
        cv2.ellipse(drawn, (60 + shift, 70), (30, 36), 0.0, 0.0, 360.0, (1,), -1)
    cv2.line(drawn, (60 + shift, 95), (84 + shift, 136), (1,), 9)
    if parts:
        drawn[:, 66 + shift : 72 + shift] = 0
    return drawn.view(np.bool_)


def _painted(mask: Mask, others: tuple[Mask, ...], *, shift: int) -> Frame:
    rng = generator(11, "texture")
    ground = rng.integers(60, 200, (HEIGHT // 10, WIDTH // 10, 3), dtype=np.uint8)
    frame = np.array(cv2.resize(ground, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR), dtype=np.uint8)
    spots = rng.integers(0, 90, (HEIGHT, WIDTH + 20), dtype=np.uint8)[:, 10 - shift : 10 - shift + WIDTH]
    for other, colour in zip(others, ((40, 90, 200), (200, 40, 160)), strict=True):
        frame[other] = colour
    frame[mask] = np.stack([160 + spots // 2, 60 + spots, 40 + spots // 3], axis=-1)[mask]
    return frame
