"""Models of Hugging Face transformers on a folder of weights: CLIPSeg, Grounding DINO + SAM 2, SAM 2 video, SAM 3.

As TGS-Agent grounds its phrases: boxes over .1, the best one of each frame, one mask for it. A frame without such a box
has an empty mask.

SAM 3 finds every instance of a concept. Here one object is asked for, so the instance that scores best is the answer,
not the union of all: a union would count every other thing of the kind as the object.

Qwen2.5-Omni, Qwen3-Omni and VideoLLaMA3 on a folder of weights, as omni models: ``qwen-omni@FOLDER``.

The frames of a video are shown as pictures, so that answers are the same with and without torchvision. Sounds are mixed
to one channel and brought to the model's rate. Replies are the likeliest, so there is no seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.boxes import box_iou
from auscult.arrays.resampling import resampled
from auscult.errors import InputError, UsageError
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.models.base import ModelTask, check_clip
from auscult.models.chat.profile import video_frames
from auscult.models.omni import BOXES as OMNI_BOXES
from auscult.nets.hf_omni import OmniThinker, load_omni
from auscult.nets.hf_segmenters import FloatBox, load_clipseg, load_grounding, load_sam2, load_sam2_video, load_sam3
from auscult.types import Box, Frame, Frames, Mask, Metadata, Query, Samples

SegmentFunction: TypeAlias = Callable[[Frames, Any], NDArray[Any]]
"""From frames and a sentence, or a first mask, to bool (T, H, W), or float32 probabilities in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A model with its weights; ``answer`` takes a first mask where its task is vos, else a sentence."""

    name: str
    meta: Metadata
    tasks: tuple[ModelTask, ...]
    answer: SegmentFunction

    def predict(self, frames: Frames, query: Query, *, first_mask: Mask | None = None, **_: object) -> NDArray[Any]:
        """Segment the object of a sentence or a first mask: bool (T, H, W), or float32 probabilities in [0, 1]."""
        check_clip(frames)
        if "vos" not in self.tasks:
            if query.text is None:
                raise InputError(f"{self.name} was asked without a sentence", expected="a referring expression")
            return self.answer(frames, query.text)
        if first_mask is None or first_mask.shape != frames.shape[1:3] or first_mask.dtype != np.bool_:
            raise InputError("no first mask of the frames' size", expected=f"bool {frames.shape[1:3]}")
        return self.answer(frames, first_mask)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """A model until its weights are there; ``load`` makes of their folder what answers."""

    name: str
    meta: Metadata
    tasks: tuple[ModelTask, ...]
    load: Callable[[Path], SegmentFunction]

    def using(self, weights: Path) -> Ready:
        """Load the weights of a folder; an error says which file cannot be used, or that the extra `hf` is missing."""
        return Ready(name=self.name, meta=self.meta, tasks=self.tasks, answer=self.load(weights))


CLIPSEG: Final = Weighted(
    name="hf.clipseg.v1",
    meta=Metadata(
        summary="CLIPSeg: a sentence and a frame to how likely each pixel is meant",
        goal="an open model of photographs that reads a whole sentence at once",
        modality="video",
        source="Lueddecke and Ecker, CVPR 2022; weights: the folder of CIDAS/clipseg-rd64-refined",
    ),
    tasks=("ris", "rvos", "refavs"),
    load=lambda weights: load_clipseg(weights).heat,
)


class BoxFinder(Protocol):
    """Finds what a phrase names."""

    def boxes(self, frames: Frames, text: str) -> Sequence[FloatBox | None]:
        """The best box (x0, y0, x1, y1) of each frame, in pixels; None where there is none."""
        ...


class BoxMasks(Protocol):
    """Draws what a box holds."""

    def masks(self, frames: Frames, boxes: Sequence[FloatBox | None]) -> NDArray[np.bool_]:
        """One mask a frame, bool (T, H, W), empty where there is no box."""
        ...


@dataclass(frozen=True, slots=True)
class Grounded:
    """Segments what a phrase names, frame by frame: one model grounds it, another draws what its box holds."""

    finder: BoxFinder
    drawer: BoxMasks

    def __call__(self, frames: Frames, text: str) -> NDArray[np.bool_]:
        """Masks bool (T, H, W)."""
        return self.drawer.masks(frames, self.finder.boxes(frames, text))


class BoxesFinder(Protocol):
    """Finds all that a prompt names."""

    def every_box(self, frame: Frame, text: str, *, least_score: float) -> Sequence[FloatBox]:
        """The boxes of one frame, (x0, y0, x1, y1) in pixels, the surest first."""
        ...


KINDS: Final = "person. animal. vehicle. musical instrument. machine. furniture. toy. tool. food. plant. thing."
"""What a detector that is told what to look for is asked, where everything counts."""

_SURE: Final = 0.25
_SAME_BOX: Final = 0.7  # IoU from which on two boxes are of one thing


@dataclass(frozen=True, slots=True)
class DetectedCount:
    """Counts the things of a frame as a detector finds them: MQ-RAVSBench, Sec. 3.3, chooses key frames so."""

    finder: BoxesFinder

    def __call__(self, frame: Frame) -> int:
        """Boxes that score over .25, of those that lie on one another one: 0 or more."""
        boxes: list[Box] = []
        for left, top, right, bottom in self.finder.every_box(frame, KINDS, least_score=_SURE):
            box = round(left), round(top), round(right), round(bottom)
            if all(box_iou(box, other) < _SAME_BOX for other in boxes):
                boxes.append(box)
        return len(boxes)


def detected_count(folder: Path) -> DetectedCount:
    """The counter with the weights of Grounding DINO in a folder."""
    return DetectedCount(load_grounding(folder))


BOXES: Final = "grounding_dino"
MASKS: Final = "sam2"


def _load_grounded_sam2(weights: Path) -> SegmentFunction:
    for name in (BOXES, MASKS):
        if not (weights / name).is_dir():
            raise UsageError(
                f"the folder of weights has no folder {name!r}",
                path=weights,
                expected=f"two folders in it: {BOXES} with Grounding DINO and {MASKS} with SAM 2",
            )
    return Grounded(load_grounding(weights / BOXES), load_sam2(weights / MASKS))


GROUNDED_SAM2: Final = Weighted(
    name="hf.grounded_sam2.v1",
    meta=Metadata(
        summary="Grounding DINO's best box for a sentence, and SAM 2's mask of what it holds, frame by frame",
        goal="what agents that hand phrases to a detector and a segmenter come down to",
        modality="video",
        source="Liu et al., ECCV 2024; Ravi et al. 2024; weights: IDEA-Research/grounding-dino-tiny in "
        f"`{BOXES}` and facebook/sam2.1-hiera-large in `{MASKS}` of one folder",
    ),
    tasks=("ris", "rvos", "refavs"),
    load=_load_grounded_sam2,
)


SAM2_VIDEO: Final = Weighted(
    name="hf.sam2_video.v1",
    meta=Metadata(
        summary="SAM 2 video: the first frame's mask, followed through the clip",
        goal="a strong model of video object segmentation",
        modality="video",
        source="Ravi et al. 2024; weights: the folder of facebook/sam2.1-hiera-tiny, small, base-plus or large",
    ),
    tasks=("vos",),
    load=lambda weights: load_sam2_video(weights).follow,
)


SAM3: Final = Weighted(
    name="hf.sam3.v1",
    meta=Metadata(
        summary="SAM 3 by text: the best instance of what a phrase names, frame by frame",
        goal="a strong open-vocabulary model, asked for one object",
        modality="video",
        source="Carion et al. 2025; weights: the folder of facebook/sam3",
    ),
    tasks=("ris", "rvos", "refavs"),
    load=lambda weights: load_sam3(weights).masks,
)


FRAMES: Final = 16
"""Of a video, evenly over it."""
_MAX_TOKENS: Final = 1024
_NAME: Final = "hf.qwen_omni.v1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QwenOmni:
    """The model with its weights."""

    thinker: OmniThinker
    name: str = _NAME
    boxes: str = OMNI_BOXES
    max_tokens: int = _MAX_TOKENS

    @property
    def hears(self) -> bool:
        """Whether it takes sounds."""
        return self.thinker.sounds is not None

    def answer(
        self, question: str, *, images: Sequence[Path] = (), sounds: Sequence[Path] = (), video: Path | None = None
    ) -> str:
        """Its reply about pictures, sounds and the frames of a video."""
        frames = [read_frame(path) for path in images]
        if video is not None:
            frames += video_frames(video, FRAMES)
        audio = [self._samples(path) for path in sounds]
        return self.thinker.answer(question, pictures=frames, sounds=audio, max_tokens=self.max_tokens)

    def _samples(self, path: Path) -> Samples:
        """A sound as the model takes it, (samples,)."""
        sound, rate_hz = read_sound(path), self.thinker.rate_hz
        mono = sound.samples.mean(axis=0, keepdims=True, dtype=np.float32)
        if sound.rate_hz != rate_hz:
            mono = resampled(mono, rate_hz=sound.rate_hz, wanted_hz=rate_hz)
        return np.ascontiguousarray(mono[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedQwenOmni:
    """The model until its weights are there."""

    name: str
    meta: Metadata

    def using(self, weights: Path) -> QwenOmni:
        """Load the weights of a folder; an error says which file cannot be used, or that the extra `hf` is missing."""
        return QwenOmni(thinker=load_omni(weights))


QWEN_OMNI: Final = WeightedQwenOmni(
    name=_NAME,
    meta=Metadata(
        summary="Qwen2.5-Omni, Qwen3-Omni or VideoLLaMA3: answers in text about pictures, sounds, frames of a video",
        goal="an open omni model that runs here",
        modality="video",
        source="Xu et al. 2025; weights: the folder of Qwen/Qwen2.5-Omni-3B, -7B or Qwen/Qwen3-Omni-30B-A3B-Instruct; "
        "Zhang et al. 2025: VideoLLaMA3 as transformers has it",
    ),
)
