"""A user's recordings: labels, words, what is left out, and how a recording is made to fit a span."""

from __future__ import annotations

import csv
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.wav import Sound, encode_wav
from auscult.rng import generator
from auscult.scenes.sound.folder import LIMITS, default_words, fitted, open_sounds, read_clip, resampled
from auscult.scenes.sound.mix import REFERENCE_DB, SoundSet, SoundSource, loudness_db

RATE = 16_000


def sine(seconds: float, *, hz: float = 440.0, rate_hz: int = RATE, size: float = 0.4) -> np.ndarray:
    return (size * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate_hz)) / rate_hz)).astype(np.float32)


def save(path: Path, samples: np.ndarray, *, rate_hz: int = RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_wav(samples, rate_hz))
    return path


def source(sounds: SoundSet, label: str, index: int = 0) -> SoundSource:
    return sounds.source(generator(0), label, instance=sounds.instances()[label][index])


def rendered(sounds: SoundSet, label: str, seconds: float, *, rate_hz: int = RATE) -> np.ndarray:
    return sounds.samples(source(sounds, label), seconds=seconds, rate_hz=rate_hz)


def longest_pause(samples: np.ndarray) -> float:
    """Seconds of the longest stretch 30 dB or more under the loudest 10 ms."""
    frames = samples[: len(samples) // 160 * 160].reshape(-1, 160)
    power = np.mean(frames**2, axis=1)
    loud = np.flatnonzero(power > power.max() / 1000)
    edges = np.concatenate([[-1], loud, [len(power)]])
    return float(np.diff(edges).max() - 1) / 100


def test_labels_and_words(tmp_path: Path) -> None:
    root = tmp_path / "sounds"
    names = ("dog/b10.wav", "dog/b9.wav", "fire_engine/a.wav", "x/brown dog/a.wav", "loose.wav")
    for number, name in enumerate(names):
        save(root / name, sine(1.0, hz=300 + 50 * number))
    (root / "names.csv").write_text("file,name\nloose.wav,kettle\ndog/b9.wav,cat\n")
    (root / "verbs.csv").write_text("label,noun,verb\nfire engine,siren,wails\n")
    sounds, errors = open_sounds(tmp_path)
    assert errors == ()
    assert sounds.instances() == {
        "dog": ("dog/b9.wav", "dog/b10.wav"),
        "fire engine": ("fire_engine/a.wav",),
        "kettle": ("loose.wav",),
        "brown dog": ("x/brown dog/a.wav",),
    }
    words_by_label = {label: (source(sounds, label).noun, source(sounds, label).verb) for label in sounds.instances()}
    assert words_by_label == {
        "dog": ("bark", "barks"),
        "fire engine": ("siren", "wails"),
        "kettle": ("kettle", "makes kettle sounds"),
        "brown dog": ("bark", "barks"),
    }
    assert pickle.loads(pickle.dumps(sounds)).instances() == sounds.instances()  # noqa: S301 - our own


def test_what_cannot_be_used_is_counted_and_left_out(tmp_path: Path) -> None:
    root = tmp_path / "sounds"
    save(root / "dog" / "good.wav", sine(1.0))
    save(root / "dog" / "silent.wav", np.zeros(RATE, np.float32))
    save(root / "dog" / "faint.wav", sine(1.0, size=5e-4))
    save(
        root / "dog" / "short.wav", np.concatenate([np.zeros(RATE, np.float32), sine(0.02), np.zeros(RATE, np.float32)])
    )
    save(root / "dog" / "none.wav", np.zeros(0, np.float32))
    save(root / "unnamed.wav", sine(1.0))
    save(root / "dog" / "long.wav", sine(40.0))
    (root / "dog" / "broken.wav").write_bytes((root / "dog" / "good.wav").read_bytes()[:2000])
    (root / "dog" / "empty.wav").write_bytes(b"")
    (root / "dog" / "licence.txt").write_text("free")
    (root / "dog" / "away.wav").symlink_to("/etc/hostname")
    sounds, errors = open_sounds(tmp_path, limits=Limits(max_seconds=30.0))
    assert sounds.instances() == {"dog": ("dog/good.wav",)}
    error_of = {Path(error.path or "").name: error.error for error in errors}
    assert set(error_of) == {
        *("silent.wav", "faint.wav", "short.wav", "none.wav", "unnamed.wav"),
        *("long.wav", "broken.wav", "empty.wav", "away.wav"),
    }
    assert all(error.stage == "read" and error.expected for error in errors)
    assert "silent" in error_of["silent.wav"]
    assert "silent" in error_of["faint.wav"]
    assert "0.0" in error_of["short.wav"]
    assert "name" in error_of["unnamed.wav"]
    assert "40.0 s" in error_of["long.wav"]
    assert "truncated" in error_of["broken.wav"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("a,b\nc,d\n", "other columns"),
        ("file,name\n\xff\n", "UTF-8"),
        ("", "empty"),
        ("file,name\n" + "a" * 200_000, "cannot be read"),
    ],
)
def test_broken_tables_cost_no_labelled_sound(tmp_path: Path, table: str, message: str) -> None:
    save(tmp_path / "sounds" / "dog" / "a.wav", sine(1.0))
    (tmp_path / "sounds" / "names.csv").write_bytes(table.encode("latin-1"))
    sounds, errors = open_sounds(tmp_path)
    assert sounds.instances() == {"dog": ("dog/a.wav",)}
    assert [message in error.error for error in errors] == [True]


def test_rows_of_verbs_that_say_nothing(tmp_path: Path) -> None:
    save(tmp_path / "sounds" / "dog" / "a.wav", sine(1.0))
    (tmp_path / "sounds" / "verbs.csv").write_text(
        f"label,noun,verb\ndog,,yaps\ncat,{'m' * 80},meows\nowl,hoot,hoots\n"
    )
    sounds, errors = open_sounds(tmp_path)
    assert source(sounds, "dog").verb == "barks"
    assert len(errors) == 2


def test_upper_and_lower_case_are_one_label(tmp_path: Path) -> None:
    save(tmp_path / "sounds" / "Dog" / "a.wav", sine(1.0))
    save(tmp_path / "sounds" / "dog" / "b.wav", sine(1.0, hz=500))
    (tmp_path / "sounds" / "verbs.csv").write_text("label,noun,verb\nDOG,yap,yaps\n")
    sounds, errors = open_sounds(tmp_path)
    assert errors == ()
    assert sounds.instances() == {"dog": ("Dog/a.wav", "dog/b.wav")}
    assert source(sounds, "dog").verb == "yaps"


def test_a_repeated_recording_is_left_out_and_both_are_named(tmp_path: Path) -> None:
    root = tmp_path / "sounds"
    save(root / "dog" / "a.wav", sine(1.0))
    save(root / "dog" / "b.wav", sine(1.0, hz=441.0))
    shutil.copy(root / "dog" / "a.wav", root / "dog" / "c.wav")
    save(root / "dog" / "d.wav", np.concatenate([np.zeros(RATE, np.float32), sine(1.0)]))
    (root / "puppy").mkdir()
    (root / "puppy" / "link.wav").symlink_to("../dog/b.wav")
    sounds, errors = open_sounds(tmp_path)
    assert sounds.instances() == {"dog": ("dog/a.wav", "dog/b.wav")}
    assert [(Path(error.path or "").name, error.error.rsplit(maxsplit=1)[-1]) for error in errors] == [
        ("c.wav", "'dog/a.wav'"),
        ("d.wav", "'dog/a.wav'"),  # only what is heard counts
        ("link.wav", "'dog/b.wav'"),
    ]


@pytest.mark.parametrize("label", ["the dog", "An_owl", "thing", "toy object", "Items", "something"])
def test_labels_that_no_sentence_can_use(tmp_path: Path, label: str) -> None:
    save(tmp_path / "sounds" / label / "a.wav", sine(1.0))
    save(tmp_path / "sounds" / "dogs" / "b.wav", sine(1.0))
    sounds, errors = open_sounds(tmp_path)
    assert list(sounds.instances()) == ["dogs"], "a plural is a name"
    ((path, expected),) = [(error.path, error.expected) for error in errors]
    assert str(path).endswith("a.wav")
    assert "noun" in expected


def test_rows_without_use_are_named_with_their_line(tmp_path: Path) -> None:
    root = tmp_path / "sounds"
    save(root / "a.wav", sine(1.0))
    (root / "names.csv").write_text("file,name\na.wav,dog\ngone.wav,cat\na.wav,cow\n,owl\n")
    (root / "verbs.csv").write_text("label,noun,verb\ndog,yap,yaps\nDog,woof,woofs\n")
    sounds, errors = open_sounds(tmp_path)
    assert sounds.instances() == {"dog": ("a.wav",)}
    assert source(sounds, "dog").verb == "yaps"
    assert {(Path(error.path or "").name, error.line) for error in errors} == {
        ("names.csv", 3),
        ("names.csv", 4),
        ("names.csv", 5),
        ("verbs.csv", 3),
    }


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        open_sounds(tmp_path)
    (tmp_path / "sounds").mkdir()
    sounds, errors = open_sounds(tmp_path)
    assert (dict(sounds.instances()), errors) == ({}, ())


def test_a_foreign_or_missing_source(tmp_path: Path) -> None:
    path = save(tmp_path / "sounds" / "dog" / "a.wav", sine(1.0))
    sounds, _ = open_sounds(tmp_path)
    with pytest.raises(InputError, match="no sound"):
        sounds.source(generator(0), "dog", instance="../../etc/passwd")
    with pytest.raises(InputError, match="no sound"):
        sounds.samples(SoundSource(label="cat", instance="a.wav", noun="", verb=""), seconds=1.0, rate_hz=RATE)
    sound_source = source(sounds, "dog")
    path.unlink()
    with pytest.raises(InputError, match="does not exist"):
        sounds.samples(sound_source, seconds=1.0, rate_hz=RATE)


@pytest.mark.parametrize("size", [0.003, 0.9])
@pytest.mark.parametrize("seconds", [0.4, 1.0, 3.7])
def test_every_recording_comes_at_the_same_loudness(tmp_path: Path, size: float, seconds: float) -> None:
    samples = np.concatenate([np.zeros(8000, np.float32), sine(1.5, size=size), np.zeros(8000, np.float32)])
    save(tmp_path / "sounds" / "dog" / "a.wav", samples)
    sounds, _ = open_sounds(tmp_path)
    sound = rendered(sounds, "dog", seconds)
    assert sound.dtype == np.float32
    assert sound.shape == (round(seconds * RATE),)
    assert loudness_db(sound, rate_hz=RATE) == pytest.approx(REFERENCE_DB, abs=0.1)
    assert np.abs(sound[:2]).max() < 0.05 * np.abs(sound).max()
    assert np.abs(sound[-2:]).max() < 0.05 * np.abs(sound).max()
    assert longest_pause(sound) <= 0.05, "the silence around it is left out, the repeats join"
    assert np.array_equal(rendered(sounds, "dog", seconds), sound)


def test_long_pauses_are_shortened(tmp_path: Path) -> None:
    gap = np.zeros(RATE, np.float32)
    save(tmp_path / "sounds" / "dog" / "a.wav", np.concatenate([gap, sine(0.3), gap, sine(0.3), gap]))
    clip = read_clip(tmp_path / "sounds" / "dog" / "a.wav")
    assert clip.samples.shape[1] / RATE == pytest.approx(0.3 + 0.2 + 0.3 + 0.03, abs=0.03)
    sounds, _ = open_sounds(tmp_path)
    assert longest_pause(rendered(sounds, "dog", 4.0)) <= 0.25


def test_a_clip_begins_with_its_sound_not_with_the_noise_before_it(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, 3 * RATE).astype(np.float32)
    noise[RATE : 2 * RATE] += sine(1.0)
    clip = read_clip(save(tmp_path / "a.wav", noise))
    assert np.abs(clip.samples[0, : round(0.03 * RATE)]).max() > 0.3


def test_repeats_join_without_a_step() -> None:
    clip = Sound(samples=sine(0.8, hz=300.3)[None], rate_hz=RATE)
    long = fitted(clip, count=4 * RATE, rate_hz=RATE)
    assert long.shape == (4 * RATE,)
    steepest = 0.4 * 2 * np.pi * 300.3 / RATE
    assert np.abs(np.diff(long)).max() < 1.6 * steepest
    assert np.array_equal(fitted(clip, count=100, rate_hz=RATE), clip.samples[0, :100])


def test_a_knock_is_repeated_with_pauses() -> None:
    clip = Sound(samples=sine(0.1)[None], rate_hz=RATE)
    long = fitted(clip, count=3 * RATE, rate_hz=RATE)
    assert 0.15 <= longest_pause(long) <= 0.25


def test_channels_that_cancel_are_heard(tmp_path: Path) -> None:
    path = save(tmp_path / "a.wav", np.stack([sine(1.0), -sine(1.0)]))
    assert np.abs(read_clip(path).samples).max() > 0.3


@pytest.mark.parametrize(
    ("from_hz", "to_hz"), [(44_100, 16_000), (48_000, 16_000), (11_025, 16_000), (22_050, 44_100), (16_001, 16_000)]
)
def test_resampling_keeps_a_tone_in_its_place(from_hz: int, to_hz: int) -> None:
    resampled_tone = resampled(sine(0.5, hz=1234.5, rate_hz=from_hz), from_hz=from_hz, to_hz=to_hz)
    assert len(resampled_tone) == -(-round(0.5 * from_hz) * to_hz // from_hz)
    expected = sine(0.5, hz=1234.5, rate_hz=to_hz)[: len(resampled_tone)]
    inner = slice(to_hz // 20, -to_hz // 20)
    assert np.abs(resampled_tone[: len(expected)] - expected)[inner].max() < 2e-3


def test_resampling_lets_nothing_fold_back() -> None:
    high = sine(0.5, hz=12_000, rate_hz=48_000)
    resampled_tone = resampled(high, from_hz=48_000, to_hz=16_000)
    assert np.abs(resampled_tone[800:-800]).max() < 1e-3


def test_words_read_well() -> None:
    assert default_words("dog bark") == default_words("Dog") == ("bark", "barks")
    assert default_words("toy piano") == ("piano", "plays")
    assert default_words("gadget") == ("gadget", "makes gadget sounds")
    assert default_words("oven")[1] == "makes oven sounds"


def test_without_the_extra_compressed_files_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To leave every one of them out would be a silent change of the scenes."""
    monkeypatch.setitem(sys.modules, "soundfile", None)
    save(tmp_path / "sounds" / "dog" / "a.wav", sine(1.0))
    (tmp_path / "sounds" / "dog" / "b.ogg").write_bytes(b"OggS" + bytes(100))
    with pytest.raises(UsageError, match="extra `sound`"):
        open_sounds(tmp_path)


@pytest.mark.extra_video
def test_compressed_files(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    for name in ("a.ogg", "b.flac", "c.mp3"):
        (tmp_path / "sounds" / "bell").mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / "sounds" / "bell" / name, sine(1.0, rate_hz=44_100), 44_100)
    sounds, errors = open_sounds(tmp_path)
    assert errors == ()
    assert sounds.instances() == {"bell": ("bell/a.ogg", "bell/b.flac", "bell/c.mp3")}
    for name in sounds.instances()["bell"]:
        sound = sounds.samples(sounds.source(generator(0), "bell", instance=name), seconds=0.8, rate_hz=RATE)
        peak = np.argmax(np.abs(np.fft.rfft(sound))) / 0.8
        assert peak == pytest.approx(440, abs=2)


def check_all(sounds: SoundSet, *, most: int) -> None:
    for label, instances in sounds.instances().items():
        for instance in instances[:most]:
            sound = sounds.samples(sounds.source(generator(0), label, instance=instance), seconds=2.5, rate_hz=RATE)
            assert sound.shape == (40_000,)
            assert np.abs(sound).max() < 1.0
            assert loudness_db(sound, rate_hz=RATE) == pytest.approx(REFERENCE_DB, abs=0.6)
            assert longest_pause(sound) < 0.3, instance


@pytest.mark.extra_video
@pytest.mark.slow
@pytest.mark.parametrize(("name", "count", "labels"), [("esc10", 240, 10), ("berklee", 123, 38)])
def test_released_collections(data: Path, tmp_path: Path, name: str, count: int, labels: int) -> None:
    pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    shutil.copytree(data / "audio" / name, tmp_path / "sounds")
    sounds, errors = open_sounds(tmp_path)
    assert errors == ()
    assert len(sounds.instances()) == labels
    assert sum(map(len, sounds.instances().values())) == count
    check_all(sounds, most=2)


@pytest.mark.extra_video
def test_sounds_of_the_stamps(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("soundfile", reason="the extra `video` is not installed")
    root = tmp_path / "sounds"
    root.mkdir()
    rows = []
    with (data / "images/stamps_gpl2/stamps.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["sound_of_it"]:
                name = row["sound_of_it"].replace("/", "-")
                shutil.copyfile(data / "images/stamps_gpl2" / row["sound_of_it"], root / name)
                rows.append((name, row["name_en"].removeprefix("A ").removeprefix("An ").rstrip(".")))
    with (root / "names.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("file", "name"), *rows])
    sounds, errors = open_sounds(tmp_path, limits=LIMITS)
    n_used = sum(map(len, sounds.instances().values()))
    assert n_used + len(errors) == len(rows)
    assert n_used >= 40
    assert sum("silent" in error.error for error in errors) == 4, "four are silent on purpose"
    check_all(sounds, most=1)
