"""Separators: that each form of a name loads and answers, what oracles reach, and what is refused."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from auscult.errors import InputError, UsageError
from auscult.media.frames import encode_png
from auscult.media.paths import write_bytes
from auscult.media.wav import encode_wav
from auscult.models.separators import (
    SEPARATORS,
    SeparationRequest,
    load_separator,
    named_separators,
    separator_spec,
    spectral,
)
from auscult.rng import generator
from auscult.types import Samples, SoundItem, SoundQuery, Span

RATE_HZ = 16_000
QUERY = SoundQuery(text="tone", spans=(Span("+", 0.5, 1.0),))


def sources(seconds: float = 1.5) -> tuple[Samples, Samples]:
    """A tone that sounds from .5 to 1 s, and noise that is always there."""
    sample_index = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tone = 0.4 * np.sin(2 * np.pi * 440 * sample_index) * ((sample_index > 0.5) & (sample_index < 1.0))
    noise = 0.1 * generator(0, "separators").standard_normal(sample_index.size)
    return tone.astype(np.float32), noise.astype(np.float32)


def si_sdr(estimate: Samples, target: Samples) -> float:
    scaled = target * float(estimate @ target) / float(target @ target)
    return float(10 * np.log10(np.sum(scaled**2) / np.sum((estimate - scaled) ** 2)))


TARGET, NOISE = sources()
MIXTURE = TARGET + NOISE
BEFORE = si_sdr(MIXTURE, TARGET)


@pytest.mark.parametrize("count", [1, 300, 5001])
@pytest.mark.parametrize("window", [64, 256])
def test_the_inverse_of_a_spectrogram_is_the_sound(count: int, window: int) -> None:
    sound = generator(0, "stft", count).uniform(-1, 1, count).astype(np.float32)
    inverted = spectral.istft(spectral.stft(sound, window=window), count=count)
    np.testing.assert_allclose(inverted, sound, atol=1e-5)


@pytest.mark.parametrize("name", SEPARATORS)
def test_every_built_in_answers_the_same_twice_and_leaves_the_mixture(name: str) -> None:
    separator = load_separator(name)
    stems = (TARGET, NOISE) if separator.oracle else ()
    stereo = np.stack([MIXTURE, 0.5 * MIXTURE])
    before = stereo.copy()
    first, second = (separator.separate(stereo, QUERY, rate_hz=RATE_HZ, stems=stems) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(stereo, before)
    assert first.shape == MIXTURE.shape
    assert first.dtype == np.float32
    assert separator.oracle is (name in {"irm", "ibm"})


@pytest.mark.parametrize("name", SEPARATORS)
@pytest.mark.parametrize("mixture", [np.zeros(800), np.full(800, 0.3), np.ones((2, 7)) * 0.1, np.ones(1)], ids=str)
def test_silence_constant_and_very_short_sound_is_separated(name: str, mixture: Samples) -> None:
    sound = mixture.astype(np.float32)
    separator = load_separator(name)
    output = separator.separate(sound, QUERY, rate_hz=RATE_HZ, stems=(sound,) if separator.oracle else ())
    assert output.shape == sound.shape[-1:]
    assert np.isfinite(output).all()


def test_oracles_are_far_above_the_mixture_and_are_shown_nothing_unasked() -> None:
    for name in ("irm", "ibm"):
        output = load_separator(name).separate(MIXTURE, QUERY, rate_hz=RATE_HZ, stems=(TARGET, NOISE))
        assert si_sdr(output, TARGET) > BEFORE + 8
        with pytest.raises(UsageError, match="oracle"):
            load_separator(name).separate(MIXTURE, QUERY, rate_hz=RATE_HZ)


def test_rows_that_look_at_nothing() -> None:
    output_of = {
        name: load_separator(name).separate(MIXTURE, QUERY, rate_hz=RATE_HZ) for name in ("mixture", "silence")
    }
    np.testing.assert_array_equal(output_of["mixture"], MIXTURE)
    assert not output_of["silence"].any()
    bands = load_separator("random_bands").separate(NOISE, QUERY, rate_hz=RATE_HZ)
    share_kept = float(np.sum(bands**2) / np.sum(NOISE**2))
    assert 0.02 < share_kept < 0.98


def test_the_track_is_chosen_by_the_spans_and_the_choice_is_told() -> None:
    separation = load_separator("nmf").separation(MIXTURE, QUERY, rate_hz=RATE_HZ)
    assert separation.assignment is not None
    assert separation.assignment.by == "spans"
    assert separation.assignment.margin > 0.2
    assert si_sdr(separation.samples, TARGET) > BEFORE + 3
    without_spans = load_separator("nmf").separation(MIXTURE, SoundQuery(text="tone"), rate_hz=RATE_HZ).assignment
    assert without_spans is not None
    assert (without_spans.by, without_spans.margin) == ("order", 0.0)


@pytest.mark.parametrize(
    ("name", "track", "least_db"),
    [
        ("wiener", "foreground", 5.0),
        ("gate", "foreground", 3.0),
        ("hpss", "harmonic", 5.0),
    ],
)
def test_what_each_classical_separator_is_for(name: str, track: str, least_db: float) -> None:
    separation = load_separator(name).separation(MIXTURE, QUERY, rate_hz=RATE_HZ)
    assert separation.assignment is not None
    assert separation.assignment.track == track
    assert si_sdr(separation.samples, TARGET) > BEFORE + least_db


def test_clicks_are_percussive_and_loops_are_background() -> None:
    sample_index = np.arange(3 * RATE_HZ)
    clicks = np.where(sample_index % 4000 < 20, 0.5, 0.0).astype(np.float32)
    tone = (0.2 * np.sin(2 * np.pi * 440 * sample_index / RATE_HZ)).astype(np.float32)
    spans = (Span("+", 0.0, 3.0),)
    tracks = SEPARATORS["hpss"](
        SeparationRequest(mixture=clicks + tone, rate_hz=RATE_HZ, query=SoundQuery(spans=spans))
    )
    assert si_sdr(tracks["percussive"], clicks) > si_sdr(clicks + tone, clicks) + 10
    assert si_sdr(tracks["harmonic"], tone) > si_sdr(clicks + tone, tone) + 5
    loop = np.tile(0.2 * generator(1, "loop").standard_normal(RATE_HZ // 2), 6).astype(np.float32)
    once = np.zeros_like(loop)
    once[RATE_HZ : RATE_HZ + 4000] = 0.3 * np.sin(np.arange(4000) / 2)
    found = SEPARATORS["repet"](SeparationRequest(mixture=loop + once, rate_hz=RATE_HZ, query=SoundQuery()))
    assert si_sdr(found["background"], loop) > si_sdr(loop + once, loop) + 5
    assert si_sdr(found["foreground"], once) > si_sdr(loop + once, once) + 5


@pytest.mark.parametrize("name", ["irm", "hpss", "mixture"])
def test_a_long_mixture_is_separated_in_blocks_without_a_seam(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    separator = load_separator(name)
    stems = (TARGET,) if separator.oracle else ()
    full_output = separator.separate(MIXTURE, QUERY, rate_hz=RATE_HZ, stems=stems)
    monkeypatch.setattr(spectral, "BLOCK_S", 0.4)
    monkeypatch.setattr(spectral, "FADE_S", 0.1)
    parts = separator.separate(MIXTURE, QUERY, rate_hz=RATE_HZ, stems=stems)
    assert si_sdr(parts, TARGET) > si_sdr(full_output, TARGET) - 2
    assert si_sdr(parts, full_output) > 15


FUNCTIONS = """
import numpy as np
def separate(mixture, query, *, rate_hz, spans=None):
    mixture *= 0.5  # it may spoil what it gets
    return mixture if (query.text, rate_hz, len(spans)) == ("tone", 16000, 1) else -mixture
def plain(mixture, query):
    return mixture.astype(float)
def tracks(mixture, query, **given):
    return {"wrong": -mixture * (np.arange(mixture.size) < 100), "right": mixture}
def short(mixture, query):
    return mixture[:-5]
def whole_numbers(mixture, query):
    return (mixture * 32767).astype("int16")
def no_channels(mixture, query):
    return mixture[None][:0]
def loud(mixture, query):
    return mixture * 32767
def nothing(mixture, query):
    return mixture * np.nan
def no_tracks(mixture, query):
    return {}
def louder(mixture, query):
    return np.stack([5 * mixture, 3 * mixture])
def seen(mixture, query, frames=None):
    return np.full(mixture.shape, 0.0 if frames is None else frames.mean() / 255)
"""


def test_a_function_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS, "utf-8")
    spec = separator_spec(f"{file}:separate")
    assert spec.name == "mine"
    output = spec.open().separate(MIXTURE, QUERY, rate_hz=RATE_HZ)
    np.testing.assert_allclose(output, MIXTURE / 2, atol=1e-6)
    plain = load_separator(f"{file}:plain").separate(MIXTURE, QUERY, rate_hz=RATE_HZ)
    np.testing.assert_allclose(plain, MIXTURE, atol=1e-6)
    separation = load_separator(f"{file}:tracks").separation(MIXTURE, QUERY, rate_hz=RATE_HZ)
    assert separation.assignment is not None
    assert separation.assignment.track == "right"


def test_channels_are_averaged_and_what_is_over_full_scale_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS, "utf-8")
    output = load_separator(f"{file}:louder").separate(MIXTURE, QUERY, rate_hz=RATE_HZ)
    np.testing.assert_allclose(output, 4 * MIXTURE, atol=1e-6)
    assert np.abs(output).max() > 1


def test_whoever_takes_frames_gets_those_of_the_picture(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS, "utf-8")
    separator = load_separator(f"{file}:seen")
    for number, name in enumerate(("one.png", "frames/0.png", "frames/1.png", "sizes/0.png", "sizes/1.png")):
        shape = (8, 8 + (name == "sizes/1.png"), 3)
        write_bytes(tmp_path / name, encode_png(np.full(shape, 51 * number, np.uint8)))

    def level(picture: Path | None, **options: Any) -> float:
        query = SoundQuery(picture=picture)
        return float(separator.separate(MIXTURE, query, rate_hz=RATE_HZ, **options).mean())

    assert level(None) == 0.0
    assert level(tmp_path / "one.png") == 0.0
    Image.fromarray(np.full((8, 8, 3), 51, np.uint8)).save(tmp_path / "one.tif")
    assert level(tmp_path / "one.tif") == pytest.approx(0.2)
    assert level(tmp_path / "frames") == pytest.approx(0.3)
    assert level(None, frames=np.full((2, 4, 4, 3), 255, np.uint8)) == pytest.approx(1.0)
    for wrong in ("sizes", "nowhere.png"):
        with pytest.raises(InputError):
            level(tmp_path / wrong)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short", "23995 samples of a mixture of 24000"),
        ("whole_numbers", "int16"),
        ("no_channels", r"\(0, 24000\)"),
        ("loud", "values up to"),
        ("nothing", "values up to nan"),
        ("no_tracks", "0 tracks"),
    ],
)
def test_a_reply_that_is_none_is_refused(tmp_path: Path, name: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FUNCTIONS, "utf-8")
    with pytest.raises(InputError, match=message):
        load_separator(f"{file}:{name}").separate(MIXTURE, QUERY, rate_hz=RATE_HZ)


PROGRAM = """
import json, shutil, sys
for line in sys.stdin:
    asked = json.loads(line)
    reply = {"id": asked["id"]}
    if asked["text"] == "tone" and asked["spans_s"] == [["+", 0.5, 1.0]] and asked["rate_hz"] == 16000:
        shutil.copy(asked["mixture"], asked["folder"] + "/out.wav")
        reply["separated"] = "out.wav"
    elif asked["text"] == "all":
        reply["tracks"] = {"one": asked["mixture"], "two": asked["mixture"]}
    elif asked["text"] == "many":
        reply["tracks"] = {str(number): "not there" for number in range(33)}
    elif asked["text"] == "leave":
        reply["separated"] = "../../etc/passwd"
    else:
        reply["error"] = "no such sound"
    print(json.dumps(reply), flush=True)
"""


def test_a_program_reads_files_and_names_files(tmp_path: Path) -> None:
    script = tmp_path / "my separator.py"
    script.write_text(PROGRAM, "utf-8")
    separator = load_separator("cmd:" + shlex.join([sys.executable, "-I", "-S", str(script)]))
    try:
        stored_sound = np.rint(MIXTURE * 32768).astype(np.float32) / 32768  # as a file of 16 bits has it
        np.testing.assert_array_equal(separator.separate(stored_sound, QUERY, rate_hz=RATE_HZ), stored_sound)
        both_outputs = separator.separation(MIXTURE, SoundQuery(text="all"), rate_hz=RATE_HZ).assignment
        assert both_outputs is not None
        assert both_outputs.track == "one"
        with pytest.raises(InputError, match="no such sound"):
            separator.separate(MIXTURE, SoundQuery(), rate_hz=RATE_HZ)
        with pytest.raises(InputError, match="33 tracks"):
            separator.separate(MIXTURE, SoundQuery(text="many"), rate_hz=RATE_HZ)
        with pytest.raises(InputError, match="leaves the folder"):
            separator.separate(MIXTURE, SoundQuery(text="leave"), rate_hz=RATE_HZ)
    finally:
        separator.close()


def test_a_folder_of_outputs_is_looked_up_by_the_id_of_an_item(tmp_path: Path) -> None:
    write_bytes(tmp_path / "one.wav", encode_wav(TARGET, RATE_HZ))
    (tmp_path / "deep").mkdir()
    write_bytes(tmp_path / "deep" / "other.wav", encode_wav(NOISE, RATE_HZ))
    write_bytes(tmp_path / "slow.wav", encode_wav(NOISE, RATE_HZ // 2))
    separator = load_separator(str(tmp_path))

    def ask(name: str, separated: Path | None = None) -> Samples:
        item = SoundItem(id=name, mixture=Path("mixture.wav"), separated=separated)
        return separator.separate(MIXTURE, QUERY, rate_hz=RATE_HZ, item=item)

    np.testing.assert_allclose(ask("one"), TARGET, atol=1e-4)
    np.testing.assert_allclose(ask("named", tmp_path / "deep" / "other.wav"), NOISE, atol=1e-4)
    np.testing.assert_allclose(ask("one", Path("/elsewhere.wav")), TARGET, atol=1e-4)
    whole_file = (tmp_path / "one.wav").read_bytes()
    (tmp_path / "cut.wav").write_bytes(whole_file[:1000])
    (tmp_path / "text.wav").write_bytes(b"no sound")
    for name in ("cut", "text"):
        with pytest.raises(InputError, match="sound"):
            ask(name)
    with pytest.raises(InputError, match="no outputs are named"):
        ask("two")
    with pytest.raises(InputError, match="8000 Hz, its mixture at 16000 Hz"):
        ask("slow")


@pytest.mark.parametrize("name", ["", "nmff", "flow", "predictions:/nowhere", "cmd:no-such-program-anywhere", "a.py:f"])
def test_a_name_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        separator_spec(name)


def test_a_separator_is_named_once_and_another_tagger_makes_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    names = ["nmf", " nmf", *(f"nmf+mn04@{tmp_path}/{folder}" for folder in ("one", "two", "one/"))]
    specs = named_separators(names)
    assert [spec.name for spec in specs] == ["nmf", "nmf+mn04", "nmf+mn04"]
    assert [Path(spec.tagger).name for spec in specs] == ["", "one", "two"]
    assert [spec.name for spec in named_separators(["irm"])] == ["oracle.irm"]
    with pytest.raises(UsageError, match="no model was named"):
        named_separators([])


def test_a_mixture_that_is_none_is_refused() -> None:
    separator = load_separator("mixture")
    wrongs: list[Any] = [MIXTURE.astype(np.float64), np.zeros(0, np.float32), np.full(9, np.nan, np.float32)]
    for wrong in wrongs:
        with pytest.raises(InputError, match="mixture"):
            separator.separate(wrong, QUERY, rate_hz=RATE_HZ)
