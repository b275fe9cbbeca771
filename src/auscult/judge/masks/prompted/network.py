"""The networks as functions of arrays: `member*.onnx` run by ONNX Runtime on one core.

Beside them stands a small one for the type of defect alone, `defect_classifier.onnx`: from cues measured along the
outline, those of `masks.compact.v1`, it knows rims and cutouts better than a look at 256 px can.

A stronger segmenter in the networks' place: what it draws when it is prompted with the candidate.

The heads of `masks.prompted.v1` compare the candidate with an answer mask. That answer may come from another promptable
segmenter, such as SAM with weights of the user: the candidate's box and points inside it are the prompt, what comes
back is brought to each network's crop as logits, and the rest is as ever. Estimates from such answers were not
calibrated with that segmenter; `auscult train prompted-mask` with masks of one's own does that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

import cv2
import numpy as np

from auscult.errors import RecordError, UsageError
from auscult.judge.masks.compact.view import CUE_COUNT, coverage
from auscult.judge.masks.prompted.view import SHAPE, Lens, View
from auscult.judge.masks.shared import softmax
from auscult.nets.onnx_session import check_outputs, open_session, read_network
from auscult.record.codec import from_json, load
from auscult.types import Box, Case, Doubles, Floats, Frame, Mask

FOLDER: Final = Path(__file__).parent
MOST_BYTES: Final = 16_000_000
BINS: Final = 25
TYPES: Final = ("perfect", "cutout", "dilate", "erode", "merge", "arbitrary")
FEATURES: Final = 64
LENSES: Final = "lens"
"""Key of the file's own description: how the network looks, as JSON."""
CLASSIFIER_FILE: Final = "defect_classifier.onnx"
_LEAST: Final = 1e-6

_HINT: Final = "install auscult again; new files come from `auscult train prompted-mask`"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Member:
    """One loaded network."""

    path: Path  # the file it came from
    lens: Lens  # how it looks at a candidate
    digest: str  # SHA-256 of the file, in hex
    session: Any = field(repr=False)  # the session of ONNX Runtime

    def __call__(self, inputs: Mapping[str, Floats], given: Floats | None = None) -> dict[str, Floats]:
        """Run a batch of ``view.inputs``.

        Gives logits ``answer`` (n, 1, grid, grid), ``ious`` (n, 25), ``types`` (n, 6); ``features`` (n, 64). ``given``
        is another segmenter's answer as logits, (n, 1, grid, grid), which then counts instead of the network's own.
        """
        count, grid = len(inputs["shape"]), self.lens.grid
        other = np.zeros((count, 1, grid, grid), np.float32) if given is None else given
        counts = np.full((count, 1, 1, 1), 0.0 if given is None else 1.0, np.float32)
        shapes = {"answer": (1, grid, grid), "ious": (BINS,), "types": (len(TYPES),), "features": (FEATURES,)}
        arrays = self.session.run(list(shapes), {**inputs, "given": other, "counts": counts})
        outputs = dict(zip(shapes, arrays, strict=True))
        check_outputs(outputs, shapes, count=count, hint=_HINT, path=self.path)
        return outputs


def load_member(path: Path, digest: str | None = None) -> Member:
    """Open a network of SHA-256 ``digest``, in hex, None for any; once per process where the file has not changed.

    A UsageError where it is missing, too large, broken, another one, or has other inputs.
    """
    return _member(path, digest, _written(path))


@lru_cache(maxsize=16)
def _member(path: Path, digest: str | None, _changed: tuple[int, int]) -> Member:
    opened_digest, session = _opened(path, digest)
    return Member(path=path, lens=_lens(session, path), digest=opened_digest, session=session)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classifier:
    """The network that classifies the type of defect."""

    path: Path  # the file it came from
    digest: str  # SHA-256 of the file, in hex
    session: Any = field(repr=False)  # the session of ONNX Runtime

    def __call__(self, cues: Floats, shape: Floats) -> Doubles:
        """Log shares of the six ``TYPES``, (n, 6), from cues, float32 (n, 169), and ``view.shape_of``, (n, 10)."""
        (shares,) = self.session.run(["types"], {"cues": cues, "shape": shape})
        check_outputs({"types": shares}, {"types": (len(TYPES),)}, count=len(cues), hint=_HINT, path=self.path)
        return np.log(softmax(shares) + _LEAST)


def load_classifier(path: Path, digest: str | None = None) -> Classifier:
    """Open the defect classifier; arguments and errors as of ``load_member``."""
    return _classifier(path, digest, _written(path))


@lru_cache(maxsize=16)
def _classifier(path: Path, digest: str | None, _changed: tuple[int, int]) -> Classifier:
    opened_digest, session = _opened(path, digest)
    inputs = {tensor.name: tuple(tensor.shape[1:]) for tensor in session.get_inputs()}
    expected = {"cues": (CUE_COUNT,), "shape": (SHAPE,)}
    if inputs != expected:
        raise UsageError(f"the network's inputs are {inputs}", expected=f"{expected}", hint=_HINT, path=path)
    return Classifier(path=path, digest=opened_digest, session=session)


def _written(path: Path) -> tuple[int, int]:
    """When a file was written and its size: a cached network is that of the file as it is now."""
    status = path.stat() if path.is_file() else None
    return (status.st_mtime_ns, status.st_size) if status else (0, 0)


def _opened(path: Path, digest: str | None) -> tuple[str, Any]:
    """Hash and session of a file."""
    content = read_network(path, most_bytes=MOST_BYTES)
    actual = hashlib.sha256(content).hexdigest()
    if digest is not None and actual != digest:
        raise UsageError(
            f"these are weights {actual[:12]}, the calibration is for {digest[:12]}",
            expected="weights and calibration of one run of `auscult train prompted-mask`",
            hint=_HINT,
            path=path,
        )
    return actual, open_session(content, path, in_eight_bits=True)


def _lens(session: Any, path: Path) -> Lens:
    try:
        lens = from_json(Lens, load(session.get_modelmeta().custom_metadata_map[LENSES].encode()))
    except (KeyError, ValueError, RecordError) as error:
        raise UsageError("the network does not say how it looks at a mask", hint=_HINT, path=path) from error
    grid = lens.grid
    expected = {
        "crop": (3, lens.side, lens.side),
        "candidate": (1, grid, grid),
        "strip": (6, 24, 256),
        "shape": (SHAPE,),
        "given": (1, grid, grid),
        "counts": (1, 1, 1),
    }
    inputs = {tensor.name: tuple(tensor.shape[1:]) for tensor in session.get_inputs()}
    if inputs != expected or not 32 <= lens.side <= 1024 or not 1.0 <= lens.margin <= 8.0:
        raise UsageError(f"the network's inputs are {inputs}", expected=f"{expected}", hint=_HINT, path=path)
    return lens


def run(
    members: Sequence[Member], inputs: Sequence[Mapping[str, Floats]], answers: Sequence[Floats] | None = None
) -> list[dict[str, Floats]]:
    """Run each member on its own inputs, and on another segmenter's answers if given."""
    others: Sequence[Floats | None] = answers or [None] * len(members)
    return [member(batch, answer) for member, batch, answer in zip(members, inputs, others, strict=True)]


SURE: Final = 4.0
"""Logit of a cell that another segmenter's mask fills."""
_POINTS: Final = 3


class Segmenter(Protocol):
    """Draws a mask when it is shown a frame, a box and points."""

    name: str

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        """Segment what a box, xyxy, and points (x, y) inside it, in pixels of a frame, uint8 RGB, hold: bool (H, W)."""
        ...


class Evidence:
    """Another segmenter's answers to the candidates' prompts, on the crops of the networks.

    Args:
        segmenter: What draws.
    """

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    def answers(self, cases: Sequence[Case], masks: Sequence[Mask], views: Sequence[Sequence[View]]) -> list[Floats]:
        """Answers for each network, as logits (n, 1, grid, grid).

        Args:
            cases: The frames.
            masks: The candidates, none empty.
            views: For each network its views of the candidates.
        """
        drawn = [self._segmenter(case.frame, *prompt_of(mask)) for case, mask in zip(cases, masks, strict=True)]
        return [
            np.stack([logits_of(mask, view.box, len(view.candidate)) for mask, view in zip(drawn, batch, strict=True)])
            for batch in views
        ]


class SamSegmenter:
    """SAM, SAM 2 or SAM 3 with a user's weights: a candidate's box to the mask of what it holds.

    They are a folder, or a name in the hub's cache. A UsageError where the extra ``hf`` is missing, or the folder
    cannot be used.
    """

    name = "hf.sam"

    def __init__(self, weights: str) -> None:
        from auscult.nets.hf_folder import folder_of
        from auscult.nets.hf_segmenters import load_sam

        self._net = load_sam(folder_of(weights))

    def __call__(self, frame: Frame, box: Box, points: Sequence[tuple[int, int]]) -> Mask:
        """Segment by the box alone; the points are not used."""
        del points
        x0, y0, x1, y1 = box
        masks = self._net.masks(frame[None], [(float(x0), float(y0), float(x1), float(y1))])
        return np.asarray(masks[0], dtype=np.bool_)


def load_evidence(name: str) -> Evidence:
    """The evidence that ``--evidence hf:NAME`` names: weights of SAM, SAM 2 or SAM 3, a folder or in the hub's cache.

    A UsageError where it is named otherwise, the extra ``hf`` is missing, or the weights cannot be used.
    """
    kind, _, weights = name.partition(":")
    if kind != "hf" or not weights:
        raise UsageError(
            f"there is no evidence {name[:80]!r}",
            expected="hf:NAME, a folder of SAM, SAM 2 or SAM 3 weights or their name in the hub's cache",
        )
    return Evidence(SamSegmenter(weights))


def prompt_of(mask: Mask) -> tuple[Box, list[tuple[int, int]]]:
    """A candidate's box, and up to three points deep inside it and far from one another."""
    x, y, width, height = cv2.boundingRect(mask.view(np.uint8))
    depth = cv2.distanceTransform(np.pad(mask.view(np.uint8), 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    points: list[tuple[int, int]] = []
    left = np.array(depth)
    for _ in range(_POINTS):
        row, column = np.unravel_index(int(left.argmax()), left.shape)
        if left[row, column] <= 0:
            break
        points.append((int(column), int(row)))
        cv2.circle(left, (int(column), int(row)), max(int(2 * depth[row, column]), 2), (0.0,), -1)
    return (x, y, x + width, y + height), points


def logits_of(mask: Mask, box: Box, grid: int) -> Floats:
    """A mask over a crop as logits, (1, grid, grid): 4 where a cell is filled, -4 where it is empty."""
    share = coverage(mask, box, grid).astype(np.float32) / np.float32(255)
    return ((share * 2 - 1) * np.float32(SURE))[None]
