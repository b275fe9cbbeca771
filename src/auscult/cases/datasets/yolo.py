"""YOLO-seg text files: ``labels/x.txt`` of ``images/x.jpg``, one mask a line, as Ultralytics trains on and predicts.

A line is ``class x1 y1 x2 y2 ...`` in shares of the picture's width and height; a last number beyond the pairs is the
model's confidence, which becomes its own score of the mask. Names of the classes are read from ``data.yaml``,
``dataset.yaml`` or ``classes.txt`` where one stands in INPUT. A box is no mask: its line is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from auscult.cases.ids import shown
from auscult.cases.problems import Problems
from auscult.cases.sidecar import HEAD_BYTES, Region, SidecarFile, SidecarLayout, SidecarReader
from auscult.errors import InputError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Metadata

_NAMES = ("data.yaml", "dataset.yaml", "classes.txt")
_LIMITS = Limits(max_bytes=1 << 20)
_BOX, _BOX_AND_SCORE = 5, 6
_OUTSIDE = 0.05
"""How far a corner may lie outside the picture, as a share of its side: augmented labels do, by a little."""
_DIGITS = 6
"""Digits of a pixel that are kept: a share of the width is seldom exact, and a half pixel may be rounded either way."""
_EXPECTED = "class x1 y1 x2 y2 x3 y3 ..., in shares of width and height, 0 to 1"


class YoloDataset(SidecarLayout):
    """Polygons in text files, one a line."""

    name = "datasets.yolo.v1"
    meta = Metadata(
        summary="YOLO-seg: labels/x.txt of images/x.jpg, or x.txt beside x.jpg; confidences are the model's own score",
        goal="lists what YOLO models train on and predict",
        modality="mask",
        source="Ultralytics YOLO segmentation format",
    )
    described_as = "a folder of YOLO-seg text files"
    ending = ".txt"

    def begins(self, head: bytes) -> bool:
        """Whether the first line is a class and the numbers of a box or more."""
        line, newline, _ = head.lstrip().partition(b"\n")
        words = line.split()
        words = words if newline or len(head) < HEAD_BYTES else words[:-1]  # the last one may be cut
        try:
            return len(words) >= _BOX and words[0].isdigit() and all(math.isfinite(float(word)) for word in words)
        except ValueError:
            return False

    def reader(self, source: Path) -> SidecarReader:
        """Knows the names of the classes."""
        return _YoloReader(_class_names(source))


class _YoloReader(SidecarReader):
    def __init__(self, names: Mapping[int, str]) -> None:
        super().__init__()
        self._names = names

    def regions(self, file: SidecarFile, problems: Problems) -> Iterator[Region]:
        data = file.read() if file.path.stat().st_size else b""  # a picture of nothing
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
            if not line.strip():
                continue
            with problems.skipping(file.path, line=number):
                yield self._region(line, number, size=file.size)

    def _region(self, line: str, number: int, *, size: tuple[int, int]) -> Region:
        try:
            values = [float(word) for word in line.split()]
        except ValueError as error:
            raise InputError(f"the line is {shown(line)}", expected=_EXPECTED, hint="correct or drop it") from error
        if len(values) in {_BOX, _BOX_AND_SCORE}:
            raise InputError("the line is a box", expected=_EXPECTED, hint="a box is no mask; export segmentations")
        whole = values[0] if values and math.isfinite(values[0]) and values[0] == int(values[0]) else -1
        if len(values) < _BOX or whole < 0 or not all(map(math.isfinite, values[:-1])):
            raise InputError(f"the line is {shown(line)}", expected=_EXPECTED, hint="correct or drop it")
        score = values.pop() if len(values) % 2 == 0 else None
        corners = values[1:]
        if not all(-_OUTSIDE <= value <= 1 + _OUTSIDE for value in corners):
            hint = "are they pixels? divide x by the width and y by the height"
            raise InputError("a corner lies outside the picture", expected=_EXPECTED, hint=hint)
        height, width = size
        polygon = [round(value * (height if place % 2 else width), _DIGITS) for place, value in enumerate(corners)]
        extra: dict[str, Any] = {"class": int(whole)}
        if int(whole) in self._names:
            extra["category"] = self._names[int(whole)]
        known = score is not None and math.isfinite(score)
        return Region(number=number, segmentation=[polygon], score=score if known else None, extra=extra, line=number)


def _class_names(source: Path) -> dict[int, str]:
    """The names of the classes, where a file says them."""
    for name in _NAMES:
        path = source / name
        with suppress(InputError):
            text = read_bytes(path, limits=_LIMITS).decode("utf-8", "replace")
            return dict(enumerate(text.split("\n"))) if path.suffix == ".txt" else _names_of_yaml(text)
    return {}


def _names_of_yaml(text: str) -> dict[int, str]:
    """What stands under ``names:``: a list or numbered names, in either of YAML's two styles."""
    found = re.search(
        r"^names:[ \t]*(?:#.*)?(\[[^\]]*\]|\{[^}]*\}|(?:\n[ \t]*(?:-|[0-9]+:)[^\n]*)+)", text, re.MULTILINE
    )
    block = found[1] if found else ""
    entries = block[1:-1].split(",") if block[:1] in {"[", "{"} else block.strip().split("\n")
    names: dict[int, str] = {}
    for place, entry in enumerate(entries):
        numbered = re.match(r"\s*([0-9]+)\s*:(.*)", entry)
        word = numbered[2] if numbered else entry.strip().removeprefix("-")
        names[int(numbered[1]) if numbered else place] = word.split(" #")[0].strip().strip("'\"")
    return {index: name for index, name in names.items() if name}


DATASET = YoloDataset()
