"""The recipe on drawn pictures: it fits, it is exact to repeat, and it refuses what it must."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, UnknownName
from auscult.jobs.options import TrainOptions
from auscult.judge.cards import Result
from auscult.judge.masks.cues.model import JUDGED, Coefficients, estimate, from_json, to_json
from auscult.rng import generator
from auscult.score.judges import joined_columns
from auscult.train import material, recipes
from auscult.train.cues import Table, constant_ious, judged_rows, results_of, tabled
from auscult.train.material import arbitrary, drawn
from auscult.types import DEFECTS

pytestmark = pytest.mark.slow  # tables of what is made from photographs take seconds


@pytest.fixture(scope="module")
def table() -> Table:
    return joined_columns([tabled(material.pictures([number], seed=1, alone=number % 2 == 0)) for number in range(14)])


@pytest.fixture(scope="module")
def coefficients(table: Table) -> Coefficients:
    pytest.importorskip("sklearn", reason="the extra `train` is not installed")
    from auscult.train.cues import fitted

    is_late = np.array([int(name.rpartition("-")[2]) >= 10 for name in table.cluster])
    return fitted(_as_photographs(table.where(~is_late)), calibration=_as_photographs(table.where(is_late)))


def _as_photographs(table: Table) -> Table:
    """Drawn pictures enter only the classifier; here they stand in for photographs."""
    return replace(table, source=np.full(len(table), "coco"))


def test_drawn_pictures_are_repeatable_and_exact() -> None:
    first, second = drawn(3, seed=1), drawn(3, seed=1)
    assert np.array_equal(first[0], second[0])
    assert all(np.array_equal(left_mask, right) for left_mask, right in zip(first[1], second[1], strict=True))
    assert not any((left_mask & right).any() for left_mask in first[1] for right in first[1] if left_mask is not right)
    assert drawn(4, seed=1)[0].shape != first[0].shape or not np.array_equal(drawn(4, seed=1)[0], first[0])


def test_the_table_holds_every_defect_with_its_iou(table: Table) -> None:
    assert set(table.defect) == set(DEFECTS)
    assert np.isfinite(table.cues).all()
    assert (table.iou[table.defect == "perfect"] == 1).all()
    assert (table.iou[table.defect == "full_neg"] == 0).all()
    for grade, (low, high) in {"hard": (0.85, 0.9), "medium": (0.75, 0.8)}.items():
        chosen_ious = table.iou[(table.difficulty == grade) & np.isin(table.defect, ("cutout", "dilate", "erode"))]
        assert ((chosen_ious >= low) & (chosen_ious <= high)).all()


def test_masks_on_no_object_share_no_pixel_with_it() -> None:
    frame, masks = drawn(3, seed=1)
    truth, others = masks[0], masks[1:]
    masks_on_nothing = list(arbitrary(truth, others, rng=generator(1, "arbitrary")))
    second_masks = list(arbitrary(truth, others, rng=generator(1, "arbitrary")))
    assert len(masks_on_nothing) >= 3
    assert all(
        np.array_equal(left_mask, right) for left_mask, right in zip(masks_on_nothing, second_masks, strict=True)
    )
    for mask in masks_on_nothing:
        assert mask.shape == frame.shape[:2]
        assert mask.sum() >= 32 * 32
        assert not (mask & truth).any()


@pytest.mark.extra_train
def test_a_fit_with_masks_on_no_object_lowers_their_iou(table: Table) -> None:
    pytest.importorskip("sklearn", reason="the extra `train` is not installed")
    from auscult.train.cues import fitted

    nonsense = tabled(
        material.CandidateSample(
            source="coco", cluster=f"drawn-{number}", frame=frame, mask=mask, others=(), defect="arbitrary",
            difficulty=None, iou=0.0,
        )
        for number in range(14)
        for frame, masks in (drawn(number, seed=1),)
        for mask in arbitrary(masks[0], masks[1:], rng=generator(1, "arbitrary", number))
    )  # fmt: skip
    photographs = _as_photographs(table)
    without_nonsense = fitted(photographs, calibration=photographs)
    with_them = fitted(joined_columns([photographs, nonsense]), calibration=photographs)
    mean_ious = [
        np.mean([estimate(vector, fit).iou for vector in nonsense.cues]) for fit in (without_nonsense, with_them)
    ]
    assert mean_ious[1] < mean_ious[0] - 0.01


@pytest.mark.extra_train
def test_fitted_coefficients_beat_a_constant_on_what_they_saw(table: Table, coefficients: Coefficients) -> None:
    known_types = table.where(np.isin(table.defect, JUDGED))
    estimates = np.array([estimate(vector, coefficients).iou for vector in known_types.cues])
    assert np.sqrt(((estimates - known_types.iou) ** 2).mean()) < 0.8 * known_types.iou.std()
    defects = [estimate(vector, coefficients).defect for vector in known_types.cues]
    assert np.mean([name == true for name, true in zip(defects, known_types.defect, strict=True)]) > 0.7


@pytest.mark.extra_train
def test_fitted_coefficients_survive_json(coefficients: Coefficients, table: Table) -> None:
    reloaded = from_json(json.loads(json.dumps(to_json(coefficients))))
    for vector in table.cues[:20]:
        assert estimate(vector, reloaded).iou == pytest.approx(estimate(vector, coefficients).iou, abs=1e-3)


@pytest.mark.extra_train
def test_every_row_of_a_set_is_measured_on_the_same_masks(table: Table, coefficients: Coefficients) -> None:
    rows = judged_rows(table, coefficients, judge="j", constants={"constant-IoU": 0.8})
    measured_results = list(results_of("drawn", table, rows, seed=0))
    by_metric: dict[str, list[Result]] = {}
    for result in measured_results:
        by_metric.setdefault(result.metric, []).append(result)
    assert {"rmse", "rmse_all_six", "f2_tables", "f2_confusion", "coverage_90", "spearman"} <= set(by_metric)
    for results in by_metric.values():
        assert [result.row for result in results] == ["j", "always-perfect", "constant-IoU"]
        assert len({(result.n, result.clusters) for result in results}) == 1
    result_ = next(result for result in by_metric["rmse_all_six"] if result.row == "always-perfect")
    assert result_.value == pytest.approx(np.sqrt(((1 - table.iou) ** 2).mean()), abs=1e-4)
    nameless = next(result for result in by_metric["f2_tables"] if result.row == "constant-IoU")
    assert (nameless.value, nameless.reason) == (None, "names no defect")


def test_constants_are_means_by_source(table: Table) -> None:
    constants = constant_ious(table)["drawn"]
    is_judged = table.defect != "full_neg"
    assert constants["constant-IoU"] == pytest.approx(table.iou[is_judged].mean(), abs=1e-4)
    assert constants["constant-IoU-six"] == pytest.approx(table.iou.mean(), abs=1e-4)


def test_an_unknown_recipe_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no recipe 'nets'"):
        list(recipes.run(TrainOptions(name="nets", data=tmp_path, out=tmp_path)))


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="instances"):
        list(recipes.run(TrainOptions(name="cues", data=tmp_path, out=tmp_path / "out")))


def test_the_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.linear_model'] = None\n"
        "from auscult.errors import UsageError\n"
        "from auscult.jobs.options import TrainOptions\n"
        "from auscult.train import cues, material, recipes\n"
        "from auscult.train.cues import tabled\n"
        "import dataclasses, numpy, pathlib\n"
        "table = tabled(material.pictures([0, 1], seed=1, alone=True))\n"
        "table = dataclasses.replace(table, source=numpy.full(len(table), 'coco'))\n"
        "cues.fit = lambda *_, **__: [cues.fitted(table, calibration=table)]\n"
        "here = pathlib.Path('.')\n"
        "try:\n    list(recipes.run(TrainOptions(name='cues', data=here, out=here)))\n"
        "except UsageError as error:\n    print(error.message, error.hint)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "sklearn.linear_model is missing" in result.stdout, result.stderr
    assert "pip install 'auscult[train]'" in result.stdout
