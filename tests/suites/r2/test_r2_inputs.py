"""What models are shown, as files: predicted elsewhere, given back, and scored as if asked here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from r2_material import calls, clips, model_file, rows, run_r2, sounding, spoken

from auscult.media.frames import read_frame
from auscult.media.masks import read_mask, write_mask
from auscult.media.sound import read_sound
from auscult.types import MaskRef

WORDS: dict[str, Any] = {"mixes": (), "levels": ("high",), "inputs": True}


def red(frame: Any) -> Any:
    high = frame.astype(int)
    return (high[..., 0] > 150) & (high[..., 1] < 110) & (high[..., 2] < 110)


def predict_elsewhere(out: Path, to: Path) -> int:
    """A person's own script: every picture of ``inputs/`` becomes a mask of the same name."""
    count = 0
    for query in sorted((out / "inputs").rglob("query.json")):
        folder = query.parent
        for name in json.loads(query.read_text())["frames"]:
            write_mask(to / folder.relative_to(out / "inputs") / f"{name}.png", red(read_frame(folder / f"{name}.png")))
            count += 1
    return count


def test_predicted_elsewhere_scores_as_asked_here(tmp_path: Path) -> None:
    data, file, out = clips(tmp_path / "data", one=4), model_file(tmp_path), tmp_path / "out"
    words = {**WORDS, "kinds": ["elastic_transform", "dropped_frames", "erode"]}
    run_r2(data, out, "vos", f"{file}:colour", **words)
    assert predict_elsewhere(out, tmp_path / "masks") == 4 * 4
    run_r2(data, out, "vos", f"predictions:{tmp_path / 'masks'}", **words)
    values_of: dict[str, dict[tuple[str, str, str], float]] = {"mine.colour": {}, "predictions.masks": {}}
    for row in rows(out, "scores.jsonl"):
        if row["model"] in values_of:
            values_of[row["model"]][row["condition"], row["id"], row["metric"]] = row["value"]
    assert len(values_of["mine.colour"]) == 8
    assert values_of["mine.colour"] == values_of["predictions.masks"]
    assert not rows(out, "errors.jsonl")
    mask = read_mask(MaskRef(path=out / "inputs/first_mask_erode_high/one#1/first_mask.png"), size=(48, 64)).mask
    clean = read_mask(MaskRef(path=out / "inputs/clean/one#1/first_mask.png"), size=(48, 64)).mask
    assert 0.74 < mask.sum() / clean.sum() < 0.81


@pytest.mark.parametrize("task", ["rvos", "avs"])
def test_sentences_and_sounds_are_written_as_given(tmp_path: Path, task: str) -> None:
    data = spoken(tmp_path / "data", count=1) if task == "rvos" else sounding(tmp_path / "data", count=1)
    file, out = model_file(tmp_path), tmp_path / "out"
    run_r2(data, out, task, f"{file}:colour", kinds=["misspelling" if task == "rvos" else "gain"], **WORDS)
    queries = sorted((out / "inputs").rglob("query.json"))
    assert len(queries) == 2
    texts = {json.loads(query.read_text())["text"] for query in queries}
    assert texts == {call["text"] for call in calls(file)}
    assert len(texts) == (2 if task == "rvos" else 1)
    if task == "avs":
        sounds = [read_sound(query.with_name("sound.wav")) for query in queries]
        assert {sound.rate_hz for sound in sounds} == {8000}
        assert max(float(np.abs(sound.samples).max()) for sound in sounds) <= 1.0
        assert not np.array_equal(sounds[0].samples, sounds[1].samples)
