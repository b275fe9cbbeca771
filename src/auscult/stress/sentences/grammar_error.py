"""Grammar errors: agreement, tense, articles, prepositions, word order.

Source: R2-Bench, Table 1, source noise of text. Its toolbox has a chat model put them in and knows no severity for
them; here they are put in by rules, from a seed, and their number grows with the level: a tenth of the words at level 1
to half of them at level 5, at least one from level 1 on. ``rewritten`` takes a chat model instead.

The rules are English. Of text that holds no word they know, words change places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

import numpy as np

from auscult.stress.sentences import grammar_nouns, grammar_verbs
from auscult.stress.sentences.base import Edit, SentenceStressor, Span
from auscult.stress.sentences.grammar_lexicon import lexicon
from auscult.stress.sentences.grammar_words import Fault, View, tables
from auscult.stress.sentences.tokens import Guard, words
from auscult.stress.strength import ALL_ONE_WAY, Rows, between
from auscult.types import Metadata

_Way: TypeAlias = Callable[[View, int], Iterator[Fault]]

_WAYS: Final[Sequence[_Way]] = (
    grammar_nouns.articles,
    grammar_nouns.prepositions,
    grammar_nouns.number,
    grammar_verbs.agreement,
    grammar_verbs.tense,
    grammar_nouns.order,
)


class GrammarError:
    """Puts faults in; those of one strength are there at every greater one too."""

    name = "sentences.grammar_error.v1"
    levels: Rows = ((0.0,), (0.1,), (0.2,), (0.3,), (0.4,), (0.5,))
    declared = ALL_ONE_WAY
    meta = Metadata(
        summary="puts in faults of agreement, tense, articles, prepositions and word order",
        goal="a writer who is not at home in the language: the words are known, their order and forms are not",
        modality="text",
        source="R2-Bench, Sec. 3.1, Table 1; the number of faults per level is ours",
        truth="what is meant stays; the faults are listed",
        origin="source",
    )

    def choose(
        self, rng: np.random.Generator, sentence: str, *, strength: float, kept: Sequence[Span] = ()
    ) -> Sequence[Edit]:
        """Draw an order among all faults that could be put in, and take the first that do not touch one another."""
        (share,) = between(self.levels, strength)
        found = words(sentence)
        count = max(round(share * len(found)), 1 if strength >= 1.0 else 0)
        view = View(sentence=sentence, words=found, lows=[word.low for word in found], known=lexicon())
        faults = possible_faults(view, Guard.over(kept))
        chosen = _first_apart([faults[at] for at in _drawn_order(rng, faults)], count)
        return sorted((fault.edit for fault in chosen), key=lambda edit: (edit.start, edit.end))


def possible_faults(view: View, guard: Guard) -> list[Fault]:
    """Every fault that the rules know for a sentence and that touches nothing that must stay."""
    return _free(view, _WAYS, guard) or _free(view, (grammar_nouns.repeated,), guard)


def _free(view: View, ways: Sequence[_Way], guard: Guard) -> list[Fault]:
    faults = (fault for at in range(len(view.words)) for way in ways for fault in way(view, at))
    return [fault for fault in faults if guard.free(fault.edit.start, fault.edit.end)]


def _drawn_order(rng: np.random.Generator, faults: Sequence[Fault]) -> list[int]:
    """A random order in which each kind comes as often as its weight asks, however many places it has."""
    many = Counter(fault.kind for fault in faults)
    weights = np.array([tables().weights[fault.kind] / many[fault.kind] for fault in faults])
    waits = rng.standard_exponential(len(faults)) / weights
    order: list[int] = np.argsort(waits, kind="stable").tolist()
    return order


def _first_apart(faults: Sequence[Fault], count: int) -> list[Fault]:
    taken: set[int] = set()
    chosen: list[Fault] = []
    for fault in faults:
        if len(chosen) >= count:
            break
        touched = range(fault.first, fault.last + 1)
        if taken.isdisjoint(touched):
            taken.update(touched)
            chosen.append(fault)
    return chosen


STRESSOR: SentenceStressor = GrammarError()
