"""``sound.compact.v1``: a pretrained tagger listens to mixture, output and rest, and a small network compares them.

It reads words (``judge.sound.vocabulary``), spans and pictures (``judge.sound.pictures``) in any combination; without
any it judges what is likely for what the output sounds like. Measured in ``docs/cards/sound.compact.v1.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from auscult.types import Metadata, Samples, SoundCase, SoundVerdict

if TYPE_CHECKING:
    from auscult.judge.sound.compact.verdict import CompactListener


class CompactSoundJudge:
    """Judges outputs of any rate and length from .05 s on; the network is loaded with the first."""

    name = "sound.compact.v1"
    meta = Metadata(
        summary="four scores with intervals, difficulty and curves over time; words, spans and pictures in any union",
        goal="outputs that miss some of the target, hold something else, or are damaged",
        modality="sound",
        source="after SAM Audio Judge, Sec. III; encoder from EfficientAT mn04_as (Schmid et al., 2023)",
        truth="none is read",
    )

    def __init__(self, folder: Path | None = None, sentences: Path | None = None) -> None:
        self._folder, self._sentences = folder, sentences
        self._listener: CompactListener | None = None

    @property
    def listener(self) -> CompactListener:
        """The loaded network with its calibration."""
        if self._listener is None:
            from auscult.judge.sound.compact.verdict import load_listener

            self._listener = load_listener(self._folder, self._sentences)
        return self._listener

    def fitted(self, folder: Path) -> CompactSoundJudge:
        """The same with the network of a folder, or with its sentence encoder for words outside the vocabulary.

        Raises:
            UsageError: What the folder lacks, or what is wrong with it.
        """
        encodes = (folder / "config.json").is_file()
        found = CompactSoundJudge(self._folder, folder) if encodes else CompactSoundJudge(folder, self._sentences)
        found.batch([], [])  # opens the files now, not at the first sound
        return found

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        """Judge one output, float32 of the mixture's shape, of any level and up to 100 ms late."""
        return self.batch([case], [separated])[0]

    def batch(self, cases: Sequence[SoundCase], separated: Sequence[Samples]) -> list[SoundVerdict]:
        """Judge several; cases in a row with one ``mixture`` array share what is heard in it."""
        return self.listener.judge(self.name, cases, separated)


JUDGE = CompactSoundJudge()
