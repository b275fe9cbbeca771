"""The tagger that comes with auscult beside the public one it was trained on from, on recordings neither was fitted to.

    AUSCULT_DATA=FOLDER python studies/sound_tagger.py

217 recordings of 96 classes. *named*: the most probable of 527 labels is one that the words of the class name; the
classes whose words name a label count. *nearest*: the recording with the most similar embedding is of the same class;
classes of two recordings or more count. Intervals draw classes.
"""

from __future__ import annotations

import csv
import os
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean

import numpy as np

from auscult.media.sound import read_sound
from auscult.models.sound_taggers import SHIPPED, SoundTagger, load_tagger, text_similarity
from auscult.rng import generator
from auscult.score.stats.intervals import bootstrap_interval

DATA = Path(os.environ["AUSCULT_DATA"]) / "sound"


def main() -> None:
    with (DATA / "recordings" / "clips.csv").open(encoding="utf-8") as file:
        clips = list(csv.DictReader(file))
    sounds = [read_sound(DATA / "recordings" / clip["file"]) for clip in clips]
    classes = [clip["cls"] for clip in clips]
    print("| tagger | named | nearest |\n|---|---|---|")
    for name in (SHIPPED, f"mn04@{DATA / 'nets'}"):
        tagger = load_tagger(name)
        named = [hit(tagger, clip["cls"], sound) for clip, sound in zip(clips, sounds, strict=True)]
        vectors = np.stack([tagger.embedding(sound.samples, sound.rate_hz) for sound in sounds])
        nearest = [classes[index] == own for index, own in zip(neighbours(vectors), classes, strict=True)]
        counts = Counter(classes)
        cells = (
            share([(value, own) for value, own in zip(named, classes, strict=True) if value is not None]),
            share([(value, own) for value, own in zip(nearest, classes, strict=True) if counts[own] > 1]),
        )
        print(f"| {name.partition('@')[0]} | {' | '.join(cells)} |")
    most = Counter(own for own in classes if counts[own] > 1).most_common(1)[0][1]
    print(f"The most frequent class has {most} of {sum(count for count in counts.values() if count > 1)}.")


def hit(tagger: SoundTagger, words: str, sound: object) -> bool | None:
    value = text_similarity(tagger, words, sound.samples, rate_hz=sound.rate_hz)
    return None if value is None else value >= float(tagger.probabilities(sound.samples, sound.rate_hz).max())


def neighbours(vectors: np.ndarray) -> np.ndarray:
    """For each vector the index of the most similar other one, by cosine around the mean."""
    centred = vectors - vectors.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    similar = centred @ centred.T
    np.fill_diagonal(similar, -2)
    return similar.argmax(axis=1)


def share(hits: list[tuple[bool, str]]) -> str:
    clusters = defaultdict[str, list[float]](list)
    for value, own in hits:
        clusters[own].append(float(value))
    interval = bootstrap_interval(fmean, list(clusters.values()), rng=generator(0, "tagger"))
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}], {len(hits)} of {len(clusters)} classes"


main()
