"""`act filter` of separated sounds: what is kept is an INPUT, and a curve says what keeping the best is worth."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from auscult.cases.sounds import read_sounds
from auscult.errors import RecordError, UsageError
from auscult.jobs.act import SHARES, filter_record
from auscult.jobs.options import FilterOptions
from small_inputs import auscult, rows
from small_sound_records import sound_input, sound_record

TRUTHS = {f"m{index}": [1.0 + index / 5, 5.0 - index / 5] for index in range(12)}
EVERY = ("accept", "minor_revision", "major_revision", "reject", "unjudged")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("filter")
    source = sound_input(place / "in", TRUTHS)
    scores: dict[str, float | None] = {
        f"{name}/{index}": score for name, truth in TRUTHS.items() for index, score in enumerate(truth)
    }
    return sound_record(place / "rec", source, {**scores, "m0/0": None})


def test_what_passes_is_listed_and_is_an_input(record: Path, tmp_path: Path) -> None:
    picked = filter_record(FilterOptions(folder=record, out=tmp_path / "out"))
    accepted = [row["id"] for row in rows(record / "verdicts.jsonl") if row["action"] == "accept"]
    assert sorted(picked.ids) == sorted(accepted)
    assert picked.by_action["unjudged"] == 1
    kept_sounds = read_sounds(tmp_path / "out")
    assert not kept_sounds.problems
    assert sorted(item.id for item in kept_sounds.items) == sorted(accepted)
    assert all(item.separated and item.separated.is_file() and item.truth for item in kept_sounds.items)
    table = csv.DictReader((tmp_path / "out" / "verdicts.csv").read_text().splitlines())
    assert {row["id"] for row in table} == set(accepted)
    assert not (tmp_path / "out" / "coco.json").exists()


def test_a_least_score_and_another_policy_pick_otherwise(record: Path, tmp_path: Path) -> None:
    high = filter_record(FilterOptions(folder=record, actions=EVERY, min_overall=4.5, out=tmp_path / "high"))
    assert set(high.ids) == {"m0/1", "m1/1", "m2/1"}
    (tmp_path / "lenient.toml").write_text('name = "lenient"\n[accept]\noverall = 1.5\n')
    lenient = filter_record(
        FilterOptions(folder=record, sound_policy=str(tmp_path / "lenient.toml"), out=tmp_path / "lenient")
    )
    assert lenient.policy == "lenient"
    assert len(lenient.ids) == sum(score >= 1.5 for truth in TRUTHS.values() for score in truth)
    assert filter_record(FilterOptions(folder=record, min_iou=0.1, out=tmp_path / "none")).ids == ()
    with pytest.raises(RecordError, match="other files"):  # an INPUT of one's own
        filter_record(FilterOptions(folder=record, out=record.parent / "in"))
    with pytest.raises(UsageError):
        filter_record(FilterOptions(folder=record, min_overall=0.5, out=tmp_path / "wrong"))


def test_the_curve_lies_between_random_and_oracle(record: Path, tmp_path: Path) -> None:
    picked = filter_record(FilterOptions(folder=record, curve=True, out=tmp_path / "out"))
    assert [row["kept"] for row in picked.curve] == list(SHARES)
    for row in picked.curve:
        assert row["random"] <= row["judge"] <= row["oracle"] + 1e-9
        assert row["low"] <= row["judge"] <= row["high"]
        assert (row["n"], row["clusters"]) == (23, 12)
    assert picked.curve[0]["judge"] > picked.curve[-1]["judge"] == picked.curve[-1]["random"]
    assert (tmp_path / "out" / "curve.svg").read_text().startswith("<svg")
    table = auscult("act", "filter", record, "--curve", "--out", tmp_path / "out")
    assert "best by the judge" in table.out
    json_result = json.loads(auscult("act", "filter", record, "--curve", "--json", "--out", tmp_path / "out").out)
    assert json_result["curve"] == list(picked.curve)
