"""Rows of separated sounds beside those of masks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import RecordError
from auscult.record.reader import read_all_verdicts, read_verdicts, sound_curves
from auscult.record.schema import sound_verdict_from_json, sound_verdict_to_json, verdict_to_json
from auscult.types import PERFORMANCE, Evidence, SoundCurves, SoundEvidence, SoundVerdict, Verdict


def sound_verdict(name: str = "s") -> SoundVerdict:
    scores = {f"{axis}{end}": 3.0 + step for axis in PERFORMANCE for end, step in (("", 0), ("_low", -1), ("_high", 1))}
    return SoundVerdict(
        id=name, **scores, difficulty={"overall": 2.5}, evidence=SoundEvidence(text=True, unknown=("zither",)),
        rationale="A little is left over.", judge="sound.any.v1", action="minor_revision", novelty=0.25,
        curves=SoundCurves(hop_s=0.064, missing=(0.0, 0.5), left_over=(0.25, 1.0)), seconds=0.125,
    )  # fmt: skip


def mask_verdict() -> Verdict:
    return Verdict(
        id="m", iou=0.5, iou_low=0.4, iou_high=0.6, defect="erode", defect_probs={"erode": 1.0}, evidence=Evidence(),
        rationale="Too small.", judge="masks.any.v1",
    )  # fmt: skip


def test_a_row_reads_back_and_keeps_what_its_verdict_lacks() -> None:
    row = json.loads(json.dumps(sound_verdict_to_json(sound_verdict(), text="a dog", family=None)))
    assert sound_verdict_from_json(row) == sound_verdict()
    assert (row["text"], row["curves"]["hop_s"], "family" in row) == ("a dog", 0.064, False)
    assert json.loads(json.dumps(sound_verdict().to_dict()))["evidence"]["unknown"] == ["zither"]


def test_masks_and_sounds_stand_in_one_file(tmp_path: Path) -> None:
    rows = [
        sound_verdict_to_json(sound_verdict()),
        verdict_to_json(mask_verdict()),
        sound_verdict_to_json(sound_verdict("t")),
    ]
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [verdict.id for verdict, _ in read_verdicts(tmp_path)] == ["m"]
    assert [verdict.id for verdict, _ in read_all_verdicts(tmp_path)[1]] == ["s", "t"]
    assert sound_curves(tmp_path, {"t"}) == {"t": sound_verdict().curves}


def test_a_damaged_row_of_a_sound_is_refused_with_its_line(tmp_path: Path) -> None:
    row = sound_verdict_to_json(sound_verdict()) | {"recall": "high"}
    (tmp_path / "verdicts.jsonl").write_text(json.dumps(row) + "\n")
    with pytest.raises(RecordError) as error:
        read_all_verdicts(tmp_path)
    assert (error.value.line, "recall" in error.value.message) == (1, True)


def test_numbers_of_numpy_become_plain() -> None:
    row = sound_verdict_to_json(
        SoundVerdict(
            **{**{name: getattr(sound_verdict(), name) for name in SoundVerdict.__slots__}, "recall": np.float32(3.5)}
        )
    )
    assert json.dumps(row["recall"]) == "3.5"
