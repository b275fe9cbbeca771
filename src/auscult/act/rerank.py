"""Choose the best of several outputs of one mixture, and say what choosing the best of k would be worth.

A row is a line of ``verdicts.jsonl`` of a separated sound. Of k candidates drawn at random from n the expected truth of
the chosen one is exact: what b others beat and t others equal is chosen with the probability
(C(n - b, k) - C(n - b - t - 1, k)) / C(n, k) / (t + 1).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import comb
from typing import Any, Final

import numpy as np

from auscult.act.export.masks import JsonRow
from auscult.types import PERFORMANCE, Doubles

_ASKED: Final = ("mixture", "text", "spans_s", "video")


def grouped(rows: Iterable[JsonRow]) -> list[list[JsonRow]]:
    """Candidates of one mixture and prompt together, in the order of the rows."""
    groups: dict[str, list[JsonRow]] = {}
    for row in rows:
        groups.setdefault(json.dumps([row.get(key) for key in _ASKED]), []).append(row)
    return list(groups.values())


def standing(row: JsonRow, by: str) -> tuple[float, float] | None:
    """The score ``by`` of a row and its weakest axis, which breaks ties; None where it was not judged."""
    return None if row.get(by) is None else (row[by], min(row[axis] for axis in PERFORMANCE[:3]))


def ranked(rows: Sequence[JsonRow], by: str) -> list[dict[str, Any]]:
    """The candidates of one mixture, best first: ``id``, ``mixture``, ``text``, ``rank`` from 1, ``score``, ``margin``.

    The margin is the score minus the best of the others'; None where there is no other score. Unjudged ones stand last.
    """
    order = sorted(rows, key=lambda row: standing(row, by) or (0.0, 0.0), reverse=True)
    scores = [row.get(by) for row in order]
    candidates = []
    for index, (row, score) in enumerate(zip(order, scores, strict=True)):
        other = next((value for place, value in enumerate(scores) if place != index), None)
        margin = None if score is None or other is None else round(score - other, 6)
        fields = {key: row.get(key) for key in ("id", "mixture", "text")}
        candidates.append({**fields, "rank": index + 1, "score": score, "margin": margin})
    return candidates


def best_of(standings: Sequence[Any], truths: Doubles, k: int) -> float:
    """Expected truth of the candidate that stands highest among k of n, 1 to n, drawn at random; of 1 it is the mean.

    By ``standings``, (n,), each is chosen; None, where nothing is known, is lowest. ``truths``, (n,), are their worth.
    """
    levels = sorted({value for value in standings if value is not None})
    places = [-1 if value is None else levels.index(value) for value in standings]
    chances = []
    for place in places:
        beaten, equal = sum(other > place for other in places), places.count(place)
        chances.append((comb(len(places) - beaten, k) - comb(len(places) - beaten - equal, k)) / equal)
    return float(np.dot(chances, truths)) / comb(len(places), k)


def kept_quality(
    scores: Doubles, truths: Doubles, shares: Sequence[float], *, weights: Doubles | None = None
) -> Doubles:
    """Mean truth of the best share of items by score, for each share of 0..1, (shares,); ties count by their mean.

    Of the last item the part counts that a share asks for. ``weights`` say how often each item is there, once by
    default.
    """
    order = np.argsort(-scores, kind="stable")
    weight = (np.ones_like(truths) if weights is None else weights)[order]
    _, ties = np.unique(scores[order], return_inverse=True)
    sums = [np.bincount(ties, weight * column) for column in (truths[order], 1.0)]
    true = (sums[0] / np.maximum(sums[1], 1e-12))[ties]
    counts = np.concatenate(([0.0], np.cumsum(weight)))
    sizes = np.maximum(np.asarray(shares), 1e-9) * counts[-1]
    return np.asarray(np.interp(sizes, counts, np.concatenate(([0.0], np.cumsum(weight * true)))) / sizes)
