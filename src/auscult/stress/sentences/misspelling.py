"""Misspelling: words written as hasty fingers or a hazy memory would write them.

Source: R2-Bench, Table 1, source noise of text. Its toolbox picks round(c x tokens) words, c = .2 to .6, and has a chat
model misspell them; here the same number is misspelt by rules, from a seed. Words are counted by themselves, without
the punctuation marks that its tokenizer counts too. ``rewritten`` takes a chat model instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auscult.stress.sentences.base import Edit, SentenceStressor, Span
from auscult.stress.sentences.tokens import Guard, words
from auscult.stress.sentences.typos_rules import DRAWS, misspelt, typos
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.types import Metadata


class Misspelling:
    """Misspells words; what is misspelt at one strength is so at every greater one too, and in the same way.

    Args:
        layout: The keyboard whose neighbouring keys are hit: ``qwerty``, ``qwertz`` or ``azerty``.
    """

    name = "sentences.misspelling.v1"
    levels: Rows = ((0.0,), (0.2,), (0.3,), (0.4,), (0.5,), (0.6,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="misspells words: neighbouring keys, swaps, doublings, omissions, spelling by ear, confusions",
        goal="hasty or unsure writing: known words become unknown ones",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1",
        truth="what is meant stays; the changed words are listed",
        origin="source",
    )

    def __init__(self, layout: str = "qwerty") -> None:
        self._layout = layout

    def choose(
        self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Sequence[Span] = ()
    ) -> Sequence[Edit]:
        """Draw the order in which words are misspelt and how, and take the first of them; digits are left alone."""
        (share,) = between(self.levels, strength)
        guard, rules, found = Guard.over(kept), typos(self._layout), words(sentence)
        can = [word for word in found if word.spelt and guard.free(word.start, word.end)]
        order, draws = rng.permutation(len(can)), rng.random((len(can), DRAWS))
        return [
            Edit(can[at].start, can[at].end, misspelt(can[at].text, draws[at].tolist(), rules))
            for at in sorted(order[: round(share * len(found))].tolist())
        ]


STRESSOR: SentenceStressor = Misspelling()
