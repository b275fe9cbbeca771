"""`make mixtures` as a job: an INPUT with nine known scores, the same bytes whoever makes it, other layouts of it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.cases.sounds import read_sounds
from auscult.errors import Mismatch, NothingToDo, UsageError
from auscult.jobs.mixtures import MakeMixtures, make_mixtures
from auscult.jobs.options import MixturesOptions
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.sound import read_sound
from auscult.media.wav import FULL_SCALE, encode_wav
from auscult.record.schema import Summary
from auscult.scenes.mixtures.audiovisual import SceneMixtures
from auscult.scenes.options import MixtureOptions
from auscult.scenes.splits import GENERATED as ASSETS
from auscult.score.sound.perceptual import Perceptual, perceptual
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, MaskRef
from small_inputs import tree

SHORT = MixtureOptions(seconds=(2, 3), channels="any")


def make(out: Path, **options: Any) -> Summary:
    summary, _ = make_mixtures(MixturesOptions(**{"out": out, "seed": 4, "workers": 0, "mixture": SHORT, **options}))
    return summary


def material(out: Path) -> dict[str, bytes | str]:
    return {name: data for name, data in tree(out).items() if name not in {"manifest.json", ".written"}}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def mixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mixtures") / "made"
    summary = make(out, count=6, tracks=True)
    assert (summary.n, summary.ok, summary.failed) == (6, 6, 0)
    return out


def test_mixtures_of_fewer_sources_than_asked_for_are_counted(tmp_path: Path) -> None:
    for name, pitch_hz in (("bell", 700), ("dog", 300)):
        (tmp_path / "sounds" / name).mkdir(parents=True)
        for number in range(3):
            tone = 0.3 * np.sin(np.arange(16000) * (pitch_hz + number) * 2 * np.pi / 8000)
            (tmp_path / "sounds" / name / f"{'abc'[number]}.wav").write_bytes(encode_wav(tone.astype(np.float32), 8000))
    few = replace(SHORT, sources=(3, 4), rates_hz=(8000,), channels="mono")
    options = MixturesOptions(out=tmp_path / "out", assets=tmp_path, count=2, workers=0, mixture=few)
    _, (settings, *_) = make_mixtures(options)
    assert settings.note.endswith("; 2 of 2 have fewer than 3 sources, for want of other classes")
    enough = replace(options, out=tmp_path / "enough", mixture=replace(few, sources=(2, 4)))
    assert "fewer than" not in make_mixtures(enough)[1][0].note.partition("unseen")[2]


@pytest.mark.slow
def test_workers_and_growing_change_no_bytes(mixtures: Path, tmp_path: Path) -> None:
    make(tmp_path / "grown", count=2, tracks=True)
    make(tmp_path / "grown", count=6, tracks=True, workers=2)
    assert material(tmp_path / "grown") == material(mixtures)
    with pytest.raises(Mismatch, match="not all of them are asked for"):
        make(mixtures, count=2, tracks=True)


def test_it_is_an_input_whose_scores_are_those_of_its_files(mixtures: Path) -> None:
    sound_input_ = read_sounds(mixtures)
    assert (len(sound_input_.items), sound_input_.problems) == (6, ())
    for item in sound_input_.items:
        truth = item.truth
        assert truth is not None
        assert truth.stem is not None
        assert item.query.text or item.query.spans or item.query.picture
        sounds = [read_sound(path) for path in (item.mixture, truth.stem, *truth.others.values())]
        mixture, *stems = (np.rint(sound.samples * FULL_SCALE) for sound in sounds)
        assert np.abs(mixture - np.sum(stems, axis=0)).max() <= 1.0  # 32768 steps are read, 32767 written
        found_scores = perceptual(sounds[0].samples, [sound.samples for sound in sounds[1:]], rate_hz=sounds[0].rate_hz)
        assert isinstance(found_scores, Perceptual)
        for name in PERFORMANCE:
            assert truth.scores[name] == pytest.approx(getattr(found_scores, name), abs=0.02)
        assert set(truth.difficulty) == set(DIFFICULTY_AXES)
        assert all(1.0 <= value <= 5.0 for value in (*truth.scores.values(), *truth.difficulty.values()))


def test_plans_replay_and_a_bad_line_costs_itself(mixtures: Path, tmp_path: Path) -> None:
    plans = (mixtures / "plans.jsonl").read_text().splitlines()
    bad = json.loads(plans[1])
    bad["plan"]["prompt"] = {"text": "violin playing"}
    (tmp_path / "plans.jsonl").write_text("\n".join([plans[0], json.dumps(bad), plans[2], plans[2], "{"]))
    summary = make(tmp_path / "again", plans=tmp_path / "plans.jsonl")
    assert (summary.n, summary.ok, summary.failed) == (5, 2, 3)
    errors = {row["line"]: row["error"] for row in lines(tmp_path / "again" / "errors.jsonl")}
    assert "names nothing in the mixture" in errors[2]
    assert "used twice" in errors[4]
    assert "JSON" in errors[5]
    for number in (0, 2):
        name = f"mixtures/s4-{number:05d}.wav"
        assert (tmp_path / "again" / name).read_bytes() == (mixtures / name).read_bytes()


def test_a_file_without_plans_is_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "plans.jsonl").write_text("no plan\n")
    with pytest.raises(NothingToDo, match="no line is a plan"):
        make(tmp_path / "out", plans=tmp_path / "plans.jsonl")


def test_a_plan_of_a_sound_that_is_not_there_fails_alone(mixtures: Path, tmp_path: Path) -> None:
    rows = lines(mixtures / "plans.jsonl")[:2]
    rows[0]["plan"]["sources"][0]["clips"] = ["../../etc/passwd"]
    (tmp_path / "plans.jsonl").write_text("\n".join(map(json.dumps, rows)))
    summary = make(tmp_path / "again", plans=tmp_path / "plans.jsonl")
    assert (summary.ok, summary.failed) == (1, 1)
    (row,) = lines(tmp_path / "again" / "errors.jsonl")
    assert row["id"] == rows[0]["id"]
    assert "passwd" in row["error"]


def test_a_recording_that_cannot_be_read_is_shown(tmp_path: Path) -> None:
    for class_index, label in enumerate(("bird", "rain", "saw")):
        for number in range(6):
            path = tmp_path / "mine" / "sounds" / label / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            noise = np.random.default_rng(10 * class_index + number).uniform(-0.5, 0.5, (1, 8000))
            path.write_bytes(encode_wav(noise.astype(np.float32), 8000))
    (tmp_path / "mine" / "sounds" / "bird" / "bad.wav").write_text("no sound")
    options = MixturesOptions(out=tmp_path / "out", count=1, seed=4, workers=0, mixture=SHORT, assets=tmp_path / "mine")
    _, tables = make_mixtures(options)
    (left_out,) = (table for table in tables if table.title == "assets left out")
    assert [Path(row[0]).name for row in left_out.rows] == ["bad.wav"]


def test_tracks_are_laid_out_as_in_musdb(mixtures: Path) -> None:
    for item in read_sounds(mixtures).items:
        folder = mixtures / "tracks" / item.split / item.id
        assert (folder / "mixture.wav").read_bytes() == item.mixture.read_bytes()
        assert item.truth is not None
        assert {path.stem for path in folder.iterdir()} == {"mixture", "target", *item.truth.others}


@pytest.mark.peer
def test_datasets_reads_the_folder_without_torchcodec_and_keeps_files(mixtures: Path, tmp_path: Path) -> None:
    """By the package itself, which cannot read any folder of sounds as audio without torchcodec."""
    import datasets

    dataset = datasets.load_dataset(str(mixtures), cache_dir=str(tmp_path))["mixtures"]
    items = {item.id: item for item in read_sounds(mixtures).items}
    assert {row["id"] for row in dataset} == set(items)
    for row in dataset:
        truth = items[row["id"]].truth
        assert truth is not None
        assert (mixtures / row["mixture_file_name"], mixtures / row["target_file_name"]) == (
            items[row["id"]].mixture, truth.stem,
        )  # fmt: skip
        assert row["overall"] == truth.scores["overall"]


@pytest.mark.peer
def test_datasets_gives_audio_where_torchcodec_is_installed(
    mixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the call that the folder's README has, torchcodec imitated: it is imported, and no path needs it."""
    import datasets

    monkeypatch.setitem(sys.modules, "torchcodec", ModuleType("torchcodec"))
    encoders = ModuleType("torchcodec.encoders")
    monkeypatch.setattr(encoders, "AudioEncoder", None, raising=False)
    monkeypatch.setitem(sys.modules, "torchcodec.encoders", encoders)
    call = (mixtures / "README.md").read_text(encoding="utf-8").rpartition("`load_dataset(")[2].rpartition(")`")[0]
    assert "data_dir=FOLDER" in call
    files = {"mixtures": ["metadata.jsonl", "mixtures/*.wav", "stems/*/target.wav"]}
    assert str(files).replace("'", '"') in call
    dataset = datasets.load_dataset(
        "audiofolder", data_dir=str(mixtures), data_files=files, drop_labels=True, cache_dir=str(tmp_path)
    )["mixtures"]
    for column in ("mixture", "target"):
        dataset = dataset.cast_column(column, datasets.Audio(decode=False))
    items = {item.id: item for item in read_sounds(mixtures).items}
    assert {row["id"]: Path(row["mixture"]["path"]) for row in dataset} == {
        name: item.mixture for name, item in items.items()
    }


@pytest.mark.slow
def test_a_scene_has_stem_masks_and_frames_of_one_object(tmp_path: Path) -> None:
    options = MixtureOptions(seconds=(3, 3))
    assert make(tmp_path / "scenes", count=3, data="scenes", mixture=options, workers=1).ok == 3
    for item in read_sounds(tmp_path / "scenes").items:
        assert item.truth is not None
        assert item.truth.stem is not None
        assert item.truth.others
        assert np.abs(read_sound(item.truth.stem).samples).max() > 0.01
        assert item.query.picture is not None
        n_pixels = 0
        for picture_path in sorted(item.query.picture.iterdir()):
            frame = read_frame(tmp_path / "scenes" / item.extra["frames"] / picture_path.name)
            mask = read_mask(
                MaskRef(path=tmp_path / "scenes" / item.extra["masks"] / f"{picture_path.stem}.png"),
                size=frame.shape[:2],
            ).mask
            blanked = read_frame(picture_path).astype(int)
            n_pixels += int(np.count_nonzero(mask))
            assert blanked[~mask].mean() < 4 if (~mask).any() else True
            assert np.abs(blanked - frame)[mask].mean() < 12 if mask.any() else True
        assert n_pixels > 0


@pytest.mark.slow
def test_mixtures_of_scenes_are_made_again_from_their_plans(tmp_path: Path) -> None:
    options = MixtureOptions(seconds=(3, 3), channels="any", loudness_lufs=-30.0)
    first, second = tmp_path / "scenes", tmp_path / "again"
    make(first, count=2, seed=7, data="scenes", mixture=options)
    rows = lines(first / "plans.jsonl")
    bad = {**rows[0], "object": "77"}
    plans = tmp_path / "plans.jsonl"
    plans.write_text("\n".join(map(json.dumps, [rows[1], bad, rows[0]])))
    summary = make(second, data="scenes", plans=plans, seed=99)  # with other options, since all is in the plans
    assert (summary.ok, summary.failed) == (2, 1)
    assert "object" in lines(second / "errors.jsonl")[0]["error"]
    media_paths = sorted(
        path.relative_to(first) for path in first.rglob("*") if path.suffix in {".wav", ".jpg", ".png"}
    )
    assert len(media_paths) > 20
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in media_paths)
    assert {row["id"]: row for row in lines(second / "items.jsonl")} == {
        row["id"]: row for row in lines(first / "items.jsonl")
    }
    with pytest.raises(NothingToDo) as error:
        make(tmp_path / "other", plans=plans)
    assert "of a scene" in str(error.value)


def test_scenes_of_a_changed_folder_are_other_mixtures(tmp_path: Path) -> None:
    pictures = [
        tmp_path / "cutouts" / name / f"{number}.png" for name in ("cup", "car", "cat", "bell") for number in range(3)
    ]
    pictures += [tmp_path / "backgrounds" / f"{number}.png" for number in range(4)]
    for number, path in enumerate(pictures):
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = np.zeros((150, 260, 4), np.uint8)
        picture[5:-5, 5:-5] = (10 * number, 80, 90, 255)
        Image.fromarray(picture if path.parts[-3] == "cutouts" else picture[..., :3]).save(path)
    options = MixturesOptions(out=tmp_path / "out", count=1, data="scenes", assets=tmp_path)
    before = MakeMixtures(options).manifest()["inputs"]
    assert MakeMixtures(options).manifest()["inputs"] == before
    pictures[0].write_bytes(pictures[1].read_bytes() + b"more")
    assert MakeMixtures(options).manifest()["inputs"] != before


def test_scenes_of_own_sounds_have_no_part_for_calibration() -> None:
    own_assets = replace(ASSETS, own_voices=True)
    with pytest.raises(UsageError, match="calibration"):
        SceneMixtures(own_assets, MixtureOptions(split="calibration"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--count"),
        ({"count": 1, "mixture": MixtureOptions(seconds=(1, 3))}, "--seconds"),
        ({"count": 1, "mixture": MixtureOptions(seconds=(9, 3))}, "--seconds"),
        ({"count": 1, "mixture": MixtureOptions(sources=(1, 3))}, "--sources"),
        ({"count": 1, "mixture": MixtureOptions(rates_hz=(100,))}, "--rate"),
        ({"count": 1, "mixture": MixtureOptions(rates_hz=())}, "--rate"),
        ({"count": 1, "mixture": MixtureOptions(channels="5.1")}, "--channels"),
        ({"count": 1, "mixture": MixtureOptions(loudness_lufs=0.0)}, "--loudness"),
        ({"count": 1, "mixture": MixtureOptions(rooms=1.5)}, "--rooms"),
        ({"count": 1, "mixture": MixtureOptions(settings=("song",))}, "--setting"),
        ({"count": 1, "mixture": MixtureOptions(settings=("speech",))}, "too few sounds"),
        ({"count": 1, "mixture": MixtureOptions(split="val")}, "--split"),
        ({"count": 1, "data": "films"}, "--data"),
        ({"count": 1, "data": "scenes", "given": frozenset({"data", "rooms"})}, "--rooms changes nothing"),
        ({"plans": Path("missing.jsonl")}, "does not exist"),
        ({"plans": Path("missing.jsonl"), "data": "scenes"}, "does not exist"),
    ],
)
def test_options_out_of_range_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make(tmp_path / "out", **options)
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()
