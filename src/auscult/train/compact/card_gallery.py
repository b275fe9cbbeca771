"""The masks a judge was most wrong about: photograph, candidate, truth, where it saw errors, and what it said.

Pictures of real data stay with the person who has the data: the whole gallery is a file for them. What is committed
shows drawn scenes alone.
"""

from __future__ import annotations

import heapq
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final

import cv2
import numpy as np

from auscult.arrays.boxes import box_of, grown, union_box, window
from auscult.arrays.error_map import painted
from auscult.judge.cards.page import markdown
from auscult.media.frames import encode_jpeg
from auscult.report.overlay import overlay
from auscult.train.material import Sample
from auscult.types import Frame, Mask, Verdict

PANEL_PX: Final = 200
COLUMNS: Final = ("photo", "candidate", "truth", "errors it sees")

_TRUTH = (60, 190, 90)
_MISSING = np.array((40, 110, 235), dtype=np.float32)
_EXTRA = np.array((240, 120, 20), dtype=np.float32)
_GAP_PX = 4
_MARGIN = 0.3
_QUALITY = 82


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Failure:
    """A mask that was judged wrong.

    Attributes:
        set: The set it is of.
        sample: The mask and its truth; its other objects are not kept.
        verdict: What was said.
    """

    set: str
    sample: Sample
    verdict: Verdict

    @property
    def size(self) -> float:
        """How wrong the IoU is, 0..1; what was called by another name counts a little more."""
        off = abs((self.verdict.iou or 0.0) - self.sample.iou)
        return off + 0.05 * (self.sample.difficulty is not None and self.verdict.defect != self.sample.defect)

    def words(self) -> tuple[str, str]:
        """What is true, and what was said, in a few words."""
        sample, said = self.sample, self.verdict
        truth = " ".join(part for part in (sample.difficulty or "", sample.defect) if part)
        low, high = said.iou_low or 0.0, said.iou_high or 0.0
        return f"{truth}, IoU {sample.iou:.2f}", f"{said.defect}, IoU {said.iou or 0.0:.2f} [{low:.2f}, {high:.2f}]"


class Worst:
    """Keeps the worst failures as they come: an object once a type, and of one type no more than a quarter of all.

    Args:
        most: How many to keep.
        wanted: Which sets; all by default. Masks of another whole object are never kept: no picture tells them.
    """

    def __init__(self, most: int, wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._of_one_type = max(1, most // 4)
        self._most = most
        self._wanted = wanted
        self._kept: dict[str, dict[str, Failure]] = {}

    def __call__(self, name: str, sample: Sample, verdict: Verdict) -> None:
        """Take in a mask and what was said of it."""
        if sample.defect == "full_neg" or not self._wanted(name):
            return
        found = Failure(set=name, sample=replace(sample, others=()), verdict=verdict)
        like = self._kept.setdefault(sample.defect, {})
        if sample.name not in like or like[sample.name].size < found.size:
            like[sample.name] = found
        if len(like) > self._of_one_type:
            del like[min(like, key=lambda one: like[one].size)]

    def failures(self) -> list[Failure]:
        """The worst, worst first."""
        everything = (failure for like in self._kept.values() for failure in like.values())
        return heapq.nlargest(self._most, everything, key=lambda one: one.size)


def panels(failure: Failure) -> Frame:
    """Photo, candidate, truth and seen errors side by side, uint8 RGB."""
    sample = failure.sample
    truth = sample.mask if sample.truth is None else sample.truth
    rows, columns = window(_view(sample.mask, truth))
    photo = np.ascontiguousarray(sample.frame[rows, columns])
    scale = PANEL_PX / max(photo.shape[:2])
    size = max(1, round(photo.shape[1] * scale)), max(1, round(photo.shape[0] * scale))
    way = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    small = np.asarray(cv2.resize(photo, size, interpolation=way), dtype=np.uint8)
    shown = [
        small,
        overlay(small, _resized(sample.mask[rows, columns], size)),
        overlay(small, _resized(truth[rows, columns], size), colour=_TRUTH),
        _errors(failure, small, rows=rows, columns=columns),
    ]
    return np.concatenate([_squared(one) for one in shown], axis=1)


def sheet(failures: Sequence[Failure]) -> Frame:
    """A column of panels with their numbers, uint8 RGB."""
    lines = []
    for number, failure in enumerate(failures, start=1):
        line = panels(failure)
        for colour, thick in (((255, 255, 255), 3), ((20, 20, 20), 1)):
            cv2.putText(line, str(number), (6, 22), cv2.FONT_HERSHEY_SIMPLEX, 0.6, colour, thick, cv2.LINE_AA)
        lines.append(line)
    return np.concatenate(lines, axis=0)


def listed(failures: Sequence[Failure]) -> str:
    """The failures of a sheet as a Markdown table."""
    rows = [
        [str(number), failure.set, *failure.words(), failure.verdict.rationale.replace("|", "/")]
        for number, failure in enumerate(failures, start=1)
    ]
    return markdown(["", "set", "true", "said", "sentence"], rows)


def gallery(failures: Sequence[Failure], *, title: str) -> str:
    """The failures as one HTML file with its pictures in it.

    Args:
        failures: Worst first.
        title: The page's heading.
    """
    parts = [_HEAD.format(title=escape(title)), f"<p>{' | '.join(COLUMNS)}; missing blue, too much orange</p>"]
    for number, failure in enumerate(failures, start=1):
        picture = b64encode(encode_jpeg(panels(failure), quality=_QUALITY)).decode()
        truth, said = map(escape, failure.words())
        name = escape(f"{failure.set}: {failure.sample.name}")
        parts.append(
            f'<figure><img alt="{name}" src="data:image/jpeg;base64,{picture}"><figcaption><b>{number}</b> {name}<br>'
            f"true: {truth}<br>said: {said}<br><q>{escape(failure.verdict.rationale)}</q></figcaption></figure>"
        )
    return "\n".join([*parts, "</html>\n"])


_HEAD: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    "<style>body{{font:14px sans-serif;max-width:900px;margin:24px auto;padding:0 12px}}img{{max-width:100%}}"
    "figure{{margin:20px 0}}figcaption{{margin-top:6px}}</style><h1>{title}</h1>"
)


def _view(mask: Mask, truth: Mask) -> tuple[int, int, int, int]:
    box = union_box(box_of(mask), box_of(truth)) or (0, 0, mask.shape[1], mask.shape[0])
    margin = round(_MARGIN * max(box[2] - box[0], box[3] - box[1])) + 4
    return grown(box, margin, (mask.shape[0], mask.shape[1]))


def _resized(mask: Mask, size: tuple[int, int]) -> Mask:
    return np.asarray(cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0)


def _errors(failure: Failure, small: Frame, *, rows: slice, columns: slice) -> Frame:
    """The photo in grey, with what is seen as missing in blue and as too much in orange."""
    grey = np.repeat(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)[:, :, None], 3, axis=2).astype(np.float32)
    found = failure.verdict.error_map
    if found is None:
        return grey.astype(np.uint8)
    height, width = failure.sample.mask.shape
    signed = painted(found, (height, width))[rows, columns]
    values = cv2.resize(signed, (small.shape[1], small.shape[0]), interpolation=cv2.INTER_LINEAR)[:, :, None]
    strength = np.abs(values)
    colour = np.where(values > 0, _MISSING, _EXTRA)
    return np.asarray(grey * (1 - strength) + colour * strength).astype(np.uint8)


def _squared(picture: Frame) -> Frame:
    """A panel on white, as wide as all, with a gap to the next."""
    found = np.full((picture.shape[0] + _GAP_PX, PANEL_PX + _GAP_PX, 3), 255, dtype=np.uint8)
    found[: picture.shape[0], : picture.shape[1]] = picture
    return found
