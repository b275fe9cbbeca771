"""Scores of answers to questions, and what all scores of answers share: who is counted, and how a score is resampled.

A score is given one prediction a sample, and a prediction is one of three things:

- an answer, as ``score.replies`` reads it;
- ``Undefined``: a reply came, and no answer is in it. ``unparsed="wrong"`` scores it as an answer that holds nothing,
  ``"skip"`` leaves the sample out; both are counted in ``unparsed``;
- ``Failed``: the request never completed. It enters nothing, whatever ``unparsed`` says.

``variant`` names what is done as the release of AVI-Bench does it and its paper does not: ``paper`` nothing,
``AVI-Bench`` all that the score knows, or some of these joined by ``+``.

Source: AVI-Bench App. G.1.7 (Eqs. 52, 53) and D.2.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.outcome import Failed, Scored, Signature, Undefined
from auscult.types import ScoreSpec

Unparsed: TypeAlias = Literal["wrong", "skip"]
Columns: TypeAlias = NDArray[np.float64]
Row: TypeAlias = Callable[[Any, Any], tuple[float, ...]]
Combine: TypeAlias = Callable[[Columns], Mapping[str, Columns]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerScore(Scored[float]):
    """A score of a task's samples, 0..1, higher is better.

    Attributes:
        n: Samples that entered.
        failed: Samples that did not, because the request failed.
        unparsed: Replies without an answer, whether they entered as wrong or were left out.
        parts: What the score is made of, by name.
        kept: Positions of the samples that entered, among those given.
        samples: What each of them adds, float64 (n, columns); all that follows is made of the columns' means.
        combine: From means (..., columns) to ``score`` and the parts.
    """

    n: int
    failed: int
    unparsed: int
    parts: Mapping[str, float]
    kept: tuple[int, ...]
    samples: Columns
    combine: Combine

    def resampled(self, weights: Columns) -> Columns:
        """The score of other draws of the same samples: weights float (draws, n), each row's sum above 0."""
        return self.combine(weights @ self.samples / weights.sum(axis=-1, keepdims=True))["score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The samples that enter: position, prediction (None where a reply holds no answer) and truth of each."""

    samples: tuple[tuple[int, Any, Any], ...]
    failed: int
    unparsed: int


def chosen(predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed) -> Chosen:
    """Which samples enter; a reply that says it is to be skipped (``detail["skip"]``) is skipped always."""
    if len(predictions) != len(truths):
        raise InputError(
            f"there are {len(predictions)} predictions and {len(truths)} truths",
            expected="one truth for each prediction, in the same order",
            hint="a request without a reply is a Failed, a reply without an answer an Undefined, in its place",
        )
    if unparsed not in ("wrong", "skip"):
        raise InputError(f"unparsed={unparsed!r}", expected="wrong or skip", hint="wrong is the default")
    kept, failed, silent = [], 0, 0
    for position, (prediction, truth) in enumerate(zip(predictions, truths, strict=True)):
        if isinstance(prediction, Failed):
            failed += 1
        elif isinstance(prediction, Undefined):
            silent += 1
            if unparsed == "wrong" and not prediction.detail.get("skip"):
                kept.append((position, None, truth))
        else:
            kept.append((position, prediction, truth))
    return Chosen(samples=tuple(kept), failed=failed, unparsed=silent)


def rules_of(variant: str, known: Collection[str]) -> frozenset[str]:
    """The rules of the release that a variant asks for, of those that a score knows."""
    asked = {"paper": frozenset[str](), "AVI-Bench": frozenset(known)}.get(variant, frozenset(variant.split("+")))
    if not asked <= set(known):
        expected = f"paper, AVI-Bench, or some of {', '.join(sorted(known))} joined by +" if known else "paper"
        raise InputError(f"variant={variant!r}", expected=expected, hint="paper follows the paper's equations")
    return asked


def score_of(entered: Chosen, *, row: Row, combine: Combine, signature: Signature) -> AnswerScore | Undefined:
    """The score of the samples that entered, each a row of numbers; Undefined where none did."""
    rows = [row(prediction, truth) for _, prediction, truth in entered.samples]
    return score_of_rows(entered, np.array(rows, np.float64), combine=combine, signature=signature)


def score_of_rows(
    entered: Chosen, samples: Columns, *, combine: Combine, signature: Signature
) -> AnswerScore | Undefined:
    """As ``score_of``, of rows that are there already: float64 (samples that entered, columns)."""
    if not entered.samples:
        return Undefined(
            "no sample has an answer" if entered.failed or entered.unparsed else "no items",
            {"failed": entered.failed, "unparsed": entered.unparsed},
        )
    parts = {name: float(value) for name, value in combine(samples.mean(axis=0)).items()}
    return AnswerScore(
        value=parts.pop("score"),
        signature=signature,
        n=len(samples),
        failed=entered.failed,
        unparsed=entered.unparsed,
        parts=parts,
        kept=tuple(position for position, _, _ in entered.samples),
        samples=samples,
        combine=combine,
    )


_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_NO_WORD: Final = re.compile(r"[^\w\s.\-]|(?<!\d)\.|\.(?!\d)|-(?!\d)|_")


def normal(text: str) -> str:
    """A text as it is compared: NFKC, case and punctuation dropped, one space between words; a number keeps its sign.

    Letters that only look alike stay different.

    Example:
        >>> normal(" Not_sure! "), normal("-1.5.")
        ('not sure', '-1.5')
    """
    return " ".join(_NO_WORD.sub(" ", folded(text)).split())


def folded(text: str) -> str:
    """A text in NFKC without case and without characters that are not seen."""
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold())


def full_match(
    predictions: Sequence[str | Undefined | Failed],
    truths: Sequence[str],
    *,
    unparsed: Unparsed = "wrong",
) -> AnswerScore | Undefined:
    """Share of answers that are the true word, case and punctuation aside (Eqs. 52, 53): AVM, AVH, VAH, AVQA, PriSe.

    Args:
        predictions: An answer a sample, or why there is none.
        truths: The true answers, in the same order.
        unparsed: Whether a reply without an answer is ``wrong`` or left out (``skip``, as the release does).

    Returns:
        0..1, higher is better; Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers of predictions and truths.
    """
    return _matched(predictions, truths, unparsed=unparsed, metric="full_match")


def equal_lists(
    predictions: Sequence[Sequence[str] | Undefined | Failed],
    truths: Sequence[Sequence[str]],
    *,
    unparsed: Unparsed = "wrong",
) -> AnswerScore | Undefined:
    """Share of lists with the true words in any order, repeats counted (AVSQA); arguments as in ``full_match``."""
    return _matched(predictions, truths, unparsed=unparsed, metric="equal_lists")


def double_confirmation(
    predictions: Sequence[tuple[Any, Any]],
    truths: Sequence[tuple[Any, Any]],
    *,
    unparsed: Unparsed = "wrong",
) -> dict[str, AnswerScore | Undefined]:
    """Both columns of Table 8: accuracy with and without the question if anything is heard or seen (D.2).

    Args:
        predictions: Answer and confirmation of each sample, each an answer, a list of them, Undefined or Failed.
        truths: The true answer and confirmation; a true confirmation of None says that the sample has none.
        unparsed: As in ``full_match``, for either of the two.

    Returns:
        ``with``: an answer counts when both are right, and a sample enters when both do. ``without``: the answers
        alone. 0..1, higher is better.
    """
    alone = _matched(
        [answer for answer, _ in predictions],
        [answer for answer, _ in truths],
        unparsed=unparsed,
        metric="match, confirmation ignored",
    )
    both = [_both(given, true) for given, true in zip(predictions, truths, strict=True)]
    entered = chosen(both, truths, unparsed=unparsed)
    signature = _signature("match, confirmation required", unparsed)
    return {"with": score_of(entered, row=_both_right, combine=plain_mean, signature=signature), "without": alone}


def _both(given: tuple[Any, Any], true: tuple[Any, Any]) -> Any:
    """Answer and confirmation, or what stands for the sample where one of the two is missing."""
    parts = given if true[1] is not None else given[:1]
    for kind in (Failed, Undefined):
        for part in parts:
            if isinstance(part, kind):
                return part
    return given


def _both_right(given: tuple[Any, Any] | None, true: tuple[Any, Any]) -> tuple[float]:
    if given is None:
        return (0.0,)
    return (float(_equal(given[0], true[0]) and (true[1] is None or _equal(given[1], true[1]))),)


def _matched(
    predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed, metric: str
) -> AnswerScore | Undefined:
    entered = chosen(predictions, truths, unparsed=unparsed)
    return score_of(
        entered,
        row=lambda given, true: (float(given is not None and _equal(given, true)),),
        combine=plain_mean,
        signature=_signature(metric, unparsed),
    )


def _equal(given: Any, true: Any) -> bool:
    if isinstance(true, str) or isinstance(given, str):
        return isinstance(true, str) and isinstance(given, str) and normal(given) == normal(true)
    return sorted(map(normal, given)) == sorted(map(normal, true))


def plain_mean(means: Columns) -> dict[str, Columns]:
    """The score that is the mean of its only column."""
    return {"score": means[..., 0]}


def _signature(metric: str, unparsed: Unparsed) -> Signature:
    return Signature.of(metric=metric, protocol="AVI-Bench paper", unparsed=unparsed)


FULL_MATCH = ScoreSpec.of(
    full_match,
    takes="words",
    summary="share of answers that are the true word",
    goal="questions with options or numbers",
    source="AVI-Bench Eqs. 52, 53",
    truth="the true answer",
    modality="text",
)
EQUAL_LISTS = ScoreSpec.of(
    equal_lists,
    takes="word lists",
    summary="share of answers with the true words in any order",
    goal="questions with several answers at once",
    source="AVI-Bench, release: AVSQA",
    truth="the true words",
    modality="text",
)
DOUBLE_CONFIRMATION = ScoreSpec.of(
    double_confirmation,
    takes="confirmed words",
    summary="share of right answers, with and without a second question on the same stimulus",
    goal="answers that are guessed without hearing or seeing",
    source="AVI-Bench D.2, Table 8",
    truth="the true answer and the true confirmation",
    modality="text",
)
