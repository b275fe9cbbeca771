"""What is heard in a sound: probabilities of labels, an embedding, and how well words fit it.

``sound.compact.v1`` comes with auscult. Other networks are the user's, in a folder with a table of their labels
(``display_name`` in a CSV file): ``mn04@FOLDER``, ``yamnet@FOLDER``, ``clap@FOLDER``. Of a sound longer than a
network's window the mean over windows is given.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from auscult.arrays.resampling import mono_at
from auscult.arrays.spectra import RATE_HZ, SILENCE, log_mel
from auscult.errors import InputError, UsageError
from auscult.language.lexicon import stem
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.nets.hf_sounds import Clap
from auscult.nets.onnx_session import open_interpreter, open_known, open_session, read_network
from auscult.types import Floats, Samples

_FETCH: Final = "fetch the network's file again"
_NO_SOUND: Final = frozenset({"a", "an", "and", "by", "in", "made", "of", "on", "or", "play", "sound", "sounds", "the"})
# Everyday words, by their stems, for what AudioSet calls otherwise.
_MEANS: Final = {"laugh": "laughter", "speak": "speech", "talk": "speech", "vocal": "sing", "voic": "speech"}
_TABLE: Final = Limits(max_bytes=1_000_000)


class SoundTagger(Protocol):
    """A network that says what is heard in a sound, (samples,) or (channels, samples).

    One that compares any words with a sound has ``similarity(text, samples, rate_hz)``, a cosine, as CLAP has.
    """

    labels: tuple[str, ...]  # what its probabilities are of

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (labels,) in 0..1."""
        ...

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """A vector of the sound, float32 (d,)."""
        ...


def text_similarity(tagger: SoundTagger, text: str, samples: Samples, *, rate_hz: int) -> float | None:
    """How well words fit a sound: a cosine, or the highest probability of the labels that the words name.

    Of labels those count whose words are all in the text, and of these the ones of the most words: ``female speech``
    means that label, and not all speech. None where the words name no label.
    """
    similarity = getattr(tagger, "similarity", None)
    if similarity is not None:
        return float(similarity(text, samples, rate_hz))
    numbers = _label_numbers(tagger.labels, text)
    return float(tagger.probabilities(samples, rate_hz)[list(numbers)].max()) if numbers else None


@lru_cache(maxsize=512)
def _label_numbers(labels: tuple[str, ...], text: str) -> tuple[int, ...]:
    """The numbers of the labels that a text names."""
    meant = (stems := _stems(text)) | {_MEANS[stem] for stem in stems & _MEANS.keys()}
    fits = [max(len(name) * (name <= meant) for name in map(_stems, label.split(","))) for label in labels]
    return tuple(number for number, words in enumerate(fits) if words and words == max(fits))


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, re.findall(r"[a-z]+", text.lower()))) - _NO_SOUND


def heard_prompts(tagger: SoundTagger, samples: Samples, *, rate_hz: int, least: float = 0.3) -> dict[str, float]:
    """Prompts for what is heard in a sound and their probabilities, ``least`` or more, the highest first.

    A prompt is the first name of a label in small letters: SAM Audio Judge, Sec. III-A, prompts real mixtures so.
    """
    prompts: dict[str, float] = {}
    for label, value in zip(tagger.labels, tagger.probabilities(samples, rate_hz), strict=True):
        name = label.partition(",")[0].casefold()
        prompts[name] = max(prompts.get(name, 0.0), float(value))
    return {name: prompts[name] for name in sorted(prompts, key=lambda name: -prompts[name]) if prompts[name] >= least}


def load_tagger(given: str) -> SoundTagger:
    """Load one of ``TAGGER_FORMS``; a ``UsageError`` says what is wrong."""
    choice = tagger_folder(given)
    if choice is None:
        raise UsageError(f"there is no tagger {given[:80]!r}", expected=" or ".join(TAGGER_FORMS))
    name, folder = choice
    try:
        return TAGGERS[name](folder)
    except InputError as error:
        raise UsageError(error.message, expected=error.expected, hint=error.hint, path=error.path) from error


def tagger_folder(given: str) -> tuple[str, Path] | None:
    """The kind of tagger and the folder of its networks that a person named; None where it is no tagger."""
    name, at, folder = given.partition("@")
    if name == SHIPPED and not at:
        return name, _SHIPPED_FOLDER
    return (name, Path(folder)) if folder and name in TAGGERS else None


class Compact:
    """What the judge ``sound.compact.v1`` listens with: ``Mn04`` trained on, in windows of 10 s.

    A sound is brought to the level of that judge's mixtures. FOLDER is one that ``auscult train compact-sound`` wrote.
    """

    def __init__(self, folder: Path) -> None:
        paths = folder / "trunk.onnx", folder / "evidence.onnx"
        self._trunk, self._evidence = (open_session(read_network(path), path) for path in paths)
        self.labels = _labels(_SHIPPED_FOLDER.parent, "classes.csv", 527, column="name")

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (527,)."""
        eye = np.eye(len(self.labels), dtype=np.float32)
        return _mean(
            1 / (1 + np.exp(-_LOGITS * self._evidence.run(["evidence"], {"steps": steps, "classes": eye})[0][:, 0, 2]))
            for steps in (np.tile(mean[None, :, None], (len(eye), 1, 1)) for mean in self._means(samples, rate_hz))
        )

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (384,)."""
        return _mean(self._means(samples, rate_hz))

    def _means(self, samples: Samples, rate_hz: int) -> Iterator[Floats]:
        """The mean step of each window, (384,)."""
        sound = mono_at(samples, rate_hz=rate_hz, wanted_hz=RATE_HZ)
        level = float(np.sqrt(np.mean(np.square(sound, dtype=np.float64)))) if sound.size else 0.0
        sound = sound * np.float32(_LEVEL / max(level, 1e-9))
        for part in _windows(sound, size=10 * RATE_HZ, hop=10 * RATE_HZ):
            mel = log_mel(part)
            mel = np.pad(mel, ((0, 0), (0, -mel.shape[1] % _STEP)), constant_values=np.float32(SILENCE))
            yield self._trunk.run(["steps"], {"log_mel": mel[None, None]})[0][0].mean(axis=1)


class Mn04:
    """EfficientAT's smallest network (Schmid et al., ICASSP 2023), ``mn04_as.onnx``: windows of 10 s."""

    def __init__(self, folder: Path) -> None:
        self._session = open_known(folder / "mn04_as.onnx", takes="logmel", gives=[527, 384], hint=_FETCH)
        self.labels = _labels(folder, "*527_labels.csv", 527)

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (527,)."""
        return _mean(1 / (1 + np.exp(-logits)) for logits in self._run("logits", samples, rate_hz))

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (384,)."""
        return _mean(self._run("embedding", samples, rate_hz))

    def _run(self, output: str, samples: Samples, rate_hz: int) -> Iterator[Floats]:
        size = 10 * RATE_HZ
        for part in _windows(mono_at(samples, rate_hz=rate_hz, wanted_hz=RATE_HZ), size=size, hop=size):
            yield self._session.run([output], {"logmel": log_mel(part)[None, None]})[0][0]


class Yamnet:
    """YAMNet, ``yamnet_float_activations.tflite``: windows of .975 s, half of one apart; needs LiteRT."""

    _RATE_HZ, _WINDOW, _POOLED = 16_000, 15_600, "global_average_pooling2d/Mean"

    def __init__(self, folder: Path) -> None:
        path = folder / "yamnet_float_activations.tflite"
        self._network = open_interpreter(read_network(path, hint=_FETCH), path, keep_tensors=True)
        self._network.allocate_tensors()
        self._input, self._output = self._network.get_input_details()[0], self._network.get_output_details()[0]
        pooled = [row["index"] for row in self._network.get_tensor_details() if row["name"].endswith(self._POOLED)]
        if not pooled or list(self._input["shape"]) != [self._WINDOW]:
            raise UsageError("the network is not YAMNet's", expected="YAMNet with float activations", path=path)
        self._pooled = pooled[-1]
        self.labels = _labels(folder, "*class_map.csv", 521)

    def probabilities(self, samples: Samples, rate_hz: int) -> Floats:
        """Of each label, float32 (521,)."""
        return _mean(self._run(self._output["index"], samples, rate_hz))

    def embedding(self, samples: Samples, rate_hz: int) -> Floats:
        """float32 (1024,)."""
        return _mean(self._run(self._pooled, samples, rate_hz))

    def _run(self, output: int, samples: Samples, rate_hz: int) -> Iterator[Floats]:
        mono = mono_at(samples, rate_hz=rate_hz, wanted_hz=self._RATE_HZ)
        for part in _windows(mono, size=self._WINDOW, hop=self._WINDOW // 2):
            self._network.set_tensor(self._input["index"], np.pad(part, (0, self._WINDOW - part.size)))
            self._network.invoke()
            yield self._network.get_tensor(output).reshape(-1).copy()


SHIPPED: Final = "sound.compact.v1"
"""The tagger that needs no folder."""
_SHIPPED_FOLDER: Final = Path(__file__).parents[1] / "judge" / "sound" / "compact"
_LEVEL, _STEP, _LOGITS = 0.05, 32, 4.0  # as the judge has them: of a mixture; frames of a step; what divides its logits
TAGGERS: Final[Mapping[str, Callable[[Path], SoundTagger]]] = {
    SHIPPED: Compact, "mn04": Mn04, "yamnet": Yamnet, "clap": Clap
}  # fmt: skip
TAGGER_FORMS: Final = (SHIPPED, *(f"{name}@FOLDER" for name in TAGGERS if name != SHIPPED))
"""How each is named."""


def _mean(values: Iterator[Any]) -> Floats:
    mean = np.asarray(np.mean(list(values), axis=0), np.float32)
    if not np.isfinite(mean).all():
        raise InputError("the network gives what is no number", expected="whole weights", hint=_FETCH)
    return mean


def _windows(mono: Samples, *, size: int, hop: int) -> Iterator[Samples]:
    """At least one, which may be shorter but not below a twentieth; behind it none that is less than half there."""
    mono = np.pad(mono, (0, max(0, size // 20 - mono.size)))
    for start in range(0, max(1, mono.size - size // 2), hop):
        yield mono[start : start + size]


def _labels(folder: Path, pattern: str, count: int, *, column: str = "display_name") -> tuple[str, ...]:
    path = next(iter(sorted(folder.glob(pattern))), folder / pattern)
    rows = csv.DictReader(read_bytes(path, limits=_TABLE).decode("utf-8", "replace").splitlines())
    names = tuple(row[column] for row in rows if row.get(column))
    if len(names) != count:
        raise UsageError(f"the table has {len(names)} labels", expected=f"{count}, in {column}", path=path)
    return names
