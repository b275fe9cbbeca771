"""What is heard in a sound: probabilities of labels, an embedding, and how well words fit it.

Networks are the user's, in a folder: ``mn04@FOLDER`` (``mn04_as.onnx``: EfficientAT, Schmid et al., ICASSP 2023),
``yamnet@FOLDER`` (``yamnet_float_activations.tflite``), ``clap@FOLDER`` (``nets/clap``). Each tells labels by a table
``*labels*.csv`` or ``*class_map.csv`` with a column ``display_name``. Of a sound longer than a network's window, what
it says of the windows is averaged.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.nets.clap import ClapModel, load_clap
from auscult.nets.onnx_session import open_session, read_network
from auscult.nets.tflite_session import open_interpreter
from auscult.types import Floats, Samples

_FETCH: Final = "fetch the network's file again"
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


def load_tagger(given: str) -> SoundTagger:
    """Load ``mn04@FOLDER``, ``yamnet@FOLDER`` or ``clap@FOLDER``; a ``UsageError`` says what is wrong."""
    name, _, folder = given.partition("@")
    if name not in TAGGERS or not folder:
        raise UsageError(
            f"there is no tagger {given[:80]!r}", expected=" or ".join(f"{name}@FOLDER" for name in TAGGERS)
        )
    try:
        return TAGGERS[name](Path(folder))
    except InputError as error:
        raise UsageError(error.message, expected=error.expected, hint=error.hint, path=error.path) from error


class Mn04:
    """EfficientAT's MobileNetV3 of .4 width: 527 labels of AudioSet, an embedding of 384 numbers; windows of 10 s."""

    name = "mn04"
    _RATE_HZ, _WINDOW, _HOP, _BANDS, _SIZE = 32_000, 800, 320, 128, 1024

    def __init__(self, folder: Path) -> None:
        path = folder / "mn04_as.onnx"
        self._session = open_session(read_network(path, hint=_FETCH), path, hint=_FETCH)
        self.labels = _labels(folder, "*labels*.csv", 527)
        self._banks = _mel_banks(self._BANDS, size=self._SIZE, rate_hz=self._RATE_HZ, high_hz=15_000)

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (527,)."""
        return _mean(1 / (1 + np.exp(-logits)) for logits, _ in self._run(samples, rate_hz))

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (384,)."""
        return _mean(embedding for _, embedding in self._run(samples, rate_hz))

    def _run(self, samples: Samples, rate_hz: int) -> Iterator[tuple[Floats, Floats]]:
        for part in _windows(
            samples, rate_hz, wanted_hz=self._RATE_HZ, size=10 * self._RATE_HZ, hop=10 * self._RATE_HZ
        ):
            found = self._session.run(["logits", "embedding"], {"logmel": self._log_mel(part)[None, None]})
            yield found[0][0], found[1][0]

    def _log_mel(self, samples: Samples) -> Floats:
        """As it was trained: (128, frames)."""
        emphasised = np.pad(samples[1:] - np.float32(0.97) * samples[:-1], self._SIZE // 2, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(emphasised, self._SIZE)[:: self._HOP]
        shape = np.pad(np.hanning(self._WINDOW), (self._SIZE - self._WINDOW) // 2)
        power = np.abs(np.fft.rfft(frames * shape, axis=1)) ** 2
        return np.asarray(((np.log(self._banks @ power.T + 1e-5) + 4.5) / 5), np.float32)


class Yamnet:
    """YAMNet: 521 labels of AudioSet, an embedding of 1024 numbers; windows of .975 s, half of one apart."""

    name = "yamnet"
    _RATE_HZ, _WINDOW = 16_000, 15_600

    def __init__(self, folder: Path) -> None:
        path = folder / "yamnet_float_activations.tflite"
        self._network = open_interpreter(read_network(path, hint=_FETCH), path, keep_tensors=True)
        self._network.allocate_tensors()
        self._pooled = [
            one["index"]
            for one in self._network.get_tensor_details()
            if one["name"].endswith("global_average_pooling2d/Mean") and one["shape"][-1] == 1024
        ]
        if len(self._pooled) != 1 or list(self._network.get_input_details()[0]["shape"]) != [self._WINDOW]:
            raise UsageError("the network is not YAMNet's", expected="YAMNet with float activations", path=path)
        self.labels = _labels(folder, "*class_map.csv", 521)

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (521,)."""
        index = self._network.get_output_details()[0]["index"]
        return _mean(self._run(samples, rate_hz, index))

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (1024,)."""
        return _mean(self._run(samples, rate_hz, self._pooled[0]))

    def _run(self, samples: Samples, rate_hz: int, index: int) -> Iterator[Floats]:
        for part in _windows(samples, rate_hz, wanted_hz=self._RATE_HZ, size=self._WINDOW, hop=self._WINDOW // 2):
            self._network.set_tensor(
                self._network.get_input_details()[0]["index"], np.pad(part, (0, self._WINDOW - part.size))
            )
            self._network.invoke()
            yield self._network.get_tensor(index).reshape(-1).copy()


class Clap:
    """CLAP: any words; probabilities are a softmax over the labels that it was given, none by default."""

    name = "clap"

    def __init__(self, folder: Path, *, labels: Sequence[str] = ()) -> None:
        self.model: ClapModel = load_clap(folder)
        self.labels = tuple(labels)

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (labels,), which sum to 1: zero-shot classification."""
        if not self.labels:
            return np.zeros(0, np.float32)
        logits = self.model.scale * self.model.words(self.labels) @ self.model.sound(samples, rate_hz)
        odds = np.exp(logits - logits.max())
        return np.asarray(odds / odds.sum(), np.float32)

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (d,), of length 1."""
        return self.model.sound(samples, rate_hz)

    def similarity(self, text: str, samples: Samples, rate_hz: int) -> float:
        """Cosine of words and sound."""
        return float(self.model.words([text.lower()])[0] @ self.model.sound(samples, rate_hz))


TAGGERS: Final[Mapping[str, Callable[[Path], SoundTagger]]] = {"mn04": Mn04, "yamnet": Yamnet, "clap": Clap}


def _mean(found: Iterator[Any]) -> Floats:
    return np.asarray(np.mean(list(found), axis=0), np.float32)


def _windows(samples: Samples, rate_hz: int, *, wanted_hz: int, size: int, hop: int) -> Iterator[Samples]:
    """A sound's mean channel at another rate, in windows; at least one, which may be shorter, but not below .05 s."""
    heard = mono_at(samples, rate_hz=rate_hz, wanted_hz=wanted_hz)
    heard = np.pad(heard, (0, max(0, wanted_hz // 20 - heard.size)))
    for start in range(0, max(1, heard.size - size + hop), hop):
        if start == 0 or heard.size - start >= size // 2:
            yield heard[start : start + size]


def _mel_banks(bands: int, *, size: int, rate_hz: int, high_hz: float) -> Floats:
    """Triangles of equal width on 1127 ln(1 + f / 700), (bands, size / 2 + 1); the last bin is not used."""
    step = 1127 * np.log1p(high_hz / 700) / (bands + 1)
    place = 1127 * np.log1p(rate_hz / size * np.arange(size // 2) / 700)[None] / step - np.arange(bands)[:, None]
    return np.asarray(np.pad(np.maximum(0, np.minimum(place, 2 - place)), ((0, 0), (0, 1))), np.float32)


def _labels(folder: Path, pattern: str, count: int) -> tuple[str, ...]:
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise UsageError(
            f"{len(files)} tables of labels lie beside the network", expected=f"one {pattern}", path=folder
        )
    text = read_bytes(files[0], limits=Limits(max_bytes=1_000_000)).decode("utf-8", "replace")
    names = tuple(str(row.get("display_name")) for row in csv.DictReader(text.splitlines()))
    if len(names) != count:
        raise UsageError(f"the table has {len(names)} labels", expected=f"{count}, in display_name", path=files[0])
    return names
