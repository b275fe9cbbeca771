"""``auscult stress separation``: an INPUT of wrong outputs with exact truth, resumed, and what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.sounds import read_sounds
from auscult.errors import Mismatch, UnknownName, UsageError
from auscult.jobs.options import SeparationStressOptions
from auscult.jobs.stress_separation import stress_separation
from auscult.media.sound import read_sound
from auscult.media.wav import Sound, wav_bytes
from auscult.stress.sound import separation
from small_inputs import auscult

RATE_HZ = 8000


def tone(hz: float, *, seconds: float = 0.8, channels: int = 1, pulse_hz: float = 3.0) -> Any:
    times = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    tone_ = 0.3 * np.sin(2 * np.pi * hz * times) * (np.sin(2 * np.pi * pulse_hz * times) > -0.5)
    return np.stack([tone_] * channels).astype(np.float32)


def write(path: Path, samples: Any, *, rate_hz: int = RATE_HZ) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wav_bytes(Sound(samples=samples, rate_hz=rate_hz), "float32"))
    return path.name


def separation_input(folder: Path, **rows: dict[str, Any]) -> Path:
    """An INPUT with the mixture of two tones, and lines that differ from it."""
    dog, rain = tone(440.0), tone(1300.0, pulse_hz=5.0)
    for name, samples in {"dog": dog, "rain": rain, "mix": dog + rain}.items():
        write(folder / f"{name}.wav", samples)
    fields = {"mixture": "mix.wav", "text": "dog", "truth": {"stem": "dog.wav", "others": {"rain": "rain.wav"}}}
    lines = [{"id": "good", **fields}, *({"id": name, **fields, **row} for name, row in rows.items())]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def run(source: Path, **options: Any) -> Any:
    chosen_options = {"kinds": ("leakage", "time_loss"), "severities": ("low", "5"), "workers": 0, **options}
    out = chosen_options.pop("out", source / "out")
    return stress_separation(SeparationStressOptions(source=source, out=out, **chosen_options))


def rows(folder: Path, name: str = "items.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_what_is_written_is_read_as_an_input_with_truth(tmp_path: Path) -> None:
    summary, tables = run(separation_input(tmp_path))
    assert (summary.n, summary.ok, summary.failed, summary.undefined) == (4, 4, 0, 0)
    assert [row[:3] for row in tables[0].rows][:2] == [("leakage", "1", "1"), ("leakage", "5", "1")]
    listing = read_sounds(tmp_path / "out")
    assert not listing.problems
    items = {item.id: item for item in listing.items}
    assert list(items) == ["good/leakage_1", "good/leakage_5", "good/time_loss_1", "good/time_loss_5"]
    leaked = items["good/leakage_5"]
    assert leaked.separated is not None
    assert leaked.truth is not None
    assert leaked.extra["stress"]["truth"]["sources"] == ["rain"]
    assert leaked.extra["stress"]["truth"]["interference_db"] == pytest.approx(0.0, abs=1e-4)
    assert items["good/leakage_1"].truth.scores["precision"] > leaked.truth.scores["precision"]  # type: ignore[union-attr]
    assert items["good/time_loss_5"].truth.scores["recall"] < leaked.truth.scores["recall"]  # type: ignore[union-attr]
    stems = [read_sound(path).samples for path in (leaked.truth.stem, *leaked.truth.others.values()) if path]
    params = leaked.extra["stress"]["params"]
    rendered = separation.render("leakage", stems, params, rate_hz=RATE_HZ)
    assert np.array_equal(read_sound(leaked.separated).samples, rendered), "the file is what its parameters render"


def test_as_a_user_types_it(tmp_path: Path) -> None:
    separation_input(tmp_path)
    arguments = (
        "--kind",
        "silence,other_codec",
        "--severity",
        "low,5",
        "--workers",
        1,
        "--out",
        tmp_path / "out",
        "--json",
    )
    result = auscult("stress", "separation", tmp_path, *arguments)
    assert result.code == 0, result
    assert json.loads(result.out)["ok"] == 4
    assert {row["stress"]["kind"] for row in rows(tmp_path / "out")} == {"silence", "other_codec"}
    listing = auscult("list", "stressor", "--json")
    assert "separation.silence.v1" in {row["name"] for row in json.loads(listing.out)}


def test_the_same_command_goes_on_and_refuses_changed_stems(tmp_path: Path) -> None:
    run(separation_input(tmp_path))
    before = (tmp_path / "out" / "items.jsonl").read_bytes()
    (tmp_path / "out" / "separated" / "good" / "leakage_1.wav").write_bytes(b"mark")
    summary, _ = run(separation_input(tmp_path, more={"text": "a bark"}))
    assert summary.ok == 8
    assert (tmp_path / "out" / "separated" / "good" / "leakage_1.wav").read_bytes() == b"mark", "nothing is made twice"
    assert (tmp_path / "out" / "items.jsonl").read_bytes().startswith(before)
    write(tmp_path / "rain.wav", tone(900.0))
    with pytest.raises(Mismatch, match="changed since"):
        run(tmp_path)


def test_what_a_killed_run_left_of_an_item_that_is_gone_is_not_listed(tmp_path: Path) -> None:
    run(separation_input(tmp_path, gone={"text": "a bark"}))
    kept_lines = [
        json.dumps(row) + "\n" for row in rows(tmp_path / "out", "targets.jsonl") if row["id"].startswith("good/")
    ]
    (tmp_path / "out" / "targets.jsonl").write_text("".join(kept_lines))
    summary, _ = run(separation_input(tmp_path))
    assert summary.ok == len(rows(tmp_path / "out")) == 4


def test_stems_whose_names_are_alike_stay_apart(tmp_path: Path) -> None:
    separation_input(tmp_path, other={"truth": {"stem": "dog.wav", "others": {"rain": "frames/rain.wav"}}})
    write(tmp_path / "frames" / "rain.wav", tone(2500.0))
    run(tmp_path, kinds=("leakage",), severities=("3",))
    for item, source in zip(read_sounds(tmp_path / "out").items, ("rain.wav", "frames/rain.wav"), strict=True):
        assert item.truth is not None
        assert item.truth.others["rain"].read_bytes() == (tmp_path / source).read_bytes()


def test_frames_that_prompt_come_along_and_links_do_not(tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "0.jpg").write_bytes(b"a picture")
    (tmp_path / "shown" / "1.jpg").symlink_to("/etc/hostname")
    run(separation_input(tmp_path, seen={"video": "shown"}), kinds=("silence",), severities=("1",))
    item = read_sounds(tmp_path / "out").items[1]
    assert item.query.picture is not None
    assert [path.read_bytes() for path in item.query.picture.iterdir()] == [b"a picture"]


def test_without_other_stems_the_rest_is_the_mixture_less_the_target(tmp_path: Path) -> None:
    run(separation_input(tmp_path, alone={"truth": {"stem": "dog.wav"}}), kinds=("mixture",), severities=("5",))
    alone = rows(tmp_path / "out")[1]
    assert alone["stress"]["truth"]["sources"] == ["the rest of the mixture"]
    output, mixture = (read_sound(tmp_path / "out" / alone[key]).samples for key in ("separated", "mixture"))
    assert np.allclose(output, mixture, atol=1e-6)


def test_what_several_separators_returned_of_one_target_is_one_target(tmp_path: Path) -> None:
    separation_input(tmp_path, again={"separated": "rain.wav", "si_sdr": -20.0}, bark={"text": "a bark"})
    summary, _ = run(tmp_path, kinds=("silence",), severities=("1",))
    assert [row["id"] for row in rows(tmp_path / "out")] == ["good/silence_1", "bark/silence_1"]
    assert "si_sdr" not in rows(tmp_path / "out")[0]
    assert summary.ok == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"truth": {"stem": "gone.wav"}}, "gone.wav"),
        ({"truth": None}, "no true stem"),
        ({"truth": {"stem": "dog.wav", "others": {"rain": "stereo.wav"}}}, "2 x 6400 samples at 8000 Hz, the target 1"),
        ({"truth": {"stem": "dog.wav", "others": {"rain": "long.wav"}}}, "7200 samples at 8000 Hz"),
        ({"truth": {"stem": "dog.wav", "others": {"rain": "fast.wav"}}}, "at 16000 Hz, the target"),
        ({"video": "gone.png"}, "gone.png"),
        ({"mixture": "gone_mix.wav"}, "gone_mix.wav"),
        ({"truth": {"stem": "broken.wav"}}, "not finite"),
        ({"truth": {"stem": "short.wav"}}, "truncated"),
        ({"truth": {"stem": "text.wav"}}, "no sound"),
    ],
)
def test_what_cannot_be_used_costs_itself(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    separation_input(tmp_path, bad=row)
    write(tmp_path / "stereo.wav", tone(500.0, channels=2))
    write(tmp_path / "long.wav", tone(500.0, seconds=0.9))
    write(tmp_path / "fast.wav", tone(500.0), rate_hz=16000)
    write(tmp_path / "broken.wav", tone(500.0) * np.float32(np.nan))
    (tmp_path / "short.wav").write_bytes((tmp_path / "dog.wav").read_bytes()[:900])
    (tmp_path / "text.wav").write_text("a sound, or so it says")
    summary, _ = run(tmp_path, kinds=("leakage",), severities=("3",))
    assert (summary.ok, summary.failed) == (1, 1)
    (error,) = rows(tmp_path / "out", "errors.jsonl")
    assert error["id"] == "bad"
    assert message in error["error"] + str(error["path"])
    assert error["expected"]
    assert error["hint"]


def test_silence_a_steady_offset_and_a_moment_are_told_apart(tmp_path: Path) -> None:
    silent, offset, moment = (
        np.zeros((1, 6400), np.float32),
        np.full((1, 6400), 0.5, np.float32),
        tone(400.0, seconds=0.05),
    )
    others = {"stem": "dog.wav", "others": {"rain": "silent.wav"}}
    separation_input(
        tmp_path,
        silent={"truth": {"stem": "silent.wav", "others": {"rain": "rain.wav"}}},
        lonely={"truth": others},
        offset={"truth": {"stem": "offset.wav", "others": {"rain": "rain.wav"}}},
        moment={"mixture": "moment.wav", "truth": {"stem": "moment.wav", "others": {"rain": "moment.wav"}}},
    )
    for name, samples in {"silent": silent, "offset": offset, "moment": moment}.items():
        write(tmp_path / f"{name}.wav", samples)
    summary, _ = run(tmp_path, kinds=("all",), severities=("5",))
    reasons: dict[str, dict[str, str]] = {}
    for row in rows(tmp_path / "out", "targets.jsonl"):
        for entry in row["undefined"]:
            reasons.setdefault(entry["target"], {})[entry["kind"]] = entry["reason"]
    assert set(reasons["silent"].values()) == {"target_silent"}
    assert set(reasons["lonely"].values()) == {"no_other_source"}
    assert set(reasons["lonely"]) == {"leakage", "mixture", "target_loss", "wrong_source"}
    assert set(reasons) == {"silent", "lonely"}
    assert summary.undefined == len(reasons["silent"]) + len(reasons["lonely"])
    assert summary.ok == 4 * len(reasons["silent"]) - len(reasons["lonely"])
    assert summary.failed == 0


def test_kinds_of_the_second_maker_are_made_where_they_are_named(tmp_path: Path) -> None:
    for name, kinds, n_made in (("all", ("all",), 0), ("more", ("all", "other_codec"), 1)):
        run(separation_input(tmp_path), out=tmp_path / name, kinds=kinds, severities=("1",))
        assert sum(row["system"].startswith("other_") for row in rows(tmp_path / name)) == n_made


def test_wrong_choices_name_what_is_known(tmp_path: Path) -> None:
    separation_input(tmp_path)
    with pytest.raises(UnknownName, match="leakag"):
        run(tmp_path, kinds=("leakag",))
    with pytest.raises(UsageError, match="severity"):
        run(tmp_path, severities=("6",))


@pytest.mark.slow
@pytest.mark.extra_sound
def test_true_stems_of_real_mixtures_are_stressed(data: Path, tmp_path: Path) -> None:
    pytest.importorskip("soundfile", reason="the extra `sound` is not installed")
    summary, _ = run(data / "sound" / "separated", out=tmp_path / "out", kinds=("leakage",), severities=("medium",))
    assert (summary.ok, summary.failed, summary.undefined) == (117, 0, 0)
    for row in rows(tmp_path / "out"):
        assert row["stress"]["truth"]["interference_db"] == pytest.approx(-12.0, abs=0.01)
        assert row["truth"]["recall"] > 4.5
        assert row["truth"]["precision"] < 5.0
