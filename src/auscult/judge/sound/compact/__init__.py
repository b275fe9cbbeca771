"""``sound.compact.v1``: a pretrained tagger listens to mixture, output and rest, and a small network compares them.

It reads words and pictures (``judge.sound.vocabulary``) and spans in any combination; without
any it judges what is likely for what the output sounds like. Measured in ``docs/cards/sound.compact.v1.md``.

The calibration is fitted on its part alone. A score is moved along a line; its interval is the network's own expected
error, larger where the sound is unlike what training heard, times a factor, which is the conformal quantile of its
group (domain and prompts; Papadopoulos et al., 2002).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

import numpy as np

from auscult.errors import UsageError
from auscult.judge.sound.compact.network import (
    FOLDER,
    STEP,
    STEP_S,
    HeardMixture,
    SoundNetwork,
    as_classes,
    hear_mixture,
    hear_output,
    load_network,
    span_steps,
)
from auscult.judge.sound.shared import is_silent, scored, silent_output, unjudged
from auscult.judge.sound.vocabulary import PromptWords, SentenceEncoder, picture_classes, read_prompt
from auscult.nets.onnx_session import HINT
from auscult.record.codec import read_file
from auscult.types import (
    DIFFICULTY_AXES,
    DOMAINS,
    PERFORMANCE,
    Doubles,
    Floats,
    Metadata,
    Samples,
    SoundCase,
    SoundCurves,
    SoundEvidence,
    SoundVerdict,
)

FILE: Final = "calibration.json"
_MOST_BYTES: Final = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FamiliarSounds:
    """What training sounded like, and how unlike it a sound is.

    Two distances are measured: of what the head makes of an output with its mixture and prompt, as a cosine distance to
    the nearest of some places; and of the mixture, the length of what the trunk hears in it outside the space in which
    training's mixtures lie. Both are scaled by those of calibration, whose recordings training did not hear.
    """

    places: tuple[tuple[float, ...], ...]  # directions of length 1, (places, 320)
    centre: tuple[float, ...]  # of mixtures, (384,)
    axes: tuple[tuple[float, ...], ...]  # of the space of mixtures, of length 1, (axes, 384)
    near: tuple[float, float]  # the distances up to which nothing is new
    far: tuple[float, float]  # the distances from which nothing is alike any more

    def novelty(self, pooled: Floats | Doubles, heard: Floats | Doubles) -> Doubles:
        """How unlike training samples are, 0..1, by the larger of both distances."""
        return self.of_distances(self.distances(pooled, heard))

    def distances(self, pooled: Floats | Doubles, heard: Floats | Doubles) -> Doubles:
        """Both distances, (n, 2), of what the head pools (n, 320) and the trunk's mean of the mixture (n, 384)."""
        directions = pooled.astype(np.float64) / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-9)
        off = heard.astype(np.float64) - np.asarray(self.centre)
        rest = np.square(off).sum(axis=1) - np.square(off @ np.asarray(self.axes).T).sum(axis=1)
        nearest = 1 - (directions @ np.asarray(self.places).T).max(axis=1)
        return np.stack([nearest, np.sqrt(np.maximum(rest, 0.0))], axis=1)

    def of_distances(self, distances: Doubles) -> Doubles:
        """Novelty by distances (n, 2)."""
        near, far = np.asarray(self.near), np.asarray(self.far)
        return np.asarray(np.clip((distances - near) / np.maximum(far - near, 1e-9), 0.0, 1.0).max(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundCalibration:
    """The numbers."""

    network: str  # hash of the network that they were fitted to
    lines: tuple[tuple[float, float], ...]  # slope and offset of each score, by ``PERFORMANCE``
    # power and offset of each score's expected error, since a network that has learned its samples is too sure of
    # others
    errors: tuple[tuple[float, float], ...]
    # by group, ``domain/prompts`` or ``all``, for each score what its expected error is multiplied by, for the lower
    # and the upper end
    factors: Mapping[str, tuple[tuple[float, float], ...]]
    familiar: FamiliarSounds

    def intervals(self, scores: Floats, spread: Floats, *, group: str, novelty: Doubles) -> Doubles:
        """Scores with the ends of their intervals, (n, 4, 3), within 1..5; of samples of one group."""
        slope, offset = np.asarray(self.lines).T
        moved = np.clip(scores * slope + offset, 1.0, 5.0)
        error = error_of(spread, self.errors) * (1 + novelty[:, None])
        low, high = np.asarray(self.factors.get(group, self.factors["all"])).T
        ends = np.stack([moved, moved - low * error, moved + high * error], axis=-1)
        return np.asarray(np.clip(ends, 1.0, 5.0), dtype=np.float64)


def error_of(spread: Floats, errors: Sequence[tuple[float, float]]) -> Doubles:
    """The expected errors in points, of the logarithms (n, scores) that the network gives."""
    power, offset = np.asarray(errors).T
    return np.asarray(np.exp(np.clip(spread.astype(np.float64), -6.0, 2.0) * power) + offset)


@cache
def load_calibration(folder: Path, network: str) -> SoundCalibration:
    """The calibration of a network's folder; a UsageError where it is of another network."""
    path = folder / FILE
    calibration = read_file(
        SoundCalibration,
        path,
        what="calibration",
        expected="what `auscult train compact-sound` wrote",
        most_bytes=_MOST_BYTES,
        hint=HINT,
    )
    if calibration.network != network:
        raise UsageError("the calibration is of another network", expected=network, hint=HINT, path=path)
    return calibration


WINDOW_S: Final = 12.0
"""Longer sounds are heard in parts of at most this long, of equal length."""
FAR: Final = 0.8
"""From this novelty on an output whose words are not known, and without spans and picture, is not judged."""
_AT_ONCE: Final = 8
_LOUDNESS: Final = 0.3  # exponent of power, by which windows count
_SURE: Final = 0.6
_FINE: Final = 4.3  # from here on nothing is said to be wrong
_LOST: Final = 2.0  # up to here there is nothing of the target of which one could say that it is damaged
_HEARD: Final = 0.3  # of a curve
_UNLIKE: Final = 0.5  # the novelty from which a sound counts as out of distribution
_DOUBT: Final = " The sound is out of distribution for this judge."
_ROUNDING: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Prompt:
    classes: Floats
    evidence: SoundEvidence
    domain: str

    @property
    def kinds(self) -> str:
        names = [name for name in ("text", "spans", "picture") if getattr(self.evidence, name)]
        return "+".join(names) or "none"


@dataclass(slots=True, kw_only=True, eq=False)
class _Window:
    """A part of a mixture, with what the trunk hears in it."""

    heard: HeardMixture
    first: int  # sample at which it begins
    samples: int
    power: float
    steps: Floats  # (384, S)
    spans: Floats  # (3, S)


@dataclass(slots=True, kw_only=True, eq=False)
class _Part:
    """The network's outputs for one window of an output."""

    scores: Floats
    spread: Floats
    curves: Floats  # (2, S), 0..1
    pooled: Floats
    power: float


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

    def __init__(self, folder: Path = FOLDER, sentences: Path | None = None) -> None:
        self._folder, self._sentences = folder, sentences

    @cached_property
    def network(self) -> SoundNetwork:
        """The shipped network, or that of a folder that ``auscult train compact-sound`` wrote."""
        return load_network(self._folder)

    @cached_property
    def calibration(self) -> SoundCalibration:
        """That of the network."""
        return load_calibration(self._folder, self.network.digest)

    @cached_property
    def sentences(self) -> SentenceEncoder | None:
        """What puts unknown words to a class."""
        if self._sentences is None:
            return None
        from auscult.nets.hf_sentences import load_sentences

        return load_sentences(self._sentences)

    def fitted(self, folder: Path) -> CompactSoundJudge:
        """The same with the network of a folder, or with its sentence encoder for words outside the vocabulary.

        ``UsageError`` says what the folder lacks, or what is wrong with it.
        """
        encodes = (folder / "config.json").is_file()
        judge = CompactSoundJudge(self._folder, folder) if encodes else CompactSoundJudge(folder, self._sentences)
        for part in ("calibration", "sentences"):
            getattr(judge, part)  # opens the files now, not at the first sound
        return judge

    def __call__(self, case: SoundCase, separated: Samples) -> SoundVerdict:
        """Judge one output, float32 of the mixture's shape, of any level and up to 100 ms late."""
        return self.batch([case], [separated])[0]

    def batch(self, cases: Sequence[SoundCase], separated: Sequence[Samples]) -> list[SoundVerdict]:
        """Judge several; neighbours of one ``mixture`` array share what is heard in it."""
        verdicts: list[SoundVerdict] = []
        pairs = list(zip(cases, separated, strict=True))
        for _, group in groupby(pairs, key=lambda pair: (id(pair[0].mixture), pair[0].rate_hz)):
            members = list(group)
            for start in range(0, len(members), _AT_ONCE):
                verdicts += self._of_mixture(members[start : start + _AT_ONCE])
        return verdicts

    def _of_mixture(self, pairs: Sequence[tuple[SoundCase, Samples]]) -> list[SoundVerdict]:
        mixture, rate_hz = pairs[0][0].mixture, pairs[0][0].rate_hz
        if is_silent(mixture):
            return [unjudged(case, self.name) for case, _ in pairs]
        prompts = {id(case): self._prompt(case) for case, _ in pairs}
        plain = list(self._windows(mixture, rate_hz))
        loud = [index for index, (_, output) in enumerate(pairs) if not is_silent(mixture, output)]
        parts = self._parts([pairs[index] for index in loud], plain, prompts)
        verdicts = []
        for index, (case, _) in enumerate(pairs):
            prompt = prompts[id(case)]
            hard, domain = self._hardness(case, plain, prompt)
            if index not in loud:
                verdicts.append(silent_output(case, self.name, difficulty=hard, evidence=prompt.evidence))
                continue
            prompt = replace(prompt, domain=domain)
            verdict = self._verdict(case, parts[loud.index(index)], windows=plain, prompt=prompt)
            verdicts.append(verdict if verdict.overall is None else replace(verdict, difficulty=hard))
        return verdicts

    def _prompt(self, case: SoundCase) -> _Prompt:
        words = PromptWords(classes=as_classes(), unknown=(), domain="")
        if case.text is not None and case.text.strip():
            words = read_prompt(case.text, sentences=self.sentences)
        depicted = None if case.frames is None else picture_classes(case.frames)
        evidence = SoundEvidence(
            text=bool(words.classes.any()),
            spans=bool(case.spans),
            picture=depicted is not None and bool(depicted.any()),
            unknown=words.unknown,
        )
        return _Prompt(classes=as_classes(words.classes, depicted), evidence=evidence, domain=words.domain)

    def _windows(self, mixture: Samples, rate_hz: int) -> Iterator[_Window]:
        count = max(1, int(np.ceil(mixture.shape[1] / (WINDOW_S * rate_hz))))
        edges = np.linspace(0, mixture.shape[1], count + 1).round().astype(int)
        for first, last in pairwise(edges):
            part = mixture[:, first:last]
            heard = hear_mixture(part, rate_hz)
            yield _Window(
                heard=heard,
                first=int(first),
                samples=int(last - first),
                power=float(np.mean(np.square(part, dtype=np.float64))) ** _LOUDNESS,
                steps=self.network.steps([heard.mel])[0],
                spans=np.zeros((3, heard.mel.shape[1] // STEP), np.float32),
            )

    def _spans(self, case: SoundCase, window: _Window) -> Floats:
        begin = window.first / case.rate_hz
        moved = [replace(span, start_s=span.start_s - begin, end_s=span.end_s - begin) for span in case.spans]
        return span_steps(moved, window.spans.shape[1])

    def _parts(
        self, pairs: Sequence[tuple[SoundCase, Samples]], windows: Sequence[_Window], prompts: dict[int, _Prompt]
    ) -> list[list[_Part]]:
        """The network's outputs for each separated sound, window by window."""
        parts: list[list[_Part]] = [[] for _ in pairs]
        for window in windows if pairs else ():
            outputs = [output[:, window.first : window.first + window.samples] for _, output in pairs]
            mels = np.stack([np.stack([window.heard.mel, *hear_output(window.heard, output)]) for output in outputs])
            steps = self.network.steps(list(mels[:, 1:].reshape(-1, *mels.shape[2:])))
            classes = np.stack([prompts[id(case)].classes for case, _ in pairs])
            three = (np.repeat(window.steps[None], len(pairs), axis=0), steps[0::2], steps[1::2])
            evidence = [self.network.evidence(encoded, classes) for encoded in three]
            inputs = {
                "mixture": three[0],
                "output": three[1],
                "rest": three[2],
                "mels": mels,
                "spans": np.stack([self._spans(case, window) for case, _ in pairs]),
                "evidence": np.concatenate([strengths for strengths, _ in evidence], axis=-1),
                "prompt": evidence[0][1],
            }
            results = self.network.judged(inputs)
            for row in range(len(pairs)):
                parts[row].append(
                    _Part(
                        scores=results["scores"][row],
                        spread=results["spread"][row],
                        curves=1 / (1 + np.exp(-results["curves"][row])),
                        pooled=results["pooled"][row],
                        power=window.power,
                    )
                )
        return parts

    def _hardness(self, case: SoundCase, windows: Sequence[_Window], prompt: _Prompt) -> tuple[dict[str, float], str]:
        """Difficulty by axis, and the domain: that of the words, else of what is heard where that is clear."""
        weights = np.array([window.power for window in windows])
        rows = []
        for window in windows:
            evidence, vector = self.network.evidence(window.steps[None], prompt.classes[None])
            inputs = {
                "mixture": window.steps[None],
                "mel": window.heard.mel[None, None],
                "spans": self._spans(case, window)[None],
                "evidence": evidence,
                "prompt": vector,
            }
            rows.append(self.network.hardness(inputs))
        share = weights / max(weights.sum(), 1e-30)
        axes = np.einsum("w,wa->a", share, np.concatenate([row["difficulty"] for row in rows]))
        logits = np.einsum("w,wa->a", share, np.concatenate([row["domain"] for row in rows]))
        chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        domain = prompt.domain or (DOMAINS[int(chances.argmax())] if chances.max() >= _SURE else "")
        return {name: float(axes[index]) for index, name in enumerate(DIFFICULTY_AXES)}, domain

    def _verdict(
        self, case: SoundCase, parts: Sequence[_Part], *, windows: Sequence[_Window], prompt: _Prompt
    ) -> SoundVerdict:
        weights = np.array([part.power for part in parts])
        share = weights / max(weights.sum(), 1e-30)

        def mean(key: str) -> Floats:
            return np.asarray(np.einsum("w,wa->a", share, np.stack([getattr(part, key) for part in parts])), np.float32)

        heard = np.einsum("w,wa->a", share, np.stack([window.steps.mean(axis=1) for window in windows]))
        novelty = self.calibration.familiar.novelty(mean("pooled")[None], heard[None])
        evidence = prompt.evidence
        if evidence.unknown and prompt.kinds == "none" and novelty[0] >= FAR:
            words = ", ".join(evidence.unknown[:3])
            return replace(
                unjudged(case, self.name),
                evidence=evidence,
                novelty=float(novelty[0]),
                rationale=f"Not judged: {words} is not in the vocabulary, and no such sound was trained on.",
            )
        ends = self.calibration.intervals(
            mean("scores")[None], mean("spread")[None], group=f"{prompt.domain}/{prompt.kinds}", novelty=novelty
        )[0]
        curves = _joined(parts, windows, rate_hz=case.rate_hz)
        return scored(
            case,
            self.name,
            {axis: (float(row[0]), float(row[1]), float(row[2])) for axis, row in zip(PERFORMANCE, ends, strict=True)},
            difficulty={},
            evidence=evidence,
            rationale=_sentence(ends, curves, evidence) + (_DOUBT if novelty[0] >= _UNLIKE else ""),
            novelty=float(novelty[0]),
            domain=prompt.domain,
            curves=SoundCurves(
                hop_s=STEP_S,
                missing=tuple(round(float(value), 4) for value in curves[0]),
                left_over=tuple(round(float(value), 4) for value in curves[1]),
            ),
        )


def _joined(parts: Sequence[_Part], windows: Sequence[_Window], *, rate_hz: int) -> Floats:
    """The curves of windows, whose last steps may reach beyond them, at steps of the whole sound, (2, steps)."""
    begins = np.array([window.first / rate_hz for window in windows])
    until = begins[-1] + windows[-1].samples / rate_hz
    times = np.arange(max(1, np.ceil(until / STEP_S - _ROUNDING))) * STEP_S
    places = np.searchsorted(begins, times + _ROUNDING, "right") - 1
    steps = ((times - begins[places]) / STEP_S + _ROUNDING).astype(int)
    return np.stack([parts[window].curves[:, step] for window, step in zip(places, steps, strict=True)], axis=1)


def _sentence(ends: Doubles, curves: Floats, evidence: SoundEvidence) -> str:
    """What is most wrong, and when; and which words of the prompt are not known."""
    worst = int(np.argmin(ends[:3, 0]))
    sentence = [
        f"Part of the target is missing{_when(curves[0])}.",
        f"Something else is left over{_when(curves[1])}.",
        "The target sounds damaged.",
    ][worst]
    if ends[worst, 0] >= _FINE:
        sentence = "Nothing wrong is heard."
    elif max(ends[:2, 0]) < _LOST:
        sentence = "What is heard is mostly something else than the target."
    if evidence.unknown:
        sentence += f" Not known: {', '.join(evidence.unknown[:3])}."
    return sentence


def _when(curve: Floats) -> str:
    """Where a curve is highest, as words; empty where that is everywhere or nowhere."""
    high = np.flatnonzero(curve >= max(_HEARD, 0.5 * float(curve.max())))
    if not high.size or high.size > 0.7 * curve.size:
        return ""
    runs = np.split(high, np.flatnonzero(np.diff(high) > 1) + 1)
    longest = max(runs, key=len)
    return f", mostly from {longest[0] * STEP_S:.1f} to {(longest[-1] + 1) * STEP_S:.1f} s"


JUDGE = CompactSoundJudge()
