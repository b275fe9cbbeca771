"""Scores of answers to questions, and what all scores of answers share: who is counted, and how a score is resampled.

A score is given one prediction a sample, and a prediction is one of three things:

- an answer, as ``score.replies`` reads it;
- ``Undefined``: a reply came, and no answer is in it. ``unparsed="wrong"`` scores it as an answer that holds nothing,
  ``"skip"`` leaves the sample out; both are counted in ``unparsed``;
- ``Failed``: the request never completed. It enters nothing, whatever ``unparsed`` says.

``variant`` names what is done as the release of AVI-Bench does it and its paper does not: ``paper`` nothing,
``AVI-Bench`` all that the score knows, or some of these joined by ``+``.

Source: AVI-Bench App. G.1.7 (Eqs. 52, 53) and D.2.

AMIC and VMIC: which classes are heard or seen, and how many of each (AVI-Bench G.1.1, G.1.2).

An answer is class to count; a class counted 0 is not named. The score is half semantic, half counting: the mean over
samples of F1 (AMIC) or recall (VMIC), and ``1 - tanh(k RMSE)`` of the samples' mean count errors, where a true class
that is not named costs ``tau``. Where the semantic half is 0, so is the other. ``tau`` (7 and 12) and ``k`` (0.3) are
not in the paper; they are those of its release.

Rules of the release that the paper does not have, for ``variant``: ``cap``, a sample's error is at most 20;
``lenient``, of counts that are both 10 or more none is wrong (VMIC only); ``true_count``, a reply without an answer
costs the true counts in place of ``tau``. It also drops replies of 300 characters or more: see ``score.replies``.

VAR and AVR: which of the candidates belong to the reference (AVI-Bench G.1.4, Eqs. 29-40).

The score is ``(mean(R@1, R@3) + F1) / 2``, times a confidence and a repeat penalty of the whole set of samples. The
penalty is 1 until more than four in five answers repeat another one, and falls from there; so it cannot be below 0.8,
although the paper prints "(0, 1]" under Eq. 34.

Source: AVI-Bench G.1.4. In its text the two tasks are exchanged; Tables 2 and 6 decide, and the formulas are one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
    """A score of a task's samples, 0..1, higher is better."""

    n: int  # samples that entered
    failed: int  # samples that did not, because the request failed
    unparsed: int  # replies without an answer, whether they entered as wrong or were left out
    parts: Mapping[str, float]  # what the score is made of, by name
    kept: tuple[int, ...]  # positions of the samples that entered, among those given
    samples: Columns  # what each of them adds, float64 (n, columns); all that follows is made of the columns' means
    combine: Combine  # from means (..., columns) to ``score`` and the parts

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
    samples, failed, silent = [], 0, 0
    for position, (prediction, truth) in enumerate(zip(predictions, truths, strict=True)):
        if isinstance(prediction, Failed):
            failed += 1
        elif isinstance(prediction, Undefined):
            silent += 1
            if unparsed == "wrong" and not prediction.detail.get("skip"):
                samples.append((position, None, truth))
        else:
            samples.append((position, prediction, truth))
    return Chosen(samples=tuple(samples), failed=failed, unparsed=silent)


RULES: Final[Mapping[str, frozenset[str]]] = {
    "f1 and count": frozenset({"cap", "true_count"}),
    "recall and count": frozenset({"cap", "true_count", "lenient"}),
    "boxes": frozenset({"divisor", "free_unparsed", "guessed_scale"}),
    "video iou": frozenset({"null_list"}),
    "retrieval": frozenset({"sorted"}),
    "fense": frozenset({"mean", "flag"}),
    "sbert": frozenset({"mean"}),
    "match": frozenset(),
    "reply": frozenset({"first", "short"}),
}
"""What each score, and the reading of replies, knows of the release's rules."""


def rules_of(variant: str, score: str) -> frozenset[str]:
    """The rules of the release that a variant asks for, of those that a score knows."""
    known = RULES[score]
    rules = {"paper": frozenset[str](), "AVI-Bench": known}.get(variant, frozenset(variant.split("+")))
    if not rules <= known:
        expected = f"paper, AVI-Bench, or some of {', '.join(sorted(known))} joined by +" if known else "paper"
        raise InputError(f"variant={variant!r}", expected=expected, hint="paper follows the paper's equations")
    return rules


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
    both = [_both(prediction, true) for prediction, true in zip(predictions, truths, strict=True)]
    entered = chosen(both, truths, unparsed=unparsed)
    signature = _signature("match, confirmation required", unparsed)
    return {"with": score_of(entered, row=_both_right, combine=plain_mean, signature=signature), "without": alone}


def _both(prediction: tuple[Any, Any], true: tuple[Any, Any]) -> Any:
    """Answer and confirmation, or what stands for the sample where one of the two is missing."""
    parts = prediction if true[1] is not None else prediction[:1]
    for kind in (Failed, Undefined):
        for part in parts:
            if isinstance(part, kind):
                return part
    return prediction


def _both_right(prediction: tuple[Any, Any] | None, true: tuple[Any, Any]) -> tuple[float]:
    if prediction is None:
        return (0.0,)
    return (float(_equal(prediction[0], true[0]) and (true[1] is None or _equal(prediction[1], true[1]))),)


def _matched(
    predictions: Sequence[Any], truths: Sequence[Any], *, unparsed: Unparsed, metric: str
) -> AnswerScore | Undefined:
    entered = chosen(predictions, truths, unparsed=unparsed)
    return score_of(
        entered,
        row=lambda prediction, true: (float(prediction is not None and _equal(prediction, true)),),
        combine=plain_mean,
        signature=_signature(metric, unparsed),
    )


def _equal(prediction: Any, true: Any) -> bool:
    for given in (prediction, true):
        if not isinstance(given, str) and not (isinstance(given, Sequence) and all(isinstance(a, str) for a in given)):
            raise InputError(f"an answer or truth is {given!r:.80}", expected="text, or a list of texts")
    if isinstance(true, str) or isinstance(prediction, str):
        return isinstance(true, str) and isinstance(prediction, str) and normal(prediction) == normal(true)
    return sorted(map(normal, prediction)) == sorted(map(normal, true))


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


Counts: TypeAlias = Mapping[str, int]

_CAP: Final = 20.0
_LENIENT_FROM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """What tells the two tasks apart: the semantic half, and the cost of a class that is missed."""

    semantic: str
    tau: float
    k: float


_AMIC: Final = _Counting(semantic="f1", tau=7.0, k=0.3)
_VMIC: Final = _Counting(semantic="recall", tau=12.0, k=0.3)


def amic(
    predictions: Sequence[Counts | Undefined | Failed],
    truths: Sequence[Counts],
    *,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
) -> AnswerScore | Undefined:
    """Mean of F1 over classes and the counting score (Eqs. 8-18).

    Args:
        predictions: Class to count a sample, or why there is none. Classes are compared exactly.
        truths: The true counts, each 1 or more and of at least one class.
        unparsed: Whether a reply without an answer names nothing (``wrong``) or is left out (``skip``).
        variant: ``paper``, ``AVI-Bench``, or some of ``cap``, ``true_count`` joined by ``+``.

    Returns:
        0..1, higher is better, with parts ``semantic``, ``counting`` and ``rmse``; Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers, a truth without a class, a count that is no whole number, an unknown variant.
    """
    return _count_score(predictions, truths, _AMIC, unparsed=unparsed, variant=variant)


def vmic(
    predictions: Sequence[Counts | Undefined | Failed],
    truths: Sequence[Counts],
    *,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
) -> AnswerScore | Undefined:
    """Mean of recall of the true classes and the counting score (Eqs. 13-20); classes that are not true cost nothing.

    Arguments, value and errors as in ``amic``; the variants have ``lenient`` too.
    """
    return _count_score(predictions, truths, _VMIC, unparsed=unparsed, variant=variant)


def counting_score(rmse: Columns, k: float) -> Columns:
    """``1 - tanh(k RMSE)``: 1 for no error, towards 0 for large ones (Eq. 17)."""
    return np.asarray(1.0 - np.tanh(k * rmse), np.float64)


def _count_score(
    predictions: Sequence[Counts | Undefined | Failed], truths: Sequence[Counts], task: _Counting, **asked: str
) -> AnswerScore | Undefined:
    variant, unparsed = asked["variant"], asked["unparsed"]
    entered, metric = chosen(predictions, truths, unparsed=unparsed), f"{task.semantic} and count"  # type: ignore[arg-type]
    return score_of(
        entered,
        row=partial(_count_row, task=task, rules=rules_of(variant, metric)),
        combine=partial(_counts_combined, k=task.k),
        signature=Signature.of(
            metric=metric, variant=variant, tau=task.tau, k=task.k, zero="not named",
            unparsed=unparsed,
        ),
    )  # fmt: skip


def _count_row(
    prediction: Counts | None, true: Counts, *, task: _Counting, rules: frozenset[str]
) -> tuple[float, float]:
    """The semantic score of a sample (Eqs. 11, 20) and the square of its mean count error (Eqs. 13-15)."""
    if not true or any(not _is_count(count) or count == 0 for count in true.values()):
        raise InputError(f"a truth is {true!r:.80}", expected="at least one class, each with a count of 1 or more")
    predicted = {} if prediction is None else {name: count for name, count in prediction.items() if count}
    if not all(map(_is_count, predicted.values())):
        raise InputError(f"a prediction is {prediction!r:.80}", expected="classes with whole numbers from 0")
    hits = len(predicted.keys() & true.keys())
    semantic = hits / len(true) if task.semantic == "recall" else 2 * hits / (len(predicted) + len(true))
    silent = prediction is None and "true_count" in rules
    errors = [float(count if silent else task.tau) for name, count in true.items() if name not in predicted]
    pairs = [(predicted[name], count) for name, count in true.items() if name in predicted]
    errors += [abs(one - two) for one, two in pairs if "lenient" not in rules or min(one, two) < _LENIENT_FROM]
    error = math.fsum(errors) / len(true)
    return semantic, (min(error, _CAP) if "cap" in rules else error) ** 2


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _counts_combined(means: Columns, *, k: float) -> dict[str, Columns]:
    semantic, rmse = means[..., 0], np.sqrt(means[..., 1])
    counting = np.where(semantic > 0, counting_score(rmse, k), 0.0)
    return {"score": (semantic + counting) / 2, "semantic": semantic, "counting": counting, "rmse": rmse}


AMIC = ScoreSpec.of(
    amic,
    takes="counts",
    summary="F1 of the classes heard, and how well they are counted",
    goal="telling and counting sounds",
    modality="text",
    source="AVI-Bench Eqs. 8-18; tau and k of its release",
    truth="the count of each class",
)
VMIC = ScoreSpec.of(
    vmic,
    takes="counts",
    summary="recall of the classes seen, and how well they are counted",
    goal="telling and counting things in a picture",
    modality="text",
    source="AVI-Bench Eqs. 13-20; tau and k of its release",
    truth="the count of each class",
)


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
        InputError: Unequal numbers of predictions and truths, an index that is no whole number, or an unknown variant.
    """
    rules = rules_of(variant, "retrieval")
    entered = chosen(predictions, truths, unparsed=unparsed)
    answers = {frozenset(_indices(answer)) for _, answer, _ in entered.samples}
    repeats = 1 - len(answers) / max(len(entered.samples), 1)
    penalty = 1 - (max(_TAU, repeats) - _TAU)
    return score_of(
        entered,
        row=partial(_retrieval_row, in_order="sorted" not in rules),
        combine=partial(_retrieval_combined, penalty=penalty),
        signature=Signature.of(
            metric="retrieval", variant=variant, repeats=_TAU, most=_MANY, confidence=_DOUBT, empty="1",
            unparsed=unparsed,
        ),
    )  # fmt: skip


def _retrieval_row(
    prediction: Sequence[int] | None, true: Collection[int], *, in_order: bool
) -> tuple[float, float, float, float]:
    """R@1, R@3 (Eq. 30), F1 (Eq. 29) and confidence (Eq. 35) of a sample."""
    ranked, relevant = list(dict.fromkeys(_indices(prediction))), set(true)
    if not relevant:
        right = float(prediction is not None and not ranked)
        return right, right, right, _confidence(ranked)
    if not in_order:
        ranked.sort()
    first, third = (float(not relevant.isdisjoint(ranked[:k])) for k in (1, 3))
    f1 = 2 * len(relevant & set(ranked)) / (len(ranked) + len(relevant))
    return first, third, f1, _confidence(ranked)


def _indices(prediction: Sequence[int] | None) -> Sequence[int]:
    """The indices of an answer; a text of digits would be like none of them."""
    indices = () if prediction is None else prediction
    if not all(map(_is_count, indices)):
        raise InputError(f"a prediction is {prediction!r:.80}", expected="indices, whole numbers from 0")
    return indices


def _confidence(ranked: Sequence[int]) -> float:
    return _DOUBT if len(ranked) > _MANY else 1.0


def _retrieval_combined(means: Columns, *, penalty: float) -> dict[str, Columns]:
    r1, r3, f1, confidence = (means[..., column] for column in range(4))
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
