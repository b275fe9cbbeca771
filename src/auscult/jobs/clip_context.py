"""The clip around each frame of an INPUT, for judges that look at more than one frame.

An item of a video (``clip_tracks.filmed``) is seen with the pictures of its frame's folder, where no other clip has a
frame in that folder; else with the frames of INPUT that name its clip; and with the file that its key ``video`` names
where that is all there is. A photograph is a clip of one frame.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from auscult.cases.ids import natural_key
from auscult.cases.listing import Listing
from auscult.errors import AuscultError, InputError
from auscult.jobs.clip_tracks import filmed
from auscult.media.frames import read_frame
from auscult.media.paths import inside
from auscult.media.sound import read_sound
from auscult.types import Frame, Item, Samples

MOST_FRAMES: Final = 1000
"""Frames of a clip that a judge may ask for; of a longer one, this many spread evenly, the case's frame among them."""

_VIDEO_FRAMES: Final = 64  # of a video file
_PICTURES: Final = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff"})


@dataclass(frozen=True, slots=True)
class ClipPictures:
    """A ``ClipContext`` whose frames are files, decoded when they are asked for."""

    key: str
    at: int
    frames: tuple[Path, ...]
    audio: Path | None = None

    def __len__(self) -> int:
        """How many frames there are."""
        return len(self.frames)

    def frame(self, index: int) -> Frame:
        """Decode a frame; ``InputError`` where the file cannot be read."""
        return read_frame(self.frames[index])

    def sound(self) -> tuple[Samples, int] | None:
        """The clip's samples and their rate; None where INPUT names no sound."""
        return _heard(self.audio)


@dataclass(frozen=True, slots=True)
class VideoClip:
    """A ``ClipContext`` of a video file, of which up to ``_VIDEO_FRAMES`` frames are decoded when one is asked for."""

    key: str
    video: Path
    time_s: float | None
    audio: Path | None = None

    @property
    def at(self) -> int:
        """The position of the frame whose time is nearest to the case's; the first where it has none."""
        times = [time for time, _ in _decoded(self.video)]
        return min(range(len(times)), key=lambda index: abs(times[index] - (self.time_s or 0.0)), default=0)

    def __len__(self) -> int:
        """How many frames are looked at."""
        return len(_decoded(self.video))

    def frame(self, index: int) -> Frame:
        """A frame; ``InputError`` where the file cannot be read."""
        return _decoded(self.video)[index][1]

    def sound(self) -> tuple[Samples, int] | None:
        """The samples and rate of its sound file, else of its own soundtrack; None where there is neither."""
        return _heard(self.audio) or _soundtrack(self.video)


@dataclass(frozen=True, slots=True)
class ClipIndex:
    """Where the frames of the clips of an INPUT are; picklable, since worker processes look things up in it."""

    whole: frozenset[str]  # folders all of whose pictures are of one clip
    named: Mapping[str, tuple[Path, ...]]  # frames by clip, of other clips, in order of time
    filmed: frozenset[str]  # ids of the items of a video

    @classmethod
    def of(cls, listing: Listing) -> ClipIndex:
        """Of all items of an INPUT."""
        ids = filmed(listing)
        clips = dict[str, set[str]]()
        timed = dict[str, dict[Path, float | None]]()
        for item in listing.items:
            clips.setdefault(str(item.frame.parent), set()).add(item.clip if item.id in ids and item.clip else item.id)
            if item.id in ids and item.clip is not None:
                timed.setdefault(item.clip, {}).setdefault(item.frame, item.time_s)
        whole = frozenset(folder for folder, names in clips.items() if len(names) == 1)
        mixed = {clip for clip, times in timed.items() if any(str(frame.parent) not in whole for frame in times)}
        named = {clip: _in_order(timed[clip]) for clip in mixed}
        return cls(whole, named, ids)

    def context(self, item: Item) -> ClipPictures | VideoClip:
        """The clip around an item's frame."""
        if item.id not in self.filmed or item.clip is None:
            return ClipPictures(f"{item.frame}", 0, (item.frame,), item.audio)
        folder = str(item.frame.parent)
        frames = _pictures(folder) if folder in self.whole else self.named.get(item.clip, (item.frame,))
        if len(frames) < 2 and (video := _video_of(item)) is not None:
            return VideoClip(item.clip, video, item.time_s, item.audio)
        index = frames.index(item.frame) if item.frame in frames else 0
        if len(frames) > MOST_FRAMES:
            frames, index = _thinned(frames, index)
        return ClipPictures(item.clip, index, frames, item.audio)


def _in_order(times: Mapping[Path, float | None]) -> tuple[Path, ...]:
    timed = all(time is not None for time in times.values())
    return tuple(sorted(times, key=lambda path: (times[path] or 0.0 if timed else 0.0, natural_key(path.as_posix()))))


def _thinned(frames: Sequence[Path], index: int) -> tuple[tuple[Path, ...], int]:
    indices = sorted({round(step * (len(frames) - 1) / (MOST_FRAMES - 2)) for step in range(MOST_FRAMES - 1)} | {index})
    return tuple(frames[number] for number in indices), bisect.bisect_left(indices, index)


@lru_cache(maxsize=4)
def _pictures(folder: str) -> tuple[Path, ...]:
    pictures = (path for path in Path(folder).iterdir() if path.suffix.lower() in _PICTURES)
    return tuple(sorted(pictures, key=lambda path: natural_key(path.name)))


def _video_of(item: Item) -> Path | None:
    name = item.extra.get("video")
    if not isinstance(name, str) or item.source is None:
        return None
    try:
        path = inside(item.source.parent, name)
        return path if path.is_file() else None
    except (InputError, ValueError, OSError):
        return None


@lru_cache(maxsize=1)
def _decoded(video: Path) -> tuple[tuple[float, Frame], ...]:
    from auscult.media.video import count_frames, frames_numbered

    count = count_frames(video)
    step = max(1, -(-count // _VIDEO_FRAMES))
    return tuple((picture.time_s, picture.frame) for _, picture in frames_numbered(video, range(0, count, step)))


@lru_cache(maxsize=1)
def _heard(audio: Path | None) -> tuple[Samples, int] | None:
    if audio is None:
        return None
    sound = read_sound(audio)
    return sound.samples, sound.rate_hz


@lru_cache(maxsize=1)
def _soundtrack(video: Path) -> tuple[Samples, int] | None:
    from auscult.media.sound import read_soundtrack

    try:
        sound = read_soundtrack(video)
    except AuscultError:
        return None
    return None if sound is None else (sound.samples, sound.rate_hz)
