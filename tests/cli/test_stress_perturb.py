"""`auscult stress vision|sound|sentences|timing|recipe` at the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from small_inputs import auscult, folder_input, rows, save_frame


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    for number in range(2):
        save_frame(tmp_path / "in" / f"p{number}.png", seed=number)
    return tmp_path / "in"


def test_json_is_the_summary_and_talk_is_on_stderr(pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = auscult("stress", "vision", pictures, "--kind", "contrast", "--severity", "low,high", "--out", out,
                  "--workers", 1, "--json")  # fmt: skip
    assert result.code == 0
    assert json.loads(result.out) == json.loads((out / "summary.json").read_text())
    assert json.loads(result.out)["command"] == "stress vision"
    assert sorted(row["id"] for row in rows(out / "outputs.jsonl")) == [
        "contrast_1/p0.png", "contrast_1/p1.png", "contrast_5/p0.png", "contrast_5/p1.png"
    ]  # fmt: skip
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["arguments"]["given"].keys() >= {"source", "out", "kind", "severity", "workers"}
    assert manifest["finished"]


def test_a_bad_file_costs_itself_and_the_exit_code_says_so(pictures: Path, tmp_path: Path) -> None:
    (pictures / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n not really")
    command = ("stress", "vision", pictures, "--kind", "gaussian_noise", "--out", tmp_path / "out", "--workers", 1)
    result = auscult(*command)
    assert result.code == 1
    assert "errors.jsonl" in result.err
    (row,) = rows(tmp_path / "out" / "errors.jsonl")
    assert row["id"] == "gaussian_noise_3/bad.png"
    assert row["path"] == str(pictures / "bad.png")
    assert auscult(*command, "--max-failed", 1).code == 0


@pytest.mark.slow
def test_audit_takes_what_was_made_as_it_is(tmp_path: Path) -> None:
    source, out = folder_input(tmp_path / "in"), tmp_path / "an out; folder"
    kind = "vision.gaussian_noise+mispunctuation"
    result = auscult("stress", "recipe", source, "--text", "the thing on the left", "--kind", kind,
                  "--out", out, "--workers", 1, "--quiet")  # fmt: skip
    assert result.code == 0
    (command,) = [line for line in result.err.splitlines() if line.startswith("next: ")]
    assert auscult(*shlex.split(command)[2:], "--workers", 1, "--quiet").code == 0
    assert len(rows(Path(f"{out}-audit") / "verdicts.jsonl")) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("vision",), "--kind is missing"),
        (("vision", "--kind", "snwo"), "snow"),
        (("vision", "--kind", "contrast", "--severity", "9"), "0 to 5"),
        (("vision", "--kind", "contrast", "--dynamic", "rampp"), "ramp"),
        (("sound", "--kind", "gain"), "sound can perturb"),
        (("sentences", "--kind", "misspelling"), "sentences can perturb"),
        (("timing", "--kind", "offset"), "timing can perturb"),
        (("recipe", "--kind", "contrast", "--preset", "paper"), "--preset"),
        (("recipe", "--preset", "papre"), "paper"),
        (("vision", "--kind", "contrast", "--seed", 2**70), "seed"),
        (("vision", "--kind", "contrast", "--dynamic", "r2bench", "--severity", 3), "--severity 3 does not go with"),
        (("vision", "--kind", "contrast,fog", "--dynamic", "paper", "--severity", "1,5"), "draws its severities"),
        (("recipe", "--preset", "r2bench", "--severity", "low"), "--severity low does not go with --preset r2bench"),
        (("recipe", "--kind", "contrast", "--keep", "dog"), "--keep had no effect"),
        (("recipe", "--kind", "contrast", "--keep-head"), "--keep-head had no effect"),
    ],
)
def test_wrong_usage_is_exit_2_and_leaves_nothing(
    pictures: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    room, *options = arguments
    result = auscult("stress", room, pictures, "--out", tmp_path / "out", *options)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [("vision", "--kind", "contrast"), ("masks",)], ids=["vision", "masks"])
def test_an_empty_output_folder_is_not_the_current_one(
    tmp_path: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_input(tmp_path / "in", "a")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = auscult("stress", *command, source, "--out", "")
    assert not list((tmp_path / "here").iterdir())
    assert result.code == 2
    assert "--out is empty" in result.err
    assert "Traceback" not in result.err


def test_the_head_noun_is_kept_and_the_manifest_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the small dog that barks on the left\n" * 12)
    result = auscult("stress", "sentences", tmp_path / "a.txt", "--kind", "misspelling", "--severity", 5, "--keep-head",
                  "--out", tmp_path / "out", "--workers", 1)  # fmt: skip
    assert result.code == 0
    sentences = (tmp_path / "out" / "misspelling_5" / "a.txt").read_text().splitlines()
    assert sum(" dog " in line for line in sentences) == 12
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["arguments"]["given"]["keep_head"] is True


def test_notes_are_said_and_json_stays_alone(pictures: Path, tmp_path: Path) -> None:
    (pictures / ".hidden.png").write_bytes(b"x")
    note_told = {}
    for options in ((), ("--json",)):
        result = auscult("stress", "vision", pictures, "--kind", "contrast", "--out", tmp_path / f"out{len(options)}",
                      "--workers", 1, *options)  # fmt: skip
        note_told[options] = "note: left out, hidden by a dot: 1 name" in result.err
    assert note_told == {(): True, ("--json",): False}


def test_options_that_this_input_makes_no_use_of_are_told(pictures: Path, tmp_path: Path) -> None:
    result = auscult("stress", "vision", pictures, "--kind", "contrast", "--out", tmp_path / "out", "--workers", 1,
                  "--quality", 18, "--depth", "float32")  # fmt: skip
    assert result.code == 0
    assert "note: --quality has no effect: the input holds no video" in result.err
    assert "note: --depth has no effect: the input holds no sound" in result.err
    plain = auscult("stress", "vision", pictures, "--kind", "contrast", "--out", tmp_path / "plain", "--workers", 1)
    assert "no effect" not in plain.err
