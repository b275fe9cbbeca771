"""Which items are one object over the frames of a video: the tracks of an INPUT.

A clip counts as a video where INPUT says so: by the layout (DAVIS, Ref-AVSBench), a line of ``items.jsonl`` that names
``clip``, ``video`` or ``time_s``, a folder ``frames/<clip>/``, or the option ``--clip``. Pictures that merely stand in
one folder are photographs, and have no tracks; where their names count like the frames of a video, that is offered.

Within a clip, items belong to one track when they agree in the first of these that they have: the key ``track`` of the
line; the benchmark's own track (``mqa``); the object's index in its mask file; the id without the part that counts the
frames. Where a clip has one item a frame, they are one track. Two items of one track on one frame are candidates of
the same moment, so that track is dropped.

An item whose line names no clip gets the folder of its frame as clip, which may be a folder of photographs; and a line
may name a clip that is called like its folder. Only the line tells the two apart.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from auscult.cases.ids import NaturalKey, natural_key
from auscult.cases.listing import Listing
from auscult.cases.walk import stem
from auscult.types import Item

CLIPS = "clips.jsonl"
LEAST_FRAMES = 2

_LEAST_CONSECUTIVE = 8
_REGULAR = 0.9
"""Share of steps from one frame's number to the next that must be alike for frames to look like a video."""

_VIDEO_LAYOUTS = frozenset({"datasets.davis.v1", "datasets.refavs.v1"})
_PHOTO_LAYOUTS = frozenset({"datasets.coco.v1", "datasets.refcoco.v1"})
LOOSE = "loose"
"""The key, within `stress`, that marks an item made from a picture that is not part of a video."""

_LINES = "datasets.items.v1"
_FOLDER = "datasets.folder.v1"
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTrack:
    """One object over the frames of a video."""

    clip: str
    name: str  # unique among the clip's tracks; empty where it is the only one
    # its items by the index of the frame in ``ClipTracks.frames``, including those that failed while INPUT was listed,
    # which have no verdict
    items: Mapping[int, Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipTracks:
    """A video with its tracks."""

    clip: str
    # all its frames that have an item, and those in between whose mask is missing, in order of time
    frames: tuple[Path, ...]
    times_s: tuple[float, ...]  # their times, or empty where not all are known
    tracks: tuple[ObjectTrack, ...]


def tracks_of(listing: Listing) -> list[ClipTracks]:
    """Find the videos of an INPUT and the tracks in them."""
    clips = _by_clip(listing.items, listing.layout)
    lost = _by_clip(listing.lost, listing.layout)
    bare: dict[str | None, list[Path]] = {}
    for frame in (*listing.unmasked, *listing.bare):
        if frame.error is None:
            bare.setdefault(frame.clip, []).append(frame.frame)
    tracked = [_clip(name, items, lost=lost.get(name, ()), bare=bare.get(name, ())) for name, items in clips.items()]
    return [clip for clip in tracked if clip.tracks]


def _by_clip(items: Iterable[Item], layout: str) -> dict[str, list[Item]]:
    clips: dict[str, list[Item]] = {}
    for item in items:
        if item.clip is not None and _is_video(item, layout):
            clips.setdefault(item.clip, []).append(item)
    return clips


def filmed(listing: Listing) -> frozenset[str]:
    """Ids of the items of a video or of a benchmark's clip: those of one clip resemble one another.

    In the image protocol of a benchmark, items are single frames of a clip: they have no tracks, but share the clip.
    """
    return frozenset(
        item.id
        for item in listing.items
        if item.clip is not None and (isinstance(item.extra.get("mqa"), Mapping) or _is_video(item, listing.layout))
    )


def _is_video(item: Item, layout: str) -> bool:
    stress = item.extra.get("stress")
    if isinstance(stress, Mapping) and stress.get(LOOSE) is True:
        return False
    benchmark = item.extra.get("mqa")
    if isinstance(benchmark, Mapping) and benchmark.get("protocol") != "video":
        return False
    if layout in _VIDEO_LAYOUTS or item.time_s is not None or benchmark is not None or item.in_video:
        return True
    if layout == _LINES:
        return False
    if layout == _FOLDER:
        # the id holds the folder below frames/; pictures that stand in frames/ itself have INPUT's own name for a clip
        return item.id.startswith(f"{item.clip}/") and item.frame.parent.as_posix().endswith(f"/{item.clip}")
    return layout not in _PHOTO_LAYOUTS  # a plug-in's layout names clips on purpose


def clip_offer(listing: Listing) -> tuple[str, ...]:
    """A note that the frames of a folder may be one video, where their names count on; else nothing."""
    loose = {str(item.frame) for item in listing.items if item.clip is None or not _is_video(item, listing.layout)}
    folders: dict[str, list[str]] = {}
    for frame in loose | ({str(picture.frame) for picture in listing.bare} if loose else set()):
        folder, name = os.path.split(frame)  # a third of the time of Path's parts
        folders.setdefault(folder, []).append(stem(name))
    largest = max(folders, key=lambda folder: len(folders[folder]), default="")
    names = sorted(folders.get(largest, ()), key=natural_key)
    if not _counts_on(names):
        return ()
    summary = f"{len(names)} frames, {names[0]} to {names[-1]}, stand side by side"
    return (f"{summary}: if they are one video, --clip follows its objects through it",)


def _counts_on(names: Sequence[str]) -> bool:
    """Whether names are one text and a number that nearly always rises by the same step."""
    matches = [re.fullmatch(r"(.*?)([0-9]{1,18})", name) for name in names]
    if len(names) < _LEAST_CONSECUTIVE or not all(matches) or len({match[1] for match in matches if match}) > 1:
        return False
    numbers = [int(match[2]) for match in matches if match]
    steps = Counter(second - first for first, second in pairwise(numbers))
    return steps.most_common(1)[0][1] >= _REGULAR * (len(numbers) - 1)


def _clip(name: str, items: Sequence[Item], *, lost: Sequence[Item], bare: Sequence[Path]) -> ClipTracks:
    first: dict[Path, Item] = {}
    for item in (*items, *lost):
        first.setdefault(item.frame, item)
    times = {frame: item.time_s for frame, item in first.items()}
    distinct = {time for time in times.values() if time is not None}
    timed = len(distinct) == len(times)
    # the time of a frame that no item names is not known
    frames = sorted(times, key=lambda frame: (times[frame] or 0.0, _order(frame))) if timed else _between(times, bare)
    index_of = {frame: index for index, frame in enumerate(frames)}
    grouped = _grouped(items)
    failed = _failed(lost, items, grouped)
    tracks = []
    for key in sorted(grouped, key=natural_key):
        by_index = {index_of[item.frame]: item for item in grouped[key]}
        if len(by_index) < len(grouped[key]):
            continue  # several candidates of one moment
        by_index = {index_of[item.frame]: item for item in failed[key]} | by_index
        if len(by_index) >= LEAST_FRAMES:
            tracks.append(ObjectTrack(clip=name, name=key, items=dict(sorted(by_index.items()))))
    return ClipTracks(
        clip=name,
        frames=tuple(frames),
        times_s=tuple(times[frame] or 0.0 for frame in frames) if timed else (),
        tracks=tuple(tracks),
    )


def _order(frame: Path) -> NaturalKey:
    return natural_key(frame.as_posix())


def _between(frames: Collection[Path], bare: Iterable[Path]) -> list[Path]:
    """The frames of a clip, including those in between without a mask.

    Where masks were made for every fifth frame, say, none is missing: unless most frames with a mask are followed by
    another one, only frames with a mask count.
    """
    all_frames = sorted({*frames, *bare}, key=_order)
    indexes = [index for index, frame in enumerate(all_frames) if frame in frames]
    next_to = sum(second == first + 1 for first, second in pairwise(indexes))
    if 2 * next_to <= len(indexes) - 1:
        return [all_frames[index] for index in indexes]
    return all_frames[indexes[0] : indexes[-1] + 1]


def _failed(
    lost: Sequence[Item], items: Sequence[Item], grouped: Mapping[str, Sequence[Item]]
) -> dict[str, list[Item]]:
    """Items that failed while INPUT was listed, by track.

    Where the track is not known, as for a file of several objects, the item counts for every track.
    """
    by_track: dict[str, list[Item]] = {name: [] for name in grouped}
    patterns = _patterns((*items, *lost)) if lost else {}
    declared = {name: {_declared_track(item) for item in group} for name, group in grouped.items()}
    for item in lost:
        if track := _declared_track(item):
            tracks = [name for name, names in declared.items() if track in names]
        else:
            track_name = _name(item, patterns)
            tracks = [track_name] if track_name in grouped else list(grouped)
        for name in tracks:
            by_track[name].append(item)
    return by_track


def _grouped(items: Sequence[Item]) -> dict[str, list[Item]]:
    grouped: dict[str, list[Item]] = {}
    patterns = _patterns(items)
    for item in items:
        grouped.setdefault(_name(item, patterns), []).append(item)
    alone = len({item.frame for item in items}) == len(items)
    numbered = {name for name, group in grouped.items() if group[0].mask.index is not None}
    bare = [item for name, group in grouped.items() if name not in numbered for item in group]
    unnamed = len(grouped) == len(items) and not _names_tracks(items)
    if alone and (len(grouped) == 1 or unnamed or (len(numbered) == 1 and not _names_tracks(bare))):
        return {"": list(items)}  # a palette on which nothing is drawn belongs to the one object of its clip
    return grouped


def _names_tracks(items: Iterable[Item]) -> bool:
    return any("track" in item.extra or "mqa" in item.extra for item in items)


def _name(item: Item, patterns: Mapping[str, str]) -> str:
    if declared := _declared_track(item):
        return declared
    if item.mask.index is not None:
        return f"#{item.mask.index}"
    return patterns[item.id]


def _declared_track(item: Item) -> str:
    """The track that the item's line or its benchmark names; empty where neither does."""
    track = item.extra.get("track")
    if isinstance(track, str | int) and not isinstance(track, bool):
        return str(track)
    benchmark = item.extra.get("mqa")
    parts = [benchmark.get(key) for key in ("uid", "track")] if isinstance(benchmark, Mapping) else [None]
    return "/".join(str(part) for part in parts) if all(isinstance(part, str) and part for part in parts) else ""


def _patterns(items: Iterable[Item]) -> dict[str, str]:
    """Ids with a star in place of the frame number.

    That is the stem of the frame where the id holds it. Otherwise, or where the stem is a number, which may have other
    meanings in the id: among ids that differ in numbers only, the part whose number always equals the last number in
    the name of the frame.
    """
    patterns: dict[str, str] = {}
    shapes: dict[str, list[Item]] = {}
    for item in items:
        stem = item.frame.stem
        if stem in item.id and not stem.isdecimal():
            before, _, after = item.id.rpartition(stem)
            patterns[item.id] = f"{before}*{after}"
        else:
            shapes.setdefault(_DIGITS.sub("0", item.id), []).append(item)
    for group in shapes.values():
        index = _counter_index(group)
        for item in group:
            parts = _DIGITS.split(item.id)
            if index is not None:
                parts[index] = "*"
            patterns[item.id] = "".join(parts)
    return patterns


def _counter_index(items: Sequence[Item]) -> int | None:
    hits: Counter[int] = Counter()
    for item in items:
        numbers = _DIGITS.findall(item.frame.stem)
        if numbers:
            last = numbers[-1].lstrip("0")
            parts = _DIGITS.split(item.id)
            hits.update(index for index in range(1, len(parts), 2) if parts[index].lstrip("0") == last)
    best = max(hits.values(), default=0)
    return min(index for index in hits if hits[index] == best) if best == len(items) else None
