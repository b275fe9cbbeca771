"""What a worker process of ``auscult stress vision|sound|sentences|timing|recipe`` does: one part by one recipe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from auscult.errors import AuscultError, ErrorRecord, InputError, OutputError
from auscult.jobs.perturb_coding import conversions, frame_digest, sound_digest
from auscult.jobs.perturb_masks import Carried, carried
from auscult.jobs.perturb_parts import OF_ITEMS, ROOMS_OF, Part
from auscult.jobs.perturb_soundless import refuse_sound_moved, refuse_sound_steps
from auscult.jobs.perturb_video import Film, open_film, write_perturbed
from auscult.media.frames import read_frame, write_frame
from auscult.media.paths import read_bytes, write_bytes
from auscult.media.sound import read_sound
from auscult.media.wav import Depth, Sound, as_stored, wav_bytes
from auscult.record.digest import digest_file, digest_json
from auscult.record.schema import error_to_json
from auscult.stress.recipe import Plan, Recipe, planned
from auscult.stress.sound import Take
from auscult.stress.timing.base import Reel
from auscult.stress.vision import Shot
from auscult.types import Frame

Task: TypeAlias = tuple[Recipe, tuple[Part, ...]]

STAGE: Final = "stress"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one part came to under one recipe.

    Attributes:
        id: ``recipe/part``.
        row: Its line of ``outputs.jsonl``, or None where it failed.
        files: Small files of it, masks: name to bytes, relative to the output folder.
        errors: Rows of ``errors.jsonl``.
    """

    id: str
    row: Mapping[str, Any] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    errors: Sequence[Mapping[str, Any]] = ()


def done_id(recipe: str, part: str) -> str:
    """What a part under a recipe is called in the record."""
    return f"{recipe}/{part}"


def only(recipe: Recipe, part: Part) -> Recipe:
    """The steps of a recipe that can be done to a part."""
    return replace(recipe, steps=tuple(step for step in recipe.steps if step.room in ROOMS_OF[part.kind]))


def not_done(recipe: Recipe, rooms: Collection[str]) -> list[str]:
    """The steps of a recipe that were not taken, since an input has nothing that they perturb."""
    return [step.name for step in recipe.steps if step.room not in rooms]


def output_name(recipe: Recipe, part: Part) -> str:
    """Where the file of a part goes, relative to the output folder; empty for a sentence."""
    name = part.name if only(recipe, part).steps else part.carried
    return f"{recipe.name}/{name}" if name else ""


def part_digest(part: Part, items: Collection[str]) -> str:
    """Hash of what a part is made from: its file, the masks and truths of its items, its sentence.

    Args:
        part: The part.
        items: Ids of those of its items that count: a mask that cannot be read costs its own item alone.

    Raises:
        InputError: A file cannot be read.
    """
    masks = []
    for item in part.items:
        if item.id not in items:
            continue
        for ref in (item.mask, None if item.truth is None else item.truth.mask):
            if ref is not None:
                content = digest_json(ref.segmentation) if ref.path is None else digest_file(ref.path)
                masks.append([item.id, content, ref.index, ref.labels])
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

    def __call__(self, task: Task) -> list[Done]:
        """Perturb parts by one recipe, in their order; one that fails costs no other."""
        recipe, parts = task
        return [self._one(recipe, part) for part in parts]

    def _one(self, recipe: Recipe, part: Part) -> Done:
        name = done_id(recipe.name, part.id)
        kinds: Mapping[str, Callable[[Recipe, Part], tuple[dict[str, Any], Carried]]] = {
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
                return Done(id=name, errors=_told(recipe, files))
            output = output_name(recipe, part)
            small = {f"{recipe.name}/{place}": data for place, data in files.files.items()}
            if output:
                row["output"] = output
                row["bytes"] = {output: (self.out / output).stat().st_size} | {one: len(small[one]) for one in small}
            left = [] if part.kind in OF_ITEMS else not_done(recipe, ROOMS_OF[part.kind])
            if left:
                row["not_done"] = left
            return Done(
                id=name,
                row={**row, **told, "input": part_digest(part, files.items)},
                files=small,
                errors=_told(recipe, files),
            )
        except OutputError:
            raise
        except AuscultError as error:
            return Done(id=name, errors=failed_rows_of(recipe, part, error))

    def _plan(self, recipe: Recipe, part: Part, **known: Any) -> Plan:
        return planned(only(recipe, part), seed=self.seed, key=part.key, **known)

    def _picture(self, recipe: Recipe, part: Part) -> tuple[dict[str, Any], Carried]:
        frame = read_frame(_path(part))
        return self._rendered(recipe, part, frame=frame, plan=self._frame_plan(recipe, part, frame)), Carried()

    def _frame(self, recipe: Recipe, part: Part) -> tuple[dict[str, Any], Carried]:
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

    def _frame_plan(self, recipe: Recipe, part: Part, frame: Frame) -> Plan:
        height, width = frame.shape[:2]
        shot = Shot(height=height, width=width, frames=part.count, rate_fps=part.rate_fps)
        return self._plan(recipe, part, shot=shot)

    def _rendered(self, recipe: Recipe, part: Part, *, frame: Frame, plan: Plan) -> dict[str, Any]:
        made, changed = plan.frame(frame, part.index), conversions(_path(part))
        write_frame(self.out / output_name(recipe, part), made)
        digest, _ = frame_digest(iter([made]))
        told = {"sha256": digest, "size": list(frame.shape[:2]), "plan": plan.as_json()}
        return told | ({"converted": changed} if changed else {})

    def _copied(self, recipe: Recipe, part: Part) -> dict[str, Any]:
        """Carry a file along as it is; its hash is of its bytes, since nothing was decoded."""
        data = read_bytes(_path(part))
        write_bytes(self.out / output_name(recipe, part), data)
        return {"file_sha256": hashlib.sha256(data).hexdigest(), "plan": None}

    def _sound(self, recipe: Recipe, part: Part) -> tuple[dict[str, Any], Carried]:
        if not only(recipe, part).steps:
            return self._copied(recipe, part), Carried()
        sound = read_sound(_path(part))
        channels, count = sound.samples.shape
        take = Take(samples=count, channels=channels, rate_hz=sound.rate_hz)
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

    def _video(self, recipe: Recipe, part: Part) -> tuple[dict[str, Any], Carried]:
        film = open_film(_path(part))
        plan = self._film_plan(recipe, part, film)
        target = self.out / output_name(recipe, part)
        told = write_perturbed(film, plan, target, quality=self.quality, depth=self.depth)
        shown = plan.frames if plan.retimes else None
        told["silent_s"] = [list(span) for span in plan.silent_s]
        told["shown"] = None if shown is None else list(shown)
        told["offset_s"] = [round(one, 6) for one in plan.lag(film.times_s)]
        return told | {"moved": plan.moves, "plan": plan.as_json()}, Carried()

    def _film_plan(self, recipe: Recipe, part: Part, film: Film) -> Plan:
        """Plan for a video.

        Raises:
            InputError: It has no sound, and a step needs one.
        """
        frames, fps = len(film.times_s), film.fps
        take = None
        if film.sound is not None:
            channels, count = film.sound.samples.shape
            take = Take(samples=count, channels=channels, rate_hz=film.sound.rate_hz)
        else:
            refuse_sound_steps(part, recipe)
        shot = Shot(height=film.info.height, width=film.info.width, frames=frames, rate_fps=fps)
        plan = self._plan(recipe, part, shot=shot, take=take, reel=Reel(frames=frames, rate_fps=fps))
        if take is None:
            refuse_sound_moved(part, recipe, plan)
        return plan

    def _sentence(self, recipe: Recipe, part: Part) -> tuple[dict[str, Any], Carried]:
        if not only(recipe, part).steps:
            raise InputError("nothing is done to this sentence")
        plan = self._plan(recipe, part, sentence=part.text, keep=self.keep, keep_head=self.keep_head)
        made = plan.sentence(part.text)
        if any(made.count(sign) > part.text.count(sign) for sign in "\n\r\0"):
            raise InputError("the perturbed sentence has a line end or NUL that was not there", expected="one line")
        words = [[one.start, one.before, one.after] for one in plan.words]
        digest = hashlib.sha256(made.encode("utf-8", "surrogatepass")).hexdigest()
        return {"sha256": digest, "text": made, "words": words, "plan": plan.as_json()}, Carried()


def make_perturber(
    out: Path, *, seed: int, keep: tuple[str, ...], keep_head: bool, quality: int, depth: Depth
) -> Perturber:
    """Make the worker's function; module-level, so that a child process can be told to call it."""
    return Perturber(out=out, seed=seed, keep=keep, keep_head=keep_head, quality=quality, depth=depth)


def failed_rows_of(recipe: Recipe, part: Part, error: AuscultError | ErrorRecord) -> list[dict[str, Any]]:
    """The rows of ``errors.jsonl`` of a part that failed: one for each item that it costs, else its own."""
    record = error if isinstance(error, ErrorRecord) else ErrorRecord.of(error, STAGE)
    if record.path is None and part.path is not None:
        record = replace(record, path=str(part.path))
    names = [item.id for item in part.items] or part.costs or [part.id]
    return [error_to_json(done_id(recipe.name, name), record) for name in names]


def _told(recipe: Recipe, files: Carried) -> list[dict[str, Any]]:
    return [error_to_json(done_id(recipe.name, item), error) for item, error in files.errors]


def _path(part: Part) -> Path:
    if part.path is None:
        raise InputError(f"{part.id} has no file")
    return part.path
