"""The references of an INPUT: pictures with every object that is annotated, and the sentences that refer to one.

What negative sentences are made from, and what a suite of referring segmentation asks for. Crowd regions and objects
without a mask are objects too: they are there. A data set that knows its references lists them itself
(``ReferenceSource``); of any other layout they are made from its instances or items.

No picture is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from auscult.cases.ids import counted
from auscult.cases.instances import InstanceSource, list_instances
from auscult.cases.listing import INPUTS, ListOptions, layouts, list_items
from auscult.cases.problems import ListError
from auscult.errors import NothingToDo
from auscult.language.facts import Facts
from auscult.types import Instance, Item, MaskRef

PixelBox: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedObject:
    """An object of a picture.

    Attributes:
        id: Unique in its picture.
        category: As the annotation names it; empty where it does not.
        mask: Its true mask; None where there is only a box.
        box: Left, top, right, bottom in pixels; None where only a mask is known.
        crowd: Whether it is a region of many.
    """

    id: str
    category: str
    mask: MaskRef | None = None
    box: PixelBox | None = None
    crowd: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of a reference.

    Attributes:
        text: The sentence.
        exists: Whether it refers to the target; a negative sentence refers to nothing.
        kind: The kind of a negative sentence; ``null`` where the data set does not say it, empty for a positive one.
        form: Its logical form in a generated scene.
        negative: What was changed and the proof, as ``auscult stress negatives`` wrote them.
    """

    text: str
    exists: bool = True
    kind: str = ""
    form: Mapping[str, Any] | None = None
    negative: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A target and the sentences about it.

    Attributes:
        id: Unique in its source.
        target: The id of its object; empty where it has negative sentences alone.
        sentences: Positive and negative ones, in order.
        split: The source's own split; empty where it has none.
    """

    id: str
    target: str
    sentences: tuple[Sentence, ...]
    split: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedPicture:
    """A picture with its objects and references.

    Attributes:
        id: Unique in its source.
        path: The picture file, which is there unless the source was listed without its pictures.
        size: Height and width; None where only the file knows.
        objects: All that is annotated, crowd regions included.
        references: What refers to them.
        facts: What is seen and heard in a generated scene; None elsewhere.
    """

    id: str
    path: Path
    size: tuple[int, int] | None
    objects: tuple[AnnotatedObject, ...]
    references: tuple[Reference, ...]
    facts: Facts | None = None

    def object(self, name: str) -> AnnotatedObject | None:
        """The object of an id."""
        return next((one for one in self.objects if one.id == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceListing:
    """The pictures of an INPUT that something refers to; made one by one, so that not all are held at once.

    Attributes:
        pictures: Gives them, each time anew and in the same order.
        count: How many references they have.
        layout: Registry name of the layout.
        looked_for: The categories that the annotation has wherever they occur; empty where that is not known.
        own: Categories that need no table: those of generated scenes, where nothing else is.
        errors: What could not be listed.
        notes: Plain sentences about what was left out or supposed.
        seen: Whether the pictures are there.
        files: The files that the references were read from.
        voices: The sounds of generated scenes, each as noun and verb.
    """

    pictures: Callable[[], Iterator[AnnotatedPicture]]
    count: int
    layout: str
    looked_for: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    errors: tuple[ListError, ...] = ()
    notes: tuple[str, ...] = ()
    seen: bool = True
    files: tuple[Path, ...] = ()
    voices: frozenset[tuple[str, str]] = frozenset()


@runtime_checkable
class ReferenceSource(Protocol):
    """A data set that knows its references, and what else is in their pictures."""

    name: str

    def references(self, source: Path, options: ListOptions, *, split: str = "") -> ReferenceListing:
        """List its references, of one split where one is named."""
        ...


_PLAIN: Final = ListOptions()


def list_references(source: Path, options: ListOptions = _PLAIN, *, split: str = "") -> ReferenceListing:
    """List the references of an INPUT, in whichever layout it is.

    Raises:
        NothingToDo: The INPUT holds no reference.
        UsageError: There is no such INPUT, or an option does not fit it.
    """
    found = list(layouts(source, options))
    known = next((one for one in found if isinstance(one, ReferenceSource)), None)
    if known is not None:
        listing = known.references(source, options, split=split)
    elif any(isinstance(one, InstanceSource) for one in found):
        listing = _of_instances(source, options, split)
    else:
        listing = _of_items(source, options, split)
    if not listing.count and not listing.errors:
        of_split = f" in the split {split}" if split else ""
        message = f"the input holds no reference{of_split} (read as {listing.layout})"
        raise NothingToDo(message, path=source, expected=INPUTS, hint="; ".join(listing.notes))
    return listing


# --- items ---


def _of_items(source: Path, options: ListOptions, split: str) -> ReferenceListing:
    """Items of one frame are its objects; those of one ``reference``, as our own files have it, are its sentences."""
    listing = list_items(source, options)
    frames: dict[Path, list[Item]] = {}
    for item in listing.items:
        frames.setdefault(item.frame, []).append(item)
    pictures = [_picture_of(items, split) for items in frames.values()]
    names = {_extra(item, "category") for item in listing.items} - {""}
    notes = [*listing.notes]
    if names:
        notes.append("an item's category is taken to be annotated wherever it occurs in the input")
    return _listed(pictures, layout=listing.layout, looked_for=names, errors=listing.errors, notes=notes, source=source)


def _picture_of(items: Sequence[Item], split: str) -> AnnotatedPicture:
    objects: dict[str, AnnotatedObject] = {}
    sentences: dict[str, list[Sentence]] = {}
    splits: dict[str, str] = {}
    for item in items:
        exists = item.extra.get("exists") is not False
        name = _extra(item, "reference") or item.id
        splits.setdefault(name, _extra(item, "split"))
        sentences.setdefault(name, [])
        if exists:
            mask = item.truth.mask if item.truth is not None and item.truth.mask is not None else item.mask
            objects.setdefault(name, AnnotatedObject(id=name, category=_extra(item, "category"), mask=mask))
        category = _extra(item, "category")
        text = item.query.text or (f"the {category}" if exists and category else None)
        if text is not None:
            negative = item.extra.get("negative")
            told = negative if isinstance(negative, Mapping) else None
            kind = "" if exists else str((told or {}).get("kind", "null"))
            sentences[name].append(Sentence(text=text, exists=exists, kind=kind, negative=told))
    references = tuple(
        Reference(id=name, target=name if name in objects else "", sentences=tuple(said), split=splits[name])
        for name, said in sentences.items()
        if said and split in {"", splits[name]}
    )
    frame = items[0].frame
    return AnnotatedPicture(
        id=frame.as_posix(), path=frame, size=None, objects=tuple(objects.values()), references=references
    )


def _extra(item: Item, key: str) -> str:
    value = item.extra.get(key)
    return value if isinstance(value, str) else ""


# --- instances ---


def _of_instances(source: Path, options: ListOptions, split: str) -> ReferenceListing:
    """Instances of one target are its sentences, at the middle of its annotated frames.

    Nothing says that a category is annotated wherever it occurs, so nothing is known to be absent.
    """
    listing = list_instances(source, options)
    clips: dict[str, list[Instance]] = {}
    for instance in listing.instances:
        if split in {"", instance.split}:
            clips.setdefault(instance.clip, []).append(instance)
    pictures = [_picture_at(clip, instances) for clip, instances in clips.items()]
    nulls = sum(not one.exists for picture in pictures for ref in picture.references for one in ref.sentences)
    notes = [*listing.notes, f"{counted(nulls, 'null expression')} read as negative"] if nulls else listing.notes
    return _listed(pictures, layout=listing.layout, errors=listing.errors, notes=notes, source=source)


def _picture_at(clip: str, instances: Sequence[Instance]) -> AnnotatedPicture:
    moments = instances[0].moments
    frame = moments[len(moments) // 2].frame
    objects: dict[str, AnnotatedObject] = {}
    references: dict[str, Reference] = {}
    for one in instances:
        target = next((moment.target for moment in one.moments if moment.frame == frame), None)
        name = one.id
        if target is not None and not one.absent:
            same = next((known for known in objects.values() if known.mask == target), None)
            name = one.id if same is None else same.id
            objects.setdefault(name, AnnotatedObject(id=name, category=one.category, mask=target))
        elif not one.absent:
            continue  # the frame is not annotated for it
        said = Sentence(text=one.query.text or "", exists=not one.absent, kind="null" if one.absent else "")
        known_one = references.get(name)
        if known_one is None:
            target_id = "" if one.absent else name
            known_one = Reference(id=name, target=target_id, sentences=(), split=one.split)
        if said.text:
            references[name] = replace(known_one, sentences=(*known_one.sentences, said))
    return AnnotatedPicture(
        id=clip, path=frame, size=None, objects=tuple(objects.values()), references=tuple(references.values())
    )


def _listed(
    pictures: Iterable[AnnotatedPicture],
    *,
    layout: str,
    source: Path,
    errors: Sequence[ListError] = (),
    notes: Sequence[str] = (),
    looked_for: Iterable[str] = (),
) -> ReferenceListing:
    kept = [picture for picture in pictures if picture.references]
    return ReferenceListing(
        pictures=lambda: iter(kept),
        count=sum(len(picture.references) for picture in kept),
        layout=layout,
        looked_for=frozenset(looked_for),
        errors=tuple(errors),
        notes=tuple(notes),
        files=(source,) if source.is_file() else (),
    )
