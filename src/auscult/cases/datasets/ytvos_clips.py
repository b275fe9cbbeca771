"""Which annotation files of a YouTube-VOS video are truth for which object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from auscult.cases.datasets.ytvos_meta import Thing
from auscult.cases.datasets.ytvos_videos import Video, Videos, lost, missing
from auscult.errors import ErrorRecord
from auscult.types import MaskRef

# "annotated every five frames in a 30 fps frame rate" (Xu et al. 2018); frames are named by their number
_FPS = 30.0
_TOLERATED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A video and its objects.

    Attributes:
        video: Its files.
        things: Its objects, by index.
        complete: Whether every named frame is annotated, so that what a file does not draw is out of the picture. Else
            a file is truth for what it draws only, as in the released ``valid``.
        errors: What is missing, once for frames and once for masks.
        usable: Whether it has frames and masks.
        videos: Where the mask files are opened.
    """

    video: Video
    things: tuple[Thing, ...]
    complete: bool
    errors: tuple[ErrorRecord, ...]
    usable: bool
    videos: Videos
    _refs: dict[tuple[str, int], MaskRef | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The video's name."""
        return self.video.name

    @property
    def frames(self) -> Mapping[str, Path]:
        """Stem to picture, in order of time."""
        return self.video.frames

    @property
    def masks(self) -> Mapping[str, Path]:
        """Stem to annotation, in order of time."""
        return self.video.masks

    @property
    def stems(self) -> list[str]:
        """The frames, in order of time."""
        return list(self.video.frames)

    def ref(self, stem: str, index: int) -> MaskRef | None:
        """The true mask of an object on a frame; None where it is not known."""
        key = stem, index
        if key not in self._refs:  # each object names the masks of all others
            path = self.masks.get(stem)
            known = path is not None and (self.complete or self._draws(path, index))
            self._refs[key] = MaskRef(path=path, index=index, absent_ok=True) if known else None
        return self._refs[key]

    def first(self, thing: Thing) -> str | None:
        """The frame an object appears in: the first it names of those that are there and annotated.

        Of a mask that cannot be opened nobody can tell: it stands for the first, so that no later one passes for it.
        """
        named = set(thing.frames)
        for stem in self.stems:
            if stem not in self.masks or (named and stem not in named):
                continue
            path = self.masks[stem]
            if (named and self.complete) or self._draws(path, thing.index) or self.videos.broken(path):
                return stem
        return None

    def time_s(self, stem: str) -> float | None:
        """When a frame is shown; None where its name is no number."""
        return int(stem) / _FPS if stem.isascii() and stem.isdigit() and len(stem) <= 9 else None

    def _draws(self, path: Path, index: int) -> bool:
        return index in (self.videos.drawn(path) or ())


def clip_of(videos: Videos, name: str, *, things: Sequence[Thing], frames: Sequence[str] = ()) -> Clip:
    """Look up a video.

    Args:
        videos: The folders.
        name: The video's name.
        things: Its objects.
        frames: The frames that are named of it, beside those of its objects.
    """
    video = videos.video(name)
    named = list(dict.fromkeys([*frames, *(stem for thing in things for stem in thing.frames)]))
    complete = bool(video.masks) and len(missing(named, video.masks)) <= len(named) // _TOLERATED
    if not named:
        complete = video.frames.keys() <= video.masks.keys()
    return Clip(
        video=video,
        things=tuple(things),
        complete=complete,
        errors=_errors(videos, video, named, complete=complete),
        usable=bool(video.frames and video.masks),
        videos=videos,
    )


def _errors(videos: Videos, video: Video, named: Sequence[str], *, complete: bool) -> tuple[ErrorRecord, ...]:
    if any(error.stage == "read" for error in video.errors):
        return video.errors  # it is said already why there is nothing
    errors = list(video.errors)
    wanted = named or list(video.masks)
    bare = missing(wanted, video.frames)
    if bare or not video.frames:
        path = videos.place(videos.frames, video.name)
        stage = "frames" if video.frames else "read"
        errors.append(lost(path, [f"{stem}.jpg" for stem in bare] or ["*.jpg"], noun="frame", stage=stage))
    unmasked = [stem for stem in missing(named, video.masks) if stem in video.frames]
    if video.frames and video.masks and complete and unmasked:
        path = videos.place(videos.masks, video.name)
        errors.append(lost(path, [f"{stem}.png" for stem in unmasked], noun="mask", stage="truth", of=len(named)))
    return tuple(errors)
