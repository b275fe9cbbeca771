"""The studies of a judge of separated sound tell a judge that is always right from a constant."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.score.sound.ratios import si_sdr
from auscult.types import PERFORMANCE, Samples, SoundCase, SoundEvidence, SoundVerdict

ROOT = Path(__file__).resolve().parents[2]
RATE_HZ = 16_000


class Knows:
    """Scores an output by SI-SDR with the stem that its prompt names, which no judge could."""

    name, meta = "sound.knows.v1", None

    def __init__(self, stems: dict[str, Samples]) -> None:
        self.stems, self.asked = stems, 0

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        self.asked += 1
        found = si_sdr(separated[0], self.stems[case.text or "singing"])
        score = float(np.clip(3 + getattr(found, "value", 40) / 20, 1, 5))
        ends = {f"{axis}{end}": np.clip(score + by, 1, 5) for axis in PERFORMANCE for end, by in _ENDS.items()}
        return SoundVerdict(
            id=case.id, difficulty={}, evidence=SoundEvidence(text=True), rationale="", judge=self.name, **ends
        )


_ENDS = {"": 0.0, "_low": -4.0, "_high": 4.0}


@pytest.fixture
def studies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "studies"))
    monkeypatch.setenv("AUSCULT_DATA", str(tmp_path))
    import sound_judge_rows as rows

    monkeypatch.setattr(rows, "text_similarity", lambda *_, **__: 0.5)
    monkeypatch.setattr(rows, "tagger", lambda: None)
    return rows


def _separated(folder: Path) -> dict[str, Samples]:
    """Two mixtures that share a recording, and one that does not: outputs from bad to good, true and wrong stems."""
    stems, lines, again, mixtures = {}, [], [], []
    for number, sources in enumerate((["rain@1s", "dog"], ["rain@4s", "car"], ["bell", "cat"])):
        name, text = f"lq-{number}", f"thing {number}"
        stem, rest = generator(number, "test").normal(size=(2, RATE_HZ)) * 0.1
        noise = generator(number, "noise").normal(size=RATE_HZ)
        outputs = {f"{name}-{at}": stem + by * rest + by * 0.05 * noise for at, by in enumerate((1.2, 0.8, 0.3, 0.05))}
        known = {"true_stem": stem, "untouched_mixture": stem + rest, "wrong_stem": rest}
        (folder / "audio" / name).mkdir(parents=True)
        for part, sound in {**outputs, **known}.items():
            path = folder / "audio" / name / f"{part}.wav"
            path.write_bytes(encode_wav(sound, RATE_HZ))
            family = part if part in known else "audiosep"
            row = {"id": f"{name} {part}", "mixture_id": name, "mixture": f"audio/{name}/untouched_mixture.wav"}
            row |= {"target": f"audio/{name}/true_stem.wav", "separated": f"audio/{name}/{part}.wav", "text": text}
            (again if part in known else lines).append(row | {"family": family, "system": family, "split": "train"})
        mixtures.append({"mixture_id": name, "sources": sources, "kind": "events"})
        stems[text] = np.asarray(stem, np.float32)
    for file, found in (("items", lines), ("items_reuse", again), ("mixtures", mixtures)):
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return stems


def test_a_judge_that_is_right_is_said_to_be_and_is_asked_once(
    studies: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sound_judge_real as real

    judge = Knows(_separated(tmp_path / "sound" / "separated"))
    monkeypatch.setattr(studies, "_loaded", lambda _: judge)
    monkeypatch.setattr(sys, "argv", ["real", "--judge", judge.name, "--rows", str(tmp_path / "rows.jsonl")])
    real.main()
    told = capsys.readouterr().out
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in told.split("## kendall")[0].splitlines()}
    assert judge.asked == 21
    assert lines["**families kept back**"][1:4] == [
        "12",
        "2",
        "18",
    ]  # outputs, clusters (two mixtures share a recording), pairs
    assert lines["**families kept back**"][4].startswith("1.00")
    assert lines["**families kept back**"][-1] == "0.50 |"
    claims = [line.split(" | ") for line in told.split("## orders")[1].splitlines() if "true stem above" in line]
    assert claims
    assert all(line[4].startswith("1.00") and line[-1] == "0.50 |" for line in claims)
    real.main()
    assert judge.asked == 21
    assert capsys.readouterr().out == told
