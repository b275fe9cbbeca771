"""Which items are one object over the frames of a video: the tracks of an INPUT.

A clip is a video where something says so: the layout (DAVIS, Ref-AVSBench), a line of ``items.jsonl`` that names
``clip``, ``video`` or ``time_s``, or a folder ``frames/<clip>/``. Pictures that merely stand in one folder are
photographs, and have no tracks.

Within a clip, items belong to one track when they agree in the first of these that they have: the key ``track`` of the
line; the benchmark's own track (``mqa``); the object's index in its mask file; the id without the part that counts the
frames. Where a clip has one item a frame, they are one track. Two items of one track on one frame are candidates of
the same moment, and that track is none.

An item whose line names none has the folder of its frame for a clip, which may be a folder of photographs; and a line
may name a clip that is called like its folder. The line alone tells the two apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from auscult.cases.ids import NaturalKey, natural_key
from auscult.cases.listing import Listing
from auscult.types import Item

LEAST_FRAMES = 2

_VIDEO_LAYOUTS = frozenset({"datasets.davis.v1", "datasets.refavs.v1"})
_PHOTO_LAYOUTS = frozenset({"datasets.coco.v1", "datasets.refcoco.v1"})
LOOSE = "loose"
"""The key, within `stress`, of an item that was made of a picture of no video."""

_LINES = "datasets.items.v1"
_FOLDER = "datasets.folder.v1"
_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectTrack:
    """One object over the frames of a video."""

    clip: str
    name: str  # what tells it from the clip's other tracks; empty where it is the only one
    # its items by the number of the frame in ``ClipTracks.frames``, those among them that failed already while INPUT
    # was listed; these have no verdict
    places: Mapping[int, Item]


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
    for one in (*listing.unmasked, *listing.bare):
        if one.error is None:
            bare.setdefault(one.clip, []).append(one.frame)
    found = [_clip(name, items, lost=lost.get(name, ()), bare=bare.get(name, ())) for name, items in clips.items()]
    return [clip for clip in found if clip.tracks]


def _by_clip(items: Iterable[Item], layout: str) -> dict[str, list[Item]]:
    clips: dict[str, list[Item]] = {}
    for item in items:
        if item.clip is not None and _is_video(item, layout):
            clips.setdefault(item.clip, []).append(item)
    return clips


def filmed(listing: Listing) -> frozenset[str]:
    """Ids of the items that are of a film or of a clip of a benchmark: those of one clip resemble one another.

    In the image protocol of a benchmark a clip gives single frames. They have no tracks, and are of one clip all the
    same.
    """
    return frozenset(
        item.id
        for item in listing.items
        if item.clip is not None and (isinstance(item.extra.get("mqa"), Mapping) or _is_video(item, listing.layout))
    )


def _is_video(item: Item, layout: str) -> bool:
    made = item.extra.get("stress")
    if isinstance(made, Mapping) and made.get(LOOSE) is True:
        return False
    place = item.extra.get("mqa")
    if isinstance(place, Mapping) and place.get("protocol") != "video":
        return False
    if layout in _VIDEO_LAYOUTS or item.time_s is not None or place is not None:
        return True
    if layout == _LINES:
        return item.in_video
    if layout == _FOLDER:
        # the id holds the folder below frames/; pictures that stand in frames/ itself have INPUT's own name for a clip
        return item.frame.parent.as_posix().endswith(f"/{item.clip}") and item.id.startswith(f"{item.clip}/")
    return layout not in _PHOTO_LAYOUTS  # a plug-in's layout names clips on purpose


def _clip(name: str, items: Sequence[Item], *, lost: Sequence[Item], bare: Sequence[Path]) -> ClipTracks:
    first: dict[Path, Item] = {}
    for item in (*items, *lost):
        first.setdefault(item.frame, item)
    times = {frame: item.time_s for frame, item in first.items()}
    told = {time for time in times.values() if time is not None}
    timed = len(told) == len(times)
    # of a frame that nobody names no time is known
    frames = sorted(times, key=lambda frame: (times[frame] or 0.0, _order(frame))) if timed else _between(times, bare)
    number = {frame: place for place, frame in enumerate(frames)}
    grouped = _grouped(items)
    failed = _failed(lost, items, grouped)
    tracks = []
    for key in sorted(grouped, key=natural_key):
        places = {number[item.frame]: item for item in grouped[key]}
        if len(places) < len(grouped[key]):
            continue  # several candidates of one moment
        places = {number[item.frame]: item for item in failed[key]} | places
        if len(places) >= LEAST_FRAMES:
            tracks.append(ObjectTrack(clip=name, name=key, places=dict(sorted(places.items()))))
    return ClipTracks(
        clip=name,
        frames=tuple(frames),
        times_s=tuple(times[frame] or 0.0 for frame in frames) if timed else (),
        tracks=tuple(tracks),
    )


def _order(frame: Path) -> NaturalKey:
    return natural_key(frame.as_posix())


def _between(frames: Collection[Path], bare: Iterable[Path]) -> list[Path]:
    """The frames of a clip with those in between that have no mask.

    Where masks were made of every fifth frame, say, none is missing: unless most steps from a frame with a mask lead to
    the very next frame, the clip is the frames that have one.
    """
    every = sorted({*frames, *bare}, key=_order)
    places = [place for place, frame in enumerate(every) if frame in frames]
    next_to = sum(second == first + 1 for first, second in pairwise(places))
    if 2 * next_to <= len(places) - 1:
        return [every[place] for place in places]
    return every[places[0] : places[-1] + 1]


def _failed(
    lost: Sequence[Item], items: Sequence[Item], grouped: Mapping[str, Sequence[Item]]
) -> dict[str, list[Item]]:
    """What failed while INPUT was listed, by track.

    Where nothing says whose it is, as for a file of several objects, it counts for every track.
    """
    found: dict[str, list[Item]] = {name: [] for name in grouped}
    patterns = _patterns((*items, *lost)) if lost else {}
    told = {name: {_told(item) for item in group} for name, group in grouped.items()}
    for one in lost:
        if _told(one):
            own = [name for name, names in told.items() if _told(one) in names]
        else:
            named = _name(one, patterns)
            own = [named] if named in grouped else list(grouped)
        for name in own:
            found[name].append(one)
    return found


def _grouped(items: Sequence[Item]) -> dict[str, list[Item]]:
    grouped: dict[str, list[Item]] = {}
    patterns = _patterns(items)
    for item in items:
        grouped.setdefault(_name(item, patterns), []).append(item)
    alone = len({item.frame for item in items}) == len(items)
    numbered = {name for name, group in grouped.items() if group[0].mask.index is not None}
    bare = [item for name, group in grouped.items() if name not in numbered for item in group]
    untold = len(grouped) == len(items) and not _names_tracks(items)
    if alone and (len(grouped) == 1 or untold or (len(numbered) == 1 and not _names_tracks(bare))):
        return {"": list(items)}  # a palette on which nothing is drawn belongs to the one object of its clip
    return grouped


def _names_tracks(items: Iterable[Item]) -> bool:
    return any("track" in item.extra or "mqa" in item.extra for item in items)


def _name(item: Item, patterns: Mapping[str, str]) -> str:
    if told := _told(item):
        return told
    if item.mask.index is not None:
        return f"#{item.mask.index}"
    return patterns[item.id]


def _told(item: Item) -> str:
    """The track that the item's line or its benchmark names; empty where neither does."""
    told = item.extra.get("track")
    if isinstance(told, str | int) and not isinstance(told, bool):
        return str(told)
    place = item.extra.get("mqa")
    parts = [place.get(key) for key in ("uid", "track")] if isinstance(place, Mapping) else [None]
    return "/".join(str(part) for part in parts) if all(isinstance(part, str) and part for part in parts) else ""


def _patterns(items: Iterable[Item]) -> dict[str, str]:
    """Ids with a star for what counts the frames.

    That is the stem of the frame where the id holds it. Where it does not, or where the stem is a number, which may
    stand in the id for other things too, it is among ids that differ in numbers only the place whose number always is
    the last one in the name of the frame.
    """
    found: dict[str, str] = {}
    shapes: dict[str, list[Item]] = {}
    for item in items:
        stem = item.frame.stem
        if stem in item.id and not stem.isdecimal():
            before, _, after = item.id.rpartition(stem)
            found[item.id] = f"{before}*{after}"
        else:
            shapes.setdefault(_DIGITS.sub("0", item.id), []).append(item)
    for alike in shapes.values():
        place = _counting_place(alike)
        for item in alike:
            parts = _DIGITS.split(item.id)
            if place is not None:
                parts[place] = "*"
            found[item.id] = "".join(parts)
    return found


def _counting_place(items: Sequence[Item]) -> int | None:
    hits: Counter[int] = Counter()
    for item in items:
        numbers = _DIGITS.findall(item.frame.stem)
        if numbers:
            last = numbers[-1].lstrip("0")
            parts = _DIGITS.split(item.id)
            hits.update(place for place in range(1, len(parts), 2) if parts[place].lstrip("0") == last)
    best = max(hits.values(), default=0)
    return min(place for place in hits if hits[place] == best) if best == len(items) else None
