"""`auscult audit` of items with a separated sound, and `make scenes --stems`, which makes such items."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cli.audit import show_record
from auscult.errors import Mismatch
from auscult.jobs.audit import audit_folder
from auscult.jobs.make import make_scenes
from auscult.jobs.options import AuditOptions, MakeOptions
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.record.reader import Run, read_run
from auscult.scenes.options import SceneOptions
from auscult.types import JOINT_FAULTS, Samples
from small_inputs import LEFT, picture, save_frame, save_mask, write_lines

RATE_HZ = 8_000
TONE = 0.2 * np.sin(np.arange(RATE_HZ, dtype=np.float32) * 0.5)[None]
LINE = {"id": "a", "frame": "frame.png", "mask": "mask.png", "mixture": "mixture.wav", "separated": "stem.wav"}
SCENE = SceneOptions(size=(96, 170), seconds=4.0, rate_hz=RATE_HZ, objects=(3, 4))
MADE: dict[str, Any] = {"count": 1, "seed": 7, "scene": SCENE, "workers": 0, "expressions": 3, "stems": True}


def audited_run(source: Path, out: Path, **options: Any) -> Run:
    audit_folder(AuditOptions(source=source, out=out, judge="masks.cues.v1", workers=0, **options))
    return read_run(out)


def joint_input(folder: Path, *, stem: bytes, **fields: Any) -> Path:
    save_frame(folder / "frame.png")
    save_mask(folder / "mask.png", LEFT)
    (folder / "mixture.wav").write_bytes(encode_wav(TONE, RATE_HZ))
    (folder / "stem.wav").write_bytes(stem)
    return write_lines(folder / "items.jsonl", {**LINE, **fields})


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("joint") / "scenes"
    make_scenes(MakeOptions(out=out, **MADE))
    return out


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_stems_are_made_right_and_wrong_in_equal_shares(scenes: Path) -> None:
    joint_rows = lines(scenes / "joint.jsonl")
    assert set(Counter(row["truth"]["joint"] for row in joint_rows).values()) == {len(joint_rows) // 4}
    for row in joint_rows:
        right_mask = row["mask"] == row["truth"]["mask"]
        assert right_mask == (row["truth"]["joint"] in {"none", "stem"})
    second = scenes.parent / "again"
    make_scenes(MakeOptions(out=second, **MADE))
    assert (second / "joint.jsonl").read_bytes() == (scenes / "joint.jsonl").read_bytes()
    separated_path = str(joint_rows[0]["separated"])
    assert (second / separated_path).read_bytes() == (scenes / separated_path).read_bytes()
    right, also_right, wrong = (read_sound(scenes / str(row["separated"])).samples.ravel() for row in joint_rows[:3])
    assert np.corrcoef(right, also_right)[0, 1] > np.corrcoef(right, wrong)[0, 1]  # another leak, another sound


def test_a_joint_item_is_audited_as_one(scenes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = audited_run(scenes / "joint.jsonl", tmp_path / "out")
    joint_of = {verdict.id: verdict.joint for verdict, _ in run.verdicts}
    assert len(joint_of) == len(lines(scenes / "joint.jsonl"))
    for joint in joint_of.values():
        assert joint is not None
        assert joint.wrong in {*JOINT_FAULTS, "unchecked"}
        assert sum(joint.probs.values()) == pytest.approx(0.0 if joint.wrong == "unchecked" else 1.0, abs=1e-4)
    with (tmp_path / "out" / "verdicts.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["id"]: row["joint_wrong"] for row in rows} == {
        name: joint_.wrong for name, joint_ in joint_of.items() if joint_
    }
    answered_joints = [joint_ for joint_ in joint_of.values() if joint_ and joint_.wrong != "unchecked"]
    assert (run.summary or {})["metrics"]["joint_accuracy"]["n"] == len(answered_joints) > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Mask and sound:" in page
    assert "mask and sound, truth and answer" in page
    assert {"joint", "truth_5_joint"} <= {path.stem for path in (tmp_path / "out" / "tables").iterdir()}
    show_record(tmp_path / "out", summary={}, json=False)
    assert "which of mask and separated sound is not the object's asked for" in capsys.readouterr().out


def long_header(hours: float) -> bytes:
    """A WAV file whose header promises more than is there."""
    header = bytearray(encode_wav(TONE, RATE_HZ))
    header[40:44] = int(hours * 3600 * RATE_HZ * 2).to_bytes(4, "little")
    return bytes(header)


def wav(samples: Samples, rate_hz: int = RATE_HZ) -> bytes:
    return encode_wav(samples, rate_hz)


BAD: dict[str, tuple[Callable[[], bytes], dict[str, object], str]] = {
    "no separated file": (lambda: wav(TONE), {"separated": "none.wav"}, "none.wav"),
    "no mixture file": (lambda: wav(TONE), {"mixture": "none.wav"}, "none.wav"),
    "no key separated": (lambda: wav(TONE), {"separated": None}, "there is 'mixture' and no 'separated'"),
    "no key mixture": (lambda: wav(TONE), {"mixture": None}, "there is 'separated' and no 'mixture'"),
    "a number as its name": (lambda: wav(TONE), {"separated": 3}, "'separated' is a number"),
    "a path out of the input": (lambda: wav(TONE), {"separated": "../../stem.wav"}, "stem.wav"),
    "another length": (lambda: wav(TONE[:, :-9]), {}, "7,991 samples, that of its mixture 8,000 samples"),
    "another rate": (lambda: wav(TONE, 16_000), {}, "16,000 Hz, that of its mixture 8,000 Hz"),
    "empty": (lambda: b"", {}, "stem.wav"),
    "noise": (lambda: bytes(range(256)) * 40, {}, "stem.wav"),
    "a picture": (lambda: picture().tobytes(), {}, "stem.wav"),
    "truncated": (lambda: wav(TONE)[:-500], {}, "truncated"),
    "two hours": (lambda: long_header(2.0), {}, "7,200"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_costs_its_item_and_says_why(name: str, tmp_path: Path) -> None:
    stem, fields, words = BAD[name]
    source = joint_input(tmp_path / "in", stem=stem(), **fields)
    with source.open("a") as file:
        file.write(json.dumps({"id": "mask only", "frame": "frame.png", "mask": "mask.png"}) + "\n")
    run = audited_run(tmp_path / "in", tmp_path / "out")
    assert [verdict.id for verdict, _ in run.verdicts] == ["mask only"]
    (error,) = run.lines("errors.jsonl")
    assert error["id"] == "a"
    assert words in f"{error['error']} {error['path']}"
    assert error["expected"]
    assert error["hint"]


def test_silence_is_no_wrong_stem(tmp_path: Path) -> None:
    joint_input(tmp_path / "in", stem=wav(np.zeros_like(TONE)), text="the thing that hums")
    ((verdict, _),) = audited_run(tmp_path / "in", tmp_path / "out").verdicts
    assert verdict.joint is not None
    assert (verdict.joint.wrong, verdict.joint.probs) == ("unchecked", {})
    assert "the separated sound is silent" in verdict.rationale


def test_an_item_without_sounds_has_no_joint_finding(tmp_path: Path) -> None:
    joint_input(tmp_path / "in", stem=b"", mixture=None, separated=None)
    run = audited_run(tmp_path / "in", tmp_path / "out")
    ((verdict, row),) = run.verdicts
    assert verdict.joint is None
    assert "joint" not in row
    assert not (tmp_path / "out" / "tables" / "joint.json").exists()


def test_a_separated_sound_that_changed_is_not_taken_for_the_judged_one(tmp_path: Path) -> None:
    joint_input(tmp_path / "in", stem=wav(TONE))
    audited_run(tmp_path / "in", tmp_path / "out")
    audited_run(tmp_path / "in", tmp_path / "out")
    (tmp_path / "in" / "stem.wav").write_bytes(wav(0.5 * TONE))
    with pytest.raises(Mismatch):
        audited_run(tmp_path / "in", tmp_path / "out")
