"""Qwen2.5-Omni, Qwen3-Omni and VideoLLaMA3 on a folder of weights, as omni models: ``qwen-omni@FOLDER``.

The frames of a video are shown as pictures, so that answers are the same with and without torchvision. Sounds are mixed
to one channel and brought to the model's rate. Replies are the likeliest, so there is no seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.media.frames import read_frame
from auscult.media.sound import read_sound
from auscult.models.chat.encoding import video_frames
from auscult.models.omni import BOXES
from auscult.nets.hf_omni import OmniThinker, load_omni
from auscult.types import Metadata, Samples

FRAMES: Final = 16
"""Of a video, evenly over it."""
_MAX_TOKENS: Final = 1024
_NAME: Final = "hf.qwen_omni.v1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QwenOmni:
    """The model with its weights."""

    thinker: OmniThinker
    name: str = _NAME
    boxes: str = BOXES
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
        heard = [self._heard(path) for path in sounds]
        return self.thinker.answer(question, pictures=frames, sounds=heard, max_tokens=self.max_tokens)

    def _heard(self, path: Path) -> Samples:
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
