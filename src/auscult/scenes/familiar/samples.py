"""A sample by its number: the true answer is dealt first, then a sample is drawn that it is true of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from auscult.cases.layouts.avi_prompts import prompt_of
from auscult.cases.layouts.avibench import AviEntry, entry_json, media_name, task_folder
from auscult.media.wav import encode_wav
from auscult.record import codec
from auscult.rng import generator
from auscult.scenes.dealing import dealt
from auscult.scenes.familiar.base import FPS, Drawn, FamiliarKind, Source
from auscult.scenes.familiar.material import Material
from auscult.scenes.familiar.worlds import RATE_HZ, World


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FamiliarSample:
    """A sample with its files, by name in the output folder, and what an observer needs to check it."""

    entry: AviEntry
    files: Mapping[str, bytes]
    proof: Mapping[str, Any]


def true_answer(kind: FamiliarKind, index: int, *, seed: int, world: World) -> str:
    """What is dealt to a sample: its answer, of photographs with boxes which one; "" where nothing is."""
    answers = _DEALT[kind.source](world.material) if kind.source in _DEALT else kind.answers
    return dealt(answers, index, seed=seed, key=("avi", kind.name, "answers")) if answers else ""


_DEALT: Final[Mapping[Source, Callable[[Material], tuple[str, ...]]]] = {
    "photographs": lambda material: tuple(map(str, range(len(material.photographs)))),
    "sounding photographs": lambda material: tuple(map(str, range(len(material.sounding)))),
}


def sample_id(kind: FamiliarKind, index: int) -> str:
    """The id of a sample by its number."""
    return f"{kind.name}_{index:05d}"


def draw(kind: FamiliarKind, index: int, *, seed: int, world: World) -> Drawn:
    """What a sample shows, plays and asks."""
    return kind.draw(generator(seed, "avi", kind.name, index), world, true_answer(kind, index, seed=seed, world=world))


def sample(kind: FamiliarKind, index: int, *, seed: int, world: World) -> FamiliarSample:
    """A sample of a type by its number, from 0."""
    drawn, name = draw(kind, index, seed=seed, world=world), sample_id(kind, index)
    images = {
        media_name("images", _numbered(name, at, drawn.images) + one[0]): one[1] for at, one in enumerate(drawn.images)
    }
    sounds = {
        media_name("wavs", f"{_numbered(name, at, drawn.sounds)}.wav"): encode_wav(one, RATE_HZ)
        for at, one in enumerate(drawn.sounds)
    }
    videos = _video(drawn, media_name("videos", f"{name}.mp4"))
    entry = AviEntry(
        id=name,
        folder=kind.folder,
        subtask=kind.name,
        prompt=prompt_of(kind.folder, drawn.options),
        text=drawn.text,
        options=drawn.options,
        answer=drawn.truth,
        images=tuple(images),
        sounds=tuple(sounds),
        video=next(iter(videos), None),
    )
    home = task_folder(kind.stage, kind.folder)
    files = {f"{home}/{file}": data for file, data in {**images, **sounds, **videos}.items()}
    return FamiliarSample(entry=entry, files=files, proof=drawn.proof)


def sample_row(made: FamiliarSample) -> dict[str, Any]:
    """A sample as a line of ``samples.jsonl``."""
    return {"id": made.entry.id, "entry": entry_json(made.entry), "proof": codec.to_json(made.proof)}


def _numbered(name: str, at: int, every: tuple[object, ...]) -> str:
    return name if len(every) == 1 else f"{name}_{at:02d}"


def _video(drawn: Drawn, file: str) -> dict[str, bytes]:
    if drawn.frames is None:
        return {}
    from auscult.media.video_write import encode_video

    return {file: encode_video(drawn.frames, fps=FPS, samples=drawn.sounds[0], rate_hz=RATE_HZ)}
