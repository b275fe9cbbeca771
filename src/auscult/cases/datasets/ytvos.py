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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.cases.datasets.base import (
    Folders,
    ListedPart,
    ReferringLayout,
    Videos,
    check_name,
    index_of,
    missing,
    with_text,
)
from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.refavs import template_of
from auscult.cases.fields import BOM, load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems
from auscult.cases.walk import is_file, is_folder, subfolders
from auscult.errors import InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoObject:
    """An object of a video: its index in the palette masks, from 1, and, where known, its category and frames."""

    index: int
    category: str = ""
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """An expression about a video, by its key there; ``index`` is None where the release keeps the object to itself."""

    id: str
    text: str
    index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoSentences:
    """The expressions about a video, and the names of its frames where the file lists them."""

    video: str
    sentences: tuple[Sentence, ...]
    frames: tuple[str, ...] = ()


def read_objects(path: Path, problems: Problems) -> dict[str, tuple[VideoObject, ...]]:
    """Read the objects of every video, by its name, from a file of at most 64 MB."""
    videos: dict[str, tuple[VideoObject, ...]] = {}
    for name, row in _videos(path, problems):
        by_index: dict[int, VideoObject] = {}
        for key, value in _entries(row, "objects", file=path, video=name, problems=problems):
            with problems.skipping(path, key=f"video {shown(name)}, object {shown(key)}"):
                obj = _video_object(key, value, indices=by_index)
                by_index[obj.index] = obj
        videos[name] = tuple(by_index[index] for index in sorted(by_index))
    return videos


def read_sentences(path: Path, problems: Problems) -> list[VideoSentences]:
    """Read the expressions of every video, from a file of at most 64 MB."""
    videos: list[VideoSentences] = []
    for name, row in _videos(path, problems):
        with problems.skipping(path, key=f"video {shown(name)}"):
            frames = _frames(row)
            sentences = []
            for key, value in _entries(row, "expressions", file=path, video=name, problems=problems):
                with problems.skipping(path, key=f"video {shown(name)}, expression {shown(key)}"):
                    sentences.append(_sentence(name, key, value))
            videos.append(VideoSentences(video=name, sentences=tuple(sentences), frames=frames))
    return videos


def _videos(path: Path, problems: Problems) -> Iterator[tuple[str, Mapping[str, Any]]]:
    data = load(path, max_bytes=MAX_FILE_BYTES)
    rows = data.get("videos") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        message = (
            "'videos' is " + fields.kind(rows) if isinstance(data, dict) else f"the file holds {fields.kind(data)}"
        )
        raise NothingToDo(message, expected='{"videos": {"<video>": {...}}}', path=path)
    good = []
    for name, row in rows.items():
        with problems.skipping(path, key=f"video {shown(name)}"):
            check_id(check_name(name))
            good.append((name, _object(row)))
    yield from good


def _entries(
    row: Mapping[str, Any], key: str, *, file: Path, video: str, problems: Problems
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = row.get(key)
    if not isinstance(rows, dict):
        error = InputError(f"{key!r} is {fields.kind(rows)}", expected=f"{key!r} is an object", hint="correct the file")
        problems.add(error, file, key=f"video {shown(video)}")
        return
    for name, value in rows.items():
        with problems.skipping(file, key=f"video {shown(video)}, {key} {shown(name)}"):
            yield name, _object(value)


def _object(row: object) -> Mapping[str, Any]:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object", hint="correct or drop the entry")
    return row


def _video_object(key: str, row: Mapping[str, Any], *, indices: Collection[int]) -> VideoObject:
    index = index_of(key)
    if index in indices:
        raise InputError(f"the object {index} is there twice", expected="one entry an object", hint="drop one of them")
    return VideoObject(index=index, category=(fields.text(row, "category") or "").strip(), frames=_frames(row))


def _sentence(video: str, key: str, row: Mapping[str, Any]) -> Sentence:
    text = fields.required(row, "exp").strip()
    if not text:
        raise InputError("'exp' is empty", expected="'exp' is a sentence", hint="correct or drop the entry")
    check_id(f"{video}/{check_name(key)}")
    index = row.get("obj_id")
    return Sentence(id=key, text=text, index=None if index is None else index_of(index))


def _frames(row: Mapping[str, Any]) -> tuple[str, ...]:
    value = row.get("frames")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise fields.wrong("frames", value, "a list of names")
    return tuple(dict.fromkeys(check_name(name) for name in value))


FRAMES, MASKS = "JPEGImages", "Annotations"
META = "meta.json"
SENTENCES = "meta_expressions.json"
UNSEEN = "unseen_categories.txt"

_EXPRESSIONS = "meta_expressions"
_TRAIN = "train"
_SPLITS = ("valid", "val", "test", _TRAIN)
_OTHER = {"val": "valid", "valid": "val"}
_MAX_LIST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFolder:
    """A split: a folder with ``JPEGImages/``, its name or nothing, ``meta.json`` and ``meta_expressions.json``."""

    folder: Path
    split: str
    objects: Path | None = None
    sentences: Path | None = None


def parts_of(source: Path) -> tuple[SplitFolder, ...]:
    """The splits of a tree; none where it is no YouTube-VOS.

    A folder with ``JPEGImages/`` is one split. Of a folder of splits, all with expressions, or the first with objects:
    ``valid``, ``val``, ``test``, ``train``, then others by name.
    """
    if is_folder(source / FRAMES):
        return _own_split(source)
    splits = tuple(
        part for folder in subfolders(source / _EXPRESSIONS) if (part := _sentence_split(source, folder)) is not None
    )
    return splits or splits_of(source)[:1]


def splits_of(source: Path) -> tuple[SplitFolder, ...]:
    """The folders of a tree that have frames and ``meta.json``, the one to test on first."""
    folders = [folder for folder in subfolders(source) if is_folder(folder / FRAMES) and is_file(folder / META)]
    order = {name: index for index, name in enumerate(_SPLITS)}
    folders.sort(key=lambda folder: order.get(folder.name, len(order)))
    return tuple(SplitFolder(folder=folder, split=folder.name, objects=folder / META) for folder in folders)


def _own_split(source: Path) -> tuple[SplitFolder, ...]:
    objects = source / META if is_file(source / META) else None
    name = source.resolve().name
    split = name if name in _SPLITS else ""
    folder = source / _EXPRESSIONS
    for file in (source / SENTENCES, folder / SENTENCES):
        if is_file(file):
            return (SplitFolder(folder=source, split=split, objects=objects, sentences=file),)
    inner = [path for path in subfolders(folder) if is_file(path / SENTENCES)]
    if inner:
        return tuple(
            SplitFolder(folder=source, split=path.name, objects=objects, sentences=path / SENTENCES) for path in inner
        )
    return () if objects is None else (SplitFolder(folder=source, split=split, objects=objects),)


def _sentence_split(source: Path, folder: Path) -> SplitFolder | None:
    """The split of a folder of expressions; ``val`` of one may be called ``valid`` in the other."""
    if not is_file(folder / SENTENCES):
        return None
    for name in (folder.name, _OTHER.get(folder.name, folder.name)):
        frames = source / name
        if is_folder(frames / FRAMES):
            objects = frames / META if is_file(frames / META) else None
            return SplitFolder(folder=frames, split=folder.name, objects=objects, sentences=folder / SENTENCES)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """Categories of the training videos, or unseen ones from a list, and the source file; None where not known."""

    seen: frozenset[str] | None = None
    unseen: frozenset[str] | None = None
    source: str = ""

    def split(self, category: str) -> str:
        """``seen``, ``unseen``, or empty where it is not known."""
        if not category:
            return ""
        name = _plain(category)
        if self.unseen is not None:
            return "unseen" if name in self.unseen else "seen"
        if self.seen is None:
            return ""
        return "seen" if name in self.seen else "unseen"


def categories_of(part: SplitFolder, *, source: Path, problems: Problems) -> Categories:
    """Read which categories are seen: from a list of the unseen, else the ``meta.json`` of the training videos."""
    for folder in dict.fromkeys((part.folder, source)):
        if is_file(folder / UNSEEN):
            return _listed(folder / UNSEEN, problems)
    folders = dict.fromkeys((source / _TRAIN, part.folder.absolute().parent / _TRAIN))
    train = next((path / META for path in folders if is_file(path / META)), None)
    if train is None or part.folder.resolve() == train.parent.resolve():
        return Categories()
    try:
        videos = read_objects(train, Problems())  # what is broken in it is another split's
    except NothingToDo as error:
        problems.add(error, stage="texts")
        return Categories()
    names = frozenset(_plain(obj.category) for objects in videos.values() for obj in objects if obj.category)
    return Categories(seen=names, source=f"{_TRAIN}/{META}") if names else Categories()


def _listed(path: Path, problems: Problems) -> Categories:
    try:
        data = read_bytes(path, limits=Limits(max_bytes=_MAX_LIST_BYTES)).removeprefix(BOM)
        names = frozenset(_plain(line) for line in data.decode("utf-8").splitlines() if line.strip())
    except UnicodeDecodeError:
        broken = InputError("the list is not UTF-8", expected="one category a line", hint="save it again", path=path)
        problems.add(broken, stage="texts")
        return Categories()
    except InputError as error:
        problems.add(error, stage="texts")
        return Categories()
    return Categories(unseen=names, source=UNSEEN)


def _plain(category: str) -> str:
    return category.strip().casefold().replace("_", " ")


# "annotated every five frames in a 30 fps frame rate" (Xu et al. 2018); frames are named by their number
_FPS = 30.0
_TOLERATED = 10


class _VideoObjects:
    """A video, its objects by index, and where each is seen.

    A video is complete where every named frame is annotated, so that what a file does not draw is out of the picture.
    Else a file is truth for what it draws only, as in the released ``valid``.
    """

    def __init__(self, videos: Videos, name: str, *, objects: Sequence[VideoObject], frames: Iterable[str]) -> None:
        self.videos = videos
        self.video = video = videos.video(name)
        self.objects = objects
        self.stems = [*video.frames]
        self.usable = bool(video.frames and video.masks)
        self._named = list(dict.fromkeys([*frames, *(stem for obj in objects for stem in obj.frames)]))
        self.complete = bool(video.masks) and len(missing(self._named, video.masks)) <= len(self._named) // _TOLERATED
        if not self._named:
            self.complete = video.frames.keys() <= video.masks.keys()
        self._refs: dict[tuple[str, int], MaskRef | None] = {}

    def report_missing(self, problems: Problems) -> None:
        """Note what cannot be used or is missing: one record for frames, one for masks."""
        video, videos = self.video, self.videos
        problems.take(video.errors)
        if any(error.stage == "read" for error in video.errors):
            return  # the error is reported already
        bare = missing(self._named or video.masks, video.frames)
        if bare or not video.frames:
            path = videos.path_of(videos.frames, video.name)
            stage = "frames" if video.frames else "read"
            problems.miss(path, [f"{stem}.jpg" for stem in bare] or ["*.jpg"], noun="frame", stage=stage)
        unmasked = [f"{stem}.png" for stem in missing(self._named, video.masks) if stem in video.frames]
        if self.usable and self.complete:
            path = videos.path_of(videos.masks, video.name)
            problems.miss(path, unmasked, noun="mask", stage="truth", of=len(self._named))

    def first(self, obj: VideoObject) -> str | None:
        """The frame an object appears in: the first it names of those that are there and annotated.

        Of a mask that cannot be opened nobody can tell: it stands for the first, so that no later one passes for it.
        """
        frames = set(obj.frames)
        for stem in self.stems:
            path = self.video.masks.get(stem)
            if path is None or (frames and stem not in frames):
                continue
            if (frames and self.complete) or self._draws(path, obj.index) or self.videos.broken(path):
                return stem
        return None

    def moments(self, index: int, stems: Sequence[str]) -> tuple[Moment, ...]:
        """Frames with the masks of an object and of all others; a frame's time where its name is a number."""
        others = [obj.index for obj in self.objects if obj.index != index]
        return tuple(
            Moment(
                frame=self.video.frames[stem],
                target=self._ref(stem, index),
                others=tuple(self._ref(stem, other) for other in others),
                time_s=int(stem) / _FPS if stem.isascii() and stem.isdigit() and len(stem) <= 9 else None,
            )
            for stem in stems
        )

    def _ref(self, stem: str, index: int) -> MaskRef | None:
        key = stem, index
        if key not in self._refs:  # each object names the masks of all others
            path = self.video.masks.get(stem)
            annotated = path is not None and (self.complete or self._draws(path, index))
            self._refs[key] = MaskRef(path=path, index=index, absent_ok=True) if annotated else None
        return self._refs[key]

    def _draws(self, path: Path, index: int) -> bool:
        return index in (self.videos.drawn(path) or ())


class _YtVosSplit(ListedPart):
    """A split, and how often something of it was left out, by what it is."""

    def __init__(self, part: SplitFolder, source: Path, *, options: ListOptions, problems: Problems) -> None:
        self.part = part
        self.source = source
        self.options = options
        self.problems = problems
        self.videos: Videos = Videos(
            folders=Folders(part.folder, options.root or part.folder), frames=f"{FRAMES}/*", masks=f"{MASKS}/*"
        )
        self.counts: Counter[str] = Counter()
        self.objects: Mapping[str, tuple[VideoObject, ...]] = {}
        self.notes = []

    def items(self) -> Iterator[Item]:
        """Every object of every annotated frame, as a DAVIS folder lists them, with its first expression."""
        part = self.part
        if not is_folder(part.folder / MASKS):
            self.notes.append(f"there is no folder {MASKS} in {part.split or 'it'}")
            return iter(())
        texts = _first_texts(part, self.problems)
        listing = DAVIS.list(part.folder, self.options)
        self.problems.found += listing.errors
        self.notes += listing.notes
        return (with_text(item, texts.get((item.clip or "", item.mask.index or 0))) for item in listing.items)

    def instances(self) -> list[Instance]:
        """Every expression, or every object where there are no expressions."""
        if self.part.objects is not None:
            self.objects = read_objects(self.part.objects, self.problems)
        return self._all_objects() if self.part.sentences is None else self._expressions(self.part.sentences)

    def _all_objects(self) -> list[Instance]:
        """Every object; training videos may stand in INPUT, too."""
        others = [part.split for part in splits_of(self.source) if part.folder != self.part.folder]
        if others:
            self.notes.append(f"{self.part.split} was read; name a folder to read {', '.join(others)} instead")
        categories = categories_of(self.part, source=self.source, problems=self.problems)
        instances: list[Instance] = []
        for name, objects in self.objects.items():
            clip = self._clip(name, objects)
            if clip.video.frames and not clip.video.masks:
                self.counts["bare"] += 1
            elif clip.usable and objects:
                instances += self._objects_of(clip, categories)
        splits, videos = Counter(instance.split for instance in instances), {instance.clip for instance in instances}
        self.notes.append(f"{counted(len(instances), 'object')} of {counted(len(videos), 'video')}")
        if categories.source:
            seen_counts = f"{splits['seen']} are of seen, {splits['unseen']} of unseen categories"
            self.notes.append(f"by {categories.source} {seen_counts}")
        else:
            self.notes.append(
                "seen and unseen categories are not told apart: no train/meta.json, no unseen_categories.txt"
            )
        self._note("bare", "video", "without annotations left out: nothing to score there")
        self._note("alone", "object", "without a mask after the first: there is nothing to score there")
        return instances

    def _expressions(self, file: Path) -> list[Instance]:
        """Every expression whose object is known."""
        instances: list[Instance] = []
        for entry in read_sentences(file, self.problems):
            labelled = tuple(sentence for sentence in entry.sentences if sentence.index is not None)
            self.counts["without_id"] += len(entry.sentences) - len(labelled)
            if labelled:
                instances += self._referred(replace(entry, sentences=labelled), file)
        source = self.part.split or file.name
        if instances:
            self.notes.append(f"{source}: {counted(len(instances), 'expression')}")
        left = "left out: the release keeps the truth, nothing to score there"
        self._note("without_id", "expression", f"without obj_id {left}", lead=f"{source}: ")
        left = "without annotations left out: nothing to score there"
        self._note("bare", "expression", f"of videos {left}", lead=f"{source}: ")
        return instances

    def _note(self, key: str, noun: str, words: str, *, lead: str = "") -> None:
        if self.counts[key]:
            self.notes.append(f"{lead}{counted(self.counts[key], noun)} {words}")

    def _clip(self, name: str, objects: Sequence[VideoObject], frames: Iterable[str] = ()) -> _VideoObjects:
        clip = _VideoObjects(self.videos, name, objects=objects, frames=frames)
        clip.report_missing(self.problems)
        return clip

    def _objects_of(self, clip: _VideoObjects, categories: Categories) -> Iterator[Instance]:
        without = []
        name = clip.video.name
        for obj in clip.objects:
            first = clip.first(obj)
            if first is None:
                without.append(f"object {obj.index}")
                continue
            moments = clip.moments(obj.index, clip.stems[clip.stems.index(first) :])
            self.counts["alone"] += all(moment.target is None for moment in moments[1:])
            yield Instance(
                id=check_id(f"{name}/{obj.index}"),
                clip=name,
                query=Query(None),
                moments=moments,
                split=categories.split(obj.category),
                category=obj.category,
                others=tuple(other.category for other in clip.objects if other is not obj),
                source=self.part.objects,
            )
        self.problems.miss(self.part.folder / MASKS / name, without, noun="mask", stage="read")

    def _referred(self, entry: VideoSentences, file: Path) -> Iterator[Instance]:
        objects = self.objects.get(entry.video, ())
        indices = sorted({sentence.index for sentence in entry.sentences if sentence.index is not None})
        clip = self._clip(entry.video, objects or [VideoObject(index=index) for index in indices], entry.frames)
        if not clip.video.masks and clip.stems:
            self.counts["bare"] += len(entry.sentences)
        if not clip.usable:
            return
        listed = set(entry.frames)
        stems = [stem for stem in clip.stems if stem in listed] or clip.stems
        category = {obj.index: obj.category for obj in clip.objects}
        moments: dict[int, tuple[Moment, ...]] = {}  # of one object, however many sentences name it
        for sentence in entry.sentences:
            index = sentence.index or 0
            if (index not in category) if objects else not self.videos.holds(clip.video, index):
                self._report_unknown(entry.video, sentence, file=file, indices=sorted(category) if objects else ())
                continue
            if index not in moments:
                moments[index] = clip.moments(index, stems)
            yield Instance(
                id=check_id(f"{entry.video}/{sentence.id}"),
                clip=entry.video,
                query=Query(sentence.text),
                moments=moments[index],
                split=self.part.split,
                category=category[index],
                template=template_of(sentence.text),
                others=tuple(obj.category for obj in clip.objects if obj.index != index),
                source=file,
            )

    def _report_unknown(self, video: str, sentence: Sentence, *, file: Path, indices: Iterable[int]) -> None:
        choices = ", ".join(map(str, indices))
        unknown = InputError(
            f"obj_id {sentence.index} is no object of the video",
            expected=f"one of: {choices}" if choices else "an index that a mask draws",
            hint="correct or drop the expression",
        )
        self.problems.add(unknown, file, key=f"video {shown(video)}, expression {shown(sentence.id)}")


class YtvosDataset(ReferringLayout):
    """Objects and expressions of YouTube-VOS."""

    name = "datasets.ytvos.v1"
    meta = Metadata(
        summary="YouTube-VOS and Ref-YouTube-VOS: JPEGImages/, Annotations/, meta.json or meta_expressions.json",
        goal="lists objects that appear late, seen and unseen categories, and sentences on videos",
        modality="video",
        source="Xu et al. 2018 (YouTube-VOS); Seo et al. 2020 (URVOS)",
        truth="the palette masks in Annotations/",
    )
    described_as = "a tree of YouTube-VOS"

    def matches(self, source: Path) -> bool:
        """Whether it is a split or a folder of splits."""
        return not is_file(source / "items.jsonl") and is_folder(source) and bool(parts_of(source))

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_YtVosSplit]:
        """The splits that are read."""
        parts = parts_of(source)
        files = [file for part in parts for file in (part.objects, part.sentences) if file is not None]
        folders = [top for part in parts for top in (part.folder, part.folder / FRAMES, part.folder / MASKS)]
        base = self.check(source, options, files=files, folders=folders)
        return [_YtVosSplit(part, source, options=replace(options, root=base), problems=problems) for part in parts]


def _first_texts(part: SplitFolder, problems: Problems) -> Mapping[tuple[str, int], str]:
    """The first expression of every object, by video and index."""
    texts: dict[tuple[str, int], str] = {}
    for entry in [] if part.sentences is None else read_sentences(part.sentences, problems):
        for sentence in entry.sentences:
            if sentence.index is not None:
                texts.setdefault((entry.video, sentence.index), sentence.text)
    return texts


DATASET = YtvosDataset()
