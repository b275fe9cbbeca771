"""A separated sound as its mixture has it, and long sounds in blocks.

An output at another rate is resampled to the mixture's. One that is up to 50 ms longer or shorter is cut, or filled
with silence; more is an error. Where the mixture is mono, a stereo output is averaged; where the output is mono, the
mixture is. The mean of each block, DC, is taken off.

Sounds of 90 s and more are judged in equal blocks of about a minute, so that memory does not grow with length. What is
said of the whole is the mean over blocks, weighted by the loudness of the mixture (mean square to the power .3), ends
of intervals too, which makes them wider than need be. A silent block counts for nothing. Of eight joinings of real
outputs, 3 minutes each, ``sound.cues.v1`` gave .01 more or less than for the whole in the mean, .06 at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, gcd
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from auscult.arrays.resampling import resampled
from auscult.cases.ids import counted
from auscult.errors import InputError
from auscult.media.sound import SoundReader
from auscult.media.wav import Sound
from auscult.types import PERFORMANCE, Samples, SoundCurves, SoundEvidence, SoundVerdict, Span

BLOCK_S: Final = 60.0
SHORTEST_S: Final = 0.05
MOST_SLACK_S: Final = 0.05
MOST_CURVE: Final = 2000
"""Values of a curve of a long sound; further ones are joined to their highest."""
_LARGEST: Final = 1e9  # far louder, powers leave the range of float32

_EDGE_S: Final = 0.1  # read on both sides of a block that is resampled


RatedSignal: TypeAlias = SoundReader | Sound
"""Of both, ``signal[..., a:b]`` is float32 (channels, samples)."""


def seconds_of(signal: RatedSignal) -> float:
    """How long a signal is; ``InputError`` where it is too short to be judged."""
    found = signal.shape[1] / signal.rate_hz
    if found < SHORTEST_S:
        raise InputError(f"the sound is {found:.3f} s long", expected=f"at least {SHORTEST_S:g} s")
    return found


def blocks_of(signal: RatedSignal) -> Iterator[tuple[int, int]]:
    """First sample and end of each block."""
    count = max(1, int(signal.shape[1] / signal.rate_hz / BLOCK_S + 0.5))
    edges = [signal.shape[1] * number // count for number in range(count + 1)]
    return pairwise(edges)


def levelled(block: Samples) -> Samples:
    """A block without DC; ``InputError`` where a sample is no number, or none that arithmetic can hold."""
    if not np.abs(block).max(initial=0.0) <= _LARGEST:
        raise InputError(
            f"the sound holds values that are not finite, or above {_LARGEST:g}", expected="samples from -1 to 1"
        )
    return np.asarray(block - block.mean(axis=1, keepdims=True, dtype=np.float64), dtype=np.float32)


class Fitted:
    """An output as its mixture has it; ``notes`` say what was done to it.

    Raises:
        InputError: It is too short, or differs from its mixture in length or channels by more than can be mended.
    """

    def __init__(self, output: RatedSignal, mixture: RatedSignal) -> None:
        self._output, self._rate_hz = output, mixture.rate_hz
        channels, wanted = output.shape[0], mixture.shape[0]
        late_s = seconds_of(output) - seconds_of(mixture)
        if abs(late_s) > MOST_SLACK_S:
            raise InputError(
                f"the output is {seconds_of(output):.3f} s long, its mixture {seconds_of(mixture):.3f} s",
                expected=f"lengths that differ by {1000 * MOST_SLACK_S:.0f} ms at most",
                hint="export the output as long as its mixture, or name the mixture that it was separated from",
            )
        if channels != wanted and 1 not in {channels, wanted}:
            message = f"the output has {counted(channels, 'channel')}, its mixture {wanted}"
            raise InputError(message, expected="equal numbers, or one of them mono", hint="mix one of them to mono")
        self._average, self.averages_mixture = channels > wanted, channels < wanted
        how = "longer, cut" if late_s > 0 else "shorter, filled with silence"
        done = {
            f"resampled from {output.rate_hz} to {mixture.rate_hz} Hz": output.rate_hz != mixture.rate_hz,
            f"{1000 * abs(late_s):.1f} ms {how}": abs(late_s) * mixture.rate_hz >= 1,
            "channels averaged, since the mixture is mono": self._average,
            "compared with the mean of the mixture's channels": self.averages_mixture,
        }
        self.notes = tuple(note for note, true in done.items() if true)

    def block(self, start: int, stop: int) -> Samples:
        """The samples of the mixture from the first to before the last, as the output has them."""
        found = self._at_rate(start, stop)
        if self._average:
            found = found.mean(axis=0, keepdims=True)
        return levelled(np.pad(found, ((0, 0), (0, stop - start - found.shape[1]))))

    def _at_rate(self, start: int, stop: int) -> Samples:
        own, wanted = self._output.rate_hz, self._rate_hz
        if own == wanted:
            return np.asarray(self._output[..., start:stop])
        step = own // gcd(own, wanted)  # only multiples of it lie on a sample of both
        first = max(0, int((start / wanted - _EDGE_S) * own) // step * step)
        piece = self._output[..., first : ceil((stop / wanted + _EDGE_S) * own)]
        offset = first * wanted // own
        return resampled(levelled(piece), rate_hz=own, wanted_hz=wanted)[:, start - offset : stop - offset]


def spans_within(spans: Sequence[Span], start_s: float, stop_s: float) -> tuple[Span, ...]:
    """The spans of a block, in seconds from its beginning."""
    cut = [(one.sign, max(one.start_s, start_s) - start_s, min(one.end_s, stop_s) - start_s) for one in spans]
    return tuple(Span(sign, first, end) for sign, first, end in cut if first < end)


def check_spans(spans: Sequence[Span], seconds: float) -> None:
    """Refuse spans of which nothing lies in the sound."""
    for one in spans:
        if one.sign not in "+-" or not 0 <= one.start_s < min(one.end_s, seconds):
            message = (
                f"a span {one.sign!r} goes from {one.start_s:g} to {one.end_s:g} s, the mixture is {seconds:.3f} s long"
            )
            raise InputError(message, expected="spans in the mixture, each with an end after its start")


class Part(NamedTuple):
    """What is said of a block."""

    start_s: float
    weight: float  # loudness of the mixture
    verdict: SoundVerdict


def loudness(mixture: Samples) -> float:
    """Mean square to the power .3, as loudness grows with power (Stevens)."""
    return float(np.mean(np.square(mixture, dtype=np.float64)) ** 0.3)


def over_blocks(parts: Sequence[Part], seconds: float) -> SoundVerdict:
    """What is said of the whole, of which the blocks are the parts, in order."""
    heard = [part for part in parts if part.verdict.overall is not None]
    if len(parts) == 1 or not heard:
        return parts[0].verdict
    weights = np.array([part.weight for part in heard])
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(heard), 1 / len(heard))

    def mean(values: Sequence[float | None]) -> Any:
        return None if None in values else float(np.dot(weights, np.array(values, dtype=float)))

    said = [part.verdict for part in heard]
    names = [f"{axis}{end}" for axis in PERFORMANCE for end in ("", "_low", "_high")]
    axes = [axis for axis in said[0].difficulty if all(axis in one.difficulty for one in said)]
    worst = min(heard, key=lambda part: part.verdict.overall or 0.0)
    kinds = ("text", "spans", "picture")
    return replace(
        heard[int(weights.argmax())].verdict,
        **{name: mean([getattr(one, name) for one in said]) for name in names},
        difficulty={axis: mean([one.difficulty[axis] for one in said]) for axis in axes},
        evidence=SoundEvidence(
            **{kind: any(getattr(one.evidence, kind) for one in said) for kind in kinds},
            unknown=tuple(dict.fromkeys(word for one in said for word in one.evidence.unknown)),
        ),
        novelty=mean([one.novelty for one in said]),
        rationale=f"Mean of {counted(len(heard), 'block')}; the worst, from {worst.start_s:.0f} s: "
        f"{worst.verdict.rationale}",
        curves=_joined(parts, seconds),
    )


def _joined(parts: Sequence[Part], seconds: float) -> SoundCurves | None:
    """The curves of the blocks as one; nothing where a block has none."""
    known = next((part.verdict.curves for part in parts if part.verdict.curves), None)
    if known is None:
        return None
    joined = -(-round(seconds / known.hop_s) // MOST_CURVE)
    times = np.arange(max(1, round(seconds / known.hop_s / joined)) * joined) * known.hop_s
    made = np.zeros((2, len(times)))
    for part in parts:
        curves, at = part.verdict.curves, np.flatnonzero(times >= part.start_s)
        if curves is not None:  # of later blocks too, which write over it
            index = np.minimum(((times[at] - part.start_s) / curves.hop_s).astype(int), len(curves.missing) - 1)
            made[:, at] = np.array([curves.missing, curves.left_over])[:, index]
        else:
            made[:, at] = 0
    missing, left_over = made.reshape(2, -1, joined).max(axis=2).tolist()
    return SoundCurves(hop_s=known.hop_s * joined, missing=tuple(missing), left_over=tuple(left_over))
