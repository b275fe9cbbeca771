"""A card of a judge that guesses, measured on drawn scenes: numbers, page, charts, gallery, tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import small_cards

from auscult.judge.cards import card_of
from auscult.rng import generator
from auscult.score.stats import bootstrap_interval, rmse
from auscult.train.compact import card_charts, card_files, card_gallery, card_tables, card_words
from auscult.train.compact.card import Study, StudyOptions, card_of_study
from auscult.train.compact.card_judging import CONSTANT, PERFECT, RANDOM, Measured
from auscult.train.compact.card_numbers import REPLICATES, results_of
from auscult.train.compact.card_page import bars_table, card_page
from auscult.train.compact.card_sets import Amounts, sets_of
from auscult.train.material import Sample
from auscult.train.split import committed
from auscult.types import Case, Prediction

SET = "generated_test_s"


@pytest.fixture(scope="module")
def kept() -> list[Sample]:
    return list(small_cards.samples())


@pytest.fixture(scope="module")
def measured(kept: list[Sample]) -> Measured:
    return small_cards.measured(kept)


@pytest.fixture(scope="module")
def study(measured: Measured) -> Study:
    results = results_of(measured, known=small_cards.KNOWN, judge=small_cards.GUESSER.name, seed=1)
    return Study(
        judge=small_cards.GUESSER.name,
        options=StudyOptions(weights="ab" * 32),
        known=small_cards.KNOWN,
        sets=(measured,),
        results=tuple(results),
    )


def test_scenes_have_every_defect_with_its_truth(kept: list[Sample]) -> None:
    assert {one.defect for one in kept} == {"perfect", "cutout", "dilate", "erode", "merge", "full_neg"}
    for one in kept:
        assert one.truth is not None
        shared, either = (one.mask & one.truth).sum(), (one.mask | one.truth).sum()
        assert one.iou == pytest.approx(shared / either, abs=1e-9)


def test_the_rows_that_look_at_nothing(measured: Measured) -> None:
    assert set(measured.rows) == {small_cards.GUESSER.name, PERFECT, CONSTANT, RANDOM}
    assert (measured.rows[CONSTANT].iou == 0.8).all()  # scenes have the photographs' constant
    assert not measured.rows[CONSTANT].named
    assert measured.rows[PERFECT].accepted.all()
    assert len(set(measured.rows[RANDOM].defect.tolist())) == 6


def test_an_interval_is_that_of_the_bootstrap_over_scenes(measured: Measured, study: Study) -> None:
    found = next(one for one in study.results if one.metric == "rmse_all_six" and one.row == small_cards.GUESSER.name)
    said = measured.rows[small_cards.GUESSER.name].iou
    clusters = [
        list(zip(said[measured.cluster == name], measured.iou[measured.cluster == name], strict=True))
        for name in np.unique(measured.cluster)
    ]
    interval = bootstrap_interval(
        lambda items: rmse([one[0] for one in items], [one[1] for one in items]),
        clusters,
        rng=generator(1, "compact", "card", SET),
        replicates=REPLICATES,
    )
    assert found.clusters == len(clusters) >= 2
    assert (found.value, found.low, found.high) == tuple(
        round(number, 4)
        for number in (interval.value, interval.low, interval.high)  # type: ignore[union-attr]
    )


def test_the_card_reads_back_and_names_its_weights(study: Study) -> None:
    card = card_of_study(study)
    assert card_of(json.loads(json.dumps(card.as_json()))) == card
    assert any("ab" * 32 in line for line in card.split)
    assert set(card.sets) == {SET}
    metrics = {one.metric.split(".")[0] for one in card.results}
    explained = set(card.metrics)
    assert {name for name in metrics if not any(name.startswith(one) for one in explained)} == set()


def test_the_page_says_what_was_measured(study: Study) -> None:
    card = card_of_study(study)
    text = card_page(card, failures="none")
    for words in ("## What it must not be used for", "identity", "By type and difficulty:", "By size of the object:"):
        assert words in text
    assert "auscult train cues" not in text
    assert "| merge, easy |" in text


def test_bars_are_marked_reached_near_and_missed_and_set_beside_the_constant(study: Study) -> None:
    card = card_of_study(study)
    own = next(one for one in card.results if one.row == card.judge)
    measured = {"f2_tables": 0.83, "f2_confusion": 0.76, "rmse": 0.1, "rmse_without_merge": 0.2}
    made = [
        replace(own, set="coco_test", metric=metric, value=value, low=value - 0.01, high=value + 0.01)
        for metric, value in measured.items()
    ]
    made += [
        replace(own, set="coco_test", row=CONSTANT, metric=metric, value=0.205)
        for metric in ("rmse", "rmse_without_merge")
    ]
    lines = bars_table(replace(card, results=tuple(made), sets={"coco_test": "x"})).splitlines()[2:]
    cells = [line.strip("| ").split(" | ") for line in lines]
    assert [line[4] for line in cells] == ["yes", "within .03", "yes", "no"]
    assert [line[6] for line in cells[2:]] == ["yes", "no"]


def test_charts_are_files_of_their_own(study: Study) -> None:
    card = card_of_study(study)
    for chart in (card_charts.reliability(card, [SET]), card_charts.widths(card, [SET])):
        root = ET.fromstring(chart)  # noqa: S314 - our own text
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert any("circle" in one.tag for one in root.iter())


def test_the_gallery_holds_the_worst_of_each_type(kept: list[Sample]) -> None:
    worst = card_gallery.Worst(4)
    largest: dict[str, float] = {}
    for one in kept:
        verdict = small_cards.GUESSER(Case(id="0", frame=one.frame), Prediction(one.mask))
        worst(SET, one, verdict)
        misnamed = one.difficulty is not None and verdict.defect != one.defect
        off = abs((verdict.iou or 0) - one.iou) + 0.05 * misnamed
        largest[one.defect] = max(off, largest.get(one.defect, 0.0))
    del largest["full_neg"]
    found = worst.failures()
    assert [one.size for one in found] == sorted(largest.values(), reverse=True)[:4]
    assert len({one.sample.defect for one in found}) == 4
    page = card_gallery.gallery(found, title="Worst <here>")
    assert page.count("<img ") == 4
    assert "<b>1</b>" in page
    assert "at <b>" not in page  # a sentence is text, never markup
    assert card_gallery.sheet(found).shape[1] == 4 * (card_gallery.PANEL_PX + 4)
    assert card_gallery.listed(found).count("\n") == 5


def test_the_files_of_a_card_and_what_of_them_shows_pictures(study: Study, kept: list[Sample]) -> None:
    worst = card_gallery.Worst(2)
    for one in kept[:8]:
        worst(SET, one, small_cards.GUESSER(Case(id="0", frame=one.frame), Prediction(one.mask)))
    name = small_cards.GUESSER.name
    files = card_files.files_of(study, worst=worst.failures(), drawn=())
    texts = {f"{name}.json", f"{name}.md", card_files.RELIABILITY, card_files.WIDTHS}
    assert set(files) == texts | {card_files.GALLERY}
    assert all(b"data:image" not in files[one] for one in texts)
    assert b"## Failures" not in files[f"{name}.md"]
    shown = card_files.files_of(study, worst=(), drawn=worst.failures())
    assert shown[card_files.FAILURES].startswith(b"\xff\xd8")
    assert f"](../images/{card_files.FAILURES})".encode() in shown[f"{name}.md"]


def test_table_2_marks_printed_rows_and_has_a_dash_for_what_is_not_there(measured: Measured) -> None:
    printed = card_tables.Printed(metric="f2_m", part="seen", method="Other", cells=("1.00",) * 9, average="1.00")
    text = card_tables.table_2(measured, "f2_m", printed=[printed])
    lines = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in text.splitlines()}
    assert "Other, seen: other data, not comparable" in lines
    assert lines[PERFECT][0] == "100.00"
    assert set(lines[CONSTANT][:9]) == {"–"}
    assert "Other" not in card_tables.table_2(measured, "rmse", printed=[printed])
    actions = card_tables.table_2(measured, "f2_a")
    assert PERFECT in actions


def test_confusions_add_up_and_the_hardest_cells_come_first(measured: Measured) -> None:
    for line in card_tables.confusion_table(measured, small_cards.GUESSER.name).splitlines()[2:]:
        assert sum(int(cell) for cell in line.strip("| ").split(" | ")[2:]) == pytest.approx(100, abs=3)
    right = [
        float(line.split(" | ")[5].removesuffix(" %"))
        for line in card_tables.hardest_table([measured], small_cards.GUESSER.name).splitlines()[2:]
    ]
    assert right == sorted(right)
    assert right


def test_how_far_an_outline_is_off(kept: list[Sample], measured: Measured) -> None:
    assert (measured.off_px[measured.defect == "perfect"] == 0).all()
    assert (measured.off_px[measured.defect != "perfect"] > 0).all()
    text = card_tables.offsets_table([measured], small_cards.GUESSER.name)
    counted = sum(int(line.split(" | ")[2]) for line in text.splitlines()[2:])
    assert counted == sum(one.defect in {"perfect", "cutout", "dilate", "erode"} for one in kept)


def test_every_set_of_a_part_is_of_that_part_and_explained(data: Path) -> None:
    amounts = Amounts(photographs=1, sequences=1, davis_every=60, nonsense_every=1, scenes=1)
    for name, made in sets_of(data, "calibration", seed=3, amounts=amounts).items():
        assert name in card_words.set_words("calibration")
        one = next(iter(made()), None)
        if one is not None:
            assert one.cluster in {*committed()["coco"]["calibration"], *committed()["davis"]["calibration"]}
    assert set(sets_of(data, "test", seed=3, amounts=amounts)) == set(card_words.set_words("test"))


@pytest.mark.slow
def test_scenes_of_cut_outs_are_the_same_each_time(data: Path) -> None:
    amounts = Amounts(scenes=1)
    made = [list(sets_of(data, "test", seed=3, amounts=amounts)["stamps_test_u"]()) for _ in range(2)]
    assert [one.iou for one in made[0]] == [one.iou for one in made[1]]
    assert all((one.frame == other.frame).all() for one, other in zip(*made, strict=True))
    assert all((one.mask == other.mask).all() for one, other in zip(*made, strict=True))
