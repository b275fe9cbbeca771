"""Scores of captions: by their meaning and by their words.

AVC: how close a caption is in meaning to its references, less where it is no fluent sentence (AVI-Bench G.1.5).

FENSE is the cosine of two sentence vectors times ``1 - 0.9 D``, where D is the probability that the caption has an
error of fluency: cut off, repeated, without a verb (Eqs. 41-43). The two networks are arguments, any functions from
texts to numbers; ``nets.hf_sentences`` loads them from folders of weights.

Rules of the release that the paper does not have, for ``variant``: ``mean``, the similarity is the mean over the
references in place of the largest; ``flag``, D is 1 where the probability is above 0.9, else 0. They are those of the
package aac-metrics, with which the release scores.

Source: AVI-Bench G.1.5; Zhou et al., "Can Audio Captions Be Evaluated With Image Caption Metrics?", ICASSP 2022.

Scores of captions by their words, without Java: METEOR, ROUGE-L, CIDEr-D, and the mean that Table 7 has of four.

Words are in small letters and without punctuation, a contraction split from its word, as the captioning task of COCO
tokenizes them. ``fense`` compares meaning.

Source: AVI-Bench Table 7; the papers of each score stand with it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final, Literal, Protocol, TypeAlias

import numpy as np

from auscult.errors import InputError
from auscult.language.lexicon import stem
from auscult.outcome import Failed, Signature, Undefined
from auscult.score.answers import AnswerScore, Chosen, Columns, Unparsed, chosen, plain_mean, rules_of, score_of_rows
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
    rules = rules_of(variant, "fense")
    entered = chosen(predictions, truths, unparsed=unparsed)
    similarity = similarities(entered, sentences, mean="mean" in rules)
    error = _errors(entered, fluency)
    cost = (error > _THRESHOLD).astype(np.float64) if "flag" in rules else error
    return score_of_rows(
        entered,
        np.stack([(1 - _ALPHA * cost) * similarity, similarity, error], axis=1),
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
    rules = rules_of(variant, "sbert")
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
    texts = list(dict.fromkeys(text for _, caption, true in entered.samples for text in (caption, *true) if text))
    place = {text: number for number, text in enumerate(texts)}
    vectors = _directions(sentences, texts)
    result = np.zeros(len(entered.samples))
    for number, (_, caption, true) in enumerate(entered.samples):
        if caption:
            cosines = vectors[[place[reference] for reference in true]] @ vectors[place[caption]]
            result[number] = cosines.mean() if mean else cosines.max()
    return np.clip(result, -1.0, 1.0)


def require_references(entered: Chosen) -> None:
    """Insist on references that are texts, one at least for each sample; else an InputError."""
    for position, _, true in entered.samples:
        if isinstance(true, str) or not true or not all(isinstance(text, str) and text.strip() for text in true):
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
    texts = list(dict.fromkeys(caption for _, caption, _ in entered.samples if caption))
    probabilities = np.asarray(fluency(texts), np.float64) if texts else np.zeros(0)
    if probabilities.shape != (len(texts),) or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InputError(
            f"the fluency model gives {probabilities.shape} for {len(texts)} texts",
            expected="a probability from 0 to 1 for each text, (n,)",
        )
    by_text = dict(zip(texts, probabilities, strict=True))
    return np.array([by_text.get(caption, 0.0) for _, caption, _ in entered.samples], np.float64)


Synonyms: TypeAlias = Callable[[str], Collection[str]]
"""From a word in small letters to words of the same meaning."""
Ngrams: TypeAlias = Counter[tuple[str, ...]]
_Words: TypeAlias = tuple[str, ...]

_ROUGE_BETA: Final = 1.2
_LONGEST: Final = 4
_SIGMA: Final = 6.0

_WORD: Final = re.compile(r"[^\W_]+(?:[-./&'’][^\W_]+)*")
_SPLIT: Final = re.compile(r"(?<=.)(n't|'(?:s|m|d|re|ve|ll))\Z|(?<=\Acan)(not)\Z")


def tokens(text: str) -> _Words:
    """The words of a text as scores compare them.

    Example:
        >>> tokens("A man's well-lit dog doesn't bark.")
        ('a', 'man', "'s", 'well-lit', 'dog', 'does', "n't", 'bark')
    """
    words = (match[0].replace("’", "'") for match in _WORD.finditer(text.lower()))
    return tuple(part for word in words for part in _SPLIT.split(word) if part)


# --- METEOR ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meteor:
    """What a version of METEOR weighs: recall, order, stages of matching, and words that carry meaning."""

    alpha: float
    beta: float
    gamma: float
    stages: tuple[float, float, float]  # equal words, equal stems, synonyms
    content: float  # function words weigh the rest of 1
    whole_is_1: bool


_VERSIONS: Final = {
    "1.5": _Meteor(alpha=0.85, beta=0.2, gamma=0.6, stages=(1.0, 0.6, 0.8), content=0.75, whole_is_1=True),
    "2007": _Meteor(alpha=0.9, beta=3.0, gamma=0.5, stages=(1.0, 1.0, 1.0), content=0.5, whole_is_1=False),
}

_FUNCTION_WORDS: Final = frozenset(
    tokens(
        "a an the this that these those some any each every no not don't it's of to in on at by for with from into "
        "onto over under up down out off about as than and or but nor so if while when where which who whose whom "
        "what there here it its itself he him his she her hers they them their we us our you your i me my is am are "
        "was were be been being do does did has have had will would can could may might must shall should one two "
        "other another both all very"
    )
)


def meteor(
    predictions: Captions,
    truths: References,
    *,
    version: Literal["1.5", "2007"] = "1.5",
    synonyms: Synonyms | None = None,
    unparsed: Unparsed = "wrong",
) -> AnswerScore | Undefined:
    """Mean METEOR of captions, each with the reference that suits it best.

    Words are matched in stages: equal ones, then equal stems (Snowball's English), then those of which one is among the
    ``synonyms`` of the other. The score is a mean of precision and recall in which recall weighs more, less for how
    many pieces the order of the matches falls into. What is not here of Java's METEOR 1.5: its fourth stage,
    paraphrases; its synonyms, which are WordNet's; its search for the fewest pieces (words are matched from the end);
    and its list of function words, for which ours stands.

    Args:
        predictions: A caption a sample, or why there is none.
        truths: The references of each sample, one at least.
        version: Weights of METEOR ``1.5``, which papers on captions print, for English and ranking; or of ``2007``, as
            nltk has them.
        synonyms: Gives words of the same meaning, of a WordNet say; without it there is no such stage.
        unparsed: Whether a reply without a caption scores 0 (``wrong``) or is left out (``skip``).

    Returns:
        0..1, higher is better; a caption like a reference is 1, by ``2007`` a little less. Undefined when no sample
        enters.

    Raises:
        InputError: Unequal numbers, a sample without a reference, an unknown version.

    Source: Lavie and Agarwal, WMT 2007; Denkowski and Lavie, "Meteor Universal", WMT 2014.
    """
    if version not in _VERSIONS:
        raise InputError(f"version={version!r}", expected="1.5 or 2007", hint="1.5 is what papers on captions print")
    entered = chosen(predictions, truths, unparsed=unparsed)
    rows = _rows(entered, partial(_meteor, weights=_VERSIONS[version], synonyms=synonyms))
    signature = Signature.of(
        metric="meteor", weights=version, stems="snowball english", synonyms=name_of(synonyms) if synonyms else "none",
        unparsed=unparsed,
    )  # fmt: skip
    return score_of_rows(entered, rows, combine=plain_mean, signature=signature)


def _meteor(caption: _Words, references: Sequence[_Words], *, weights: _Meteor, synonyms: Synonyms | None) -> float:
    return max(_meteor_of_one(caption, reference, weights=weights, synonyms=synonyms) for reference in references)


def _meteor_of_one(caption: _Words, true: _Words, *, weights: _Meteor, synonyms: Synonyms | None) -> float:
    pairs = sorted(_aligned(caption, true, synonyms))
    if not pairs:
        return 0.0

    def weight(word: str) -> float:
        return 1 - weights.content if word in _FUNCTION_WORDS else weights.content

    values = [weights.stages[stage] for *_, stage in pairs]
    matched = math.fsum(value * weight(caption[place]) for value, (place, *_) in zip(values, pairs, strict=True))
    precision = matched / math.fsum(map(weight, caption))
    matched = math.fsum(value * weight(true[place]) for value, (_, place, _) in zip(values, pairs, strict=True))
    recall = matched / math.fsum(map(weight, true))
    mean = precision * recall / (weights.alpha * precision + (1 - weights.alpha) * recall)
    pieces = 1 + sum(later[:2] != (earlier[0] + 1, earlier[1] + 1) for earlier, later in pairwise(pairs))
    if weights.whole_is_1 and caption == true:
        return 1.0
    return float(mean * (1 - weights.gamma * (pieces / len(pairs)) ** weights.beta))


def _aligned(caption: _Words, true: _Words, synonyms: Synonyms | None) -> list[tuple[int, int, int]]:
    """Places of matched words and the stage that matched them, the last free word of each first."""
    pairs: list[tuple[int, int, int]] = []
    free, free_true = list(range(len(caption))), list(range(len(true)))
    stages: list[tuple[Callable[[str], str], Callable[[str], Collection[str]]]] = [
        (str, lambda word: (word,)),
        (stem, lambda word: (word,)),
    ]
    if synonyms is not None:
        stages.append((str, synonyms))
    for stage, (form, variants) in enumerate(stages):
        for place in reversed(tuple(free)):
            accepted = variants(form(caption[place]))
            match = next((index for index in reversed(free_true) if form(true[index]) in accepted), None)
            if match is not None:
                free.remove(place)
                free_true.remove(match)
                pairs.append((place, match, stage))
    return pairs


# --- ROUGE-L ---


def rouge_l(predictions: Captions, truths: References, *, unparsed: Unparsed = "wrong") -> AnswerScore | Undefined:
    """Mean ROUGE-L of captions: the longest common subsequence of words, F with beta 1.2.

    Of several references precision and recall are each the largest, as in the captioning task of COCO. Arguments and
    errors as in ``meteor``; there is no variant.

    Source: Lin, "ROUGE", ACL workshop 2004; pycocoevalcap.
    """
    entered = chosen(predictions, truths, unparsed=unparsed)
    signature = Signature.of(metric="rouge_l", beta=_ROUGE_BETA, unparsed=unparsed)
    return score_of_rows(entered, _rows(entered, _rouge), combine=plain_mean, signature=signature)


def _rouge(caption: _Words, true: Sequence[_Words]) -> float:
    common = [(_common(caption, reference), len(reference)) for reference in true]
    precision = max(length for length, _ in common) / len(caption)
    recall = max(length / size for length, size in common)
    if not precision:
        return 0.0
    return (1 + _ROUGE_BETA**2) * precision * recall / (recall + _ROUGE_BETA**2 * precision)


def _common(first: _Words, second: _Words) -> int:
    """Length of the longest common subsequence."""
    lengths = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for column, other in enumerate(second, start=1):
            longer = before + 1 if word == other else max(lengths[column], lengths[column - 1])
            before, lengths[column] = lengths[column], longer
    return lengths[-1]


# --- CIDEr-D ---


def cider_d(predictions: Captions, truths: References, *, unparsed: Unparsed = "wrong") -> AnswerScore | Undefined:
    """Mean CIDEr-D of captions, a tenth of what pycocoevalcap prints: 1 is a caption like its only reference.

    Cosine of counts of 1 to 4 words, each weighed by how few samples have it in their references, less for a length
    that differs (sigma 6), averaged over references. How few is counted over the samples that enter, so the score of a
    sample depends on the others, and of one sample alone it is 0; a resampled score keeps the counts of all.
    Arguments and errors as in ``meteor``; there is no variant.

    Source: Vedantam et al., "CIDEr", CVPR 2015; pycocoevalcap.
    """
    entered = chosen(predictions, truths, unparsed=unparsed)
    signature = Signature.of(metric="cider_d", n=_LONGEST, sigma=_SIGMA, scale="0..1", unparsed=unparsed)
    return score_of_rows(entered, _cider(entered), combine=plain_mean, signature=signature)


def _cider(entered: Chosen) -> Doubles:
    """A row for each sample that enters, (n, 1)."""
    require_references(entered)
    references = [[_ngrams(tokens(text)) for text in true] for _, _, true in entered.samples]
    frequency: Ngrams = Counter()
    for of_sample in references:
        frequency.update(set().union(*of_sample))
    log_count = math.log(max(len(references), 1))

    def weighed(counts: Ngrams) -> list[dict[tuple[str, ...], float]]:
        vectors: list[dict[tuple[str, ...], float]] = [{} for _ in range(_LONGEST)]
        for ngram, count in counts.items():
            vectors[len(ngram) - 1][ngram] = count * (log_count - math.log(max(frequency[ngram], 1)))
        return vectors

    rows = np.zeros((len(references), 1))
    for number, (_, caption, _) in enumerate(entered.samples):
        if caption:
            ngrams = _ngrams(tokens(caption))
            scores = [_cider_d(ngrams, other, weighed) for other in references[number]]
            rows[number] = math.fsum(scores) / len(scores)
    return rows


def _cider_d(caption: Ngrams, true: Ngrams, weighed: Callable[[Ngrams], list[dict[tuple[str, ...], float]]]) -> float:
    """CIDEr-D of a caption and one reference, 0..1."""
    cosines = []
    for left, right in zip(weighed(caption), weighed(true), strict=True):
        shared = math.fsum(min(weight, right.get(ngram, 0.0)) * right.get(ngram, 0.0) for ngram, weight in left.items())
        lengths = math.hypot(*left.values()) * math.hypot(*right.values())
        cosines.append(shared / lengths if lengths else 0.0)
    longer = _pairs(caption) - _pairs(true)  # pycocoevalcap's length: the number of pairs of words
    return math.fsum(cosines) / _LONGEST * math.exp(-(longer**2) / (2 * _SIGMA**2))


def _ngrams(words: _Words) -> Ngrams:
    return Counter(
        words[start : start + size] for size in range(1, _LONGEST + 1) for start in range(len(words) - size + 1)
    )


def _pairs(counts: Ngrams) -> int:
    return sum(count for ngram, count in counts.items() if len(ngram) == 2)


# --- the four together ---


def caption_mean(
    predictions: Captions,
    truths: References,
    *,
    sentences: SentenceEncoder,
    cider_scale: float = 1.0,
    unparsed: Unparsed = "wrong",
) -> AnswerScore | Undefined:
    """Mean of METEOR, ROUGE-L, CIDEr-D and the similarity of sentence vectors: the AVC columns of Table 7.

    The paper does not say how large its CIDEr is. Here all four are 0..1; METEOR has the weights of 1.5, no synonyms.

    Args:
        predictions: A caption a sample, or why there is none.
        truths: The references of each sample, one at least.
        sentences: The sentence encoder.
        cider_scale: What CIDEr-D is multiplied by; packages print it times 10, by which the mean may exceed 1.
        unparsed: Whether a reply without a caption scores 0 (``wrong``) or is left out (``skip``).

    Returns:
        Higher is better, with parts ``meteor``, ``rouge_l``, ``cider_d``, ``sbert``; Undefined when no sample enters.

    Raises:
        InputError: As the four raise.
    """
    entered = chosen(predictions, truths, unparsed=unparsed)
    columns = [
        _rows(entered, partial(_meteor, weights=_VERSIONS["1.5"], synonyms=None)),
        _rows(entered, _rouge),
        cider_scale * _cider(entered),
        similarities(entered, sentences)[:, None],
    ]
    names = ("meteor", "rouge_l", "cider_d", "sbert")
    return score_of_rows(
        entered,
        np.hstack(columns),
        combine=lambda means: {
            "score": np.maximum(means.mean(axis=-1), 0.0),
            **{name: means[..., column] for column, name in enumerate(names)},
        },
        signature=Signature.of(
            metric="mean of meteor rouge_l cider_d sbert", cider_scale=cider_scale, meteor="1.5",
            synonyms="none", sentences=name_of(sentences), unparsed=unparsed,
        ),
    )  # fmt: skip


def _rows(entered: Chosen, score: Callable[[_Words, Sequence[_Words]], float]) -> Doubles:
    """The score of each sample that enters, (n, 1), by its words; 0 without a word."""
    require_references(entered)
    rows = np.zeros((len(entered.samples), 1))
    for number, (_, caption, true) in enumerate(entered.samples):
        words = tokens(caption) if caption else ()
        others = [reference for reference in map(tokens, true) if reference]
        if words and others:
            rows[number] = score(words, others)
    return rows


def _spec(function: Callable[..., Any], summary: str, source: str) -> ScoreSpec:
    return ScoreSpec.of(
        function,
        takes="captions",
        summary=summary,
        goal="describing what is seen and heard",
        modality="text",
        source=source,
        truth="captions of people",
    )


FENSE: Final = _spec(
    fense,
    "similarity in meaning of a caption and its closest reference, less where it is not fluent",
    "AVI-Bench Eqs. 41-43",
)
SBERT: Final = _spec(
    sbert, "similarity in meaning of a caption and its closest reference", "AVI-Bench Eq. 41 and Table 7"
)
METEOR: Final = _spec(
    meteor, "words and stems of a caption that its references have, and in their order", "WMT 2007, 2014"
)
ROUGE_L: Final = _spec(rouge_l, "longest common subsequence of words with the references", "ACL workshop 2004")
CIDER_D: Final = _spec(cider_d, "runs of words that few captions share, in common with the references", "CVPR 2015")
CAPTION_MEAN: Final = _spec(
    caption_mean, "mean of METEOR, ROUGE-L, CIDEr-D and similarity in meaning", "AVI-Bench Table 7"
)
