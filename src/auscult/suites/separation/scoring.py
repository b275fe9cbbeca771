"""Scores stored outputs with the true stems, in worker processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from auscult.arrays.resampling import mono
from auscult.errors import InputError
from auscult.jobs.predict import MediaReader
from auscult.media.paths import inside
from auscult.media.sound import read_sound
from auscult.outcome import Failed, Outcome, Scored, Signature, Undefined
from auscult.record.schema import score_to_json
from auscult.score.sound import Delay, find_delay, si_sdr
from auscult.score.sound.bss_eval import sdr
from auscult.score.sound.perceptual import Perceptual, difficulty, perceptual
from auscult.suites.core.runner import ToScore
from auscult.suites.separation.cases import CaseSounds, Prepared, SeparationCase
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, Samples

SI_SDR: Final = "SI-SDR"
IMPROVEMENT: Final = "SI-SDRi"
SDR: Final = "SDR"
DECIBELS: Final = (SI_SDR, IMPROVEMENT, SDR)
SCALES: Final = ("overall", *(name for name in PERFORMANCE if name != "overall"))
METRICS: Final = (*SCALES, *DECIBELS)
"""Metrics of each output: the four perceptual scores, 1..5, then decibels."""
_NO_STEM: Final = Undefined("no stem of what is wanted is known")

StemScores = Mapping[str, Outcome[float]]


class OutputScorer:
    """Scores outputs in one process; consecutive outputs of equal requests are scored once."""

    def __init__(self, record: Path) -> None:
        self._record, self._reader = record, MediaReader()
        self._last: tuple[tuple[str, str], StemScores, Mapping[str, Any]] | None = None

    def __call__(self, given: ToScore[Prepared]) -> list[dict[str, Any]] | Failed:
        """The rows of one output."""
        row, case = given.row, given.prepared.case
        key = (str(row["reply"]), case.truth)
        if self._last is None or self._last[0] != key:
            sounds = given.prepared.ask(self._reader)
            output = self._output(row, sounds)
            known = {"delay_s": _delay_s(output, sounds), "by": row.get("by")}
            known["difficulty"] = difficulty_of(case, sounds)
            self._last = key, scores_of(output, sounds), {name: value for name, value in known.items() if value}
        _, scores, answer = self._last
        about = {name: row[name] for name in ("key", "model", "condition")} | {"clip": case.clip, "truth": case.truth}
        return [{**score_to_json(case.id, name, scores[name]), **about, "answer": answer} for name in METRICS]

    def _output(self, row: Mapping[str, Any], sounds: CaseSounds) -> Samples:
        path = inside(self._record, str(row["reply"]))
        sound = read_sound(path, cut=False)
        if (sound.rate_hz, sound.samples.shape[1]) != (sounds.rate_hz, sounds.mixture.shape[-1]):
            raise InputError(
                f"the stored output has {sound.samples.shape[1]} samples at {sound.rate_hz} Hz",
                expected=f"{sounds.mixture.shape[-1]} at {sounds.rate_hz} Hz, as its mixture",
                path=path,
            )
        output: Samples = sound.samples[0]
        return output


def scores_of(output: Samples, sounds: CaseSounds) -> StemScores:
    """All scores of an output, float32 (samples,); one that does not exist is Undefined, with the reason."""
    if not sounds.stems:
        return dict.fromkeys(METRICS, _NO_STEM)
    ratings = perceptual(output, sounds.stems, rate_hz=sounds.rate_hz)
    scores: dict[str, Outcome[float]] = {name: _scale(ratings, name) for name in SCALES}
    stem, whole = sounds.stems[0], mono(sounds.mixture)
    scores[SI_SDR], before = si_sdr(output, stem), si_sdr(whole, stem)
    scores[IMPROVEMENT] = _difference(scores[SI_SDR], before)
    scores[SDR] = sdr(output, stem)
    return scores


def _scale(ratings: Perceptual | Undefined, name: str) -> Outcome[float]:
    if isinstance(ratings, Undefined):
        return ratings
    value = min(5.0, max(1.0, float(getattr(ratings, name))))  # rounding may slightly exceed the scale
    return Scored(value, Signature.of(**{**ratings.signature.as_dict(), "metric": name}))


def _difference(after: Outcome[float], before: Outcome[float]) -> Outcome[float]:
    if isinstance(after, Scored) and isinstance(before, Scored):
        signature = {**after.signature.as_dict(), "metric": "si_sdr - si_sdr of the mixture"}
        return Scored(after.value - before.value, Signature.of(**signature))
    return before if isinstance(after, Scored) else after


def _delay_s(output: Samples, sounds: CaseSounds) -> float:
    """The delay of the output in seconds, if it affects scores; else 0."""
    found = find_delay(output, sounds.stems[0], rate_hz=sounds.rate_hz) if sounds.stems else None
    return round(found.delay_s, 6) if isinstance(found, Delay) and found.named else 0.0


def difficulty_of(case: SeparationCase, sounds: CaseSounds) -> Mapping[str, float]:
    """The difficulty of a case by axis, 1..5: from the INPUT, else from its stems; may be empty."""
    known = {} if case.item.truth is None else dict(case.item.truth.difficulty)
    if set(known) >= set(DIFFICULTY_AXES) or not sounds.stems:
        return known
    try:
        return {**difficulty(sounds.stems, rate_hz=sounds.rate_hz, prompt=case.item.query), **known}
    except InputError:  # undefined for a silent stem
        return known
