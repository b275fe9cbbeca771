"""A scene as files: the released layout, and an INPUT that lists without error."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from auscult.cases.datasets.refavs import metadata_csv
from auscult.cases.listing import list_items
from auscult.errors import AuscultError
from auscult.language.forms import Expression
from auscult.record.codec import dump
from auscult.rng import generator
from auscult.scenes.dataset import files_of, items_of, object_word, rows_of, with_video
from auscult.scenes.draw import Stage, hear
from auscult.scenes.facts import check, facts_of, say, targets_of
from auscult.scenes.options import SceneOptions
from auscult.scenes.plan import choose
from auscult.scenes.splits import GENERATED, divide

SHELVES = divide(GENERATED, wanted=["test_u"])
PLAN = choose(
    3, 5, assets=GENERATED, shelves=SHELVES, options=SceneOptions(size=(120, 214), rate_hz=8000, objects=(4, 4))
)
SHOTS = Stage(PLAN, GENERATED.looks).key_shots()
FACTS = facts_of(PLAN, SHOTS)


def test_files_are_where_the_release_has_them(tmp_path: Path) -> None:
    layout_rows = rows_of(PLAN, say(generator(1, "words"), FACTS, targets=targets_of(PLAN, SHOTS), most=8, nulls=2))
    files = files_of(PLAN, SHOTS, hear(PLAN, GENERATED.sounds).samples, nulls=True)
    assert set(files) == {
        f"media/{PLAN.vid}/audio.wav",
        *(f"media/{PLAN.vid}/frames/{n}.jpg" for n in range(10)),
        *(f"gt_mask/{PLAN.vid}/fid_{fid}/{n:05d}.png" for fid in range(5) for n in range(10)),
    }
    for number in range(4):
        for frame in (0, 9):
            mask = np.asarray(Image.open(io.BytesIO(files[f"gt_mask/{PLAN.vid}/fid_{number + 1}/{frame:05d}.png"]))) > 0
            assert np.array_equal(mask, SHOTS[frame].visible[number])
    assert not np.asarray(Image.open(io.BytesIO(files[f"gt_mask/{PLAN.vid}/fid_0/00003.png"]))).any()
    with wave.open(io.BytesIO(files[f"media/{PLAN.vid}/audio.wav"])) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes()) == (8000, 2, 80_000)
    uids = [layout_row.row.uid for layout_row in layout_rows]
    assert len(set(uids)) == len(uids)
    for layout_row in layout_rows:
        folder, word, number = layout_row.row.uid.rsplit("_", 2)
        assert (folder, number.isdecimal()) == (PLAN.vid, True)
        if layout_row.expression.target is None:
            assert (word, layout_row.row.split, layout_row.row.fid) == ("null", "test_n", 0)
        else:
            thing = PLAN.objects[layout_row.row.fid - 1]
            assert (thing.id, object_word(thing.look.category)) == (layout_row.expression.target, word)
            assert layout_row.row.split == "test_u"
    items = items_of(PLAN, SHOTS, layout_rows)
    for name, data in {**files, "metadata.csv": metadata_csv(layout_row.row for layout_row in layout_rows)}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "items.jsonl").write_bytes(b"".join(dump(row) + b"\n" for row in items))
    listing = list_items(tmp_path / "items.jsonl")
    assert not listing.errors
    assert len(listing.items) == sum(mask.any() for shot in SHOTS for mask in shot.visible)
    for item in listing.items:
        assert item.time_s is not None
        assert item.truth is not None
        assert item.mask.path == item.truth.mask.path if item.truth.mask is not None else False
    first = {layout_row.row.fid: layout_row.row.exp for layout_row in reversed(layout_rows) if layout_row.row.fid}
    assert {item.query.text for item in listing.items} - {None} == set(first.values())


@pytest.mark.parametrize(
    ("category", "word"),
    [
        ("ball", "ball"),
        ("fire engine", "fire-engine"),
        ("a_b/../c", "a-b-c"),
        ("null", "null-object"),
        ("日本", "object"),
    ],
)
def test_an_object_word_is_safe_in_a_uid(category: str, word: str) -> None:
    assert object_word(category) == word


def test_an_expression_that_the_facts_do_not_bear_out_is_an_error() -> None:
    good = say(generator(2, "words"), FACTS, targets=frozenset(thing.id for thing in FACTS.things), most=6)
    assert good
    for expression in good:
        check(expression, FACTS)
        other = next(thing.id for thing in FACTS.things if thing.id != expression.target)
        for target in (other, None):
            wrong = Expression(
                text=expression.text,
                family=expression.family,
                wording=expression.wording,
                target=target,
                needs=expression.needs,
                form=expression.form,
            )
            with pytest.raises(AuscultError, match="the proof of"):
                check(wrong, FACTS)


def test_only_wanted_targets_are_referred_to() -> None:
    target_ids = frozenset(thing.id for thing in FACTS.things[:1])
    expressions = say(generator(2, "words"), FACTS, targets=target_ids, most=5)
    assert expressions
    assert {expression.target for expression in expressions} == target_ids
    assert not say(generator(2, "words"), FACTS, targets=frozenset(), most=5)


def test_a_video_is_named_only_where_it_was_written() -> None:
    items = items_of(PLAN, SHOTS, ())
    assert with_video(items, ["media/other/video.mp4", f"media/{PLAN.vid}/audio.wav"]) == items
    items_with_video = with_video(items, [f"media/{PLAN.vid}/video.mp4"])
    assert [row.pop("video") for row in map(dict, items_with_video)] == [f"media/{PLAN.vid}/video.mp4"] * len(items)
    assert not any("video" in row for row in items), "the given lines stay as they are"
