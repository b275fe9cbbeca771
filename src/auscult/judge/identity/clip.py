"""``identity.clip.v1``: the candidate and the frame's other regions, each compared with the expression by CLIP.

Each region is shown twice, cut out with a margin: as it is, and with what surrounds it grey and blurred. Its vector is
the mean of the two. ``match`` is the candidate's share of a softmax over all regions, of the cosine with the expression
times the model's own scale; what is left of the frame without the candidate is always one of the regions. Choosing
among regions by CLIP's score of their crops is the baseline of ReCLIP (Subramanian et al. 2022).

A crop does not show where in the frame it comes from, so places and relations between things weigh little here. Words
that speak of sound and name no kind of thing are not answered. Nothing is calibrated: ``match`` is a softmax, no
measured probability.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_of
from auscult.errors import UsageError
from auscult.judge.identity.nouns import NOUNS
from auscult.judge.identity.phrases import asked_for, photo_of, prompts
from auscult.judge.identity.regions import coloured_regions, rivals
from auscult.nets.clip import Clip, ClipFolder, Vectors, check_folder, load_clip
from auscult.nets.clip_config import WEIGHTS
from auscult.types import Case, Existence, Frame, Identity, Mask, Metadata, Prediction

VARIABLE: Final = "AUSCULT_CLIP"
MOST_RIVALS: Final = 8
NOTHING: Final = ("a photo of nothing", "a photo of an empty background", "a photo of some other thing")
YES: Final = 0.75
"""Share against the sentences of ``NOTHING`` from which on some region is held for the object asked for."""
NO: Final = 0.05
"""Share below which in every region the object counts as absent. Both are chosen, not measured."""

_MARGIN: Final = 0.15  # of the box's longer side
_GREY: Final = 127
_BLUR: Final = 0.04  # of the crop's side
_MOST_PX: Final = (
    672  # of a view's side: twice what the largest released models see; a blur's cost grows with its square
)
_DOUBT: Final = 0.5


class ClipIdentity:
    """CLIP as an identity check; its weights are loaded at the first candidate and kept by this object alone.

    Args:
        folder: The folder of weights, looked at already; None for none yet.
        temperature: What scores are divided by before the softmax; above 1 it is less sure.
    """

    name = "identity.clip.v1"
    meta = Metadata(
        summary="CLIP's scores of the masked region and of the frame's other regions for the expression; own weights",
        goal="a mask on another object than the one that was asked for",
        modality="image",
        source="Radford et al. 2021; crops scored by CLIP as in ReCLIP's baseline, Subramanian et al. 2022",
        truth="none",
    )

    def __init__(self, folder: ClipFolder | None = None, *, temperature: float = 1.0) -> None:
        self._folder = folder
        self._temperature = temperature
        self._loaded: _Loaded | None = None

    @property
    def folder(self) -> Path | None:
        """The folder of weights."""
        return None if self._folder is None else self._folder.path

    def using(self, folder: Path | None) -> ClipIdentity:
        """The check with the weights of a folder; None for the one that ``AUSCULT_CLIP`` names.

        Raises:
            UsageError: There is no such folder, a file is missing, or the extra `clip` is not installed.
        """
        named = os.environ.get(VARIABLE)
        if folder is None and not named:
            raise UsageError(
                f"{self.name} brings no weights",
                expected="a folder with config.json, model.safetensors and the tokenizer of a CLIP model",
                hint=f"give it with --identity-weights DIR, or set {VARIABLE}",
            )
        return ClipIdentity(check_folder(folder or Path(named or "")), temperature=self._temperature)

    def ready(self) -> None:
        """Load the model, which takes seconds.

        Raises:
            UsageError: There are no weights, they are damaged, or they hold what is no number.
        """
        self._model()

    def __call__(self, case: Case, prediction: Prediction) -> Identity | None:
        """Compare one candidate.

        Returns:
            What was found; None without an expression that can be seen, and for a mask of nothing or of all.

        Raises:
            UsageError: There are no weights, they cannot be loaded, or they give what is no number.
        """
        text = case.query.text or ""
        asked = asked_for(text)
        if asked is None or (asked.heard and asked.noun is None):
            return None
        if not prediction.mask.any() or prediction.mask.all():
            return None
        model = self._model()
        regions = _regions(case, prediction.mask, coloured=model.coloured)
        seen = model.regions(case.frame, regions)
        scale = model.clip.scale / self._temperature
        scores = (seen @ model.clip.sentences(prompts(text)).T).mean(axis=1) * scale
        if not np.isfinite(scores).all():
            raise UsageError(f"{self.name} gives scores that are no numbers", path=model.clip.folder.path / WEIGHTS)
        match = float(_softmax(scores)[0])
        exists = _existence(scores, seen @ model.nothing.T * scale)
        instead = model.noun_of(seen[0]) if match < _DOUBT else None
        return Identity(
            match=match,
            exists=exists,
            target=asked.phrase,
            distractor=None if instead == asked.noun else instead,
            note=_note(scores, match),
        )

    def _model(self) -> _Loaded:
        if self._folder is None:
            raise UsageError(f"{self.name} has no weights", hint="give them with using(folder)")
        if self._loaded is None:
            clip = load_clip(self._folder)
            self._loaded = _Loaded(clip, clip.sentences(NOTHING))
        return self._loaded


@dataclass(slots=True, eq=False)
class _Loaded:
    """A model, the vectors of sentences that every candidate is compared with, and the regions of the last frame.

    Regions are kept by the frame's content, not by the object that holds it, since a frame may be written over. Both
    are replaced at once, so that a thread never sees the regions of another frame.
    """

    clip: Clip
    nothing: Vectors
    _nouns: Vectors | None = field(default=None, init=False)
    _last: tuple[bytes, tuple[Mask, ...]] = field(default=(b"", ()), init=False)

    def coloured(self, frame: Frame) -> tuple[Mask, ...]:
        """``coloured_regions``, worked out once for candidates of one frame that follow one another."""
        content = hashlib.blake2b(repr(frame.shape).encode())
        content.update(np.ascontiguousarray(frame).data)
        known, regions = self._last
        if known != content.digest():
            regions = coloured_regions(frame)
            self._last = content.digest(), regions
        return regions

    def regions(self, frame: Frame, regions: Sequence[NDArray[np.bool_]]) -> Vectors:
        """One vector of length 1 for each region, float32 (n, d)."""
        shown = [view for region in regions for view in views(frame, region)]
        found = self.clip.pictures(shown)
        both = found[0::2] + found[1::2]
        return np.asarray(both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-12), dtype=np.float32)

    def noun_of(self, seen: NDArray[np.float32]) -> str:
        """The noun of the list that fits a region best."""
        if self._nouns is None:
            self._nouns = self.clip.sentences([photo_of(noun) for noun in NOUNS])
        return NOUNS[int(np.argmax(self._nouns @ seen))]


def views(frame: Frame, region: Mask) -> tuple[Frame, Frame]:
    """A region cut out as a square with a margin: as it is, and with its surroundings grey and blurred.

    Args:
        frame: uint8 RGB (H, W, 3).
        region: bool (H, W), not empty.

    Returns:
        Two uint8 RGB (s, s, 3), s at most 672; beyond the frame both are grey.
    """
    box = box_of(region)
    if box is None:
        raise ValueError("an empty region has no view")
    side = round(max(box[2] - box[0], box[3] - box[1]) * (1 + 2 * _MARGIN)) or 1
    left, top = (box[0] + box[2] - side) // 2, (box[1] + box[3] - side) // 2
    plain = np.full((side, side, 3), _GREY, np.uint8)
    inside = np.zeros((side, side), bool)
    x0, y0 = max(left, 0), max(top, 0)
    x1, y1 = min(left + side, frame.shape[1]), min(top + side, frame.shape[0])
    place = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
    plain[place] = frame[y0:y1, x0:x1]
    inside[place] = region[y0:y1, x0:x1]
    if side > _MOST_PX:
        side = _MOST_PX
        plain = np.asarray(cv2.resize(plain, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)
        near = cv2.resize(inside.view(np.uint8), (side, side), interpolation=cv2.INTER_NEAREST)
        inside = np.asarray(near, dtype=bool)
    soft = cv2.GaussianBlur(plain.mean(axis=2, dtype=np.float32), (0, 0), max(1.0, _BLUR * side))
    dull = (0.5 * np.asarray(soft) + 0.5 * _GREY).astype(np.uint8)
    return plain, np.where(inside[..., None], plain, dull[..., None])


def _regions(case: Case, mask: Mask, *, coloured: Callable[[Frame], Sequence[Mask]]) -> list[Mask]:
    """The candidate first, then its rivals, then what is left of the frame."""
    return [mask, *rivals(case.frame, mask, case.others, most=MOST_RIVALS, coloured=coloured), ~mask]


def _existence(scores: NDArray[np.float32], nothing: NDArray[np.float32]) -> Existence:
    """Whether some region is more like the expression than like nothing."""
    share = max(float(_softmax(np.append(row, score))[-1]) for score, row in zip(scores, nothing, strict=True))
    return "yes" if share >= YES else "no" if share <= NO else "unchecked"


def _note(scores: NDArray[np.float32], match: float) -> str:
    rank = 1 + int(np.count_nonzero(scores[1:] > scores[0]))
    place = "best" if rank == 1 else f"as number {rank}"
    return f"of {len(scores)} regions this one fits the words {place}, with a share of {match:.2f} (not calibrated)"


def _softmax(values: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = np.exp(np.asarray(values, np.float64) - float(np.max(values)))
    share: NDArray[np.float64] = shifted / shifted.sum()
    return share


IDENTITY = ClipIdentity()
