"""Bad and odd input of perturbing: a clear error or the right result, never a wrong one."""

from __future__ import annotations

import csv
import json
import re
import wave
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from perturb_inputs import film, plugins, run, scene, tone

from auscult.errors import NothingToDo, UsageError
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound, read_soundtrack
from auscult.media.video import probe, read_frames
from auscult.media.wav import encode_wav
from auscult.stress import sentences, sound, vision
from auscult.types import Samples
from small_inputs import rows, save_frame, save_mask

Check = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Odd:
    """One input: how it is made, what is done to it, and what must come of it.

    Attributes:
        room: The command.
        kind: What is done.
        make: Writes the input into a folder.
        error: What the message must say; empty where a result must come.
        check: Looks at a result: (input, output folder).
        severity: How much.
        options: Of the job.
    """

    room: str
    kind: str
    make: Callable[[Path], Path]
    error: str = ""
    check: Check | None = None
    severity: str = "3"
    options: Mapping[str, Any] = field(default_factory=dict)


def _wav(samples: Samples, rate_hz: int = 8000) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / "a.wav"
        path.write_bytes(encode_wav(samples, rate_hz))
        return path

    return make


def _empty_wav(folder: Path) -> Path:
    data = encode_wav(tone(1, 1), 8000)
    (folder / "a.wav").write_bytes(data[:40] + bytes(4))
    return folder / "a.wav"


def _integers(width: int) -> Callable[[Path], Path]:
    """PCM of 1, 2, 3 or 4 bytes a sample, with both ends of the range in it."""

    def make(folder: Path) -> Path:
        largest = 2 ** (8 * width - 1)
        values = np.linspace(-largest, largest - 1, 4000).astype(np.int64)
        values = values + 128 if width == 1 else values
        data = b"".join(int(value).to_bytes(width, "little", signed=width > 1) for value in values)
        with wave.open(str(folder / "a.wav"), "wb") as file:
            file.setparams((1, width, 8000, 0, "NONE", ""))
            file.writeframes(data)
        return folder / "a.wav"

    return make


def _picture(array: Any) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        assert cv2.imwrite(str(folder / "a.png"), array)
        return folder / "a.png"

    return make


def _truncated_video(folder: Path) -> Path:
    path = film(folder / "a.mp4", 12, sound=tone(1))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    return path


def _rotated_video(folder: Path) -> Path:
    """A video that says it is to be shown turned by a quarter."""
    path = film(folder / "a.mp4", 4)
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 4 + 40
    for slot, value in zip((0, 1, 3, 4), (0, 1, -1, 0), strict=True):
        data[place + 4 * slot : place + 4 * slot + 4] = (value * 65536).to_bytes(4, "big", signed=True)
    path.write_bytes(data)
    return path


def _text(content: str, name: str = "a.txt") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return make


def _only(out: Path) -> dict[str, Any]:
    (row,) = rows(out / "outputs.jsonl")
    return row


def _like_python_sound(source: Path, out: Path) -> None:
    """The file holds what the Python function makes, to half a step of 16 bits, cut off at full scale."""
    original, row = read_sound(source), _only(out)
    output = read_sound(out / row["output"])
    expected = sound.apply("gain", original.samples, rate_hz=original.rate_hz, severity=3, seed=0, key=source.name)
    assert output.rate_hz == original.rate_hz
    assert output.samples.shape == original.samples.shape
    assert np.abs(output.samples - np.clip(expected, -1, 1)).max() <= 1.01 / 32768
    assert row["clipped"] == np.count_nonzero(np.abs(expected) > 1)


def _noise(source: Path, out: Path) -> None:
    output = read_sound(out / _only(out)["output"]).samples
    assert output.shape == read_sound(source).samples.shape
    assert np.isfinite(output).all()


def _like_python_picture(source: Path, out: Path) -> None:
    original = read_frame(source)
    output = read_frame(out / _only(out)["output"])
    assert np.array_equal(output, vision.apply("gaussian_noise", original, severity=3, seed=0, key=source.name))


def _like_python_video(source: Path, out: Path) -> None:
    """Frame by frame what the Python function makes of the upright frames, at the same times."""
    row = _only(out)
    path = out / row["output"]
    original, output = list(read_frames(source)), list(read_frames(path))
    clip = vision.apply("gaussian_noise", np.stack([timed.frame for timed in original]), severity=3, key=source.name)
    assert np.array_equal(np.stack([timed.frame for timed in output]), clip)
    assert [timed.time_s for timed in output] == pytest.approx([timed.time_s for timed in original], abs=0.0006)
    assert row["frames"] == len(original)
    assert row["size"] == list(clip.shape[1:3])
    assert not probe(path).turned


def _soundless(source: Path, out: Path) -> None:
    _like_python_video(source, out)
    assert read_soundtrack(out / _only(out)["output"]) is None


def _like_python_lines(source: Path, out: Path) -> None:
    (folder,) = [path for path in out.glob("mispunctuation*") if path.is_dir()]
    original, output = source.read_text("utf-8").split("\n"), (folder / "a.txt").read_text("utf-8").split("\n")
    assert len(output) == len(original)
    for number, (before, after) in enumerate(zip(original[:-1], output[:-1], strict=True), start=1):
        assert after == sentences.apply("mispunctuation", before, severity=3, key=str(number)), before


def _left_rows(source: Path, out: Path) -> None:
    with next(out.glob("*/a.csv")).open(encoding="utf-8", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["a", "c"]
    assert len(rows(out / "errors.jsonl")) == 2


def _flat(value: float, samples: int = 4000) -> Samples:
    return np.full((1, samples), value, np.float32)


GREY = scene(1)[..., 0]
RGBA = np.dstack([scene(1), np.full((48, 64), 128, np.uint8)])
DEEP = scene(1).astype(np.uint16) * 257

CASES = {
    "no sample": Odd("sound", "gain", _empty_wav, error="no samples"),
    "one sample": Odd("sound", "gain", _wav(tone(1, 1)), check=_like_python_sound),
    "8 channels": Odd("sound", "gain", _wav(tone(8, 900)), check=_like_python_sound),
    "192 kHz": Odd("sound", "gain", _wav(tone(1, 4000, 192_000), 192_000), check=_like_python_sound),
    "silent": Odd("sound", "gain", _wav(_flat(0.0)), check=_like_python_sound),
    "noise on silence": Odd("sound", "gaussian_noise", _wav(_flat(0.0)), check=_noise),
    "at full scale": Odd("sound", "gain", _wav(_flat(1.0)), check=_like_python_sound),
    "8 bits": Odd("sound", "gain", _integers(1), check=_like_python_sound),
    "16 bits": Odd("sound", "gain", _integers(2), check=_like_python_sound),
    "24 bits": Odd("sound", "gain", _integers(3), check=_like_python_sound),
    "32 bits": Odd("sound", "gain", _integers(4), check=_like_python_sound),
    "no sound at all": Odd("sound", "gain", _text("hello", "a.wav"), error="no sound that"),
    "only a beginning": Odd("sound", "gain", _text("RIFF????", "a.wav"), error="no sound that|needs the extra"),
    "video without sound": Odd("vision", "gaussian_noise", lambda folder: film(folder / "a.mkv", 5), check=_soundless),
    "its sound": Odd("sound", "gain", lambda folder: film(folder / "a.mkv", 5), error="the video has no sound"),
    "its offset": Odd("timing", "offset", lambda folder: film(folder / "a.mkv", 5), error="the video has no sound"),
    "video of 8 channels": Odd(
        "vision", "gaussian_noise", lambda folder: film(folder / "a.mkv", 5, sound=tone(8)), error="8 channels"
    ),
    "variable rate": Odd(
        "vision",
        "gaussian_noise",
        lambda folder: film(folder / "a.mkv", 5, times_s=(0, 0.04, 0.5, 0.533, 1.9)),
        check=_like_python_video,
    ),
    "rotated": Odd("vision", "gaussian_noise", _rotated_video, check=_like_python_video),
    "truncated": Odd(
        "vision", "gaussian_noise", _truncated_video, error="truncated or damaged|no video that can be read"
    ),
    "odd size": Odd(
        "vision", "gaussian_noise", lambda folder: film(folder / "a.mkv", 3, size=(47, 61)), check=_like_python_video
    ),
    "one frame": Odd("vision", "gaussian_noise", lambda folder: film(folder / "a.mkv", 1), check=_like_python_video),
    "grey": Odd("vision", "gaussian_noise", _picture(GREY), check=_like_python_picture),
    "RGBA": Odd("vision", "gaussian_noise", _picture(RGBA), check=_like_python_picture),
    "16 bits a channel": Odd("vision", "gaussian_noise", _picture(DEEP), check=_like_python_picture),
    "1x1": Odd("vision", "gaussian_noise", _picture(scene(1)[:1, :1]), check=_like_python_picture),
    "no picture": Odd("vision", "gaussian_noise", _text("hello", "a.png"), error="picture"),
    "blank lines": Odd("sentences", "mispunctuation", _text("the dog\n\n   \n"), check=_like_python_lines),
    "other scripts": Odd(
        "sentences", "mispunctuation", _text("собака лает\n吠える犬\nكلب\n"), check=_like_python_lines
    ),
    "emoji": Odd("sentences", "mispunctuation", _text("the 🐕‍🦺 that 👩🏽‍🚀 holds\n"), check=_like_python_lines),
    "10,000 words": Odd("sentences", "mispunctuation", _text("word " * 10_000 + "\n"), check=_like_python_lines),
    "too long": Odd("sentences", "mispunctuation", _text("x" * 100_001 + "\n"), error="100001 characters"),
    "rows that are short or twice": Odd(
        "sentences",
        "mispunctuation",
        _text("id,text\na,one\nb\na,again\nc,three\n", "a.csv"),
        error="cells|used twice",
        check=_left_rows,
    ),
    "a plug-in that raises": Odd("vision", "raises", _picture(GREY), error="division by zero"),
    "one of another size": Odd("vision", "shrinks", _picture(GREY), error=r"made uint8 \(47, 64, 3\)"),
    "one of another type": Odd("vision", "floats", _picture(GREY), error="made float64"),
    "one that gives nothing": Odd("vision", "nothing", _picture(GREY), error="made NoneType"),
}


@pytest.mark.parametrize("name", CASES)
def test_odd_input(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = CASES[name]
    if odd.kind in {"raises", "shrinks", "floats", "nothing"}:
        plugins(tmp_path / "plug", monkeypatch)
    (tmp_path / "in").mkdir()
    source, out = odd.make(tmp_path / "in"), tmp_path / "out"
    summary = run(source, out, odd.room, odd.kind, severities=odd.severity, **odd.options)
    if odd.error:
        errors = rows(out / "errors.jsonl")
        assert errors
        assert summary.failed == len(errors)
        for row in errors:
            assert re.search(odd.error, row["error"]), row
            assert row["path"] or row["id"]
        assert summary.ok > 0 or not (out / "outputs.jsonl").exists()
    else:
        assert summary.failed == 0
        assert summary.ok == summary.n > 0
        assert not (out / "errors.jsonl").exists()
    if summary.ok and odd.check is not None:
        odd.check(source, out)
    assert json.loads((out / "summary.json").read_text()) == summary.as_json()


def test_a_loud_sound_is_cut_off_and_counted(tmp_path: Path) -> None:
    for seed in range(2, 12):  # gain draws louder or quieter
        source = _wav(_flat(0.9))(tmp_path)
        run(source, tmp_path / f"out{seed}", "sound", "gain", severities="5", seed=seed)
        row = _only(tmp_path / f"out{seed}")
        if row["plan"]["steps"][0]["params"]["share"] > 0.1:
            assert row["clipped"] == 4000
            assert read_sound(tmp_path / f"out{seed}" / row["output"]).samples.max() == np.float32(32767 / 32768)
            return
    raise AssertionError("gain never made it louder")


@pytest.mark.parametrize(
    ("kinds", "severities", "message"),
    [
        ("gaussian_noise", "6", "severity"),
        ("gaussian_noise", "-1", "severity"),
        ("gaussian_noise", "nan", "severity"),
        ("gaussian_noise", "severe", "severity"),
        ("gaussian_noise", "1,,3", "none empty"),
        ("gausian_noise", "3", "gaussian_noise"),
        ("gain", "3", "gain"),
        ("", "3", "--kind"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path: Path, kinds: str, severities: str, message: str) -> None:
    source = _picture(GREY)(tmp_path)
    with pytest.raises(UsageError, match=re.escape(message)):
        run(source, tmp_path / "out", "vision", kinds, severities=severities)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("room", "kind", "name", "read"),
    [
        ("sound", "gain", "a.m4a", ".wav"),
        ("vision", "fog", "a.heic", ".jpeg"),
        ("sentences", "misspelling", "a.tsv", ".csv"),
        ("vision", "fog", "picture", ".jpeg"),
    ],
)
def test_a_file_of_an_ending_that_is_not_read(tmp_path: Path, room: str, kind: str, name: str, read: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(b"0")
    for source in (tmp_path / "in" / name, tmp_path / "in"):
        with pytest.raises(NothingToDo) as refused:
            run(source, tmp_path / "out", room, kind)
        told = f"{refused.value.message}; {refused.value.expected}; {refused.value.hint}"
        assert (Path(name).suffix or ("no ending" if source.is_dir() else "nothing")) in told
        assert read in told
        assert "auscult audit" not in told


def test_frames_without_masks_are_pictures(tmp_path: Path) -> None:
    source, out = tmp_path / "clip", tmp_path / "clip" / "out"
    for number in range(2):
        save_frame(source / "frames" / f"{number}.jpg", seed=number)
    for _ in range(2):  # outputs in the folder are no masks
        assert run(source, out, "vision", "contrast").ok == 2
    assert sorted(row["output"] for row in rows(out / "outputs.jsonl")) == [
        "contrast_3/frames/0.png",
        "contrast_3/frames/1.png",
    ]
    save_mask(source / "gt" / "0.png")  # whose masks these are is to be said, or they would be perturbed as pictures
    with pytest.raises(NothingToDo, match="no folder"):
        run(source, tmp_path / "other", "vision", "contrast")


@pytest.mark.slow
def test_a_picture_of_48_million_pixels(tmp_path: Path) -> None:
    source = _picture(np.tile(scene(1), (125, 125, 1)))(tmp_path)
    assert read_frame(source).shape == (6000, 8000, 3)
    assert run(source, tmp_path / "out", "vision", "gaussian_noise").ok == 1
    _like_python_picture(source, tmp_path / "out")
