"""`act gate` of separated sounds: what is accepted unseen, by another record whose true scores are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auscult.cases.sounds import read_sounds
from auscult.errors import RecordError, UsageError
from auscult.jobs.gate import gate_record
from auscult.jobs.options import GateOptions
from small_inputs import auscult, rows
from small_sound_records import sound_input, sound_record


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`cal`: 40 mixtures of which those said to have 3.6 or less truly have less than 3.5; `new`: 10 others."""
    place = tmp_path_factory.mktemp("gate-sounds")
    for name, count in (("cal", 40), ("new", 10)):
        scores = {f"{name}{index}": 1.0 + 4.0 * index / (count - 1) for index in range(count)}
        source = sound_input(
            place / f"{name}-in", {key: [min(5.0, max(1.0, value - 0.1))] for key, value in scores.items()}
        )
        sound_record(place / name, source, {f"{key}/0": value for key, value in scores.items()})
    return place


def test_outputs_from_a_score_on_are_accepted_and_both_lists_are_inputs(records: Path, tmp_path: Path) -> None:
    options = GateOptions(
        folder=records / "new", calibration=records / "cal", by="overall", accept_error=0.2, out=tmp_path / "out"
    )
    gated = gate_record(options)
    assert gated.found.chosen is not None
    threshold = gated.found.chosen.threshold
    assert 3.0 < threshold <= 3.7
    verdicts = {row["id"]: row["overall"] for row in rows(records / "new" / "verdicts.jsonl")}
    assert set(gated.accepted) == {name for name, score in verdicts.items() if score >= threshold}
    assert {item.id for item in read_sounds(tmp_path / "out" / "accepted").items} == set(gated.accepted)
    assert {item.id for item in read_sounds(tmp_path / "out" / "to-look-at").items} == set(gated.to_look_at)
    sentences = " ".join(gated.sentences)
    assert "outputs are accepted, those with overall from" in sentences
    assert "true overall score below 3.5" in sentences
    assert "mask" not in sentences
    second = auscult("act", "gate", records / "new", "--calibration", records / "cal", "--by", "overall_low",
                    "--accept-error", "0.2", "--out", tmp_path / "low")  # fmt: skip
    assert second.code == 0


def test_what_cannot_gate_sounds_is_refused(records: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "folder": records / "new",
        "calibration": records / "cal",
        "by": "overall",
        "out": tmp_path / "out",
    }
    with pytest.raises(RecordError, match="no verdict on a mask") as error:
        gate_record(GateOptions(**{**options, "by": "iou"}))
    assert "gate --by overall" in error.value.hint
    with pytest.raises(UsageError, match="bad-below"):
        gate_record(GateOptions(**{**options, "bad_below": 0.75}))
    with pytest.raises(UsageError, match="too small: 40 clusters have an output"):
        gate_record(GateOptions(**{**options, "accept_error": 0.01}))
    (tmp_path / "table.csv").write_text("id,iou,true_iou\na,0.5,0.5\n")
    with pytest.raises(RecordError):
        gate_record(GateOptions(**{**options, "calibration": tmp_path / "table.csv"}))
