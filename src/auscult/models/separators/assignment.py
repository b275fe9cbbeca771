"""Which track of a separator that takes no query the query means.

By the similarity of words and sound, as SAM Audio Judge (Sec. III-A) assigns the tracks of MossFormer2 and Demucs to
text prompts with CLAP. Where nothing measures that, by the share of a track's energy that falls into the spans; where
there are none either, it is the first track. How it was chosen, and by what margin, goes with the choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from auscult.models.sound_taggers import SoundTagger, text_similarity
from auscult.types import Samples, SoundQuery, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A track that was chosen."""

    track: str
    by: Literal["text", "spans", "order"]  # order: nothing told the tracks apart, and it is the first
    scores: Mapping[str, float]  # of each track: a similarity of words and sound, or the share of energy in the spans
    margin: float  # by how much it is better than the second best; 0 where nothing was measured or there is no other


def assign(
    tracks: Mapping[str, Samples],
    query: SoundQuery,
    *,
    rate_hz: int,
    spans: tuple[Span, ...] = (),
    tagger: SoundTagger | None = None,
) -> Assignment:
    """Choose the track, of at least one, that a query means; of equals the first."""
    scores: dict[str, float] = {}
    by: Literal["text", "spans"] = "text"
    if tagger is not None and query.text:
        found = {name: text_similarity(tagger, query.text, track, rate_hz=rate_hz) for name, track in tracks.items()}
        scores = {name: value for name, value in found.items() if value is not None}
    if not scores and spans:
        scores, by = {name: _share_inside(track, spans, rate_hz) for name, track in tracks.items()}, "spans"
    if not scores:
        return Assignment(track=next(iter(tracks)), by="order", scores={}, margin=0.0)
    best, *others = sorted(scores, key=lambda name: -scores[name])
    return Assignment(track=best, by=by, scores=scores, margin=scores[best] - scores[others[0]] if others else 0.0)


def _share_inside(track: Samples, spans: tuple[Span, ...], rate_hz: int) -> float:
    """The share of a track's energy inside the ``+`` spans (else outside the ``-`` ones); 0 of silence."""
    wanted = np.zeros(track.size, np.bool_)
    positive = [span for span in spans if span.sign == "+"]
    for span in positive or spans:
        wanted[max(0, round(span.start_s * rate_hz)) : max(0, round(span.end_s * rate_hz))] = True
    power = np.square(track, dtype=np.float64)
    return float(power[wanted if positive else ~wanted].sum() / max(float(power.sum()), 1e-300))
