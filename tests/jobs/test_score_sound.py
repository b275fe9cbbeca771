"""``auscult score`` of two folders of sound."""

import json
import re
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.arrays.resampling import resampled
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.options import ScoreOptions
from auscult.jobs.score_sound import PROTOCOLS, score_sounds
from auscult.media.sound import SoundReader, read_sound
from auscult.media.wav import Sound, encode_wav, wav_bytes
from auscult.score.sound import bss_images, find_delay, score_sound, si_sdr

RATE_HZ = 8_000


def write(path, samples, rate_hz=RATE_HZ):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_wav(np.clip(np.asarray(samples, np.float32), -1, 1), rate_hz))


@pytest.fixture
def sounds():
    rng = np.random.default_rng(0)
    stems = 0.1 * rng.standard_normal((2, RATE_HZ + 400))
    return stems, stems + 0.2 * stems[::-1] + 0.01 * rng.standard_normal(stems.shape)


@pytest.fixture
def folders(tmp_path, sounds):
    for number in range(3):
        for name, stem, output in zip(("dog", "rain"), *sounds, strict=True):
            write(tmp_path / "stems" / f"mix{number}" / f"{name}.wav", stem)
            write(tmp_path / "outputs" / f"mix{number}" / f"{name}.wav", output * (1 + number) / 3)
        write(tmp_path / "stems" / f"mix{number}" / "mixture.wav", sounds[0].sum(axis=0))
    return ScoreOptions(prediction=tmp_path / "outputs", truth=tmp_path / "stems", protocol="si_sdr", workers=0)


def rows(result):
    _, tables, _ = result
    return {row[0]: dict(zip(tables[0].header[1:], row[1:], strict=True)) for row in tables[0].rows}


def by_source(folders, *others):
    """The same files with a folder for each source, ``dog/mix0.wav``, as LibriMix and WSJ0-2mix have them."""
    turned = {}
    for kind in ("truth", "prediction"):
        place = turned[kind] = folders.truth.parent / f"turned_{kind}"
        for path in getattr(folders, kind).glob("*/[dr]*.wav"):
            (place / path.stem).mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place / path.stem / f"{path.parent.name}.wav")
    for other in ("mix_clean", *others):
        shutil.copytree(turned["truth"] / "rain", turned["truth"] / other)
    return replace(folders, **turned)


@pytest.mark.parametrize(("protocol", "permute"), [("si_sdr", False), ("perceptual", False), ("bss3", True)])
def test_a_folder_for_each_source_is_read_as_a_folder_for_each_mixture(folders, protocol, permute):
    asked = replace(folders, protocol=protocol, permute=permute)
    if permute:  # one mixture is enough, and takes a third of the time
        for number in (1, 2):
            shutil.rmtree(folders.truth / f"mix{number}")
            shutil.rmtree(folders.prediction / f"mix{number}")
    summary, tables, errors = score_sounds(asked)
    turned = score_sounds(by_source(asked, "noise"))
    assert errors == turned[2] == []
    assert rows(turned) == rows((summary, tables, errors))
    assert turned[0].metrics == summary.metrics
    assert "not scored" not in turned[1][0].note


def test_noise_is_a_source_where_it_was_separated(folders):
    turned = by_source(folders, "noise")
    shutil.copytree(turned.prediction / "rain", turned.prediction / "noise")
    assert list(rows(score_sounds(turned)))[:3] == ["mix0/dog", "mix0/noise", "mix0/rain"]


def test_a_mixture_called_mix_leaves_the_others_mixtures(folders):
    """``mix/dog.wav`` beside ``mix0/dog.wav`` is one more mixture where folders of mixtures hold their mixture."""
    for place in (folders.prediction, folders.truth):
        shutil.copytree(place / "mix2", place / "mix")
        (place / "mix0").rename(place / "street")
        (place / "mix1").rename(place / "park")
    assert "street/dog" in rows(score_sounds(folders))


@pytest.mark.parametrize("protocol", ["si_sdr", "bss3", "bss4", "perceptual"])
def test_all_outputs_are_scored_with_means_and_intervals(folders, protocol):
    summary, tables, errors = score_sounds(replace(folders, protocol=protocol, workers=1))
    assert (summary.n, summary.ok, summary.failed, errors) == (6, 6, 0, [])
    row_of = rows((summary, tables, errors))
    assert list(row_of) == [f"mix{number}/{name}" for number in range(3) for name in ("dog", "rain")] + ["mean"]
    first = next(iter(summary.metrics))
    assert summary.metrics[first]["n"] == 6
    assert protocol in summary.metrics[first]["signature"]


def test_the_numbers_are_those_of_the_function(folders, sounds):
    expected = si_sdr(sounds[1][0].astype(np.float32), sounds[0][0].astype(np.float32)).value
    assert float(rows(score_sounds(folders))["mix2/dog"]["si_sdr"]) == pytest.approx(expected, abs=0.02)


def test_an_output_in_floats_over_full_scale_is_scored_whole(folders, sounds):
    """Separators write such files; cut off at full scale this one would lose decibels."""
    louder = np.asarray(sounds[1][:1] * 50, np.float32)
    (folders.prediction / "mix0" / "dog.wav").write_bytes(wav_bytes(Sound(samples=louder, rate_hz=RATE_HZ), "float32"))
    stem = read_sound(folders.truth / "mix0" / "dog.wav").samples
    result = score_sounds(replace(folders, workers=1))
    assert float(rows(result)["mix0/dog"]["si_sdr"]) == pytest.approx(si_sdr(louder, stem).value, abs=1e-3)


def test_a_record_is_written_and_failures_cost_their_output_alone(folders, tmp_path):
    outputs = folders.prediction
    write(outputs / "mix0" / "dog.wav", np.zeros((1, RATE_HZ + 400)))
    whole_file = (outputs / "mix1" / "dog.wav").read_bytes()
    (outputs / "mix1" / "dog.wav").write_bytes(whole_file[:-900])
    write(outputs / "mix2" / "dog.wav", np.zeros((2, RATE_HZ + 400)))
    write(outputs / "mix2" / "cat.wav", np.zeros((1, RATE_HZ + 400)))
    summary, tables, errors = score_sounds(replace(folders, out=tmp_path / "record"))
    assert (summary.ok, summary.undefined, summary.failed) == (3, 1, 2)
    row_of = rows((summary, tables, errors))
    assert "silent" in row_of["mix0/dog"]["remarks"]
    assert "truncated" in row_of["mix1/dog"]["remarks"]
    assert "2 channels, its stem 8400 samples at 8000 Hz in 1 channel" in row_of["mix2/dog"]["remarks"]
    assert "1 output without a stem, such as 'cat.wav'" in tables[0].note
    lines = [json.loads(line) for line in (tmp_path / "record" / "scores.jsonl").read_text().splitlines()]
    assert [line["outcome"] for line in lines].count("scored") == 3
    assert {row["id"] for row in errors} == {"mix1/dog", "mix2/dog"}


def test_other_rates_and_lengths_are_errors_that_say_both_and_resampled_where_asked(folders, sounds):
    fast = resampled(sounds[1][:1].astype(np.float32), rate_hz=RATE_HZ, wanted_hz=11_025)
    write(folders.prediction / "mix0" / "dog.wav", fast, 11_025)
    write(folders.prediction / "mix1" / "dog.wav", sounds[1][0, :-5])
    refused_rows = rows(score_sounds(folders))
    assert (
        "11577 samples at 11025 Hz in 1 channel, its stem 8400 samples at 8000 Hz"
        in refused_rows["mix0/dog"]["remarks"]
    )
    assert "8395 samples at 8000 Hz" in refused_rows["mix1/dog"]["remarks"]
    summary, tables, errors = score_sounds(replace(folders, resample=True))
    resampled_rows = rows((summary, tables, errors))
    assert summary.failed == 0
    assert "11025 Hz and 11577 samples brought to 8000 and 8400" in resampled_rows["mix0/dog"]["remarks"]
    assert float(resampled_rows["mix0/dog"]["si_sdr"]) == pytest.approx(
        float(resampled_rows["mix2/dog"]["si_sdr"]), abs=3
    )
    assert summary.metrics["si_sdr"]["signature"].startswith("resample:yes|")


def test_a_delay_is_named_and_undone_only_where_asked(folders, sounds):
    delayed = np.concatenate([np.zeros(368), sounds[1][0, :-368]])
    write(folders.prediction / "mix0" / "dog.wav", delayed)
    plain, aligned = rows(score_sounds(folders)), rows(score_sounds(replace(folders, align=True)))
    assert "46.0 ms late, not aligned" in plain["mix0/dog"]["remarks"]
    assert float(plain["mix0/dog"]["si_sdr"]) < -10
    assert "46.0 ms late, aligned" in aligned["mix0/dog"]["remarks"]
    assert float(aligned["mix0/dog"]["si_sdr"]) > 9
    assert aligned["mix1/dog"]["remarks"] == ""


def test_the_best_order_is_found(folders, sounds):
    for name, output in zip(("rain", "dog"), sounds[1], strict=True):
        write(folders.prediction / "mix0" / f"{name}.wav", output)
    row_of = rows(
        score_sounds(
            replace(
                folders,
                protocol="bss3",
                permute=True,
                truth=folders.truth / "mix0",
                prediction=folders.prediction / "mix0",
            )
        )
    )
    assert row_of["dog"]["remarks"] == "output rain"
    assert float(row_of["dog"]["sir"]) > 10


def test_in_the_best_order_a_delay_is_against_the_stem_that_was_found(folders, sounds):
    options = replace(
        folders, protocol="bss4", permute=True, truth=folders.truth / "mix0", prediction=folders.prediction / "mix0"
    )
    late_dog = np.concatenate([np.zeros(368), sounds[1][0, :-368]])
    for name, output in (("rain", late_dog), ("dog", sounds[1][1])):
        write(options.prediction / f"{name}.wav", output)
    plain, aligned = (rows(score_sounds(replace(options, align=align)))["dog"] for align in (False, True))
    assert plain["remarks"] == "output rain; 46.0 ms late, not aligned (--align)"
    assert aligned["remarks"] == "output rain; 46.0 ms late, aligned"
    assert float(plain["sdr"]) < 0
    assert float(aligned["sdr"]) > 9


def test_a_flat_folder_is_one_mixture_and_a_missing_output_fails(folders, tmp_path):
    options = replace(folders, prediction=tmp_path / "outputs" / "mix0", truth=tmp_path / "stems" / "mix0")
    assert list(rows(score_sounds(replace(options, protocol="bss3", workers=1)))) == ["dog", "rain", "mean"]
    (options.prediction / "rain.wav").unlink()
    assert "1 stem without an output, such as 'rain.wav', not scored" in score_sounds(options)[1][0].note
    for path in options.prediction.iterdir():
        path.unlink()
    summary, _, errors = score_sounds(options)
    assert summary.failed == 2
    assert "no output of this stem" in errors[0]["error"]
    assert str(options.prediction / "dog.wav") in errors[0]["expected"]  # where it was looked for


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "loud"}, "no protocol 'loud'"),
        ({"truth": Path("nowhere")}, "no such file or folder"),
        ({"truth": Path(__file__)}, "is not a folder"),
        ({"permute": True}, "best order"),
        ({"protocol": "word_error"}, "needs a network"),
        ({"model": "clap@x"}, "asks no network"),
    ],
)
def test_what_cannot_be_asked_is_said(folders, changes, message):
    with pytest.raises(UsageError, match=message):
        score_sounds(replace(folders, **changes))
    assert "si_sdr" in PROTOCOLS


def test_two_stems_of_one_name_are_an_error(folders):
    write(folders.truth / "mix0" / "dog.flac", GOOD)
    with pytest.raises(UsageError, match="two stems have one name"):
        score_sounds(folders)


def test_folders_without_sound_are_an_error(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with pytest.raises(NothingToDo, match="holds no sound"):
        score_sounds(ScoreOptions(prediction=tmp_path / "a", truth=tmp_path / "b", protocol="si_sdr", workers=0))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_length_of_a_sound(tmp_path):
    peaks = []
    for minutes in (1, 6):
        noise = 0.1 * np.random.default_rng(1).standard_normal((1, minutes * 60 * RATE_HZ)).astype(np.float32)
        names = [tmp_path / f"{name}{minutes}.wav" for name in ("stem", "other", "output")]
        for path, shift in zip(names, (0, 1, 0), strict=True):
            write(path, np.roll(noise, shift * 5000) + 0.01 * np.roll(noise, 31))
        del noise
        readers = [SoundReader(path) for path in names]
        tracemalloc.start()
        for name in ("si_sdr", "log_spectral_distance", "multi_resolution_stft"):
            score_sound(name, readers[2], readers[:1], rate_hz=RATE_HZ)
        find_delay(readers[2], readers[0], rate_hz=RATE_HZ)
        bss_images([readers[2]], readers[:2], filter_length=32, window=RATE_HZ)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        for reader in readers:
            reader.__exit__()
    assert peaks[1] < peaks[0] + 1_000_000


def as_float(samples):
    from auscult.media.wav import wav_parts

    return b"".join(wav_parts([samples], np.shape(samples), rate_hz=RATE_HZ, depth="float32"))


GOOD = 0.1 * np.sin(np.arange(RATE_HZ + 400) / 5)[None]
BAD = {
    "silence": (encode_wav(np.zeros((1, RATE_HZ + 400), np.float32), RATE_HZ), "the estimate is silent"),
    "not a number": (as_float(np.where(np.arange(RATE_HZ + 400) == 7, np.nan, GOOD)), "not finite"),
    "infinite": (as_float(np.where(np.arange(RATE_HZ + 400) == 7, np.inf, GOOD)), "not finite"),
    "dc": (encode_wav(np.full((1, RATE_HZ + 400), 0.5, np.float32), RATE_HZ), ""),
    "clipped": (encode_wav(np.clip(30 * GOOD, -1, 1).astype(np.float32), RATE_HZ), ""),
    "stereo": (encode_wav(np.repeat(GOOD, 2, axis=0).astype(np.float32), RATE_HZ), "in 2 channels, its stem"),
    "a twentieth of a second": (encode_wav(GOOD[:, :400].astype(np.float32), RATE_HZ), "400 samples at 8000 Hz"),
    "disguised": (b"<html>no sound</html>", "no sound"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(60), "no sound"),
    "empty": (b"", "is empty"),
    "truncated": (encode_wav(GOOD.astype(np.float32), RATE_HZ)[:-4000], "truncated"),
    "without samples": (encode_wav(GOOD.astype(np.float32), RATE_HZ)[:40] + bytes(4), "no samples|truncated"),
}


@pytest.mark.parametrize("protocol", ["si_sdr", "perceptual"])
def test_a_bad_file_costs_itself_and_says_why(tmp_path, protocol):
    for folder in ("stems", "outputs"):
        for name in BAD:
            write(tmp_path / folder / name / "dog.wav", GOOD)
    for name, (content, _) in BAD.items():
        (tmp_path / "outputs" / name / "dog.wav").write_bytes(content)
    write(tmp_path / "stems" / "good" / "dog.wav", GOOD)
    write(tmp_path / "outputs" / "good" / "dog.wav", GOOD + 0.01 * np.roll(GOOD, 13))
    options = ScoreOptions(prediction=tmp_path / "outputs", truth=tmp_path / "stems", protocol=protocol, workers=0)
    result = score_sounds(options)
    row_of = rows(result)
    assert not row_of["good/dog"]["remarks"]
    for name, (_, message) in BAD.items():
        if protocol == "si_sdr" or name != "silence":  # what a listener notices of silence has numbers
            assert re.search(message, row_of[f"{name}/dog"]["remarks"]), (name, row_of[f"{name}/dog"]["remarks"])
    assert all(row["expected"] and row["path"].endswith("dog.wav") for row in result[2])
