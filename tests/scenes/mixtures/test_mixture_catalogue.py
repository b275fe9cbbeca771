"""Folders of recordings: what is left out and why, and no recording in two parts of the split."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import UsageError
from auscult.media.wav import encode_wav
from auscult.scenes.mixtures.catalogue import (
    PARTS,
    committed_classes,
    committed_split,
    content_key,
    named,
    open_recorded,
    prompts_of,
    unclear,
)
from auscult.scenes.mixtures.plan import Planner
from auscult.scenes.mixtures.sound import finished, render
from auscult.scenes.options import MixtureOptions
from auscult.scenes.sound.folder import read_clip

RATE_HZ = 8_000


def noise(seed: int, seconds: float = 0.5, channels: int = 1) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, (channels, round(seconds * RATE_HZ))).astype(np.float32)


def write_bytes(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten labels of four recordings, two takes of each."""
    root = tmp_path_factory.mktemp("recordings")
    for number in range(10):
        for number_ in range(8):
            name = f"sounds/kind {number}/{'abcd'[number_ // 2]}_{number_ % 2 + 1}.wav"
            write_bytes(root / name, encode_wav(noise(100 * number + number_, 0.3, 1 + number_ % 2), RATE_HZ))
    return root


def test_takes_of_a_recording_stay_together(folder: Path) -> None:
    catalogue, errors = open_recorded(folder)
    assert not errors
    assert len(catalogue.clips) == 80
    parts: dict[str, set[str]] = {}
    for clip in catalogue.clips:
        parts.setdefault(clip.recording, set()).add(clip.part)
    assert len(parts) == 40
    assert all(len(part_names) == 1 for part_names in parts.values())
    assert {part for part_names in parts.values() for part in part_names} == set(PARTS)
    assert {clip.part for clip in catalogue.clips if not clip.seen} == {"test"}


def test_files_that_are_named_by_a_number_alone_are_recordings_of_their_own(tmp_path: Path) -> None:
    for number_ in range(4):
        write_bytes(tmp_path / "sounds" / "bird" / f"{number_}.wav", encode_wav(noise(number_), RATE_HZ))
    catalogue, _ = open_recorded(tmp_path)
    assert len({clip.recording for clip in catalogue.clips}) == 4


@pytest.mark.parametrize("index", range(4))
def test_recordings_are_mixed_and_replayed(folder: Path, index: int) -> None:
    catalogue, _ = open_recorded(folder)
    plan = Planner(catalogue, MixtureOptions(seconds=(2, 3), channels="stereo")).plan(0, index)
    part = {clip.id: clip.part for clip in catalogue.clips}
    assert {part[name] for source in plan.sources for name in source.clips} == {plan.split}
    rendered, rendered_again = render(plan, catalogue), render(plan, open_recorded(folder)[0])
    assert rendered.mixture.tobytes() == rendered_again.mixture.tobytes()
    assert rendered.spans


def test_a_picture_may_ask_for_the_class_that_it_shows(folder: Path, tmp_path: Path) -> None:
    for path in folder.rglob("*.wav"):
        write_bytes(tmp_path / path.relative_to(folder), path.read_bytes())
    for number in range(10):
        write_bytes(tmp_path / "pictures" / f"kind {number}" / "shown.png", b"picture of %d" % number)
    catalogue, errors = open_recorded(tmp_path)
    assert not errors
    assert len(catalogue.pictures) == 10
    planner = Planner(catalogue, MixtureOptions(seconds=(2, 2)))
    picture_plans = [plan for plan in map(partial(planner.plan, 0), range(60)) if plan.prompt.picture]
    assert picture_plans
    for plan in picture_plans:
        (label,) = {source.label for source in plan.sources if source.name in plan.target}
        assert plan.prompt.picture == f"pictures/{label}/shown.png"
    mixture = finished(picture_plans[0], catalogue)
    assert mixture.files == {mixture.item["video"]: (tmp_path / (picture_plans[0].prompt.picture or "")).read_bytes()}


def test_a_file_that_cannot_be_used_is_left_out_and_told(tmp_path: Path) -> None:
    sound_bytes = encode_wav(noise(1), RATE_HZ)
    for name, data in {
        "sounds/rain/good.wav": sound_bytes,
        "sounds/rain/dc.wav": encode_wav(noise(5) * 0.2 + 0.7, RATE_HZ),
        "sounds/rain/clipped.wav": encode_wav(np.clip(noise(4) * 9, -1, 1), RATE_HZ),
        "sounds/dog/again.wav": sound_bytes,
        "sounds/rain/silent.wav": encode_wav(np.zeros(4000, np.float32), RATE_HZ),
        "sounds/rain/short.wav": encode_wav(noise(2, 0.03), RATE_HZ),
        "sounds/rain/truncated.wav": encode_wav(noise(3), RATE_HZ)[:-900],
        "sounds/rain/hour.wav": sound_bytes[:40] + (3600 * RATE_HZ * 2).to_bytes(4, "little") + sound_bytes[44:],
        "sounds/rain/disguised.wav": b"%PDF-1.4 and so on",
        "sounds/rain/nan.wav": nan_wav(),
        "sounds/loose.wav": encode_wav(noise(6), RATE_HZ),
        "sounds/rain/notes.txt": b"no sound",
    }.items():
        write_bytes(tmp_path / name, data)
    catalogue, errors = open_recorded(tmp_path)
    error_of = {Path(error.path or "").name: error.error for error in errors}
    assert {Path(clip.id).name for clip in catalogue.clips} == {"again.wav", "dc.wav", "clipped.wav"}
    for name, words in {
        "silent.wav": "silent",
        "short.wav": "0.03 s",
        "truncated.wav": "truncated",
        "disguised.wav": "no sound",
        "hour.wav": "3,600.0 s long",
        "nan.wav": "finite",
        "loose.wav": "no label",
    }.items():
        assert words in error_of[name], (name, error_of.get(name))
    assert "same content" in error_of["good.wav"]


def nan_wav() -> bytes:
    """A WAV file of floating point with a sample that is no number."""
    from auscult.media.wav import Sound, wav_bytes

    samples = noise(7)
    samples[0, 1000] = np.nan
    return wav_bytes(Sound(samples=samples, rate_hz=RATE_HZ), "float32")


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        open_recorded(tmp_path / "missing")
    write_bytes(tmp_path / "sounds" / "rain" / "a.wav", b"")
    with pytest.raises(UsageError, match="holds no recording"):
        open_recorded(tmp_path)


def test_the_committed_split_knows_its_classes() -> None:
    split = committed_split()
    labels = {label for label, _, _ in split.files.values()}
    assert labels <= set(committed_classes().classes)
    assert set(split.unseen) <= labels
    for label, recording, _ in split.files.values():
        assert label not in split.unseen or split.recordings[recording] == "test"


def test_prompts_of_the_table_name_what_they_say() -> None:
    classes = committed_classes().classes
    for label in classes:
        for text, _ in prompts_of(label):
            meant = named(text, classes)
            assert label in meant
            assert text == text.lower().strip()
            assert not meant & unclear(text, classes)
    assert "horse galloping" in unclear("Horse", classes)
    assert named("speech", classes) == {"man speaking", "woman speaking"}
    assert "crowd" in unclear("speech", classes)
    assert {"piano", "trumpet", "jazz band", "man singing"} < named("music", classes)
    texts = [text for label in classes for text, specific in prompts_of(label) if specific]
    assert len(texts) == len(set(texts))
    known_texts = {text for label in classes for text, _ in prompts_of(label)} | {"speech", "people speaking"}
    assert {text for class_words in classes.values() for text in class_words.also} <= known_texts


@pytest.mark.slow
@pytest.mark.extra_sound
def test_no_content_is_in_two_parts(data: Path) -> None:
    """By hashes of bytes and of decoded samples, over all recordings of the committed split."""
    pytest.importorskip("soundfile", reason="the extra `sound` is not installed")
    catalogue, errors = open_recorded(data)
    assert len(catalogue.clips) >= 900
    assert not [error for error in errors if "same content" not in error.error]
    keys: dict[str, str] = {}
    contents: dict[bytes, str] = {}
    recordings: dict[str, str] = {}
    for clip in catalogue.clips:
        path = data / clip.id
        assert keys.setdefault(content_key(path), clip.part) == clip.part
        assert contents.setdefault(read_clip(path).samples.tobytes(), clip.part) == clip.part
        assert recordings.setdefault(clip.recording, clip.part) == clip.part
    # nor in training here and in the tests of real separators' outputs, or the other way round
    split, parts = committed_split(), {clip.recording: clip.part for clip in catalogue.clips}
    for line in (data / "sound" / "separated" / "mixtures.jsonl").read_text().splitlines():
        row = json.loads(line)
        for source in "+".join(row["sources"]).split("+"):
            path = data / "audio" / source.partition("@")[0]
            known_file = split.files.get(content_key(path)) if path.is_file() else None
            if known_file is not None:
                assert {row["mixture_split"], parts[known_file[1]]} != {"train", "test"}
    for setting in ("speech", "speaker", "music", "instrument", "general_sound"):
        for part in ("train", "test"):
            plan = Planner(catalogue, MixtureOptions(settings=(setting,), split=part)).plan(0, 0)
            assert (plan.setting, plan.split) == (setting, part)
