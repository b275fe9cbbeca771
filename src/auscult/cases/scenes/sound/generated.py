"""The generated sounds: eighteen kinds, sixty instances of each, from numpy alone."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from auscult.cases.scenes.sound.kinds import KINDS, Kind
from auscult.cases.scenes.sound.loudness import finished
from auscult.cases.scenes.sound.source import SoundSet, Source
from auscult.cases.scenes.sound.waves import Canvas
from auscult.errors import InputError
from auscult.rng import generator
from auscult.types import Metadata, Samples

INSTANCES = 60
RATES_HZ = (8_000, 192_000)
MAX_SECONDS = 600.0

_MAX_SEED = 2**31
_STROKES = frozenset({"beats_hz", "glide_hz"})  # numbers of a kind whose strokes can be counted within one span


class GeneratedSounds:
    """Sounds made by arithmetic; nothing is read.

    The numbers of an instance (pitch, rhythm) follow from its name alone; the grain of its noise is drawn anew for each
    source.
    """

    name = "generated"
    meta = Metadata(
        summary="tones, calls, strikes, plucks and noises made by arithmetic",
        goal="sounds with exact truth that need no download",
        modality="sound",
        source="auscult; strings after Karplus and Strong 1983, loudness after ITU-R BS.1770-4",
    )

    def instances(self) -> Mapping[str, tuple[str, ...]]:
        """Label to the names of its instances, both in a fixed order."""
        return {label: tuple(f"{label}-{index:02d}" for index in range(INSTANCES)) for label in KINDS}

    def source(self, rng: np.random.Generator, label: str, *, instance: str) -> Source:
        """Draw a source: the instance's own numbers, and a seed for its grain.

        Raises:
            ValueError: There is no such label or instance.
        """
        if instance not in self.instances().get(label, ()):
            raise ValueError(f"there is no generated sound {label!r} {instance!r}")
        kind = KINDS[label]
        own = generator(0, "sound", self.name, instance)
        numbers = {name: _between(own, low, high) for name, (low, high) in kind.ranges.items()}
        return Source(
            label=label,
            instance=instance,
            noun=kind.noun,
            verb=kind.verb,
            countable=_STROKES.isdisjoint(kind.ranges),
            params={**numbers, "seed": int(rng.integers(_MAX_SEED))},
        )

    def samples(self, source: Source, *, seconds: float, rate_hz: int) -> Samples:
        """The source alone, for one span: loud from its first sample to its last, faded at both ends.

        Args:
            source: As ``source`` gave it.
            seconds: Length, up to 600.
            rate_hz: 8,000 to 192,000.

        Returns:
            (round(seconds * rate_hz),) float32 at ``REFERENCE_DB``, below 1 in size.

        Raises:
            InputError: The source's label or numbers are not of this set.
            ValueError: Length or rate is out of range.
        """
        count = sample_count(seconds, rate_hz)
        kind, seed = _checked(source)
        canvas = Canvas(count, rate_hz, generator(seed, "grain", source.label))
        if count == 0:
            return np.zeros(0, dtype=np.float32)
        return finished(kind.draw(source.params, canvas), rate_hz=rate_hz)


def sample_count(seconds: float, rate_hz: int) -> int:
    """How many samples a sound of this length has.

    Raises:
        ValueError: Length or rate is out of range.
    """
    if not 0.0 <= seconds <= MAX_SECONDS:
        raise ValueError(f"a sound is 0 to {MAX_SECONDS:g} s long, not {seconds}")
    if not RATES_HZ[0] <= rate_hz <= RATES_HZ[1]:
        raise ValueError(f"a sample rate is {RATES_HZ[0]} to {RATES_HZ[1]} Hz, not {rate_hz}")
    return round(seconds * rate_hz)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between two, even in its logarithm, as pitch and tempo are heard; few digits, so that JSON is short."""
    value = float(f"{low * (high / low) ** float(rng.random()):.5g}")
    return min(max(value, low), high)


def _checked(source: Source) -> tuple[Kind, int]:
    kind = KINDS.get(source.label)
    if kind is None:
        raise InputError(f"there is no generated sound {source.label[:80]!r}", expected=f"one of: {', '.join(KINDS)}")
    for name, (low, high) in kind.ranges.items():
        value = source.params.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise InputError(
                f"{name!r} of the sound {source.instance[:80]!r} is {str(value)[:40]}",
                expected=f"a number from {low:g} to {high:g}",
            )
    seed = source.params.get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MAX_SEED:
        raise InputError(
            f"'seed' of the sound {source.instance[:80]!r} is {str(seed)[:40]}",
            expected=f"an integer from 0 to {_MAX_SEED - 1}",
        )
    return kind, seed


GENERATED: SoundSet = GeneratedSounds()
