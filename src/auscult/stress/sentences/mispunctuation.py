"""Mispunctuation: stray punctuation marks inside the sentence.

Source: R2-Bench, Table 1, source noise of text; the amounts of its toolbox: round(length x 0.04 x level) marks. Here a
character is what a reader sees, so that no mark falls between a letter and its accent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from auscult.stress.perturbation import Constant, Declared
from auscult.stress.sentences.base import Edit, Kept, SentenceStressor
from auscult.stress.sentences.tokens import Guard, graphemes
from auscult.types import Metadata

MARKS: Final = ",.;:!?"


class Mispunctuation(Declared):
    """Puts marks between characters, never before the first or after the last."""

    name = "sentences.mispunctuation.v1"
    share = Constant("marks per character", (0.0, 0.04, 0.08, 0.12, 0.16, 0.20))
    meta = Metadata(
        summary="puts stray punctuation marks inside the sentence",
        goal="hasty typing: words fall apart for a tokenizer",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="the meaning stays; the changed places are listed",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw distinct places and a mark for each."""
        share = self.share.at(strength)
        guard, spans = Guard.over(kept), graphemes(sentence)
        positions = [at for at, _ in spans[1:] if guard.free(at, at)]
        count = min(round(share * len(spans)), len(positions))
        drawn = sorted(rng.choice(len(positions), size=count, replace=False).tolist()) if count else []
        return [Edit(positions[index], positions[index], MARKS[int(rng.integers(len(MARKS)))]) for index in drawn]


STRESSOR: SentenceStressor = Mispunctuation()
