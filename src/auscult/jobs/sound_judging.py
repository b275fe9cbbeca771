"""Worker processes for separated sounds: read, fit to the mixture, judge, decide.

A mixture is decoded once for all its outputs, and the judge gets them together. An error fails its item alone.
A judge gets frames of a picture prompt unless its attribute ``uses_frames`` is False; then no picture is opened.

An output at another rate is resampled to the mixture's. One that is up to 50 ms longer or shorter is cut, or filled
with silence; more is an error. Where the mixture is mono, a stereo output is averaged; where the output is mono, the
mixture is. The mean of each block, DC, is taken off.

Sounds of 90 s and more are judged in equal blocks of about a minute, so that memory does not grow with length. Scores
of the whole are means over blocks, weighted by the loudness of the mixture (mean square to the power .3); so are the
ends of intervals, which are wider than necessary for that. Silent blocks have no weight. On eight concatenations of
real outputs, 3 minutes each, ``sound.cues.v1`` differed from its score of the whole by .01 in the mean, at most by .06.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from math import ceil, gcd
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from auscult.act.sound_policy import SoundPolicy, decide_sound
from auscult.arrays.resampling import resampled
from auscult.arrays.segments import reduced
from auscult.cases.ids import counted, natural_key
from auscult.cases.sounds import check_spans, sound_line
from auscult.errors import AuscultError, ErrorRecord, InputError
from auscult.jobs.judges import load_sound_judge
from auscult.jobs.runner import CHUNK, INPUTS, LastCached, Result, failed_row, require_all_unchanged
from auscult.media.frames import FRAME_SUFFIXES, read_frame
from auscult.media.limits import Limits
from auscult.media.sound import SoundReader
from auscult.media.wav import Sound
from auscult.record.digest import digest_file, digest_json, is_settled, stamp_file
from auscult.record.schema import error_to_json, sound_verdict_from_json, sound_verdict_to_json
from auscult.types import (
    PERFORMANCE,
    Frames,
    Samples,
    SoundCase,
    SoundCurves,
    SoundEvidence,
    SoundItem,
    SoundJudge,
    SoundQuery,
    SoundVerdict,
    Span,
)

BLOCK_S: Final = 60.0
SHORTEST_S: Final = 0.05
MOST_SLACK_S: Final = 0.05
MOST_CURVE: Final = 2000
"""Values of a curve of a long sound; further ones are joined to their highest."""
_LARGEST: Final = 1e9  # above it, powers exceed float32

_EDGE_S: Final = 0.1  # read on both sides of a resampled block


RatedSignal: TypeAlias = SoundReader | Sound
"""For both, ``signal[..., a:b]`` is float32 (channels, samples)."""


def seconds_of(signal: RatedSignal) -> float:
    """The length of a signal in seconds; ``InputError`` if it is too short to judge."""
    seconds = signal.shape[1] / signal.rate_hz
    if round(seconds, 3) < SHORTEST_S:  # 1102 samples at 22050 Hz are 50 ms
        raise InputError(f"the sound is {seconds:.3f} s long", expected=f"at least {SHORTEST_S:g} s")
    return seconds


def blocks_of(signal: RatedSignal) -> Iterator[tuple[int, int]]:
    """First sample and end of each block."""
    count = max(1, int(signal.shape[1] / signal.rate_hz / BLOCK_S + 0.5))
    edges = [signal.shape[1] * number // count for number in range(count + 1)]
    return pairwise(edges)


def levelled(block: Samples) -> Samples:
    """A block without DC; ``InputError`` for samples that are not finite, or too large."""
    if not np.abs(block).max(initial=0.0) <= _LARGEST:
        raise InputError(
            f"the sound holds values that are not finite, or above {_LARGEST:g}", expected="samples from -1 to 1"
        )
    return np.asarray(block - block.mean(axis=1, keepdims=True, dtype=np.float64), dtype=np.float32)


class Fitted:
    """An output fitted to its mixture; ``notes`` list the changes.

    ``InputError`` if it is too short, or differs too much in length or channels.
    """

    def __init__(self, output: RatedSignal, mixture: RatedSignal) -> None:
        self._output, self._rate_hz = output, mixture.rate_hz
        channels, wanted = output.shape[0], mixture.shape[0]
        late_s = seconds_of(output) - seconds_of(mixture)
        if abs(late_s) > MOST_SLACK_S:
            raise InputError(
                f"the output is {seconds_of(output):.3f} s long, its mixture {seconds_of(mixture):.3f} s",
                expected=f"lengths that differ by {1000 * MOST_SLACK_S:.0f} ms at most",
                hint="export the output as long as its mixture, or name the mixture that it was separated from",
            )
        if channels != wanted and 1 not in {channels, wanted}:
            message = f"the output has {counted(channels, 'channel')}, its mixture {wanted}"
            raise InputError(message, expected="equal numbers, or one of them mono", hint="mix one of them to mono")
        self._average, self.averages_mixture = channels > wanted, channels < wanted
        change = "longer, cut" if late_s > 0 else "shorter, filled with silence"
        done = {
            f"resampled from {output.rate_hz} to {mixture.rate_hz} Hz": output.rate_hz != mixture.rate_hz,
            f"{1000 * abs(late_s):.1f} ms {change}": abs(late_s) * mixture.rate_hz >= 1,
            "channels averaged, since the mixture is mono": self._average,
            "compared with the mean of the mixture's channels": self.averages_mixture,
        }
        self.notes = tuple(note for note, true in done.items() if true)

    def block(self, start: int, stop: int) -> Samples:
        """The output over a range of samples of the mixture, end excluded."""
        samples = self._at_rate(start, stop)
        if self._average:
            samples = samples.mean(axis=0, keepdims=True)
        return levelled(np.pad(samples, ((0, 0), (0, stop - start - samples.shape[1]))))

    def _at_rate(self, start: int, stop: int) -> Samples:
        own, wanted = self._output.rate_hz, self._rate_hz
        if own == wanted:
            return np.asarray(self._output[..., start:stop])
        step = own // gcd(own, wanted)  # only multiples of it lie on a sample of both
        first = max(0, int((start / wanted - _EDGE_S) * own) // step * step)
        piece = self._output[..., first : ceil((stop / wanted + _EDGE_S) * own)]
        offset = first * wanted // own
        return resampled(levelled(piece), rate_hz=own, wanted_hz=wanted)[:, start - offset : stop - offset]


def spans_within(spans: Sequence[Span], start_s: float, stop_s: float) -> tuple[Span, ...]:
    """The spans of a block, in seconds from its beginning."""
    cut = [(span.sign, max(span.start_s, start_s) - start_s, min(span.end_s, stop_s) - start_s) for span in spans]
    return tuple(Span(sign, first, end) for sign, first, end in cut if first < end)


class Part(NamedTuple):
    """The result of a block."""

    start_s: float
    weight: float  # loudness of the mixture
    verdict: SoundVerdict


def loudness(mixture: Samples) -> float:
    """Mean square to the power .3, as loudness grows with power (Stevens)."""
    return float(np.mean(np.square(mixture, dtype=np.float64)) ** 0.3)


def over_blocks(parts: Sequence[Part], seconds: float) -> SoundVerdict:
    """The result of the whole from those of its blocks, in order."""
    judged = [part for part in parts if part.verdict.overall is not None]
    if len(parts) == 1 or not judged:
        return parts[0].verdict
    weights = np.array([part.weight for part in judged])
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(judged), 1 / len(judged))

    def mean(values: Sequence[float | None]) -> Any:
        return None if None in values else float(np.dot(weights, np.array(values, dtype=float)))

    verdicts = [part.verdict for part in judged]
    names = [f"{axis}{end}" for axis in PERFORMANCE for end in ("", "_low", "_high")]
    axes = [axis for axis in verdicts[0].difficulty if all(axis in verdict.difficulty for verdict in verdicts)]
    worst = min(judged, key=lambda part: part.verdict.overall or 0.0)
    kinds = ("text", "spans", "picture")
    return replace(
        judged[int(weights.argmax())].verdict,
        **{name: mean([getattr(verdict, name) for verdict in verdicts]) for name in names},
        difficulty={axis: mean([verdict.difficulty[axis] for verdict in verdicts]) for axis in axes},
        evidence=SoundEvidence(
            **{kind: any(getattr(verdict.evidence, kind) for verdict in verdicts) for kind in kinds},
            unknown=tuple(dict.fromkeys(word for verdict in verdicts for word in verdict.evidence.unknown)),
        ),
        novelty=mean([verdict.novelty for verdict in verdicts]),
        rationale=f"Mean of {counted(len(judged), 'block')}; the worst, from {worst.start_s:.0f} s: "
        f"{worst.verdict.rationale}",
        curves=_joined(parts, seconds),
    )


def _joined(parts: Sequence[Part], seconds: float) -> SoundCurves | None:
    """The curves of the blocks joined, 0 in a block without curves; None if no block has any."""
    first = next((part.verdict.curves for part in parts if part.verdict.curves), None)
    if first is None:
        return None
    joined = -(-round(seconds / first.hop_s) // MOST_CURVE)
    times = np.arange(max(1, round(seconds / first.hop_s / joined)) * joined) * first.hop_s
    values = np.zeros((2, len(times)))
    for part in parts:
        curves, positions = part.verdict.curves, np.flatnonzero(times >= part.start_s)
        if curves is not None:  # written to the end of the sound; later blocks overwrite it
            index = np.minimum(((times[positions] - part.start_s) / curves.hop_s).astype(int), len(curves.missing) - 1)
            values[:, positions] = np.array([curves.missing, curves.left_over])[:, index]
        else:
            values[:, positions] = 0
    missing, left_over = values.reshape(2, -1, joined).max(axis=2).tolist()
    return SoundCurves(hop_s=first.hop_s * joined, missing=tuple(missing), left_over=tuple(left_over))


LIMITS: Final = Limits(max_bytes=4 << 30, max_samples=1 << 30)  # enough for an hour, in blocks
SOUNDS_TOGETHER: Final = 8
"""Most outputs of several mixtures in one task."""
MOST_FRAMES: Final = 8
"""Frames of a picture prompt."""
LONGEST_PX: Final = 512

_VERDICTS: Final = "verdicts.jsonl"
_MOST_BYTES: Final = 1 << 26  # of samples that wait for one batch


@dataclass(frozen=True, slots=True)
class SoundGroup:
    """Remaining outputs of one mixture, or of a few."""

    items: tuple[SoundItem, ...]

    @property
    def key(self) -> str:
        """The first of the ids."""
        return self.items[0].id

    @property
    def size(self) -> int:
        """The count of items."""
        return len(self.items)

    def split(self) -> list[SoundGroup]:
        """One item at a time."""
        return [SoundGroup((item,)) for item in self.items] if self.size > 1 else []

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` if a worker crashed or timed out."""
        return [{**error_to_json(item.id, error), "sound": True} for item in self.items]


def sound_groups(items: Iterable[SoundItem], *, joined: int) -> Iterator[SoundGroup]:
    """The items by mixture, up to ``joined`` of several together; the first alone, for an early result."""
    mixtures: dict[Path, list[SoundItem]] = {}
    for item in items:
        mixtures.setdefault(item.mixture, []).append(item)
    pending, most = list[SoundItem](), 1
    for group in mixtures.values():
        for start in range(0, len(group), CHUNK):
            chunk = group[start : start + CHUNK]
            if pending and len(pending) + len(chunk) > most:
                yield SoundGroup(tuple(pending))
                pending, most = [], joined
            pending += chunk
    if pending:
        yield SoundGroup(tuple(pending))


def sound_files(item: SoundItem) -> list[Path]:
    """The files of an item, of a folder of frames each."""
    paths = [path for path in (item.mixture, item.separated, item.query.picture) if path is not None]
    return [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else (path,))]


def sound_digest(item: SoundItem, of_file: Callable[[Path], str] = digest_file) -> str:
    """Hash of the judged input: mixture, output and prompts."""
    spans = [[span.sign, span.start_s, span.end_s] for span in item.query.spans]
    return digest_json([[of_file(path) for path in sound_files(item)], item.query.text, spans])


def refuse_changed_sounds(
    done: Mapping[str, object], items: Sequence[SoundItem], *, stamps: Mapping[str, object]
) -> None:
    """Refuse changed files of earlier verdicts, id to ``sound_digest``."""
    digest, stamp = cache(digest_file), cache(stamp_file)

    def same(item: SoundItem, before: object) -> bool:
        return stamps.get(item.id) == sound_digest(item, stamp) or sound_digest(item, digest) == before

    by_id, parts = {item.id: item for item in items}, "mixture, output or prompt has"
    require_all_unchanged(done, by_id, same, path=lambda item: item.separated, parts=parts)


@dataclass(slots=True, eq=False)
class Output:
    """An output while it is judged."""

    id: str
    query: SoundQuery
    opened: Callable[[], RatedSignal]
    frames: Frames | None = None  # of its picture prompt; None to read the query's
    seconds: float = 0.0  # time of the judge
    parts: list[Part] = field(default_factory=list)
    notes: Sequence[str] = ()
    error: AuscultError | None = None
    stage: str = "read"


class _Piece(NamedTuple):
    """A block of an output, ready to be judged."""

    output: Output
    case: SoundCase
    separated: Samples
    start_s: float
    weight: float


class SoundListener:
    """Judges outputs, several in a batch."""

    def __init__(self, judge: SoundJudge) -> None:
        self._judge = judge
        self._frames = LastCached(prompt_frames) if getattr(judge, "uses_frames", True) else None

    def judged(self, pieces: Iterable[_Piece]) -> None:
        """Judge pieces as they come; verdicts and errors are noted in their outputs."""
        pending, size = list[_Piece](), 0
        for piece in pieces:
            pending.append(piece)
            size += piece.case.mixture.nbytes + piece.separated.nbytes
            if size > _MOST_BYTES:
                self._judge_all(pending)
                pending, size = [], 0
        self._judge_all(pending)

    def _judge_all(self, pieces: Sequence[_Piece]) -> None:
        start = time.perf_counter()
        try:
            verdicts = self._together(pieces)
        except AuscultError as error:
            if len(pieces) == 1:
                pieces[0].output.error, pieces[0].output.stage = error, "judge"
                return
            for piece in pieces:  # one of them fails: they are judged one by one
                self._judge_all([piece])
            return
        for piece, verdict in zip(pieces, verdicts, strict=True):
            piece.output.parts.append(Part(piece.start_s, piece.weight, verdict))
            piece.output.seconds += (time.perf_counter() - start) / len(pieces)

    def _together(self, pieces: Sequence[_Piece]) -> Sequence[SoundVerdict]:
        batch = getattr(self._judge, "batch", None)
        if batch is None or len(pieces) < 2:
            return [self._judge(piece.case, piece.separated) for piece in pieces]
        verdicts: Sequence[SoundVerdict] = batch(
            [piece.case for piece in pieces], [piece.separated for piece in pieces]
        )
        return verdicts

    def pieces(self, mixture: RatedSignal, outputs: Sequence[Output]) -> Iterator[_Piece]:
        """The blocks of the outputs of a mixture; errors are noted in their ``Output``."""
        fitted = []
        for output in outputs:
            try:
                check_spans(output.query.spans, seconds_of(mixture))
                signal = Fitted(output.opened(), mixture)
                output.notes = signal.notes
                fitted.append((output, signal, self._shown(output)))
            except AuscultError as error:
                output.error = error
        for start, stop in blocks_of(mixture) if fitted else ():
            whole = levelled(mixture[..., start:stop])
            mean = whole.mean(axis=0, keepdims=True)
            start_s, stop_s = start / mixture.rate_hz, stop / mixture.rate_hz
            for output, signal, frames in fitted:
                try:
                    separated = signal.block(start, stop)
                except AuscultError as error:
                    output.error = error
                    continue
                case = SoundCase(
                    id=digest_json([output.id, start]),
                    mixture=mean if signal.averages_mixture else whole,
                    rate_hz=mixture.rate_hz,
                    text=output.query.text,
                    spans=spans_within(output.query.spans, start_s, stop_s),
                    frames=frames,
                )
                yield _Piece(output, case, separated, start_s, loudness(whole))

    def _shown(self, output: Output) -> Frames | None:
        if self._frames is None or output.query.picture is None:
            return output.frames
        return self._frames(output.query.picture)


class SoundAuditor:
    """Judges groups of items; made once in each worker process. Names on record are relative to ``root``."""

    def __init__(self, judge: str, policy: SoundPolicy, root: Path | None = None) -> None:
        self._listener, self._policy, self._root = SoundListener(load_sound_judge(judge)), policy, root
        self._digest = lru_cache(CHUNK)(digest_file)

    def __call__(self, group: SoundGroup) -> list[Result]:
        """The verdict or the error of each item."""
        stamps = {item.id: _settled_stamp(item) for item in group.items}
        lengths: dict[Path, float] = {}
        mixtures: dict[Path, list[Output]] = {}
        with ExitStack() as files:
            outputs = {item.id: Output(item.id, item.query, partial(_opened, item, files)) for item in group.items}
            for item in group.items:
                mixtures.setdefault(item.mixture, []).append(outputs[item.id])
            self._listener.judged(piece for path in mixtures for piece in self._pieces(path, mixtures[path], lengths))
        return [
            self._result(item, outputs[item.id], seconds=lengths.get(item.mixture, 0.0), stamp=stamps[item.id])
            for item in group.items
        ]

    def _pieces(self, path: Path, outputs: Sequence[Output], lengths: dict[Path, float]) -> Iterator[_Piece]:
        try:
            with SoundReader(path, limits=LIMITS, cut=False) as mixture:
                lengths[path] = mixture.shape[1] / mixture.rate_hz
                yield from self._listener.pieces(mixture, outputs)
        except AuscultError as error:
            for output in outputs:
                output.error = output.error or error

    def _result(self, item: SoundItem, output: Output, *, seconds: float, stamp: str | None) -> Result:
        try:
            if output.error is not None:
                raise output.error
            verdict = replace(over_blocks(output.parts, seconds), id=item.id, seconds=output.seconds)
            extra: dict[str, Any] = {"duration_s": round(seconds, 6), "notes": list(output.notes) or None}
            extra |= {"input": sound_digest(item, self._digest), "extra": dict(item.extra) or None}
            if self._root is not None:
                line = sound_line(replace(item, truth=None, extra={}), home=self._root)
                extra |= {"domain_given": line.pop("domain", None), **line}
            output.stage = "judge"
            row = sound_verdict_to_json(decide_sound(verdict, self._policy), **extra)
            sound_verdict_from_json(row)  # a verdict that a record cannot hold fails its item
        except AuscultError as error:
            return Result(id=item.id, errors=[{**failed_row(item, error, output.stage), "sound": True}])
        inputs = [] if stamp is None else [{"id": item.id, "input": row["input"], "stamp": stamp}]
        return Result(id=item.id, rows={INPUTS: inputs, _VERDICTS: [row]})


def _settled_stamp(item: SoundItem) -> str | None:
    """The stamp of an item before it is read; None if a file could change under the same stamp."""
    stamp = sound_digest(item, stamp_file)
    return stamp if all(map(is_settled, sound_files(item))) else None


def _opened(item: SoundItem, files: ExitStack) -> SoundReader:
    if item.separated is None:
        raise InputError("nothing was separated", expected="'separated' beside 'mixture'", hint="run a separator first")
    return files.enter_context(SoundReader(item.separated, limits=LIMITS, cut=False))


def prompt_frames(path: Path) -> Frames:
    """Up to ``MOST_FRAMES`` frames spread evenly, uint8 RGB (T, H, W, 3), shrunk to ``LONGEST_PX``.

    Frames of another size are scaled to that of the first. Links in a folder are left out. An InputError if there is
    no frame, or one cannot be read.
    """
    from auscult.media.video import VIDEO_SUFFIXES, count_frames, frames_numbered

    if path.is_dir():
        files = [file for file in path.iterdir() if file.suffix.lower() in FRAME_SUFFIXES and not file.is_symlink()]
        files.sort(key=lambda one: natural_key(one.name))
        frames = [read_frame(files[number]) for number in _spread(len(files))]
    elif path.suffix.lower() in VIDEO_SUFFIXES:
        numbers = _spread(count_frames(path))
        frames = [timed.frame for _, timed in frames_numbered(path, numbers)]
    else:
        frames = [read_frame(path)]
    if not frames:
        hint = "name a picture, a folder of pictures, or a video with frames; or take 'video' out"
        raise InputError("the picture prompt has no frame", expected="one frame at least", hint=hint, path=path)
    return np.stack([reduced(frame, LONGEST_PX) for frame in frames])


def _spread(count: int) -> list[int]:
    """Numbers of ``MOST_FRAMES`` of so many frames, in the middle of equal parts."""
    return sorted({int((part + 0.5) * count / MOST_FRAMES) for part in range(MOST_FRAMES)}) if count else []
