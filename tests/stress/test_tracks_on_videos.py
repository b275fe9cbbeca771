"""Tracks on real objects that move: DAVIS 2016 and dogs-jump, three objects that hide one another."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from auscult.arrays import boxes
from auscult.media.masks import read_labels
from auscult.outcome import Scored
from auscult.stress import masks
from auscult.stress.masks import tracks
from auscult.stress.masks.base import WINDOWED, WINDOWS
from auscult.types import Mask, MaskTarget

CALM = {"blackswan": 0.03, "car-shadow": 0.05, "scooter-black": 0.06}
"""Sequences of near rigid objects, and how far the centre of what was changed may move in one frame, in box sides."""

LIVELY = {"camel": 0.15, "dog": 0.15, "goat": 0.15, "horsejump-high": 0.2}
"""Legs and necks move, and with them the box that is measured in."""


def davis(data: Path, name: str, most: int = 10) -> list[Mask]:
    folder = data / "video" / "davis2016" / name / "masks"
    return [read_labels(path).labels > 0 for path in sorted(folder.glob("*.png"))[:most]]


def dogs(data: Path, step: int) -> list[np.ndarray]:
    folder = data / "video" / "dogs-jump" / "masks"
    return [read_labels(path).labels for path in sorted(folder.glob("*.png"))[::step]]


def place(target: Mask, output: Mask) -> np.ndarray | None:
    """Where the changed pixels' centre lies in the target's box; nothing of the code under test is used for it."""
    box = boxes.box_of(target)
    rows, columns = np.nonzero(target ^ output)
    if box is None or rows.size == 0:
        return None
    across, down = (columns.mean() - box[0]) / (box[2] - box[0]), (rows.mean() - box[1]) / (box[3] - box[1])
    return np.array([across, down])


def steps(places: list[np.ndarray | None]) -> list[float]:
    return [
        float(np.hypot(*(after - before)))
        for before, after in itertools.pairwise(places)
        if before is not None and after is not None
    ]


@pytest.mark.parametrize("name", sorted(CALM | LIVELY))
def test_holes_and_sides_stay_in_place(data: Path, name: str) -> None:
    targets = davis(data, name)
    for track in tracks.variants(targets, [[] for _ in targets], seed=3, key=name, kinds=sorted(WINDOWED)):
        assert track.made == len(targets), (track.name, track.reasons)
        moves = steps(
            [
                place(target, frame.value.output) if isinstance(frame, Scored) else None
                for target, frame in zip(targets, track.frames, strict=True)
            ]
        )
        assert max(moves) < (CALM | LIVELY)[name], track.name


def test_masks_made_one_by_one_jump(data: Path) -> None:
    """The control: on the calmest sequence, holes drawn anew in each frame move tens of times as far."""
    targets = davis(data, "blackswan")
    alone = [masks.stress("cutout", MaskTarget(mask=target), key=str(i)) for i, target in enumerate(targets)]
    moves = steps(
        [
            place(target, outcome.value.output) if isinstance(outcome, Scored) else None
            for target, outcome in zip(targets, alone, strict=True)
        ]
    )
    assert np.median(moves) > CALM["blackswan"]


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_three_objects_that_hide_one_another(data: Path, step: int) -> None:
    labels = dogs(data, step)
    moves_by_kind: dict[str, list[float]] = defaultdict(list)
    reasons: Counter[str] = Counter()
    n_frames = 0
    for target_index in (1, 2, 3):
        targets = [label == target_index for label in labels]
        others = [[label == index for index in (1, 2, 3) if index != target_index] for label in labels]
        tracks_ = list(tracks.variants(targets, others, seed=3, key=str(target_index)))
        assert len(tracks_) == 11
        for track in tracks_:
            n_frames += len(track.frames)
            reasons += track.reasons
            outputs = [frame.value.output if isinstance(frame, Scored) else None for frame in track.frames]
            for target, row, output in zip(targets, others, outputs, strict=True):
                if output is not None and track.other is not None:
                    assert np.array_equal(output & ~target, row[track.other] & ~target)
            if track.kind in WINDOWED:
                low, high = WINDOWS[track.difficulty or "easy"]
                assert all(low <= (f.value.truth.iou or 0) <= high for f in track.frames if isinstance(f, Scored))
                moves_by_kind[track.kind] += steps(
                    [None if o is None else place(t, o) for t, o in zip(targets, outputs, strict=True)]
                )
            assert not track.dropped
    assert sum(reasons.values()) < 0.02 * n_frames
    if step == 1:
        assert {
            kind: round(float(np.median(values)), 3)
            for kind, values in moves_by_kind.items()
            if np.median(values) > 0.05
        } == {}


@pytest.mark.slow
def test_few_frames_of_davis_cannot_be_made(data: Path) -> None:
    n_frames, missing, n_dropped = 0, 0, 0
    for folder in sorted((data / "video" / "davis2016").iterdir()):
        if not (folder / "masks").is_dir():
            continue
        targets = davis(data, folder.name)
        for track in tracks.variants(targets, [[] for _ in targets], seed=1, key=folder.name, kinds=sorted(WINDOWED)):
            n_frames += len(track.frames)
            missing += len(track.frames) - track.made
            n_dropped += track.dropped
    assert n_frames == 600
    assert missing <= 0.05 * n_frames
    assert n_dropped <= 2
