import pytest

from auscult.errors import InputError
from auscult.outcome import Undefined
from auscult.score.stats import confusion, f2_confusion, f2_tables, f2_video, f_beta
from auscult.types import ACTIONS, DEFECTS


def test_f_beta_from_counts():
    precision, recall = 6 / 8, 6 / 10
    assert f_beta(6, 2, 4).value == pytest.approx(5 * precision * recall / (4 * precision + recall))
    assert f_beta(6, 2, 4, beta=1).value == pytest.approx(2 * precision * recall / (precision + recall))
    assert f_beta(0, 3, 4).value == 0.0
    assert f_beta(0, 0, 4).value == 0.0
    assert isinstance(f_beta(0, 0, 0), Undefined)
    assert f_beta(6, 2, 4).signature.as_dict()["beta"] == "2"


@pytest.mark.parametrize(("counts", "beta"), [((-1, 0, 0), 2), ((1, 0, 0), 0), ((1, 0, 0), float("nan"))])
def test_f_beta_refuses_impossible_counts_and_betas(counts, beta):
    with pytest.raises(InputError):
        f_beta(*counts, beta=beta)


def test_confusion_has_truth_in_rows():
    value = confusion(["erode", "merge", None], ["erode", "erode", "merge"], ["erode", "merge"]).value
    assert value.counts == ((1, 1), (0, 0))
    assert value.unparsed == (0, 1)


def test_a_judge_that_says_perfect_to_all_shines_in_one_column_and_fails_in_the_confusion():
    true = [defect for defect in DEFECTS for _ in range(10)]
    always = ["perfect"] * len(true)
    tables, matrix_score = f2_tables(always, true, DEFECTS), f2_confusion(always, true, DEFECTS)
    assert tables.columns["perfect"].value == 1.0
    assert tables.value == pytest.approx(1 / 6)
    assert matrix_score.parts["perfect"].value == pytest.approx(5 * 10 / (5 * 10 + 50))
    assert matrix_score.value == pytest.approx(0.5 / 6)


def test_action_columns_average_the_actions_that_occur_in_them():
    # Among the three actions of a merge column precision matters; an action that is not true there is only a miss.
    true = ["minor_revision"] * 4 + ["major_revision"] * 4 + ["reject"] * 2
    predicted = ["minor_revision"] * 4 + ["minor_revision"] * 2 + ["major_revision"] * 2 + ["reject", "accept"]
    row = f2_tables(predicted, true, ACTIONS, columns=["merge"] * 10)
    minor, major, reject = 5 * 4 / (5 * 4 + 2), 5 * 2 / (5 * 2 + 4 * 2), 5 * 1 / (5 * 1 + 4 * 1)
    assert row.columns["merge"].value == pytest.approx((minor + major + reject) / 3)
    assert row.n == {"merge": 10}


def test_a_column_of_one_action_is_rescaled_recall():
    row = f2_tables(["accept", "reject", "accept"], ["accept"] * 3, ACTIONS, columns=["perfect"] * 3)
    recall = 2 / 3
    assert row.columns["perfect"].value == pytest.approx(5 * recall / (4 + recall))


def test_a_class_that_neither_occurs_nor_is_predicted_is_left_out_of_the_mean():
    matrix_score = f2_confusion(["erode", "merge"], ["erode", "merge"], ["erode", "merge", "cutout"])
    assert matrix_score.value == 1.0
    assert isinstance(matrix_score.parts["cutout"], Undefined)
    with_extra_class = f2_confusion(["erode", "cutout"], ["erode", "merge"], ["erode", "merge", "cutout"])
    assert with_extra_class.value == pytest.approx(1 / 3)


def test_replies_without_an_answer_are_misses_or_left_out_and_always_counted():
    predicted, true = ["erode", None], ["erode", "erode"]
    for score in (f2_tables, f2_confusion):
        wrong, skipped = score(predicted, true, ["erode"]), score(predicted, true, ["erode"], unparsed="skip")
        assert wrong.value == pytest.approx(5 / 9)
        assert skipped.value == 1.0
        assert wrong.unparsed == skipped.unparsed == 1
        assert wrong.signature.as_dict()["unparsed"] == "wrong"


def test_videos_are_averaged_after_their_own_macro_mean():
    predicted = ["erode", "erode", "merge", "merge"]
    true = ["erode", "merge", "merge", "merge"]
    result = f2_video(predicted, true, ["erode", "merge"], videos=["a", "a", "b", "b"])
    assert result.parts["a"].value == pytest.approx((5 / 6 + 0) / 2)
    assert result.parts["b"].value == 1.0
    assert result.value == pytest.approx((5 / 12 + 1) / 2)


def test_no_items_is_undefined():
    assert confusion([], [], DEFECTS) == Undefined("no items")
    assert f2_tables([], [], DEFECTS) == Undefined("no items")
    assert f2_confusion([], [], DEFECTS) == Undefined("no items")
    assert f2_video([], [], DEFECTS, videos=[]) == Undefined("no items")


@pytest.mark.parametrize(
    ("predicted", "true", "message"),
    [
        (["erode"], ["erode", "merge"], "1 predictions and 2 truths"),
        (["empty"], ["erode"], "predicted label 0 is 'empty'"),
        (["erode"], ["empty"], "true label 0 is 'empty'"),
        (["erode"], [None], "true label 0 is None"),
    ],
)
def test_labels_that_cannot_be_counted_are_refused(predicted, true, message):
    with pytest.raises(InputError, match=message):
        f2_confusion(predicted, true, DEFECTS)
