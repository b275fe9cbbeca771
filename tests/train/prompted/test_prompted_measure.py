"""The card's numbers on rows made by hand, and that rows of one set are compared on the same draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")

from prompted_card import (
    FLAWLESS,
    MADE,
    PAIRED,
    REAL,
    area,
    audit_shares,
    constant,
    map_f1,
    results,
    results_of,
    row_of,
    sequences_table,
    shares_table,
    truth_of,
    varied,
)

from auscult.act.policy import DEFAULT
from auscult.arrays.error_map import error_map_of
from auscult.judge.cards import Result
from auscult.outcome import Scored
from auscult.score.judges import JudgeColumns, Quantity, joined_columns
from auscult.train.prompted.outputs import CandidateColumns
from auscult.types import DEFECTS, Evidence, Verdict

pytestmark = pytest.mark.extra_train
IOUS = (0.9, 0.85, 0.7, 0.4, 0.95, 0.3)
NAN = float("nan")


def columns(ious: tuple[float, ...] = IOUS, *, clusters: int = 3) -> CandidateColumns:
    n = len(ious)
    text = np.full(n, "")
    share = np.linspace(0.1, 0.01, n)
    return CandidateColumns(
        iou=np.array(ious),
        family=np.full(n, "deeplab"),
        cluster=np.array([f"photo-{number_ % clusters}" for number_ in range(n)]),
        source=text,
        name=text,
        defect=np.array([DEFECTS[number_ % 6] for number_ in range(n)]),
        difficulty=text,
        order=np.zeros(n, np.int64),
        area=share * 1e4,
        share=share,
    )


def number(quantity: Quantity, said: JudgeColumns, known: CandidateColumns, *, at: np.ndarray) -> float:
    """A quantity over some of the masks, given by place or by mark; NaN where it is undefined."""
    found = quantity(said.where(at), truth_of(known.where(at))).outcome
    return found.value if isinstance(found, Scored) else NAN


ROW = JudgeColumns(
    iou=np.array([0.8, 0.85, 0.8, 0.4, 0.95, 0.5]),
    rank=np.array([0.9, 0.5, 0.6, 0.2, 0.5, 0.1]),
    low=np.array([0.7, 0.8, 0.6, 0.5, 0.9, 0.1]),
    high=np.array([0.9, 0.9, 0.65, 0.6, 1.0, 0.3]),
    accepted=np.array([1, 0, 1, 0, 1, 0], np.bool_),
    defect=np.array(["perfect", "cutout", "dilate", "erode", "perfect", "perfect"]),
    flagged=np.array([0, 0, 1, 0, 0, 1], np.bool_),
    map_f1=np.array([NAN, 0.5, 1.0, 0.0, NAN, 0.5]),
)
WANTED = {
    "auc_80": 7 / 9,
    "spearman": 14.5 / np.sqrt(17 * 17.5),  # ranks 3.5 5 3.5 1 6 2 against 5 4 3 2 6 1
    "rmse": 0.1,
    "bias": 0.2 / 6,
    "bias_small": 0.2,
    "coverage_90": 4 / 6,
    "width_90": 0.125,
    "accepted": 0.5,
    "accept_precision": 2 / 3,
    "accept_recall": 2 / 3,
    "flagged": 2 / 6,
    "flagged_worse": 0.125,
    "error_map_f1": 0.5,
    "called_defective": 0.5,
    "f2_tables.cutout": 1.0,
    "f2_confusion": (5 / 7 + 3) / 6,  # flawless is said thrice, once rightly; two are never said
}


@pytest.mark.parametrize("name", WANTED)
def test_a_number_is_what_it_is_by_hand(name: str) -> None:
    statistic = {**MADE, **FLAWLESS, **REAL}[name]
    assert number(statistic, ROW, columns(), at=np.arange(6)) == pytest.approx(WANTED[name])


def test_a_row_is_measured_where_it_is_looked_at() -> None:
    assert number(REAL["accepted"], ROW, columns(), at=np.array([0, 2, 4])) == 1
    assert number(REAL["rmse"], ROW, columns(), at=np.array([5, 5])) == pytest.approx(0.2)
    assert (
        number(
            REAL["accept_precision"], ROW.where(np.arange(6) != 2), columns().where(np.arange(6) != 2), at=np.arange(5)
        )
        == 1
    )


ALWAYS = {"auc_80", "spearman", "rmse", "bias", "bias_small", "judged"}


@pytest.mark.parametrize("name", sorted({*REAL, *FLAWLESS, *MADE} - ALWAYS))
def test_what_a_row_does_not_say_is_no_number(name: str) -> None:
    bare = JudgeColumns(iou=ROW.iou, rank=ROW.rank)
    assert np.isnan(number({**MADE, **FLAWLESS, **REAL}[name], bare, columns(), at=np.arange(6)))


def test_what_there_is_nothing_of_is_no_number() -> None:
    all_rows = np.arange(6)
    assert np.isnan(number(REAL["auc_80"], ROW, columns((0.9,) * 6), at=all_rows))
    assert np.isnan(number(REAL["accept_recall"], ROW, columns((0.1,) * 6), at=all_rows))
    assert np.isnan(number(REAL["accept_precision"], ROW, columns(), at=np.array([1, 3])))
    assert np.isnan(number(REAL["bias_small"], ROW, columns(), at=np.array([0, 1])))
    assert np.isnan(number(REAL["flagged_worse"], ROW, columns(), at=np.array([2, 5])))


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prompted_card.REPLICATES", 80)


def measured(rows: dict[str, JudgeColumns], *, clusters: int = 3, seed: int = 0) -> dict[tuple[str, str], Result]:
    results_ = list(results_of("set", columns(clusters=clusters), rows, metrics=REAL, seed=seed))
    assert len({(result_.row, result_.metric) for result_ in results_}) == len(results_)
    return {(result_.row, result_.metric): result_ for result_ in results_}


def test_equal_rows_differ_by_exactly_nothing() -> None:
    result_of = measured({"judge": ROW, "same": ROW})
    for metric in set(PAIRED) & set(REAL):
        result_ = result_of["same", f"{metric}.better"]
        assert (result_.value, result_.low, result_.high) == (0.0, None, None), "no interval without width"
        assert ("judge", f"{metric}.better") not in result_of


def test_better_is_positive_whichever_way_a_metric_points() -> None:
    ious = np.array(IOUS)
    right = JudgeColumns(iou=ious, rank=ious, low=ious, high=ious, accepted=ious >= 0.8)
    result_of = measured({"judge": right, "other": ROW})
    for metric in set(PAIRED) & set(REAL):
        result_ = result_of["other", f"{metric}.better"]
        assert result_.value is not None
        assert result_.value > 0
        if metric == "bias_small":
            continue  # of one mask, which is equally far off in every draw
        assert result_.low is not None
        assert result_.high is not None
        assert result_.low <= result_.value <= result_.high
        assert max(abs(result_.low), abs(result_.high)) <= (2 if metric == "spearman" else 1), (
            "three clusters reach far"
        )


def test_results_say_what_they_rest_on_and_follow_from_the_seed() -> None:
    result_of = measured({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)})
    assert {(result_.n, result_.clusters) for result_ in result_of.values()} == {(6, 3)}
    assert {metric for row, metric in result_of if row == "judge"} == set(REAL)
    rmse_result = result_of["judge", "rmse"]
    assert rmse_result.value == pytest.approx(0.1)
    assert rmse_result.low is not None
    assert rmse_result.high is not None
    assert rmse_result.low < rmse_result.value < rmse_result.high
    unsaid = result_of["other", "coverage_90"]
    assert (unsaid.value, unsaid.low, unsaid.high) == (None, None, None)
    assert unsaid.reason
    assert result_of == measured({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)})
    assert result_of != measured({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)}, seed=1)


def test_of_one_photograph_there_is_no_interval() -> None:
    result_ = measured({"judge": ROW}, clusters=1)["judge", "rmse"]
    assert (result_.value, result_.low, result_.high, result_.clusters) == (0.1, None, None, 1)


def verdict(**changes: object) -> Verdict:
    fields: dict[str, object] = {
        "id": "a", "iou": 0.85, "iou_low": 0.6, "iou_high": 0.95, "defect": "erode", "defect_probs": {},
        "evidence": Evidence(), "rationale": "", "judge": "j", "novelty": 0.2, "prob_iou_80": 0.99,
    }  # fmt: skip
    return Verdict(**{**fields, **changes})  # type: ignore[arg-type]


def test_verdicts_become_a_row() -> None:
    empty_fields = {"iou": None, "iou_low": None, "iou_high": None, "prob_iou_80": None, "defect": "empty"}
    row_ = row_of(
        [verdict(), verdict(prob_iou_80=0.01, novelty=0.7), verdict(**empty_fields)],
        DEFAULT,
        map_f1=np.array([1, 0, NAN]),
    )
    assert row_.iou == pytest.approx([0.85, 0.85, NAN], nan_ok=True)
    assert row_.rank == pytest.approx([0.99085, 0.01085, NAN], nan_ok=True)
    assert row_.low is not None
    assert row_.high is not None
    assert row_.low == pytest.approx([0.6, 0.6, NAN], nan_ok=True)
    assert row_.high == pytest.approx([0.95, 0.95, NAN], nan_ok=True)
    assert row_.accepted is not None
    assert row_.accepted.tolist() == [True, False, False]
    assert row_.defect is not None
    assert row_.defect.tolist() == ["erode", "erode", "empty"]
    assert row_.flagged is not None
    assert row_.flagged.tolist() == [False, True, False]


def test_a_constant_row_says_what_real_calibration_masks_are_like() -> None:
    calibration_columns = replace(columns((*IOUS, 1.0)), family=np.array(["deeplab"] * 6 + ["flawless"]))
    row = constant(columns(), calibration_columns)
    assert row.iou == pytest.approx(np.full(6, np.mean(IOUS)))
    assert row.low is not None
    assert row.high is not None
    assert (row.low[0], row.high[0]) == pytest.approx(tuple(np.quantile(IOUS, [0.05, 0.95])))
    assert number(REAL["accepted"], row, columns(), at=np.arange(6)) == 1
    assert number(REAL["accept_precision"], row, columns(), at=np.arange(6)) == 0.5, "the share of good ones"
    assert number(FLAWLESS["called_defective"], row, columns(), at=np.arange(6)) == 0


def test_the_area_row_is_a_line_in_the_log_share() -> None:
    calibration_columns = columns(tuple(0.1 * np.log(np.linspace(0.1, 0.01, 8)) + 1))
    row = area(columns(), calibration_columns)
    assert row.iou == pytest.approx(0.1 * np.log(columns().share) + 1)
    assert (np.diff(row.rank) < 0).all()
    assert number(REAL["spearman"], row, columns(), at=np.arange(6)) > 0
    assert row.low == pytest.approx(row.iou), "the line is exact, and so is its interval"


def test_the_area_row_accepts_as_many_as_are_good_and_covers_as_many_as_it_says() -> None:
    rng = np.random.default_rng(0)
    known = replace(columns(tuple(rng.uniform(0.2, 1.0, 400))), share=rng.permutation(np.linspace(0.01, 0.6, 400)))
    row = area(known, known)
    assert row.accepted is not None
    assert row.accepted.mean() == pytest.approx(np.mean(known.iou >= 0.8), abs=0.005)
    assert known.share[row.accepted].min() > known.share[~row.accepted].max()
    assert number(REAL["coverage_90"], row, known, at=np.arange(400)) == pytest.approx(0.9, abs=0.01)


TRUTH = np.zeros((64, 64), np.bool_)
TRUTH[:32] = True
LESS = TRUTH & (np.arange(64) >= 16)[:, None]


def error_values(rows: slice, level: float = 1.0) -> np.ndarray:
    values = np.zeros((64, 64), np.float32)
    values[rows] = level
    return values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (error_values(slice(0, 16)), 1.0),
        (error_values(slice(0, 8)), 2 / 3),
        (error_values(slice(32, 64)), 0.0),
        (error_values(slice(0, 64)), 0.4),
        (error_values(slice(0, 0)), 0.0),
    ],
    ids=["all of it", "half of it", "elsewhere", "everywhere", "nowhere"],
)
def test_an_error_map_is_right_where_the_mask_is_wrong(values: np.ndarray, expected: float) -> None:
    assert map_f1(error_map_of(values, (0, 0, 64, 64)), LESS, TRUTH) == pytest.approx(expected)


def test_an_error_map_of_a_right_mask_is_not_measured() -> None:
    assert np.isnan(map_f1(error_map_of(error_values(slice(0, 8)), (0, 0, 64, 64)), TRUTH, TRUTH))
    assert map_f1(None, LESS, TRUTH) == 0
    nearly = TRUTH.copy()
    nearly[0, 0] = False
    assert np.isnan(map_f1(error_map_of(np.zeros((8, 8), np.float32), (0, 0, 64, 64)), nearly, TRUTH))


def test_the_shares_an_audit_estimates_stand_beside_what_is_true() -> None:
    n = 200
    good = np.linspace(0.02, 0.98, n)
    true = np.where(np.arange(n) % 10 < 10 * good, 0.9, 0.6)
    columns_ = columns(tuple(true), clusters=40)
    row = JudgeColumns(iou=good, rank=good, good=good, fair=np.minimum(good + 0.3, 1.0))
    (share_row,) = [
        share_row
        for share_row in audit_shares(columns_, row, shift=0.3, prior=(0.5, 0.8))
        if share_row.set == "known_families"
    ]
    assert share_row.n == n
    assert share_row.true == (pytest.approx(np.mean(true < 0.8)), 0.0)
    assert share_row.said[0].value == pytest.approx(0.5, abs=0.02)
    assert all(said_share.low <= said_share.value <= said_share.high for said_share in share_row.said)
    bad = true < 0.8
    assert share_row.found == pytest.approx(bad[: share_row.looks].sum() / bad.sum())
    assert share_row.found > 0.85
    assert "| known_families | 200 |" in shares_table([share_row])
    assert audit_shares(columns_, JudgeColumns(iou=good, rank=good), shift=0.3, prior=(0.5, 0.8)) == []


def film(model: str, sequence: str, ious: list[float]) -> CandidateColumns:
    one = columns(tuple(ious), clusters=1)
    texts = {"family": model, "cluster": sequence, "source": "davis", "defect": ""}
    return replace(one, **{key: np.full(len(ious), text) for key, text in texts.items()})  # type: ignore[arg-type]


RISING = [0.1 * place for place in range(1, 9)]
FILMS = joined_columns(
    [
        film("osvos", "a", RISING),
        film("rvos", "a", RISING),
        film("rvos", "b", RISING),
        film("rvos", "still", [0.7, 0.71] * 4),
        film("flow", "a", RISING),
        film("osvos", "short", RISING[:5]),
    ]
)


def test_sequences_are_ranked_one_by_one_where_a_models_iou_varies() -> None:
    keep = varied(FILMS)
    assert keep.tolist() == [True] * 24 + [False] * 21
    said = JudgeColumns(iou=FILMS.iou.copy())
    said.iou[8:16] = RISING[::-1]
    assert [line.split(" | ") for line in sequences_table(FILMS, said).splitlines()[2:]] == [
        ["| osvos", "a", "8", "1.00", "5 |"],
        ["| rvos", "a", "8", "-1.00", "2 |"],
        ["| rvos", "b", "8", "1.00", "5 |"],
    ]
    rows = {"masks.judge": said, "constant": replace(said, iou=np.full(len(FILMS), 0.5))}
    meanings, found = results((FILMS, rows), {}, seed=0)
    assert "within_sequence" in meanings
    of = {(one.row, one.metric): one for one in found if one.set == "within_sequence"}
    assert of["masks.judge", "spearman_median"].value == 1
    assert of["masks.judge", "worst_five"].value == 4
    assert of["masks.judge", "worst_five"].clusters == 2
    assert of["constant", "spearman_median"].value is None, "a constant has no order"
    assert of["constant", "worst_five"].value is None


def test_of_flawless_masks_more_accepted_is_better_and_of_real_ones_not() -> None:
    known = replace(columns((1.0,) * 6), source=np.full(6, "coco"), family=np.full(6, "flawless"))
    rows = {"judge": replace(ROW, accepted=np.ones(6, np.bool_)), "other": ROW}
    _, found = results((known, rows), {}, seed=0)
    better = {(one.set, one.metric): one.value for one in found if one.row == "other"}
    assert better["flawless_coco", "accepted.better"] == 0.5
    assert better["flawless_coco", "called_defective.better"] == 0
    assert ("other", "accepted.better") not in measured(rows)
