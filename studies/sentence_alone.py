"""How far the sentence alone tells whether it names something: AUC by kind of negation, nobody looks at a picture.

    python studies/sentence_alone.py NEG   # a folder of `auscult stress negatives`

Naive Bayes over words and pairs of words, in five folds over pictures; of references that have both true and false
sentences. Intervals draw whole pictures. A model is worth what it tells beyond this.
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from auscult.nets.refsegformer.settings import words_of
from auscult.outcome import Scored
from auscult.record.lines import read_lines
from auscult.rng import generator
from auscult.score.stats import Interval, auc_interval

FOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence, and the kind of its negation where it is false."""

    picture: str
    parts: frozenset[str]
    kind: str


def read(folder: Path) -> list[Said]:
    """The sentences of references that have true and false ones."""
    of: dict[str, list[Said]] = defaultdict(list)
    for row in read_lines(folder / "items.jsonl"):
        words = ["<", *words_of(row["text"]), ">"]
        parts = frozenset([*words, *(f"{first} {second}" for first, second in zip(words, words[1:]))])
        kind = "" if row["exists"] else (row.get("negative") or {}).get("kind", "null")
        of[row.get("reference") or row["id"]].append(Said(row["frame"], parts, kind))
    return [one for same in of.values() if len({bool(one.kind) for one in same}) == 2 for one in same]


def fold(picture: str) -> int:
    return sha256(picture.encode()).digest()[0] % FOLDS


def evidence(said: list[Said], at: int) -> list[float]:
    """For each sentence of a fold the log odds that it is true, by the other folds."""
    counts = {kind: Counter[str]() for kind in (True, False)}
    many = Counter[bool]()
    for one in said:
        if fold(one.picture) != at:
            counts[not one.kind].update(one.parts)
            many[not one.kind] += 1
    odds = {
        part: math.log((counts[True][part] + 1) / (many[True] + 2))
        - math.log((counts[False][part] + 1) / (many[False] + 2))
        for part in {*counts[True], *counts[False]}
    }
    return [math.fsum(odds.get(part, 0.0) for part in one.parts) for one in said if fold(one.picture) == at]


def main() -> None:
    """Print a row for each kind."""
    said = read(Path(sys.argv[1]))
    ordered = sorted(said, key=lambda one: fold(one.picture))
    scores = [value for at in range(FOLDS) for value in evidence(said, at)]
    print(
        f"{len(said)} sentences of {len({one.picture for one in said})} pictures\n\n| kind | n | AUC of the sentence alone |\n|---|---|---|"
    )
    for kind in ("", *sorted({one.kind for one in said} - {""})):
        mine = [
            (value, one)
            for value, one in zip(scores, ordered, strict=True)
            if not one.kind or not kind or one.kind == kind
        ]
        found = auc_interval(
            [value for value, _ in mine],
            [not one.kind for _, one in mine],
            clusters=[one.picture for _, one in mine],
            rng=generator(0, "sentence alone", kind),
        )
        if isinstance(found, Scored):
            ends = f" [{found.low:.2f}, {found.high:.2f}]" if isinstance(found, Interval) else ""
            print(f"| {kind or 'all'} | {sum(bool(one.kind) for _, one in mine)} | {found.value:.2f}{ends} |")


if __name__ == "__main__":
    main()
