"""What another network makes of outputs: whether it names the right class, and whether it understands the words.

Conventions: ``accuracy`` 0..1, higher is better, read beside the same network's on the stems; ``word_error`` 0 or more,
lower is better: substitutions, deletions and insertions over the words of the reference, after lower case and without
punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from auscult.outcome import Scored, Signature, Undefined


def accuracy(right: Sequence[bool], *, network: str = "unnamed") -> Scored[float] | Undefined:
    """Share of sounds of which a network's most probable label is one that their words name."""
    if not right:
        return Undefined("no sounds whose words name a label of the network")
    return Scored(sum(right) / len(right), Signature.of(metric="accuracy", network=network))


def word_error(said: Sequence[str], true: Sequence[str], *, network: str = "unnamed") -> Scored[float] | Undefined:
    """Word error rate of transcripts, all errors over all words; Undefined without a word in the references."""
    pairs = [(_words(one), _words(other)) for one, other in zip(said, true, strict=True)]
    words = sum(len(other) for _, other in pairs)
    if not words:
        return Undefined("the references hold no word")
    errors = sum(_edits(one, other) for one, other in pairs)
    return Scored(errors / words, Signature.of(metric="word_error", network=network, case="lower", words=words))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower())


def _edits(one: Sequence[str], other: Sequence[str]) -> int:
    """Levenshtein distance of words."""
    row = list(range(len(other) + 1))
    for number, word in enumerate(one, 1):
        before, row[0] = row[0], number
        for at, true in enumerate(other, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != true))
    return row[-1]
