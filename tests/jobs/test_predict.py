"""Asking a model about cases: what is kept of an answer, and what a bad one costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.jobs.predict import READ, STAGE, MediaReader, PredictOptions, QueuedRequest, predict
from auscult.jobs.runner import ErrorLog, Progress, Silent
from auscult.media.frames import write_frame
from auscult.media.rle import decode
from auscult.media.wav import encode_wav
from auscult.models.base import Request
from auscult.models.spec import model_spec
from auscult.record.folder import open_run
from auscult.record.schema import error_to_json
from auscult.types import Frames, Query

SIZE = (6, 8)

MODEL = """
import os, time
import numpy as np

held = []


def bright(frames, query):
    frames[:] = frames // 2 * 2  # it spoils what it was given
    return frames[..., 0] > 100


def by_text(frames, query):
    if query.text == "raise":
        raise ValueError("not this one")
    if query.text == "exit":
        raise SystemExit(3)
    if query.text == "die":
        os._exit(3)
    if query.text == "hang":
        time.sleep(60)
    if query.text == "leak":
        held.append(np.ones(100 << 20))
    if query.text == "type":
        return "masks"
    return frames[..., 0] > 100


def soft(frames, query):
    time.sleep(0.05)
    return np.full(frames.shape[:3], 0.5)
"""


@dataclass(frozen=True)
class AskedCase:
    """A question about one file of one colour."""

    file: Path
    text: str | None = None

    def ask(self, reader: MediaReader) -> Request:
        return Request(
            id=self.file.stem,
            condition="clean",
            names=(self.file.stem,),
            size=SIZE,
            query=Query(self.text),
            frames=lambda: self._frames(reader),
        )

    def _frames(self, reader: MediaReader) -> Frames:
        return reader.frames((self.file,), SIZE).copy()


class Counting(Silent):
    """Counts the steps."""

    def __init__(self) -> None:
        self.steps = 0

    def step(self) -> None:
        self.steps += 1


@dataclass
class Answers:
    """What came of it."""

    kept: dict[str, Mapping[str, Any]]
    failed: dict[str, ErrorRecord]
    steps: int


def ask_model(folder: Path, function: str, texts: Mapping[str, str | None], **options: Any) -> Answers:
    """Request a function about one picture for each text, by key."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "model.py"
    file.write_text(MODEL)
    frame = np.zeros((*SIZE, 3), np.uint8)
    frame[2:4, 2:6] = 201
    requests = []
    for key, text in texts.items():
        path = folder / f"{key}.png"
        write_frame(path, frame)
        requests.append(QueuedRequest(key=key, id=key, condition="clean", source=path, prepared=AskedCase(path, text)))
    answers, counting = Answers({}, {}, 0), Counting()
    listener: Progress = counting
    predict(
        requests,
        model_spec(f"{file}:{function}"),
        options=PredictOptions(**{"workers": 0, "timeout_s": 60.0, "memory_mb": None, **options}),
        keep=lambda row: answers.kept.update({row["key"]: row}),
        fail=lambda request, error: answers.failed.update({request.key: error}),
        progress=listener,
    )
    answers.steps = counting.steps
    return answers


def test_what_is_kept_of_an_answer(tmp_path: Path) -> None:
    answers = ask_model(tmp_path, "bright", {"a": None, "b": None})
    assert (set(answers.kept), answers.failed, answers.steps) == ({"a", "b"}, {}, 2)
    row = answers.kept["a"]
    assert (row["id"], row["condition"], row["model"], row["size"]) == ("a", "clean", "model.bright", list(SIZE))
    assert row["revision"] == model_spec(f"{tmp_path / 'model.py'}:bright").revision
    assert row["threshold"] is None
    mask = decode({"size": row["size"], "counts": row["counts"][0]})
    assert (int(mask.sum()), bool(mask[2, 2])) == (8, True)
    assert answers.kept["a"]["counts"] == answers.kept["b"]["counts"]


def test_times_are_told_apart(tmp_path: Path) -> None:
    row = ask_model(tmp_path, "soft", {"a": None}).kept["a"]
    assert row["threshold"] == 0.5
    assert decode({"size": row["size"], "counts": row["counts"][0]}).all()
    assert row["seconds"] >= 0.05
    assert 0.0 <= row["overhead_s"] < row["seconds"]
    assert row["preparing_s"] > 0.0


@pytest.mark.parametrize("bad", ["raise", "exit", "type"])
def test_a_bad_answer_costs_its_case(tmp_path: Path, bad: str) -> None:
    answers = ask_model(tmp_path, "by_text", {"a": None, "b": bad, "c": None})
    assert (set(answers.kept), set(answers.failed), answers.steps) == ({"a", "c"}, {"b"}, 3)
    error = answers.failed["b"]
    assert error.stage == "predict"
    assert {"raise": "not this one", "exit": "SystemExit", "type": "the model gave str"}[bad] in error.error
    assert "auscult or in a plug-in" not in error.hint


@pytest.mark.slow  # waits for limits of time; one hang each stands in tests/models/adapters
def test_a_crash_and_a_hang_cost_their_cases(tmp_path: Path) -> None:
    answers = ask_model(tmp_path, "by_text", {"a": None, "b": "die", "c": "hang", "d": None}, workers=1, timeout_s=8.0)
    assert (set(answers.kept), set(answers.failed), answers.steps) == ({"a", "d"}, {"b", "c"}, 4)
    assert "exit status 3" in answers.failed["b"].error
    assert "longer than the limit of 8 s" in answers.failed["c"].error


@pytest.mark.slow
def test_a_leak_costs_its_case(tmp_path: Path) -> None:
    texts = {"a": None, "b": "leak", "c": None}
    answers = ask_model(tmp_path, "by_text", texts, workers=1, memory_mb=600)
    assert (set(answers.kept), set(answers.failed)) == ({"a", "c"}, {"b"})
    assert "600 MB" in answers.failed["b"].error


def test_a_model_that_does_not_load_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no 'nobody'"):
        ask_model(tmp_path, "nobody", {"a": None})
    assert ask_model(tmp_path / "none", "bright", {}).steps == 0


class TestReader:
    def pictures(self, folder: Path, *sizes: tuple[int, int]) -> tuple[Path, ...]:
        paths = tuple(folder / f"{place}.png" for place in range(len(sizes)))
        for place, (path, size) in enumerate(zip(paths, sizes, strict=True)):
            write_frame(path, np.full((*size, 3), 10 * (place + 1), np.uint8))
        return paths

    def test_a_clip_is_read_once(self, tmp_path: Path) -> None:
        paths = self.pictures(tmp_path, SIZE, SIZE)
        reader = MediaReader()
        clip = reader.frames(paths, SIZE)
        assert clip.shape == (2, *SIZE, 3)
        assert clip[1, 0, 0, 0] == 20
        paths[0].unlink()
        assert reader.frames(paths, SIZE) is clip
        with pytest.raises(InputError):
            reader.frames(paths[:1], SIZE)
        with pytest.raises(InputError):  # what was kept is gone, and not half of the next
            reader.frames(paths, SIZE)

    def test_frames_of_several_sizes(self, tmp_path: Path) -> None:
        paths = self.pictures(tmp_path, SIZE, (6, 9))
        with pytest.raises(InputError, match="the frame is 6 x 9") as error:
            MediaReader().frames(paths, SIZE)
        assert error.value.path == str(paths[1])

    def test_a_clip_that_is_too_much(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="too much at once"):
            MediaReader().frames((tmp_path / "a.png",) * 1000, (4320, 7680))

    def test_a_sound_is_read_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.wav"
        path.write_bytes(encode_wav(np.zeros(800, np.float32), 8000))
        reader = MediaReader()
        sound = reader.sound(path)
        assert (sound.rate_hz, sound.samples.shape[-1]) == (8000, 800)
        path.unlink()
        assert reader.sound(path) is sound
        with pytest.raises(InputError):
            reader.sound(tmp_path / "b.wav")


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_file_that_cannot_be_read_is_no_fault_of_the_model(tmp_path: Path, workers: int) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL)
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    write_frame(good, np.zeros((*SIZE, 3), np.uint8))
    bad.write_bytes(good.read_bytes()[:40])
    requests = [
        QueuedRequest(key=name, id=name, condition="clean", source=file, prepared=AskedCase(file, text))
        for name, file, text in (("good", good, None), ("bad", bad, None), ("wrong", good, "type"), ("again", bad, ""))
    ]
    kept_keys: list[str] = []
    failed: dict[str, ErrorRecord] = {}
    predict(
        requests,
        model_spec(f"{model}:by_text"),
        options=PredictOptions(workers=workers, timeout_s=60.0, memory_mb=None),
        keep=lambda row: kept_keys.append(row["key"]),
        fail=lambda request, error: failed.update({request.key: error}),
        progress=Silent(),
    )
    assert kept_keys == ["good"]
    assert {name: error.stage for name, error in failed.items()} == {"bad": READ, "again": READ, "wrong": "predict"}
    assert failed["bad"] == failed["again"]
    assert failed["bad"].path == str(bad)


def test_a_clip_that_cannot_be_read_is_opened_once(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    write_frame(good, np.zeros((*SIZE, 3), np.uint8))
    bad.write_bytes(b"no picture")
    reader = MediaReader()
    with pytest.raises(InputError) as first:
        reader.frames((good, bad), SIZE)
    write_frame(bad, np.zeros((*SIZE, 3), np.uint8))
    with pytest.raises(InputError) as second:
        reader.frames((good, bad), SIZE)
    assert first.value.path == str(bad)
    assert str(first.value) == str(second.value)
    assert reader.frames((good,), SIZE).shape == (1, *SIZE, 3)
    assert reader.frames((good, bad), SIZE).shape == (2, *SIZE, 3)


def test_without_a_hint_a_models_failure_is_not_told_as_the_items(tmp_path: Path) -> None:
    with open_run(tmp_path / "out", {"command": "test"}) as run:
        ErrorLog(run).keep(error_to_json(stage, ErrorRecord(stage=stage, error="no")) for stage in (STAGE, READ))
        of_model, of_file = run.lines("errors.jsonl")
    assert "what the model did" in of_model["hint"]
    assert "correct the item" in of_file["hint"]
