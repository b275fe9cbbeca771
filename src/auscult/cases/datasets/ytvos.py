"""YouTube-VOS 2018 and 2019, and Ref-YouTube-VOS, as released.

::

    valid/JPEGImages/<video>/00000.jpg           every fifth frame of a video of 30 a second, or every frame
    valid/Annotations/<video>/00000.png          palette, index = object
    valid/meta.json                              {"videos": {<video>: {"objects": {"1": {"category", "frames"}}}}}
    meta_expressions/<split>/meta_expressions.json   {"videos": {<video>: {"expressions": {"0": {"exp", "obj_id"}},
                                                 "frames"}}}

INPUT is a split (``valid/``, with ``meta.json`` or ``meta_expressions.json`` in it) or the folder of the splits. Where
there are expressions, each is an instance; else each object is one, from its first annotated frame on. A frame without
an annotation is a moment without truth; an object that is not drawn on an annotated frame is out of the picture.

The released ``valid`` has of each object the first mask only, and its later files may draw new objects only: there a
file is truth for the objects it draws, and for no other. Expressions without ``obj_id`` (``valid`` and ``test`` of
Ref-YouTube-VOS) are left out: nothing can be scored there.

An object is ``unseen`` in ``Instance.split`` where its category stands in ``unseen_categories.txt`` (one a line, beside
``meta.json`` or in INPUT), or, without that file, in no training video of ``train/meta.json`` in INPUT or beside it. An
expression's split is that of its folder.

Sources: Xu et al. 2018 (YouTube-VOS), Seo et al. 2020 (URVOS); layout as read by wjn922/ReferFormer and
visionml/pytracking. The releases were not at hand; tests write trees of exactly this structure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.refavs import template_of
from auscult.cases.datasets.ytvos_videos import (
    FRAMES,
    MASKS,
    Categories,
    Meta,
    Sentence,
    SplitFolder,
    Told,
    Video,
    VideoObject,
    Videos,
    at,
    categories_of,
    check_inside,
    lost,
    missing,
    parts_of,
    read_sentences,
    read_things,
    splits_of,
)
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.instances import InstanceListing, untrue
from auscult.cases.listing import ListError, Listing, ListOptions, refuse_options
from auscult.cases.walk import base_folder, boundary, is_file, is_folder
from auscult.errors import ErrorRecord, InputError
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

# "annotated every five frames in a 30 fps frame rate" (Xu et al. 2018); frames are named by their number
_FPS = 30.0
_TOLERATED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoObjects:
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
    things: tuple[VideoObject, ...]
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

    def first(self, thing: VideoObject) -> str | None:
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


def clip_of(videos: Videos, name: str, *, things: Sequence[VideoObject], frames: Sequence[str] = ()) -> VideoObjects:
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
    return VideoObjects(
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVideos:
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
class _YtVosSplit:
    """A split, and what was found out about it.

    Attributes:
        part: Where it stands.
        videos: Its frames and masks.
        things: The objects of its videos.
        found: Instances.
        errors: What cannot be used.
        counts: How often something was left out, by what it is.
    """

    part: SplitFolder
    videos: Videos
    things: Mapping[str, tuple[VideoObject, ...]] = field(default_factory=dict)
    found: list[Instance] = field(default_factory=list)
    errors: list[ErrorRecord] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def objects(part: SplitFolder, *, source: Path, root: Path) -> FoundVideos:
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


def expressions(part: SplitFolder, *, root: Path) -> FoundVideos:
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


def _found(bench: _YtVosSplit, notes: Sequence[str]) -> FoundVideos:
    unopened = bench.videos.unopened()
    return FoundVideos(
        instances=tuple(bench.found),
        errors=(*bench.errors, *map(untrue, unopened.values())),
        notes=tuple(notes),
        unopened=unopened,
    )


def _bench(part: SplitFolder, root: Path) -> _YtVosSplit:
    videos = Videos(source=part.folder, frames=f"{FRAMES}/*", masks=f"{MASKS}/*", root=root)
    bench = _YtVosSplit(part=part, videos=videos)
    if part.things is not None:
        meta = read_things(part.things)
        bench.errors += meta.errors
        bench.things = {told.video: told.rows for told in meta.videos}
    return bench


def _objects(bench: _YtVosSplit, source: Path) -> list[str]:
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


def _things(bench: _YtVosSplit, clip: VideoObjects, categories: Categories) -> Iterator[Instance]:
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


def _expressions(bench: _YtVosSplit, file: Path) -> list[str]:
    """Add an instance for every expression whose object is known; what was left out."""
    meta = read_sentences(file)
    bench.errors += meta.errors
    for told in meta.videos:
        known = [one for one in told.rows if one.index is not None]
        bench.counts["untold"] += len(told.rows) - len(known)
        if known:
            bench.found += _referred(bench, replace(told, rows=tuple(known)), meta)
    where = bench.part.split or file.name
    notes = [f"{where}: {counted(len(bench.found), 'expression')}"] if bench.found else []
    if bench.counts["untold"]:
        count = counted(bench.counts["untold"], "expression")
        notes.append(f"{where}: {count} without obj_id left out: the release keeps the truth, nothing to score there")
    if bench.counts["bare"]:
        count = counted(bench.counts["bare"], "expression")
        notes.append(f"{where}: {count} of videos without annotations left out: nothing to score there")
    return notes


def _referred(bench: _YtVosSplit, told: Told[Sentence], meta: Meta[Sentence]) -> Iterator[Instance]:
    things = bench.things.get(told.video, ())
    named = tuple(
        VideoObject(index=index) for index in sorted({one.index for one in told.rows if one.index is not None})
    )
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


def _moments(clip: VideoObjects, index: int, stems: Sequence[str]) -> tuple[Moment, ...]:
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


class YtvosDataset:
    """Objects and expressions of YouTube-VOS."""

    name = "datasets.ytvos.v1"
    meta = Metadata(
        summary="YouTube-VOS and Ref-YouTube-VOS: JPEGImages/, Annotations/, meta.json or meta_expressions.json",
        goal="lists objects that appear late, seen and unseen categories, and sentences on videos",
        modality="video",
        source="Xu et al. 2018 (YouTube-VOS); Seo et al. 2020 (URVOS)",
        truth="the palette masks in Annotations/",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a split or a folder of splits; ``frames`` or ``masks`` name another layout."""
        if options.frames is not None or options.masks is not None or is_file(source / "items.jsonl"):
            return False
        return is_folder(source) and bool(parts_of(source))

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List every object of every annotated frame, as a DAVIS folder lists them, with its first expression.

        Raises:
            NothingToDo: A file that says what is there cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        items: list[Item] = []
        errors: list[ListError] = []
        notes: list[str] = []
        for part in _opened(source, options):
            if not is_folder(part.folder / MASKS):
                notes.append(f"there is no folder {MASKS} in {part.split or 'it'}")
                continue
            texts, told = _texts(part)
            listing = DAVIS.list(part.folder, replace(options, root=options.root or source))
            items += (_with_text(item, texts) for item in listing.items)
            errors += (*((None, error) for error in told), *listing.errors)
            notes += listing.notes
        return Listing(tuple(items), tuple(errors), self.name, tuple(notes))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every expression, or every object where there are no expressions.

        Raises:
            NothingToDo: A file that says what is there cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        parts = _opened(source, options)
        read = [_read(part, source=source, root=options.root) for part in parts]
        kept, twice = _unique(one for found in read for one in found.instances)
        errors = (*(error for found in read for error in found.errors), *twice)
        notes = (*_left(source, parts), *(note for found in read for note in found.notes))
        return InstanceListing(
            instances=kept,
            errors=tuple((None, error) for error in errors),
            layout=self.name,
            notes=notes,
            unopened={frame: error for found in read for frame, error in found.unopened.items()},
        )


def _opened(source: Path, options: ListOptions) -> tuple[SplitFolder, ...]:
    refuse_options(options, "frames", "masks", "images", "instances", layout="a tree of YouTube-VOS")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    parts = parts_of(source)
    for part in parts:
        for file in filter(None, (part.things, part.sentences)):
            check_inside(file, options.root or source)
        for top in (part.folder, part.folder / FRAMES, part.folder / MASKS):
            if is_folder(top) and top != source:  # a link out is told once, not once a video
                boundary(top, source=top.parent, root=options.root or source)
    return parts


def _read(part: SplitFolder, *, source: Path, root: Path | None) -> FoundVideos:
    limit = root or source
    return objects(part, source=source, root=limit) if part.sentences is None else expressions(part, root=limit)


def _left(source: Path, parts: tuple[SplitFolder, ...]) -> tuple[str, ...]:
    """Which splits of objects were not read."""
    if not parts or parts[0].sentences is not None:
        return ()
    others = [one.split for one in splits_of(source) if one.folder != parts[0].folder]
    return (f"{parts[0].split} was read; name a folder to read {', '.join(others)} instead",) if others else ()


def _texts(part: SplitFolder) -> tuple[dict[tuple[str, int], str], tuple[ErrorRecord, ...]]:
    """The first expression of every object."""
    if part.sentences is None:
        return {}, ()
    meta = read_sentences(part.sentences)
    texts: dict[tuple[str, int], str] = {}
    for told in meta.videos:
        for one in told.rows:
            if one.index is not None:
                texts.setdefault((told.video, one.index), one.text)
    return texts, meta.errors


def _with_text(item: Item, texts: Mapping[tuple[str, int], str]) -> Item:
    text = texts.get((item.clip or "", item.mask.index or 0))
    return item if text is None else replace(item, query=Query(text))


def _unique(instances: Iterator[Instance]) -> tuple[tuple[Instance, ...], tuple[ErrorRecord, ...]]:
    """Keep the first instance of every id: a video may stand in two splits."""
    first: dict[str, Instance] = {}
    errors = []
    for one in instances:
        if first.setdefault(one.id, one) is not one:
            twice = InputError(
                f"the id {shown(one.id)} is used twice; the first is kept",
                expected="ids that are unique within the INPUT",
                hint="drop one of the two",
                path=one.source,
            )
            errors.append(ErrorRecord.of(twice, "read"))
    return tuple(first.values()), tuple(errors)


DATASET = YtvosDataset()
