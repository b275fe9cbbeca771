"""Judges of separated sound whose weights lie in a folder of the user's: `sound.saj.v1` and `sound.sam_audio.v1`.

``saj@FOLDER`` is a SAJ, as ``auscult train saj`` writes it (SAM Audio Judge, Sec. III-B). ``sam_audio@FOLDER`` runs the
published judge, ``SAMAudioJudgeModel`` of the package ``sam_audio``, on what ``from_pretrained`` finds in the folder.
Package and weights are under Meta's SAM License, need an account, and were not there when this was written: the adapter
is tested on a stand-in of the interface. It takes text alone, 48 kHz mono, in multiples of 1920 samples.

Files of a folder that are the judge's: ``card.json``, its measured card, and ``calibration.json``, the 5 % and 95 %
quantiles of true minus stated scores on a named split, ``{"schema": 1, "split": "val", "n": 400, "off": {"recall":
[-1.1, 0.9]}}``, by which its intervals are told. A score without has the interval 1..5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

import numpy as np
from msgspec import Meta

from auscult.arrays.resampling import mono, mono_at
from auscult.errors import UsageError
from auscult.judge.sound.shared import aligned, is_silent, scored, silent_output, unjudged
from auscult.record.codec import read_file
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, Metadata, Samples, SoundCase, SoundEvidence, SoundVerdict

if TYPE_CHECKING:
    from auscult.nets.saj.weights import Asker, PublishedAsker

CARD: Final = "card.json"
CALIBRATION: Final = "calibration.json"
_MOST_BYTES: Final = 10_000
_AT_ONCE: Final = 8
_Off = Annotated[float, Meta(ge=-4, le=4)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SajFit:
    """How far off stated scores were: 5 and 95 % quantiles of true minus stated by axis, on ``n`` items of a split."""

    schema: Literal[1]
    split: str
    n: Annotated[int, Meta(ge=20)]
    off: Mapping[str, tuple[_Off, _Off]]


class FolderSoundJudge(ABC):
    """A judge of separated sounds whose weights lie in a folder, of which a ``UsageError`` says what is missing.

    They are loaded at the first sound.
    """

    name: str
    meta: Metadata
    prompts: tuple[str, ...] = ("text",)
    uses_frames = False
    packages: tuple[str, ...] = ("torch", "transformers", "safetensors")
    install = "pip install 'auscult[train]'"

    def __init__(self, folder: Path) -> None:
        if lacking := [name for name in self.packages if find_spec(name) is None]:
            raise UsageError(f"{self.name} needs {', '.join(lacking)}, not installed", hint=self.install)
        self.folder = folder
        self._off: Mapping[str, tuple[float, float]] = {}
        if (folder / CALIBRATION).exists():
            self._off = read_file(
                SajFit, folder / CALIBRATION, what="the judge's calibration", expected="the keys of Calibration",
                most_bytes=_MOST_BYTES, error=UsageError,
            ).off  # fmt: skip
        if (folder / CARD).exists():
            self.card = folder / CARD

    @classmethod
    def fitted(cls, folder: Path) -> Self:
        """The judge of a folder, as ``jobs.judges`` loads it."""
        return cls(folder)

    @abstractmethod
    def estimates(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """Scores of a few outputs by axis; those of difficulty, if any, begin with ``difficulty_``."""

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        """Judge one output."""
        (verdict,) = self.batch([case], [separated])
        return verdict

    def batch(self, cases: Sequence[SoundCase], separated: Sequence[Samples]) -> list[SoundVerdict]:
        """Judge several; a mixture that they share is encoded once for eight of them."""
        pairs = list(zip(cases, separated, strict=True))
        valid = [index for index, (case, _) in enumerate(pairs) if not is_silent(case.mixture) and self._evidence(case)]
        by_index: dict[int, Mapping[str, float]] = {}
        for start in range(0, len(valid), _AT_ONCE):
            part = valid[start : start + _AT_ONCE]
            estimates = self.estimates([pairs[index] for index in part])
            if not all(isfinite(score) for scores in estimates for score in scores.values()):
                raise UsageError("the network gives what is no number", path=self.folder, expected="whole weights")
            by_index.update(zip(part, estimates, strict=True))
        return [self._verdict(case, output, by_index.get(index)) for index, (case, output) in enumerate(pairs)]

    def _evidence(self, case: SoundCase) -> SoundEvidence | None:
        """The prompts of a case that this judge takes; None where there is none, so that there is no basis."""
        available = {"text": (case.text or "").strip(), "spans": case.spans, "picture": case.frames is not None}
        text, spans, picture = (bool(name in self.prompts and has) for name, has in available.items())
        return SoundEvidence(text=text, spans=spans, picture=picture) if text or spans or picture else None

    def _verdict(self, case: SoundCase, output: Samples, estimates: Mapping[str, float] | None) -> SoundVerdict:
        evidence = self._evidence(case)
        if is_silent(case.mixture):
            return unjudged(case, self.name)
        if evidence is None or estimates is None:
            reason = f"It was not said what is wanted in a way that this judge takes: {', '.join(self.prompts)}."
            return scored(case, self.name, {}, difficulty={}, evidence=SoundEvidence(), rationale=reason)
        bounded = {axis: min(max(score, 1.0), 5.0) for axis, score in estimates.items()}
        difficulty = {axis: bounded[name] for axis in DIFFICULTY_AXES if (name := f"difficulty_{axis}") in bounded}
        if is_silent(case.mixture, output):
            return silent_output(case, self.name, difficulty=difficulty, evidence=evidence)
        scores = {axis: self._interval(axis, bounded[axis]) for axis in PERFORMANCE}
        weakest = min(PERFORMANCE[:3], key=bounded.__getitem__)
        rationale = f"The weakest of the three is {weakest}, {bounded[weakest]:.1f} of 5."
        rationale += "" if self._off else " How far off this judge is was not measured."
        return scored(case, self.name, scores, difficulty=difficulty, evidence=evidence, rationale=rationale)

    def _interval(self, axis: str, score: float) -> tuple[float, float, float]:
        low, high = self._off.get(axis, (-4.0, 4.0))
        return score, max(1.0, min(score, score + low)), min(5.0, max(score, score + high))


class SajJudge(FolderSoundJudge):
    """Judges separated sounds by a network of a folder that ``auscult train saj`` wrote."""

    name = "sound.saj.v1"
    meta = Metadata(
        summary="a SAJ of yours: four scores and five of difficulty",
        goal="judges a separated sound by text, spans and pictures in any combination",
        modality="sound",
        source="SAM Audio Judge, Sec. III-B, Fig. 3",
        truth="none is read",
    )

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        from auscult.nets.saj.weights import read_design

        design = read_design(folder)
        if lacking := set(PERFORMANCE) - set(design.axes):
            raise UsageError(f"the network has no head for {', '.join(sorted(lacking))}", path=folder,
                             expected=f"a network with the axes {', '.join(PERFORMANCE)}")  # fmt: skip
        self.prompts, self.uses_frames = design.prompts, "picture" in design.prompts
        self._asker: Asker | None = None

    def estimates(self, shown: Sequence[tuple[SoundCase, Samples]]) -> list[Mapping[str, float]]:
        """As the network gives them, of outputs in time and at level with their mixtures."""
        from auscult.nets.saj.weights import Asker

        self._asker = self._asker or Asker(self.folder)
        return self._asker.scores([(case, _in_place(case, output)) for case, output in shown])


def _in_place(case: SoundCase, output: Samples) -> Samples:
    if is_silent(case.mixture, output):  # judged by rule; what is asked is the difficulty
        return output
    return aligned(mono(case.mixture), mono(output), rate_hz=case.rate_hz)[0]


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
        from auscult.nets.saj.weights import PublishedAsker

        self._asker = self._asker or PublishedAsker(self.folder)
        results: list[Mapping[str, float]] = [{}] * len(shown)
        sounds = [(_prepared(case.mixture, case.rate_hz), _prepared(output, case.rate_hz)) for case, output in shown]
        for length in sorted({pair[0].size for pair in sounds}):
            places = [index for index, pair in enumerate(sounds) if pair[0].size == length]
            texts = [(shown[index][0].text or "").strip().lower() for index in places]
            batch_scores = self._asker.scores(texts, [sounds[index] for index in places], rate_hz=RATE_HZ)
            for index, scores in zip(places, batch_scores, strict=True):
                results[index] = scores
        return results


def _prepared(sound: Samples, rate_hz: int) -> Samples:
    resampled = mono_at(sound, rate_hz=rate_hz, wanted_hz=RATE_HZ)
    return np.asarray(np.pad(resampled, (0, -resampled.size % BLOCK), mode="reflect"), np.float32)
