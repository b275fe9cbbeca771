"""Scores of stored answers against a plain computation, and which frames they count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from r2_material import SIZE, block, model_file, picture, rows, run_r2, scores, spoken

from auscult.media.frames import write_frame
from auscult.media.masks import write_labels
from auscult.outcome import Scored, Undefined
from auscult.suites.r2.cases import task_rules
from auscult.suites.r2.scoring import scores_of

Clip = NDArray[np.bool_]


def iou(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    either = int((mask | other).sum())
    return 1.0 if either == 0 else int((mask & other).sum()) / either


def edge(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pixels whose neighbour to the right, below or diagonally so is of the other kind, as DAVIS draws contours."""
    right = np.pad(mask, ((0, 0), (0, 1)), mode="edge")[:, 1:]
    below = np.pad(mask, ((0, 1), (0, 0)), mode="edge")[1:, :]
    beyond = np.pad(mask, ((0, 1), (0, 1)), mode="edge")[1:, 1:]
    return (mask != right) | (mask != below) | (mask != beyond)


def near_edges(edges: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    rows_, columns = np.nonzero(edges)
    near_mask = np.zeros_like(edges)
    for row in range(edges.shape[0]):
        for column in range(edges.shape[1]):
            near_mask[row, column] = bool(((rows_ - row) ** 2 + (columns - column) ** 2 <= radius**2).any())
    return near_mask


def contour_f(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    radius = int(np.ceil(0.008 * np.hypot(*mask.shape)))
    first, second = edge(mask), edge(other)
    if not first.any() or not second.any():
        return float(first.any() == second.any())
    precision = (first & near_edges(second, radius)).sum() / first.sum()
    recall = (second & near_edges(first, radius)).sum() / second.sum()
    return 0.0 if precision + recall == 0 else float(2 * precision * recall / (precision + recall))


def region_f(mask: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    hit = int((mask & other).sum())
    precision, recall = hit / max(1, int(mask.sum())), hit / max(1, int(other.sum()))
    return 0.0 if hit == 0 else 1.3 * precision * recall / (0.3 * precision + recall)


def value(outcome: Any) -> float:
    assert isinstance(outcome, Scored)
    return float(outcome.value)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Clip, Clip]:
    """Two clips of three frames, each frame a box, or nothing."""

    def boxes() -> Clip:
        masks = np.zeros((3, 12, 16), bool)
        for frame in masks:
            if draw(st.booleans()):
                top, left_px = draw(st.integers(0, 8)), draw(st.integers(0, 10))
                frame[top : top + draw(st.integers(1, 9)), left_px : left_px + draw(st.integers(1, 9))] = True
        return masks

    return boxes(), boxes()


@settings(max_examples=40, deadline=None)
@given(pairs())
def test_every_metric_is_the_plain_one(masks: tuple[Clip, Clip]) -> None:
    prediction, truth = masks
    mask_pairs = list(zip(prediction, truth, strict=True))
    for task in ("vos", "rvos"):
        outcome_of = scores_of(task_rules(task), prediction, truth)
        assert value(outcome_of["J"]) == pytest.approx(np.mean([iou(*pair) for pair in mask_pairs]))
        assert value(outcome_of["F"]) == pytest.approx(np.mean([contour_f(*pair) for pair in mask_pairs]))
    photograph = scores_of(task_rules("ris"), prediction[:1], truth[:1])
    assert set(photograph) == {"IoU"}
    assert value(photograph["IoU"]) == pytest.approx(iou(prediction[0], truth[0]))
    sounds = scores_of(task_rules("avs"), prediction, truth)
    plain = [iou(*pair) if pair[1].any() else 1 - pair[0].mean() for pair in mask_pairs]
    assert value(sounds["J"]) == pytest.approx(np.mean(plain), abs=1e-6)
    assert value(sounds["F_contour"]) == pytest.approx(np.mean([contour_f(*pair) for pair in mask_pairs]))
    if truth.any():
        region_values = [region_f(*pair) for pair in mask_pairs if pair[1].any()]
        assert value(sounds["F_region"]) == pytest.approx(np.mean(region_values), abs=1e-6)
    else:
        assert isinstance(sounds["F_region"], Undefined)


@pytest.mark.parametrize("threshold", [None, 0.5], ids=["masks", "soft"])
@pytest.mark.parametrize("task", ["ris", "vos", "rvos", "avs"])
def test_signatures_tell_how(task: str, threshold: float | None) -> None:
    mask = block(0)[None]
    outcome_of = scores_of(task_rules(task), mask, mask, frames="davis2017", threshold=threshold)
    assert tuple(outcome_of) == task_rules(task).metrics
    for outcome in outcome_of.values():
        assert isinstance(outcome, Scored)
        fields = dict(outcome.signature.fields)
        assert (fields["task"], fields["frames"], fields["resize"]) == (task, "davis2017", "none")
        assert ("0.5" in fields.get("threshold", "")) == (threshold is not None)
    assert len({str(outcome_.signature) for outcome_ in outcome_of.values() if isinstance(outcome_, Scored)}) == len(
        outcome_of
    )


def test_first_and_last_frame_do_not_count_in_davis(tmp_path: Path) -> None:
    """A model that answers the first two frames of five only, and one whose first frame is wrong."""
    for place in range(5):
        write_frame(tmp_path / f"d/one/frames/{place:05d}.png", picture(block(place)))
        write_labels(tmp_path / f"d/one/masks/{place:05d}.png", block(place).astype(np.uint8))
    file = model_file(tmp_path)
    suite_run = run_r2(tmp_path / "d", tmp_path / "o", "vos", f"{file}:one_frame_only", mixes=())
    assert scores(suite_run.out, "J", model="mine.one_frame_only") == {"one#1": pytest.approx(1 / 3)}
    row = next(row for row in rows(suite_run.out, "scores.jsonl") if row["model"] == "mine.one_frame_only")
    assert (row["both_px"], row["either_px"]) == (block(1).sum(), 3 * block(1).sum())
    suite_run = run_r2(spoken(tmp_path / "s", count=1), tmp_path / "o2", "rvos", f"{file}:one_frame_only", mixes=())
    assert scores(suite_run.out, "J", model="mine.one_frame_only") == {"v0": pytest.approx(2 / 4)}


def test_youtube_counts_all_but_the_first_annotated(tmp_path: Path) -> None:
    """Every other frame has no truth: the model sees it, the score does not."""
    root = tmp_path / "valid"
    stems = [f"{5 * place:05d}" for place in range(6)]
    for place, stem in enumerate(stems):
        write_frame(root / f"JPEGImages/v/{stem}.jpg", picture(block(place)), quality=100)
        if place in {0, 2, 4, 5}:
            write_labels(root / f"Annotations/v/{stem}.png", block(place).astype(np.uint8))
    content = {"videos": {"v": {"objects": {"1": {"category": "block", "frames": stems}}}}}
    (root / "meta.json").write_text(json.dumps(content))
    file = model_file(tmp_path)
    suite_run = run_r2(root, tmp_path / "o", "vos", f"{file}:one_frame_only", mixes=())
    assert rows(suite_run.out, "cases.jsonl")[0]["frames"] == 6
    score = next(row for row in rows(suite_run.out, "scores.jsonl") if row["model"] == "mine.one_frame_only")
    assert score["signature"]["frames"] == "after the first"
    assert score["value"] == pytest.approx(0.0)  # of frames 2, 4 and 5, none was answered
    assert score["either_px"] == 3 * block(0).sum()


def test_a_sentence_that_matches_nothing(tmp_path: Path) -> None:
    """It is asked like any other: an answer where nothing is meant costs the score, an empty one does not."""
    data = tmp_path / "d"
    write_frame(data / "p.png", picture(block(0)))
    write_frame(data / "m.png", np.zeros((*SIZE, 3), np.uint8))
    line = {"id": "p", "frame": "p.png", "mask": "m.png", "text": "the green bicycle"}
    (data / "items.jsonl").write_text(json.dumps(line) + "\n")
    file = model_file(tmp_path)
    suite_run = run_r2(data, tmp_path / "o", "ris", f"{file}:colour", f"{file}:nothing", mixes=())
    assert scores(suite_run.out, "IoU", model="mine.colour") == {"p": 0.0}
    assert scores(suite_run.out, "IoU", model="mine.nothing") == {"p": 1.0}
