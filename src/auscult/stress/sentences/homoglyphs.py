"""Homoglyphs: letters replaced by look-alikes of other scripts; a reader sees no difference, a tokenizer another word.

R2-Bench's prompt for misspellings asks for them too; the shares here are ours, those of missing characters, so that
the two compare at equal numbers of touched characters. The look-alikes survive NFKC normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from auscult.stress.perturbation import Constant, Declared
from auscult.stress.sentences import data
from auscult.stress.sentences.base import Edit, Kept, SentenceStressor
from auscult.stress.sentences.tokens import Guard, graphemes
from auscult.types import Metadata


class Homoglyphs(Declared):
    """Replaces letters; those replaced at one strength are replaced at every greater one too."""

    name = "sentences.homoglyphs.v1"
    share = Constant("share of the characters", (0.0, 0.05, 0.10, 0.15, 0.20, 0.25))
    meta = Metadata(
        summary="replaces letters by look-alikes of other scripts",
        goal="text that reads the same and is spelt with other characters: words fall apart for a tokenizer",
        modality="text",
        source="R2-Bench, Sec. 3.1 (part of its misspellings); shares are ours",
        truth="the meaning stays; the replaced letters are listed",
        origin="source",
    )

    def choose(self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Kept = ()) -> Sequence[Edit]:
        """Draw the order in which letters are replaced and a look-alike for each, and take the first of them."""
        share = self.share.at(strength)
        guard, alike = Guard.over(kept), look_alikes()
        spans = graphemes(sentence)
        can = [(start, end) for start, end in spans if sentence[start:end] in alike and guard.free(start, end)]
        order, draws = rng.permutation(len(can)), rng.random(len(can))
        edits = []
        for at in sorted(order[: round(share * len(spans))].tolist()):
            start, end = can[at]
            choice = alike[sentence[start:end]]
            edits.append(Edit(start, end, choice[int(draws[at] * len(choice))]))
        return edits


@cache
def look_alikes() -> Mapping[str, str]:
    """Each letter that has look-alikes, with these."""
    groups: list[str] = data.read("look_alikes")["groups"]
    return MappingProxyType({char: group.replace(char, "") for group in groups for char in group})


STRESSOR: SentenceStressor = Homoglyphs()
