"""VAR and AVR: which of the candidates belong to the reference (AVI-Bench G.1.4, Eqs. 29-40).

The score is ``(mean(R@1, R@3) + F1) / 2``, times a confidence and a repeat penalty of the whole set of samples. The
penalty is 1 until more than four in five answers repeat another one, and falls from there; so it cannot be below 0.8,
although the paper prints "(0, 1]" under Eq. 34.

Source: AVI-Bench G.1.4. In its text the two tasks are exchanged; Tables 2 and 6 decide, and the formulas are one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

import numpy as np

from auscult.outcome import Failed, Signature, Undefined
from auscult.score.answers import AnswerScore, Columns, Unparsed, chosen, rules_of, score_of
from auscult.types import ScoreSpec

_TAU: Final = 0.8  # the share of repeats from which there is a penalty
_MANY: Final = 6  # indices, above which an answer is less trusted
_DOUBT: Final = 0.3  # the confidence of such an answer


def retrieval(
    predictions: Sequence[Sequence[int] | Undefined | Failed],
    truths: Sequence[Collection[int]],
    *,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
) -> AnswerScore | Undefined:
    """Recall at 1 and 3 in the model's order and F1 of the whole list, less for repeats and long lists.

    A resampled score keeps the penalty of the samples as they are: a draw with replacement repeats by itself.

    Args:
        predictions: Indices from 0 a sample, best first, or why there are none. An index given twice counts once.
        truths: The relevant indices. Where there are none the empty answer is right.
        unparsed: Whether a reply without an answer is the empty list (``wrong``) or left out (``skip``).
        variant: ``paper``, or ``sorted`` (all that ``AVI-Bench`` has): indices are ranked by their number, as by the
            release, in place of the model's order.

    Returns:
        0..1, higher is better, with parts ``r1``, ``r3``, ``f1`` (before both factors), ``confidence`` and ``penalty``;
        Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers of predictions and truths, or an unknown variant.
    """
    rules = rules_of(variant, {"sorted"})
    entered = chosen(predictions, truths, unparsed=unparsed)
    repeats = 1 - len({frozenset(given or ()) for _, given, _ in entered.samples}) / max(len(entered.samples), 1)
    penalty = 1 - (max(_TAU, repeats) - _TAU)
    return score_of(
        entered,
        row=partial(_row, in_order="sorted" not in rules),
        combine=partial(_combined, penalty=penalty),
        signature=Signature.of(
            metric="retrieval", variant=variant, repeats=_TAU, most=_MANY, confidence=_DOUBT, empty="1",
            unparsed=unparsed,
        ),
    )  # fmt: skip


def _row(given: Sequence[int] | None, true: Collection[int], *, in_order: bool) -> tuple[float, float, float, float]:
    """R@1, R@3 (Eq. 30), F1 (Eq. 29) and confidence (Eq. 35) of a sample."""
    ranked, relevant = list(dict.fromkeys(given or ())), set(true)
    if not relevant:
        right = float(given is not None and not ranked)
        return right, right, right, _confidence(ranked)
    if not in_order:
        ranked.sort()
    first, third = (float(not relevant.isdisjoint(ranked[:k])) for k in (1, 3))
    f1 = 2 * len(relevant & set(ranked)) / (len(ranked) + len(relevant))
    return first, third, f1, _confidence(ranked)


def _confidence(ranked: Sequence[int]) -> float:
    return _DOUBT if len(ranked) > _MANY else 1.0


def _combined(means: Columns, *, penalty: float) -> dict[str, Columns]:
    r1, r3, f1, confidence = (means[..., at] for at in range(4))
    score = ((r1 + r3) / 2 + f1) / 2 * confidence * penalty
    return {
        "score": score,
        "r1": r1,
        "r3": r3,
        "f1": f1,
        "confidence": confidence,
        "penalty": np.full_like(score, penalty),
    }


RETRIEVAL = ScoreSpec.of(
    retrieval,
    takes="index lists",
    summary="recall at 1 and 3 and F1 of chosen candidates, less for repeats and long lists",
    goal="finding the sounds of a picture, or the pictures of a sound",
    modality="text",
    source="AVI-Bench Eqs. 29-40",
    truth="the indices of the relevant candidates",
)
