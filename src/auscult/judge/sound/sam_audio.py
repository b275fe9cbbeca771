"""`sound.sam_audio.v1`: the published judge, where its package and its gated weights lie.

``sound.sam_audio@FOLDER`` runs ``SAMAudioJudgeModel`` of the package ``sam_audio`` on what ``from_pretrained`` finds in
the folder. Package and weights are under Meta's SAM License, need an account, and were not there when this was written:
the adapter is tested on a stand-in of the interface. It takes text alone, 48 kHz mono, in multiples of 1920 samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import UsageError
from auscult.judge.sound.saj import FolderSoundJudge, needs_packages
from auscult.types import PERFORMANCE, Metadata, Samples, SoundCase

RATE_HZ: Final = 48_000
BLOCK: Final = 1920
"""Samples of a frame of its codec, which sounds are reflected up to."""


class SamAudioJudge(FolderSoundJudge):
    """Judges separated sounds by the published network; difficulty it does not tell."""

    name = "sound.sam_audio.v1"
    meta = Metadata(
        summary="the published SAM Audio judge, where its package and weights lie",
        goal="judges a separated sound by a text",
        modality="sound",
        source="SAM Audio, facebookresearch/sam-audio",
        truth="none is read",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        needs_packages(["sam_audio", "torch"], hint="install facebookresearch/sam-audio; its licence is Meta's own")
        if not (folder / "config.json").is_file():
            raise UsageError("there are no weights of the judge here", path=folder,
                             expected="a snapshot of facebook/sam-audio-judge, with config.json")  # fmt: skip
        self._loaded: tuple[Any, Any] | None = None

    def estimates(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """As the network gives them; of one length at a time, since its padding moves scores by up to .1."""
        import torch

        model, processor = self._open()
        found: list[Mapping[str, float]] = [{}] * len(shown)
        sounds = [[_prepared(sound, case.rate_hz) for sound in (case.mixture, output)] for case, output in shown]
        for length in sorted({pair[0].size for pair in sounds}):
            places = [at for at, pair in enumerate(sounds) if pair[0].size == length]
            mixtures, outputs = ([torch.from_numpy(sounds[at][which])[None] for at in places] for which in (0, 1))
            given = processor(
                text=[(shown[at][0].text or "").strip().lower() for at in places],
                input_audio=mixtures,
                separated_audio=outputs,
                sampling_rate=RATE_HZ,
            )
            with torch.inference_mode():
                said = model(**given.to(next(model.parameters()).device))
            for row, at in enumerate(places):
                found[at] = {axis: float(getattr(said, axis).reshape(-1)[row]) for axis in PERFORMANCE}
        return found

    def _open(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import torch

            package: Any = import_module("sam_audio")
            try:
                model = package.SAMAudioJudgeModel.from_pretrained(str(self.folder))
                processor = package.SAMAudioJudgeProcessor.from_pretrained(str(self.folder))
            except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
                said = " ".join(str(error).split())[:160]
                raise UsageError(f"the published judge cannot be loaded: {said}", path=self.folder) from error
            self._loaded = model.to("cuda" if torch.cuda.is_available() else "cpu").eval(), processor
        return self._loaded


def _prepared(sound: Samples, rate_hz: int) -> Samples:
    found = mono_at(sound, rate_hz=rate_hz, wanted_hz=RATE_HZ)
    return np.asarray(np.pad(found, (0, -found.size % BLOCK), mode="reflect"), np.float32)
