"""`sound.cues.v1`: judges a separated sound by ten features a person can check, without any network.

It listens to mixture and output, and to spans where there are some; words and pictures are not used, so that a wrong
source is known by its times alone. Measured in ``docs/cards/sound.cues.v1.md``.

Powers are of cells of 200 ms and one band, relative to the mixture's mean; loudness is their power of .3, as in the
truth by formula.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auscult.arrays.resampling import mono, mono_at, moved
from auscult.arrays.spectra import wanted_frames
from auscult.judge.sound.shared import (
    STEP_S,
    STEPS,
    band_edges,
    cells_of,
    delay_of,
    gain_of,
    is_silent,
    scored,
    silent_output,
    spectra,
    unjudged,
)
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
    Span,
)

RATE_HZ: Final = 16_000
FEATURES: Final[Mapping[str, str]] = {
    "kept": "how much of the mixture's loudness is kept",
    "unexplained": "sound in the output that the mixture has not",
    "like_the_rest": "how alike output and rest are in when and where they are loud",
    "half_open": "places where output and rest share the sound evenly",
    "undecided": "how much the share that is kept differs from place to place",
    "flicker": "how restless the output is beside the mixture, as musical noise is",
    "duller": "how much lower the output sounds than the mixture",
    "gaps": "moments in which the output is silent and the mixture is not",
    "noisier": "how much less tonal the output is than the mixture",
    "modulation": "how much stronger the output's loudness varies than the mixture's",
}
SPAN_FEATURES: Final[Mapping[str, str]] = {
    "kept_inside": "how much of the mixture is kept where the target should be heard",
    "kept_outside": "how much of the mixture is kept where it should not",
    "inside": "how much of the output is heard where the target should be",
}
HARD_FEATURES: Final = (
    "mixture_rank", "mixture_modulation", "mixture_flatness", "mixture_busy", "mixture_change",
    "open", "louder_inside", "alike_inside",
)  # fmt: skip
_FLOOR: Final = 1e-6
_EXPONENT: Final = 0.3
_HEARD_DB: Final = -40.0


def _loudness(power: Doubles, masker: Doubles | float = 0.0) -> Doubles:
    floor = _FLOOR + 0.03 * masker
    return np.asarray((power + floor) ** _EXPONENT - floor**_EXPONENT)


class OpenedMixture:
    """A mixture, float32 (samples,) or (channels, samples), opened once for all its outputs."""

    def __init__(self, mixture: Samples, *, rate_hz: int) -> None:
        self.samples = mono_at(mixture, rate_hz=rate_hz, wanted_hz=RATE_HZ)
        self.spectra = spectra(self.samples, rate_hz=RATE_HZ)
        self.looks = _looks(self.spectra)

    def told(self, spans: Sequence[Span]) -> bool:
        """Whether spans tell where the target is heard from where it is not."""
        return open_frames(spans, len(self.spectra) // STEPS, hop_s=STEP_S * STEPS) is not None

    def difficulty(self, spans: Sequence[Span]) -> Doubles:
        """``HARD_FEATURES`` of mixture and spans."""
        power = self.looks.bands
        loud = _loudness(power / max(power.sum(axis=0).mean(), 1e-20))
        sizes = np.linalg.svd(loud, compute_uv=False)
        share = sizes / max(sizes.sum(), 1e-12)
        change = np.abs(np.diff(loud, axis=1)).sum() / max(loud.sum(), 1e-12)
        busy = float((loud > 0.3 * loud.max()).mean())
        row = [-float((share * np.log(share + 1e-12)).sum()), self.looks.modulation, self.looks.flatness, busy, change]
        inside = open_frames(spans, loud.shape[1])
        if inside is None:
            return np.array([*row, 1.0, 0.0, 1.0])
        on, off = (loud[:, part].mean(axis=1) if part.any() else np.zeros(len(loud)) for part in (inside, ~inside))
        level = float(np.log((on.sum() + 0.1) / (off.sum() + 0.1)))
        return np.array([*row, float(inside.mean()), level, _correlation(on, off)])

    def features(self, separated: Samples, *, rate_hz: int, spans: Sequence[Span]) -> tuple[Doubles, Doubles]:
        """Measure an output, float32 (samples,) or (channels, samples), as long as the mixture.

        Values of ``FEATURES``, and of ``SPAN_FEATURES`` where spans tell inside from outside; and of each 200 ms the
        loudness kept, left out and unexplained, (3, steps).
        """
        output = mono_at(separated, rate_hz=rate_hz, wanted_hz=RATE_HZ)
        output = moved(output, delay_of(self.samples, output, rate_hz=RATE_HZ))
        spectrum = spectra(output, rate_hz=RATE_HZ)
        cells = cells_of(self.spectra, spectrum, rate_hz=RATE_HZ)
        gain, mean = gain_of(cells) ** 2, max(cells.mixture.sum(axis=0).mean(), 1e-20)
        mixture, kept = cells.mixture / mean, np.minimum(cells.explained * gain, cells.mixture) / mean
        strange = np.maximum(cells.output - cells.explained, 0.0) * gain / mean
        rest = np.maximum(mixture - kept, 0.0)
        loud, ours, left = (_loudness(part) for part in (mixture, kept, rest))
        odd, total = _loudness(strange, kept), max(loud.sum(), 1e-12)
        share, weights = np.sqrt(kept / np.maximum(mixture, 1e-12)), loud / total
        middle, looks = float((weights * share).sum()), _looks(spectrum)
        over_time = loud.sum(axis=0)
        silent = (ours + odd).sum(axis=0) < 0.05 * over_time
        values = [
            ours.sum() / total,
            odd.sum() / (ours.sum() + 0.02 * total),
            _correlation(ours.ravel(), left.ravel()),
            float((weights * 4 * share**2 * (1 - share**2)).sum()),
            float(np.sqrt((weights * (share - middle) ** 2).sum())),
            looks.flicker - self.looks.flicker,
            self.looks.centre - looks.centre,
            float((over_time * silent).sum() / total),
            looks.flatness - self.looks.flatness,
            looks.modulation - self.looks.modulation,
        ]
        inside = open_frames(spans, ours.shape[1], hop_s=STEP_S * STEPS)
        if inside is not None:
            loudness = (ours + odd).sum(axis=0)
            values += [
                float(ours[:, inside].sum() / (loud[:, inside].sum() + 0.02 * total)),
                float(ours[:, ~inside].sum() / (loud[:, ~inside].sum() + 0.02 * total)),
                float(loudness[inside].sum() / max(loudness.sum(), 1e-12)),
            ]
        return np.array(values, np.float64), np.stack([part.sum(axis=0) for part in (ours, left, odd)])


class _Looks(NamedTuple):
    """What a spectrum looks like, whatever its level."""

    bands: Doubles  # power, (bands, frames)
    flicker: float  # mean change from frame to frame in dB
    centre: float  # mean band, weighted by loudness
    flatness: float  # mean log of geometric over arithmetic mean of neighbouring bins, 0 of noise, lower of tones
    modulation: float  # deviation of the loudness over time, relative to its mean


def _looks(spectrum: NDArray[np.complex64]) -> _Looks:
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float64)
    edges = band_edges(power.shape[1], RATE_HZ)
    bands = np.stack([power[:, low:high].sum(axis=1) for low, high in pairwise(edges)])
    top = max(float(bands.max()), 1e-20)
    level_db = np.maximum(10 * np.log10(bands / top + 1e-12), _HEARD_DB - 10)
    audible = level_db[:, 1:] > _HEARD_DB
    loud = _loudness(bands / top)
    over_time = loud.sum(axis=0)
    logs = np.log(power[:, edges[0] : edges[-1]] / top + 1e-9)
    strong = logs.max(axis=1) > np.log(1e-4)
    flat = logs.mean(axis=1) - np.log(np.exp(logs).mean(axis=1))
    return _Looks(
        bands,
        float((np.abs(np.diff(level_db, axis=1)) * audible).sum() / max(audible.sum(), 1)),
        float((loud.sum(axis=1) * np.arange(len(loud))).sum() / max(loud.sum(), 1e-12)),
        float(flat[strong].mean()) if strong.any() else 0.0,
        float(over_time.std() / max(over_time.mean(), 1e-12)),
    )


def open_frames(spans: Sequence[Span], frames: int, *, hop_s: float = STEP_S) -> NDArray[np.bool_] | None:
    """In which steps of ``hop_s`` the target should be heard; None where spans do not tell some from others."""
    inside = wanted_frames(spans, frames, hop_s=hop_s)
    return inside if inside.any() and not inside.all() else None


def _correlation(one: Doubles, two: Doubles) -> float:
    first, second = one - one.mean(), two - two.mean()
    return float(first @ second / np.sqrt(max(first @ first * (second @ second), 1e-20)))


FARTHEST: Final = 4.0
"""Deviations from the mean beyond which a feature says no more."""
LEAST_SIZE: Final = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """Ridge regression on features, their parts above knots, and their products; outputs are 1..5."""

    mean: Doubles  # of each feature, (f,)
    spread: Doubles  # deviation of each
    knots: Doubles  # (k, f), in deviations
    weights: Doubles  # (basis, outputs)

    def standardised(self, values: Doubles) -> Doubles:
        """Features (n, f) in deviations from their means."""
        return np.asarray(np.clip((values - self.mean) / self.spread, -FARTHEST, FARTHEST))

    def basis(self, values: Doubles) -> Doubles:
        """What is weighted, (n, basis)."""
        scaled = self.standardised(values)
        first, second = np.triu_indices(scaled.shape[1], 1)
        bent = [np.maximum(scaled - knot, 0.0) for knot in self.knots]
        return np.hstack([np.ones((len(scaled), 1)), scaled, *bent, scaled[:, first] * scaled[:, second]])

    def __call__(self, values: Doubles) -> Doubles:
        """Outputs (n, outputs) of features (n, f)."""
        return np.asarray(np.clip(self.basis(values) @ self.weights, 1.0, 5.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class CuesModel:
    """What is fitted for outputs with spans, or for those without."""

    scores: Regression  # by ``PERFORMANCE``, from the features of the output
    hard: Regression  # by ``DIFFICULTY_AXES``, from those of the mixture
    errors: Doubles  # weights of the errors' size on the basis of the scores, (basis, 4)
    reach: Doubles  # conformal: how many sizes the interval reaches down and up, (4, 2)
    precision: Doubles  # inverse covariance of the standardised features
    distances: Doubles  # that half of the calibration's outputs keep within in feature space, and 95 %

    def distance(self, values: Doubles) -> Doubles:
        """From the middle of the training's outputs, (n,)."""
        scaled = self.scores.standardised(values)
        return np.asarray(np.sqrt(np.einsum("ni,ij,nj->n", scaled, self.precision, scaled)))

    def novelty(self, values: Doubles) -> Doubles:
        """0 within the median distance of the calibration, .5 at its 95 %, 1 as far again beyond; (n,)."""
        near, far = self.distances
        return np.asarray(np.interp(self.distance(values), (near, far, 2 * far - near), (0.0, 0.5, 1.0)))

    def sizes(self, values: Doubles) -> Doubles:
        """How large errors are expected to be, larger where novel, (n, 4)."""
        expected = np.clip(self.scores.basis(values) @ self.errors, LEAST_SIZE, 2.0)
        return np.asarray(expected * (1.0 + self.novelty(values)[:, None]))

    def intervals(self, values: Doubles) -> Doubles:
        """Scores with the ends of their 90 % intervals, (n, 4, 3)."""
        scores, sizes = self.scores(values), self.sizes(values)
        ends = [scores, scores - sizes * self.reach[:, 0], scores + sizes * self.reach[:, 1]]
        return np.stack([np.clip(end, 1.0, 5.0) for end in ends], axis=2)

    def effects(self, values: Doubles) -> Doubles:
        """By how much each of an output's features (f,) moves the overall score, beside the feature's mean."""
        others = np.tile(values, (len(values), 1))
        np.fill_diagonal(others, self.scores.mean)
        scores = self.scores(np.vstack([values, others]))[:, PERFORMANCE.index("overall")]
        return np.asarray(scores[0] - scores[1:])


def model_json(part: Any) -> Any:
    """A model as JSON values of six decimals; ``model_of`` reads them."""
    if isinstance(part, np.ndarray):
        return np.round(part, 6).tolist()
    return {name: model_json(value) for name, value in vars(part).items()}


def model_of(value: Mapping[str, Any]) -> CuesModel:
    """Read what ``model_json`` gave."""
    parts = {name: np.array(part) for name, part in value.items() if not isinstance(part, dict)}
    scores, hard = (
        Regression(**{key: np.array(numbers) for key, numbers in value[name].items()}) for name in ("scores", "hard")
    )
    return CuesModel(scores=scores, hard=hard, **parts)


@lru_cache(maxsize=1)
def shipped() -> dict[bool, CuesModel]:
    """The models in the package, for outputs with spans and without."""
    text = Path(__file__).with_name("coefficients.json").read_text(encoding="utf-8")
    return {name == "spans": model_of(value) for name, value in json.loads(text).items()}


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
        """Judge several; cases in a row with one ``mixture`` array share what is measured of it."""
        verdicts: list[SoundVerdict] = []
        last: tuple[Samples, OpenedMixture] | None = None
        for case, output in zip(cases, separated, strict=True):
            mixture = mono(case.mixture)
            if is_silent(mixture):
                verdicts.append(unjudged(case, self.name))
                continue
            if last is None or last[0] is not case.mixture:
                last = case.mixture, OpenedMixture(mixture, rate_hz=case.rate_hz)
            verdicts.append(self._verdict(case, mono(output), last[1], silent=is_silent(mixture, mono(output))))
        return verdicts

    def _verdict(self, case: SoundCase, output: Samples, mixture: OpenedMixture, *, silent: bool) -> SoundVerdict:
        spans = mixture.told(case.spans)
        model, evidence = shipped()[spans], SoundEvidence(spans=spans)
        hard = model.hard(mixture.difficulty(case.spans)[None])[0].tolist()
        difficulty = dict(zip(DIFFICULTY_AXES, hard, strict=True))
        if silent:
            return silent_output(case, self.name, difficulty=difficulty, evidence=evidence)
        values, over_time = mixture.features(output, rate_hz=case.rate_hz, spans=case.spans)
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
    effects = model.effects(values)
    strongest = int(np.abs(effects).argmax())
    name = [*FEATURES.values(), *SPAN_FEATURES.values()][strongest]
    direction = "raises" if effects[strongest] > 0 else "lowers"
    checked = "told from spans alone" if len(values) > len(FEATURES) else "not checked"
    return (
        f"Overall {overall:.1f} of 5; most is said by {name} ({values[strongest]:.2f}), which {direction} it by "
        f"{abs(effects[strongest]):.1f}. Which source it is was {checked}."
    )


def _curves(case: SoundCase, over_time: Doubles, *, lost: float, stray: float) -> SoundCurves:
    """What is missing, where the mixture is left out; what is left over, all that is heard outside the spans."""
    kept, left, odd = over_time
    inside = open_frames(case.spans, kept.size, hop_s=STEP_S * STEPS)
    target = np.where(True if inside is None else inside, kept + left, 0.0)
    mean = np.where(target > 0, left, 0.0).sum() / max(target.sum(), 1e-9)
    missing = np.where(target > 0, left / np.maximum(target, 1e-9), 0.0) * lost / max(mean, 1e-3)
    audible = kept + odd > 0.02 * (kept + left).max()
    left_over = audible * np.where(True if inside is None else inside, stray, 1.0)
    missing, left_over = (np.clip(curve, 0.0, 1.0).tolist() for curve in (missing, left_over))
    return SoundCurves(hop_s=STEP_S * STEPS, missing=tuple(missing), left_over=tuple(left_over))


JUDGE = SoundCuesJudge()
