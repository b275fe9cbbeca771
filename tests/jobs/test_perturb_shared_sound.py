"""A sound that several pictures or clips share: one file under one recipe, else one for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from perturb_inputs import run, tone

from auscult.jobs.perturb.work import sound_digest
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.stress.recipe import preset
from small_inputs import rows, save_frame, save_mask, tree, write_lines

NAMES = "abcdefgh"


def _input(folder: Path, names: str = NAMES, *, clips: bool = False, ending: str = ".wav") -> Path:
    """Items that share a sound; each stands alone, or is a clip of two frames."""
    save_mask(folder / "masks" / "m.png")
    folder.joinpath(f"v{ending}").write_bytes(encode_wav(tone(1, 900), 8000))
    lines: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        for index in range(2 if clips else 1):
            save_frame(folder / "frames" / f"{name}{index}.png", seed=number)
            clip_fields = {"clip": name, "time_s": index / 2} if clips else {}
            fields = {"frame": f"frames/{name}{index}.png", "mask": "masks/m.png", "audio": f"v{ending}"}
            lines.append({"id": f"{name}/{index}", **fields, **clip_fields})
    write_lines(folder / "items.jsonl", *lines)
    return folder


def _lines(out: Path) -> dict[str, dict[str, Any]]:
    (path,) = out.glob("*/items.jsonl")
    return {line["id"]: line for line in rows(path)}


def _sound_hash(out: Path, line: dict[str, Any]) -> str:
    """The hash of what the file of a line's sound decodes to."""
    (folder,) = {path.parent for path in out.glob("*/items.jsonl")}
    return sound_digest(read_sound(folder / line["audio"]).samples)


def _steps(line: dict[str, Any]) -> list[str]:
    return sorted(step["name"] for plan in line["stress"]["plans"].values() for step in plan["steps"])


@pytest.mark.extra_video  # presets draw MP3 too
@pytest.mark.parametrize(("name", "clips"), [("release", False), ("r2bench", True)], ids=["pictures", "clips"])
def test_each_picture_or_clip_has_the_recipe_that_the_preset_draws_for_it(
    tmp_path: Path, name: str, clips: bool
) -> None:
    source, out = _input(tmp_path / "in", clips=clips), tmp_path / "out"
    summary = run(source, out, "recipe", "", preset=name)
    assert summary.ok == summary.n == len(NAMES) * (2 if clips else 1)
    lines = _lines(out)
    for line in lines.values():
        key = line["clip"] if clips else Path(line["frame"]).name
        recipe = preset(name).recipe(seed=0, key=key, guidance="sound")
        assert _steps(line) == sorted(step.name for step in recipe.steps)
    audio_rows = {row["id"]: row for row in rows(out / "outputs.jsonl") if row["kind"] == "audio"}
    assert len(audio_rows) == len(NAMES)
    original = read_sound(source / "v.wav").samples
    for line in lines.values():
        plan = line["stress"]["plans"].get("sound")
        (own_row,) = [
            row for row in audio_rows.values() if row["output"].endswith(line["audio"]) and row["plan"] == plan
        ][:1]
        assert _sound_hash(out, line) == (own_row["sha256"] if plan else sound_digest(original))
    perturbed = [line["audio"] for line in lines.values() if "sound" in line["stress"]["plans"]]
    assert 0 < len(set(perturbed)) == len(perturbed) // (2 if clips else 1)
    copies = {line["audio"] for line in lines.values()} - set(perturbed)
    assert copies == {"audio/v.wav"}  # one copy serves all that leave the sound as it is


def test_what_a_preset_draws_for_an_item_does_not_depend_on_who_shares_its_sound(tmp_path: Path) -> None:
    run(_input(tmp_path / "in"), tmp_path / "out", "recipe", "", preset="release")
    together_lines = _lines(tmp_path / "out")
    name = next(name for name in NAMES if "sound" in together_lines[f"{name}/0"]["stress"]["plans"])
    run(_input(tmp_path / "one", name), tmp_path / "alone", "recipe", "", preset="release")
    (alone,) = _lines(tmp_path / "alone").values()
    assert _sound_hash(tmp_path / "alone", alone) == _sound_hash(tmp_path / "out", together_lines[f"{name}/0"])
    assert alone["stress"]["plans"] == together_lines[f"{name}/0"]["stress"]["plans"]


def test_under_one_recipe_a_file_is_one_sound_whatever_the_order_of_lines(tmp_path: Path) -> None:
    for clips in (False, True):
        source, hashes = _input(tmp_path / f"in{clips}", "abc", clips=clips), set()
        lines = rows(source / "items.jsonl")
        for turn in (1, -1):
            write_lines(source / "items.jsonl", *lines[::turn])
            out = tmp_path / f"out{clips}{turn}"
            run(source, out, "sound", "time_mask")
            lines_ = _lines(out)
            assert {line["audio"] for line in lines_.values()} == {"audio/v.wav"}
            hashes |= {_sound_hash(out, line) for line in lines_.values()}
        assert len(hashes) == 1


def test_clips_on_the_same_frames_have_one_recipe(tmp_path: Path) -> None:
    """One clip an expression, as some lists have it: picture, sound and sentence of an item are of one draw."""
    source = _input(tmp_path / "in", "abcdef", clips=True)
    lines = [{**line, "text": "the dog that barks"} for line in rows(source / "items.jsonl")]
    copies = [{**line, "id": f"{line['id']}-2", "clip": f"{line['clip']}-2"} for line in lines]
    write_lines(source / "items.jsonl", *lines, *copies)
    assert run(source, tmp_path / "out", "recipe", "", preset="release").ok == 24
    for line in _lines(tmp_path / "out").values():
        key = line["clip"].removesuffix("-2")
        recipe = preset("release").recipe(seed=0, key=key, guidance="sentences")
        assert _steps(line) == sorted(step.name for step in recipe.steps)


def test_again_makes_nothing_twice_and_a_new_item_that_shares_is_not_mixed_in(tmp_path: Path) -> None:
    source, out = _input(tmp_path / "in", "abcd"), tmp_path / "out"
    run(source, out, "recipe", "", preset="release")
    before = {name: data for name, data in tree(out).items() if name != "manifest.json"}
    run(source, out, "recipe", "", preset="release")
    assert {name: data for name, data in tree(out).items() if name != "manifest.json"} == before
    lines = rows(source / "items.jsonl")
    save_frame(source / "frames" / "z.png", seed=9)
    write_lines(source / "items.jsonl", *lines, {**lines[0], "id": "z", "frame": "frames/z.png"})
    assert run(source, out, "recipe", "", preset="release").ok == 5
    run(source, tmp_path / "fresh", "recipe", "", preset="release")
    assert _lines(out) == _lines(tmp_path / "fresh")


def test_two_files_of_one_name_that_are_both_shared_stay_apart(tmp_path: Path) -> None:
    source = _input(tmp_path / "in", "abcd")
    save_frame(source / "frames" / "w.png")
    (source / "sub").mkdir()
    (source / "sub" / "v.wav").write_bytes(encode_wav(tone(1, 500), 8000))
    lines = rows(source / "items.jsonl")
    more_lines = [{**line, "id": f"{line['id']}-s", "audio": "sub/v.wav"} for line in lines]
    write_lines(source / "items.jsonl", *lines, *more_lines)
    assert run(source, tmp_path / "out", "recipe", "", preset="release").ok == 8
    for name, line in _lines(tmp_path / "out").items():
        (output,) = (tmp_path / "out").glob(f"*/{line['audio']}")
        assert read_sound(output).samples.shape[1] == (500 if name.endswith("-s") else 900)


@pytest.mark.parametrize("name", ["", "release"], ids=["one recipe", "preset"])
def test_each_item_that_is_lost_with_a_sound_is_named(tmp_path: Path, name: str) -> None:
    source, out = _input(tmp_path / "in", "abc"), tmp_path / "out"
    lines = rows(source / "items.jsonl")
    (source / "own.wav").write_bytes(encode_wav(tone(1, 900), 8000))
    write_lines(source / "items.jsonl", *lines[:2], {**lines[2], "audio": "own.wav"})
    (source / "v.wav").unlink()
    summary = run(source, out, "recipe", "" if name else "gain", preset=name)
    assert (summary.ok, summary.failed) == (1, 2)
    assert set(_lines(out)) == {"c/0"}
    error_rows = rows(out / "errors.jsonl")
    assert {row["path"] for row in error_rows} == {str(source / "v.wav")}
    assert [row["id"] for row in error_rows] == [f"{name or 'gain_3'}/{item}/0" for item in "ab"]
