"""Pictures of the best and the worst cases of each type: the candidate tinted, the true outline drawn in white."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np

from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.errors import AuscultError
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.record.folder import RunFolder
from auscult.report.facts import ACTION_WORDS, number
from auscult.report.overlay import overlay
from auscult.report.suite import Example
from auscult.suites.mqa.rows import Answer, Answers, Candidate
from auscult.types import DEFECTS, Frame, Item, Mask

LONGEST_PX = 420
_LEAST_MARGIN_PX = 24
_HALO, _OUTLINE = (12, 12, 12), (255, 255, 255)

DASH = "–"

Pick: TypeAlias = tuple[str, Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where the pictures come from.

    Attributes:
        items: Item id to item.
        judges: Row to answers, for the words under a picture; baselines left out.
    """

    items: Mapping[str, Item]
    judges: Mapping[str, Answers]


def picks(candidates: Sequence[Candidate], answers: Answers) -> list[Pick]:
    """The best and the worst case of each type, by a judge's error of the IoU.

    Where several are equally good the wrong type counts as worse, then the id decides.

    Args:
        candidates: What is evaluated.
        answers: The judge's.

    Returns:
        (title, candidate), in the paper's order of types; none of a type that nobody answered.
    """
    found: list[Pick] = []
    for defect in DEFECTS:
        scored = sorted(
            (
                (abs(answers[one.id].iou - one.iou), answers[one.id].defect != defect, one.id, one)  # type: ignore[operator]
                for one in candidates
                if one.defect == defect and _has_both(one, answers)
            ),
            key=lambda row: row[:3],
        )
        if scored:
            found.append((f"{defect}: best case", scored[0][-1]))
        if len(scored) > 1:
            found.append((f"{defect}: worst case", scored[-1][-1]))
    return found


def draw_examples(run: RunFolder, chosen: Sequence[Pick], shown: Shown) -> list[Example]:
    """Draw what was picked and keep it in the record; one whose files cannot be read is left out.

    Args:
        run: The record.
        chosen: From ``picks``.
        shown: Items and answers.
    """
    examples = []
    for title, one in chosen:
        item = shown.items[one.id]
        name = f"pictures/{safe_name(one.id)}.jpg"
        try:
            jpeg = _drawn(item)
        except AuscultError:
            continue
        run.write_bytes(name, jpeg)
        examples.append(
            Example(
                title=title,
                jpeg=jpeg,
                text=item.query.text or "",
                id=one.id,
                facts=tuple(_facts(one, shown.judges)),
                file=name,
            )
        )
    return examples


def outlined(frame: Frame, mask: Mask, truth: Mask | None) -> Frame:
    """A candidate's tint and the true outline on a frame, at most ``LONGEST_PX`` on the longer side.

    Args:
        frame: uint8 RGB (H, W, 3); not changed.
        mask: The candidate, bool (H, W).
        truth: The true mask, bool (H, W); None for none.
    """
    frame, mask, truth = _view(frame, mask, truth)
    scale = min(1.0, LONGEST_PX / max(mask.shape))
    size = max(1, round(mask.shape[1] * scale)), max(1, round(mask.shape[0] * scale))
    small = np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), np.uint8)
    drawn = overlay(small, _resized(mask, size), outline=False)
    if truth is None or not truth.any():
        return drawn
    outlines, _ = cv2.findContours(_resized(truth, size).astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    canvas = np.ascontiguousarray(drawn)
    cv2.drawContours(canvas, outlines, -1, _HALO, 3, cv2.LINE_AA)
    cv2.drawContours(canvas, outlines, -1, _OUTLINE, 1, cv2.LINE_AA)
    return canvas


def _drawn(item: Item) -> bytes:
    frame = read_frame(item.frame)
    size = (frame.shape[0], frame.shape[1])
    truth = None if item.truth is None or item.truth.mask is None else read_mask(item.truth.mask, size=size).mask
    return encode_jpeg(outlined(frame, read_mask(item.mask, size=size).mask, truth), quality=80)


def _view(frame: Frame, mask: Mask, truth: Mask | None) -> tuple[Frame, Mask, Mask | None]:
    """The part of the frame around candidate and truth, with as much again around it."""
    shown = union_box(box_of(mask), None if truth is None else box_of(truth))
    if shown is None:
        return frame, mask, truth
    margin = max(_LEAST_MARGIN_PX, round(0.5 * max(shown[2] - shown[0], shown[3] - shown[1])))
    rows, columns = window(grown(shown, margin, mask.shape))
    return frame[rows, columns], mask[rows, columns], None if truth is None else truth[rows, columns]


def _resized(mask: Mask, size: tuple[int, int]) -> Mask:
    small: Mask = np.asarray(cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST)) > 0
    return small


def _has_both(one: Candidate, answers: Answers) -> bool:
    return one.iou is not None and one.id in answers and answers[one.id].iou is not None


def _facts(one: Candidate, judges: Mapping[str, Answers]) -> list[tuple[str, str]]:
    grade = f", {one.difficulty}" if one.difficulty else ""
    action = ACTION_WORDS.get(one.action or "", DASH)
    facts = [("truth", f"IoU {number(one.iou)}, {one.defect}{grade}, {action}")]
    return facts + [(judge, _said(answers.get(one.id))) for judge, answers in judges.items()]


def _said(answer: Answer | None) -> str:
    if answer is None:
        return "failed"
    return f"IoU {number(answer.iou)}, {answer.defect or DASH}, {ACTION_WORDS.get(answer.action or '', DASH)}"
