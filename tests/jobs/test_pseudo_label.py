"""`act pseudo-label`: what passes is a stem with a label, which new mixtures can be made of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from auscult.cases.sounds import read_sounds
from auscult.jobs.rerank import NO_WORDS, SEVERAL, label_of, pseudo_label
from auscult.jobs.sound_options import PseudoLabelOptions
from auscult.scenes.mixtures.catalogue import open_recorded
from small_inputs import auscult, rows
from small_sound_records import sound_input, sound_record

TEXTS = {"a": "dog barking", "b": "../../etc/x", "c": "rain", "d": "music", "e": "dog", "f": "\u72ac"}


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labels")
    source = sound_input(place / "in", {name: [4.6, 4.4] for name in TEXTS}, texts=TEXTS)
    scores: dict[str, float | None] = {f"{name}/{index}": 4.8 - 0.3 * index for name in TEXTS for index in (0, 1)}
    return sound_record(place / "rec", source, {**scores, "c/0": 2.0, "c/1": None, "e/0": 3.9})


def test_the_best_that_passes_becomes_a_stem_of_its_class(record: Path, tmp_path: Path) -> None:
    labelled = pseudo_label(PseudoLabelOptions(folder=record, out=tmp_path / "out"))
    written_rows = {row["id"]: row for row in rows(tmp_path / "out" / "items.jsonl")}
    assert {name: row["label"] for name, row in written_rows.items()} == {
        "a/0": "dog", "b/0": "etc x", "e/1": "dog", "f/0": "\u72ac"
    }  # fmt: skip
    assert labelled.said["left_out"] == {"it does not pass": 1, SEVERAL: 1}
    items = read_sounds(tmp_path / "out")
    assert not items.problems
    assert all(item.truth is None and item.separated and item.separated.is_file() for item in items.items)
    assert written_rows["a/0"]["confidence"] == pytest.approx((4.3 - 1) / 4)
    assert written_rows["b/0"]["separated"].startswith("sounds/etc_x/")
    assert {path.parent.name for path in (tmp_path / "out" / "sounds").rglob("*.wav")} == {"dog", "etc_x", "\u72ac"}
    assert not (tmp_path / "etc").exists()


def test_mixtures_can_be_made_of_it(record: Path, tmp_path: Path) -> None:
    labelled = pseudo_label(PseudoLabelOptions(folder=record, min_overall_low=4.1, out=tmp_path / "out"))
    assert labelled.said["kept"] == 3
    assert {row["id"] for row in rows(tmp_path / "out" / "items.jsonl")} == {"a/0", "b/0", "f/0"}
    catalogue, errors = open_recorded(tmp_path / "out")
    assert not errors
    assert {clip.label for clip in catalogue.clips} == {"dog", "etc x", "\u72ac"}
    assert {clip.recording.rpartition("/")[2] for clip in catalogue.clips} == {"a", "b", "f"}


def test_labels_are_safe_names_of_folders(record: Path, tmp_path: Path) -> None:
    assert label_of("Dog barking") == "dog"
    assert label_of("/\0..\\ ___") == NO_WORDS
    assert label_of("music") == SEVERAL
    long = label_of("zither " * 5000)
    assert long.startswith("zither zither")
    assert len(long) <= 60
    json_result = json.loads(auscult("act", "pseudo-label", record, "--json", "--out", tmp_path / "out").out)
    assert json_result["labels"] == {"dog": 2, "etc x": 1, "\u72ac": 1}
    assert "labelled stems" in auscult("act", "pseudo-label", record, "--out", tmp_path / "again").out
    second = auscult("act", "pseudo-label", record, "--out", tmp_path / "out")
    assert second.code == 2  # old stems would stay
    assert "earlier" not in second.err
