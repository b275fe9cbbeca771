"""What every score of sound asks of its signals, and how it goes through them without holding more than a block."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.types import Doubles, ScoreInput, ScoreSpec

BLOCK: Final = 65536
"""Samples of each channel that are looked at together."""


class Signal(Protocol):
    """An array (samples,) or (channels, samples), or a file that is read by blocks ``signal[..., a:b]``."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(samples,) or (channels, samples)."""
        ...

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        """A block."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundScore(ScoreSpec):
    """A registered score of sound.

    Attributes:
        unit: ``dB``, or empty.
        needs: What it is given: ``stem``, ``stems`` (of all sources), ``spans``, ``embeddings``.
    """

    unit: str = "dB"
    needs: tuple[str, ...] = ("stem",)


def sound_score(
    function: Any, *, unit: str = "dB", needs: tuple[str, ...] = ("stem",), higher_is_better: bool = True, **about: str
) -> SoundScore:
    """The entry of a score of sound; ``about`` is its summary, goal and source."""
    kinds: dict[str, ScoreInput] = {"stems": "sound and stems", "spans": "sound and spans", "embeddings": "embeddings"}
    takes: ScoreInput = next((kinds[need] for need in needs if need in kinds), "sounds")
    metadata = {"modality": "sound", "truth": "the true " + " and ".join(needs), **about}
    spec = SoundScore.of(function, takes=takes, higher_is_better=higher_is_better, **metadata)
    return replace(spec, unit=unit, needs=needs)


def check_signals(**signals: Signal) -> tuple[int, int]:
    """(channels, samples) that all signals have; an InputError that names both where two differ."""
    first, first_size = "", (0, 0)
    for name, signal in signals.items():
        shape = tuple(signal.shape)
        if len(shape) not in (1, 2) or 0 in shape:
            raise InputError(f"{name} has shape {shape}", expected="(samples,) or (channels, samples), one or more")
        size = (shape[0] if len(shape) == 2 else 1, shape[-1])
        if first and size != first_size:
            raise InputError(
                f"{name} has {_size_text(size)}, {first} has {_size_text(first_size)}",
                expected="as many samples and channels",
                hint="cut or pad to one length, mix to one number of channels, and say so in your record",
            )
        first, first_size = first or name, size
    return first_size


def _size_text(shape: tuple[int, int]) -> str:
    return f"{shape[1]} samples in {shape[0]} channel{'' if shape[0] == 1 else 's'}"


def block(signal: Signal, start: int, stop: int) -> Doubles:
    """Samples from start to stop, at most what there is, as float64 (channels, samples)."""
    return np.atleast_2d(np.asarray(signal[..., start:stop], dtype=np.float64))


def blocks(signals: Sequence[Signal], *, size: int = BLOCK) -> Iterator[list[Doubles]]:
    """Blocks of several signals of one length, one after the other."""
    for start in range(0, signals[0].shape[-1], size):
        yield [block(signal, start, start + size) for signal in signals]


NO_STEM: Final = "the stem is silent"
NO_ESTIMATE: Final = "the estimate is silent"


def silence_of(estimate: Any, stem: Any) -> str:
    """Which of two signals is silent, by whether they have energy; empty where none is."""
    return "" if estimate and stem else NO_ESTIMATE if stem else NO_STEM


def check_finite(*sums: float) -> None:
    """Refuse signals of which a sum over all samples is not finite: so each sample is looked at once."""
    if not all(math.isfinite(total) for total in sums):
        raise InputError("a sound holds values that are not finite", expected="finite samples")
