"""`sound.sam_audio.v1`: the published judge, where its package and its gated weights lie.

``sound.sam_audio@FOLDER`` runs ``SAMAudioJudgeModel`` of the package ``sam_audio`` on what ``from_pretrained`` finds in
the folder. Package and weights are under Meta's SAM License, need an account, and were not there when this was written:
the adapter is tested on a stand-in of the interface. It takes text alone, 48 kHz mono, in multiples of 1920 samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import UsageError
from auscult.judge.sound.saj import FolderSoundJudge
from auscult.types import Metadata, Samples, SoundCase

if TYPE_CHECKING:
    from auscult.nets.saj.asking import PublishedAsker

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

    packages = ("torch", "sam_audio")
    install = "install facebookresearch/sam-audio, under Meta's own licence"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        if not (folder / "config.json").is_file():
            raise UsageError("there are no weights of the judge here", path=folder,
                             expected="a snapshot of facebook/sam-audio-judge, with config.json")  # fmt: skip
        self._asker: PublishedAsker | None = None

    def estimates(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """As the network gives them; of one length at a time, since its padding moves scores by up to .1."""
        from auscult.nets.saj.asking import PublishedAsker

        self._asker = self._asker or PublishedAsker(self.folder)
        found: list[Mapping[str, float]] = [{}] * len(shown)
        sounds = [(_prepared(case.mixture, case.rate_hz), _prepared(output, case.rate_hz)) for case, output in shown]
        for length in sorted({pair[0].size for pair in sounds}):
            places = [at for at, pair in enumerate(sounds) if pair[0].size == length]
            texts = [(shown[at][0].text or "").strip().lower() for at in places]
            said = self._asker.scores(texts, [sounds[at] for at in places], rate_hz=RATE_HZ)
            for at, scores in zip(places, said, strict=True):
                found[at] = scores
        return found


def _prepared(sound: Samples, rate_hz: int) -> Samples:
    found = mono_at(sound, rate_hz=rate_hz, wanted_hz=RATE_HZ)
    return np.asarray(np.pad(found, (0, -found.size % BLOCK), mode="reflect"), np.float32)
