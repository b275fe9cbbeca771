"""Scores of sentences of which some name nothing: by hand, against a plain second way, and their laws."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.errors import InputError
from auscult.media.rle import Runs, encode
from auscult.outcome import Scored, Undefined
from auscult.rng import generator
from auscult.score.masks import (
    SentenceAreas,
    ciou,
    giou,
    mask_ratio,
    mask_ratios,
    mrr,
    n_acc,
    pictures_of,
    precision_at,
    r2vos_r,
    referring_miou,
    referring_oiou,
    riou,
    t_acc,
)
from auscult.score.stats.change import mean_of_ratios, ratio_change
from auscult.score.stats.few_clusters import SHARE

SIZE = (12, 16)
PUNISHED = (riou, mrr, giou, n_acc)


def sentence(reference, number, predicted, *, shared_px=0, truth=0, picture_px=1000, kind=""):
    return SentenceAreas(
        reference=reference, id=number, picture=f"picture {reference}", kind=kind, predicted_px=predicted,
        both_px=shared_px, truth_px=truth, picture_px=picture_px,
    )  # fmt: skip


# Two references with both kinds of sentences, one with positives alone and one with negatives alone.
BY_HAND = (
    sentence("a", 1, 60, shared_px=50, truth=100),  # 50 of 110
    sentence("a", 2, 100, shared_px=100, truth=100),  # all
    sentence("a", 3, 40, kind="target"),
    sentence("a", 4, 0, kind="category"),
    sentence("b", 1, 30, shared_px=0, truth=20),
    sentence("b", 2, 0, kind="target"),
    sentence("c", 1, 10, shared_px=10, truth=20),
    sentence("d", 1, 100, kind="category"),
)


@pytest.mark.parametrize(
    ("score", "value", "counts"),
    [
        (riou, (Fraction(150, 250) + 0 + Fraction(1, 2)) / 3, (3, 1)),
        (mrr, (Fraction(1, 2) + 1 + 0) / 3, (3, 1)),
        (referring_miou, ((Fraction(50, 110) + 1) / 2 + 0 + Fraction(1, 2)) / 3, (3, 1)),
        (lambda all_: referring_miou(all_, over="sentences"), (Fraction(50, 110) + 1 + Fraction(1, 2)) / 4, (4, 0)),
        (referring_oiou, Fraction(160, 110 + 100 + 50 + 20), (4, 0)),
        (precision_at, Fraction(1, 4), (4, 0)),  # an IoU of just .5 does not pass .5
        (mask_ratio, Fraction(140, 4000), (4, 0)),
        (r2vos_r, 1 - Fraction(140, 200), (8, 0)),
        (giou, (Fraction(50, 110) + 1 + Fraction(1, 2) + 2) / 8, (8, 0)),
        (ciou, Fraction(160, 280 + 140), (8, 0)),
        (n_acc, Fraction(2, 4), (4, 0)),
        (t_acc, Fraction(4, 4), (4, 0)),
    ],
)
def test_by_hand(score, value, counts):
    result = score(BY_HAND)
    assert result.value == pytest.approx(float(value), abs=1e-12)
    assert (result.n, result.undefined) == counts
    assert result.signature.as_dict()["over"]


def test_table_7_has_a_row_for_each_kind_and_origin():
    rows = mask_ratios(BY_HAND)
    assert {kind: round(row.value, 6) for kind, row in rows.items()} == {
        "target": 0.02, "category": 0.05, "origin": 0.05
    }  # fmt: skip


def test_what_does_not_exist_is_undefined():
    positives, negatives = (
        [sentence_ for sentence_ in BY_HAND if sentence_.exists is exists] for exists in (True, False)
    )
    for score, given_ in (
        (riou, negatives), (referring_miou, negatives), (referring_oiou, negatives), (precision_at, negatives),
        (t_acc, negatives), (mrr, positives), (n_acc, positives), (mask_ratio, positives), (r2vos_r, positives),
    ):  # fmt: skip
        assert isinstance(score(given_), Undefined), score
    painted_nothing = [replace(sentence_, predicted_px=0, both_px=0) for sentence_ in BY_HAND]
    assert isinstance(r2vos_r(painted_nothing), Undefined)
    assert isinstance(ciou([sentence_ for sentence_ in painted_nothing if not sentence_.exists]), Undefined)
    assert all(isinstance(score([]), Undefined) for score in (*PUNISHED, ciou, r2vos_r, mask_ratio))


def test_r_rises_where_masks_get_worse_and_no_other_score_does():
    """Ten more wrong pixels on a positive sentence: R says the model became more robust."""
    before = [sentence(1, 1, 50, shared_px=50, truth=50), sentence(1, 2, 30)]
    worse = [replace(before[0], predicted_px=60), before[1]]
    assert r2vos_r(worse).value > r2vos_r(before).value
    for score in (riou, giou, ciou, referring_miou):
        assert score(worse).value < score(before).value


# --- the release's ways


def test_the_releases_precision_sums_over_a_reference():
    """Two sentences of IoU .4: neither passes .5; in the release the second does, with .4 + .4."""
    half_right = [sentence(1, number, 40, shared_px=40, truth=100) for number in (1, 2)]
    assert precision_at(half_right).value == 0
    assert precision_at(half_right, variant="robust_ref_seg").value == 0.5
    two_sentences = precision_at(BY_HAND, variant="robust_ref_seg")
    assert two_sentences.value == 0.5  # .5 itself passes there
    assert two_sentences.signature.as_dict()["tested"] == "running sum of the reference"


@pytest.mark.parametrize(("picture_px", "own_value", "release_value"), [(480 * 480, 0.5, 0.5), (480 * 640, 0.5, 4 / 7)])
def test_the_release_counts_negatives_at_480_x_480(picture_px, own_value, release_value):
    right = sentence(1, 1, 1000, shared_px=1000, truth=1000, picture_px=picture_px)
    invented = sentence(1, 2, 1000, picture_px=picture_px)
    assert riou([right, invented]).value == own_value
    assert riou([right, invented], variant="robust_ref_seg").value == pytest.approx(release_value)


# --- a second way, sentence by sentence over masks, as one would write it down


def random_masks(seed):
    """References with sentences as (prediction, truth or None)."""
    rng = generator(seed, "referring")
    masks_by_reference = {}
    for reference in range(int(rng.integers(1, 5))):
        truth = rng.random(SIZE) < 0.3
        truth[0, 0] = True
        masks_by_reference[reference] = [
            ((rng.random(SIZE) < 0.2) & bool(rng.integers(3)) ^ (truth & (exists > 0)), truth if exists else None)
            for exists in rng.integers(0, 2, size=int(rng.integers(1, 5)))
        ]
    return masks_by_reference


def areas(references, convert=lambda mask: mask):
    return [
        SentenceAreas.of(
            convert(prediction),
            None if truth is None else convert(truth),
            reference=reference, id=number, picture=reference // 2, kind="" if truth is not None else "target",
        )
        for reference, members in references.items()
        for number, (prediction, truth) in enumerate(members)
    ]  # fmt: skip


def plainly(references):
    """rIoU, mRR, mIoU, P@.3 (release) as loops over masks; None where no reference has one."""
    rious, rrs, mious, passed = [], [], [], []
    for members in references.values():
        ious, shared, union, right = [], 0, 0, []
        for prediction, truth in members:
            if truth is None:
                right.append(not prediction.any())
                union += prediction.sum()
            else:
                shared += (prediction & truth).sum()
                union += (prediction | truth).sum()
                ious.append((prediction & truth).sum() / (prediction | truth).sum())
                passed.append(sum(ious) >= 0.3)
        if ious:
            rious.append(shared / union)
            mious.append(sum(ious) / len(ious))
        if right:
            rrs.append(sum(right) / len(right))
    return [None if not values else sum(values) / len(values) for values in (rious, rrs, mious, passed)]


@pytest.mark.parametrize("seed", range(40))
def test_a_plain_second_way_over_masks_says_the_same(seed):
    references = random_masks(seed)
    all_sentences = areas(references)
    release = precision_at(all_sentences, threshold=0.3, variant="robust_ref_seg")
    for outcome, value in zip(
        (riou(all_sentences), mrr(all_sentences), referring_miou(all_sentences), release),
        plainly(references),
        strict=True,
    ):
        if value is None:
            assert isinstance(outcome, Undefined)
        else:
            assert math.isclose(outcome.value, value, abs_tol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_runs_and_encoded_masks_give_the_areas_of_masks(seed):
    references = random_masks(seed)
    assert areas(references) == areas(references, encode) == areas(references, Runs.of)


def test_runs_of_no_length_count_nothing():
    odd = Runs.read({"size": [2, 3], "counts": [0, 1, 0, 0, 0, 2, 2, 1]})
    assert odd.shared(odd) == odd.area == 4
    for mask in (np.zeros((2, 3), bool), np.ones((2, 3), bool)):
        shared_px = int((mask & odd.mask).sum())
        assert (odd.shared(Runs.of(mask)), Runs.of(mask).shared(odd)) == (shared_px, shared_px)


def test_masks_that_cannot_be_compared_are_refused():
    identifiers = {"reference": 1, "id": 1, "picture": 1}
    for convert in (lambda mask: mask, encode):
        with pytest.raises(InputError, match=r"shape|masks are"):
            SentenceAreas.of(convert(np.zeros(SIZE, bool)), convert(np.zeros(SIZE[::-1], bool)), **identifiers)
    with pytest.raises(InputError, match="given as list"):
        SentenceAreas.of([[True]], None, **identifiers)
    with pytest.raises(InputError, match="in both"):
        sentence(1, 1, 5, shared_px=6, truth=10)
    with pytest.raises(InputError, match="one id"):
        giou([BY_HAND[0], BY_HAND[0]])


# --- laws


@st.composite
def sentences(draw):
    drawn_sentences = []
    for reference in range(draw(st.integers(1, 4))):
        truth = draw(st.integers(1, 40))
        for number in range(draw(st.integers(1, 4))):
            true = truth if draw(st.booleans()) else 0
            shared_px = draw(st.integers(0, true))
            wrong = draw(st.integers(0, 50))
            drawn_sentences.append(
                sentence(reference, number, shared_px + wrong, shared_px=shared_px, truth=true, picture_px=100)
            )
    return drawn_sentences


@pytest.mark.parametrize(
    ("score", "expected"),
    # the masks of 40, 30 and 10 pixels count as empty: one is of a negative sentence
    [
        (giou, (Fraction(50, 110) + 1 + 1 + 1 + 1) / 8), (ciou, Fraction(150, 350)),
        (n_acc, Fraction(3, 4)), (t_acc, Fraction(2, 4)),
    ],
)  # fmt: skip
def test_small_masks_count_as_empty_where_the_rule_of_gres_is_chosen(score, expected):
    result = score(BY_HAND, cleared_below=50)
    assert result.value == pytest.approx(float(expected), abs=1e-12)
    assert ("empty_below", "50 px") in result.signature.fields
    with pytest.raises(InputError, match="cleared_below"):
        score(BY_HAND, cleared_below=0)


@given(sentences(), st.data())
def test_an_invented_pixel_never_raises_them(every, data):
    """Wrong pixels on any sentence: beyond the truth of a positive one, or anywhere for a negative one."""
    index = data.draw(st.integers(0, len(every) - 1))
    room = 100 - every[index].either_px
    changed = [*every]
    changed[index] = replace(every[index], predicted_px=every[index].predicted_px + data.draw(st.integers(0, room)))
    for score in (*PUNISHED, ciou):
        before, after = score(every), score(changed)
        assert type(before) is type(after) or score is ciou
        if isinstance(before, Scored) and isinstance(after, Scored):
            assert after.value <= before.value + 1e-12
            assert 0 <= after.value <= 1


@given(sentences())
def test_a_model_that_paints_nothing_and_one_that_is_right(every):
    painted_nothing = [replace(sentence_, predicted_px=0, both_px=0) for sentence_ in every]
    right = [replace(sentence_, predicted_px=sentence_.truth_px, both_px=sentence_.truth_px) for sentence_ in every]

    def value(score, given_):
        outcome = score(given_)
        return outcome.value if isinstance(outcome, Scored) else None

    assert value(mrr, painted_nothing) in (1, None)
    assert value(riou, painted_nothing) in (0, None)
    assert value(t_acc, painted_nothing) in (0, None)
    for score in (*PUNISHED, ciou, referring_miou, referring_oiou, precision_at, t_acc):
        assert value(score, right) in (1, None)


# --- intervals


def test_intervals_draw_pictures_and_two_models_are_paired():
    rng = generator(0, "pictures")
    all_sentences = [
        sentence(number, kind, int(rng.integers(0, 90)) + shared_px, shared_px=shared_px, truth=100 if kind else 0)
        for number in range(40)
        for kind in (0, 1)
        for shared_px in [int(rng.integers(0, 100)) if kind else 0]
    ]
    fewer = [
        sentence_ if sentence_.exists else replace(sentence_, predicted_px=sentence_.predicted_px // 2)
        for sentence_ in all_sentences
    ]
    drawing = {"clusters": pictures_of(all_sentences)}
    for score in (riou, ciou, mask_ratio, referring_oiou):
        result = score(all_sentences)
        interval = mean_of_ratios([result.ratio], rng=generator(0, "draws"), within=SHARE, **drawing)
        assert interval.value == pytest.approx(result.value, abs=1e-12)
        assert interval.low < result.value < interval.high
        assert interval.clusters == 40
    gain = ratio_change([[riou(all_sentences).ratio], [riou(fewer).ratio]], rng=generator(0, "draws"), **drawing)
    assert gain.value == pytest.approx(riou(fewer).value - riou(all_sentences).value)
    assert gain.low > 0
