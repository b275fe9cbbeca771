"""How far apart two sentences are: the least number of characters to put in, take out or replace."""

from __future__ import annotations

import numpy as np

from auscult.stress.sentences.tokens import graphemes


def edit_distance(before: str, after: str) -> int:
    """Levenshtein's distance of two texts, in characters as a reader sees them; 0 where they are equal.

    Time and memory grow with the product and the sum of their lengths: 4,000 characters each take about 0.1 s.

    Example:
        >>> edit_distance("the small dog", "the smal dogs")
        2
    """
    old = [before[start:end] for start, end in graphemes(before)]
    new = [after[start:end] for start, end in graphemes(after)]
    codes = {char: code for code, char in enumerate(dict.fromkeys(old + new))}
    coded = np.array([codes[char] for char in new], dtype=np.int64)
    steps = np.arange(len(new) + 1)
    row = steps.copy()
    for char in old:
        below = row + 1
        below[1:] = np.minimum(below[1:], row[:-1] + (coded != codes[char]))
        row = np.minimum.accumulate(below - steps) + steps  # what is put in comes from the left
    return int(row[-1])
