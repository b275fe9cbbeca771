"""Laws that hold for any masks and any numbers."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from auscult.score.masks import boundary_f, iou, j_and_f, miou, oiou
from auscult.score.stats import f2_confusion, f2_tables, rmse, rmse_video, spearman

LAW = settings(deadline=None, max_examples=40)
SHAPE = st.tuples(st.integers(1, 12), st.integers(1, 16))


def masks_of(shape):
    return hnp.arrays(np.bool_, shape)


PAIRS = SHAPE.flatmap(lambda shape: st.tuples(masks_of(shape), masks_of(shape)))
CLIPS = st.tuples(st.integers(3, 6), st.integers(1, 9), st.integers(1, 9)).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(np.uint8, shape, elements=st.integers(0, 3))] * 2)
)
BATCHES = st.lists(PAIRS, min_size=1, max_size=6)
SHARES = st.floats(0, 1, width=32)
LABELS = ("perfect", "erode", "merge")
LABELLED = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30)


@given(PAIRS)
@LAW
def test_j_and_f_do_not_care_which_mask_is_the_prediction(pair):
    first, second = pair
    assert iou(first, second).value == iou(second, first).value
    assert boundary_f(first, second).value == boundary_f(second, first).value
    forth, reverse = boundary_f(first, second), boundary_f(second, first)
    assert (forth.precision, forth.recall) == (reverse.recall, reverse.precision)


@given(PAIRS)
@LAW
def test_scores_are_in_range_and_a_mask_agrees_with_itself(pair):
    for score in (iou, boundary_f, j_and_f):
        assert 0.0 <= score(*pair).value <= 1.0
        assert score(pair[0], pair[0]).value == 1.0


@given(PAIRS)
@LAW
def test_iou_is_one_only_for_equal_masks(pair):
    assert (iou(*pair).value == 1.0) == np.array_equal(*pair)


@given(PAIRS, st.floats(0, 0.5), st.floats(0, 0.5))
@LAW
def test_a_wider_tolerance_never_lowers_f(pair, one, other):
    narrow, wide = sorted((one, other))
    assert boundary_f(*pair, tolerance=narrow).value <= boundary_f(*pair, tolerance=wide).value + 1e-12


@given(PAIRS, st.tuples(*[st.integers(0, 5)] * 4))
@LAW
def test_iou_does_not_care_where_in_the_frame_the_masks_are(pair, room):
    top, bottom, left_px, right = room
    padded = [np.pad(mask, ((top, bottom), (left_px, right))) for mask in pair]
    assert iou(*padded).value == iou(*pair).value


@given(CLIPS, st.randoms(use_true_random=False))
@LAW
def test_the_order_of_frames_does_not_matter(clip, random):
    prediction, truth = clip
    order = list(range(len(truth)))
    random.shuffle(order)
    assert j_and_f(prediction[order], truth[order]).value == j_and_f(prediction, truth).value
    inner = [0, *random.sample(range(1, len(truth) - 1), len(truth) - 2), len(truth) - 1]
    assume((truth > 0).any())
    result = j_and_f(prediction, truth, protocol="davis2017")
    assert j_and_f(prediction[inner], truth[inner], protocol="davis2017").value == result.value


@given(CLIPS)
@LAW
def test_j_and_f_is_the_mean_of_j_and_f_and_of_its_objects_and_frames(clip):
    assume((clip[1] > 0).any())
    for protocol in ("davis2016", "davis2017"):
        result = j_and_f(*clip, protocol=protocol)
        assert result.value == (result.j + result.f) / 2
        assert result.j == pytest.approx(
            np.mean([np.mean(object_score.j_per_frame) for object_score in result.objects])
        )
        assert result.f == pytest.approx(
            np.mean([np.mean(object_score.f_per_frame) for object_score in result.objects])
        )


@given(CLIPS)
@LAW
def test_a_clip_scores_as_its_frames_alone(clip):
    clip_score = j_and_f(*clip).objects[0]
    alone = [j_and_f(prediction, truth) for prediction, truth in zip(*clip, strict=True)]
    assert clip_score.j_per_frame == tuple(score.j for score in alone)
    assert clip_score.f_per_frame == tuple(score.f for score in alone)


@given(CLIPS, st.integers(0, 5))
@LAW
def test_a_frame_given_twice_moves_the_mean_by_its_own_share(clip, at):
    at %= len(clip[0])
    longer = [np.concatenate([frames, frames[at : at + 1]]) for frames in clip]
    before, after = j_and_f(*clip).objects[0], j_and_f(*longer).objects[0]
    count = len(clip[0])
    assert after.j == pytest.approx((count * before.j + before.j_per_frame[at]) / (count + 1))
    assert after.f == pytest.approx((count * before.f + before.f_per_frame[at]) / (count + 1))


@given(CLIPS)
@LAW
def test_numbering_the_objects_otherwise_changes_nothing(clip):
    assume((clip[1] > 0).any())
    renumber = np.array([0, 7, 254, 31], np.uint8)
    result = j_and_f(*clip, protocol="davis2017")
    assert j_and_f(*(renumber[frames] for frames in clip), protocol="davis2017").value == result.value
    assert j_and_f(*(frames.astype(np.int64) for frames in clip), protocol="davis2017").value == result.value


@given(BATCHES)
@LAW
def test_batches_do_not_change_miou_or_oiou(batch):
    predictions, truths = zip(*batch, strict=True)
    alone = [iou(*pair).value for pair in batch]
    assert miou(predictions, truths).value == pytest.approx(np.mean(alone))
    shared = sum(int((p & t).sum()) for p, t in batch)
    either = sum(int((p | t).sum()) for p, t in batch)
    assert oiou(predictions, truths).value == pytest.approx(shared / either if either else 1.0)
    assert min(alone) - 1e-12 <= miou(predictions, truths).value <= max(alone) + 1e-12


@given(st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=20), st.integers(1, 4))
@LAW
def test_rmse_bounds_the_mean_error_and_videos_of_equal_length_never_raise_it(pairs, length):
    predicted, true = (np.repeat(column, length) for column in zip(*pairs, strict=True))
    value = rmse(predicted, true).value
    assert abs(np.mean(predicted) - np.mean(true)) <= value + 1e-9
    assert value <= np.max(np.abs(predicted - true)) + 1e-9
    videos = [number // length for number in range(len(predicted))]
    assert rmse_video(predicted, true, videos=videos).value == pytest.approx(value, abs=1e-9)
    assert rmse_video(predicted, true, videos=[0] * len(predicted)).value <= value + 1e-9


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=25))
@LAW
def test_spearman_is_symmetric_and_blind_to_rising_scales(pairs):
    first, other = (np.array(column, float) for column in zip(*pairs, strict=True))
    assume(len(set(first)) > 1 and len(set(other)) > 1)
    value = spearman(first, other).value
    assert -1.0 <= value <= 1.0
    assert spearman(other, first).value == pytest.approx(value)
    assert spearman(np.exp(first), 3 * other - 7).value == pytest.approx(value)
    assert spearman(-first, other).value == pytest.approx(-value)


@given(LABELLED, st.randoms(use_true_random=False))
@LAW
def test_f2_is_in_range_one_for_the_truth_and_blind_to_order(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    for score in (f2_tables, f2_confusion):
        predicted, true = zip(*pairs, strict=True)
        value = score(predicted, true, LABELS).value
        assert 0.0 <= value <= 1.0
        assert score(true, true, LABELS).value == 1.0
        assert score(*zip(*shuffled, strict=True), LABELS).value == value


@given(LABELLED)
@LAW
def test_each_column_of_the_tables_is_recall_on_another_scale(pairs):
    predicted, true = zip(*pairs, strict=True)
    row = f2_tables(predicted, true, LABELS)
    for label in set(true):
        recall = np.mean([guess == label for guess, truth in pairs if truth == label])
        assert row.columns[label].value == pytest.approx(5 * recall / (4 + recall))
