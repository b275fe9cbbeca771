"""RefSegformer and what is compared with it, as `auscult train rris` trained them; without torch from ONNX files.

A picture is looked at once; each sentence costs the rest. The mask is empty where the network says that nothing of the
kind is there. The two-stage baseline is one network that draws and another that says whether to (Wu et al., Sec. 4.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import cv2
import numpy as np

from auscult.errors import InputError, UsageError
from auscult.models.base import Masks, ModelTask, check_clip
from auscult.nets.refsegformer.answering import Answering, OnnxAnswering, load_answering
from auscult.types import Floats, Frame, Frames, Mask, Metadata, Query

SHIPPED: Final = Path(__file__).with_name("refsegformer_small")
SEGMENTER: Final = "segmenter"
CLASSIFIER: Final = "classifier"
Networks: TypeAlias = Sequence[Answering]
"""The one that draws, then those that only say whether something is there."""


class Trained:
    """Networks that answer."""

    tasks: tuple[ModelTask, ...] = ("ris", "rvos", "refavs")
    attends = True

    def __init__(self, name: str, meta: Metadata, load: Callable[[], Networks], *, shipped: Path | None = None) -> None:
        self.name, self.meta, self.shipped = name, meta, shipped
        self._networks = cache(load)
        self._last: tuple[Frame, list[Any]] | None = None  # a picture, and what each network saw of it

    def predict(self, frames: Frames, query: Query, **_: object) -> Masks:
        """Segment what a sentence names, frame by frame: bool (T, H, W)."""
        check_clip(frames)
        if query.text is None:
            raise InputError(f"{self.name} was asked without a sentence", expected="a referring expression")
        return np.stack([self._mask(frame, query.text) for frame in frames])

    def attention(self, frame: Frame, text: str) -> Mapping[str, Mapping[str, Floats]]:
        """The share of attention that each position gives to blank and to memory tokens, by fusion: (h, w), 0..1."""
        network = self._networks()[0]
        stages = network.answer(self._features(frame)[0], text, attention=True).attention
        parts = {"blank tokens": slice(network.blank), "memory tokens": slice(network.blank, None)}
        return {
            name: {f"stage {stage}": values[part].sum(axis=0) for stage, values in stages.items()}
            for name, part in parts.items()
            if any(len(values[part]) for values in stages.values())
        }

    def unknown_words(self, text: str) -> tuple[str, ...]:
        """The words of a sentence that it never learned."""
        return self._networks()[0].unknown(text)

    def _mask(self, frame: Frame, text: str) -> Mask:
        height, width = frame.shape[:2]
        answer = None
        for network, features in reversed([*zip(self._networks(), self._features(frame), strict=True)]):
            answer = network.answer(features, text)
            if answer.existence is not None and answer.existence < 0:
                return np.zeros((height, width), np.bool_)
        if answer is None or answer.logits is None:
            raise UsageError(f"{self.name} draws no masks", expected="a segmenter, not a classifier of existence")
        return np.asarray(cv2.resize(answer.logits, (width, height), interpolation=cv2.INTER_LINEAR) > 0)

    def _features(self, frame: Frame) -> list[Any]:
        if self._last is None or not np.array_equal(self._last[0], frame):
            self._last = (frame.copy(), [network.stem(frame) for network in self._networks()])
        return self._last[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Networks until their folder is named."""

    name: str
    meta: Metadata
    load: Callable[[Path], Networks]
    tasks: tuple[ModelTask, ...] = Trained.tasks
    attends: bool = True

    def using(self, weights: Path) -> Trained:
        """Load the networks of a folder that ``auscult train rris`` wrote."""
        networks = self.load(weights)
        return Trained(self.name, self.meta, lambda: networks)


def _two_stages(folder: Path) -> Networks:
    missing = [name for name in (SEGMENTER, CLASSIFIER) if not (folder / name).is_dir()]
    if missing:
        raise UsageError(
            f"the folder has no folder {missing[0]!r}",
            path=folder,
            expected=f"two folders of `auscult train rris` in it: {SEGMENTER}, trained on true sentences alone, and "
            f"{CLASSIFIER}, of --model existence",
        )
    return [load_answering(folder / SEGMENTER), load_answering(folder / CLASSIFIER)]


_PAPER: Final = "Wu et al. 2024, Towards Robust Referring Image Segmentation"
REFSEGFORMER: Final = Waiting(
    name="trained.refsegformer.v1",
    meta=Metadata(
        summary="RefSegformer, LAVT or another network of `auscult train rris`: a sentence to a mask, or to nothing",
        goal="a segmenter that was taught that what is asked for may not be there",
        modality="video",
        source=f"{_PAPER}; weights: a folder of `auscult train rris`",
    ),
    load=lambda folder: [load_answering(folder)],
)
TWO_STAGE: Final = Waiting(
    name="trained.two_stage.v1",
    meta=Metadata(
        summary="two-stage baseline: a classifier says whether it is there, a segmenter draws it",
        goal="what a second network beside a plain segmenter gives",
        modality="video",
        source=f"{_PAPER}; weights: folders of `auscult train rris` as `{SEGMENTER}` and `{CLASSIFIER}` in one",
    ),
    load=_two_stages,
)


SMALL: Final = Trained(
    "trained.refsegformer_small.v1",
    Metadata(
        summary="a small RefSegformer: a sentence to a mask, or to nothing where that is not there",
        goal="a baseline that can answer with nothing and runs anywhere",
        modality="video",
        source=f"{_PAPER}; weights: a folder of `auscult train rris` on generated scenes",
    ),
    lambda: [OnnxAnswering(SHIPPED)],
    shipped=SHIPPED,
)
