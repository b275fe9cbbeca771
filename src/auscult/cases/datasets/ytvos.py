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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from auscult.cases.datasets.base import Folders, ListedPart, ReferringLayout, Videos, missing, with_text
from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.refavs import template_of
from auscult.cases.datasets.ytvos_videos import (
    FRAMES,
    MASKS,
    Categories,
    Sentence,
    SplitFolder,
    VideoObject,
    VideoSentences,
    categories_of,
    parts_of,
    read_objects,
    read_sentences,
    splits_of,
)
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems
from auscult.cases.walk import is_file, is_folder
from auscult.errors import InputError
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

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
        named = set(obj.frames)
        for stem in self.stems:
            path = self.video.masks.get(stem)
            if path is None or (named and stem not in named):
                continue
            if (named and self.complete) or self._draws(path, obj.index) or self.videos.broken(path):
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
            known = path is not None and (self.complete or self._draws(path, index))
            self._refs[key] = MaskRef(path=path, index=index, absent_ok=True) if known else None
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
        others = [one.split for one in splits_of(self.source) if one.folder != self.part.folder]
        if others:
            self.notes.append(f"{self.part.split} was read; name a folder to read {', '.join(others)} instead")
        categories = categories_of(self.part, source=self.source, problems=self.problems)
        found: list[Instance] = []
        for name, objects in self.objects.items():
            clip = self._clip(name, objects)
            if clip.video.frames and not clip.video.masks:
                self.counts["bare"] += 1
            elif clip.usable and objects:
                found += self._objects_of(clip, categories)
        splits = Counter(one.split for one in found)
        self.notes.append(f"{counted(len(found), 'object')} of {counted(len({one.clip for one in found}), 'video')}")
        if categories.source:
            seen_counts = f"{splits['seen']} are of seen, {splits['unseen']} of unseen categories"
            self.notes.append(f"by {categories.source} {seen_counts}")
        else:
            self.notes.append(
                "seen and unseen categories are not told apart: no train/meta.json, no unseen_categories.txt"
            )
        self._note("bare", "video", "without annotations left out: nothing to score there")
        self._note("alone", "object", "without a mask after the first: there is nothing to score there")
        return found

    def _expressions(self, file: Path) -> list[Instance]:
        """Every expression whose object is known."""
        found: list[Instance] = []
        for entry in read_sentences(file, self.problems):
            labelled = tuple(sentence for sentence in entry.sentences if sentence.index is not None)
            self.counts["without_id"] += len(entry.sentences) - len(labelled)
            if labelled:
                found += self._referred(replace(entry, sentences=labelled), file)
        where = self.part.split or file.name
        if found:
            self.notes.append(f"{where}: {counted(len(found), 'expression')}")
        left = "left out: the release keeps the truth, nothing to score there"
        self._note("without_id", "expression", f"without obj_id {left}", lead=f"{where}: ")
        left = "without annotations left out: nothing to score there"
        self._note("bare", "expression", f"of videos {left}", lead=f"{where}: ")
        return found

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
        known = ", ".join(map(str, indices))
        unknown = InputError(
            f"obj_id {sentence.index} is no object of the video",
            expected=f"one of: {known}" if known else "an index that a mask draws",
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
