"""What a worker process of ``auscult stress vision|sound|sentences|timing|recipe`` does: one part by one recipe.

Content is hashed as it is decoded, so that two people can compare. A video is gone through twice: once to count its
frames and see that it is whole, since a plan needs to know how long a clip is and half a video would be a wrong answer;
once to perturb it. Frames come upright, at their own times.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, ErrorRecord, InputError, OutputError
from auscult.jobs.perturb.inputs import OF_ITEMS, ROOMS_OF, PerturbedPart, tagged
from auscult.jobs.runner import Result, mask_digest
from auscult.media.containers import opened_video
from auscult.media.frames import frame_size, read_frame, write_frame
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import read_bytes, safe_name, write_bytes
from auscult.media.pictures import opened, orientation
from auscult.media.sound import MOST_CHANNELS, read_sound, read_soundtrack
from auscult.media.video import TimedFrame, VideoInfo, decoded, probe, read_frames, video_stream
from auscult.media.video_write import LOSSLESS, VideoForm, video_file
from auscult.media.wav import Depth, Sound, as_stored, wav_bytes
from auscult.record.digest import digest_file, digest_json
from auscult.record.schema import error_to_json
from auscult.stress.masks.base import truth_of
from auscult.stress.recipe import Plan, Recipe, planned
from auscult.stress.recipe_parts import base_of, load_stressors, room_of
from auscult.stress.sound import AudioInfo
from auscult.stress.timing.base import TimingInfo
from auscult.stress.vision import ClipInfo
from auscult.types import Defect, Frame, Item, Mask, MaskRef, Samples

_MODES: Final = {"1": "grey", "L": "grey", "LA": "grey", "La": "grey", "I": "grey", "P": "palette", "PA": "palette"}


def frame_digest(frames: Iterator[Frame]) -> tuple[str, int]:
    """SHA-256 of the bytes of frames in their order, uint8 RGB row by row, and how many there were."""
    digest, count = hashlib.sha256(), 0
    for frame in frames:
        digest.update(np.ascontiguousarray(frame).data)
        count += 1
    return digest.hexdigest(), count


def sound_digest(samples: Samples) -> str:
    """SHA-256 of a sound's samples as they are read: float32, little-endian, channel after channel."""
    return hashlib.sha256(np.ascontiguousarray(samples, dtype="<f4").data).hexdigest()


def conversions(path: Path) -> list[str]:
    """What ``read_frame`` changed in a picture, in words; empty for one of RGB, 8 bits, upright, without alpha."""
    with path.open("rb") as file, opened(file, path=path, limits=DEFAULT_LIMITS) as picture:
        mode, stored = picture.mode, [tile[3] for tile in getattr(picture, "tile", ())]
        raw = [str(one if isinstance(one, str) or not one else one[0]) for one in stored]
        found = {
            "16 bits to 8": mode.startswith("I") or any(";16" in one for one in raw),
            "alpha over black": mode == "RGBa" or picture.has_transparency_data,
            "turned upright": orientation(picture) != 1,
            "the first of several pictures": _several(picture),
            f"{_MODES.get(mode.partition(';')[0], mode)} to RGB": mode not in {"RGB", "RGBA", "RGBa"},
        }
    return [what for what, changed in found.items() if changed]


def _several(picture: object) -> bool:
    """Whether a file holds further pictures, such as pages or an animation; the preview in a camera's file is none."""
    return bool(getattr(picture, "is_animated", False)) and getattr(picture, "format", "") != "MPO"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What goes with a perturbed part.

    Attributes:
        items: Item to what its line says: ``mask`` and, where it has one, ``truth``; and of a mask that was drawn
            anew the hash of its pixels, bool row by row.
        files: Name below the recipe's folder to bytes.
        errors: (item, error) for what could not be opened.
    """

    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    errors: tuple[tuple[str, ErrorRecord], ...] = ()


def carried(part: PerturbedPart, plan: Plan | None) -> Carried:
    """The masks and truths of the items of a frame.

    Args:
        part: The frame.
        plan: What was done to it; None where nothing was.
    """
    assert part.path is not None  # noqa: S101 - a frame has a file
    moving = plan if plan is not None and plan.moves else None
    carrier = _Carrier(frame_size(part.path), moving, part.index, part.twins)
    items: dict[str, Mapping[str, Any]] = {}
    files: dict[str, bytes] = {}
    errors: list[tuple[str, ErrorRecord]] = []
    for item in part.items:
        try:
            said, made = carrier.item(item)
        except AuscultError as error:
            errors.append((item.id, ErrorRecord.of(error, "read")))
            continue
        items[item.id] = said
        files |= made
    return Carried(items=items, files=files, errors=tuple(errors))


@dataclass(frozen=True, slots=True)
class _Carrier:
    """Carries masks of one frame along, or moves them."""

    size: tuple[int, int]
    plan: Plan | None
    index: int
    twins: frozenset[str]

    def item(self, item: Item) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What an item's line says of its masks, and the files for it."""
        name = tagged(safe_name(item.id), item.id) if item.id in self.twins else safe_name(item.id)
        value, mask, files = self._mask(item.mask, f"masks/{name}", redraw=item.mask.absent_ok)
        said: dict[str, Any] = {"mask": value}
        if mask is not None:
            said["mask_sha256"] = hashlib.sha256(mask.tobytes()).hexdigest()
        if item.truth is None:
            return said, files
        truth = {
            key: getattr(item.truth, key)
            for key in ("iou", "defect", "difficulty", "action")
            if getattr(item.truth, key) is not None
        }
        true = None
        if item.truth.mask is not None:
            true_value, true, made = self._mask(item.truth.mask, f"truth/{name}")
            files |= made
            truth = {"mask": true_value, **truth}
        if self.plan is not None and "iou" in truth:
            # both masks moved; what the two share is counted anew, and without the true mask it is not known
            for key in ("iou", "difficulty", "action"):
                truth.pop(key, None)
            if mask is not None and true is not None and (mask.any() or true.any()):
                truth |= _counted(item.truth.defect, iou(mask, true))
        said["truth"] = truth
        return said, files

    def _mask(self, ref: MaskRef, name: str, *, redraw: bool = False) -> tuple[Any, Mask | None, dict[str, bytes]]:
        """How a line names a mask, the mask where it was opened, and its file."""
        elsewhere = ref.segmentation is not None and ref.size not in {None, self.size}
        if self.plan is not None or ref.positive or redraw or elsewhere:
            mask = read_mask(ref, size=self.size).mask
            if self.plan is not None:
                mask = self.plan.mask(np.ascontiguousarray(mask), self.index)
            return f"{name}.png", mask, {f"{name}.png": encode_mask(mask)}
        if ref.path is None:
            return ref.segmentation, None, {}
        place = name + ref.path.suffix.lower()
        named: Any = place
        if ref.index is not None:
            named = {"path": place, "index": ref.index, "labels": ref.labels}
        elif ref.labels:
            named = {"path": place, "labels": True}
        return named, None, {place: read_bytes(ref.path)}


def _counted(defect: Defect | None, value: float) -> dict[str, Any]:
    """IoU, difficulty and action of masks that moved; without a defect the IoU alone."""
    if defect is None:
        return {"iou": value}
    found = truth_of(defect, value)
    return {key: getattr(found, key) for key in ("iou", "difficulty", "action") if getattr(found, key) is not None}


_TIMES_S: Final = np.array([1.0, 2.0])


def refuse_sound_steps(part: PerturbedPart, recipe: Recipe) -> None:
    """Insist that a recipe for a video without sound perturbs none."""
    _refuse(part, recipe, [step.name for step in recipe.steps if step.room == "sound"])


def refuse_sound_moved(part: PerturbedPart, recipe: Recipe, plan: Plan) -> None:
    """Insist that no step of timing moves the sound alone, as an offset does, where there is none to move."""
    timing = [(name, params) for name, params in plan.steps if room_of(name) == "timing" and params.strength > 0.0]
    stressors = load_stressors(name for name, _ in timing)
    moving = [name for name, params in timing if not np.array_equal(stressors[name].heard(params, _TIMES_S), _TIMES_S)]
    _refuse(part, recipe, moving)


def _refuse(part: PerturbedPart, recipe: Recipe, names: Iterable[str]) -> None:
    needing = dict.fromkeys(names)
    if not needing:
        return
    what = " and ".join(map(base_of, needing))
    rest = [step.name.rpartition(".")[0] for step in recipe.steps if step.name not in needing]
    more = f", as --kind {'+'.join(rest)}" if rest and not recipe.schedule.draws_types else ""
    raise InputError(
        f"the video has no sound, and {what} needs one: nothing was made of this file by {recipe.name}",
        expected="a video with sound",
        hint=f"leave the file out, or perturb it without {what}{more}",
        path=part.path,
    )


_MOST_HELD_BYTES: Final = 1 << 29
_LIMITS: Final = Limits(max_bytes=1 << 36)  # a file is never in memory whole, and lossless ones are large
_RATE_FPS: Final = 25.0
_TIDY_EVERY: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A video that was looked through.

    Attributes:
        path: The file.
        info: What it says of itself.
        times_s: The second at which each frame appears.
        sound: Its sound, or None.
    """

    path: Path
    info: VideoInfo
    times_s: tuple[float, ...]
    sound: Sound | None

    @property
    def fps(self) -> float:
        """Frames a second, on average."""
        if self.info.fps:
            return self.info.fps
        span = self.times_s[-1] - self.times_s[0]
        return (len(self.times_s) - 1) / span if span > 0 else _RATE_FPS


def open_film(path: Path) -> Film:
    """Look through a video."""
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


def write_perturbed(film: Film, plan: Plan, target: Path, *, quality: int, depth: Depth) -> dict[str, Any]:
    """Perturb a video into a Matroska file.

    Args:
        film: What was looked through.
        plan: What to do.
        target: The file to make.
        quality: 0 for lossless, else x264's quantiser.
        depth: Of the sound's samples.
    """
    size = (film.info.height, film.info.width)
    told: dict[str, Any] = {
        "frames": len(film.times_s),
        "size": list(size),
        "fps": film.fps,
        "coding": _coding_text(quality),
    }
    sound, clipped = None, 0
    if film.sound is not None:
        made = plan.sound(film.sound.samples, film.sound.rate_hz)
        samples, clipped = as_stored(made, depth)
        sound = Sound(samples=samples, rate_hz=film.sound.rate_hz)
    fps = Fraction(min(max(film.fps, 0.1), 1000.0)).limit_denominator(100_000)
    form = VideoForm(size=size, fps=fps, quality=quality, depth=depth)
    digest = hashlib.sha256()
    with video_file(target, form, sound=sound) as coder:
        frames = _sized(read_frames(film.path, limits=_LIMITS), size, film.path)
        for index, frame in _shown(frames, plan, len(film.times_s), path=film.path):
            coder.add(film.times_s[index], frame)
            digest.update(frame.data)
    told["sha256"] = digest.hexdigest()
    if quality != LOSSLESS:
        told |= {"rendered_sha256": told["sha256"]}
        told["sha256"], _ = frame_digest(timed.frame for timed in read_frames(target, limits=_LIMITS))
    if sound is not None:
        shape = {"rate_hz": sound.rate_hz, "channels": sound.samples.shape[0], "samples": sound.samples.shape[1]}
        told |= {"sound_sha256": sound_digest(sound.samples), **shape, "clipped": clipped, "depth": depth}
    return told


def _coding_text(quality: int) -> str:
    return "lossless" if quality == LOSSLESS else f"x264, quantiser {quality}"


def _sized(frames: Iterable[TimedFrame], size: tuple[int, int], path: Path) -> Iterator[Frame]:
    for number, timed in enumerate(frames):
        if number % _TIDY_EVERY == 0:
            gc.collect()  # the decoder's pictures are in cycles, and the collector does not know how large they are
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
    """Each place of the output with its frame, rendered for that place; kept until it was shown last."""
    numbers = [plan.frame_number(place) for place in range(count)]
    last = {number: place for place, number in enumerate(numbers)}
    held: dict[int, Frame] = {}
    place = 0
    for number, frame in enumerate(frames):
        if number in last:
            held[number] = frame
        while place < count and numbers[place] in held:
            yield place, np.ascontiguousarray(plan.frame(held[numbers[place]], place))
            if last[numbers[place]] == place:
                del held[numbers[place]]
            place += 1
        if len(held) * frame.nbytes > _MOST_HELD_BYTES:
            raise InputError("too many frames are shown long after they were", expected="512 MiB of frames", path=path)
    if place != count:
        raise InputError(f"the video ended after {place} of {count} frames", path=path)


STAGE: Final = "stress"
OUTPUTS: Final = "outputs.jsonl"


@dataclass(frozen=True, slots=True)
class PerturbTask:
    """A recipe, and the parts that it is done to together."""

    recipe: Recipe
    parts: tuple[PerturbedPart, ...]

    @property
    def key(self) -> str:
        """What the first of the parts is called in the record."""
        return done_id(self.recipe.name, self.parts[0].id)

    @property
    def size(self) -> int:
        """How many parts it is."""
        return len(self.parts)

    def split(self) -> list[PerturbTask]:
        """One part at a time."""
        return [PerturbTask(self.recipe, (part,)) for part in self.parts] if len(self.parts) > 1 else []


def done_id(recipe: str, part: str) -> str:
    """What a part under a recipe is called in the record."""
    return f"{recipe}/{part}"


def only(recipe: Recipe, part: PerturbedPart) -> Recipe:
    """The steps of a recipe that can be done to a part."""
    return replace(recipe, steps=tuple(step for step in recipe.steps if step.room in ROOMS_OF[part.kind]))


def not_done(recipe: Recipe, rooms: Collection[str]) -> list[str]:
    """The steps of a recipe that were not taken, since an input has nothing that they perturb."""
    return [step.name for step in recipe.steps if step.room not in rooms]


def output_name(recipe: Recipe, part: PerturbedPart) -> str:
    """Where the file of a part goes, relative to the output folder; empty for a sentence."""
    name = part.name if only(recipe, part).steps else part.carried
    return f"{recipe.name}/{name}" if name else ""


def part_digest(part: PerturbedPart, items: Collection[str]) -> str:
    """Hash of what a part is made from: its file, the masks and truths of its items, its sentence."""
    masks = []
    for item in part.items:
        if item.id not in items:
            continue
        refs = (item.mask, None if item.truth is None else item.truth.mask)
        masks += [[item.id, *mask_digest(ref)] for ref in refs if ref is not None]
    whole = None if part.path is None else digest_file(part.path)
    return digest_json([whole, masks, part.text, part.key, part.index, part.count])


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturber:
    """Perturbs parts; made once in each worker process.

    Attributes:
        out: The output folder.
        seed: The run's seed.
        keep: Words that sentences keep.
        keep_head: Whether they keep their head noun.
        quality: Of videos: 0 for lossless, else x264's quantiser.
        depth: Of sounds.
    """

    out: Path
    seed: int
    keep: tuple[str, ...]
    keep_head: bool
    quality: int
    depth: Depth

    def __call__(self, task: PerturbTask) -> list[Result]:
        """Perturb parts by one recipe, in their order; one that fails costs no other."""
        return [self._one(task.recipe, part) for part in task.parts]

    def _one(self, recipe: Recipe, part: PerturbedPart) -> Result:
        name = done_id(recipe.name, part.id)
        kinds: Mapping[str, Callable[[Recipe, PerturbedPart], tuple[dict[str, Any], Carried]]] = {
            "picture": self._picture,
            "frame": self._frame,
            "sound": self._sound,
            "audio": self._sound,
            "video": self._video,
            "sentence": self._sentence,
            "text": self._sentence,
        }
        try:
            told, files = kinds[part.kind](recipe, part)
            row: dict[str, Any] = {
                "id": name,
                "recipe": recipe.name,
                "part": part.id,
                "kind": part.kind,
                "key": part.key,
            }
            if part.items and not files.items:  # none of its items is left, and nothing was written
                return Result(id=name, errors=_error_rows(recipe, files))
            output = output_name(recipe, part)
            small = {f"{recipe.name}/{place}": data for place, data in files.files.items()}
            if output:
                row["output"] = output
                row["bytes"] = {output: (self.out / output).stat().st_size} | {one: len(small[one]) for one in small}
            left = [] if part.kind in OF_ITEMS else not_done(recipe, ROOMS_OF[part.kind])
            if left:
                row["not_done"] = left
            row |= {**told, "input": part_digest(part, files.items)}
            return Result(id=name, rows={OUTPUTS: [row]}, files=small, errors=_error_rows(recipe, files))
        except OutputError:
            raise
        except AuscultError as error:
            return Result(id=name, errors=failed_rows_of(recipe, part, error))

    def _plan(self, recipe: Recipe, part: PerturbedPart, **known: Any) -> Plan:
        return planned(only(recipe, part), seed=self.seed, key=part.key, **known)

    def _picture(self, recipe: Recipe, part: PerturbedPart) -> tuple[dict[str, Any], Carried]:
        frame = read_frame(_path(part))
        return self._rendered(recipe, part, frame=frame, plan=self._frame_plan(recipe, part, frame)), Carried()

    def _frame(self, recipe: Recipe, part: PerturbedPart) -> tuple[dict[str, Any], Carried]:
        """A frame with its masks; where none of them can be read, nothing is written."""
        steps = only(recipe, part).steps
        frame = read_frame(_path(part)) if steps else None
        plan = None if frame is None else self._frame_plan(recipe, part, frame)
        masks = carried(part, plan)
        told: dict[str, Any] = {}
        if masks.items and frame is not None and plan is not None:
            told = self._rendered(recipe, part, frame=frame, plan=plan)
        elif masks.items:
            told = self._copied(recipe, part)
        return told | {"items": masks.items, "moved": plan is not None and plan.moves, "index": part.index}, masks

    def _frame_plan(self, recipe: Recipe, part: PerturbedPart, frame: Frame) -> Plan:
        height, width = frame.shape[:2]
        shot = ClipInfo(height=height, width=width, frames=part.count, rate_fps=part.rate_fps)
        return self._plan(recipe, part, shot=shot)

    def _rendered(self, recipe: Recipe, part: PerturbedPart, *, frame: Frame, plan: Plan) -> dict[str, Any]:
        made, changed = plan.frame(frame, part.index), conversions(_path(part))
        write_frame(self.out / output_name(recipe, part), made)
        digest, _ = frame_digest(iter([made]))
        told = {"sha256": digest, "size": list(frame.shape[:2]), "plan": plan.as_json()}
        return told | ({"converted": changed} if changed else {})

    def _copied(self, recipe: Recipe, part: PerturbedPart) -> dict[str, Any]:
        """Carry a file along as it is; its hash is of its bytes, since nothing was decoded."""
        data = read_bytes(_path(part))
        write_bytes(self.out / output_name(recipe, part), data)
        return {"file_sha256": hashlib.sha256(data).hexdigest(), "plan": None}

    def _sound(self, recipe: Recipe, part: PerturbedPart) -> tuple[dict[str, Any], Carried]:
        if not only(recipe, part).steps:
            return self._copied(recipe, part), Carried()
        sound = read_sound(_path(part))
        channels, count = sound.samples.shape
        take = AudioInfo(samples=count, channels=channels, rate_hz=sound.rate_hz)
        plan = self._plan(recipe, part, take=take)
        samples, clipped = as_stored(plan.sound(sound.samples, sound.rate_hz), self.depth)
        data = wav_bytes(Sound(samples=samples, rate_hz=sound.rate_hz), self.depth)
        write_bytes(self.out / output_name(recipe, part), data)
        told = {
            "sha256": sound_digest(samples),
            "rate_hz": sound.rate_hz,
            "channels": channels,
            "samples": count,
            "depth": self.depth,
            "clipped": clipped,
            "silent_s": [list(span) for span in plan.silent_s],
            "plan": plan.as_json(),
        }
        return told, Carried()

    def _video(self, recipe: Recipe, part: PerturbedPart) -> tuple[dict[str, Any], Carried]:
        film = open_film(_path(part))
        plan = self._film_plan(recipe, part, film)
        target = self.out / output_name(recipe, part)
        told = write_perturbed(film, plan, target, quality=self.quality, depth=self.depth)
        shown = plan.frames if plan.retimes else None
        told["silent_s"] = [list(span) for span in plan.silent_s]
        told["shown"] = None if shown is None else list(shown)
        told["offset_s"] = [round(one, 6) for one in plan.lag(film.times_s)]
        return told | {"moved": plan.moves, "plan": plan.as_json()}, Carried()

    def _film_plan(self, recipe: Recipe, part: PerturbedPart, film: Film) -> Plan:
        """Plan for a video."""
        frames, fps = len(film.times_s), film.fps
        take = None
        if film.sound is not None:
            channels, count = film.sound.samples.shape
            take = AudioInfo(samples=count, channels=channels, rate_hz=film.sound.rate_hz)
        else:
            refuse_sound_steps(part, recipe)
        shot = ClipInfo(height=film.info.height, width=film.info.width, frames=frames, rate_fps=fps)
        plan = self._plan(recipe, part, shot=shot, take=take, reel=TimingInfo(frames=frames, rate_fps=fps))
        if take is None:
            refuse_sound_moved(part, recipe, plan)
        return plan

    def _sentence(self, recipe: Recipe, part: PerturbedPart) -> tuple[dict[str, Any], Carried]:
        if not only(recipe, part).steps:
            raise InputError("nothing is done to this sentence")
        plan = self._plan(recipe, part, sentence=part.text, keep=self.keep, keep_head=self.keep_head)
        made = plan.sentence(part.text)
        if any(made.count(sign) > part.text.count(sign) for sign in "\n\r\0"):
            raise InputError("the perturbed sentence has a line end or NUL that was not there", expected="one line")
        words = [[one.start, one.before, one.after] for one in plan.words]
        digest = hashlib.sha256(made.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": digest, "text": made, "words": words, "plan": plan.as_json()}, Carried()


def failed_rows_of(recipe: Recipe, part: PerturbedPart, error: AuscultError | ErrorRecord) -> list[dict[str, Any]]:
    """The rows of ``errors.jsonl`` of a part that failed: one for each item that it costs, else its own."""
    record = error if isinstance(error, ErrorRecord) else ErrorRecord.of(error, STAGE)
    if record.path is None and part.path is not None:
        record = replace(record, path=str(part.path))
    names = [item.id for item in part.items] or part.costs or [part.id]
    return [error_to_json(done_id(recipe.name, name), record) for name in names]


def _error_rows(recipe: Recipe, files: Carried) -> list[dict[str, Any]]:
    return [error_to_json(done_id(recipe.name, item), error) for item, error in files.errors]


def _path(part: PerturbedPart) -> Path:
    if part.path is None:
        raise InputError(f"{part.id} has no file")
    return part.path
