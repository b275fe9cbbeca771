"""The instances of a YouTube-VOS split: its objects, or the expressions that refer to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases.datasets.refavs_table import template_of
from auscult.cases.datasets.ytvos_clips import Clip, clip_of
from auscult.cases.datasets.ytvos_meta import Meta, Sentence, Thing, Told, read_sentences, read_things
from auscult.cases.datasets.ytvos_parts import FRAMES, MASKS, Categories, Part, categories_of
from auscult.cases.datasets.ytvos_videos import Videos, at, lost
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.instances import untrue
from auscult.errors import ErrorRecord, InputError
from auscult.types import Instance, Moment, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a split holds.

    Attributes:
        instances: In the order of the file.
        errors: What cannot be used.
        notes: What was left out or supposed.
        unopened: Frames whose mask file cannot be opened, to why.
    """

    instances: tuple[Instance, ...]
    errors: tuple[ErrorRecord, ...]
    notes: tuple[str, ...]
    unopened: Mapping[Path, ErrorRecord]


@dataclass(slots=True, kw_only=True)
class _Bench:
    """A split, and what was found out about it.

    Attributes:
        part: Where it stands.
        videos: Its frames and masks.
        things: The objects of its videos.
        found: Instances.
        errors: What cannot be used.
        counts: How often something was left out, by what it is.
    """

    part: Part
    videos: Videos
    things: Mapping[str, tuple[Thing, ...]] = field(default_factory=dict)
    found: list[Instance] = field(default_factory=list)
    errors: list[ErrorRecord] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def objects(part: Part, *, source: Path, root: Path) -> Found:
    """List every object.

    Args:
        part: The split.
        source: INPUT, where training videos may stand, too.
        root: Folder that links may reach.

    Raises:
        NothingToDo: ``meta.json`` cannot be read.
    """
    bench = _bench(part, root)
    notes = _objects(bench, source)
    return _found(bench, notes)


def expressions(part: Part, *, root: Path) -> Found:
    """List every expression whose object is known.

    Args:
        part: The split.
        root: Folder that links may reach.

    Raises:
        NothingToDo: ``meta_expressions.json`` or ``meta.json`` cannot be read.
    """
    bench = _bench(part, root)
    notes = [] if part.sentences is None else _expressions(bench, part.sentences)
    return _found(bench, notes)


def _found(bench: _Bench, notes: Sequence[str]) -> Found:
    unopened = bench.videos.unopened()
    return Found(
        instances=tuple(bench.found),
        errors=(*bench.errors, *map(untrue, unopened.values())),
        notes=tuple(notes),
        unopened=unopened,
    )


def _bench(part: Part, root: Path) -> _Bench:
    videos = Videos(source=part.folder, frames=f"{FRAMES}/*", masks=f"{MASKS}/*", root=root)
    bench = _Bench(part=part, videos=videos)
    if part.things is not None:
        meta = read_things(part.things)
        bench.errors += meta.errors
        bench.things = {told.video: told.rows for told in meta.videos}
    return bench


def _objects(bench: _Bench, source: Path) -> list[str]:
    """Add an instance for every object; what was left out."""
    categories = categories_of(bench.part, source=source)
    bench.errors += categories.errors
    for name, things in bench.things.items():
        clip = clip_of(bench.videos, name, things=things)
        bench.errors += clip.errors
        bench.counts["bare"] += bool(clip.frames and not clip.masks)
        if clip.usable and things:
            bench.found += _things(bench, clip, categories)
    splits = Counter(one.split for one in bench.found)
    told = [f"{counted(len(bench.found), 'object')} of {counted(len({one.clip for one in bench.found}), 'video')}"]
    if categories.source:
        told.append(f"by {categories.source} {splits['seen']} are of seen, {splits['unseen']} of unseen categories")
    else:
        told.append("seen and unseen categories are not told apart: no train/meta.json, no unseen_categories.txt")
    if bench.counts["bare"]:
        told.append(f"{counted(bench.counts['bare'], 'video')} without annotations left out: nothing to score there")
    alone = bench.counts["alone"]
    if alone:
        told.append(f"{counted(alone, 'object')} without a mask after the first: there is nothing to score there")
    return told


def _things(bench: _Bench, clip: Clip, categories: Categories) -> Iterator[Instance]:
    without = []
    for thing in clip.things:
        first = clip.first(thing)
        if first is None:
            without.append(f"object {thing.index}")
            continue
        moments = _moments(clip, thing.index, clip.stems[clip.stems.index(first) :])
        bench.counts["alone"] += all(moment.target is None for moment in moments[1:])
        yield Instance(
            id=check_id(f"{clip.name}/{thing.index}"),
            clip=clip.name,
            query=Query(None),
            moments=moments,
            split=categories.split(thing.category),
            category=thing.category,
            others=tuple(one.category for one in clip.things if one is not thing),
            source=bench.part.things,
        )
    if without:
        path = bench.part.folder / MASKS / clip.name
        bench.errors.append(lost(path, without, noun="mask", stage="read"))


def _expressions(bench: _Bench, file: Path) -> list[str]:
    """Add an instance for every expression whose object is known; what was left out."""
    meta = read_sentences(file)
    bench.errors += meta.errors
    for told in meta.videos:
        known = [one for one in told.rows if one.index is not None]
        bench.counts["untold"] += len(told.rows) - len(known)
        if known:
            bench.found += _asked(bench, replace(told, rows=tuple(known)), meta)
    where = bench.part.split or file.name
    notes = [f"{where}: {counted(len(bench.found), 'expression')}"] if bench.found else []
    if bench.counts["untold"]:
        count = counted(bench.counts["untold"], "expression")
        notes.append(f"{where}: {count} without obj_id left out: the release keeps the truth, nothing to score there")
    if bench.counts["bare"]:
        count = counted(bench.counts["bare"], "expression")
        notes.append(f"{where}: {count} of videos without annotations left out: nothing to score there")
    return notes


def _asked(bench: _Bench, told: Told[Sentence], meta: Meta[Sentence]) -> Iterator[Instance]:
    things = bench.things.get(told.video, ())
    named = tuple(Thing(index=index) for index in sorted({one.index for one in told.rows if one.index is not None}))
    clip = clip_of(bench.videos, told.video, things=things or named, frames=told.frames)
    bench.errors += clip.errors
    if not clip.masks and clip.stems:
        bench.counts["bare"] += len(told.rows)
        return
    if not clip.usable:
        return
    listed = set(told.frames)
    stems = [stem for stem in clip.stems if stem in listed] or clip.stems
    category = {thing.index: thing.category for thing in clip.things}
    moments: dict[int, tuple[Moment, ...]] = {}  # of one object, however many sentences name it
    for one in told.rows:
        index = one.index or 0
        if (index not in category) if things else not bench.videos.holds(clip.video, index):
            unknown = InputError(
                f"obj_id {index} is no object of the video",
                expected=f"one of: {', '.join(map(str, sorted(category)))}" if things else "an index that a mask draws",
                hint="correct or drop the expression",
            )
            key = f"video {shown(told.video)}, expression {shown(one.id)}"
            bench.errors.append(at(unknown, meta.file, key=key))
            continue
        if index not in moments:
            moments[index] = _moments(clip, index, stems)
        yield Instance(
            id=check_id(f"{clip.name}/{one.id}"),
            clip=clip.name,
            query=Query(one.text),
            moments=moments[index],
            split=bench.part.split,
            category=category[index],
            template=template_of(one.text),
            others=tuple(thing.category for thing in clip.things if thing.index != index),
            source=meta.file,
        )


def _moments(clip: Clip, index: int, stems: Sequence[str]) -> tuple[Moment, ...]:
    others = [thing.index for thing in clip.things if thing.index != index]
    return tuple(
        Moment(
            frame=clip.frames[stem],
            target=clip.ref(stem, index),
            others=tuple(clip.ref(stem, other) for other in others),
            time_s=clip.time_s(stem),
        )
        for stem in stems
    )
