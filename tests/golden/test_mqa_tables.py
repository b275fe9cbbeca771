"""The MQA paper's tables: cells from the counts behind them, averages from the cells that are printed."""

import pytest

from auscult.outcome import Scored, Signature
from auscult.suites.mqa.evaluate import TABLE_2, plain_mean
from auscult.suites.mqa.evaluate import mean_by_group as group_means
from auscult.suites.mqa.rows import Candidate, JudgeAnswer
from auscult.suites.mqa.tables import printed_rows, results_of

TABLES = ("2", "3", "4", "5", "6", "9", "10")
# part, defect, difficulty, right types, right actions, masks: Table 2, MQ-Auditor
COUNTS = [
    ("test_s", "perfect", None, 241, 241, 437),
    ("test_s", "cutout", "hard", 350, 109, 437),
    ("test_s", "merge", None, 893, 0, 1274),
    ("test_s", "full_neg", None, 823, 894, 1276),
    ("test_u", "perfect", None, 179, 179, 303),
    ("test_u", "merge", None, 578, 0, 785),
]
PRINTED = {
    ("seen", "f2_m"): ("60.58", "83.41", "74.55", "69.43"),
    ("seen", "f2_a"): ("60.58", "29.35", None, "74.52"),
    ("unseen", "f2_m"): ("64.34", None, "77.73", None),
}
# Averages that the printed cells, which are rounded themselves, miss by one unit of the last digit.
ONE_OFF = {
    ("2", "seen", "rmse", "Qwen2.5-Omni-7B"),
    ("3", "seen", "rmse", "MQ-Auditor"),
    ("3", "seen", "f2_a", "MQ-Auditor"),
    ("4", "both", "rmse", "Both"),
    ("5", "both", "rmse", "Direct NTP"),
    ("6", "both", "rmse", "50%"),
    ("9", "both", "rmse", "Both"),
    ("10", "both", "rmse", "100%"),
}


def _rows():
    return [(row, [float(cell) for cell in row.cells]) for table in TABLES for row in printed_rows(table)]


def _scored_cells(cells):
    return [Scored(cell, Signature.of(source="printed")) for cell in cells]


def _cell_counts():
    """Candidates and answers with the counts behind the paper's cells."""
    action = {"perfect": "accept", "cutout": "minor_revision", "merge": "reject", "full_neg": "reject"}
    candidates, answers = [], {}
    for split, defect, grade, types, actions, total in COUNTS:
        for number in range(total):
            name = f"{split}/{defect}/{number}"
            candidates.append(
                Candidate(
                    id=name, uid=name, clip=f"{split}{number}", split=split, defect=defect, difficulty=grade,
                    rank=1, track=name, iou=0.5, action=action[defect],
                )
            )  # fmt: skip
            answers[name] = JudgeAnswer(
                iou=0.5,
                defect=defect if number < types else "erode",
                action=action[defect] if number < actions else "major_revision",
            )
    return candidates, answers


def test_the_papers_cells_come_out_of_the_whole_table_code():
    candidates, answers = _cell_counts()
    tables = results_of(candidates, {"auditor": answers}).tables
    columns = ("Perfect", "Cut H", "Merge", "Full_neg")
    for (part, metric), printed_cells in PRINTED.items():
        table = tables[f"image_{part}_{metric}"]
        row = dict(zip(table.header, table.rows[0], strict=True))
        for column, value in zip(columns, printed_cells, strict=True):
            if value is not None:
                assert row[column] == value, (part, metric, column)
    cell_by_column = dict(zip(tables["image_seen_f2_m"].header, tables["image_seen_f2_m"].rows[0], strict=True))
    assert cell_by_column["Dil H"] == "–"
    assert "left out of Avg." in tables["image_seen_f2_m"].note
    assert cell_by_column["Avg."] == f"{(60.58 + 83.41 + 74.55 + 69.43) / 4:.2f}"


def test_all_rows_of_the_paper_were_transcribed():
    counts = {}
    for row, cells in _rows():
        counts[row.table] = counts.get(row.table, 0) + 1
        assert len(cells) == (12 if row.part == "both" else 9)
    assert counts == {"2": 30, "3": 6, "4": 9, "5": 6, "6": 9, "9": 12, "10": 9}


@pytest.mark.parametrize(("row", "cells"), _rows(), ids=lambda value: getattr(value, "method", ""))
def test_avg_is_the_plain_mean_of_the_printed_cells(row, cells):
    mean = plain_mean(_scored_cells(cells)).value
    unit = 10.0 ** -len(row.average.split(".")[1])
    off = abs(mean - float(row.average))
    assert off <= unit
    is_known = (row.table, row.part, row.metric, row.method) in ONE_OFF
    assert (off > unit / 2 + 1e-9) == is_known


@pytest.mark.parametrize("metric", ["rmse", "f2_m", "f2_a"])
def test_the_ablation_row_of_the_full_model_follows_from_table_2(metric):
    own_means = {
        row.part: _scored_cells(cells)
        for row, cells in _rows()
        if (row.table, row.method, row.metric) == ("2", "MQ-Auditor", metric)
    }
    printed_parts, average = next(
        (cells, float(row.average))
        for row, cells in _rows()
        if (row.table, row.method, row.metric) == ("4", "Both", metric)
    )
    unit = 0.001 if metric == "rmse" else 0.01
    groups = [*group_means(own_means["seen"]), *group_means(own_means["unseen"])]
    assert [mean.value for mean in groups] == pytest.approx(printed_parts, abs=unit)
    assert plain_mean(groups).value == pytest.approx(average, abs=unit)


def test_the_columns_stand_in_the_papers_order():
    assert [column.key for column in TABLE_2] == [
        "perfect", "cutout_hard", "cutout_medium", "dilate_hard", "dilate_medium", "erode_hard", "erode_medium",
        "merge", "full_neg",
    ]  # fmt: skip
