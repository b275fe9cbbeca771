"""A planned mixture as sound: stems that sum to it to the last bit of a file, and what is true of them.

Loudness of a whole sound is that of ITU-R BS.1770-4, gated: silence does not count. A finished mixture is written as
files and lines: of an INPUT of sounds, of a folder of tracks, and for ``datasets``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.errors import InputError
from auscult.media.paths import read_bytes
from auscult.media.wav import FULL_SCALE, encode_wav
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import DOMAIN_OF, Catalogue
from auscult.scenes.mixtures.plan import MixturePlan, PlannedSource
from auscult.scenes.sound.mix import CEILING, TimeSpan, edged, fast_length, k_weights
from auscult.stress.sound.convolution import convolve
from auscult.stress.sound.reverberation import LEAD, Room, response
from auscult.types import DIFFICULTY_AXES, PERFORMANCE, PromptSetting, Samples, SoundQuery
from auscult.types import Span as SignedSpan

_BLOCK_S, _HOPS = 0.4, 4  # of a block
_ABSOLUTE_LUFS = -70.0
_RELATIVE_LU = -10.0
_RINGING_S = 0.05
_SURROUND: Final = {5: (1, 1, 1, 1.41, 1.41), 6: (1, 1, 1, 0, 1.41, 1.41)}
"""Weights of the channels of 5.0 and 5.1, in the order of a WAV file; in other sounds each has 1."""


def integrated_lufs(samples: Samples, *, rate_hz: int) -> float:
    """Integrated loudness of float32 (samples,) or (channels, samples) in LUFS; five channels are 5.0, and six 5.1.

    Blocks of 400 ms that overlap by three quarters count where they are over -70 LUFS and at most 10 LU below the mean
    of those; a sound that is shorter is one block. -inf where no block counts. Source: ITU-R BS.1770-4, Annex 1.
    """
    return gated_lufs(k_weighted(samples, rate_hz=rate_hz), rate_hz=rate_hz)


def k_weighted(samples: Samples, *, rate_hz: int) -> Samples:
    """A sound (..., samples) after the K-weighting filters, without their delay; linear."""
    count = samples.shape[-1]
    size = fast_length(count + round(_RINGING_S * rate_hz))
    return np.fft.irfft(np.fft.rfft(samples, size) * _factors(size, rate_hz), size)[..., :count].astype(np.float32)


@lru_cache(maxsize=8)
def _factors(size: int, rate_hz: int) -> NDArray[np.float32]:
    return np.sqrt(k_weights(size, rate_hz=rate_hz))


def gated_lufs(weighted: Samples, *, rate_hz: int) -> float:
    """Loudness of a sound that is K-weighted already, as ``integrated_lufs``."""
    sound = np.atleast_2d(weighted)
    if len(sound) in _SURROUND:
        sound = sound * np.sqrt(np.asarray(_SURROUND[len(sound)], np.float32))[:, None]
    count = sound.shape[1]
    hop = max(1, round(_BLOCK_S / _HOPS * rate_hz))
    if count < _HOPS * hop:
        power = np.asarray([np.sum(sound**2, dtype=np.float64) / max(count, 1)])
    else:
        squares = np.sum(
            sound[:, : count // hop * hop].reshape(len(sound), -1, hop) ** 2, axis=(0, 2), dtype=np.float64
        )
        power = np.convolve(squares, np.ones(_HOPS), mode="valid") / (_HOPS * hop)
    loud = power[power > 10.0 ** ((_ABSOLUTE_LUFS + 0.691) / 10.0)]
    if loud.size == 0:
        return float("-inf")
    return float(-0.691 + 10.0 * np.log10(np.mean(loud[loud > loud.mean() * 10.0 ** (_RELATIVE_LU / 10.0)])))


_SILENT_LUFS = -120.0  # what the loudness of a silent stem is recorded as
_REFERENCE_LUFS = -23.0
_WALL_M, _SPACING_M = 0.4, 0.2
_FRAME_S = 0.01
_ACTIVE_DB = 40.0
_PAUSE_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenderedMixture:
    """A mixture and its stems, (channels, samples) float32, each in whole steps of a file of 16 bits."""

    rate_hz: int
    mixture: Samples
    target: Samples  # the sum of the target's sources
    others: Mapping[str, Samples]  # each other source; with the target they sum to the mixture exactly
    spans: tuple[TimeSpan, ...]  # where the target is heard, in seconds
    loudness_lufs: Mapping[str, float]  # measured: of the mixture, the target, and each other source
    overlap: float  # share of the target's time in which anything else is heard, 0 to 1


def render(plan: MixturePlan, catalogue: Catalogue) -> RenderedMixture:
    """Make a mixture; pure.

    Loudness is set after ITU-R BS.1770: of each source beside the others of its side, of the target beside the rest,
    and of the mixture, which is softer than planned where a sample would pass ``CEILING``.
    """
    stems = {source.name: _levelled(plan, source, catalogue) for source in plan.sources}
    target = {name: stem for name, stem in stems.items() if name in plan.target}
    others = {name: stem for name, stem in stems.items() if name not in plan.target}
    level = gated_lufs(_sum(target)[1], rate_hz=plan.rate_hz)
    gain = _gain(level - plan.ratio_db, _sum(others), rate_hz=plan.rate_hz, name=f"the rest of {plan.id}")
    for stem in others.values():
        np.multiply(stem, gain, out=stem)
    return put_together(target, others, lufs=plan.loudness_lufs, rate_hz=plan.rate_hz)


def weighted(sound: Samples, *, rate_hz: int) -> Samples:
    """A sound (channels, samples) and its K-weighted self, (2, channels, samples): sums and gains are of both."""
    return np.stack([sound, k_weighted(sound, rate_hz=rate_hz)])


def put_together(
    target: Mapping[str, Samples], others: Mapping[str, Samples], *, lufs: float, rate_hz: int
) -> RenderedMixture:
    """Sum stems at a loudness, each rounded as a file of 16 bits holds it, so that the files sum exactly too.

    ``target`` and ``others`` are stems by name, as ``weighted`` gives them. The mixture is softer than ``lufs`` where a
    sample would pass ``CEILING``.
    """
    parts = {"target": _sum(target), **others}
    total = _sum(parts)
    gain = float(_gain(lufs, total, rate_hz=rate_hz, name="the mixture"))
    gain = min(gain, CEILING / max(float(np.max(np.abs(stem[0]))) for stem in (total, *parts.values())))
    steps = {name: np.rint(stem[0] * (gain * FULL_SCALE)) for name, stem in parts.items()}
    steps["mixture"] = _sum(steps)
    sounds = {name: (values / np.float32(FULL_SCALE)).astype(np.float32) for name, values in steps.items()}
    active = heard_frames(sounds["target"], rate_hz=rate_hz)
    covered = active & heard_frames(sounds["mixture"] - sounds["target"], rate_hz=rate_hz)
    levels = {name: gated_lufs(stem[1] * gain, rate_hz=rate_hz) for name, stem in {"mixture": total, **parts}.items()}
    return RenderedMixture(
        rate_hz=rate_hz,
        mixture=sounds["mixture"],
        target=sounds["target"],
        others={name: sounds[name] for name in others},
        spans=spans_of(active, until_s=sounds["target"].shape[1] / rate_hz),
        loudness_lufs={name: round(max(level, _SILENT_LUFS), 2) for name, level in levels.items()},
        overlap=round(int(np.count_nonzero(covered)) / max(1, int(np.count_nonzero(active))), 3),
    )


def _sum(stems: Mapping[str, Samples]) -> Samples:
    return np.asarray(np.sum(list(stems.values()), axis=0, dtype=np.float32))


def _levelled(plan: MixturePlan, source: PlannedSource, catalogue: Catalogue) -> Samples:
    """The stem of a source with its weighted self, at its loudness beside the others."""
    stem = weighted(_stem(plan, source, catalogue), rate_hz=plan.rate_hz)
    level = _REFERENCE_LUFS + source.level_db
    return stem * _gain(level, stem, rate_hz=plan.rate_hz, name=f"{source.name} of {plan.id}")


def _gain(lufs: float, stem: Samples, *, rate_hz: int, name: str) -> np.float32:
    """The factor that brings a weighted sound to a loudness; an InputError of ``name`` where it is silent."""
    level = gated_lufs(stem[1], rate_hz=rate_hz)
    if level == float("-inf"):
        raise InputError(
            f"{name} is silent",
            expected="a sound louder than -70 LUFS",
            hint="leave out the recording, or take another part of it",
        )
    return np.float32(10.0 ** ((lufs - level) / 20.0))


def _stem(plan: MixturePlan, source: PlannedSource, catalogue: Catalogue) -> Samples:
    """A source in its spans, in its place: (channels, samples)."""
    dry = np.zeros((1, round(plan.seconds * plan.rate_hz)), dtype=np.float32)
    for start_s, end_s in source.spans:
        start, end = round(start_s * plan.rate_hz), min(round(end_s * plan.rate_hz), dry.shape[1])
        sound = catalogue.samples(
            source.clips, seconds=(end - start) / plan.rate_hz, offset=source.offset, rate_hz=plan.rate_hz
        )
        dry[0, start:end] = edged(sound[: end - start], rate_hz=plan.rate_hz)
    if plan.room_m is not None:
        return _in_room(dry, plan, source, room_m=plan.room_m)
    angle = (source.place + 1.0) * (np.pi / 4.0)
    sides = (1.0,) if plan.channels == 1 else (np.cos(angle), np.sin(angle))
    return np.concatenate([dry * np.float32(side) for side in sides])


def _in_room(dry: Samples, plan: MixturePlan, source: PlannedSource, *, room_m: tuple[float, float, float]) -> Samples:
    """What the microphone of each channel hears; the nearer one louder."""
    length, width, height = room_m
    across, along = source.place * (length / 2 - _WALL_M), source.depth * (width - 2 * _WALL_M)
    channels = []
    for channel in range(plan.channels):
        offset = (2 * channel - plan.channels + 1) * _SPACING_M / 2
        box = Room(
            size_m=room_m,
            source_m=(length / 2 + across, _WALL_M + along, 0.6 * height),
            microphone_m=(length / 2 + offset, width / 2, 0.5 * height),
            absorption=plan.absorption,
        )
        rng = generator(0, plan.id, source.name, channel)
        echoes = response(box, samples=dry.shape[1], rate_hz=plan.rate_hz, rng=rng)
        channels.append(convolve(dry, echoes, lead=LEAD) / np.float32(box.direct_m))
    return np.concatenate(channels)


def heard_frames(sound: Samples, *, rate_hz: int) -> NDArray[np.bool_]:
    """In which frames of 10 ms a sound (channels, samples) is within 40 dB of its loudest frame; none of silence."""
    size = max(1, round(_FRAME_S * rate_hz))
    power = np.sum(sound**2, axis=0, dtype=np.float64)
    frames = np.add.reduceat(power, np.arange(0, power.size, size))
    active: NDArray[np.bool_] = frames > max(float(frames.max()) * 10.0 ** (-_ACTIVE_DB / 10.0), 1e-12)
    return active


def spans_of(active: NDArray[np.bool_], *, until_s: float) -> tuple[TimeSpan, ...]:
    """The spans in seconds of frames of 10 ms in which something is heard; pauses under 0.25 s count as heard."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(np.int8), [0]])))
    spans: list[tuple[float, float]] = []
    for start, end in zip(edges[::2] * _FRAME_S, edges[1::2] * _FRAME_S, strict=True):
        if spans and start - spans[-1][1] < _PAUSE_S:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return tuple((round(float(start), 2), round(float(min(end, until_s)), 2)) for start, end in spans)


def pauses(spans: Sequence[TimeSpan], *, until_s: float) -> tuple[TimeSpan, ...]:
    """What lies between spans, before the first and after the last, where it is 0.25 s or longer."""
    starts = [0.0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), until_s]
    return tuple((start, end) for start, end in zip(starts, ends, strict=True) if end - start >= _PAUSE_S)


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
    rendered, spans = render(plan, catalogue), list[SignedSpan]()
    if plan.prompt.spans:
        silent = pauses(rendered.spans, until_s=rendered.mixture.shape[1] / rendered.rate_hz)
        signed = [SignedSpan("+", *span) for span in rendered.spans] + [SignedSpan("-", *span) for span in silent]
        spans = sorted(signed, key=lambda span: span.start_s)
    target = next(source for source in plan.sources if source.name in plan.target)
    return FinishedMixture(
        id=plan.id,
        made=rendered,
        setting=plan.setting,
        query=SoundQuery(text=plan.prompt.text, spans=tuple(spans)),
        item={
            "specific": plan.prompt.specific,
            "video": picture,
            "split": plan.split,
            "seen": plan.seen,
            "cluster": catalogue.clip(target.clips[0]).voice,
        },
        line={"plan": codec.to_json(plan)},
        files=files,
    )


def files_of(mixture: FinishedMixture, *, tracks: bool) -> dict[str, bytes]:
    """Mixture and stems as 16-bit WAV files by name; read back, the stems sum to the mixture exactly.

    ``tracks`` asks for ``tracks/<split>/<id>/`` as well, with ``mixture.wav`` and the stems, as MUSDB18 has them.
    """
    mix = mixture.made
    stems = {name: encode_wav(stem, mix.rate_hz) for name, stem in {TARGET: mix.target, **mix.others}.items()}
    mixture_wav = encode_wav(mix.mixture, mix.rate_hz)
    files = {
        f"mixtures/{mixture.id}.wav": mixture_wav,
        **{f"stems/{mixture.id}/{name}.wav": data for name, data in stems.items()},
    }
    if tracks:
        folder = f"tracks/{mixture.item['split']}/{mixture.id}"
        files |= {f"{folder}/{name}.wav": data for name, data in {"mixture": mixture_wav, **stems}.items()}
    return {**files, **mixture.files}


def item_line(
    mixture: FinishedMixture, *, scores: Mapping[str, float], difficulty: Mapping[str, float]
) -> dict[str, Any]:
    """A line of ``items.jsonl``: the mixture is also what was separated, as of a separator that does nothing."""
    spans = [[span.sign, span.start_s, span.end_s] for span in mixture.query.spans]
    optional = {"text": mixture.query.text, **mixture.item, "spans_s": spans or None}
    optional |= {"setting": mixture.setting, "domain": DOMAIN_OF[mixture.setting]}
    return {
        "id": mixture.id,
        "mixture": f"mixtures/{mixture.id}.wav",
        "separated": f"mixtures/{mixture.id}.wav",
        **{key: value for key, value in optional.items() if value is not None},
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
        **{key: item.get(key) for key in ("id", "text", "domain", "setting", "split", "seen", "cluster")},
        "spans": [{"sign": sign, "start_s": start, "end_s": end} for sign, start, end in item.get("spans_s", ())],
        **{name: truth[name] for name in PERFORMANCE},
        **{f"difficulty_{name}": truth["difficulty"][name] for name in DIFFICULTY_AXES},
    }
