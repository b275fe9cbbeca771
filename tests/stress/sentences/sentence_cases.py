"""What the tests of sentences share: the five stressors, one call to perturb, and real sentences."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

from auscult.rng import generator
from auscult.stress.sentences.base import Edit, SentenceStressor, TextSpan, edited
from auscult.stress.sentences.grammar_error import STRESSOR as GRAMMAR_ERROR
from auscult.stress.sentences.spelling import CHARACTER_MISSING, HOMOGLYPHS, MISPUNCTUATION, MISSPELLING

ALL = (MISSPELLING, MISPUNCTUATION, GRAMMAR_ERROR, CHARACTER_MISSING, HOMOGLYPHS)
NESTED = (MISSPELLING, GRAMMAR_ERROR, CHARACTER_MISSING, HOMOGLYPHS)
LONG = "The first object making a sound by being played by the man on the left."


def edits(
    stressor: SentenceStressor, sentence: str, *, strength: float, seed: int = 0, protected: Sequence[TextSpan] = ()
) -> Sequence[Edit]:
    return stressor.choose(generator(seed, sentence), sentence, strength=strength, kept=protected)


def perturbed_text_of(
    stressor: SentenceStressor, sentence: str, *, strength: float, seed: int = 0, protected: Sequence[TextSpan] = ()
) -> str:
    return edited(sentence, edits(stressor, sentence, strength=strength, seed=seed, protected=protected))


def real_sentences(data: Path, *, per_source: int) -> list[str]:
    """Some expressions of each of three collections, the same each time."""
    folder = data / "referring"
    with (folder / "ref_avs_expressions.csv").open(encoding="utf-8", newline="") as file:
        audio_sentences = [row["exp"] for row in csv.DictReader(file)]
    videos = json.loads((folder / "ref_youtube_vos_expressions.json").read_text(encoding="utf-8"))["videos"]
    video_sentences = [expression["exp"] for video in videos.values() for expression in video["expressions"].values()]
    pictures = [row["sentence"] for row in json.loads((folder / "refcocos_sentences.json").read_text(encoding="utf-8"))]
    rng = generator(0, "real sentences")
    return [
        source[index]
        for source in (audio_sentences, video_sentences, pictures)
        for index in rng.permutation(len(source))[:per_source].tolist()
    ]
