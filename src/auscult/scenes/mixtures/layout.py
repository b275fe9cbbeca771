"""A finished mixture as files and as lines: of an INPUT of sounds, of a folder of tracks, and for ``datasets``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from auscult.media.paths import read_bytes
from auscult.media.wav import encode_wav
from auscult.record import codec
from auscult.scenes.mixtures.catalogue import DOMAIN_OF, Catalogue
from auscult.scenes.mixtures.plan import MixturePlan
from auscult.scenes.mixtures.sound import RenderedMixture, pauses, render
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, PromptSetting, SoundQuery, Span

TARGET: Final = "target"
"""Name of the stem that is asked for; no source has it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FinishedMixture:
    """A mixture that is ready to be written, whatever it was made from."""

    id: str
    made: RenderedMixture
    setting: PromptSetting
    query: SoundQuery  # what is asked, without the picture
    item: Mapping[str, Any]  # further keys of its line in `items.jsonl`, among them video, split and seen, or None
    line: Mapping[str, Any]  # from which it can be made again
    files: Mapping[str, bytes] = field(default_factory=dict)  # besides mixture and stems


def finished(plan: MixturePlan, catalogue: Catalogue) -> FinishedMixture:
    """Make a planned mixture."""
    picture, files = plan.prompt.picture, {}
    if picture is not None:
        name = f"pictures/{plan.id}{PurePosixPath(picture).suffix.lower()}"
        files[name], picture = read_bytes(catalogue.clip(picture).path or Path(picture)), name
    made, spans = render(plan, catalogue), list[Span]()
    if plan.prompt.spans:
        silent = pauses(made.spans, until_s=made.mixture.shape[1] / made.rate_hz)
        signed = [Span("+", *span) for span in made.spans] + [Span("-", *span) for span in silent]
        spans = sorted(signed, key=lambda span: span.start_s)
    asked = next(source for source in plan.sources if source.name in plan.target)
    return FinishedMixture(
        id=plan.id,
        made=made,
        setting=plan.setting,
        query=SoundQuery(text=plan.prompt.text, spans=tuple(spans)),
        item={
            "specific": plan.prompt.specific,
            "video": picture,
            "split": plan.split,
            "seen": plan.seen,
            "cluster": catalogue.clip(asked.clips[0]).voice,
        },
        line={"plan": codec.to_json(plan)},
        files=files,
    )


def files_of(mixture: FinishedMixture, *, tracks: bool) -> dict[str, bytes]:
    """Mixture and stems as 16-bit WAV files by name; read back, the stems sum to the mixture exactly.

    ``tracks`` asks for ``tracks/<split>/<id>/`` as well, with ``mixture.wav`` and the stems, as MUSDB18 has them.
    """
    made = mixture.made
    stems = {name: encode_wav(stem, made.rate_hz) for name, stem in {TARGET: made.target, **made.others}.items()}
    whole = encode_wav(made.mixture, made.rate_hz)
    files = {
        f"mixtures/{mixture.id}.wav": whole,
        **{f"stems/{mixture.id}/{name}.wav": data for name, data in stems.items()},
    }
    if tracks:
        folder = f"tracks/{mixture.item['split']}/{mixture.id}"
        files |= {f"{folder}/{name}.wav": data for name, data in {"mixture": whole, **stems}.items()}
    return {**files, **mixture.files}


def item_line(
    mixture: FinishedMixture, *, scores: Mapping[str, float], difficulty: Mapping[str, float]
) -> dict[str, Any]:
    """A line of ``items.jsonl``: the mixture is also what was separated, as of a separator that does nothing."""
    spans = [[span.sign, span.start_s, span.end_s] for span in mixture.query.spans]
    asked = {"text": mixture.query.text, **mixture.item, "spans_s": spans or None}
    asked |= {"setting": mixture.setting, "domain": DOMAIN_OF[mixture.setting]}
    return {
        "id": mixture.id,
        "mixture": f"mixtures/{mixture.id}.wav",
        "separated": f"mixtures/{mixture.id}.wav",
        **{key: value for key, value in asked.items() if value is not None},
        "family": "mixture",
        "system": "mixture",
        "truth": {
            "stem": f"stems/{mixture.id}/{TARGET}.wav",
            "others": {name: f"stems/{mixture.id}/{name}.wav" for name in mixture.made.others},
            **{name: round(scores[name], 4) for name in PERFORMANCE},
            "difficulty": {name: round(difficulty[name], 4) for name in DIFFICULTY_AXES},
        },
    }


def metadata_row(item: Mapping[str, Any]) -> dict[str, Any]:
    """A line of ``metadata.jsonl``, by which ``datasets`` reads the folder: the same keys in every line."""
    truth = item["truth"]
    return {
        "mixture_file_name": item["mixture"],
        "target_file_name": truth["stem"],
        **{key: item.get(key) for key in ("id", "text", "domain", "setting", "split", "seen")},
        "spans": [{"sign": sign, "start_s": start, "end_s": end} for sign, start, end in item.get("spans_s", ())],
        **{name: truth[name] for name in PERFORMANCE},
        **{f"difficulty_{name}": truth["difficulty"][name] for name in DIFFICULTY_AXES},
    }
