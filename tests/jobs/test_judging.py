"""What a worker makes of frames: each decoded once for all its masks, likely errors drawn and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from auscult.act.policy import load_policy
from auscult.arrays.error_map import error_map_of
from auscult.errors import UsageError
from auscult.jobs import judging
from auscult.jobs.judging import Auditor, Checker, make_auditor, prior_of
from auscult.jobs.runner import FrameGroup, first_alone, frame_groups
from auscult.judge.masks.cascade import CascadeJudge
from auscult.media.frames import write_frame
from auscult.media.masks import write_mask
from auscult.types import Case, Evidence, Identity, Item, MaskRef, Metadata, Prediction, Verdict


class _Judge:
    """Says that the right quarter of its map is missing, if it is to say anything."""

    name = "masks.told.v1"
    meta = Metadata(summary="a test's judge", goal="none", modality="mask", source="none")

    def __init__(self, *, maps: bool, good: float | None = None, prob_shift: float | None = None) -> None:
        self.maps = maps
        self.good = good
        self.prob_shift = prob_shift
        self.prob_prior = None if prob_shift is None else (0.4, 0.8)

    def __call__(self, case: Case, prediction: Prediction) -> Verdict:  # noqa: ARG002 - a judge looks at both
        values = np.zeros((16, 16), np.float32)
        values[:, 12:] = 1
        return Verdict(
            id=case.id,
            iou=0.7,
            iou_low=0.6,
            iou_high=0.8,
            defect="erode",
            defect_probs={"erode": 1.0},
            evidence=Evidence(shape=True),
            rationale="A quarter is missing.",
            judge=self.name,
            error_map=error_map_of(values, (8, 8, 40, 40)) if self.maps else None,
            prob_iou_80=self.good,
        )


def _group(folder: Path) -> FrameGroup:
    frame = np.full((48, 64, 3), 120, np.uint8)
    write_frame(folder / "f.png", frame)
    items = []
    for number in range(3):
        mask = np.zeros((48, 64), bool)
        mask[8:40, 8 : 32 - number] = True
        write_mask(folder / f"{number}.png", mask)
        items.append(Item(id=f"m{number}", frame=folder / "f.png", mask=MaskRef(path=folder / f"{number}.png")))
    return FrameGroup(tuple(items), frozenset(item.id for item in items))


def test_a_frame_is_decoded_once_for_all_its_masks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_paths: list[Path] = []
    decode = judging.decode_frame
    monkeypatch.setattr(
        judging,
        "decode_frame",
        lambda data, *, path, **options: (opened_paths.append(path), decode(data, path=path, **options))[1],
    )
    entries = Auditor(_Judge(maps=False), load_policy("default"), tmp_path)(_group(tmp_path))
    assert [entry.id for entry in entries] == ["m0", "m1", "m2"]
    assert opened_paths == [tmp_path / "f.png"]


class _BatchJudge(_Judge):
    """Takes several masks at once, and keeps how many."""

    def __init__(self) -> None:
        super().__init__(maps=False)
        self.counts: list[int] = []

    def batch(self, cases: Sequence[Case], predictions: Sequence[Prediction]) -> list[Verdict]:
        self.counts.append(len(cases))
        return [self(case, prediction) for case, prediction in zip(cases, predictions, strict=True)]


def test_masks_of_several_frames_are_judged_at_once_and_one_bad_frame_costs_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = [
        replace(item, id=f"{name}/{item.id}") for name in "abc" for item in _group(_new_folder(tmp_path / name)).items
    ]
    (tmp_path / "b" / "f.png").write_bytes(b"")
    judge, policy = _BatchJudge(), load_policy("default")
    (group,) = frame_groups(items, joined=9)
    results = {entry.id: entry for entry in Auditor(judge, policy, tmp_path)(group)}
    assert judge.counts == [6]
    assert {name for name, entry in results.items() if entry.errors} == {"b/m0", "b/m1", "b/m2"}
    alone = {
        entry.id: entry for part in frame_groups(items) for entry in Auditor(_Judge(maps=False), policy, tmp_path)(part)
    }
    assert set(alone) == set(results) == {item.id for item in items}
    for name, entry in results.items():
        for row, other in zip(
            entry.rows.get("verdicts.jsonl", ()), alone[name].rows.get("verdicts.jsonl", ()), strict=True
        ):
            assert {**row, "seconds": 0} == {**other, "seconds": 0}
    monkeypatch.setattr(judging, "_MOST_BYTES", 1)
    judge.counts.clear()
    assert {entry.id for entry in Auditor(judge, policy, tmp_path)(group)} == set(results)
    assert judge.counts == [], "neither large frames nor the masks of one are held together"


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize(("joined", "sizes"), [(1, [3, 1, 2]), (3, [3, 3]), (4, [4, 2]), (100, [6])])
def test_small_frames_are_joined_and_no_frame_is_torn(tmp_path: Path, joined: int, sizes: list[int]) -> None:
    mask = MaskRef(path=tmp_path / "m.png")
    items = [
        Item(id=f"{name}{index}", frame=tmp_path / name, mask=mask)
        for name, index in zip("aaabcc", range(6), strict=True)
    ]
    groups = list(frame_groups(items, done={"b9"}, joined=joined))
    assert [group.size for group in groups] == sizes
    assert [item.id for group in groups for item in group.items] == [item.id for item in items]
    assert [len(part.wanted) for part in groups[0].split()] == [1] * sizes[0]


def test_the_first_item_goes_alone_and_none_is_lost(tmp_path: Path) -> None:
    mask = MaskRef(path=tmp_path / "m.png")
    items = [Item(id=f"a{index}", frame=tmp_path / "a", mask=mask) for index in range(4)]
    groups = list(first_alone(frame_groups(items, done={"a0"})))
    assert [sorted(group.wanted) for group in groups] == [["a1"], ["a2", "a3"]]
    assert [group.items for group in groups] == [tuple(items)] * 2
    assert [group.size for group in first_alone(frame_groups(items[:1]))] == [1]
    assert not list(first_alone(iter(())))


def test_amounts_are_on_record_where_there_is_a_map_and_only_there(tmp_path: Path) -> None:
    group, policy = _group(tmp_path), load_policy("default")
    entries = Auditor(_Judge(maps=True), policy, tmp_path)(group)
    silent = Auditor(_Judge(maps=False), policy, tmp_path)(group)
    (row,) = entries[0].rows["verdicts.jsonl"]
    assert row["missing_share"] == pytest.approx(0.25, abs=0.03)
    assert row["extra_share"] == 0
    assert entries[0].rows["thumbnails.jsonl"] != silent[0].rows["thumbnails.jsonl"]
    (row_without,) = silent[0].rows["verdicts.jsonl"]
    assert "missing_share" not in row_without


def test_how_far_off_probabilities_may_be_is_on_record_beside_them(tmp_path: Path) -> None:
    group, policy = _group(tmp_path), load_policy("default")
    measured, unmeasured, silent = (
        Auditor(_Judge(maps=False, good=good, prob_shift=shift), policy, tmp_path)(group)[0].rows["verdicts.jsonl"][0]
        for good, shift in ((0.9, 0.31), (0.9, None), (None, 0.31))
    )
    assert (measured["prob_iou_80"], measured["prob_shift"], measured["action"]) == (0.9, 0.31, "accept")
    assert measured["prob_prior"] == [0.4, 0.8]
    assert not {"prob_shift", "prob_prior"} & (unmeasured.keys() | silent.keys())


class _Check:
    """Finds half of the masks on another object."""

    name = "identity.half.v1"
    meta = _Judge.meta

    def __call__(self, case: Case, prediction: Prediction) -> Identity:  # noqa: ARG002 - a check looks at both
        return Identity(match=0.5, exists="yes")


def test_the_prior_of_masks_on_the_right_object_is_not_that_of_an_identity_check(tmp_path: Path) -> None:
    judge, policy = _Judge(maps=False, good=0.4, prob_shift=0.3), load_policy("default")
    row = Auditor(judge, policy, tmp_path, checker=Checker(_Check()))(_group(tmp_path))[0].rows["verdicts.jsonl"][0]
    assert row["prob_iou_80"] == pytest.approx(0.2)
    assert row["prob_shift"] == 0.3
    assert "prob_prior" not in row


def test_what_a_cascade_leaves_to_its_first_judge_is_no_set_to_adapt_to(tmp_path: Path) -> None:
    judge, policy = _Judge(maps=False, good=0.9, prob_shift=0.3), load_policy("default")
    cascade = CascadeJudge([judge, _Judge(maps=False)], name="cascade.told", possible=lambda *_: {"accept"})
    (row, *_) = make_auditor(cascade, policy, tmp_path)(_group(tmp_path))[0].rows["verdicts.jsonl"]
    assert (row["judged_by"], row["prob_shift"]) == (judge.name, 0.3)
    assert "prob_prior" not in row


@pytest.mark.parametrize(
    "prior", ["much", 0.4, [0.8, 0.4], [0, 1], (0.4, 0.9999999), [float("nan"), 0.8], (0.4,), [[], {}]]
)
def test_a_prior_that_is_none_is_told_before_anything_is_judged(prior: object) -> None:
    judge = _Judge(maps=False)
    judge.prob_prior = prior  # type: ignore[assignment]
    with pytest.raises(UsageError, match=r"prob_prior of the judge masks\.told\.v1 is"):
        make_auditor(judge, load_policy("default"))
    judge.prob_prior = np.array([0.4, 0.8], np.float32)  # type: ignore[assignment]
    assert prior_of(judge) == (0.4, 0.8)
