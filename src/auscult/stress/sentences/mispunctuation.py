"""Mispunctuation: stray punctuation marks inside the sentence.

Source: R2-Bench, Table 1, source noise of text; the amounts of its toolbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from auscult.stress.sentences.base import Edit, SentenceStressor, Span, free
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.types import Metadata

MARKS: Final = ",.;:!?"


class Mispunctuation:
    """Puts marks between characters, never before the first or after the last."""

    name = "sentences.mispunctuation.v1"
    levels: Rows = ((0.0,), (0.04,), (0.08,), (0.12,), (0.16,), (0.20,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="puts stray punctuation marks inside the sentence",
        goal="hasty typing: words fall apart for a tokenizer",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="what is meant stays; the changed places are listed",
        origin="source",
    )

    def choose(
        self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Sequence[Span] = ()
    ) -> Sequence[Edit]:
        """Draw distinct places and a mark for each."""
        (share,) = between(self.levels, strength)
        places = [at for at in range(1, len(sentence)) if free((at, at), kept)]
        count = min(round(share * len(sentence)), len(places))
        drawn = sorted(rng.choice(len(places), size=count, replace=False).tolist()) if count else []
        return [Edit(places[at], places[at], MARKS[int(rng.integers(len(MARKS)))]) for at in drawn]


STRESSOR: SentenceStressor = Mispunctuation()
