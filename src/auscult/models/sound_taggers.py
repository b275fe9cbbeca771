"""What is heard in a sound: probabilities of labels, an embedding, and how well words fit it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol, runtime_checkable

from auscult.types import Floats, Samples

_NO_SOUND: Final = frozenset({"a", "an", "and", "by", "in", "made", "of", "on", "or", "play", "sound", "sounds", "the"})


@runtime_checkable
class SoundTagger(Protocol):
    """A network that says what is heard.

    Attributes:
        name: What records call it.
        labels: What its probabilities are of; empty where it has none.
    """

    name: str
    labels: tuple[str, ...]

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (labels,) in 0..1, of a sound (samples,) or (channels, samples)."""
        ...

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """A vector of a sound, float32 (d,)."""
        ...


@runtime_checkable
class TextTagger(SoundTagger, Protocol):
    """A tagger that compares any words with a sound."""

    def similarity(self, text: str, samples: Samples, rate_hz: int) -> float:
        """Cosine of words and sound, -1..1."""
        ...


def text_similarity(tagger: SoundTagger, text: str, samples: Samples, *, rate_hz: int) -> float | None:
    """How well words fit a sound: a cosine, or the highest probability of the labels that the words name.

    Of labels those count whose words are all in the text, and of these the ones of the most words: ``female speech``
    means that label, and not all speech. None where the words name no label.
    """
    if isinstance(tagger, TextTagger):
        return tagger.similarity(text, samples, rate_hz)
    named = _named(tagger.labels, text)
    return float(tagger.probabilities(samples, rate_hz)[list(named)].max()) if named else None


@lru_cache(maxsize=512)
def _named(labels: tuple[str, ...], text: str) -> tuple[int, ...]:
    """The numbers of the labels that a text names."""
    said = _stems(text)
    fits = {
        number: max((len(stems) for part in label.split(",") if (stems := _stems(part)) <= said), default=0)
        for number, label in enumerate(labels)
    }
    most = max(fits.values(), default=0)
    return tuple(number for number, words in fits.items() if most and words == most)


def _stems(text: str) -> frozenset[str]:
    import snowballstemmer

    words: Sequence[str] = snowballstemmer.stemmer("english").stemWords(re.findall(r"[a-z]+", text.lower()))
    return frozenset(words) - _NO_SOUND
