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

A line of ``davis_text_annotations/Davis17_annot1.txt`` is ``<video> <object> "<sentence>"``; some files are UTF-8, some
Latin-1, so that each line is decoded by itself. Three videos are misspelt in them, which is put right. In
``Davis16_annot*.txt`` the object is the whole foreground, and its number may be left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from auscult.cases import fields
from auscult.cases.datasets.base import (
    Folders,
    ListedPart,
    ReferringLayout,
    Video,
    Videos,
    check_name,
    file_names,
    index_of,
    missing,
    with_text,
)
from auscult.cases.datasets.davis import DATASET as DAVIS
from auscult.cases.datasets.davis import RESOLUTIONS, is_sequence
from auscult.cases.datasets.refavs import template_of
from auscult.cases.fields import BOM, load
from auscult.cases.ids import check_id, counted, shown
from auscult.cases.listing import ListOptions
from auscult.cases.problems import Problems, required_file
from auscult.cases.walk import is_file, is_folder, subfolders
from auscult.errors import InputError, NothingToDo
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.types import Instance, Item, MaskRef, Metadata, Moment, Query

FOREGROUND: Final = "foreground"
NULL: Final = "null"
FILE: Final = "expressions.json"
TEXTS: Final = re.compile(r"^Davis(16|17)_(annot[0-9]{1,2}(?:_full_video)?)\.txt$")

_MAX_BYTES = 16 * 1024 * 1024
_MAX_LINE = 4096
_HINT = "correct or drop it"
_LINE = re.compile(r"^(\S+)\s+([0-9]{1,3})\s+(\S.*)$")
_UNNUMBERED = re.compile(r"^(\S+)\s+(?:[0-9]{1,3}\s+)?(\S.*)$")
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_MISSPELT = {"clasic-car": "classic-car", "dog-scale": "dogs-scale", "motor-bike": "motorbike"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DavisSentence:
    """A sentence about a video, its id ``<video>/<object>/<annotator or number>`` unique in its file.

    ``index`` is the object it refers to, None for the whole foreground, or for nothing: then it is ``absent``. ``kind``
    is what the file calls its kind; a JSON file has no ``line``.
    """

    id: str
    video: str
    text: str
    index: int | None
    absent: bool = False
    kind: str = ""
    file: Path
    line: int | None = None


def sentences_of(folder: Path) -> Path:
    """The file of sentences of a folder of objects, to ask for its objects by them; the folder where it has none."""
    return folder / FILE if is_file(folder / FILE) else folder


def read_texts(path: Path, problems: Problems) -> Iterator[DavisSentence]:
    """Read a released text file of at most 16 MB; ids are unique."""
    match = TEXTS.match(path.name)
    if match is None:
        raise NothingToDo("the file has another name", expected="Davis17_annot1.txt and the like", path=path)
    with required_file(path):
        data = read_bytes(path, limits=Limits(max_bytes=_MAX_BYTES)).removeprefix(BOM)
    counts: Counter[str] = Counter()
    for line, content in enumerate(data.split(b"\n"), start=1):
        if not content.strip():
            continue
        with problems.skipping(path, line=line):
            video, index, text = _parsed(_decoded(content), unnumbered=match[1] == "16")
            name = f"{video}/{index or FOREGROUND}/{match[2]}"
            counts[name] += 1
            name = check_id(name if counts[name] == 1 else f"{name}#{counts[name]}")
            yield DavisSentence(id=name, video=video, text=text, index=index, file=path, line=line)


def _decoded(content: bytes) -> str:
    if len(content) > _MAX_LINE:
        raise InputError(f"the line has {len(content):,} bytes", expected=f"at most {_MAX_LINE:,}", hint=_HINT)
    for name in ("utf-8", "cp1252"):
        try:
            return content.decode(name).strip()
        except UnicodeDecodeError:
            continue
    return content.decode("latin-1").strip()


def _parsed(line: str, *, unnumbered: bool) -> tuple[str, int | None, str]:
    match = (_UNNUMBERED if unnumbered else _LINE).match(line)
    if match is None:
        raise InputError(f"the line is {shown(line)}", expected='<video> <object> "<sentence>"', hint=_HINT)
    text = match[match.lastindex or 1].strip().strip(_QUOTES).strip()
    if not text or "\0" in text:
        raise InputError("the sentence is empty or holds a NUL", expected="a sentence", hint=_HINT)
    video = check_name(_MISSPELT.get(match[1], match[1]))
    return video, None if unnumbered else index_of(match[2]), text


def read_expressions(path: Path, problems: Problems) -> Iterator[DavisSentence]:
    """Read an ``expressions.json`` of at most 16 MB; ids are unique.

    ``{"expressions": [{"video", "exp", "object", "referent"}]}``: ``object`` is an index of the palette masks,
    ``"foreground"`` for all that is drawn, or null for a sentence that refers to nothing; ``referent`` repeats whether
    it refers to anything.
    """
    data = load(path, max_bytes=_MAX_BYTES)
    rows = data.get("expressions") if isinstance(data, dict) else None
    if not isinstance(rows, list):
        raise NothingToDo("there is no list 'expressions'", expected='{"expressions": [{...}]}', path=path)
    counts: Counter[str] = Counter()
    for number, row in enumerate(rows, start=1):
        with problems.skipping(path, key=f"expression {number}"):
            sentence = _expression(row, path)
            counts[sentence.id] += 1
            yield replace(sentence, id=check_id(f"{sentence.id}/{counts[sentence.id]}"))


def _expression(row: object, file: Path) -> DavisSentence:
    if not isinstance(row, dict):
        raise InputError(f"it is {fields.kind(row)}", expected="an object with video, exp and object")
    video = check_name(fields.required(row, "video"))
    text = fields.required(row, "exp").strip()
    if not text:
        raise InputError("'exp' is empty", expected="'exp' is a sentence", hint=_HINT)
    if "object" not in row:
        raise InputError("there is no 'object'", expected=f'an index, "{FOREGROUND}" or null', hint="add 'object'")
    value = row["object"]
    referent = row.get("referent", value is not None)
    if not isinstance(referent, bool) or referent != (value is not None):
        raise InputError(
            f"'referent' is {fields.kind(referent)} where 'object' is {fields.kind(value)}",
            expected="'referent' is true where 'object' names something, false where it is null",
            hint="correct one of the two",
        )
    index = None if value is None or value == FOREGROUND else index_of(value)
    return DavisSentence(
        id=f"{video}/{NULL if value is None else index or FOREGROUND}",
        video=video,
        text=text,
        index=index,
        absent=value is None,
        kind=(fields.text(row, "kind") or "").strip(),
        file=file,
    )


def splits_in(folder: Path) -> Iterator[tuple[str, str]]:
    """The videos of ``train.txt`` and ``val.txt`` in a folder, each with its split."""
    for split in ("train", "val"):
        try:
            data = read_bytes(folder / f"{split}.txt", limits=Limits(max_bytes=_MAX_BYTES))
        except InputError:
            continue
        for line in data.decode("utf-8", "replace").splitlines():
            if line.strip():
                yield line.strip(), split


FOLDER: Final = "davis_text_annotations"
FRAMES: Final = "JPEGImages"
MASKS: Final = ("Annotations", "Annotations_unsupervised")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefDavisFiles:
    """The folder of videos, the files of sentences that are read, and those that are left out."""

    folder: Path
    files: tuple[Path, ...]
    left: tuple[Path, ...] = ()

    def read(self, problems: Problems) -> list[DavisSentence]:
        """All sentences, file by file."""
        sentences: list[DavisSentence] = []
        for path in self.files:
            sentences += (read_expressions if path.name == FILE else read_texts)(path, problems)
        return sentences

    def notes(self) -> tuple[str, ...]:
        """Which files were left unread."""
        if not self.left:
            return ()
        names = ", ".join(path.name for path in self.left)
        return (f"the sentences of DAVIS 2017 were read; name a file to read {names} instead",)


def find_files(source: Path) -> RefDavisFiles | None:
    """Find the sentence files and videos of an INPUT; None where there are none."""
    if is_file(source):
        if source.name == FILE:
            return RefDavisFiles(folder=source.parent, files=(source,)) if _has_videos(source.parent) else None
        tree = _tree(source.parent) if TEXTS.match(source.name) else None
        return None if tree is None else RefDavisFiles(folder=tree, files=(source,))
    for folder in (source / FOLDER, source):
        texts = [(match[1], folder / name) for name in file_names(folder) if (match := TEXTS.match(name))]
        tree = _tree(folder) if texts else None
        if tree is not None:
            newest = max(year for year, _ in texts)
            return RefDavisFiles(
                folder=tree,
                files=tuple(path for year, path in texts if year == newest),
                left=tuple(path for year, path in texts if year != newest),
            )
    if is_file(source / FILE) and _has_videos(source):
        return RefDavisFiles(folder=source, files=(source / FILE,))
    return None


def _tree(texts: Path) -> Path | None:
    """The DAVIS tree that a folder of texts stands in or beside."""
    above = texts.absolute().parent
    home = texts.parent if texts.parent != texts else above
    folders = (home, home / "DAVIS", texts)
    return next((folder for folder in folders if is_folder(folder / FRAMES)), None)


def _has_videos(folder: Path) -> bool:
    if is_folder(folder / FRAMES) or is_sequence(folder):
        return True
    return any(is_sequence(subfolder) for subfolder in subfolders(folder))


def patterns(folder: Path) -> tuple[str, str]:
    """Where the frames and masks of a video stand in the folder; ``*`` is its name."""
    if not is_folder(folder / FRAMES):
        return ("frames", "masks") if is_sequence(folder) else ("*/frames", "*/masks")
    masks = next((name for name in MASKS if is_folder(folder / name)), MASKS[0])
    size = next((name for name in RESOLUTIONS if is_folder(folder / FRAMES / name)), "")
    sized = size if size and is_folder(folder / masks / size) else ""
    return "/".join(filter(None, (FRAMES, size, "*"))), "/".join(filter(None, (masks, sized, "*")))


_POSITIVE = "positive"  # the kind of a sentence that refers to something


class _RefDavis(ListedPart):
    """The videos, their problems (reported once a video), and the objects that sentences name."""

    def __init__(self, inputs: RefDavisFiles, options: ListOptions, problems: Problems) -> None:
        frames, masks = patterns(inputs.folder)
        self.folder = inputs.folder
        self.options = replace(options, root=options.root or inputs.folder)
        self.notes = [*inputs.notes()]
        self.videos: Videos = Videos(
            folders=Folders(inputs.folder, options.root or inputs.folder), frames=frames, masks=masks
        )
        self.splits = dict(splits_in(inputs.folder / "ImageSets/2017"))
        self.problems = problems
        self.rows = inputs.read(problems)
        self._named: dict[str, set[int]] = {}
        for row in self.rows:
            self._named.setdefault(row.video, set()).update(() if row.index is None else (row.index,))
        self._reported: set[str] = set()
        self._objects: dict[str, list[int] | None] = {}
        self._moments: dict[tuple[str, int | None, bool], tuple[Moment, ...]] = {}

    def items(self) -> Iterator[Item]:
        """The objects of every frame, as a DAVIS folder lists them, each with its first sentence."""
        texts: dict[tuple[str, int | None], str] = {}
        for row in self.rows:
            if not row.absent:
                texts.setdefault((row.video, row.index), row.text)
        listing = DAVIS.list(self.folder, self.options)
        self.problems.found += listing.errors
        self.notes += listing.notes
        return (with_text(item, _text_of(texts, item.clip or "", item.mask.index)) for item in listing.items)

    def instances(self) -> Iterator[Instance]:
        """Every sentence whose video and object are there, in the order of the files."""
        single = self.videos.frames == "frames"  # one sequence is one video, whatever its folder is called
        count = null = 0
        for row in self.rows:
            if single and row.video != self.rows[0].video:
                expected = f"the one video here, {self.rows[0].video}"
                self._refuse(row, InputError(f"it is on the video {row.video}", expected=expected, hint="drop it"))
            elif (instance := self._instance(row)) is not None:
                count, null = count + 1, null + instance.absent
                yield instance
        if count:
            self.notes.append(f"{counted(count, 'sentence')}, {null} of them refer to nothing")
        if left := len(self.rows) - count:
            self.notes.append(f"{counted(left, 'sentence')} without frames or without the object left out")

    def _refuse(self, row: DavisSentence, error: InputError) -> None:
        self.problems.add(error, row.file, line=row.line, key=row.id)

    def _instance(self, row: DavisSentence) -> Instance | None:
        video = self._video(row.video)
        if not video.frames or not (row.absent or video.masks):
            return None
        objects = self._objects_of(video)
        if row.index is not None and row.index not in ((1,) if objects is None else objects):
            unknown = InputError(
                f"object {row.index} is in no mask of {row.video}",
                expected="an index that a mask draws",
                hint="correct or drop the sentence",
            )
            self._refuse(row, unknown)
            return None
        others = _others(row, objects)
        return Instance(
            id=row.id,
            clip=row.video,
            query=Query(row.text),
            moments=self._moments_of(row, video, others),
            split=self.splits.get(row.video, ""),
            template=row.kind if row.kind not in {"", _POSITIVE} else template_of(row.text),
            others=("",) * len(others),
            absent=row.absent,
            source=row.file,
            line=row.line,
        )

    def _video(self, name: str) -> Video:
        """A video; missing files are reported the first time."""
        video = self.videos.video(name)
        if name not in self._reported:
            self._reported.add(name)
            self.problems.take(video.errors)
            if not any(error.stage == "read" for error in video.errors):
                self._report_missing(video)
        return video

    def _report_missing(self, video: Video) -> None:
        videos = self.videos
        bare = [f"{stem}.png" for stem in missing(video.frames, video.masks)]
        if not video.frames:
            path = videos.path_of(videos.frames, video.name)
            self.problems.miss(path, ["*.jpg"], noun="frame", stage="read")
        else:
            path, stage = videos.path_of(videos.masks, video.name), "truth" if video.masks else "read"
            self.problems.miss(path, bare, noun="mask", stage=stage, of=len(video.frames))

    def _moments_of(self, row: DavisSentence, video: Video, others: Sequence[int | None]) -> tuple[Moment, ...]:
        """The frames of a video with the masks of an object; the same for all its sentences."""
        key = row.video, row.index, row.absent
        if key not in self._moments:
            objects = self._objects_of(video)
            self._moments[key] = tuple(
                Moment(
                    frame=frame,
                    target=None if row.absent else _ref(video.masks.get(stem), row.index, objects),
                    others=tuple(_ref(video.masks.get(stem), other, objects) for other in others),
                )
                for stem, frame in video.frames.items()
            )
        return self._moments[key]

    def _objects_of(self, video: Video) -> list[int] | None:
        """The objects of a video: those of its first mask, and those that sentences name; None for files of one.

        Where the first mask cannot be opened, the next one is used.
        """
        if video.name not in self._objects:
            indices: tuple[int, ...] | None = ()
            for path in video.masks.values():
                indices = self.videos.drawn(path)
                if not self.videos.broken(path):
                    break
            referred = self._named.get(video.name, set()) if indices is not None else ()
            present = {index for index in referred if self.videos.holds(video, index)}
            self._objects[video.name] = None if indices is None else sorted(present.union(indices))
        return self._objects[video.name]


class RefDavisDataset(ReferringLayout):
    """Sentences on DAVIS videos."""

    name = "datasets.refdavis.v1"
    meta = Metadata(
        summary="Ref-DAVIS: davis_text_annotations/ with a DAVIS tree; or an expressions.json beside sequences",
        goal="lists sentences on videos, those that refer to nothing among them",
        modality="video",
        source="Khoreva et al. 2018 (Ref-DAVIS 2016 and 2017)",
        truth="the palette masks of DAVIS, by object index",
    )
    described_as = "sentences on DAVIS videos"
    foreign_options = ("frames", "masks", "images")

    def matches(self, source: Path) -> bool:
        """Whether it is a folder of the released texts beside videos, one of its files, or an ``expressions.json``."""
        inputs = find_files(source)
        return inputs is not None and inputs.files[0] != source / FILE

    def open(self, source: Path, options: ListOptions, problems: Problems) -> Sequence[_RefDavis]:
        """Read the sentences."""
        inputs = find_files(source)
        if inputs is None:
            raise NothingToDo(
                "there are no sentences beside videos", expected=f"{FILE}, or {FOLDER}/ and {FRAMES}/", path=source
            )
        files = inputs.files if is_folder(source) else ()
        self.check(source, options, files=files, folders=(inputs.folder / top for top in (FRAMES, *MASKS)))
        return [_RefDavis(inputs, options, problems)]


def _others(row: DavisSentence, objects: Sequence[int] | None) -> list[int | None]:
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


def _text_of(texts: Mapping[tuple[str, int | None], str], clip: str, index: int | None) -> str | None:
    """The first sentence on an object; a file of one mask holds object 1."""
    return texts.get((clip, index)) or (texts.get((clip, 1)) if index is None else None)


DATASET = RefDavisDataset()
