"""A loaded SAJ, and the published one, asked about outputs: numbers in, numbers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from auscult.errors import UsageError
from auscult.nets.saj.weights import load
from auscult.types import PERFORMANCE, Samples, SoundCase


class Asker:
    """The network of a folder; a ``UsageError`` says why it cannot be loaded."""

    def __init__(self, folder: Path) -> None:
        self.net, self.reader = load(folder)

    def scores(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """Scores by axis of outputs, in time and at level with their mixtures."""
        with torch.inference_mode():
            found = self.net(self.reader.batch(shown).to(next(self.net.parameters()).device))
        return [{axis: float(found[axis][at]) for axis in self.net.design.axes} for at in range(len(shown))]


class PublishedAsker:
    """``SAMAudioJudgeModel`` of the package ``sam_audio`` with what its ``from_pretrained`` finds in a folder."""

    def __init__(self, folder: Path) -> None:
        package: Any = import_module("sam_audio")
        try:
            model = package.SAMAudioJudgeModel.from_pretrained(str(folder))
            self._processor = package.SAMAudioJudgeProcessor.from_pretrained(str(folder))
        except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
            said = " ".join(str(error).split())[:160]
            raise UsageError(f"the published judge cannot be loaded: {said}", path=folder) from error
        self._model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def scores(
        self, texts: Sequence[str], sounds: Sequence[tuple[Samples, Samples]], *, rate_hz: int
    ) -> list[Mapping[str, float]]:
        """Scores by axis of mixtures and outputs, (samples,) each, all of one length, at the rate that it takes."""
        mixtures, outputs = ([torch.from_numpy(pair[which])[None] for pair in sounds] for which in (0, 1))
        given = self._processor(text=list(texts), input_audio=mixtures, separated_audio=outputs, sampling_rate=rate_hz)
        with torch.inference_mode():
            said = self._model(**given.to(next(self._model.parameters()).device))
        found = {axis: getattr(said, axis).reshape(-1) for axis in PERFORMANCE}
        return [{axis: float(values[at]) for axis, values in found.items()} for at in range(len(texts))]
