"""The calibration that ships is whole and says what it rests on, and its file is read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auscult.errors import UsageError
from auscult.judge.masks.compact.network import CALIBRATION, GROUPS, load_calibration
from auscult.types import DEFECTS


def _calibration_with(*keys: str, to: object) -> dict[str, Any]:
    value = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    place = value
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = to
    return dict(value)


BROKEN = {
    "schema": _calibration_with("schema", to=2),
    "digest": _calibration_with("weights", to="xyz"),
    "a slope below nothing": _calibration_with("arbitrary", to=[-0.1, 0.0]),
    "no number": _calibration_with("temperature", to="1.0"),
    "a truth value": _calibration_with("temperature", to=True),
    "not finite": _calibration_with("temperature", to=float("inf")),
    "zero": _calibration_with("iou_temperature", to=0.0),
    "ends": _calibration_with("ends", to=[0.0]),
    "prior": _calibration_with("prior", to=[0.4, 0.8, 1.0]),
    "no group": _calibration_with("groups", to={}),
    "another group": _calibration_with("groups", "huge erode", to={"reach": 1.0, "clusters": 1, "masks": 1}),
    "a negative reach": _calibration_with("groups", "all", "reach", to=-1.0),
    "half a masks": _calibration_with("groups", "all", "masks", to=1.5),
    "distances": _calibration_with("novelty", "distances", to=[3.0, 2.0, 1.0]),
    "a short centre": _calibration_with("novelty", "centre", to="0.0 1.0"),
    "no rows": _calibration_with("novelty", "precision", to=[]),
    "no precision": _calibration_with(
        "novelty", "precision", to=[" ".join(["0.0"] * (index + 1)) for index in range(64)]
    ),
    "a list": [1, 2],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(BROKEN[name]))
    with pytest.raises(UsageError, match="the calibration cannot be read") as error:
        load_calibration(path)
    assert error.value.path == str(path)
    assert "comes with auscult" in error.value.expected


def test_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_calibration(tmp_path / "none.json")
    path = tmp_path / "huge.json"
    path.write_text(" " * 200_001)
    with pytest.raises(UsageError, match="more than 200000 bytes"):
        load_calibration(path)


def test_the_shipped_file_rests_on_photographs_and_says_on_how_many() -> None:
    shipped = load_calibration()
    assert {"all", *DEFECTS[:5]} <= set(shipped.reach) <= GROUPS
    counts = {
        name: (row["clusters"], row["masks"])
        for name, row in json.loads(CALIBRATION.read_text(encoding="utf-8"))["groups"].items()
    }
    assert set(counts) == set(shipped.reach)
    assert all(clusters >= 12 and masks >= 60 for clusters, masks in counts.values())
    assert counts["all"] == max(counts.values())
    mean, low, high = shipped.prior
    assert 0 < low < mean < high <= 1
