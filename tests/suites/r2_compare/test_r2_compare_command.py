"""``auscult compare`` of records of ``auscult run r2`` from the command line, and the folder that it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from r2_records import case, conditions, record

from auscult.record.folder import open_run
from auscult.record.manifest import build
from auscult.suites.core.compare import write_comparison
from auscult.suites.r2 import SUITE
from auscult.suites.registered import run
from small_inputs import auscult

CASES = tuple(case(f"v{clip}/0") for clip in range(4))
MODEL = """
import numpy as np


def predict(frames, query, *, sound=None, rate_hz=None, first_mask=None):
    return {answer}
"""


def random_scores(seed: int) -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(seed)
    return {
        condition.name: {case.id: float(rng.uniform(0.2, 1)) for case in CASES}
        for condition in conditions("low", "high")
    }


@pytest.fixture
def records(tmp_path: Path) -> tuple[Path, Path]:
    """A record of one model each, on the same cases; the second is not finished."""
    return (
        record(tmp_path / "one", {"flow": random_scores(1)}, cases=CASES),
        record(tmp_path / "two", {"<b>lexicon": random_scores(2)}, cases=CASES, is_finished=False),
    )


def test_tables_for_people_and_json_for_programs(records: tuple[Path, Path]) -> None:
    result = auscult("compare", *records)
    assert result.code == 0
    assert "Differences of models, J&F, on the same cases" in result.out
    assert "two is unfinished" in result.err
    summary = json.loads(auscult("compare", *records, "--json").out)
    assert (summary["command"], summary["n"], summary["failed"]) == ("compare", 2 * 9 * 4, 0)
    gap = summary["metrics"]["difference/flow - <b>lexicon/mix/apc/J"]
    assert gap["low"] < gap["value"] < gap["high"]
    assert gap["n"] == 4
    assert "drawn:clusters" in gap["signature"]


def test_a_folder_with_tables_figures_and_a_page(records: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert auscult("compare", *records, "--out", out).code == 0
    assert json.loads((out / "manifest.json").read_text())["seeds"] == {"seed": 7}
    for name in ("general_mix", "differences", "ranking", "correlation_vision", "means_kinds", "records"):
        assert {path.suffix for path in (out / "tables").glob(f"{name}.*")} == {".json", ".csv", ".tex"}
    for name in ("curve_mix", "kinds", "correlation_vision", "ranks_clean", "means_kinds"):
        assert {path.suffix for path in (out / "figures").glob(f"{name}.*")} >= {".svg", ".png"}
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "two is unfinished" in page
    assert "<b>lexicon" not in page
    assert "&lt;b&gt;lexicon" in page
    assert "/somewhere" not in page
    anchors = re.findall(r'id="([\w-]+)"', page)
    assert len(set(anchors)) == len(anchors)


def test_a_page_over_two_data_sets_and_the_same_page_from_the_record(tmp_path: Path) -> None:
    others = tuple(case(f"w{clip}/0", content="other") for clip in range(4))
    elsewhere = {
        name: dict(zip([other.id for other in others], row.values(), strict=True))
        for name, row in random_scores(2).items()
    }
    folders = [
        record(tmp_path / "one", {"flow": random_scores(1), "other": random_scores(3)}, cases=CASES),
        record(tmp_path / "two", {"flow": elsewhere, "other": elsewhere}, cases=others),
    ]
    out = tmp_path / "out"
    result = auscult("compare", *folders, "--out", out)
    assert result.code == 0, result.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(list((out / "figures").glob("*.svg"))) > 10
    assert auscult("report", out).code == 0
    assert (out / "report.html").read_text(encoding="utf-8") == page


def test_the_same_command_again_writes_the_same_and_another_is_refused(tmp_path: Path) -> None:
    conditions_, out = conditions()[:1], tmp_path / "out"
    records = [
        record(
            tmp_path / name, {name: {"clean": random_scores(seed)["clean"]}}, cases=CASES, asked_conditions=conditions_
        )
        for seed, name in enumerate(("one", "two"))
    ]
    assert auscult("compare", *records, "--out", out).code == 0
    before = (out / "cells.json").read_bytes()
    assert auscult("compare", *records, "--out", out).code == 0
    assert (out / "cells.json").read_bytes() == before
    swapped = auscult("compare", *records[::-1], "--out", out)
    assert swapped.code == 2
    assert "made with other arguments" in swapped.err


def test_a_record_is_never_written_over(records: tuple[Path, Path]) -> None:
    for out in (records[0], records[0] / "inside", records[0].parent):
        result = auscult("compare", *records, "--out", out, "--overwrite")
        assert result.code == 2
        assert "the output folder and a record" in result.err
    assert (records[0] / "scores.jsonl").is_file()


def test_models_and_judges_are_not_compared(records: tuple[Path, Path], tmp_path: Path) -> None:
    with open_run(tmp_path / "audit", build("audit", given={}, defaulted={}, seeds={}, inputs={})) as folder:
        folder.finish()
    mixed = auscult("compare", records[0], tmp_path / "audit")
    assert mixed.code == 2
    assert "one is a record of `auscult run r2`, audit of `auscult audit`" in mixed.err
    result = auscult("compare", tmp_path / "audit", tmp_path / "audit", "--out", tmp_path / "out")
    assert result.code == 2
    assert "the record holds no verdicts" in result.err
    assert not (tmp_path / "out").exists()


def clips(folder: Path) -> Path:
    """Two clips of three frames with a moving square, in the layout of DAVIS."""
    for number, name in enumerate(("left", "right")):
        frames, masks = (folder / part / "480p" / name for part in ("JPEGImages", "Annotations"))
        frames.mkdir(parents=True)
        masks.mkdir(parents=True)
        background = np.random.default_rng(number).integers(0, 120, (48, 64, 3), dtype=np.uint8)
        for time in range(3):
            frame, mask = background.copy(), np.zeros((48, 64), np.uint8)
            block = slice(10, 30), slice(8 + 6 * time, 24 + 6 * time)
            frame[block], mask[block] = (220, 60, 40), 1
            Image.fromarray(frame).save(frames / f"{time:05d}.jpg")
            image = Image.fromarray(mask, mode="P")
            image.putpalette([0, 0, 0, 128, 0, 0])
            image.save(masks / f"{time:05d}.png")
    return folder


@pytest.mark.slow
def test_two_runs_compared_are_one_run_of_both_models(tmp_path: Path) -> None:
    data = clips(tmp_path / "clips")
    models = {"still": "np.stack([first_mask] * len(frames))", "red": "frames[..., 0].astype(int) > 150"}
    for name, answer in models.items():
        (tmp_path / f"{name}.py").write_text(MODEL.format(answer=answer), encoding="utf-8")
    for out, names in (("one", ["still"]), ("two", ["red"]), ("both", ["still", "red"])):
        run(
            "r2",
            data=data,
            out=tmp_path / out,
            models=[f"{tmp_path / name}.py:predict" for name in names],
            task="vos",
            levels=("high",),
            mixes=("mix",),
            workers=0,
        )
    assert auscult("compare", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "out").code == 0
    expected, written_cells = ({_place(row): row for row in _cells(tmp_path / name)} for name in ("both", "out"))
    assert any(measure == "apc_difference" for measure, *_ in expected)
    assert {place: row for place, row in written_cells.items() if place in expected} == expected
    assert {row[1] for row in written_cells.keys() - expected.keys()} == {"clips"}  # the means over models
    assert (tmp_path / "out" / "tables" / "differences.csv").read_bytes() == (
        tmp_path / "both" / "tables" / "differences.csv"
    ).read_bytes()


def _cells(folder: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads((folder / "cells.json").read_text(encoding="utf-8"))
    return rows


def _place(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[key] for key in ("measure", "model", "metric", "group", "level", "part", "split"))


def test_what_an_earlier_comparison_wrote_and_this_one_does_not_goes(
    records: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write_comparison(records, SUITE, out)
    paths = set(out.rglob("*"))
    stale = out / "tables/sets.csv"
    stale.write_text("of an earlier command")
    with (out / ".written").open("a") as notes:
        notes.write(json.dumps({"name": "tables/sets.csv"}) + "\n")
    write_comparison(records, SUITE, out)
    assert set(out.rglob("*")) == paths
