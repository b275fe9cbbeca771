"""What MQ-Auditor learns from: answers, and how often what is drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the extra `train` is not installed")
pytest.importorskip("yaml", reason="the extra `train` is not installed")

from auscult.errors import InputError, UnknownName, UsageError
from auscult.jobs.clip_context import ClipIndex
from auscult.judge.replies import read_reply
from auscult.train.mq_auditor.loop import (
    COMMITTED,
    AuditorFeed,
    AuditorPlan,
    Unit,
    answer_of,
    read_plan,
    read_units,
    rows,
)
from auscult.types import DEFECTS, Action, Defect, Item, MaskRef, Query, Truth
from small_inputs import folder_input, write_lines
from small_inputs import item as line

pytestmark = pytest.mark.extra_train

MADE: dict[Defect, tuple[int, Action, float]] = {
    "perfect": (1, "accept", 1.0),
    "cutout": (2, "minor_revision", 0.87),
    "dilate": (2, "major_revision", 0.77),
    "erode": (2, "minor_revision", 0.88),
    "merge": (3, "reject", 0.4),
    "full_neg": (1, "reject", 0.0),
}


def units(count: int) -> list[Unit]:
    units_ = []
    for index in range(count):
        items = {
            kind: tuple(
                Item(
                    id=f"{index}/{kind}/{number}",
                    frame=Path("f.png"),
                    mask=MaskRef(path=Path("m.png")),
                    query=Query("the dog"),
                    truth=Truth(iou=iou, defect=kind, action=action),
                )
                for number in range(n)
            )
            for kind, (n, action, iou) in MADE.items()
        }
        perfect = items.pop("perfect")[0]
        units_.append(Unit(id=str(index), video=f"v{index:05d}", perfect=perfect, others=items))
    return units_


def feed(count: int, **settings: object) -> AuditorFeed:
    plan = replace(AuditorPlan(), **settings)  # type: ignore[arg-type]
    return AuditorFeed(units(count), ClipIndex(frozenset(), {}, frozenset()), plan, seed=3)


def kind_of(item: Item) -> Defect:
    assert item.truth is not None
    assert item.truth.defect is not None
    return item.truth.defect


@pytest.mark.parametrize(("positives", "perfect"), [(0.25, 1), (0.5, 2), (0.75, 3)])
def test_each_small_batch_has_its_perfect_masks(positives: float, perfect: int) -> None:
    feed_ = feed(256, positives=positives)
    for number in range(feed_.each):
        for small in feed_.drawn(number):
            assert len(small) == 4
            assert sum(kind_of(item) == "perfect" for item in small) == perfect


def test_what_does_not_divide_is_made_up_for_in_the_next_small_batch() -> None:
    feed_ = feed(256, positives=0.25, small_batch=2)
    counts = [sum(kind_of(item) == "perfect" for item in small) for small in feed_.drawn(0)]
    assert sum(counts) == 32
    assert set(counts) == {0, 1}


def test_an_epoch_shows_a_mask_of_each_video_and_types_come_equally_often() -> None:
    feed_ = feed(1280)
    assert feed_.each == 10
    assert feed_.steps == 480
    epoch = [item for number in range(10) for small in feed_.drawn(number) for item in small]
    assert sorted(int(item.id.split("/")[0]) for item in epoch) == list(range(1280))
    all_items = [item for number in range(200) for small in feed_.drawn(number) for item in small]
    kinds = Counter(kind_of(item) for item in all_items)
    assert kinds.pop("perfect") == len(all_items) / 2
    expected = len(all_items) / 2 / 5
    deviation = (expected * 4 / 5) ** 0.5
    assert all(abs(count - expected) < 4 * deviation for count in kinds.values()), kinds
    merge_kinds = Counter(item.id.split("/")[2] for item in all_items if kind_of(item) == "merge")
    assert all(abs(count - kinds["merge"] / 3) < 4 * (kinds["merge"] * 2 / 9) ** 0.5 for count in merge_kinds.values())


def test_epochs_differ_and_a_number_gives_the_same_batch() -> None:
    first_feed, second_feed = feed(128), feed(128)
    ids = [[item.id for small in first_feed.drawn(number) for item in small] for number in range(4)]
    assert ids[3] == [item.id for small in second_feed.drawn(3) for item in small]
    assert len({tuple(batch) for batch in ids}) == 4


@pytest.mark.parametrize("kind", [kind for kind in DEFECTS if kind in MADE])
def test_answers_say_what_is_true(kind: Defect) -> None:
    unit = units(1)[0]
    item = unit.perfect if kind == "perfect" else unit.others[kind][0]
    assert item is not None
    text, iou = answer_of(item)
    reply = read_reply(text)
    assert (reply.defect, reply.action, reply.iou) == (kind, MADE[kind][1], iou)


def test_a_released_answer_gets_the_true_iou() -> None:
    item = units(1)[0].others["erode"][0]
    text, _ = answer_of(replace(item, extra={"response": "<audit> thin <iou>{iou}</iou> </audit>"}))
    assert text == "<audit> thin <iou> 0.8800 </iou> </audit>"
    with pytest.raises(InputError, match="not all known"):
        answer_of(replace(item, truth=Truth(iou=0.5)))


def test_a_share_of_the_videos_is_part_of_a_larger_one(tmp_path: Path) -> None:
    folder_input(tmp_path)
    lines = [
        {
            **line(f"{video}{kind}"),
            "clip": f"v{video}",
            "text": "the dog",
            "truth": {"iou": MADE[kind][2], "defect": kind, "action": MADE[kind][1]},
            "mqa": {"uid": f"u{video}", "split": "test_s" if video == 8 else "train", "category": "dog"},
        }
        for video in range(9)
        for kind in ("perfect", "erode")
    ]
    write_lines(tmp_path / "items.jsonl", *lines)
    videos_by_share = {
        share: {unit.video for unit in read_units(tmp_path, AuditorPlan(share=share))[0]} for share in (0.25, 0.5, 1.0)
    }
    assert [len(videos) for videos in videos_by_share.values()] == [2, 4, 8]
    assert videos_by_share[0.25] < videos_by_share[0.5] < videos_by_share[1.0] == {f"v{video}" for video in range(8)}
    units_read, listing = read_units(tmp_path, AuditorPlan())
    feed_ = AuditorFeed(units_read, ClipIndex.of(listing), AuditorPlan(batch=8, small_batch=4, epochs=2), seed=0)
    (first, _) = feed_.batch(1)
    assert first[0].answer.startswith("<audit> The dog is covered whole")
    assert first[0].mask.any()
    with pytest.raises(UsageError, match="nothing to learn") as error:
        read_units(tmp_path, AuditorPlan(split="val"))
    assert (error.value.hint or "").endswith("one that is here: test_s, train")


def test_settings_that_are_none_are_refused(tmp_path: Path) -> None:
    assert {name: read_plan(name).epochs for name in COMMITTED}["release"] == 96
    assert read_plan("paper") == AuditorPlan()
    with pytest.raises(UnknownName, match=r"table4\.neither"):
        read_plan("paper+table4.neither")
    (tmp_path / "odd.yaml").write_text("batch: 6\n")
    with pytest.raises(UsageError, match="small batches of 4"):
        read_plan(str(tmp_path / "odd.yaml"))


def test_every_row_of_the_ablations_has_settings() -> None:
    row_counts = Counter(name.partition(".")[0] for name in rows())
    assert row_counts == {"table4": 3, "table5": 2, "table6": 3, "table9": 4, "table10": 3}
    plans = {name: read_plan(f"paper+{name}") for name in rows()}
    assert {plan.positives for plan in plans.values()} == {0.25, 0.5, 0.75}
    assert {plan.share for plan in plans.values()} == {0.25, 0.5, 1.0}
