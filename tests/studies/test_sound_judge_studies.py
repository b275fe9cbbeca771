"""The studies of a judge of separated sound tell a judge that is always right from a constant."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.sounds import read_sounds
from auscult.media.wav import encode_wav
from auscult.rng import generator
from auscult.score.sound.ratios import si_sdr
from auscult.types import PERFORMANCE, Samples, SoundCase, SoundEvidence, SoundVerdict

ROOT = Path(__file__).resolve().parents[2]
RATE_HZ = 16_000


class Knows:
    """Scores an output by SI-SDR with the stem that is in its mixture, which no judge could."""

    name, meta = "sound.knows.v1", None

    def __init__(self, stems: list[Samples]) -> None:
        self.stems, self.n_requests = stems, 0

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        self.n_requests += 1
        stem = max(self.stems, key=lambda stem: np.vdot(stem, case.mixture[0]))
        ratio = si_sdr(separated[0], stem)
        score = float(np.clip(3 + getattr(ratio, "value", 40) / 20, 1, 5))
        ends = {f"{axis}{end}": np.clip(score + change, 1, 5) for axis in PERFORMANCE for end, change in _ENDS.items()}
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


def _separated(folder: Path) -> list[Samples]:
    """Two mixtures that share a recording, and one that does not: outputs from bad to good, true and wrong stems."""
    stems, lines, reuse_lines, mixtures = [], [], [], []
    for number, sources in enumerate((["rain@1s", "dog"], ["rain@4s", "car"], ["bell", "cat"])):
        name, text = f"lq-{number}", f"thing {number}"
        stem, noise_stem = generator(number, "test").normal(size=(2, RATE_HZ)) * 0.1
        noise = generator(number, "noise").normal(size=RATE_HZ)
        outputs = {
            f"{name}-{index}": stem + weight * noise_stem + weight * 0.05 * noise
            for index, weight in enumerate((1.2, 0.8, 0.3, 0.05))
        }
        known_parts = {"true_stem": stem, "untouched_mixture": stem + noise_stem, "wrong_stem": noise_stem}
        (folder / "audio" / name).mkdir(parents=True)
        for part, sound in {**outputs, **known_parts}.items():
            path = folder / "audio" / name / f"{part}.wav"
            path.write_bytes(encode_wav(sound, RATE_HZ))
            family = part if part in known_parts else "audiosep"
            row = {"id": f"{name} {part}", "mixture_id": name, "mixture": f"audio/{name}/untouched_mixture.wav"}
            row |= {"target": f"audio/{name}/true_stem.wav", "separated": f"audio/{name}/{part}.wav", "text": text}
            (reuse_lines if part in known_parts else lines).append(
                row | {"family": family, "system": family, "split": "train"}
            )
        mixtures.append({"mixture_id": name, "sources": sources, "kind": "events"})
        stems.append(np.asarray(stem, np.float32))
    for file, rows in (("items", lines), ("items_reuse", reuse_lines), ("mixtures", mixtures)):
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return stems


def test_a_judge_that_is_right_is_said_to_be_and_is_asked_once(
    studies: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sound_judge_real as real

    judge = Knows(_separated(tmp_path / "sound" / "separated"))
    monkeypatch.setattr(studies, "_loaded", lambda _: judge)
    monkeypatch.setattr(sys, "argv", ["real", "--judge", judge.name, "--rows", str(tmp_path / "rows.jsonl")])
    real.main()
    output = capsys.readouterr().out
    lines = {line.split(" | ")[0].strip("| "): line.split(" | ") for line in output.split("## kendall")[0].splitlines()}
    assert judge.n_requests == 24
    assert lines["**families kept back**"][1:4] == [
        "12",
        "2",
        "18",
    ]  # outputs, clusters (two mixtures share a recording), pairs
    assert lines["**families kept back**"][4].startswith("1.00")
    assert lines["**families kept back**"][-1] == "0.500 |"
    claims = [line.split(" | ") for line in output.split("## orders")[1].splitlines() if " stem " in line]
    assert claims
    assert all(line[4].startswith("1.00") and line[-1] == "0.500 |" for line in claims)
    real.main()
    assert judge.n_requests == 24
    assert capsys.readouterr().out == output


def test_songs_are_in_order_and_follow_people_where_the_judge_does(
    studies: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import sound_judge_songs as songs

    ratings = tmp_path / "sound" / "ratings"
    stems, rows = [], []
    for number in range(2):
        stem, other_stem = generator(number, "songs").normal(size=(2, 2 * RATE_HZ)) * 0.1
        parts = {f"system {index}": stem + weight * other_stem for index, weight in enumerate((2.0, 0.5, 0.1))}
        folder = ratings / f"page {number}"
        folder.mkdir(parents=True)
        for sound, samples in {"ref": stem, "Interferer": stem + other_stem, **parts}.items():
            (folder / f"{sound}.wav").write_bytes(encode_wav(np.asarray(samples, np.float32), RATE_HZ))
            kind = {"ref": "reference", "Interferer": "anchor"}.get(sound, "separator")
            fields = {
                "set": "icassp2018",
                "page": f"page {number}",
                "song": f"song {number}",
                "sound": sound,
                "kind": kind,
            }
            means = {
                f"{question}_mean": str(ord(sound[-1])) for question in ("freedom_from_interference", "sound_quality")
            }
            rows.append(fields | means | {"audio": f"page {number}/{sound}.wav", "reference": f"page {number}/ref.wav"})
        stems.append(np.asarray(stem, np.float32))
    with (ratings / "clips.csv").open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    (tmp_path / "audio" / "separation" / "wave_u_net_nc").mkdir(parents=True)
    monkeypatch.setattr(songs, "RATINGS", ratings)
    monkeypatch.setattr(songs, "DATA", tmp_path)
    monkeypatch.setattr(songs, "TWO", ("icassp2018 page 0",))
    monkeypatch.setattr(songs, "no_music", lambda *_: 0.0)
    monkeypatch.setattr(songs, "dnsmos", lambda *_: {"DNSMOS overall": 1.0, "DNSMOS background": 1.0})
    monkeypatch.setattr(songs, "halves", lambda *_: "-")
    monkeypatch.setattr(studies, "_loaded", lambda _: Knows(stems))
    page = tmp_path / "page"
    monkeypatch.setattr(
        sys, "argv", ["songs", "--judge", "knows", "--rows", str(tmp_path / "rows"), "--page", str(page)]
    )
    songs.main()
    output = capsys.readouterr().out
    lines = [line.split(" | ") for line in output.splitlines()]
    assert all(cell.startswith("1.00") for cell in next(line for line in lines if line[0] == "| knows precision")[1:3])
    claims = [line for line in lines if line[0].startswith("| songs, means")]
    assert len(claims) == 5
    assert all(line[4].startswith("1.00") for line in claims), output
    assert len(read_sounds(page).items) == 6
