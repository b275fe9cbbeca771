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
    number,
    results_of,
    row_of,
    shares_table,
)

from auscult.act.policy import DEFAULT
from auscult.arrays.error_map import error_map_of
from auscult.judge.cards import Result
from auscult.score.judges import JudgeColumns
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
        cluster=np.array([f"photo-{at % clusters}" for at in range(n)]),
        source=text,
        name=text,
        defect=np.array([DEFECTS[at % 6] for at in range(n)]),
        difficulty=text,
        order=np.zeros(n, np.int64),
        area=share * 1e4,
        share=share,
    )


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
    every = np.arange(6)
    assert np.isnan(number(REAL["auc_80"], ROW, columns((0.9,) * 6), at=every))
    assert np.isnan(number(REAL["accept_recall"], ROW, columns((0.1,) * 6), at=every))
    assert np.isnan(number(REAL["accept_precision"], ROW, columns(), at=np.array([1, 3])))
    assert np.isnan(number(REAL["bias_small"], ROW, columns(), at=np.array([0, 1])))
    assert np.isnan(number(REAL["flagged_worse"], ROW, columns(), at=np.array([2, 5])))


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prompted_card.REPLICATES", 80)


def results(rows: dict[str, JudgeColumns], *, clusters: int = 3, seed: int = 0) -> dict[tuple[str, str], Result]:
    found = list(results_of("set", columns(clusters=clusters), rows, metrics=REAL, seed=seed))
    assert len({(one.row, one.metric) for one in found}) == len(found)
    return {(one.row, one.metric): one for one in found}


def test_equal_rows_differ_by_exactly_nothing() -> None:
    found = results({"judge": ROW, "same": ROW})
    for metric in set(PAIRED) & set(REAL):
        one = found["same", f"{metric}.better"]
        assert (one.value, one.low, one.high) == (0.0, None, None), "no interval without width"
        assert ("judge", f"{metric}.better") not in found


def test_better_is_positive_whichever_way_a_metric_points() -> None:
    right = JudgeColumns(iou=np.array(IOUS), rank=np.array(IOUS))
    found = results({"judge": right, "other": ROW})
    for metric in set(PAIRED) & set(REAL):
        one = found["other", f"{metric}.better"]
        assert one.value is not None
        assert one.value > 0
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.value <= one.high
        assert max(abs(one.low), abs(one.high)) <= (2 if metric == "spearman" else 1), "three clusters reach far"


def test_results_say_what_they_rest_on_and_follow_from_the_seed() -> None:
    found = results({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)})
    assert {(one.n, one.clusters) for one in found.values()} == {(6, 3)}
    assert {metric for row, metric in found if row == "judge"} == set(REAL)
    known = found["judge", "rmse"]
    assert known.value == pytest.approx(0.1)
    assert known.low is not None
    assert known.high is not None
    assert known.low < known.value < known.high
    unsaid = found["other", "coverage_90"]
    assert (unsaid.value, unsaid.low, unsaid.high) == (None, None, None)
    assert unsaid.reason
    assert found == results({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)})
    assert found != results({"judge": ROW, "other": JudgeColumns(iou=ROW.iou, rank=ROW.rank)}, seed=1)


def test_of_one_photograph_there_is_no_interval() -> None:
    one = results({"judge": ROW}, clusters=1)["judge", "rmse"]
    assert (one.value, one.low, one.high, one.clusters) == (0.1, None, None, 1)


def verdict(**changed: object) -> Verdict:
    given: dict[str, object] = {
        "id": "a", "iou": 0.85, "iou_low": 0.6, "iou_high": 0.95, "defect": "erode", "defect_probs": {},
        "evidence": Evidence(), "rationale": "", "judge": "j", "novelty": 0.2, "prob_iou_80": 0.99,
    }  # fmt: skip
    return Verdict(**{**given, **changed})  # type: ignore[arg-type]


def test_verdicts_become_a_row() -> None:
    nothing = {"iou": None, "iou_low": None, "iou_high": None, "prob_iou_80": None, "defect": "empty"}
    found = row_of(
        [verdict(), verdict(prob_iou_80=0.01, novelty=0.7), verdict(**nothing)], DEFAULT, map_f1=np.array([1, 0, NAN])
    )
    assert found.iou == pytest.approx([0.85, 0.85, NAN], nan_ok=True)
    assert found.rank == pytest.approx([0.99085, 0.01085, NAN], nan_ok=True)
    assert found.low is not None
    assert found.high is not None
    assert found.low == pytest.approx([0.6, 0.6, NAN], nan_ok=True)
    assert found.high == pytest.approx([0.95, 0.95, NAN], nan_ok=True)
    assert found.accepted is not None
    assert found.accepted.tolist() == [True, False, False]
    assert found.defect is not None
    assert found.defect.tolist() == ["erode", "erode", "empty"]
    assert found.flagged is not None
    assert found.flagged.tolist() == [False, True, False]


def test_a_constant_row_says_what_real_calibration_masks_are_like() -> None:
    known = replace(columns((*IOUS, 1.0)), family=np.array(["deeplab"] * 6 + ["flawless"]))
    row = constant(columns(), known)
    assert row.iou == pytest.approx(np.full(6, np.mean(IOUS)))
    assert row.low is not None
    assert row.high is not None
    assert (row.low[0], row.high[0]) == pytest.approx(tuple(np.quantile(IOUS, [0.05, 0.95])))
    assert np.isnan(number(REAL["accepted"], row, columns(), at=np.arange(6)))


def test_the_area_row_is_a_line_in_the_log_share() -> None:
    known = columns(tuple(0.1 * np.log(np.linspace(0.1, 0.01, 8)) + 1))
    row = area(columns(), known)
    assert row.iou == pytest.approx(0.1 * np.log(columns().share) + 1)
    assert (np.diff(row.rank) < 0).all()
    assert number(REAL["spearman"], row, columns(), at=np.arange(6)) > 0


TRUTH = np.zeros((64, 64), np.bool_)
TRUTH[:32] = True
LESS = TRUTH & (np.arange(64) >= 16)[:, None]


def said(rows: slice, level: float = 1.0) -> np.ndarray:
    values = np.zeros((64, 64), np.float32)
    values[rows] = level
    return values


@pytest.mark.parametrize(
    ("values", "wanted"),
    [(said(slice(0, 16)), 1.0), (said(slice(0, 8)), 2 / 3), (said(slice(32, 64)), 0.0), (said(slice(0, 64)), 0.4),
     (said(slice(0, 0)), 0.0)],
    ids=["all of it", "half of it", "elsewhere", "everywhere", "nowhere"],
)  # fmt: skip
def test_an_error_map_is_right_where_the_mask_is_wrong(values: np.ndarray, wanted: float) -> None:
    assert map_f1(error_map_of(values, (0, 0, 64, 64)), LESS, TRUTH) == pytest.approx(wanted)


def test_an_error_map_of_a_right_mask_is_not_measured() -> None:
    assert np.isnan(map_f1(error_map_of(said(slice(0, 8)), (0, 0, 64, 64)), TRUTH, TRUTH))
    assert map_f1(None, LESS, TRUTH) == 0
    nearly = TRUTH.copy()
    nearly[0, 0] = False
    assert np.isnan(map_f1(error_map_of(np.zeros((8, 8), np.float32), (0, 0, 64, 64)), nearly, TRUTH))


def test_the_shares_an_audit_estimates_stand_beside_what_is_true() -> None:
    n = 200
    good = np.linspace(0.02, 0.98, n)
    true = np.where(np.arange(n) % 10 < 10 * good, 0.9, 0.6)
    made = columns(tuple(true), clusters=40)
    row = JudgeColumns(iou=good, rank=good, good=good, fair=np.minimum(good + 0.3, 1.0))
    (one,) = [one for one in audit_shares(made, row, shift=0.3) if one.set == "known_families"]
    assert one.n == n
    assert one.true == (pytest.approx(np.mean(true < 0.8)), 0.0)
    assert one.said[0] == pytest.approx(0.5)
    assert all(low <= said <= high for low, said, high in zip(one.low, one.said, one.high, strict=True))
    bad = true < 0.8
    assert one.found == pytest.approx(bad[: one.looks].sum() / bad.sum())
    assert one.found > 0.85
    assert "| known_families | 200 |" in shares_table([one])
    assert audit_shares(made, JudgeColumns(iou=good, rank=good), shift=0.3) == []
