"""Scores of answers: values worked by hand from the paper's equations, who is counted, how the release differs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auscult.arrays.boxes import FrameBoxes, SoundingBoxes
from auscult.errors import ErrorRecord, InputError
from auscult.outcome import Failed, Undefined
from auscult.score.answers import amic, double_confirmation, equal_lists, full_match, normal, retrieval, vmic
from auscult.score.boxes import PROMPTED, BoxConvention, avl, avlg, from_xywh, iou_of_boxes

FAILED, SILENT = Failed(ErrorRecord(stage="work", error="timed out")), Undefined("no answer in the reply")
PICTURE = {"width": 100, "height": 100}


def close(value):
    return pytest.approx(value, abs=1e-9)


def test_amic_by_hand():
    """F1 2/3 and 2/3; errors |2-3| = 1 and (7 + 0) / 2 = 3.5; RMSE sqrt((1 + 12.25) / 2)."""
    truths = [{"dog": 3}, {"cat": 1, "bell": 2}]
    score = amic([{"dog": 2, "cat": 1}, {"bell": 2}], truths)
    assert score.parts["semantic"] == close(2 / 3)
    assert score.parts["rmse"] == close(math.sqrt(6.625))
    assert score.parts["counting"] == pytest.approx(0.351809, abs=1e-6)  # 1 - tanh(0.3 * 2.573908)
    assert score.value == pytest.approx(0.509238, abs=1e-6)
    assert "tau:7.0|k:0.3" in str(score.signature)


def test_vmic_by_hand_looks_at_the_true_classes_only():
    """Recall 1 and 1/2 whatever else is named; errors 1 and (12 + 0) / 2 = 6; RMSE sqrt(18.5)."""
    score = vmic([{"dog": 2, "cat": 1}, {"bell": 2, "cup": 90}], [{"dog": 3}, {"cat": 1, "bell": 2}])
    assert (score.parts["semantic"], score.parts["rmse"]) == (close(0.75), close(math.sqrt(18.5)))
    assert score.value == close((0.75 + 1 - math.tanh(0.3 * math.sqrt(18.5))) / 2)


def test_where_no_class_is_right_counting_is_nothing_and_a_zero_names_nothing():
    assert amic([{"cat": 3}], [{"dog": 3}]).value == 0
    assert vmic([{"dog": 0, "cat": 0}], [{"dog": 3}]).value == 0
    assert amic([{"dog": 3, "cat": 0}], [{"dog": 3}]).value == 1


@pytest.mark.parametrize(
    ("score", "variant", "prediction", "truth", "rmse"),
    [
        (amic, "cap", {"dog": 1_000_000, "cat": 1}, {"dog": 2, "cat": 1}, (499_999, 20)),
        (vmic, "lenient", {"dog": 30, "cat": 3}, {"dog": 10, "cat": 1}, (11, 1)),
        (amic, "true_count", SILENT, {"dog": 2, "cat": 4}, (7, 3)),
        (vmic, "true_count", SILENT, {"dog": 2, "cat": 4}, (12, 3)),
    ],
)
def test_what_the_release_does_to_counts(score, variant, prediction, truth, rmse):
    others = ([{"dog": 1}], [{"dog": 1}])  # so that the semantic half is not 0
    paper, changed_score, release = (
        score([prediction, *others[0]], [truth, *others[1]], variant=variant_)
        for variant_ in ("paper", variant, "AVI-Bench")
    )
    root_two = math.sqrt(2)
    assert (paper.parts["rmse"] * root_two, changed_score.parts["rmse"] * root_two) == (close(rmse[0]), close(rmse[1]))
    assert release.value == changed_score.value > paper.value
    assert f"variant:{variant}" in str(changed_score.signature)


def test_avl_by_hand():
    """Truth a 50x50, a 20x20, b 10x10: the first takes the best a (IoU .8), the second finds none left, nor does b.

    mIoU .8 / 3; two of three are missed; 0.7 * 0.8 / 3 + 0.3 * (1 - tanh 2).
    """
    truth = SoundingBoxes(
        **PICTURE, boxes=[("a", (0, 0, 50, 50)), ("a", (0, 0, 20, 20)), ("b", from_xywh((80, 80, 10, 10)))]
    )
    given_boxes = [("a", (0.0, 0.0, 0.5, 0.4)), ("b", (0.1, 0.1, 0.2, 0.2)), ("c", (0.8, 0.8, 0.9, 0.9))]
    score = avl([given_boxes], [truth])
    assert (score.parts["miou"], score.parts["rmse"]) == (close(0.8 / 3), close(2))
    assert score.value == close(0.7 * 0.8 / 3 + 0.3 * (1 - math.tanh(2)))


def test_what_the_release_does_to_boxes():
    truth = SoundingBoxes(**PICTURE, boxes=[("a", (0, 0, 50, 50))])
    right, thousandths = [("a", (0, 0, 0.5, 0.5))], [("a", (0, 0, 500, 500))]
    assert 1 - avl([right], [truth], variant="divisor").value == pytest.approx(0.7e-5, rel=1e-3)
    silent_score = avl([SILENT], [truth])
    assert silent_score.value == close(0.3 * (1 - math.tanh(1)))
    assert avl([SILENT], [truth], variant="free_unparsed").value == close(0.3)  # a reward of 0.228
    assert avl([thousandths], [truth]).value == close(0.3 + 0.7e-6)  # Eq. 23: a box that covers all is a match
    assert avl([thousandths], [truth], variant="guessed_scale").value == 1
    pixels = [("a", (0, 0, 50, 50))]
    assert avl([pixels], [truth], variant="guessed_scale").parts["miou"] == close(0.01)  # taken for thousandths
    frames = FrameBoxes(**PICTURE, boxes=[None, (0, 0, 50, 50)])
    assert avlg([(None, (0, 0, 0.5, 0.5))], [frames]).value == 1
    assert avlg([(None, (0, 0, 0.5, 0.5))], [frames], variant="null_list").value == 0.5


def test_the_profile_says_how_boxes_are_given():
    box = (10.0, 20.0, 60.0, 40.0)
    for convention, box_given in (
        (PROMPTED, (0.1, 0.2, 0.6, 0.4)),
        (BoxConvention("yxyx", "thousandths"), (200, 100, 400, 600)),
        (BoxConvention("xywh", "pixels"), (10, 20, 50, 20)),
    ):
        score = avl([[("a", box_given)]], [SoundingBoxes(**PICTURE, boxes=[("a", box)])], convention=convention)
        assert score.value == close(1)
        assert f"boxes:{convention}" in str(score.signature)


def test_avlg_by_hand():
    """Frames .5 (half the box), 1 (none on none), 0 (none on a box), 0 (a box on none); videos 1.5 / 4 and 1."""
    true_box, half_box = (0, 0, 50, 50), (0, 0, 0.5, 0.25)
    truths = [FrameBoxes(**PICTURE, boxes=(true_box, None, true_box, None)), FrameBoxes(**PICTURE, boxes=(None,))]
    assert avlg([(half_box, None, None, half_box), (None,)], truths).value == close((1.5 / 4 + 1) / 2)
    assert avlg([SILENT, (None,)], truths).value == 0.5
    assert avlg([(half_box,), (None, half_box)], truths).value == close(
        (2.5 / 4 + 1) / 2
    )  # what is not answered is missing


def test_retrieval_by_hand():
    """First: R@1 0, R@3 1, F1 2*1/(2+2); second: 1, 1, 2*2/(7+2) with confidence .3."""
    score = retrieval([(5, 1), (0, 1, 2, 3, 4, 5, 6)], [(1, 2), (0, 6)])
    assert [score.parts[name] for name in ("r1", "r3", "confidence", "penalty")] == [0.5, 1, close(0.65), 1]
    assert score.parts["f1"] == close((1 / 2 + 4 / 9) / 2)
    assert score.value == close((0.75 + (1 / 2 + 4 / 9) / 2) / 2 * 0.65)


def test_what_the_release_does_to_an_order():
    given_lists, truths = [(5, 1), (3, 0)], [(5,), (3,)]
    paper, release = (retrieval(given_lists, truths, variant=variant_) for variant_ in ("paper", "AVI-Bench"))
    assert (paper.parts["r1"], release.parts["r1"]) == (1, 0)
    assert paper.value - release.value == close(0.25)
    assert retrieval(given_lists, truths, variant="sorted").value == release.value


def test_the_repeat_penalty_begins_at_four_in_five_and_cannot_fall_below_it():
    def penalty(different, n_lists):
        lists = [(number,) for number in range(different)] + [(0,)] * (n_lists - different)
        return retrieval(lists, [(0,)] * n_lists).parts["penalty"]

    assert penalty(4, 20) == 1
    assert penalty(2, 20) == close(0.9)
    assert penalty(1, 1000) == close(0.801)


def test_of_nothing_relevant_the_empty_list_is_right():
    assert retrieval([()], [()]).value == 1
    assert retrieval([(1,), SILENT], [(), ()]).value == 0
    assert retrieval([(2, 2, 2)], [(2,)]).value == 1


def test_arrays_of_numbers_are_indices_and_counts():
    assert retrieval([np.array([1, 2])], [[1]]) == retrieval([[1, 2]], [[1]])
    assert amic([{"dog": np.int64(2)}], [{"dog": 2}]).value == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: retrieval([["1"]], [[1]]), lambda: retrieval([[1.0]], [[1]]), lambda: full_match([1], ["1"]),
        lambda: full_match([1], [1]), lambda: equal_lists([[1]], [["1"]]),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_refused_and_not_wrong(call):
    with pytest.raises(InputError):
        call()


def test_full_match_and_lists():
    assert full_match(["Red.", "not_sure", "blue"], ["red", "not sure", "green"]).value == close(2 / 3)
    assert full_match(["-5", "1.5", "уes"], ["5", "15", "yes"]).value == 0  # the last begins with a Cyrillic letter
    assert equal_lists([("dog", "Car"), ("a",), ("a", "b")], [("car", "dog"), ("a", "a"), ("a", "b", "c")]).value == (
        close(1 / 3)
    )
    assert equal_lists(["ab"], [("a", "b")]).value == 0


def test_a_wrong_confirmation_makes_nothing_of_a_right_answer():
    truths = [("red", "yes")] * 4 + [("3", None)]
    answers = [("red", "yes"), ("red", "no"), ("blue", "yes"), ("red", SILENT), ("3", None)]
    columns = double_confirmation(answers, truths)
    assert (columns["with"].value, columns["without"].value) == (0.4, 0.8)
    assert (columns["with"].unparsed, columns["without"].unparsed) == (1, 0)
    skipped = double_confirmation([*answers[:4], (FAILED, None)], truths, unparsed="skip")
    assert (skipped["with"].n, skipped["with"].failed, skipped["without"].n) == (3, 1, 4)


def test_failed_enters_nothing_and_unparsed_is_wrong_or_skipped():
    replies, truths = ["yes", FAILED, SILENT, "no"], ["yes"] * 4
    wrong, skipped = (full_match(replies, truths, unparsed=rule) for rule in ("wrong", "skip"))
    assert (wrong.value, wrong.n, wrong.failed, wrong.unparsed) == (close(1 / 3), 3, 1, 1)
    assert (skipped.value, skipped.n, skipped.failed, skipped.unparsed) == (0.5, 2, 1, 1)  # the release: .167 more
    assert wrong.kept == (0, 2, 3)
    dropped_reply = Undefined("300 characters or more", {"skip": True})
    assert full_match(["yes", dropped_reply], truths[:2]).value == 1
    outcome = full_match([FAILED], ["yes"])
    assert isinstance(outcome, Undefined)
    assert outcome.detail == {"failed": 1, "unparsed": 0}


@pytest.mark.parametrize(
    "call",
    [
        lambda: full_match(["a"], []),
        lambda: full_match([], [], unparsed="half"),
        lambda: amic([{}], [{}]),
        lambda: amic([{"a": 1.5}], [{"a": 1}]),
        lambda: amic([{}], [{"a": 1}], variant="lenient"),
        lambda: retrieval([()], [()], variant="cap"),
        lambda: avl([()], [SoundingBoxes(**PICTURE, boxes=())]),
        lambda: avlg([()], [FrameBoxes(**PICTURE, boxes=())]),
    ],
)
def test_what_cannot_be_scored_is_said(call):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.expected


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1)
INDICES = st.lists(st.integers(0, 9), max_size=10)
NUMBER = st.floats(-2, 2) | st.sampled_from([0.0, 0.5, 1.0])
BOX = st.tuples(NUMBER, NUMBER, NUMBER, NUMBER)
REAL = st.tuples(st.floats(0, 40), st.floats(0, 40), st.floats(50, 100), st.floats(50, 100))


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=1, max_size=8), st.sampled_from(["paper", "AVI-Bench"]))
def test_counts_are_bounded_and_in_no_order(pairs, variant):
    predictions, truths = zip(*pairs, strict=True)
    for score in (amic, vmic):
        value = score(predictions, truths, variant=variant).value
        assert 0 <= value <= 1
        assert score(predictions[::-1], truths[::-1], variant=variant).value == close(value)
        assert score(truths, truths, variant=variant).value == 1


@given(st.lists(st.tuples(INDICES, INDICES.filter(bool)), min_size=1, max_size=8))
def test_a_retrieval_is_never_better_than_the_truth(pairs):
    predictions, truths = zip(*pairs, strict=True)
    value = retrieval(predictions, truths).value
    assert 0 <= value <= 1
    assert retrieval([(), *predictions[1:]], truths).parts["f1"] <= retrieval(predictions, truths).parts["f1"] + 1e-12


@given(st.lists(BOX, max_size=4), st.lists(REAL, min_size=1, max_size=4))
def test_boxes_are_bounded_and_one_more_never_hurts_the_mean_of_none(given_boxes, real):
    truth = SoundingBoxes(**PICTURE, boxes=[("a", box) for box in real])
    value = avl([[("a", box) for box in given_boxes]], [truth]).value
    assert avl([()], [truth]).value - 1e-12 <= value <= 1
    assert 0 <= avlg([given_boxes], [FrameBoxes(**PICTURE, boxes=real)]).value <= 1
    assert all(iou_of_boxes(box, box) == close(1) for box in real)
    assert all(iou_of_boxes(box, other) == close(iou_of_boxes(other, box)) for box in given_boxes for other in real)


@given(st.text(max_size=30))
def test_normal_is_settled_at_once(text):
    assert normal(normal(text)) == normal(text)


def test_a_draw_of_the_same_samples_scores_like_those_samples():
    predictions, truths = [{"a": 2}, {"b": 1}, {"a": 1, "b": 4}], [{"a": 1}, {"a": 3}, {"a": 1, "b": 9}]
    score = vmic(predictions, truths)
    weights = np.array([[1.0, 1, 1], [2, 0, 1], [0, 0, 3]])
    draws_ = [[0, 1, 2], [0, 0, 2], [2, 2, 2]]
    direct = [vmic([predictions[index] for index in draw], [truths[index] for index in draw]).value for draw in draws_]
    assert score.resampled(weights) == pytest.approx(direct)
