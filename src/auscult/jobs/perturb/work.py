"""The worker of ``auscult stress vision|sound|sentences|timing|recipe``: applies one recipe to one part.

Decoded content is hashed, so that results can be compared between machines. A video is read twice: once to count its
frames and check that it is complete, since a plan needs the length of the clip; once to perturb it. Frames are upright,
at their own times.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, ErrorRecord, InputError, OutputError, TooLarge
from auscult.jobs.perturb.choice import Output, PerturbTask, not_done
from auscult.jobs.perturb.inputs import RATE_FPS, PerturbedPart, tagged
from auscult.jobs.perturb.options import PerturbOptions
from auscult.jobs.runner import Result, mask_digest
from auscult.media.containers import opened_video
from auscult.media.frames import frame_size, read_frame, write_frame
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import open_regular, read_bytes, safe_name, write_bytes
from auscult.media.pictures import opened, orientation
from auscult.media.sound import MOST_CHANNELS, SoundReader, read_soundtrack
from auscult.media.video import TimedFrame, VideoInfo, decoded, probe, read_frames, video_stream
from auscult.media.video_write import LOSSLESS, VideoForm, video_file
from auscult.media.wav import BLOCK, Depth, SampleBlocks, Sound, as_stored, wav_parts
from auscult.record.digest import digest_file, digest_json
from auscult.record.schema import error_to_json
from auscult.stress.masks.base import truth_of
from auscult.stress.recipe import Plan, planned
from auscult.stress.recipe_parts import base_of, load_stressors, room_of
from auscult.stress.sound import AudioInfo
from auscult.stress.vision import ClipInfo
from auscult.types import Defect, Frame, Item, Mask, MaskRef, Samples, Truth

# --- hashes and conversions ---

_MODES: Final = {"1": "grey", "L": "grey", "LA": "grey", "La": "grey", "I": "grey", "P": "palette", "PA": "palette"}


def frame_digest(frames: Iterable[Frame]) -> str:
    """SHA-256 of the bytes of frames in their order, uint8 RGB row by row."""
    digest = hashlib.sha256()
    for frame in frames:
        digest.update(np.ascontiguousarray(frame).data)
    return digest.hexdigest()


def sound_digest(samples: Samples) -> str:
    """SHA-256 of a sound's samples as they are read: float32, little-endian, channel after channel."""
    return hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest()


def file_sound_digest(path: Path) -> str:
    """``sound_digest`` of a file, read block by block."""
    digest = hashlib.sha256()
    with SoundReader(path, limits=_LIMITS) as sound:
        for channel in range(sound.shape[0]):
            for start in range(0, sound.shape[1], BLOCK):
                digest.update(np.ascontiguousarray(sound[..., start : start + BLOCK][channel], dtype="<f4").data)
    return digest.hexdigest()


def conversions(path: Path) -> list[str]:
    """Conversions by ``read_frame``, in words; empty for an upright picture in RGB, 8 bits, without alpha."""
    with open_regular(path) as file, opened(file, path=path, limits=DEFAULT_LIMITS) as picture:
        mode, stored = picture.mode, [tile[3] for tile in getattr(picture, "tile", ())]
        raw = [str(entry if isinstance(entry, str) or not entry else entry[0]) for entry in stored]
        changes = {
            "16 bits to 8": mode.startswith("I") or any(";16" in entry for entry in raw),
            "alpha over black": mode == "RGBa" or picture.has_transparency_data,
            "turned upright": orientation(picture) != 1,
            "the first of several pictures": _several(picture),
            f"{_MODES.get(mode.partition(';')[0], mode)} to RGB": mode not in {"RGB", "RGBA", "RGBa"},
        }
    return [conversion for conversion, changed in changes.items() if changed]


def _several(picture: object) -> bool:
    """Whether a file holds several pictures, such as pages or an animation; a camera's preview does not count."""
    return bool(getattr(picture, "is_animated", False)) and getattr(picture, "format", "") != "MPO"


# --- masks of a frame ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The result of one output."""

    # keys of its line in ``outputs.jsonl``; empty where nothing was written
    row: Mapping[str, Any] = field(default_factory=dict)
    # masks that go with a frame: name below the recipe's folder to bytes
    files: Mapping[str, bytes] = field(default_factory=dict)
    errors: tuple[tuple[str, ErrorRecord], ...] = ()  # (item, error) for masks that could not be opened


def carried_masks(part: PerturbedPart, plan: Plan | None) -> Made:
    """Files of the masks and true masks of a frame's items, and as ``items`` the keys for the line of each item.

    These are ``mask`` and, if there is one, ``truth``; for a newly written mask also the hash of its pixels (bool,
    row by row).
    """
    carrier = _Carrier(part, frame_size(_path(part)), plan if plan is not None and plan.moves else None)
    items: dict[str, Mapping[str, Any]] = {}
    files: dict[str, bytes] = {}
    errors: list[tuple[str, ErrorRecord]] = []
    for item in part.items:
        try:
            items[item.id], masks = carrier.item(item)
        except AuscultError as error:
            errors.append((item.id, ErrorRecord.of(error, "read")))
            continue
        files |= masks
    return Made(row={"items": items}, files=files, errors=tuple(errors))


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Copies the masks of one frame, or transforms them by a plan."""

    part: PerturbedPart
    size: tuple[int, int]
    plan: Plan | None

    def item(self, item: Item) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The mask keys of an item's line, and the mask files."""
        name = tagged(safe_name(item.id), item.id) if item.id in self.part.twins else safe_name(item.id)
        value, mask, files = self._mask(item.mask, f"masks/{name}", redraw=item.mask.absent_ok)
        line: dict[str, Any] = {"mask": value}
        if mask is not None:
            line["mask_sha256"] = hashlib.sha256(mask.tobytes()).hexdigest()
        if item.truth is None:
            return line, files
        truth = _known(item.truth, ("iou", "defect", "difficulty", "action"))
        true = None
        if item.truth.mask is not None:
            true_value, true, mask_files = self._mask(item.truth.mask, f"truth/{name}")
            files |= mask_files
            truth = {"mask": true_value, **truth}
        if self.plan is not None and "iou" in truth:
            # both masks moved, so their IoU is computed again; without the true mask it is unknown
            for key in ("iou", "difficulty", "action"):
                truth.pop(key, None)
            if mask is not None and true is not None and (mask.any() or true.any()):
                truth |= _counted(item.truth.defect, iou(mask, true))
        line["truth"] = truth
        return line, files

    def _mask(self, ref: MaskRef, name: str, *, redraw: bool = False) -> tuple[Any, Mask | None, dict[str, bytes]]:
        """The value of a mask key, the mask if it was opened, and its file."""
        elsewhere = ref.segmentation is not None and ref.size not in {None, self.size}
        if self.plan is not None or ref.positive or ref.rgb or redraw or elsewhere:
            mask = read_mask(ref, size=self.size).mask
            if self.plan is not None:
                mask = self.plan.mask(np.ascontiguousarray(mask), self.part.index)
            return f"{name}.png", mask, {f"{name}.png": encode_mask(mask)}
        if ref.path is None:
            return ref.segmentation, None, {}
        file = name + ref.path.suffix.lower()
        value: Any = file
        if ref.index is not None:
            value = {"path": file, "index": ref.index, "labels": ref.labels}
        elif ref.labels:
            value = {"path": file, "labels": True}
        return value, None, {file: read_bytes(ref.path)}


def _counted(defect: Defect | None, value: float) -> dict[str, Any]:
    """IoU, difficulty and action of moved masks; without a defect only the IoU."""
    return {"iou": value} if defect is None else _known(truth_of(defect, value), ("iou", "difficulty", "action"))


def _known(truth: Truth, keys: Iterable[str]) -> dict[str, Any]:
    """The keys of a truth that have a value."""
    return {key: getattr(truth, key) for key in keys if getattr(truth, key) is not None}


# --- sounds and videos ---

_TIMES_S: Final = np.array([1.0, 2.0])


def moving_sound(plan: Plan) -> list[str]:
    """The steps of timing that move only the sound, such as an offset."""
    timing = [(name, params) for name, params in plan.steps if room_of(name) == "timing" and params.strength > 0.0]
    stressors = load_stressors(name for name, _ in timing)
    return [name for name, params in timing if not np.array_equal(stressors[name].heard(params, _TIMES_S), _TIMES_S)]


def refuse_soundless(output: Output, names: Iterable[str]) -> None:
    """Refuse steps that need a sound, for a video without one."""
    needing, recipe = dict.fromkeys(names), output.recipe
    if not needing:
        return
    kinds = " and ".join(map(base_of, needing))
    medium = "video" if output.part.medium == "video" else "folder of frames"
    others = [step.name.rpartition(".")[0] for step in recipe.steps if step.name not in needing]
    instead = f", as --kind {'+'.join(others)}" if others and not recipe.schedule.draws_types else ""
    raise InputError(
        f"the {medium} has no sound, and {kinds} needs one: nothing was made of this file by {recipe.name}",
        expected="a video with sound",
        hint=f"leave the file out, or perturb it without {kinds}{instead}",
        path=output.part.path,
    )


_MOST_HELD_BYTES: Final = 1 << 29
_LIMITS: Final = Limits(max_bytes=1 << 36)  # files are never read into memory whole, and lossless ones are large
_TIDY_EVERY: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A checked video, with the time of each frame in seconds."""

    path: Path
    info: VideoInfo
    times_s: tuple[float, ...]
    sound: Sound | None

    @property
    def fps(self) -> float:
        """Frames per second, on average."""
        if self.info.fps:
            return self.info.fps
        span = self.times_s[-1] - self.times_s[0]
        return (len(self.times_s) - 1) / span if span > 0 else RATE_FPS


def open_film(path: Path) -> Film:
    """Read a video once, to check it and list the times of its frames."""
    info = probe(path, limits=_LIMITS)
    if info.sound_channels > MOST_CHANNELS:
        raise InputError(
            f"the sound of the video has {info.sound_channels} channels",
            expected=f"at most {MOST_CHANNELS}",
            hint="mix it to fewer channels",
            path=path,
        )
    with opened_video(path, limits=_LIMITS) as container:
        stream = video_stream(container, path=path, limits=_LIMITS)
        times = tuple(float(time) for _, time in decoded(container, stream, path=path, limits=_LIMITS))
    sound = read_soundtrack(path, limits=_LIMITS) if info.sound_channels else None
    return Film(path=path, info=info, times_s=times, sound=sound)


def sizes(sound: Sound | SoundReader) -> dict[str, int]:
    """Rate, channels and samples of a sound, as keys of a line."""
    channels, samples = sound.shape
    return {"rate_hz": sound.rate_hz, "channels": channels, "samples": samples}


def perturbed_sound(sound: Sound, plan: Plan, depth: Depth) -> tuple[Sound, int]:
    """A perturbed sound as read back from its file, and the count of clipped samples."""
    samples, clipped = as_stored(plan.sound(sound.samples, sound.rate_hz), depth)
    return Sound(samples=samples, rate_hz=sound.rate_hz), clipped


MOST_AT_ONCE: Final = 50_000_000
"""Samples over all channels of a sound that is rendered as a whole; each takes 12 bytes at most."""
_SHORT_OF: Final = (
    "at most {:,} samples in all; longer ones with gain, time_mask, gaussian_noise and impulse_noise only"
)


def rendered_blocks(sound: SoundReader, plan: Plan, *, path: Path) -> Iterator[Samples]:
    """A perturbed sound in blocks, if the plan allows it; else as a whole, unless it is too long."""
    channels, samples = sound.shape
    if plan.in_blocks:
        for start in range(0, samples, BLOCK):
            yield plan.sound_block(_held(sound, slice(start, min(samples, start + BLOCK)), path=path), start=start)
        return
    if channels * samples > MOST_AT_ONCE:
        raise TooLarge(
            f"a sound of {channels} channels of {samples:,} samples, of which the perturbation needs all at once",
            expected=_SHORT_OF.format(MOST_AT_ONCE),
            hint="cut the sound into parts, mix its channels, or resample it",
            path=path,
        )
    whole = plan.sound(_held(sound, slice(0, samples), path=path), sound.rate_hz)
    for start in range(0, samples, BLOCK):
        yield whole[:, start : start + BLOCK]


def _held(sound: SoundReader, span: slice, *, path: Path) -> Samples:
    """The samples of a span, finite."""
    blocks = SampleBlocks(sound.shape[0], span.stop - span.start, path=path)
    for start in range(span.start, span.stop, BLOCK):
        blocks.put(sound[..., start : min(span.stop, start + BLOCK)])
    return blocks.samples()


def write_perturbed(film: Film, plan: Plan, target: Path, *, quality: int, depth: Depth) -> dict[str, Any]:
    """Perturb a video into a Matroska file; returns the keys of its line for frames and sound."""
    size = (film.info.height, film.info.width)
    sound, clipped = (None, 0) if film.sound is None else perturbed_sound(film.sound, plan, depth)
    fps = Fraction(min(max(film.fps, 0.1), 1000.0)).limit_denominator(100_000)
    form = VideoForm(size=size, fps=fps, quality=quality, depth=depth)
    digest = hashlib.sha256()
    with video_file(target, form, sound=sound) as coder:
        frames = _sized(read_frames(film.path, limits=_LIMITS), size, film.path)
        for index, frame in _shown(frames, plan, len(film.times_s), path=film.path):
            coder.add(film.times_s[index], frame)
            digest.update(frame.data)
    row: dict[str, Any] = {"frames": len(film.times_s), "size": list(size), "fps": film.fps}
    if quality == LOSSLESS:
        row |= {"coding": "lossless", "sha256": digest.hexdigest()}
    else:
        row |= {"coding": f"x264, quantiser {quality}"}
        row |= {"sha256": frame_digest(timed.frame for timed in read_frames(target, limits=_LIMITS))}
        row |= {"rendered_sha256": digest.hexdigest()}
    if sound is not None:
        row |= {"sound_sha256": sound_digest(sound.samples), **sizes(sound), "clipped": clipped, "depth": depth}
    return row


def _sized(frames: Iterable[TimedFrame], size: tuple[int, int], path: Path) -> Iterator[Frame]:
    for number, timed in enumerate(frames):
        if number % _TIDY_EVERY == 0:
            gc.collect()  # decoded frames are in reference cycles, and the collector counts objects, not bytes
        if timed.frame.shape[:2] != size:
            raise InputError(
                f"the frames change their size, to {timed.frame.shape[0]} x {timed.frame.shape[1]} at "
                f"{timed.time_s:.3f} s",
                expected=f"{size[0]} x {size[1]} (height x width) throughout",
                hint="cut the video where its size changes",
                path=path,
            )
        yield timed.frame


def _shown(frames: Iterable[Frame], plan: Plan, count: int, *, path: Path) -> Iterator[tuple[int, Frame]]:
    """Each output position with its rendered frame; source frames are held until their last use."""
    numbers = [plan.frame_number(position) for position in range(count)]
    last = {number: position for position, number in enumerate(numbers)}
    held: dict[int, Frame] = {}
    position = 0
    for number, frame in enumerate(frames):
        if number in last:
            held[number] = frame
        while position < count and numbers[position] in held:
            yield position, np.ascontiguousarray(plan.frame(held[numbers[position]], position))
            if last[numbers[position]] == position:
                del held[numbers[position]]
            position += 1
        if len(held) * frame.nbytes > _MOST_HELD_BYTES:
            raise InputError("too many frames are shown long after they were", expected="512 MiB of frames", path=path)
    if position != count:
        raise InputError(
            f"the video ended after {position} of {count} frames",
            expected="the frames that were counted before",
            hint="if the file was changed meanwhile, give the same command again",
            path=path,
        )


# --- the worker ---

STAGE: Final = "stress"
OUTPUTS: Final = "outputs.jsonl"


def part_digest(part: PerturbedPart, items: Collection[str]) -> str:
    """Hash of the input of a part: its file, the masks and true masks of its items, its sentence."""
    masks = []
    for item in part.items:
        if item.id in items:
            refs = (item.mask, None if item.truth is None else item.truth.mask)
            masks += [[item.id, *mask_digest(ref)] for ref in refs if ref is not None]
    digest = _clip_digest(part.clip) if part.clip else None if part.path is None else digest_file(part.path)
    return digest_json([digest, masks, part.text, part.key, part.index, part.count])


@lru_cache(maxsize=4)
def _clip_digest(frames: tuple[Path, ...]) -> str:
    """Hash of all frames of a clip, since any of them may replace another."""
    return digest_json([digest_file(path) for path in frames])


@dataclass(frozen=True, slots=True)
class Perturber:
    """Perturbs parts by the options; made once in each worker process."""

    options: PerturbOptions

    def __call__(self, task: PerturbTask) -> list[Result]:
        """Make outputs in their order; one that fails does not stop the others."""
        return [self._result(output) for output in task.outputs]

    def _result(self, output: Output) -> Result:
        part, folder = output.part, output.recipe.name
        do = {"picture": self._picture, "sound": self._sound, "video": self._video, "sentence": self._sentence}
        try:
            result = do[part.medium](output)
            errors = [error_to_json(f"{folder}/{item}", error) for item, error in result.errors]
            if not result.row:
                return Result(id=output.id, errors=errors)
            row: dict[str, Any] = {"id": output.id, "recipe": folder, "part": part.id}
            row |= {"kind": part.kind, "key": part.key}
            files = {f"{folder}/{name}": data for name, data in result.files.items()}
            if output.file:
                row["output"] = output.file
                row["bytes"] = {output.file: (self.options.out / output.file).stat().st_size}
                row["bytes"] |= {name: len(data) for name, data in files.items()}
            left = (
                [] if part.items else not_done(output.recipe, part.rooms)
            )  # for items, another part may take the step
            if left:
                row["not_done"] = left
            row |= {**result.row, "input": part_digest(part, result.row.get("items", ()))}
            return Result(id=output.id, rows={OUTPUTS: [row]}, files=files, errors=errors)
        except OutputError:
            raise
        except AuscultError as error:
            return Result(id=output.id, errors=output.failed(ErrorRecord.of(error, STAGE)))

    def _plan(self, output: Output, **fields: Any) -> Plan:
        recipe = replace(output.recipe, steps=output.steps)
        return planned(recipe, seed=self.options.seed, key=output.part.key, **fields)

    def _picture(self, output: Output) -> Made:
        """A picture with the masks of its items; if none of these can be read, nothing is written."""
        part = output.part
        frame = read_frame(_path(part)) if output.steps else None
        plan = None
        if frame is not None:
            height, width = frame.shape[:2]
            shot = ClipInfo(height=height, width=width, frames=part.count, rate_fps=part.rate_fps)
            plan = self._plan(output, shot=shot)
            if part.clip:
                refuse_soundless(output, moving_sound(plan))
        masks = carried_masks(part, plan) if part.items else Made()
        if part.items and not masks.row["items"]:
            return replace(masks, row={})
        row = self._copied(output) if frame is None or plan is None else self._rendered(output, frame, plan)
        if part.items:
            row |= {**masks.row, "moved": plan is not None and plan.moves, "index": part.index}
        return replace(masks, row=row)

    def _rendered(self, output: Output, frame: Frame, plan: Plan) -> dict[str, Any]:
        part = output.part
        shown = plan.frame_number(part.index) if part.clip else part.index
        source = _path(part) if shown == part.index else part.clip[shown]
        if shown != part.index:
            size, frame = frame.shape[:2], read_frame(source)
            if frame.shape[:2] != size:
                raise InputError(
                    f"the frame is {frame.shape[0]} x {frame.shape[1]}, another of its folder {size[0]} x {size[1]}",
                    expected="frames of one size in a folder whose timing is perturbed",
                    hint="keep pictures that are not of one clip in other folders",
                    path=source,
                )
        rendered, changed = plan.frame(frame, part.index), conversions(source)
        write_frame(self.options.out / output.file, rendered)
        digest = frame_digest([rendered])
        row: dict[str, Any] = {"sha256": digest, "size": list(frame.shape[:2]), "plan": plan.as_json()}
        row |= {"shown": shown} if part.clip else {}
        return row | ({"converted": changed} if changed else {})

    def _copied(self, output: Output) -> dict[str, Any]:
        """Copy a file unchanged; its hash is of its bytes, since nothing is decoded."""
        data = read_bytes(_path(output.part))
        write_bytes(self.options.out / output.file, data)
        return {"file_sha256": hashlib.sha256(data).hexdigest(), "plan": None}

    def _sound(self, output: Output) -> Made:
        if not output.steps:
            return Made(row=self._copied(output))
        path, target, depth = _path(output.part), self.options.out / output.file, self.options.depth
        clipped = 0
        with SoundReader(path) as sound:
            plan, size = self._plan(output, take=AudioInfo(**sizes(sound))), (sound.shape[0], sound.shape[1])

            def blocks() -> Iterator[Samples]:
                nonlocal clipped
                for block in rendered_blocks(sound, plan, path=path):
                    stored, cut_off = as_stored(block, depth)
                    clipped += cut_off
                    yield stored

            write_bytes(target, wav_parts(blocks(), size, rate_hz=sound.rate_hz, depth=depth))
            row = {"sha256": file_sound_digest(target), **sizes(sound), "depth": depth, "clipped": clipped}
        return Made(row=row | {"silent_s": [list(span) for span in plan.silent_s], "plan": plan.as_json()})

    def _video(self, output: Output) -> Made:
        film = open_film(_path(output.part))
        take = None if film.sound is None else AudioInfo(**sizes(film.sound))
        shot = ClipInfo(height=film.info.height, width=film.info.width, frames=len(film.times_s), rate_fps=film.fps)
        if take is None:
            refuse_soundless(output, [step.name for step in output.recipe.steps if step.room == "sound"])
        plan = self._plan(output, shot=shot, take=take)
        if take is None:
            refuse_soundless(output, moving_sound(plan))
        row = write_perturbed(
            film, plan, self.options.out / output.file, quality=self.options.quality, depth=self.options.depth
        )
        shown = plan.frames if plan.retimes else None
        row["silent_s"] = [list(span) for span in plan.silent_s]
        row["shown"] = None if shown is None else list(shown)
        row["offset_s"] = [round(lag, 6) for lag in plan.lag(film.times_s)]
        return Made(row=row | {"moved": plan.moves, "plan": plan.as_json()})

    def _sentence(self, output: Output) -> Made:
        text = output.part.text
        plan = self._plan(output, sentence=text, keep=self.options.keep, keep_head=self.options.keep_head)
        perturbed = plan.sentence(text)
        if any(perturbed.count(sign) > text.count(sign) for sign in "\n\r\0"):
            raise InputError("the perturbed sentence has a line end or NUL that was not there", expected="one line")
        words = [[change.start, change.before, change.after] for change in plan.words]
        digest = hashlib.sha256(perturbed.encode("utf-8", "surrogatepass")).hexdigest()
        return Made(row={"sha256": digest, "text": perturbed, "words": words, "plan": plan.as_json()})


def _path(part: PerturbedPart) -> Path:
    if part.path is None:
        raise InputError(f"{part.id} has no file")
    return part.path
