"""A loaded MQ-Auditor that is asked about masks: clips are encoded once, and batches shrink where memory runs out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from auscult.errors import UsageError
from auscult.nets.mq_auditor.inputs import Encoded, Reader, key_of
from auscult.nets.mq_auditor.network import Decoding
from auscult.nets.mq_auditor.weights import load
from auscult.types import Case, Mask

_KEPT: Final = 8  # encoded clips


class Asker:
    """The network of a folder; ``at_once`` masks are asked about together."""

    def __init__(self, folder: Path, *, at_once: int = 32) -> None:
        self.model, self.tokenizer = load(folder, to_ask=True)
        self.reader = Reader(self.model.config, self.tokenizer)
        self.at_once = at_once
        self._clips: OrderedDict[str, Encoded] = OrderedDict()

    def replies(self, shown: Sequence[tuple[Case, Mask]], how: Decoding) -> list[list[str]]:
        """What it says of each mask, bool (H, W) of its case's frame, ``how.samples`` times.

        An InputError where a clip cannot be read, a UsageError where the memory does not suffice for a single mask.
        """
        result: list[list[str]] = []
        while len(result) < len(shown):
            part = shown[len(result) : len(result) + self.at_once]
            try:
                result += self._replies(part, how)
            except torch.OutOfMemoryError as error:
                self._clips.clear()
                if len(part) == 1:
                    raise UsageError(
                        "the memory of the GPU does not suffice for one mask",
                        expected="room for weights and one prompt: docs/mq-auditor.md says how much",
                        hint="use a larger GPU, or a smaller language model",
                    ) from error
                self.at_once = (len(part) + 1) // 2
            if torch.cuda.is_available() and not self._clips:
                torch.cuda.empty_cache()
        return result

    def _replies(self, shown: Sequence[tuple[Case, Mask]], how: Decoding) -> list[list[str]]:
        batch = self.reader.batch(shown, known=self._clips).to(self.model.device)
        with torch.inference_mode():
            clips = self.model.encode(batch.clips)
        for index, (case, _) in enumerate(shown):
            self._clips[key_of(case)] = clips[batch.clip_of[index]]
            self._clips.move_to_end(key_of(case))
        while len(self._clips) > _KEPT:
            self._clips.popitem(last=False)
        return self.model.generate(batch.with_clips(clips), self.tokenizer, how)  # type: ignore[no-any-return]
