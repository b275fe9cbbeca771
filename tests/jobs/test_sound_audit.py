"""``auscult audit`` of separated sounds: what is judged, what a judge gets, and what goes wrong."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import auscult
from auscult.errors import Mismatch, NothingToDo
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import AuditOptions
from auscult.outcome import Failed
from auscult.record.reader import read_all_verdicts, read_verdicts
from auscult.record.schema import Summary
from auscult.types import SoundItem, SoundVerdict, Verdict
from small_inputs import LEFT, picture, rows, save_frame, save_mask
from small_sounds import JUDGE, RATE_HZ, plug_in_sound, save_sound, sounds_input, tone


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """The plug-in judge; gives what it was given so far."""
    plug_in_sound(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("PLUGGED_LOG", str(tmp_path / "log"))
    yield lambda: rows(tmp_path / "log") if (tmp_path / "log").exists() else []
    sys.modules.pop("plugged_sound_judge", None)


def audit(source: Path, *, out: str = "out", workers: int = 0, **audit_fields: Any) -> Summary:
    options = AuditOptions(
        source=source, out=source.parent / out, sound_judge="plugged", workers=workers, **audit_fields
    )
    return audit_folder(options)


def items(source: Path, *lines: dict[str, Any]) -> Path:
    """An INPUT of these lines, each of the file mix.wav unless it says otherwise."""
    full_lines = [{"mixture": "mix.wav", "separated": "out.wav", **line} for line in lines]
    source.mkdir(exist_ok=True)
    (source / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in full_lines))
    return source


def test_masks_and_sounds_of_one_file_come_into_one_record(tmp_path: Path, plugged: Any) -> None:
    source = sounds_input(tmp_path / "in")
    save_frame(source / "f.png"), save_mask(source / "m.png", LEFT)
    with (source / "items.jsonl").open("a") as file:
        file.write(json.dumps({"id": "mask", "frame": "f.png", "mask": "m.png"}) + "\n")
        file.write(json.dumps({"id": "m0/c0", "mixture": "mix0.wav", "separated": "out0_0.wav"}) + "\n")
        file.write(json.dumps({"id": "lost", "mixture": "mix0.wav"}) + "\n")
    summary = audit(source, judge="cues")
    assert (summary.n, summary.ok, summary.failed) == (7, 5, 2)
    assert summary.sound is not None
    assert (summary.sound["n"], summary.sound["ok"], summary.sound["failed"]) == (5, 4, 1)
    assert sum(summary.by_action.values()) == 5
    assert [verdict.id for verdict, _ in read_verdicts(source.parent / "out")] == ["mask"]
    _, sounds = read_all_verdicts(source.parent / "out")
    assert {verdict.id: round(verdict.overall, 3) for verdict, _ in sounds} == {
        "m0/c0": 5.0, "m0/c1": 3.0, "m1/c0": 5.0, "m1/c1": 3.0,
    }  # fmt: skip
    row = next(row for verdict, row in sounds if verdict.id == "m1/c1")
    assert (row["mixture"], row["separated"], row["text"]) == ("mix1.wav", "out1_1.wav", "a tone")
    assert (row["cluster"], row["system"], row["duration_s"], row["judge"]) == ("mix1.wav", "s1", 1.0, JUDGE)
    errors = {row["id"]: row["error"] for row in rows(source.parent / "out" / "errors.jsonl")}
    assert "used twice" in errors[None]
    assert errors["lost"] == "nothing was separated"
    with (source.parent / "out" / "verdicts.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [(row["id"], row["action"]) for row in table if row["overall"]] == [
        ("m0/c0", "accept"), ("m0/c1", "major_revision"), ("m1/c0", "accept"), ("m1/c1", "major_revision"),
    ]  # fmt: skip
    assert [row["id"] for row in table if row["iou"]] == ["mask"]


def test_a_folder_of_mixtures_needs_no_list(tmp_path: Path, plugged: Any) -> None:
    source = tmp_path / "in"
    for name in ("mixtures/a", "separated/a/one", "separated/a/two", "mixtures/b", "separated/b", "mixtures/c"):
        save_sound(source / f"{name}.wav", tone())
    summary = audit(source, listing=auscult_text("a tone"))
    assert (summary.ok, summary.failed) == (3, 1)
    assert {row["text"] for row in plugged()} == {"a tone"}
    (source / "separated").rename(source / "elsewhere")
    with pytest.raises(NothingToDo, match="nothing separated"):
        audit(source, out="other")


def test_a_coded_file_without_the_extra_is_named(tmp_path: Path, plugged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not its mixture, by which a folder lists it."""
    monkeypatch.setitem(sys.modules, "soundfile", None)
    source = tmp_path / "in"
    for name in ("mixtures/a.wav", "separated/a/one.wav"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        save_sound(source / name, tone())
    (source / "separated" / "a" / "two.wav").write_bytes(b"RIFF, or so it says")
    (source / "separated" / "a" / "three.flac").write_bytes(b"fLaC" + bytes(40))
    summary = audit(source)
    assert (summary.ok, summary.failed) == (1, 2)
    failed = rows(tmp_path / "out" / "errors.jsonl")
    assert {Path(row["path"]).name for row in failed} == {"two.wav", "three.flac"}
    assert all("the extra `sound`" in row["error"] for row in failed)


def auscult_text(text: str) -> Any:
    from auscult.cases.listing import ListOptions

    return ListOptions(text=text)


def test_a_mixture_is_shared_by_its_outputs(tmp_path: Path, plugged: Any) -> None:
    audit(sounds_input(tmp_path / "in", mixtures=2, outputs=3))
    seen_rows = plugged()
    assert [row["of"] for row in seen_rows] == [3] * 6
    assert len({row["mixture"] for row in seen_rows[:3]}) == len({row["mixture"] for row in seen_rows[3:]}) == 1


# --- what does not fit: a rule and a note, or an error that says what was expected ---


STEREO = np.concatenate([tone(), 0.5 * tone()])
RULES: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    # mixture, output, keys of the line; what the note or the error says, "" for a plain verdict
    "alike": (tone(), tone(), {}, ""),
    "49 ms longer": (tone(), tone(1.049), {}, "note: 49.0 ms longer, cut"),
    "49 ms shorter": (tone(), tone(0.951), {}, "note: 49.0 ms shorter, filled with silence"),
    "60 ms longer": (tone(), tone(1.06), {}, "the output is 1.060 s long, its mixture 1.000 s"),
    "another rate": (tone(), (tone(rate_hz=16_000), 16_000), {}, "note: resampled from 16000 to 8000 Hz"),
    "stereo of mono": (tone(), tone(channels=2), {}, "note: channels averaged, since the mixture is mono"),
    "mono of stereo": (STEREO, tone(), {}, "note: compared with the mean of the mixture's channels"),
    "stereo": (STEREO, STEREO, {}, ""),
    "three of two": (STEREO, tone(channels=3), {}, "the output has 3 channels, its mixture 2"),
    "DC": (tone() + 0.5, tone() - 0.5, {}, ""),
    "silent output": (tone(), 0 * tone(), {}, ""),
    "silent mixture": (0 * tone(), tone(), {}, "unjudged"),
    "no number": (tone(), np.where(tone() > 0.2, np.nan, tone()), {}, "values that are not finite"),
    "no number in the mixture": (tone() * np.nan, tone(), {}, "values that are not finite"),
    "40 ms": (tone(0.04), tone(0.04), {}, "the sound is 0.040 s long"),
    "50 ms": (tone(0.05), tone(0.05), {}, ""),
    "50 ms in whole samples": (
        tone(0.05),
        (tone(0.05, rate_hz=22_050), 22_050),
        {},
        "note: resampled from 22050 to 8000 Hz",
    ),
    "nothing": (tone(), tone(0), {}, "the sound has no samples"),
    "no file": (tone(), None, {}, "the file does not exist"),
    "no output": (tone(), tone(), {"separated": None}, "nothing was separated"),
    "damaged": (tone(), b"RIFF\x10\0\0\0WAVEdata", {}, "damaged"),
    "cut off": (tone(), "cut", {}, "truncated"),
    "disguised": (tone(), b"\x89PNG\r\n\x1a\n" + bytes(200), {}, "no sound that"),
    "out of its folder": (tone(), tone(), {"separated": "../out.wav"}, "leaves"),
    "span reversed": (tone(), tone(), {"spans_s": [["+", 0.5, 0.2]]}, "a span goes from 0.5 to 0.2 s"),
    "span behind the end": (tone(), tone(), {"spans_s": [["+", 1.5, 2.0]]}, "a span '+' goes from 1.5 to 2 s"),
    "span over the end": (tone(), tone(), {"spans_s": [["-", 0.5, 9.0]]}, ""),
    "span that is none": (tone(), tone(), {"spans_s": [["*", 0.1, 0.2]]}, "spans_s"),
    "10,000 words": (tone(), tone(), {"text": "word " * 10_000}, ""),
    "too many words": (tone(), tone(), {"text": "word " * 30_000}, "text"),
    "other scripts": (tone(), tone(), {"text": "مطر 雨 \u202e дождь"}, ""),
    "video without frames": (tone(), tone(), {"video": "frames"}, "the picture prompt has no frame"),
    "picture that is none": (tone(), tone(), {"video": "mix.wav"}, "picture"),
    "picture that is not there": (tone(), tone(), {"video": "none.png"}, "none.png"),
    "the judge refuses": (tone(), tone(), {"text": "refuse"}, "this judge does not like it"),
    "the judge gives no number": (tone(), tone(), {"text": "nan"}, "is no number"),
}


def test_what_does_not_fit_has_a_rule_or_an_error(tmp_path: Path, plugged: Any) -> None:
    lines = []
    for number, (name, (mixture, output, keys, _)) in enumerate(RULES.items()):
        folder = tmp_path / "in" / str(number)
        save_sound(folder / "mix.wav", mixture)
        samples, rate_hz = output if isinstance(output, tuple) else (output, RATE_HZ)
        if isinstance(samples, np.ndarray):
            save_sound(folder / "out.wav", samples, rate_hz=rate_hz)
        elif samples is not None:
            whole_file = (folder / "mix.wav").read_bytes()
            (folder / "out.wav").write_bytes(
                samples if isinstance(samples, bytes) else whole_file[: len(whole_file) // 2]
            )
        (folder / "frames").mkdir()
        line = {"id": name, "mixture": f"{number}/mix.wav", "separated": f"{number}/out.wav"}
        changes = {key: f"{number}/{value}" if key == "video" else value for key, value in keys.items()}
        lines.append({**line, **changes})
    audit(items(tmp_path / "in", *lines))
    verdict_of = {verdict.id: (verdict, row) for verdict, row in read_all_verdicts(tmp_path / "out")[1]}
    errors = {row["id"]: row for row in rows(tmp_path / "out" / "errors.jsonl")}
    assert verdict_of.keys() | errors.keys() == RULES.keys()
    assert not verdict_of.keys() & errors.keys()
    for name, (*_, rule) in RULES.items():
        if rule in {"", "unjudged"} or rule.startswith("note: "):
            verdict, row = verdict_of[name]
            assert (verdict.action == "unjudged") == (verdict.overall is None) == (rule == "unjudged"), name
            assert row.get("notes") == ([rule.removeprefix("note: ")] if rule.startswith("note: ") else None), name
        else:
            assert rule in errors[name]["error"] + str(errors[name]["path"]), (name, errors[name])
            assert errors[name]["expected"], name
    for name in ("alike", "49 ms longer", "another rate", "stereo of mono", "stereo", "DC"):
        assert verdict_of[name][0].overall == pytest.approx(5.0, abs=0.05), name
    assert max(row["mean"] for row in plugged()) < 1e-6, "DC was left in"
    assert [row["spans"] for row in plugged() if row["spans"]] == [[["-", 0.5, 1.0]]]


@pytest.mark.extra_video
def test_frames_of_a_picture_a_folder_and_a_video_reach_the_judge(
    tmp_path: Path, plugged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from auscult.media.video_write import write_video

    source = tmp_path / "in"
    save_sound(source / "mix.wav", tone()), save_sound(source / "out.wav", tone())
    save_frame(source / "p.png")
    for number in range(12):
        save_frame(source / "frames" / f"{number}.png")
    write_video(source / "v.mp4", [picture()] * 5, fps=5)
    items(source, *({"id": name, "video": name} for name in ("p.png", "frames", "v.mp4")))
    audit(source)
    height, width = picture().shape[:2]
    assert [row["frames"] for row in plugged()] == [[count, height, width, 3] for count in (1, 8, 5)]
    (source / "p.png").write_bytes(b"no picture")
    monkeypatch.setenv("PLUGGED_BLIND", "1")
    sys.modules.pop("plugged_sound_judge", None)
    assert audit(source, out="blind").ok == 3, "a picture that nobody looks at was opened"


def test_a_long_sound_is_judged_in_blocks(tmp_path: Path, plugged: Any) -> None:
    source, rng = tmp_path / "in", np.random.default_rng(0)
    mixture = 0.1 * rng.standard_normal((1, 140 * RATE_HZ))
    mixture[:, : 70 * RATE_HZ] *= 0.5
    separated = mixture.copy()
    separated[:, 70 * RATE_HZ :] = 0
    save_sound(source / "mix.wav", mixture), save_sound(source / "out.wav", separated)
    audit(items(source, {"id": "a", "spans_s": [["+", 65.0, 75.0], ["-", 100.0, 110.0]]}))
    seen_rows = plugged()
    assert [row["seconds"] for row in seen_rows] == [70.0, 70.0]
    assert [row["spans"] for row in seen_rows] == [[["+", 65.0, 70.0]], [["+", 0.0, 5.0], ["-", 30.0, 40.0]]]
    _, ((verdict, row),) = read_all_verdicts(tmp_path / "out")
    loud, quiet = 0.01**0.3, 0.0025**0.3
    assert verdict.overall == pytest.approx((5 * quiet + 1 * loud) / (quiet + loud), abs=0.01)
    assert "from 70 s" in verdict.rationale
    line = rows(tmp_path / "out" / "verdicts.jsonl")[0]
    assert len(line["curves"]["missing"]) * line["curves"]["hop_s"] == pytest.approx(140, abs=1)
    assert row["duration_s"] == 140


# --- crashes, kills, and the same command again ---


@pytest.mark.parametrize("fault", ["raise", "die"])
def test_a_judge_that_crashes_costs_its_sound(tmp_path: Path, plugged: Any, fault: str) -> None:
    source = sounds_input(tmp_path / "in", mixtures=1, outputs=4)
    lines = rows(source / "items.jsonl")
    lines[2]["text"] = fault
    (source / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    summary = audit(source, workers=1)
    assert (summary.ok, summary.failed) == (3, 1)
    (error,) = rows(tmp_path / "out" / "errors.jsonl")
    assert (error["id"], error["sound"]) == ("m0/c2", True)


def test_the_same_command_again_judges_what_is_new_or_failed(tmp_path: Path, plugged: Any) -> None:
    source = sounds_input(tmp_path / "in")
    output_bytes = (source / "out1_1.wav").read_bytes()
    (source / "out1_1.wav").unlink()
    assert audit(source).failed == 1
    (source / "out1_1.wav").write_bytes(output_bytes)
    with (source.parent / "out" / "inputs.jsonl").open("a") as index:
        index.write('{"stamp": 7}\n')  # of no item
    before = len(plugged())
    assert (audit(source).ok, len(plugged()) - before) == (4, 1)
    save_sound(source / "out0_0.wav", tone(hz=500.0))
    with pytest.raises(
        Mismatch, match="m0/c0 has a result in the folder, and its mixture, output or prompt has changed"
    ):
        audit(source)


@pytest.mark.slow
def test_a_killed_run_resumes_without_judging_twice(tmp_path: Path, plugged: Any) -> None:
    source = sounds_input(tmp_path / "in", mixtures=40, outputs=4)
    out = tmp_path / "out"
    program = (
        "from pathlib import Path; from auscult.jobs.audit import audit_folder; from auscult.jobs.options import *;"
        f"audit_folder(AuditOptions(source=Path({str(source)!r}), out=Path({str(out)!r}), sound_judge='plugged',"
        "workers=1))"
    )
    n_killed = 0
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", program])
        before, deadline = _lines(out), time.monotonic() + 30
        while process.poll() is None and _lines(out) < before + 20 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        n_killed += process.wait() == -signal.SIGKILL
    assert n_killed >= 1
    judged_ids = {row["id"] for row in rows(out / "verdicts.jsonl")} if _lines(out) else set()
    before = len(plugged())
    summary = audit(source)
    assert (summary.ok, summary.failed) == (160, 0)
    names = [row["id"] for row in rows(out / "verdicts.jsonl")]
    assert len(names) == len(set(names)) == 160
    assert len(plugged()) - before == 160 - len(judged_ids)


def _lines(out: Path) -> int:
    file = out / "verdicts.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


# --- from Python ---


def test_judge_sound_gives_a_decided_verdict(plugged: Any) -> None:
    mixture = tone()
    verdict = auscult.judge_sound(
        mixture[0],
        0.5 * mixture,
        rate_hz=RATE_HZ,
        text="a tone",
        spans_s=[("+", 0, 0.5)],
        frames=picture(),
        judge="plugged",
    )
    assert (verdict.overall, verdict.action) == (pytest.approx(3.0, abs=1e-3), "major_revision")
    assert (verdict.evidence.text, verdict.evidence.spans, verdict.evidence.picture) == (True, True, True)
    assert "overall=3.00 [2.75, 3.25]" in repr(verdict)
    assert plugged()[0]["frames"] == [1, *picture().shape]
    assert auscult.load_judge(JUDGE).name == JUDGE


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"separated": tone(2.0)}, "its mixture 1.000 s"),
        ({"mixture": (tone() * 32767).astype(np.int16)}, "dtype int16"),
        ({"mixture": np.ones((8000, 2), np.float32)}, "channels come first"),
        ({"mixture": "mix.wav"}, "is of type str"),
        ({"rate_hz": 8000.5}, "rate_hz is 8000.5"),
        ({"spans_s": [("+", 0.5)]}, "no span"),
        ({"spans_s": [("*", 0.1, 0.5)]}, "a span '*' goes"),
        ({"spans_s": [("+", float("nan"), 1.0)]}, "goes from nan"),
        ({"frames": np.zeros((4, 4))}, "the frame has shape (4, 4)"),
        ({"frames": np.zeros((0, 4, 4, 3), np.uint8)}, "holds no frame"),
        ({"text": 3}, "text is of type int"),
        ({"separated": tone() * np.nan}, "not finite"),
        ({"separated": tone() * 1e20}, "above 1e+09"),
    ],
)  # fmt: skip
def test_judge_sound_says_what_is_wrong(plugged: Any, changes: dict[str, Any], message: str) -> None:
    arguments = {"mixture": tone(), "separated": tone(), "rate_hz": RATE_HZ, "judge": "plugged", **changes}
    with pytest.raises(auscult.errors.InputError) as error:
        auscult.judge_sound(arguments.pop("mixture"), arguments.pop("separated"), **arguments)
    assert message in f"{error.value.message} {error.value.hint}"


def test_audit_takes_masks_and_sounds(tmp_path: Path, plugged: Any) -> None:
    source = sounds_input(tmp_path / "in", mixtures=1)
    frame, mask = save_frame(tmp_path / "f.png"), save_mask(tmp_path / "m.png", LEFT)
    items_ = [
        auscult.Item(id="mask", frame=frame, mask=mask),
        SoundItem(id="good", mixture=source / "mix0.wav", separated=source / "out0_0.wav"),
        SoundItem(id="lost", mixture=source / "mix0.wav", separated=source / "none.wav"),
    ]
    results = list(auscult.audit(items_, judge="cues", sound_judge="plugged"))
    assert [type(result) for result in results] == [Verdict, SoundVerdict, Failed]
    assert (results[1].id, results[1].action, results[2].error.id) == ("good", "accept", "lost")
