"""AVC: how close a caption is in meaning to its references, less where it is no fluent sentence (AVI-Bench G.1.5).

FENSE is the cosine of two sentence vectors times ``1 - 0.9 D``, where D is the probability that the caption has an
error of fluency: cut off, repeated, without a verb (Eqs. 41-43). The two networks are arguments, any functions from
texts to numbers; ``nets.hf_sentences`` loads them from folders of weights.

Rules of the release that the paper does not have, for ``variant``: ``mean``, the similarity is the mean over the
references in place of the largest; ``flag``, D is 1 where the probability is above 0.9, else 0. They are those of the
package aac-metrics, with which the release scores.

Source: AVI-Bench G.1.5; Zhou et al., "Can Audio Captions Be Evaluated With Image Caption Metrics?", ICASSP 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

import numpy as np

from auscult.errors import InputError
from auscult.outcome import Failed, Signature, Undefined
from auscult.score.answers import AnswerScore, Chosen, Columns, Unparsed, chosen, rules_of, score_of_rows
from auscult.types import Doubles, ScoreSpec

Captions: TypeAlias = Sequence[str | Undefined | Failed]
References: TypeAlias = Sequence[Sequence[str]]

_ALPHA: Final = 0.9  # what an error of fluency costs
_THRESHOLD: Final = 0.9  # the probability from which the release counts one
_TINY: Final = 1e-12


class SentenceEncoder(Protocol):
    """From texts to one vector each, finite numbers (n, d); of the vectors only directions count."""

    def __call__(self, texts: Sequence[str], /) -> Doubles:
        """The vectors, in the order of the texts."""
        ...


class FluencyModel(Protocol):
    """From texts to the probability that each has an error of fluency, (n,) in 0..1."""

    def __call__(self, texts: Sequence[str], /) -> Doubles:
        """The probabilities, in the order of the texts."""
        ...


def fense(
    predictions: Captions,
    truths: References,
    *,
    sentences: SentenceEncoder,
    fluency: FluencyModel,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
) -> AnswerScore | Undefined:
    """Mean of similarity in meaning, less where a caption is not fluent (Eqs. 41-43).

    Args:
        predictions: A caption a sample, or why there is none.
        truths: The references of each sample, one at least.
        sentences: The sentence encoder; the benchmark's is paraphrase-TinyBERT-L6-v2.
        fluency: The fluency model; the benchmark's is echecker_clotho_audiocaps_base.
        unparsed: Whether a reply without a caption scores 0 (``wrong``) or is left out (``skip``).
        variant: ``paper``, ``AVI-Bench``, or some of ``mean``, ``flag`` joined by ``+``.

    Returns:
        0..1, higher is better, with parts ``similarity`` and ``fluency_error``, the means of what it is made of;
        Undefined when no sample enters.

    Raises:
        InputError: Unequal numbers, a sample without a reference, numbers of a network that cannot be, an unknown
            variant.
    """
    rules = rules_of(variant, {"mean", "flag"})
    entered = chosen(predictions, truths, unparsed=unparsed)
    alike = similarities(entered, sentences, mean="mean" in rules)
    error = _errors(entered, fluency)
    cost = (error > _THRESHOLD).astype(np.float64) if "flag" in rules else error
    return score_of_rows(
        entered,
        np.stack([(1 - _ALPHA * cost) * alike, alike, error], axis=1),
        combine=lambda means: {
            "score": np.maximum(means[..., 0], 0.0),
            "similarity": means[..., 1],
            "fluency_error": means[..., 2],
        },
        signature=Signature.of(
            metric="fense", variant=variant, penalty=_ALPHA, threshold=_THRESHOLD, sentences=name_of(sentences),
            fluency=name_of(fluency), unparsed=unparsed,
        ),
    )  # fmt: skip


def sbert(
    predictions: Captions,
    truths: References,
    *,
    sentences: SentenceEncoder,
    unparsed: Unparsed = "wrong",
    variant: str = "paper",
) -> AnswerScore | Undefined:
    """Mean cosine of the vectors of caption and closest reference (Eq. 41); arguments and errors as in ``fense``.

    ``variant`` is ``paper``, or ``mean`` (all that ``AVI-Bench`` has): the mean over the references.
    """
    rules = rules_of(variant, {"mean"})
    entered = chosen(predictions, truths, unparsed=unparsed)
    return score_of_rows(
        entered,
        similarities(entered, sentences, mean="mean" in rules)[:, None],
        combine=never_below_0,
        signature=Signature.of(metric="sbert", variant=variant, sentences=name_of(sentences), unparsed=unparsed),
    )


def similarities(entered: Chosen, sentences: SentenceEncoder, *, mean: bool = False) -> Doubles:
    """Cosine of each caption with its closest reference, or the mean over them, -1..1; 0 without a caption."""
    require_references(entered)
    texts = list(dict.fromkeys(text for _, given, true in entered.samples for text in (given, *true) if text))
    place = {text: number for number, text in enumerate(texts)}
    vectors = _directions(sentences, texts)
    found = np.zeros(len(entered.samples))
    for number, (_, given, true) in enumerate(entered.samples):
        if given:
            cosines = vectors[[place[one] for one in true]] @ vectors[place[given]]
            found[number] = cosines.mean() if mean else cosines.max()
    return np.clip(found, -1.0, 1.0)


def require_references(entered: Chosen) -> None:
    """Insist on references that are texts, one at least for each sample; else an InputError."""
    for position, _, true in entered.samples:
        if isinstance(true, str) or not true or not all(isinstance(one, str) and one.strip() for one in true):
            raise InputError(
                f"the references of sample {position} are {true!r:.80}",
                expected="a list of texts that are not empty, one at least",
            )


def never_below_0(means: Columns) -> dict[str, Columns]:
    """The score that is the mean of its first column, 0 where that is below: cosines may be, scores are 0..1."""
    return {"score": np.maximum(means[..., 0], 0.0)}


def name_of(network: object) -> str:
    """What a signature calls a network: what it says itself, else the name of its function or class."""
    return str(getattr(network, "name", "") or getattr(network, "__name__", "") or type(network).__name__)


def _directions(sentences: SentenceEncoder, texts: Sequence[str]) -> Doubles:
    """Vectors of length 1; a vector of zeros stays one, and is like nothing."""
    if not texts:
        return np.zeros((0, 1))
    vectors = np.asarray(sentences(texts), np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
        raise InputError(
            f"the sentence encoder gives {vectors.shape} for {len(texts)} texts",
            expected="a vector of finite numbers for each text, (n, d)",
        )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, _TINY), np.float64)


def _errors(entered: Chosen, fluency: FluencyModel) -> Doubles:
    """The probability of an error of fluency of each sample; 0 without a caption, whose score is 0 anyway."""
    texts = list(dict.fromkeys(given for _, given, _ in entered.samples if given))
    found = np.asarray(fluency(texts), np.float64) if texts else np.zeros(0)
    if found.shape != (len(texts),) or not ((found >= 0) & (found <= 1)).all():
        raise InputError(
            f"the fluency model gives {found.shape} for {len(texts)} texts",
            expected="a probability from 0 to 1 for each text, (n,)",
        )
    by_text = dict(zip(texts, found, strict=True))
    return np.array([by_text.get(given, 0.0) for _, given, _ in entered.samples], np.float64)


FENSE: Final = ScoreSpec.of(
    fense,
    takes="captions",
    summary="similarity in meaning of a caption and its closest reference, less where it is not fluent",
    goal="describing what is seen and heard",
    modality="text",
    source="AVI-Bench Eqs. 41-43",
    truth="captions of people",
)
SBERT: Final = ScoreSpec.of(
    sbert,
    takes="captions",
    summary="similarity in meaning of a caption and its closest reference",
    goal="describing what is seen and heard",
    modality="text",
    source="AVI-Bench Eq. 41 and Table 7",
    truth="captions of people",
)
