"""Mixtures, outputs and prompts as the tensors that SAJ takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from auscult.arrays.resampling import mono_at
from auscult.nets.hf_folder import Preparation, square
from auscult.nets.saj.settings import PROMPTS, SajDesign
from auscult.types import Samples, SoundCase, Span

_LOUDNESS: Final = 0.1
"""Effective value that mixtures are given; raters heard them levelled too (Sec. III-A)."""
_MOST_GAIN: Final = 1e4
_SIGNS: Final = {"+": 1, "-": 2}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SajBatch:
    """Outputs to judge, a row each; rows of one mixture share it."""

    mixtures: Tensor  # (m, samples) at the encoder's rate, silent behind the end of each
    mixture_samples: Tensor  # how long each is, (m,)
    mixture_of: Tensor  # which of them a row is of, (n,)
    outputs: Tensor  # (n, samples), in time and at level with the mixture
    samples: Tensor  # how long each is, (n,)
    words: Tensor  # tokens of the texts, (n, t)
    words_known: Tensor  # which of them are no padding, bool (n, t); none of a row without a text
    spans: Tensor  # of each frame 1 where the target is heard, 2 where it is not, 0 where nothing is said, (n, frames)
    pictures: Tensor  # (n, k, 3, side, side); k is 0 where no row has a picture
    asked: Mapping[str, Tensor]  # which rows have a prompt, bool (n,) by ``PROMPTS``

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.outputs)

    def to(self, device: Any) -> SajBatch:
        """The same on a device."""
        moved = {field.name: getattr(self, field.name) for field in fields(self)}
        asked = {name: has.to(device) for name, has in moved.pop("asked").items()}
        return SajBatch(**{name: value.to(device) for name, value in moved.items()}, asked=asked)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SajReader:
    """Makes batches; picklable."""

    design: SajDesign  # of the network
    rate_hz: int  # that its encoder of sounds takes
    steps: int  # samples of a frame
    tokenizer: Any = None  # what reads texts; None where it takes none

    def batch(
        self, shown: Sequence[tuple[SoundCase, Samples]], *, prompts: Sequence[Collection[str]] | None = None
    ) -> SajBatch:
        """Cases with outputs, float32 of the mixture's shape, in time and at level with it (``judge.sound.shared``).

        A mixture array that several share is encoded once. ``prompts`` are those of ``PROMPTS`` that each row is asked
        with; by default all that it has.
        """
        per_row = [set(PROMPTS)] * len(shown) if prompts is None else prompts
        mixtures = {id(case.mixture): case for case, _ in shown}
        places = {key: index for index, key in enumerate(mixtures)}
        sounds = [self._heard(case.mixture, case.rate_hz) for case in mixtures.values()]
        gains = [_gain(sound) for sound in sounds]
        of = [places[id(case.mixture)] for case, _ in shown]
        outputs = [self._heard(output, case.rate_hz) * gains[i] for (case, output), i in zip(shown, of, strict=True)]
        length = max(map(len, sounds))
        cases = [case for case, _ in shown]
        texts = [case.text if "text" in allowed and self.tokenizer else None
                 for case, allowed in zip(cases, per_row, strict=True)]  # fmt: skip
        words, words_known = self._words(texts)
        pictures, has_picture = self._pictures(cases, per_row)
        spans = [case.spans if "spans" in allowed and self.design.spans else ()
                 for case, allowed in zip(cases, per_row, strict=True)]  # fmt: skip
        return SajBatch(
            mixtures=_padded([sound * gain for sound, gain in zip(sounds, gains, strict=True)], length),
            mixture_samples=torch.tensor([len(sound) for sound in sounds]),
            mixture_of=torch.tensor(of),
            outputs=_padded(outputs, length),
            samples=torch.tensor([len(output) for output in outputs]),
            words=words,
            words_known=words_known,
            spans=torch.from_numpy(np.stack([self._states(span, -(-length // self.steps)) for span in spans])),
            pictures=pictures,
            asked={
                "text": words_known.any(dim=1),
                "spans": torch.tensor([bool(span) for span in spans]),
                "picture": has_picture,
            },
        )

    def _heard(self, sound: Samples, rate_hz: int) -> Samples:
        return mono_at(sound, rate_hz=rate_hz, wanted_hz=self.rate_hz)

    def _words(self, texts: Sequence[str | None]) -> tuple[Tensor, Tensor]:
        if not any(texts):
            return torch.zeros(len(texts), 1, dtype=torch.long), torch.zeros(len(texts), 1, dtype=torch.bool)
        plain = [(text or "").lower() for text in texts]
        tokens = self.tokenizer(plain, padding=True, truncation=True, max_length=self.design.words, return_tensors="pt")
        has = torch.tensor([bool(text and text.strip()) for text in texts])
        return tokens["input_ids"], tokens["attention_mask"].bool() & has[:, None]

    def _states(self, spans: Sequence[Span], frames: int) -> Any:
        states = np.zeros(frames, np.int64)
        for span in sorted(spans, key=lambda span: span.sign, reverse=True):  # where both are said, it is heard
            start, end = (round(time_s * self.rate_hz / self.steps) for time_s in (span.start_s, span.end_s))
            states[max(0, start) : max(start + 1, end)] = _SIGNS[span.sign]
        return states

    def _pictures(self, cases: Sequence[SoundCase], prompts: Sequence[Collection[str]]) -> tuple[Tensor, Tensor]:
        allowed = ["picture" in row and self.design.vision is not None for row in prompts]
        pictures = [
            case.frames if may and case.frames is not None else () for case, may in zip(cases, allowed, strict=True)
        ]
        has = torch.tensor([len(row) > 0 for row in pictures])
        limit = min(max(map(len, pictures)), self.design.pictures)
        if self.design.vision is None or not limit:
            return torch.zeros(len(cases), 0, 3, 1, 1), has
        side = square(self.design.vision["image_size"])
        result = torch.zeros(len(cases), limit, 3, side, side)
        prepared = Preparation(size=(side, side))
        for index, frames in enumerate(pictures):
            if len(frames):
                result[index] = prepared(np.asarray(frames)[np.arange(limit) * len(frames) // limit])
        return result, has


def _gain(sound: Samples) -> float:
    return float(min(_LOUDNESS / max(float(np.sqrt(np.mean(sound**2))), 1e-12), _MOST_GAIN))


def _padded(sounds: Sequence[Samples], length: int) -> Tensor:
    return torch.from_numpy(
        np.stack([np.pad(sound[:length], (0, max(0, length - len(sound)))) for sound in sounds]).astype(np.float32)
    )
