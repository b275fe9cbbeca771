"""Cases and masks as the tensors that MQ-Auditor takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import cv2
import numpy as np
import torch
from torch import Tensor

from auscult.arrays.resampling import resampled
from auscult.nets.mq_auditor.prompt import IOU_TOKEN, AuditorConfig, Layout, answer_ids, audit_layout, caption_layout
from auscult.types import Case, Floats, Frame, Mask

_MEAN: Final = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)  # CLIP's
_STD: Final = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
_TINT: Final = np.array([255, 64, 0], np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """A clip, not encoded yet: pictures (t, 3, side, side), and a second of sound each (s, samples); s may be 0."""

    pictures: Tensor
    sound: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """A clip as tokens of the language model: (n, width) of its pictures and of its sound."""

    pictures: Tensor
    sound: Tensor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AuditorBatch:
    """What MQ-Auditor is asked about, a row a mask; rows of one clip, or of one frame, share them."""

    clips: tuple[Clip | Encoded, ...]
    clip_of: tuple[int, ...]  # which of them a row is about
    frames: Tensor  # key frames, (f, 3, side, side); none for captions
    frame_of: tuple[int, ...]  # which of them a row is about
    masks: Tensor  # what is seen of each mask, (n, k, 3, side, side); none for captions
    layouts: tuple[Layout, ...]  # the prompts
    answers: tuple[tuple[int, ...], ...] = ()  # what to answer, as tokens; none where that is asked
    ious: Tensor | None = None  # the IoU that each answer states, (n,), -1 for none
    iou_token: int = -1  # the token that stands for it
    kinds: Tensor | None = None  # type and action of each mask, places in DEFECTS and ACTIONS, (n, 2); to learn to look

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.layouts)

    def with_clips(self, clips: Sequence[Encoded]) -> AuditorBatch:
        """The same about clips that were encoded."""
        return replace(self, clips=tuple(clips))

    def to(self, device: Any) -> AuditorBatch:
        """The same on a device."""
        clips = tuple(type(clip)(clip.pictures.to(device), clip.sound.to(device)) for clip in self.clips)
        ious = None if self.ious is None else self.ious.to(device)
        kinds = None if self.kinds is None else self.kinds.to(device)
        frames, masks = self.frames.to(device), self.masks.to(device)
        return replace(self, clips=clips, frames=frames, masks=masks, ious=ious, kinds=kinds)


class Reader:
    """Makes batches by the settings of a network and a tokenizer with the tags of ``prompt``; picklable."""

    def __init__(self, config: AuditorConfig, tokenizer: Any) -> None:
        self.config, self.tokenizer = config, tokenizer
        self.side = int(config.vision["image_size"])

    def batch(
        self,
        shown: Sequence[tuple[Case, Mask]],
        answers: Sequence[str] | None = None,
        *,
        known: Mapping[str, Encoded] | None = None,
    ) -> AuditorBatch:
        """Masks, each bool (H, W) of its case's frame, with the answers to learn or without.

        Answers are texts with the tags of training. A case without a clip is a clip of one frame without sound. Files
        of the ``known`` clips, encoded before, by ``key_of``, are not opened. An InputError where a frame or the sound
        of a clip cannot be read.
        """
        clips, clip_of = self._clips([case for case, _ in shown], known or {})
        frames = {id(case.frame): case.frame for case, _ in shown}
        places = {key: index for index, key in enumerate(frames)}
        batch = AuditorBatch(
            clips=clips,
            clip_of=clip_of,
            frames=self._stack(list(frames.values())),
            frame_of=tuple(places[id(case.frame)] for case, _ in shown),
            masks=torch.stack([self._stack(self._seen(case.frame, mask)) for case, mask in shown]),
            layouts=tuple(audit_layout(self.tokenizer, case.query.text) for case, _ in shown),
        )
        return batch if answers is None else self._answered(batch, answers)

    def captions(self, shown: Sequence[Case], answers: Sequence[str]) -> AuditorBatch:
        """Clips and what is to be said of them, to warm projectors up."""
        clips, clip_of = self._clips(shown, {})
        none = torch.zeros(0, 3, self.side, self.side)
        layouts = (caption_layout(self.tokenizer),) * len(shown)
        batch = AuditorBatch(
            clips=clips, clip_of=clip_of, frames=none, frame_of=(), masks=none[:, None], layouts=layouts
        )
        return self._answered(batch, answers)

    def _answered(self, batch: AuditorBatch, answers: Sequence[str]) -> AuditorBatch:
        encoded = [answer_ids(self.tokenizer, answer, by_token=self.config.iou == "token") for answer in answers]
        ious = torch.tensor([-1.0 if stated is None else stated for _, stated in encoded])
        token = int(self.tokenizer.convert_tokens_to_ids(IOU_TOKEN))
        return replace(batch, answers=tuple(tokens for tokens, _ in encoded), ious=ious, iou_token=token)

    def _clips(
        self, cases: Sequence[Case], known: Mapping[str, Encoded]
    ) -> tuple[tuple[Clip | Encoded, ...], tuple[int, ...]]:
        clips: dict[str, Clip | Encoded] = {}
        for case in cases:
            key = key_of(case)
            if key not in clips:
                clips[key] = known[key] if key in known else self._clip(case)
        places = {key: index for index, key in enumerate(clips)}
        return tuple(clips.values()), tuple(places[key_of(case)] for case in cases)

    def _clip(self, case: Case) -> Clip:
        config, clip = self.config, case.clip
        if clip is None:
            return Clip(self._stack([case.frame]), torch.zeros(0, config.sound_rate_hz))
        indices = spread(len(clip), config.frames)
        pictures = self._stack([clip.frame(index) for index in indices])
        sound = clip.sound()
        if sound is None or sound[0].size == 0:
            return Clip(pictures, torch.zeros(0, config.sound_rate_hz))
        rate = config.sound_rate_hz
        mono = np.atleast_2d(sound[0]).mean(axis=0, keepdims=True, dtype=np.float32)
        samples = resampled(mono, rate_hz=sound[1], wanted_hz=rate)[0]
        seconds = np.pad(samples, (0, -len(samples) % rate)).reshape(-1, rate)
        return Clip(pictures, torch.from_numpy(seconds[spread(len(seconds), config.seconds)]))

    def _seen(self, frame: Frame, mask: Mask) -> list[Frame]:
        """The pictures that a mask is shown as."""
        white = np.repeat(mask[..., None], 3, axis=2).astype(np.uint8) * 255
        masked = frame * mask[..., None]
        if self.config.mask_use == "overlay":
            return [np.where(mask[..., None], 0.5 * frame + 0.5 * _TINT, frame).astype(np.uint8)]
        return {"mask": [white], "masked": [masked], "both": [white, masked]}[self.config.mask_use]

    def _stack(self, frames: Sequence[Frame]) -> Tensor:
        return torch.from_numpy(np.stack([_prepared(frame, self.side) for frame in frames]))


def _prepared(frame: Frame, side: int) -> Floats:
    """A picture squeezed to a square, as CLIP saw pictures; not cropped, since masks reach the border."""
    interpolation = cv2.INTER_AREA if min(frame.shape[:2]) > side else cv2.INTER_LINEAR
    small = np.asarray(cv2.resize(np.ascontiguousarray(frame), (side, side), interpolation=interpolation), np.float32)
    return np.ascontiguousarray(((small / 255 - _MEAN) / _STD).transpose(2, 0, 1))


def spread(count: int, most: int) -> list[int]:
    """Up to ``most`` places of ``count``, evenly."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, most)).round()]


def key_of(case: Case) -> str:
    """What clips are told apart by."""
    return case.id if case.clip is None else case.clip.key
