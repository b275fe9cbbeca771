"""Scores from networks that listen: the distance of two sets, how well words fit, the right class, the right words.

Embeddings come from any network (own classifier, CLAP, WavLM, VGGish); a distance is one of that network alone.
``accuracy``, 0..1, higher is better, is read beside the same network's on the stems. ``word_error``, 0 or more, lower
is better: substitutions, deletions and insertions over the words of the reference, after lower case and without
punctuation.

References: K. Kilgour, M. Zuluaga, D. Roblek, M. Sharifi, "Fréchet audio distance", Interspeech 2019; A. Gui
et al., "Adapting Fréchet audio distance for generative music evaluation", ICASSP 2024 (its bias in
small samples, and the extrapolation).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from auscult.errors import InputError
from auscult.outcome import Scored, Signature, Undefined
from auscult.rng import generator
from auscult.score.sound.inputs import sound_score
from auscult.types import Doubles

_SHARES: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_DRAWS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Frechet(Scored[float]):
    """A Fréchet distance (``value``), which is too high in small samples.

    Attributes:
        extrapolated: The distance of endless samples, by a straight line over 1 / n through smaller draws; below 0 is
            possible, and means that nothing can be told from 0.
        bias: ``value`` - ``extrapolated``.
        counts: Estimates and stems.
        size: Numbers of an embedding; with fewer sounds than this the covariance is not of full rank.
    """

    extrapolated: float
    bias: float
    counts: tuple[int, int]
    size: int


def frechet_distance(
    estimates: ArrayLike, stems: ArrayLike, *, network: str = "unnamed", seed: int = 0
) -> Frechet | Undefined:
    """Fréchet audio distance between embeddings of outputs and of stems, 0 or more, lower is better.

    Args:
        estimates: (n, d).
        stems: (m, d); sounds need not be in pairs.
        network: What made the embeddings, for the signature.
        seed: Of the smaller draws that the extrapolation goes by.

    Returns:
        The distance and its bias. Undefined for fewer than four of either.

    Raises:
        InputError: Other shapes, or numbers that are not finite.

    Source: Kilgour et al. 2019, Sec. 3; Gui et al. 2024, Sec. 2.3.
    """
    first, second = (np.asarray(emb, dtype=np.float64) for emb in (estimates, stems))
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1] or not first.shape[1]:
        raise InputError(
            f"embeddings have shapes {first.shape} and {second.shape}", expected="(n, d) and (m, d) of one network"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise InputError("an embedding is not finite", expected="finite numbers")
    if min(len(first), len(second)) < 4:
        return Undefined("fewer than four sounds", {"estimates": len(first), "stems": len(second)})
    rng = generator(seed, "frechet")
    distance = _distance(first, second)
    inverse, values = [], []
    for share in _SHARES:
        for _ in range(_DRAWS if share < 1 else 1):
            counts = [max(2, round(share * len(emb))) for emb in (first, second)]
            pair = [emb[rng.permutation(len(emb))[:count]] for emb, count in zip((first, second), counts, strict=True)]
            inverse.append(sum(1 / count for count in counts) / 2)
            values.append(_distance(pair[0], pair[1]) if share < 1 else distance)
    extrapolated = float(np.polyfit(inverse, values, 1)[1])
    signature = Signature.of(metric="frechet", network=network, d=first.shape[1], n=f"{len(first)}+{len(second)}")
    return Frechet(
        value=distance, signature=signature, extrapolated=extrapolated, bias=distance - extrapolated,
        counts=(len(first), len(second)), size=first.shape[1],
    )  # fmt: skip


def _distance(first: Doubles, second: Doubles) -> float:
    """Distance of means plus that of covariances: the singular values of their factors' product sum to the trace."""
    difference = first.mean(axis=0) - second.mean(axis=0)
    centred = [(emb - emb.mean(axis=0)) / np.sqrt(len(emb) - 1) for emb in (first, second)]
    first, second = (np.linalg.qr(emb)[1] if len(emb) > emb.shape[1] else emb for emb in centred)
    shared = np.linalg.svd(np.asarray(first @ second.T, dtype=np.float64), compute_uv=False).sum()
    return max(0.0, float(difference @ difference + sum(np.vdot(emb, emb) for emb in centred) - 2 * shared))


def words_fit(
    output: float | None, mixture: float | None, *, network: str = "unnamed"
) -> dict[str, Scored[float] | Undefined]:
    """``text_similarity`` of an output with the words asked for, and ``residual``: output minus mixture.

    Args:
        output: Cosine of words and output, -1..1, higher is better; None where the network does not know the words.
        mixture: The same of the mixture.
        network: What compared them, for the signature.

    Returns:
        Above 0 the residual says that separating brought the sound nearer to the words. A network may hear them in the
        mixture as well as in the stem.
    """
    if output is None or mixture is None:
        missing = Undefined("the network knows none of the words")
        return {"text_similarity": missing, "residual": missing}
    return {
        "text_similarity": Scored(output, Signature.of(metric="text_similarity", network=network)),
        "residual": Scored(output - mixture, Signature.of(metric="residual", sign="output-mixture", network=network)),
    }


FRECHET = sound_score(
    frechet_distance, unit="", needs=("embeddings",), higher_is_better=False,
    summary="Fréchet distance between embeddings of outputs and stems",
    goal="a set of outputs that sounds unlike the stems", source="Kilgour et al. 2019; bias: Gui et al. 2024",
)  # fmt: skip


def accuracy(right: Sequence[bool], *, network: str = "unnamed") -> Scored[float] | Undefined:
    """Share of sounds of which a network's most probable label is one that their words name."""
    if not right:
        return Undefined("no sounds whose words name a label of the network")
    return Scored(sum(right) / len(right), Signature.of(metric="accuracy", network=network))


def word_error(said: Sequence[str], true: Sequence[str], *, network: str = "unnamed") -> Scored[float] | Undefined:
    """Word error rate of transcripts, all errors over all words; Undefined without a word in the references."""
    pairs = [(_words(output), _words(reference)) for output, reference in zip(said, true, strict=True)]
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
        for column, true in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (word != true))
    return row[-1]
