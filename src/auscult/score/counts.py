"""AMIC and VMIC: which classes are heard or seen, and how many of each (AVI-Bench G.1.1, G.1.2).

An answer is class to count; a class counted 0 is not named. The score is half semantic, half counting: the mean over
samples of F1 (AMIC) or recall (VMIC), and ``1 - tanh(k RMSE)`` of the samples' mean count errors, where a true class
that is not named costs ``tau``. Where the semantic half is 0, so is the other. ``tau`` (7 and 12) and ``k`` (0.3) are
not in the paper; they are those of its release.

Rules of the release that the paper does not have, for ``variant``: ``cap``, a sample's error is at most 20;
``lenient``, of counts that are both 10 or more none is wrong (VMIC only); ``true_count``, a reply without an answer
costs the true counts in place of ``tau``. It also drops replies of 300 characters or more: see ``score.replies``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Failed, Signature, Undefined
from auscult.score.answers import AnswerScore, Columns, Unparsed, chosen, rules_of, score_of
from auscult.types import ScoreSpec

Counts: TypeAlias = Mapping[str, int]

_CAP: Final = 20.0
_LENIENT_FROM: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counting:
    """What tells the two tasks apart: the semantic half, the cost of a class that is missed, the release's rules."""

    semantic: str
    tau: float
    k: float
    rules: frozenset[str]


_AMIC: Final = _Counting(semantic="f1", tau=7.0, k=0.3, rules=frozenset({"cap", "true_count"}))
_VMIC: Final = _Counting(semantic="recall", tau=12.0, k=0.3, rules=frozenset({"cap", "true_count", "lenient"}))


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
    return _counted(predictions, truths, _AMIC, unparsed=unparsed, variant=variant)


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
    return _counted(predictions, truths, _VMIC, unparsed=unparsed, variant=variant)


def counting_score(rmse: Columns, k: float) -> Columns:
    """``1 - tanh(k RMSE)``: 1 for no error, towards 0 for large ones (Eq. 17)."""
    return np.asarray(1.0 - np.tanh(k * rmse), np.float64)


def _counted(
    predictions: Sequence[Counts | Undefined | Failed], truths: Sequence[Counts], task: _Counting, **asked: str
) -> AnswerScore | Undefined:
    variant, unparsed = asked["variant"], asked["unparsed"]
    entered = chosen(predictions, truths, unparsed=unparsed)  # type: ignore[arg-type]
    return score_of(
        entered,
        row=partial(_row, task=task, rules=rules_of(variant, task.rules)),
        combine=partial(_combined, k=task.k),
        signature=Signature.of(
            metric=f"{task.semantic} and count", variant=variant, tau=task.tau, k=task.k, zero="not named",
            unparsed=unparsed,
        ),
    )  # fmt: skip


def _row(given: Counts | None, true: Counts, *, task: _Counting, rules: frozenset[str]) -> tuple[float, float]:
    """The semantic score of a sample (Eqs. 11, 20) and the square of its mean count error (Eqs. 13-15)."""
    if not true or any(not _is_count(count) or count == 0 for count in true.values()):
        raise InputError(f"a truth is {true!r:.80}", expected="at least one class, each with a count of 1 or more")
    named = {} if given is None else {name: count for name, count in given.items() if count}
    if not all(map(_is_count, named.values())):
        raise InputError(f"a prediction is {given!r:.80}", expected="classes with whole numbers from 0")
    hits = len(named.keys() & true.keys())
    semantic = hits / len(true) if task.semantic == "recall" else 2 * hits / (len(named) + len(true))
    silent = given is None and "true_count" in rules
    errors = [float(count if silent else task.tau) for name, count in true.items() if name not in named]
    pairs = [(named[name], count) for name, count in true.items() if name in named]
    errors += [abs(one - two) for one, two in pairs if "lenient" not in rules or min(one, two) < _LENIENT_FROM]
    error = math.fsum(errors) / len(true)
    return semantic, (min(error, _CAP) if "cap" in rules else error) ** 2


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _combined(means: Columns, *, k: float) -> dict[str, Columns]:
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
