"""INPUT to items: which layout it has, and what its layout lists.

Nothing is opened here but names, lines and, for files of several objects, their indices. What cannot be listed becomes
an error record with file and line; the rest goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from auscult import registry
from auscult.cases.ids import unique
from auscult.cases.scores import with_scores
from auscult.cases.texts import with_texts
from auscult.cases.walk import is_file, is_folder
from auscult.errors import REMARKS, ErrorRecord, NothingToDo, UsageError
from auscult.types import Item, Metadata

ListError: TypeAlias = tuple[str | None, ErrorRecord]

INPUTS = (
    "a folder with frames/ and masks/ (or --frames DIR --masks DIR); "
    "an items.jsonl, or a folder that holds one; "
    "a COCO json with --images FOLDER (results also need --instances FILE); "
    "a DAVIS folder with JPEGImages/ and Annotations/; Ref-AVSBench (metadata.csv, media/, gt_mask/); "
    "MQ-RAVSBench (train_test_meta_files/); RefCOCO (refs(...).p with instances.json) with --images FOLDER; "
    "YouTube-VOS (meta.json or meta_expressions.json with JPEGImages/); Ref-DAVIS (davis_text_annotations/) or an "
    "expressions.json beside videos; AVSBench (s4_meta_data.csv, ms3_meta_data.csv)"
)

_BUILT_IN = "auscult"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """How INPUT is read.

    Attributes:
        frames: Folder of the frames, when not ``INPUT/frames``; looked for in INPUT first.
        masks: Folder of the candidate masks, when not ``INPUT/masks``; looked for in INPUT first.
        images: Folder of the pictures of a COCO json.
        instances: COCO instances that name the pictures of a results json.
        text: The referring expression of every item that has none.
        texts: CSV with columns ``id,text`` or ``frame,text``.
        root: Folder that paths and symbolic links may reach; it must contain INPUT. INPUT's own folder by default.
        labels: Read a grey mask file's values as object indices, not as a soft mask.
        scores: The model's own scores, as CSV with columns ``id,score`` or JSON lines.
    """

    frames: Path | None = None
    masks: Path | None = None
    images: Path | None = None
    instances: Path | None = None
    text: str | None = None
    texts: Path | None = None
    root: Path | None = None
    labels: bool = False
    scores: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmasked:
    """A frame of a clip whose mask is not known: the frame is shown all the same, or a clip would jump in time.

    Attributes:
        clip: The clip.
        frame: The picture.
        mask: The file that cannot be opened, or where one should stand.
        error: Why it cannot be opened; None where there is no file.
    """

    clip: str | None
    frame: Path
    mask: Path
    error: ErrorRecord | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What an INPUT holds.

    Attributes:
        items: The items, ids unique, frames of a clip in natural order.
        errors: (id or None, record) for what could not be listed.
        layout: Registry name of the layout.
        notes: Plain sentences about what was left out on purpose.
        unmasked: Frames whose mask cannot be opened, or is missing where the layout has one for every frame.
    """

    items: tuple[Item, ...]
    errors: tuple[ListError, ...]
    layout: str
    notes: tuple[str, ...] = ()
    unmasked: tuple[Unmasked, ...] = ()


@runtime_checkable
class Dataset(Protocol):
    """A layout of an INPUT."""

    name: str
    meta: Metadata

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether ``source`` has this layout; cheap, and never raises for what is not."""
        ...

    def list(self, source: Path, options: ListOptions) -> Listing:
        """List the items; ids need not be unique yet."""
        ...


_PLAIN = ListOptions()


def list_items(source: Path, options: ListOptions = _PLAIN) -> Listing:
    """List an INPUT, in whichever layout it is.

    Args:
        source: A folder or file.
        options: How it is read.

    Raises:
        NothingToDo: It holds neither an item nor a broken item; the message says what INPUT can be.
        UsageError: It does not exist, or an option does not fit it or names nothing.
    """
    _check_places(options)
    dataset = find_layout(source, options)
    listing = dataset.list(source, options)
    items, twice = unique(listing.items)
    items, unknown = with_texts(items, text=options.text, texts=options.texts)
    errors = (*listing.errors, *twice, *unknown)
    if not items and all(error.stage in REMARKS for _, error in errors):
        raise NothingToDo(f"the input holds no mask (read as {dataset.name})", path=source, expected=INPUTS)
    items, notes = with_scores(items, options.scores)
    return replace(listing, items=items, errors=errors, notes=(*listing.notes, *notes))


def refuse_options(options: ListOptions, *names: str, layout: str) -> None:
    """Refuse options that say nothing about a layout, rather than ignore them.

    Args:
        options: What was given.
        names: Attributes of ``options`` that the layout has no use for.
        layout: What INPUT is, in words.

    Raises:
        UsageError: One of them is given.
    """
    for name in names:
        value = getattr(options, name)
        if value is not None:
            raise UsageError(
                f"--{name} does not fit the input, which is {layout}",
                expected=INPUTS,
                hint=f"leave --{name} out, or give another INPUT",
                path=value,
            )


def _check_places(options: ListOptions) -> None:
    for name, path, there, what in (
        ("images", options.images, is_folder, "folder"),
        ("instances", options.instances, is_file, "file"),
        ("root", options.root, is_folder, "folder"),
    ):
        if path is not None and not there(path):
            raise UsageError(f"--{name} names no {what}", path=path, expected=f"an existing {what}")


def find_layout(source: Path, options: ListOptions = _PLAIN) -> Dataset:
    """The layout that recognises an INPUT; a plug-in's comes before a built-in one.

    Raises:
        NothingToDo: No layout does.
        UsageError: There is no such file or folder.
    """
    if not (is_folder(source) or is_file(source)):
        raise UsageError("there is no such file or folder", path=source, expected=INPUTS)
    entries = sorted(registry.entries("dataset"), key=lambda entry: (entry.package == _BUILT_IN, entry.name))
    for entry in entries:
        dataset: Dataset = entry.load()
        if dataset.recognises(source, options):
            return dataset
    raise NothingToDo("the input has no layout that is known", path=source, expected=INPUTS, hint=_hint(source))


def _hint(source: Path) -> str:
    if source.is_file():
        return "lines of JSON need the ending .jsonl, a COCO file .json"
    return "put the pictures in frames/ and the masks, named like them, in masks/; or name both folders"
