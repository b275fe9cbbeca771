"""The laws of judges of separated sounds, over examples; ``testing.judges`` has those of mask judges.

Example::

    @pytest.mark.parametrize("check", CHECKS)
    @pytest.mark.parametrize("example", EXAMPLES)
    def test_contract(check, example):
        check("sound.cues.v1", *EXAMPLES[example])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from auscult import registry
from auscult.judge.cards import Card, Result
from auscult.rng import generator
from auscult.testing import require
from auscult.testing.judges import describes_itself
from auscult.types import (
    DIFFICULTY_AXES,
    PERFORMANCE,
    Samples,
    SoundCase,
    SoundJudge,
    SoundVerdict,
    Span,
)

SAME = 1e-3
"""Scores of a single output and of a batch differ by no more."""
ALIKE = 0.15
"""Nor do those of an output at another level, or 20 ms late."""


def _mixture(seconds: float, *, rate_hz: int, seed: int) -> tuple[Samples, Samples]:
    """A voiced sound that comes and goes, and noise that swells, float32 (samples,) each."""
    rng, times = generator(seed, "contract sound"), np.arange(round(seconds * rate_hz)) / rate_hz
    pitch = 2 * np.pi * rng.uniform(120, 240)
    tone = sum(np.sin(pitch * harmonic * times + rng.uniform(0, 6)) / harmonic for harmonic in range(1, 12))
    noise = np.convolve(rng.normal(size=times.size), np.ones(4) / 4, mode="same") * (1 + np.sin(3 * times))
    audible = (np.sin(2 * np.pi * times / 1.3) > -0.2) | (seconds < 0.5)
    return (0.1 * tone * audible).astype(np.float32), (0.1 * noise).astype(np.float32)


def _example(seconds: float, rate_hz: int, *, channels: int = 1, **prompts: Any) -> tuple[SoundCase, Samples]:
    tone, noise = _mixture(seconds, rate_hz=rate_hz, seed=rate_hz)
    mixture, output = (np.repeat(sound[None], channels, axis=0) for sound in (tone + noise, tone + noise / 4))
    return SoundCase(id=f"{seconds:g} s", mixture=mixture, rate_hz=rate_hz, **prompts), output


_SPANS = (Span("+", 0.0, 0.7), Span("-", 0.7, 1.3))
EXAMPLES: Mapping[str, tuple[SoundCase, Samples]] = {
    "no prompt": _example(3.0, 16_000),
    "text": _example(3.0, 16_000, text="dog barking"),
    "spans": _example(3.0, 16_000, spans=_SPANS),
    "picture": _example(3.0, 16_000, frames=np.full((1, 32, 48, 3), 128, np.uint8)),
    "all prompts": _example(2.0, 32_000, text="a zither", spans=_SPANS, frames=np.full((2, 32, 48, 3), 90, np.uint8)),
    "stereo": _example(2.0, 44_100, channels=2, text="speech"),
    "8 kHz": _example(2.0, 8_000),
    "48 kHz": _example(2.0, 48_000),
    ".05 s": _example(0.05, 16_000, text="dog"),
}


def gives_a_verdict(name: str, case: SoundCase, separated: Samples) -> None:
    """Four scores of 1..5 in their intervals and five axes of difficulty; inputs unchanged; twice the same."""
    arrays = [case.mixture, separated] + ([] if case.frames is None else [case.frames])
    before = [array.tobytes() for array in arrays]
    verdict = _verdict(name, case, separated)
    require([array.tobytes() for array in arrays] == before, "mixture, output and frames are unchanged")
    second = _verdict(name, case, separated)
    require(replace(verdict, seconds=0.0) == replace(second, seconds=0.0), "the same input, the same verdict")
    require(verdict.id == case.id and verdict.judge == name, "the verdict is of the case, and names its judge")
    require(verdict.rationale.strip() and verdict.action is None, "there is a sentence; the policy decides")
    require(0 <= verdict.novelty <= 1, "novelty is 0..1")
    for axis in PERFORMANCE:
        low, score, high = (getattr(verdict, axis + end) for end in ("_low", "", "_high"))
        require(None not in (low, score, high), f"{axis} has a score and an interval")
        require(1 <= low <= score <= high <= 5, f"{axis}: 1 <= {low} <= {score} <= {high} <= 5")
    require(set(verdict.difficulty) == set(DIFFICULTY_AXES), "the axes of difficulty are all there")
    require(all(1 <= value <= 5 for value in verdict.difficulty.values()), "difficulty is 1..5")


def is_honest_about_evidence(name: str, case: SoundCase, separated: Samples) -> None:
    """It does not claim to have used a prompt that it was not given."""
    evidence = _verdict(name, case, separated).evidence
    require(not evidence.text or case.text, "without text, none was understood")
    require(not evidence.spans or case.spans, "without spans, none were used")
    require(not evidence.picture or case.frames is not None, "without a picture, none was recognised")


def judges_difficulty_without_the_output(name: str, case: SoundCase, separated: Samples) -> None:
    """Another output, or silence, changes no axis of difficulty."""
    difficulty = _verdict(name, case, separated).difficulty
    for output in (case.mixture - separated, np.zeros_like(separated)):
        require(_verdict(name, case, output).difficulty == difficulty, "difficulty is of mixture and prompt alone")


def knows_silence(name: str, case: SoundCase, separated: Samples) -> None:
    """A silent output is judged by rule, beside a silent mixture nothing is."""
    silent = _verdict(name, case, np.zeros_like(separated))
    scores = [getattr(silent, axis) for axis in PERFORMANCE]
    require(np.allclose(scores, [1, 5, 1, 1.533], atol=0.01), f"a silent output has 1, 5, 1 and 1.53, not {scores}")
    nothing = _verdict(name, replace(case, mixture=np.zeros_like(case.mixture)), separated)
    require(all(getattr(nothing, axis) is None for axis in PERFORMANCE), "a silent mixture is unjudged")


def ignores_level_and_delay(name: str, case: SoundCase, separated: Samples) -> None:
    """An output 20 dB softer has the same scores, and one that is 20 ms late."""
    late = round(0.02 * case.rate_hz) if separated.shape[1] > case.rate_hz else 0
    moved = 0.1 * np.pad(separated, ((0, 0), (late, 0)))[:, : separated.shape[1]]
    _require_close(_verdict(name, case, separated), _verdict(name, case, moved.astype(np.float32)), within=ALIKE)


def judges_a_batch_as_one_by_one(name: str, case: SoundCase, separated: Samples) -> None:
    """Where it has ``batch``, that gives the same scores in the same order."""
    judge = registry.load("judge", name)
    if not hasattr(judge, "batch"):
        return
    cases, outputs = [case, EXAMPLES["text"][0], case], [separated, EXAMPLES["text"][1], case.mixture]
    verdicts = judge.batch(cases, outputs)
    require([verdict.id for verdict in verdicts] == [case.id for case in cases], "a verdict a case, in their order")
    for example, output, verdict in zip(cases, outputs, verdicts, strict=True):
        _require_close(_verdict(name, example, output), verdict, within=SAME)


CHECKS: tuple[Callable[[str, Any, Any], None], ...] = (
    describes_itself,
    gives_a_verdict,
    is_honest_about_evidence,
    judges_difficulty_without_the_output,
    knows_silence,
    ignores_level_and_delay,
    judges_a_batch_as_one_by_one,
)


def measured_on_generated(judge: SoundJudge, *, mixtures: int = 12, seed: int = 0) -> Card:
    """Measure a judge on generated mixtures: a first card for a new judge, no measure for real sounds.

    Of each mixture the target alone, with half of the rest, the mixture and the rest alone are judged; the card has the
    share of neighbours in that order, of which the better is given more, .5 being chance.
    """
    right, count = 0.0, 0
    for number in range(mixtures):
        tone, noise = _mixture(2.0, rate_hz=16_000, seed=seed + number)
        case = SoundCase(id=str(number), mixture=(tone + noise)[None], rate_hz=16_000)
        outputs = [np.asarray(tone + share * noise, dtype=np.float32) for share in (0.0, 0.5, 1.0)] + [noise]
        scores = [judge(case, output[None]).overall or 0.0 for output in outputs]
        right += float(((np.sign(-np.diff(scores)) + 1) / 2).sum())
        count += len(scores) - 1
    results = (
        Result(set="generated", row=row, metric="pairs", value=value, low=None, high=None, n=count, clusters=mixtures)
        for row, value in ((judge.name, round(right / count, 6)), ("constant", 0.5))
    )
    return Card(
        judge=judge.name,
        summary=judge.meta.summary,
        data=("generated: a voiced sound in noise",),
        split=("all of it is test",),
        sets={"generated": f"four outputs of each of {mixtures} mixtures"},
        metrics={"pairs": "share of pairs of outputs in the right order, higher is better"},
        seed=seed,
        not_for=("any claim about recordings: it was measured on generated sounds only",),
        results=tuple(results),
    )


def _verdict(name: str, case: SoundCase, separated: Samples) -> SoundVerdict:
    verdict = registry.load("judge", name)(case, separated)
    require(isinstance(verdict, SoundVerdict), "a judge of sounds returns a SoundVerdict")
    checked: SoundVerdict = verdict
    return checked


def _require_close(expected: SoundVerdict, actual: SoundVerdict, *, within: float) -> None:
    for axis in PERFORMANCE:
        first, second = getattr(expected, axis), getattr(actual, axis)
        require(abs(first - second) <= within, f"{axis} is {second:.4f}, not {first:.4f}, to {within:g}")
