"""Ref-DAVIS as released, and any folder of sequences with sentences in an ``expressions.json``.

::

    DAVIS/JPEGImages/480p/<video>/00000.jpg         or <video>/frames/00000.jpg, or frames/00000.jpg for one video
    DAVIS/Annotations/480p/<video>/00000.png        or <video>/masks/00000.png, or masks/00000.png
    DAVIS/ImageSets/2017/{train,val}.txt            the split, where it is there
    davis_text_annotations/Davis17_annot1.txt       <video> <object> "<sentence>"; the folder may stand in DAVIS/
    expressions.json                                {"expressions": [{"video", "exp", "object", "referent"}]}

INPUT is a folder with ``davis_text_annotations/``, that folder, one file of it, or an ``expressions.json``. A folder
with an ``expressions.json`` stays what it is without it, a folder of objects (``datasets.davis.v1``): name the file to
ask by its sentences. Of the texts, those on DAVIS 2017 are read, four of each object; name a file to read another.

A sentence on an object has its palette index as truth, one on the ``foreground`` all that is drawn; one that refers to
nothing has no truth. The sentences of DAVIS 2017 count the objects of ``Annotations``; ``Annotations_unsupervised`` is
read where that is not there. The release was not at hand: tests write files as wjn922/ReferFormer reads them. Whether
the lines of DAVIS 2016 have an object number is not certain; both are read.

Source: Khoreva, Rohrbach, Schiele 2018 (video object segmentation with language referring expressions).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.refavs_table import template_of
from auscult.cases.datasets.refdavis_places import FOLDER, FRAMES, MASKS, Place, patterns, place_of
from auscult.cases.datasets.refdavis_sentences import FILE, Sentence, splits_in
from auscult.cases.datasets.ytvos_videos import Video, Videos, at, check_inside, lost, missing
from auscult.cases.ids import counted
from auscult.cases.instances import InstanceListing, untrue
from auscult.cases.listing import Listing, ListOptions, refuse_options
from auscult.cases.walk import base_folder, boundary, is_folder
from auscult.errors import ErrorRecord, InputError, NothingToDo
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

_POSITIVE = "positive"


@dataclass(slots=True, kw_only=True)
class _Bench:
    """The videos, and what is wrong with them, told once a video.

    Attributes:
        videos: The frames and masks.
        splits: Video to split.
        named: Video to the objects that sentences name.
        errors: What cannot be used.
    """

    videos: Videos
    splits: Mapping[str, str]
    named: Mapping[str, set[int]]
    errors: list[ErrorRecord] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _objects: dict[str, list[int] | None] = field(default_factory=dict)
    _moments: dict[tuple[str, int | None, bool], tuple[Moment, ...]] = field(default_factory=dict)

    def video(self, name: str) -> Video:
        """A video; what is missing of it is told the first time."""
        video = self.videos.video(name)
        if name not in self._told:
            self._told.add(name)
            self.errors += video.errors
            if not any(error.stage == "read" for error in video.errors):
                self.errors += self._missing(video)
        return video

    def _missing(self, video: Video) -> Iterator[ErrorRecord]:
        if not video.frames:
            yield lost(self.videos.place(self.videos.frames, video.name), ["*.jpg"], noun="frame", stage="read")
            return
        bare = [f"{stem}.png" for stem in missing(video.frames, video.masks)]
        if bare:
            stage = "truth" if video.masks else "read"
            path = self.videos.place(self.videos.masks, video.name)
            yield lost(path, bare, noun="mask", stage=stage, of=len(video.frames))

    def moments(self, row: Sentence, video: Video, others: Sequence[int | None]) -> tuple[Moment, ...]:
        """The frames of a video with the masks of an object; the same for all its sentences."""
        key = row.video, row.index, row.absent
        if key not in self._moments:
            objects = self.objects(video)
            self._moments[key] = tuple(
                Moment(
                    frame=frame,
                    target=None if row.absent else _ref(video.masks.get(stem), row.index, objects),
                    others=tuple(_ref(video.masks.get(stem), other, objects) for other in others),
                )
                for stem, frame in video.frames.items()
            )
        return self._moments[key]

    def objects(self, video: Video) -> list[int] | None:
        """The objects of a video: those of its first mask, and those that sentences name; None for files of one.

        Where the first mask cannot be opened the next one tells.
        """
        if video.name not in self._objects:
            self._objects[video.name] = self._look(video)
        return self._objects[video.name]

    def _look(self, video: Video) -> list[int] | None:
        drawn: tuple[int, ...] | None = ()
        for path in video.masks.values():
            drawn = self.videos.drawn(path)
            if not self.videos.broken(path):
                break
        if drawn is None:
            return None
        named = (index for index in self.named.get(video.name, ()) if self.videos.holds(video, index))
        return sorted({*drawn, *named})


class RefDavisDataset:
    """Sentences on DAVIS videos."""

    name = "datasets.refdavis.v1"
    meta = Metadata(
        summary="Ref-DAVIS: davis_text_annotations/ with a DAVIS tree; or an expressions.json beside sequences",
        goal="lists sentences on videos, those that refer to nothing among them",
        modality="video",
        source="Khoreva et al. 2018 (Ref-DAVIS 2016 and 2017)",
        truth="the palette masks of DAVIS, by object index",
    )

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether it is a folder of the released texts beside videos, one of its files, or an ``expressions.json``."""
        if options.frames is not None or options.masks is not None or options.images is not None:
            return False
        place = place_of(source)
        return place is not None and place.files[0] != source / FILE

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the objects of every frame, as a DAVIS folder lists them, each with its first sentence.

        Raises:
            NothingToDo: The sentences cannot be read, or there are no masks.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        place = _opened(source, options)
        read = place.read()
        listing = DAVIS.list(place.folder, replace(options, root=options.root or place.folder))
        texts: dict[tuple[str, int | None], str] = {}
        for row in read.rows:
            if not row.absent:
                texts.setdefault((row.video, row.index), row.text)
        errors = (*((None, error) for error in read.errors), *listing.errors)
        items = tuple(_with_text(item, texts) for item in listing.items)
        return Listing(items, errors, self.name, (*place.notes(), *listing.notes))

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List every sentence, in the order of the files.

        Raises:
            NothingToDo: The sentences cannot be read.
            UsageError: A folder is a link that leaves INPUT, or an option is for another layout.
        """
        place = _opened(source, options)
        read = place.read()
        named: dict[str, set[int]] = {}
        for row in read.rows:
            named.setdefault(row.video, set()).update(() if row.index is None else (row.index,))
        frames, masks = patterns(place.folder)
        videos = Videos(source=place.folder, frames=frames, masks=masks, root=options.root or place.folder)
        splits = dict(splits_in(place.folder / "ImageSets/2017"))
        bench = _Bench(videos=videos, splits=splits, named=named, errors=list(read.errors))
        rows = _of_one_video(read.rows, bench) if videos.frames == "frames" else read.rows
        found = tuple(one for row in rows if (one := _instance(row, bench)) is not None)
        notes = list(place.notes())
        if found:
            null = sum(one.absent for one in found)
            notes.append(f"{counted(len(found), 'sentence')}, {null} of them refer to nothing")
        lost_rows = len(read.rows) - len(found)
        if lost_rows:
            notes.append(f"{counted(lost_rows, 'sentence')} without frames or without the object left out")
        unopened = videos.unopened()
        errors = tuple((None, error) for error in (*bench.errors, *map(untrue, unopened.values())))
        return InstanceListing(instances=found, errors=errors, layout=self.name, notes=tuple(notes), unopened=unopened)


def _opened(source: Path, options: ListOptions) -> Place:
    refuse_options(options, "frames", "masks", "images", "instances", layout="sentences on DAVIS videos")
    base_folder(source, options.root)  # which refuses a root that does not contain it
    place = place_of(source)
    if place is None:
        raise NothingToDo(
            "there are no sentences beside videos", expected=f"{FILE}, or {FOLDER}/ and {FRAMES}/", path=source
        )
    for file in place.files if is_folder(source) else ():
        check_inside(file, options.root or source)
    for top in (FRAMES, *MASKS):
        if is_folder(place.folder / top):
            boundary(place.folder / top, source=place.folder, root=options.root)
    return place


def _of_one_video(rows: Sequence[Sentence], bench: _Bench) -> list[Sentence]:
    """The sentences on the first video named: a single sequence is one video, whatever its folder is called."""
    kept = [row for row in rows if row.video == rows[0].video]
    for row in rows:
        if row.video != rows[0].video:
            other = InputError(
                f"it is on the video {row.video}", expected=f"the one video here, {rows[0].video}", hint="drop it"
            )
            bench.errors.append(at(other, row.file, line=row.line, key=row.id))
    return kept


def _instance(row: Sentence, bench: _Bench) -> Instance | None:
    video = bench.video(row.video)
    if not video.frames or not (row.absent or video.masks):
        return None
    objects = bench.objects(video)
    if row.index is not None and row.index not in ((1,) if objects is None else objects):
        unknown = InputError(
            f"object {row.index} is in no mask of {row.video}",
            expected="an index that a mask draws",
            hint="correct or drop the sentence",
        )
        bench.errors.append(at(unknown, row.file, line=row.line, key=row.id))
        return None
    others = _others(row, objects)
    return Instance(
        id=row.id,
        clip=row.video,
        query=Query(row.text),
        moments=bench.moments(row, video, others),
        split=bench.splits.get(row.video, ""),
        template=row.kind if row.kind not in {"", _POSITIVE} else template_of(row.text),
        others=("",) * len(others),
        absent=row.absent,
        source=row.file,
        line=row.line,
    )


def _others(row: Sentence, objects: Sequence[int] | None) -> list[int | None]:
    """The objects beside; None stands for all that is drawn in files of one mask."""
    if objects is None:
        return [None] if row.absent else []
    if row.index is None and not row.absent:
        return []
    return [index for index in objects if index != row.index]


def _ref(path: Path | None, index: int | None, objects: Sequence[int] | None) -> MaskRef | None:
    if path is None:
        return None
    if index is None or objects is None:
        return MaskRef(path=path, positive=True)
    return MaskRef(path=path, index=index, absent_ok=True)


def _with_text(item: Item, texts: Mapping[tuple[str, int | None], str]) -> Item:
    clip = item.clip or ""
    text = texts.get((clip, item.mask.index)) or (texts.get((clip, 1)) if item.mask.index is None else None)
    return item if text is None else replace(item, query=Query(text))


DATASET = RefDavisDataset()
