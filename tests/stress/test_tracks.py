"""Tracks of defects: exact windows in every frame, the same place in all of them, replay, reasons, dropping."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rigid_shapes import Stance, centre, outline, shape_mask

from auscult.errors import InputError, UsageError
from auscult.outcome import Outcome, Scored, Undefined
from auscult.stress import masks
from auscult.stress.masks import tracks
from auscult.stress.masks.base import WINDOWED, WINDOWS
from auscult.stress.masks.tracks import DefectTrack, kept
from auscult.types import DEFECTS, Mask, MaskTarget, StressedMask

HOLE_BOUND = 0.06
"""How far a hole's centre may move on a rigid object from one frame to the next, in its radii (seen: 0.031)."""

SIDE_BOUND = 0.12
"""The same for the centre of a band (seen: 0.080)."""

SHAPE = (240, 320)


def square(top: int, left_px: int, side: int, *, shape: tuple[int, int] = SHAPE) -> Mask:
    mask = np.zeros(shape, bool)
    mask[top : top + side, left_px : left_px + side] = True
    return mask


def alone(targets: Sequence[Mask | None]) -> list[list[Mask | None]]:
    return [[] for _ in targets]


def stressed_of(track: DefectTrack) -> list[StressedMask]:
    return [frame.value for frame in track.frames if isinstance(frame, Scored)]


def by_name(tracks_: Sequence[DefectTrack]) -> dict[str, DefectTrack]:
    return {track.name: track for track in tracks_}


stances = st.builds(
    lambda x, y, scale, steps: [
        Stance(
            x=x + steps[0] * index, y=y + steps[1] * index, scale=scale * steps[2] ** index, turn_deg=steps[3] * index
        )
        for index in range(4)
    ],
    st.floats(110, 210),
    st.floats(90, 150),
    st.floats(30, 55),
    st.tuples(st.floats(-9, 9), st.floats(-6, 6), st.floats(0.92, 1.08), st.floats(-15, 15)),
)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), slender=st.floats(0.4, 1.0), path=stances)
def test_every_frame_is_in_its_window_and_on_its_side(seed: int, slender: float, path: list[Stance]) -> None:
    targets = [shape_mask(outline(seed, slender=slender), stance) for stance in path]
    tracks_ = list(tracks.variants(targets, alone(targets), seed=seed, key="a", kinds=["cutout", "dilate", "erode"]))
    assert [track.name for track in tracks_] == [f"{k}_{d}" for k in ("cutout", "dilate", "erode") for d in WINDOWS]
    for track in tracks_:
        assert len(track.frames) == len(targets)
        for target, frame in zip(targets, track.frames, strict=True):
            if not isinstance(frame, Scored):
                continue
            output, truth = frame.value.output, frame.value.truth
            low, high = WINDOWS[track.difficulty or "easy"]
            iou = np.count_nonzero(output & target) / np.count_nonzero(output | target)
            assert truth.iou == iou
            assert low <= iou <= high
            assert (truth.defect, truth.difficulty) == (track.kind, track.difficulty)
            assert bool((output & ~target).any()) == (track.kind == "dilate")
            assert bool((target & ~output).any()) == (track.kind != "dilate")


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), slender=st.floats(0.4, 1.0), path=stances)
def test_holes_and_sides_keep_their_place_on_a_rigid_object(seed: int, slender: float, path: list[Stance]) -> None:
    shape = (480, 640)
    placed = [Stance(x=s.x * 2, y=s.y * 2, scale=s.scale * 2, turn_deg=s.turn_deg) for s in path]
    targets = [shape_mask(outline(seed, slender=slender), stance, shape=shape) for stance in placed]
    for track in tracks.variants(targets, alone(targets), seed=seed, kinds=["cutout", "dilate", "erode"]):
        bound = HOLE_BOUND if track.kind == "cutout" else SIDE_BOUND
        places = [
            stance.own(centre(target ^ frame.value.output))
            for stance, target, frame in zip(placed, targets, track.frames, strict=True)
            if isinstance(frame, Scored)
        ]
        moves = [float(np.hypot(*(after - before)[0])) for before, after in itertools.pairwise(places)]
        assert max(moves, default=0.0) < bound


def test_masks_made_one_by_one_do_not_keep_their_place() -> None:
    """The control of the test above: without tracks the bound is broken all the time."""
    moves = []
    for seed in range(6):
        stance = Stance(x=160, y=120, scale=60)
        target = shape_mask(outline(seed), stance)
        places = [
            stance.own(centre(target ^ outcome.value.output))
            for outcome in (masks.stress("cutout", MaskTarget(mask=target), seed=seed, key=str(i)) for i in range(4))
            if isinstance(outcome, Scored)
        ]
        moves += [float(np.hypot(*(after - before)[0])) for before, after in itertools.pairwise(places)]
    assert np.median(moves) > 2 * HOLE_BOUND


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), path=stances)
def test_any_frame_replays_from_its_json_alone(seed: int, path: list[Stance]) -> None:
    targets = [shape_mask(outline(seed), stance) for stance in path]
    others = [[shape_mask(outline(seed + 1), Stance(x=path[0].x, y=path[0].y, scale=20))] for _ in targets]
    for track in tracks.variants(targets, others, seed=seed):
        for target, row, frame in reversed(list(zip(targets, others, track.frames, strict=True))):
            if isinstance(frame, Scored):
                params = json.loads(json.dumps(frame.value.params))
                replayed = tracks.render(track.kind, tracks.target_of(target, row), params)
                assert np.array_equal(replayed, frame.value.output)
                assert track.params.items() <= {**frame.value.params}.items()


def test_the_same_for_any_number_of_opencv_threads() -> None:
    targets = [shape_mask(outline(3), Stance(x=120 + 9 * i, y=110, scale=50, turn_deg=6 * i)) for i in range(3)]
    before = cv2.getNumThreads()
    runs = []
    try:
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            runs.append(
                [
                    stressed_mask
                    for t in tracks.variants(targets, alone(targets), seed=5)
                    for stressed_mask in stressed_of(t)
                ]
            )
    finally:
        cv2.setNumThreads(before)
    assert len(runs[0]) == len(runs[1]) == 7 * 3
    assert all(np.array_equal(a.output, b.output) and a.params == b.params for a, b in zip(*runs, strict=True))


def test_seed_and_key_make_another_track() -> None:
    targets = [shape_mask(outline(3), Stance(x=150, y=110, scale=50))]
    outputs = [
        stressed_of(next(tracks.variants(targets, [[]], seed=seed, key=key, kinds=["cutout"])))[0].output
        for seed, key in ((1, "a"), (1, "a"), (2, "a"), (1, "b"))
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert not np.array_equal(outputs[0], outputs[2])
    assert not np.array_equal(outputs[0], outputs[3])


def test_the_whole_set_of_one_object() -> None:
    targets = [square(80, 100 + 5 * i, 70) for i in range(4)]
    others = [[square(20, 20 * k, 8 + 2 * k) for k in range(1, 5)] for _ in targets]
    tracks_ = list(tracks.variants(targets, others, seed=1))
    assert len(tracks_) == 13  # 1 perfect, 2 cutout, 2 dilate, 2 erode, 3 merge and 3 full_neg
    assert len({track.name for track in tracks_}) == len(tracks_)
    assert [track.kind for track in tracks_] == sorted([t.kind for t in tracks_], key=DEFECTS.index)
    assert {track.name: track.rank for track in tracks_ if track.kind == "merge"} == {
        "merge_1": 1,
        "merge_2": 2,
        "merge_3": 3,
    }
    assert by_name(tracks_)["cutout_hard"].rank == 1
    assert by_name(tracks_)["cutout_medium"].rank == 2
    assert [stressed_mask.truth.iou for stressed_mask in stressed_of(by_name(tracks_)["perfect"])] == [1.0] * 4


def test_negatives_are_one_object_and_ranked() -> None:
    """Box IoU picks the three and orders full_neg; the IoU of what was made orders merge."""
    targets = [square(80, 100, 60) for _ in range(3)]
    far, beside, large, inside = square(0, 0, 12), square(80, 130, 60), square(70, 90, 110), square(90, 110, 20)
    others = [[far, beside, large, inside] for _ in targets]
    tracks_ = list(tracks.variants(targets, others, kinds=["merge", "full_neg"]))
    assert [(track.name, track.other) for track in tracks_] == [
        ("merge_1", 0),
        ("merge_2", 1),
        ("merge_3", 2),
        ("full_neg_1", 2),
        ("full_neg_2", 0),
        ("full_neg_3", 1),
    ]
    means = [np.mean([stressed_mask.truth.iou for stressed_mask in stressed_of(track)]) for track in tracks_[:3]]
    assert means == sorted(means, reverse=True)
    assert [track.difficulty for track in tracks_] == ["hard", "easy", "easy", None, None, None]
    for track in tracks_:
        assert track.params == {"other": track.other}
        for target, row, stressed_mask in zip(targets, others, stressed_of(track), strict=True):
            negative = row[track.other or 0] & ~target
            assert np.array_equal(stressed_mask.output, target | negative if track.kind == "merge" else negative)


def test_frames_without_the_other_object_are_counted_with_their_reason() -> None:
    target = square(80, 100, 60)
    rows: list[Mask | None] = [square(10, 10, 20)] * 4 + [None, np.zeros(SHAPE, bool), square(90, 110, 9)]
    tracks_ = list(tracks.variants([target] * 7, [[row] for row in rows], kinds=["merge"]))
    assert [track.made for track in tracks_] == [4]
    assert tracks_[0].reasons == {"other_not_annotated": 1, "other_not_visible": 1, "other_inside_target": 1}
    assert not tracks_[0].dropped


def test_a_track_with_fewer_than_half_of_its_frames_is_dropped_and_counted() -> None:
    target = square(80, 100, 60)
    empty_mask = np.zeros(SHAPE, bool)
    others: list[list[Mask | None]] = [[square(10, 10, 20)], [empty_mask], [empty_mask]]
    (track,) = tracks.variants([target] * 3, others, kinds=["full_neg"])
    assert (track.made, track.dropped) == (0, True)
    assert track.reasons == {"track_dropped": 1, "other_not_visible": 2}
    dropped_frame = track.frames[0]
    assert isinstance(dropped_frame, Undefined)
    assert dropped_frame.detail == {"made": 1, "with_target": 3}
    (half_track,) = tracks.variants([target] * 2, others[:2], kinds=["full_neg"])
    assert (half_track.made, half_track.dropped) == (1, False)


def test_an_object_seen_in_most_frames_is_taken_before_a_nearer_one_that_is_not() -> None:
    target = square(80, 100, 60)
    empty_mask = np.zeros(SHAPE, bool)
    near_masks = [square(80, 102, 60)] + [empty_mask] * 4
    rows = [[near_mask, *(square(10, 40 * k, 12) for k in range(3))] for near_mask in near_masks]
    assert [t.other for t in tracks.variants([target] * 5, rows, kinds=["full_neg"])] == [1, 2, 3]


def test_frames_without_a_target() -> None:
    targets = [square(80, 100, 60), None, np.zeros(SHAPE, bool), square(80, 110, 60)]
    others: list[list[Mask | None]] = [[square(10, 10, 20)] for _ in targets]
    tracks_ = list(tracks.variants(targets, others))
    assert len(tracks_) == 9
    for track in tracks_:
        assert track.made == 2, track.name
        assert track.reasons == {"no_annotation": 1, "target_empty": 1}
        assert isinstance(track.frames[1], Undefined)
        assert not track.dropped


def test_a_clip_without_any_target_or_without_frames() -> None:
    for targets in ([None, np.zeros(SHAPE, bool)], []):
        tracks_ = list(tracks.variants(targets, alone(targets)))
        assert len(tracks_) == 9
        assert all(track.dropped and track.made == 0 for track in tracks_)


def test_one_object_alone_has_no_negatives_and_they_are_counted() -> None:
    targets = [square(80, 100, 60)] * 2
    tracks_ = list(tracks.variants(targets, alone(targets), kinds=["merge", "full_neg"]))
    assert [(track.kind, track.reasons, track.dropped) for track in tracks_] == [
        (kind, {"no_other_object": 2}, True) for kind in ("merge", "full_neg")
    ]


def test_a_tiny_frame_of_a_track_is_undefined_by_itself() -> None:
    targets = [square(80, 100, 60), square(80, 100, 1), square(80, 100, 50)]
    for track in tracks.variants(targets, alone(targets), kinds=sorted(WINDOWED)):
        assert track.made == 2, track.name
        assert isinstance(track.frames[1], Undefined)


def test_an_object_that_fills_the_frame_or_is_one_pixel_wide() -> None:
    full, wire = np.ones((60, 60), bool), np.zeros((60, 90), bool)
    wire[30, 5:85] = True
    for mask in (full, wire, square(0, 0, 1, shape=(1, 1))):
        for track in tracks.variants([mask, mask], alone([mask, mask]), seed=1):
            outcomes: Sequence[Outcome[StressedMask]] = track.frames
            assert all(isinstance(frame, Scored | Undefined) for frame in outcomes)
    assert by_name(list(tracks.variants([full], [[]])))["dilate_hard"].reasons == {"no_boundary": 1}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), path=stances, hidden=st.integers(0, 3))
def test_occluded_frames_keep_their_windows(seed: int, path: list[Stance], hidden: int) -> None:
    targets = [shape_mask(outline(seed), stance) for stance in path]
    targets[hidden] = targets[hidden].copy()
    targets[hidden][:, int(path[hidden].x) :] = False
    for track in tracks.variants(targets, alone(targets), seed=seed, kinds=sorted(WINDOWED)):
        assert track.made >= 2, (track.name, track.reasons)
        for stressed_mask in stressed_of(track):
            low, high = WINDOWS[track.difficulty or "easy"]
            assert low <= (stressed_mask.truth.iou or 0.0) <= high


@pytest.mark.parametrize(
    ("targets", "others"),
    [
        ([square(0, 0, 9)], []),
        ([square(0, 0, 9)] * 2, [[], [square(0, 0, 9)]]),
        ([square(0, 0, 9)], [[square(0, 0, 9, shape=(50, 50))]]),
        ([square(0, 0, 9).astype(np.uint8)], [[]]),
    ],
)
def test_masks_that_do_not_fit_together_are_refused(targets: Any, others: Any) -> None:
    with pytest.raises(UsageError):
        list(tracks.variants(targets, others))


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match="kind"):
        list(tracks.variants([square(0, 0, 9)], [[]], kinds=["blur"]))


@pytest.mark.parametrize("kind", ["cutout", "dilate", "erode", "merge", "perfect"])
def test_hostile_parameters_are_refused(kind: str) -> None:
    target = tracks.target_of(square(80, 100, 60), [square(10, 10, 20)])
    (good,) = list(tracks.variants([target.mask], [list(target.others)], seed=1, kinds=[kind]))[:1]
    params = dict(stressed_of(good)[0].params)
    hostile: list[Any] = [{**params, "more": 1}, [], None, {"holes": 1}]
    hostile += [{**params, name: value} for name in params for value in (None, "x", float("nan"), -1, [1e9] * 9, {})]
    if "body" in params:
        hostile += [{**params, "body": [0.0] * 6}, {**params, "body": [1.0, 2.0]}]
    for value in hostile:
        with pytest.raises(InputError):
            tracks.render(kind, target, value)


def test_an_empty_target_cannot_be_rendered() -> None:
    with pytest.raises(UsageError, match="empty"):
        tracks.render("perfect", MaskTarget(mask=np.zeros((5, 5), bool)), {})


def test_the_rule_of_dropping() -> None:
    good: Outcome[StressedMask] = made_one()
    no, without_target = Undefined("splits"), Undefined("target_empty")
    assert kept([good, no, without_target, without_target]) == ((good, no, without_target, without_target), False)
    frames, is_dropped = kept([good, no, no, without_target])
    assert is_dropped
    assert [frame.reason for frame in frames if isinstance(frame, Undefined)] == [
        "track_dropped",
        "splits",
        "splits",
        "target_empty",
    ]
    assert kept([]) == ((), True)


def made_one() -> Scored[StressedMask]:
    (track,) = tracks.variants([square(80, 100, 60)], [[]], kinds=["perfect"])
    frame = track.frames[0]
    assert isinstance(frame, Scored)
    return frame
