"""The card of the compact judge: measured on one part of the committed split, through the judge itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from auscult.jobs.progress import Progress, Silent
from auscult.judge.cards import Card, Result
from auscult.judge.masks.cues import JUDGE as CUES
from auscult.train.compact import card_words
from auscult.train.compact.card_judging import Baselines, Heard, Measured, baselines, judged
from auscult.train.compact.card_numbers import results_of
from auscult.train.compact.card_sets import Amounts, sets_of
from auscult.train.material import Sample
from auscult.train.split import Part
from auscult.types import MaskJudge

BESIDE: Final[tuple[MaskJudge, ...]] = (CUES,)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """What is measured.

    Attributes:
        part: Which part of the committed split; the card that ships is of ``test``.
        seed: Seed of the masks and of the intervals.
        amounts: How much of each set.
        only: Sets to measure; None for all.
        beside: Judges that get a row of their own.
        weights: SHA-256 of the judge's weights, for the card to name; empty where that is not known.
    """

    part: Part = "test"
    seed: int = 0
    amounts: Amounts = field(default_factory=Amounts)
    only: tuple[str, ...] | None = None
    beside: Sequence[MaskJudge] = BESIDE
    weights: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """Everything that was measured.

    Attributes:
        judge: Whose study it is.
        options: What was asked for.
        known: What the baselines say.
        sets: The masks of each set and what was said of them.
        results: The numbers.
    """

    judge: str
    options: StudyOptions
    known: Baselines
    sets: tuple[Measured, ...]
    results: tuple[Result, ...]


def card(data: Path, *, judge: MaskJudge, seed: int = 0, weights: str = "") -> Card:
    """Measure the card that ships: the test part, every set.

    Args:
        data: The folder of real material.
        judge: The judge.
        seed: Seed of the masks and of the intervals.
        weights: SHA-256 of the judge's weights, for the card to name.

    Raises:
        InputError: The data is missing or broken.
        UsageError: The judge's files are missing or broken.
    """
    return card_of_study(study(data, judge=judge, options=StudyOptions(seed=seed, weights=weights)))


def study(
    data: Path,
    *,
    judge: MaskJudge,
    options: StudyOptions,
    heard: Heard | None = None,
    progress: Progress | None = None,
    known: Baselines | None = None,
) -> Study:
    """Measure.

    Args:
        data: The folder of real material.
        judge: The judge.
        options: What is measured.
        heard: Is told of each mask and the judge's verdict.
        progress: Hears of each set.
        known: What the baselines say, where that was found out before.

    Raises:
        InputError: The data is missing or broken.
        UsageError: The judge's files are missing or broken.
    """
    listener = progress or Silent()
    listener.stage("masks of the training and calibration part", 0)
    found = known or baselines(data, seed=options.seed)
    sets = tuple(_measured(data, judge, options=options, known=found, heard=heard, progress=listener))
    results = [result for one in sets for result in results_of(one, known=found, judge=judge.name, seed=options.seed)]
    return Study(judge=judge.name, options=options, known=found, sets=sets, results=tuple(results))


def card_of_study(found: Study) -> Card:
    """A study as a card."""
    words = card_words.set_words(found.options.part)
    return Card(
        judge=found.judge,
        summary=card_words.SUMMARY,
        data=card_words.DATA,
        split=card_words.split_words(found.options.part, weights=found.options.weights),
        sets={one.name: words[one.name] for one in found.sets},
        metrics=card_words.METRICS,
        seed=found.options.seed,
        not_for=card_words.NOT_FOR,
        results=found.results,
        constants={source: {"constant-IoU": value} for source, value in found.known.constants.items()},
    )


def _measured(
    data: Path,
    judge: MaskJudge,
    *,
    options: StudyOptions,
    known: Baselines,
    heard: Heard | None,
    progress: Progress,
) -> Iterator[Measured]:
    wanted: list[tuple[str, Callable[[], Iterator[Sample]]]] = [
        (name, made)
        for name, made in sets_of(data, options.part, seed=options.seed, amounts=options.amounts).items()
        if options.only is None or name in options.only
    ]
    progress.stage("measuring", len(wanted))
    for name, made in wanted:
        found = judged(name, made(), judges=(judge, *options.beside), known=known, seed=options.seed, heard=heard)
        progress.step()
        if found is not None:
            yield found
