"""``auscult compare`` from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from small_inputs import auscult, folder_input, item, rows, save_mask, write_lines


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A record with truth, and one of another judge."""
    folder = tmp_path_factory.mktemp("compare")
    folder_input(folder / "in", "ab")
    save_mask(folder / "in" / "truth.png")
    truth = {"mask": "truth.png", "defect": "erode", "action": "reject"}
    lines = [item(name, frame=f"frames/{name}.png", truth=truth) for name in "ab"]
    write_lines(folder / "in" / "items.jsonl", *lines)
    assert auscult("audit", folder / "in", "--out", folder / "one", "--workers", "1", "--quiet").code == 0
    shutil.copytree(folder / "one", folder / "two")
    other_rows = [
        {**row, "judge": "masks.other.v1", "defect": "erode"} for row in rows(folder / "two" / "verdicts.jsonl")
    ]
    write_lines(folder / "two" / "verdicts.jsonl", *other_rows)
    return folder / "one", folder / "two"


def test_tables_for_people_and_json_for_programs(records: tuple[Path, Path]) -> None:
    table = auscult("compare", *records)
    assert (table.code, table.err) == (0, "")
    assert "RMSE of the estimated IoU, paired" in table.out
    last = table.out[table.out.index("matched items") :]
    assert "masks.prompted.v1" in last
    assert "masks.other.v1" in last
    json_result = auscult("compare", *records, "--json")
    summary = json.loads(json_result.out)
    assert (summary["command"], summary["n"], summary["ok"]) == ("compare", 2, 2)
    assert summary["metrics"].keys() == {
        f"{name}/masks.prompted.v1/masks.other.v1" for name in ("rmse_difference", "paired_defect", "paired_action")
    }


def test_what_is_no_record_is_refused_with_a_hint(records: tuple[Path, Path], tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "missing"):
        result = auscult("compare", records[0], wrong)
        assert (result.code, result.out) == (2, "")
        assert "hint:" in result.err
    assert auscult("compare").code == 2


def test_a_record_of_a_suite_that_is_not_installed_names_the_suite(records: tuple[Path, Path], tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    shutil.copytree(records[0], foreign)
    manifest = foreign / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"command": "audit"', '"command": "run toy"'))
    for command in (("score", foreign), ("compare", foreign, records[0])):
        result = auscult(*command)
        assert (result.code, result.out) == (2, "")
        assert "the record is of the suite 'toy', which is not installed" in result.err
        assert "hint: install the plug-in" in result.err
