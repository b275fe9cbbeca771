"""Options of what is done with verdicts on separated sounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from auscult.errors import UsageError
from auscult.jobs.options import Flag, names


def counts(text: str) -> tuple[int, ...]:
    """Whole numbers of 1 to 1000 in a comma-separated list."""
    words = names(text)
    if not words or not all(word.isdecimal() and len(word) <= 4 and 1 <= int(word) <= 1000 for word in words):
        raise UsageError(f"{text[:40]!r} cannot be read", expected="whole numbers, such as 2,4,8")
    return tuple(map(int, words))


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """What to choose the best by, and what to compare the choice with.

    Attributes:
        folder: A record of `auscult audit` with several outputs of each mixture.
        by: overall, recall, precision or faithfulness.
        ks: Comma-separated: with truth in INPUT, what the best of so many is worth.
        tagger: sound.compact.v1, or clap@, mn04@ or yamnet@FOLDER: choosing by how words and sound agree stands beside.
        out: Folder for items.jsonl, ranking.jsonl and rerank.json; beside DIR by default.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    by: str = "overall"
    ks: Annotated[tuple[int, ...], Flag(name="k", read=counts)] = (2, 4, 8)
    tagger: Annotated[str | None, Flag(shown="none")] = None
    out: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoLabelOptions:
    """Which outputs become labelled stems.

    Attributes:
        folder: A record of `auscult audit` with separated sounds.
        min_overall_low: Take those whose interval of overall begins at least here, in place of those that are accepted.
        sound_policy: Decide again by another policy first; nothing is judged again.
        out: Folder for items.jsonl and sounds/; beside DIR by default.
    """

    folder: Annotated[Path, Flag(metavar="DIR", positional=True)]
    min_overall_low: Annotated[float | None, Flag(least=1.0, most=5.0)] = None
    sound_policy: str | None = None
    out: Path | None = None
