"""What a worker process does with separated sounds: read them, judge them, decide.

A mixture is decoded once for all its outputs, and the judge gets them together. An error costs the item it belongs to.
A judge gets frames of a picture prompt unless its attribute ``uses_frames`` is False; then no picture is opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import numpy as np

from auscult.act.sound_policy import SoundPolicy, decide_sound
from auscult.cases.ids import natural_key
from auscult.cases.sounds import sound_line
from auscult.errors import AuscultError, ErrorRecord, InputError, Mismatch
from auscult.jobs import sound_blocks as blocks
from auscult.jobs.judges import load_sound_judge
from auscult.jobs.runner import CHUNK, HINT, INPUTS, Last, Result, failed_row, require_unchanged
from auscult.media.frames import FRAME_SUFFIXES, read_frame
from auscult.media.limits import Limits
from auscult.media.sound import SoundReader
from auscult.record.digest import digest_file, digest_json, is_settled, stamp_file
from auscult.record.schema import error_to_json, sound_verdict_from_json, sound_verdict_to_json
from auscult.types import Frames, Samples, SoundCase, SoundItem, SoundJudge, SoundQuery, SoundVerdict

LIMITS: Final = Limits(max_bytes=4 << 30, max_samples=1 << 30)  # an hour in blocks
SOUNDS_TOGETHER: Final = 8
"""Outputs of several mixtures that a worker gets at once."""
MOST_FRAMES: Final = 8
"""Frames of a picture prompt."""
LONGEST_PX: Final = 512

_VERDICTS: Final = "verdicts.jsonl"
_MOST_BYTES: Final = 1 << 26  # of samples that wait for one batch


@dataclass(frozen=True, slots=True)
class SoundGroup:
    """Outputs of one mixture, or of a few, that are still to be judged."""

    items: tuple[SoundItem, ...]

    @property
    def key(self) -> str:
        """The first of the ids."""
        return self.items[0].id

    @property
    def size(self) -> int:
        """How many items it is."""
        return len(self.items)

    def split(self) -> list[SoundGroup]:
        """One item at a time."""
        return [SoundGroup((item,)) for item in self.items] if self.size > 1 else []

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The rows of ``errors.jsonl`` where a worker crashed or ran out of time."""
        return [{**error_to_json(item.id, error), "sound": True} for item in self.items]


def sound_groups(items: Iterable[SoundItem], *, joined: int) -> Iterator[SoundGroup]:
    """The items by mixture, up to ``joined`` of several together; the first alone, so that its result comes early."""
    mixtures: dict[Path, list[SoundItem]] = {}
    for item in items:
        mixtures.setdefault(item.mixture, []).append(item)
    held, most = list[SoundItem](), 1
    for group in mixtures.values():
        for start in range(0, len(group), CHUNK):
            chunk = group[start : start + CHUNK]
            if held and len(held) + len(chunk) > most:
                yield SoundGroup(tuple(held))
                held, most = [], joined
            held += chunk
    if held:
        yield SoundGroup(tuple(held))


def sound_files(item: SoundItem) -> list[Path]:
    """The files of an item, of a folder of frames each."""
    paths = [path for path in (item.mixture, item.separated, item.query.picture) if path is not None]
    return [one for path in paths for one in (sorted(path.iterdir()) if path.is_dir() else (path,))]


def sound_digest(item: SoundItem, of_file: Callable[[Path], str] = digest_file) -> str:
    """Hash of what was judged: mixture, output and prompts."""
    spans = [[one.sign, one.start_s, one.end_s] for one in item.query.spans]
    return digest_json([[of_file(path) for path in sound_files(item)], item.query.text, spans])


def refuse_changed_sounds(
    done: Mapping[str, object], items: Sequence[SoundItem], *, stamps: Mapping[str, object]
) -> None:
    """Insist that earlier verdicts, id to ``sound_digest``, still come from the same files."""
    by_id, digest, stamp = {item.id: item for item in items}, cache(digest_file), cache(stamp_file)
    for name, before in done.items():
        item = by_id.get(name)
        if item is None:
            raise Mismatch(f"{name} has a result in the folder and is no longer in the input", hint=HINT)
        if name not in stamps or stamps[name] != sound_digest(item, stamp):
            same = partial(lambda item, before: sound_digest(item, digest) == before, item, before)
            require_unchanged(name, same, path=item.separated, parts="mixture, output or prompt has")


@dataclass(slots=True, eq=False)
class Output:
    """An output while it is judged."""

    id: str
    query: SoundQuery
    opened: Callable[[], blocks.RatedSignal]
    frames: Frames | None = None  # of its picture prompt; None to read the query's
    seconds: float = 0.0  # that the judge took
    parts: list[blocks.Part] = field(default_factory=list)
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
        self._frames = Last(prompt_frames) if getattr(judge, "uses_frames", True) else None

    def judged(self, pieces: Iterable[_Piece]) -> None:
        """Judge pieces as they come; verdicts and errors are noted in their outputs."""
        held, size = list[_Piece](), 0
        for piece in pieces:
            held.append(piece)
            size += piece.case.mixture.nbytes + piece.separated.nbytes
            if size > _MOST_BYTES:
                self._judge_all(held)
                held, size = [], 0
        self._judge_all(held)

    def _judge_all(self, held: Sequence[_Piece]) -> None:
        begun = time.perf_counter()
        try:
            found = self._together(held)
        except AuscultError as error:
            if len(held) == 1:
                held[0].output.error, held[0].output.stage = error, "judge"
                return
            for piece in held:  # one of them caused it: only that one fails
                self._judge_all([piece])
            return
        for piece, verdict in zip(held, found, strict=True):
            piece.output.parts.append(blocks.Part(piece.start_s, piece.weight, verdict))
            piece.output.seconds += (time.perf_counter() - begun) / len(held)

    def _together(self, held: Sequence[_Piece]) -> Sequence[SoundVerdict]:
        batch = getattr(self._judge, "batch", None)
        if batch is None or len(held) < 2:
            return [self._judge(piece.case, piece.separated) for piece in held]
        found: Sequence[SoundVerdict] = batch([piece.case for piece in held], [piece.separated for piece in held])
        return found

    def pieces(self, mixture: blocks.RatedSignal, outputs: Sequence[Output]) -> Iterator[_Piece]:
        """The blocks of the outputs of a mixture; what cannot be used is noted in its ``Output``."""
        fitted = []
        for output in outputs:
            try:
                blocks.check_spans(output.query.spans, blocks.seconds_of(mixture))
                made = blocks.Fitted(output.opened(), mixture)
                output.notes = made.notes
                fitted.append((output, made, self._shown(output)))
            except AuscultError as error:
                output.error = error
        for start, stop in blocks.blocks_of(mixture) if fitted else ():
            whole = blocks.levelled(mixture[..., start:stop])
            mean = whole.mean(axis=0, keepdims=True)
            start_s, stop_s = start / mixture.rate_hz, stop / mixture.rate_hz
            for output, made, frames in fitted:
                try:
                    separated = made.block(start, stop)
                except AuscultError as error:
                    output.error = error
                    continue
                case = SoundCase(
                    id=digest_json([output.id, start]),
                    mixture=mean if made.averages_mixture else whole,
                    rate_hz=mixture.rate_hz,
                    text=output.query.text,
                    spans=blocks.spans_within(output.query.spans, start_s, stop_s),
                    frames=frames,
                )
                yield _Piece(output, case, separated, start_s, blocks.loudness(whole))

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
            with SoundReader(path, limits=LIMITS) as mixture:
                lengths[path] = mixture.shape[1] / mixture.rate_hz
                yield from self._listener.pieces(mixture, outputs)
        except AuscultError as error:
            for output in outputs:
                output.error = output.error or error

    def _result(self, item: SoundItem, output: Output, *, seconds: float, stamp: str | None) -> Result:
        try:
            if output.error is not None:
                raise output.error
            verdict = replace(blocks.over_blocks(output.parts, seconds), id=item.id, seconds=output.seconds)
            more: dict[str, Any] = {"duration_s": round(seconds, 6), "notes": list(output.notes) or None}
            more |= {"input": sound_digest(item, self._digest), "extra": dict(item.extra) or None}
            if self._root is not None:
                line = sound_line(replace(item, truth=None, extra={}), home=self._root)
                more |= {"domain_given": line.pop("domain", None), **line}
            output.stage = "judge"
            row = sound_verdict_to_json(decide_sound(verdict, self._policy), **more)
            sound_verdict_from_json(row)  # what a judge gave that no record can hold costs its item
        except AuscultError as error:
            return Result(id=item.id, errors=[{**failed_row(item, error, output.stage), "sound": True}])
        inputs = [] if stamp is None else [{"id": item.id, "input": row["input"], "stamp": stamp}]
        return Result(id=item.id, rows={INPUTS: inputs, _VERDICTS: [row]})


def _settled_stamp(item: SoundItem) -> str | None:
    """The stamp of an item before it is read; None where a file could be written again under the same stamp."""
    stamp = sound_digest(item, stamp_file)
    return stamp if all(map(is_settled, sound_files(item))) else None


def _opened(item: SoundItem, files: ExitStack) -> SoundReader:
    if item.separated is None:
        raise InputError("nothing was separated", expected="'separated' beside 'mixture'", hint="run a separator first")
    return files.enter_context(SoundReader(item.separated, limits=LIMITS))


def prompt_frames(path: Path) -> Frames:
    """Up to ``MOST_FRAMES`` frames spread evenly, uint8 RGB (T, H, W, 3), shrunk to ``LONGEST_PX``.

    Frames of another size than the first are scaled to its. Links in a folder are left out.

    Raises:
        InputError: There is no frame, or one cannot be read.
    """
    from auscult.media.video import VIDEO_SUFFIXES, count_frames, frames_numbered

    if path.is_dir():
        files = [one for one in path.iterdir() if one.suffix.lower() in FRAME_SUFFIXES and not one.is_symlink()]
        files.sort(key=lambda one: natural_key(one.name))
        found = [read_frame(files[number]) for number in _spread(len(files))]
    elif path.suffix.lower() in VIDEO_SUFFIXES:
        numbers = _spread(count_frames(path))
        found = [timed.frame for _, timed in frames_numbered(path, numbers)]
    else:
        found = [read_frame(path)]
    if not found:
        hint = "name a picture, a folder of pictures, or a video with frames; or take 'video' out"
        raise InputError("the picture prompt has no frame", expected="one frame at least", hint=hint, path=path)
    height, width = found[0].shape[:2]
    scale = min(1.0, LONGEST_PX / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.stack([cv2.resize(frame, size, interpolation=cv2.INTER_AREA) for frame in found]).astype(np.uint8)


def _spread(count: int) -> list[int]:
    """Numbers of ``MOST_FRAMES`` of so many frames, in the middle of equal parts."""
    return sorted({int((part + 0.5) * count / MOST_FRAMES) for part in range(MOST_FRAMES)}) if count else []
