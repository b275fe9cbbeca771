"""A user's folder of real material: labelled recordings, photographs and clips with masks, photographs with boxes.

Which files count is a table of places, each with what names its label. Besides a plain layout (``sounds/<label>/``,
``pictures/<label>/``, ``clips/<label>/<clip>/frames/`` with ``masks/`` beside it, ``photographs/instances.json`` in
COCO's form with ``photographs/images/``) it has those of some public collections, with the words that they have for one
thing. Nothing is decoded before it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from auscult.cases.ids import natural_key
from auscult.cases.walk import is_file, walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.paths import inside
from auscult.media.sound import SOUND_SUFFIXES
from auscult.record import codec
from auscult.record.codec import Word
from auscult.record.digest import digest_file, digest_json
from auscult.scenes.sound.folder import FolderSounds
from auscult.shipped import read_shipped

_FOLDER: Final = "folder"  # a label is the name of the folder; else of the file
_KNOWN: Final = read_shipped("scenes/familiar/collections.json")
"""``sounds``, ``pictures`` and ``clips`` are places, each with what names its label; ``photographs`` places with boxes.

``same`` has labels of one thing in several collections, as one word; ``vague`` those that say too little of what is
heard to be told from others; ``general`` those that are true of what others name as well, and are not used beside one
of these.
"""

LEAST_SHARE: Final = 0.004
"""A class counts in a photograph if each of its things takes up at least this share of it."""
MOST_THINGS: Final = 9
SHORTEST_CLIP: Final = 10
"""A clip has at least so many frames with a mask."""
_MOST_BYTES: Final = 1_073_741_824


@dataclass(frozen=True, slots=True, kw_only=True)
class Photograph:
    """A photograph whose things are all known."""

    path: Path  # the file
    size: tuple[int, int]  # (width, height) in pixels
    # class to the boxes of its things, (left, top, width, height) in pixels, from left to right. Classes with a thing
    # that is small or a crowd are left out.
    boxes: Mapping[str, tuple[tuple[int, int, int, int], ...]]
    shown: frozenset[str]  # all classes that it shows, those as well


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a user's folder holds; nothing by default."""

    # recordings by label
    sounds: FolderSounds = field(default_factory=lambda: FolderSounds(name="none", files={}, words={}))
    # label to the names of its photographs, each with the file
    pictures: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)
    photographs: tuple[Photograph, ...] = ()  # photographs with boxes
    # label to its clips of one thing: frames in their order, each with its mask
    clips: Mapping[str, Sequence[Sequence[tuple[Path, Path]]]] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels with a recording, none of which is true of another's."""
        return tuple(
            label
            for label in self.sounds.files
            if self.sounds.files.keys().isdisjoint(_KNOWN["general"].get(label, ()))
        )

    @property
    def paired(self) -> tuple[str, ...]:
        """Those of them with a photograph."""
        return tuple(label for label in self.labels if label in self.pictures)

    @property
    def filmed(self) -> tuple[str, ...]:
        """Those of them with a clip."""
        return tuple(label for label in self.labels if label in self.clips)

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of the photographs with boxes."""
        return tuple(sorted({name for photograph in self.photographs for name in photograph.shown}))

    @property
    def sounding(self) -> tuple[Photograph, ...]:
        """Photographs with boxes of something of which there is a recording."""
        return tuple(
            photograph for photograph in self.photographs if any(name in self.sounds.files for name in photograph.boxes)
        )

    def digest(self) -> str:
        """Hash of all files, so that samples of two states of a folder are not mixed."""
        files = [path for group in (*self.sounds.files.values(), *self.pictures.values()) for path in group.values()]
        files += [photograph.path for photograph in self.photographs]
        files += [file for label in self.filmed for clip in self.clips[label] for pair in clip for file in pair]
        boxes = [
            [photograph.path.name, sorted((name, list(group)) for name, group in photograph.boxes.items())]
            for photograph in self.photographs
        ]
        return digest_json([[digest_file(path) for path in files], boxes])


def open_material(root: Path) -> tuple[Material, tuple[ErrorRecord, ...]]:
    """List what a folder holds, with the errors of what cannot be listed.

    Raises:
        UsageError: There is no such folder, or it holds nothing that can be used.
    """
    if not root.is_dir():
        raise UsageError("there is no such folder" if not root.exists() else "this is a file", path=root, hint=_LAYOUT)
    errors: list[ErrorRecord] = []
    sounds = _labelled(root, _KNOWN["sounds"], suffixes=SOUND_SUFFIXES, errors=errors)
    pictures = _labelled(root, _KNOWN["pictures"], suffixes=FRAME_SUFFIXES, errors=errors)
    photographs = [photograph for place in _KNOWN["photographs"] for photograph in _photographs(root, place, errors)]
    if not sounds and not photographs:
        raise UsageError("the folder holds no labelled recording and no photograph with boxes", path=root, hint=_LAYOUT)
    clips = _clips(root, sounds.keys(), errors)
    files = FolderSounds(name=root.resolve().name, files=sounds, words={})
    return Material(sounds=files, pictures=pictures, photographs=tuple(photographs), clips=clips), tuple(errors)


_LAYOUT: Final = (
    "a folder with sounds/<label>/, pictures/<label>/, clips/<label>/ and photographs/ (instances.json of COCO, "
    "images/), any of them"
)


def _labelled(
    root: Path, places: Sequence[tuple[str, str]], *, suffixes: frozenset[str], errors: list[ErrorRecord]
) -> dict[str, dict[str, Path]]:
    """Label to names to files, both sorted."""
    by_label: dict[str, dict[str, Path]] = {}
    for place, named_by in places:
        if not (root / place).is_dir():
            continue
        tree = walk(root / place, root=root)
        errors += tree.errors
        for name, path in tree.with_suffix(suffixes).items():
            parts = name.split("/")
            if named_by == _FOLDER and len(parts) < 2:
                continue
            raw = (parts[0] if named_by == _FOLDER else path.stem).replace("_", " ").lower()
            label = _KNOWN["same"].get(raw, raw)
            if place == "sounds" or label not in _KNOWN["vague"]:
                by_label.setdefault(label, {})[f"{place}/{name}"] = path
    return {label: dict(sorted(files.items())) for label, files in sorted(by_label.items())}


def _clips(
    root: Path, sounding: Collection[str], errors: list[ErrorRecord]
) -> dict[str, list[list[tuple[Path, Path]]]]:
    """Label to clips of what a recording is of: the files in ``frames`` that have one of their name in ``masks``."""
    files = _labelled(root, _KNOWN["clips"], suffixes=FRAME_SUFFIXES, errors=errors)
    by_label: dict[str, list[list[tuple[Path, Path]]]] = {}
    for label in sorted(files.keys() & sounding):
        folders = dict.fromkeys(path.parent for path in files[label].values() if path.parent.name == "frames")
        for folder in folders:
            frames = [path for path in files[label].values() if path.parent == folder]
            pairs = [(frame, folder.parent / "masks" / f"{frame.stem}.png") for frame in frames]
            pairs = sorted((pair for pair in pairs if is_file(pair[1])), key=lambda pair: natural_key(pair[0].name))
            if len(pairs) >= SHORTEST_CLIP:
                by_label.setdefault(label, []).append(pairs)
                continue
            few = f"{len(pairs)} of {len(frames)} frames have a mask"
            wanted = f"{SHORTEST_CLIP} or more, frames/NAME.jpg with masks/NAME.png"
            errors.append(ErrorRecord.of(InputError(few, expected=wanted, path=folder), "read"))
    return by_label


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    id: int
    file_name: Word
    width: Annotated[int, Meta(ge=1, le=65_536)]
    height: Annotated[int, Meta(ge=1, le=65_536)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Category:
    id: int
    name: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotation:
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    iscrowd: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instances:
    images: tuple[_Image, ...]
    annotations: tuple[_Annotation, ...]
    categories: tuple[_Category, ...]


def _photographs(root: Path, place: tuple[str, str], errors: list[ErrorRecord]) -> Iterator[Photograph]:
    """The photographs of a file of COCO's form that show at least one class of which all things are large enough."""
    home = root / place[0]
    if not is_file(home / "instances.json"):
        return
    expected = "instances in COCO's form: images, annotations, categories"
    read = codec.read_file(
        _Instances, home / "instances.json", what="the instances", expected=expected, most_bytes=_MOST_BYTES
    )
    names = {category.id: _KNOWN["same"].get(category.name, category.name) for category in read.categories}
    by_image: dict[int, list[_Annotation]] = {}
    for annotation in read.annotations:
        by_image.setdefault(annotation.image_id, []).append(annotation)
    for image in sorted(read.images, key=lambda image: image.file_name):
        objects = [annotation for annotation in by_image.get(image.id, ()) if annotation.category_id in names]
        shown = frozenset(names[annotation.category_id] for annotation in objects)
        boxes = {
            name: _boxes([annotation for annotation in objects if names[annotation.category_id] == name], image)
            for name in sorted(shown)
        }
        usable = {name: group for name, group in boxes.items() if 0 < len(group) <= MOST_THINGS}
        try:
            path = _existing(home / place[1], image.file_name)
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
            continue
        if usable:
            yield Photograph(path=path, size=(image.width, image.height), boxes=usable, shown=shown)


def _existing(folder: Path, name: str) -> Path:
    path = inside(folder, name)
    if not is_file(path):
        raise InputError("the photograph is not there", expected="the file that instances.json names", path=path)
    return path


def _boxes(objects: Sequence[_Annotation], image: _Image) -> tuple[tuple[int, int, int, int], ...]:
    """Boxes of a class from left to right, none where one is small or a crowd."""
    boxes = []
    for annotation in objects:
        left, top, width, height = annotation.bbox
        x, y = round(left), round(top)
        box = x, y, min(image.width, round(left + width)) - x, min(image.height, round(top + height)) - y
        if annotation.iscrowd or min(box) < 0 or box[2] * box[3] < LEAST_SHARE * image.width * image.height:
            return ()
        boxes.append(box)
    return tuple(sorted(boxes))
