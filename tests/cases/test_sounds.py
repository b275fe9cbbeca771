"""Inputs of sounds: every layout, what a line may say, and what costs itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auscult.cases.listing import list_items
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import NothingToDo
from auscult.media.wav import encode_wav
from auscult.types import Span


def sound(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode_wav(np.zeros((1, 80), np.float32), 8000))
    return path


def lines(folder: Path, *rows: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.jsonl").write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return folder


WHOLE = {
    "id": "m1/dog",
    "mixture": "m1.wav",
    "separated": "out.wav",
    "text": "dog barking",
    "spans_s": [["+", 0.5, 1.25], ["-", 2, 3]],
    "video": "dog.png",
    "domain": "sound",
    "setting": "general_sound",
    "split": "test",
    "cluster": "m1",
    "family": "nmf",
    "system": "nmf.v1",
    "seen": False,
    "truth": {"stem": "dog.wav", "others": {"rain": "rain.wav"}, "recall": 3.5, "difficulty": {"counting": 2.0}},
    "snr_db": 3,
}


def test_a_line_comes_back_as_it_was_written(tmp_path: Path) -> None:
    (item,) = read_sounds(lines(tmp_path, WHOLE)).items
    assert item.query.spans == (Span("+", 0.5, 1.25), Span("-", 2.0, 3.0))
    assert item.truth is not None
    assert item.truth.others == {"rain": tmp_path / "rain.wav"}
    assert (item.truth.scores, item.truth.difficulty) == ({"recall": 3.5}, {"counting": 2.0})
    assert (item.seen, item.extra) == (False, {"snr_db": 3})
    assert sound_line(item, home=tmp_path) == WHOLE


def test_mixtures_and_outputs_are_matched_by_name(tmp_path: Path) -> None:
    for name in ("mixtures/a.wav", "mixtures/b.wav", "mixtures/c.wav", "separated/a.wav", "separated/b/one.wav"):
        sound(tmp_path / name)
    for name in ("separated/b/two.wav", "separated/d.wav", "stems/b/dog.wav", "stems/b/rain.wav"):
        sound(tmp_path / name)
    sound_input = read_sounds(tmp_path)
    assert {item.id: item.separated and item.separated.name for item in sound_input.items} == {
        "a": "a.wav", "b/one": "one.wav", "b/two": "two.wav", "c": None,
    }  # fmt: skip
    truth = next(item.truth for item in sound_input.items if item.id == "b/two")
    assert truth is not None
    assert truth.stem == tmp_path / "stems/b/dog.wav"
    assert list(truth.others) == ["rain"]
    sound(tmp_path / "stems/b/two.wav")
    truth_of = {item.id: item.truth for item in read_sounds(tmp_path).items}
    assert truth_of["b/two"] is not None
    assert truth_of["b/two"].stem == tmp_path / "stems/b/two.wav"  # the stem of the output's own name
    sound(tmp_path / "stems/b/target.wav")
    truth_of = {item.id: item.truth for item in read_sounds(tmp_path).items}
    assert truth_of["b/one"] is not None
    assert truth_of["b/one"].stem == tmp_path / "stems/b/target.wav"
    ((_, problem),) = sound_input.problems
    assert "no mixture of this name" in problem.error
    assert str(problem.path).endswith("d.wav")


def test_every_stem_of_a_track_is_wanted_in_turn(tmp_path: Path) -> None:
    for name in ("song/mixture.wav", "song/vocals.wav", "song/drums.wav", "loose/drums.wav"):
        sound(tmp_path / name)
    items = read_sounds(tmp_path).items
    assert [(item.id, item.query.text, item.cluster) for item in items] == [
        ("song/drums", "drums", "song"),
        ("song/vocals", "vocals", "song"),
    ]
    assert all(item.truth is not None and len(item.truth.others) == 1 for item in items)


def test_recordings_have_the_prompts_of_their_table(tmp_path: Path) -> None:
    sound(tmp_path / "street.wav")
    (tmp_path / "prompts.csv").write_text("file,text\nstreet.wav,car horn\nstreet.wav,footsteps\nstreet.wav\n../x,y\n")
    sound_input = read_sounds(tmp_path)
    assert [(item.id, item.query.text) for item in sound_input.items] == [
        ("street", "car horn"),
        ("street#1", "footsteps"),
    ]
    assert [record.line for _, record in sound_input.problems] == [4, 5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mixture": None}, "'mixture' is null"),
        ({"mixture": "../m.wav"}, "leaves the folder"),
        ({"id": "/abs"}, "absolute"),
        ({"spans_s": [["+", 3, 1]]}, "goes from 3.0 to 1.0"),
        ({"spans_s": [["?", 0, 1]]}, "spans_s"),
        ({"spans_s": [["+", -1, 1]]}, "0"),
        ({"truth": {"recall": 7}}, "'truth.recall' is 7"),
        ({"truth": {"others": {"rain": 3}}}, "'truth.others.rain' is 3"),
        ({"domain": "noise"}, "domain"),
        ({"seen": "yes"}, "seen"),
    ],
)
def test_a_line_that_cannot_be_used_costs_itself(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    sound_input = read_sounds(lines(tmp_path, {**WHOLE, **change}, {**WHOLE, "id": "m2"}, {**WHOLE, "id": "m2"}, "{"))
    assert [item.id for item in sound_input.items] == ["m2"]
    first, twice, broken = (
        record for _, record in sorted(sound_input.problems, key=lambda problem: problem[1].line or 0)
    )
    assert message in first.error + first.expected
    assert first.line == 1
    assert "used twice" in twice.error
    assert "JSON" in broken.error


def test_a_table_may_name_recordings_below_the_root(tmp_path: Path) -> None:
    sound(tmp_path / "street.wav")
    (tmp_path / "asked").mkdir()
    (tmp_path / "asked/prompts.csv").write_text("../street.wav,car horn\n")
    assert not read_sounds(tmp_path / "asked").items
    (item,) = read_sounds(tmp_path / "asked", root=tmp_path).items
    assert item.mixture.samefile(tmp_path / "street.wav")


def test_a_folder_without_sounds_is_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="no mixture"):
        read_sounds(tmp_path)
    with pytest.raises(NothingToDo, match="no input of sounds"):
        read_sounds(tmp_path / "missing")


def test_released_outputs_are_an_input(data: Path) -> None:
    sound_input = read_sounds(data / "sound" / "separated")
    assert (len(sound_input.items), sound_input.problems) == (406, ())
    assert len({item.cluster for item in sound_input.items}) == 89
    assert len({item.family for item in sound_input.items}) == 28
    assert all(item.truth is not None and item.truth.stem is not None for item in sound_input.items)


def test_an_audit_of_masks_says_what_scores_sounds(tmp_path: Path) -> None:
    listing = list_items(lines(tmp_path, WHOLE))
    ((name, problem),) = listing.errors
    assert name == WHOLE["id"]
    assert "auscult run separation" in (problem.hint or "")


@pytest.mark.parametrize("name", ["htdemucs/song/vocals.wav", "song/mixture.flac"])
def test_folders_of_sounds_alone_are_not_asked_for_frames(tmp_path: Path, name: str) -> None:
    """What Demucs writes, and tracks without outputs, are no audit's INPUT: the error names a layout of sounds."""
    sound(tmp_path / name)
    with pytest.raises(NothingToDo) as error:
        list_items(tmp_path)
    assert "mixtures/x.wav and separated/x.wav" in error.value.expected
    assert '"separated": "b.wav"' in error.value.hint


def test_sounds_beside_pictures_are_asked_for_frames(tmp_path: Path) -> None:
    sound(tmp_path / "clip.wav")
    (tmp_path / "clip.jpg").write_bytes(b"")
    with pytest.raises(NothingToDo) as error:
        list_items(tmp_path)
    assert "frames/" in error.value.expected
