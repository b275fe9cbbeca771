"""Scores of outputs that a network gives: what it hears in an output beside what it hears in the stem."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from auscult.media.paths import read_bytes
from auscult.media.sound import SoundReader
from auscult.outcome import Outcome, Scored, Signature, Undefined
from auscult.record.schema import metric_row
from auscult.score.sound.downstream import accuracy, word_error
from auscult.score.sound.embeddings import frechet_distance, words_fit
from auscult.types import Samples

LISTENERS: Final = ("frechet", "text_similarity", "accuracy", "word_error", "speech_quality")
"""Protocols that need ``--model``: ``mn04@FOLDER``, ``yamnet@FOLDER``, ``clap@FOLDER``; a folder of Whisper, DNSMOS."""

Heard: TypeAlias = tuple[Mapping[str, Outcome[float]], tuple[Any, ...]]
Listener: TypeAlias = Callable[[Samples, Samples, Path], Heard]
"""From output, stem and the stem's file to scores of the output, and what ``set_scores`` takes."""


def listener_of(protocol: str, model: str) -> Listener:
    """Load the network of a protocol; rates are those of the stem's file."""
    kind, named, _ = model.partition("@")
    network = kind if named else Path(model).name
    if protocol == "word_error":
        from auscult.nets.whisper import load_whisper

        whisper = load_whisper(Path(model))

        def understood(output: Samples, stem: Samples, file: Path) -> Heard:
            rate_hz, written = _rate(file), file.with_suffix(".txt")
            said = whisper.transcript(output, rate_hz)
            of_stem = whisper.transcript(stem, rate_hz)
            true = read_bytes(written).decode("utf-8", "replace") if written.is_file() else of_stem
            return {"word_error": word_error([said], [true], network=network)}, (said, of_stem, true, network)

        return understood
    if protocol == "speech_quality":
        return _speech_quality(Path(model))
    from auscult.models.sound_taggers import load_tagger, text_similarity

    tagger = load_tagger(model)

    def embedded(output: Samples, stem: Samples, file: Path) -> Heard:
        vectors = [tagger.embedding(one, _rate(file)) for one in (output, stem)]
        return {}, (*vectors, network)

    def fitting(output: Samples, _stem: Samples, file: Path) -> Heard:
        mixture = next((path for path in file.parent.iterdir() if path.stem == "mixture"), None)
        words, fits = _words(file), [text_similarity(tagger, _words(file), output, rate_hz=_rate(file))]
        if mixture is not None:
            with SoundReader(mixture) as reader:
                fits.append(text_similarity(tagger, words, reader[..., :], rate_hz=reader.rate_hz))
        found = words_fit(fits[0], fits[-1], network=network)
        return found if mixture is not None else {"text_similarity": found["text_similarity"]}, ()

    def classified(output: Samples, stem: Samples, file: Path) -> Heard:
        right = []
        for sound in (output, stem):
            named = text_similarity(tagger, _words(file), sound, rate_hz=_rate(file))
            top = float(np.max(tagger.probabilities(sound, _rate(file))))
            right.append(None if named is None else named >= top)
        own = accuracy([] if right[0] is None else [right[0]], network=network)
        return {"accuracy": own}, (right[0], right[1], network)

    return {"frechet": embedded, "text_similarity": fitting, "accuracy": classified}[protocol]


def _speech_quality(folder: Path) -> Listener:
    """DNSMOS of an output; the stem is not looked at."""
    from auscult.models.dnsmos import Dnsmos

    dnsmos = Dnsmos(folder)

    def rated(output: Samples, _stem: Samples, file: Path) -> Heard:
        if not output.any():
            return {"overall": Undefined("the estimate is silent")}, ()
        found = dnsmos.scores(output, _rate(file)).items()
        signed = {name: Signature.of(metric=f"dnsmos_{name}", network=folder.name) for name, _ in found}
        return {name: Scored(value, signed[name]) for name, value in found}, ()

    return rated


def _rate(file: Path) -> int:
    with SoundReader(file) as reader:
        return reader.rate_hz


def _words(file: Path) -> str:
    """The words that a stem's file name says: dog_barking_2.wav is a dog barking."""
    return re.sub(r"[\W_\d]+", " ", file.stem).strip()


def set_scores(protocol: str, parts: Sequence[tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
    """Metrics of all outputs together, for a summary."""
    if not parts or protocol not in LISTENERS:
        return {}
    network = parts[0][-1]
    if protocol == "frechet":
        found = frechet_distance(*(np.stack([part[number] for part in parts]) for number in (0, 1)), network=network)
        more = {"extrapolated": found.extrapolated, "bias": found.bias} if isinstance(found, Scored) else {}
        made: dict[str, Any] = {"frechet": (found, more)}
    elif protocol == "accuracy":
        parts = [part for part in parts if part[0] is not None]
        made = {"accuracy of stems": (accuracy([part[1] for part in parts], network=network), {})}
    else:
        said, stems, true = ([part[number] for part in parts] for number in (0, 1, 2))
        made = {
            "word_error of all": (word_error(said, true, network=network), {}),
            "word_error of stems": (word_error(stems, true, network=network), {}),
        }
    return {
        name: metric_row(one, n=len(parts), **more) for name, (one, more) in made.items() if isinstance(one, Scored)
    }  # fmt: skip
