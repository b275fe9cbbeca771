"""`sound.cues.v1`: judges a separated sound by ten features a person can check, without any network.

It listens to mixture and output, and to spans where there are some; words and pictures are not used, so that a wrong
source is known by its times alone. Measured in ``docs/cards/sound.cues.v1.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from auscult.arrays.resampling import mono
from auscult.judge.sound.shared import STEP_S, STEPS, is_silent, scored, silent_output, unjudged
from auscult.types import (
    DIFFICULTY_AXES,
    PERFORMANCE,
    Doubles,
    Metadata,
    Samples,
    SoundCase,
    SoundCurves,
    SoundEvidence,
    SoundVerdict,
)

if TYPE_CHECKING:
    from auscult.judge.sound.cues.features import Heard
    from auscult.judge.sound.cues.model import CuesModel


class SoundCuesJudge:
    """Judges outputs by ten features of sound and a regression; numpy only."""

    name = "sound.cues.v1"
    meta = Metadata(
        summary="four scores from ten readable features of mixture and output; the explainable baseline",
        goal="outputs that miss some of the target, hold something else, or are damaged",
        modality="sound",
        source="own features; the axes of SAM Audio Judge, Table I",
        truth="none is read",
    )

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        """Judge one output, float32 of the mixture's shape, of any level and up to 100 ms late."""
        return self.batch([case], [separated])[0]

    def batch(self, cases: Sequence[SoundCase], separated: Sequence[Samples]) -> list[SoundVerdict]:
        """Judge several; cases in a row with one ``mixture`` array share what is read off it."""
        from auscult.judge.sound.cues.features import Heard

        found: list[SoundVerdict] = []
        last: tuple[Samples, Heard] | None = None
        for case, output in zip(cases, separated, strict=True):
            mixture = mono(case.mixture)
            if is_silent(mixture):
                found.append(unjudged(case, self.name))
                continue
            if last is None or last[0] is not case.mixture:
                last = case.mixture, Heard(mixture, rate_hz=case.rate_hz)
            found.append(self._verdict(case, mono(output), last[1], silent=is_silent(mixture, mono(output))))
        return found

    def _verdict(self, case: SoundCase, output: Samples, heard: Heard, *, silent: bool) -> SoundVerdict:
        from auscult.judge.sound.cues.model import shipped

        spans = heard.told(case.spans)
        model, evidence = shipped()[spans], SoundEvidence(spans=spans)
        hard = model.hard(heard.difficulty(case.spans)[None])[0].tolist()
        difficulty = dict(zip(DIFFICULTY_AXES, hard, strict=True))
        if silent:
            return silent_output(case, self.name, difficulty=difficulty, evidence=evidence)
        values, over_time = heard.features(output, rate_hz=case.rate_hz, spans=case.spans)
        ends = model.intervals(values[None])[0].tolist()
        scores = dict(zip(PERFORMANCE, map(tuple, ends), strict=True))
        return scored(
            case,
            self.name,
            scores,
            difficulty=difficulty,
            evidence=evidence,
            rationale=_rationale(scores["overall"][0], values, model),
            novelty=float(model.novelty(values[None])[0]),
            curves=_curves(case, over_time, lost=(5 - scores["recall"][0]) / 4, stray=(5 - scores["precision"][0]) / 4),
        )


def _rationale(overall: float, values: Doubles, model: CuesModel) -> str:
    from auscult.judge.sound.cues.features import FEATURES, SPAN_FEATURES

    effects = model.effects(values)
    most = int(np.abs(effects).argmax())
    name = [*FEATURES.values(), *SPAN_FEATURES.values()][most]
    way = "raises" if effects[most] > 0 else "lowers"
    checked = "told from spans alone" if len(values) > len(FEATURES) else "not checked"
    return (
        f"Overall {overall:.1f} of 5; most is said by {name} ({values[most]:.2f}), which {way} it by "
        f"{abs(effects[most]):.1f}. Which source it is was {checked}."
    )


def _curves(case: SoundCase, over_time: Doubles, *, lost: float, stray: float) -> SoundCurves:
    """What is lost, put where the mixture is left out; where the target should not be, all is left over."""
    from auscult.judge.sound.cues.features import open_frames

    kept, left, odd = over_time
    inside = open_frames(case.spans, kept.size, hop_s=STEP_S * STEPS)
    whole = np.where(True if inside is None else inside, kept + left, 0.0)
    mean = np.where(whole > 0, left, 0.0).sum() / max(whole.sum(), 1e-9)
    missing = np.where(whole > 0, left / np.maximum(whole, 1e-9), 0.0) * lost / max(mean, 1e-3)
    heard = kept + odd > 0.02 * (kept + left).max()
    left_over = heard * np.where(True if inside is None else inside, stray, 1.0)
    missing, left_over = (np.clip(curve, 0.0, 1.0).tolist() for curve in (missing, left_over))
    return SoundCurves(hop_s=STEP_S * STEPS, missing=tuple(missing), left_over=tuple(left_over))


JUDGE = SoundCuesJudge()
