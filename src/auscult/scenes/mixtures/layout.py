"""A finished mixture as files and as a line of an INPUT of sounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from auscult.media.wav import encode_wav
from auscult.scenes.mixtures.plan import MixturePlan
from auscult.scenes.mixtures.sound import RenderedMixture, pauses
from auscult.types import DIFFICULTY_AXES, PERFORMANCE

TARGET: Final = "target"
"""Name of the stem that is asked for; no source has it."""


def files_of(plan: MixturePlan, made: RenderedMixture) -> dict[str, bytes]:
    """Mixture and stems as 16-bit WAV files by name; read back, the stems sum to the mixture exactly."""
    files = {mixture_name(plan.id): encode_wav(made.mixture, plan.rate_hz)}
    stems = {TARGET: made.target, **made.others}
    return files | {stem_name(plan.id, name): encode_wav(stem, plan.rate_hz) for name, stem in stems.items()}


def mixture_name(item: str) -> str:
    """Where a mixture stands."""
    return f"mixtures/{item}.wav"


def stem_name(item: str, name: str) -> str:
    """Where a stem stands."""
    return f"stems/{item}/{name}.wav"


def item_line(
    plan: MixturePlan, made: RenderedMixture, *, scores: Mapping[str, float], difficulty: Mapping[str, float]
) -> dict[str, Any]:
    """A line of ``items.jsonl``: the mixture is also what was separated, as of a separator that does nothing."""
    mixture, prompt = mixture_name(plan.id), plan.prompt
    line: dict[str, Any] = {"id": plan.id, "mixture": mixture, "separated": mixture}
    if prompt.text is not None:
        line |= {"text": prompt.text, "specific": prompt.specific}
    if prompt.spans:
        silent = pauses(made.spans, until_s=plan.seconds)
        signed = [("+", *span) for span in made.spans] + [("-", *span) for span in silent]
        line["spans_s"] = [list(span) for span in sorted(signed, key=lambda span: span[1])]
    line |= {"domain": plan.domain, "setting": plan.setting, "split": plan.split, "seen": plan.seen}
    truth: dict[str, Any] = {
        "stem": stem_name(plan.id, TARGET),
        "others": {name: stem_name(plan.id, name) for name in made.others},
        **{name: round(scores[name], 4) for name in PERFORMANCE if name in scores},
    }
    if difficulty:
        truth["difficulty"] = {name: round(difficulty[name], 4) for name in DIFFICULTY_AXES}
    return {**line, "family": "mixture", "system": "mixture", "truth": truth}
