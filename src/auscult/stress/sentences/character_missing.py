"""Missing characters: a keyboard, a recogniser or a link that loses some.

Source: R2-Bench, Table 1, sensor noise of text; the amounts of its toolbox: round(length x 0.05 x level) deletions,
spaces among them. Here a character is what a reader sees: a letter with its accents goes as one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auscult.language.tokens import TextSpan, graphemes
from auscult.stress.perturbation import Constant, Declared
from auscult.stress.sentences.base import Edit, Kept, SentenceStressor
from auscult.stress.sentences.tokens import Guard
from auscult.types import Metadata


class CharacterMissing(Declared):
    """Takes characters out; what is lost at one strength is lost at every greater one too."""

    name = "sentences.character_missing.v1"
    share = Constant("share of the characters", (0.0, 0.05, 0.10, 0.15, 0.20, 0.25))
    meta = Metadata(
        summary="takes characters out of the sentence",
        goal="a lossy keyboard or recogniser: words lose letters and run together",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="the meaning stays; the lost characters are listed",
        origin="sensor",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw the order in which characters go, and take the first of it; a kept word does not run into others."""
        share = self.share.at(strength)
        spans = graphemes(sentence)
        guard = Guard.over([_with_spaces(sentence, span) for span in kept])
        can_go = [span for span in spans if guard.free(*span)]
        count = min(round(share * len(spans)), len(can_go))
        gone = sorted(rng.permutation(len(can_go))[:count].tolist())
        return [Edit(can_go[at][0], can_go[at][1], "") for at in gone]


def _with_spaces(sentence: str, span: TextSpan) -> TextSpan:
    low, high = span
    before, after = sentence[max(low - 1, 0) : low].isspace(), sentence[high : high + 1].isspace()
    return low - before, high + after


STRESSOR: SentenceStressor = CharacterMissing()
