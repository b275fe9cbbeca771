"""The references of an INPUT: pictures with every object that is annotated, and the sentences that refer to one.

What negative sentences are made from, and what a suite of referring segmentation asks for. Crowd regions and objects
without a mask are objects too: they are there. A data set that knows its references lists them itself
(``ReferenceSource``); of any other layout they are made from its instances.

No picture is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from auscult.cases.ids import counted
from auscult.cases.instances import list_instances
from auscult.cases.listing import INPUTS, ListOptions, layouts
from auscult.cases.problems import ListError
from auscult.errors import NothingToDo
from auscult.language.forms import Facts
from auscult.types import Instance, MaskRef

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
        looked_for: The categories that its annotation has wherever they occur; None for those of the listing.
    """

    id: str
    path: Path
    size: tuple[int, int] | None
    objects: tuple[AnnotatedObject, ...]
    references: tuple[Reference, ...]
    facts: Facts | None = None
    looked_for: frozenset[str] | None = None

    def object(self, name: str) -> AnnotatedObject | None:
        """The object of an id."""
        return next((obj for obj in self.objects if obj.id == name), None)


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
    layout = next((layout for layout in layouts(source, options) if isinstance(layout, ReferenceSource)), None)
    if layout is not None:
        listing = layout.references(source, options, split=split)
    else:
        listing = _of_instances(source, options, split)
    if not listing.count and not listing.errors:
        of_split = f" in the split {split}" if split else ""
        message = f"the input holds no reference{of_split} (read as {listing.layout})"
        raise NothingToDo(message, path=source, expected=INPUTS, hint="; ".join(listing.notes))
    return listing


def by_reference(instances: Iterable[Instance]) -> dict[Hashable, list[Instance]]:
    """The sentences of one clip by the reference that they are of.

    What the data call a reference is one, else what has the same first true mask; a null expression is one by itself.
    """
    by_target: dict[Hashable, list[Instance]] = {}
    for instance in instances:
        by_target.setdefault(instance.reference or _target(instance), []).append(instance)
    return by_target


def _target(instance: Instance) -> Hashable:
    """The file and index, or the outline, of the first true mask; the id where there is none."""
    for moment in () if instance.absent else instance.moments:
        if moment.target is not None:
            ref = moment.target
            return (moment.frame, ref.path, ref.index, str(ref.segmentation))
    return instance.id


def _of_instances(source: Path, options: ListOptions, split: str) -> ReferenceListing:
    """Each reference at the middle of its annotated frames."""
    listing = list_instances(source, options)
    clips: dict[str, list[Instance]] = {}
    for instance in listing.instances:
        clips.setdefault(instance.clip, []).append(instance)
    pictures = [picture for clip, instances in clips.items() for picture in _pictures_of(clip, instances, split)]
    sentences = [sentence for picture in pictures for ref in picture.references for sentence in ref.sentences]
    nulls = sum(not sentence.exists and sentence.negative is None for sentence in sentences)
    notes = [*listing.notes, *([f"{counted(nulls, 'null expression')} read as negative"] if nulls else ())]
    # what `stress negatives` writes as items are the references of a picture, not all of its objects
    partial = any("proof" in (sentence.negative or {}) for sentence in sentences)
    if partial:
        notes.append("items of `auscult stress negatives` are not all objects of their pictures; those of refer/ are")
    elif listing.categories:
        notes.append("an item's category is taken to be annotated wherever it occurs in the input")
    return ReferenceListing(
        pictures=lambda: iter(pictures),
        count=sum(len(picture.references) for picture in pictures),
        layout=listing.layout,
        looked_for=frozenset() if partial else listing.categories,
        errors=listing.errors,
        notes=tuple(notes),
        files=(source,) if source.is_file() else (),
    )


def _pictures_of(clip: str, instances: Sequence[Instance], split: str) -> list[AnnotatedPicture]:
    """The pictures of a clip at which references are taken, with all objects that are annotated there."""
    references = [(members[0].reference or members[0].id, members) for members in by_reference(instances).values()]
    frames: dict[Path, list[Reference]] = {}
    for name, members in references:
        frame = members[0].moments[len(members[0].moments) // 2].frame
        target = "" if all(instance.absent for instance in members) else name
        sentences = tuple(_sentence(instance) for instance in members if instance.query.text)
        if sentences and split in {"", members[0].split} and (not target or _mask_at(frame, members) is not None):
            reference = Reference(id=name, target=target, sentences=sentences, split=members[0].split)
            frames.setdefault(frame, []).append(reference)
    return [
        AnnotatedPicture(
            id=f"{clip}~{number}" if number > 1 else clip,
            path=frame,
            size=None,
            objects=tuple(
                AnnotatedObject(
                    id=name, category=next(instance.category for instance in members if not instance.absent), mask=mask
                )
                for name, members in references
                if (mask := _mask_at(frame, members)) is not None
            ),
            references=tuple(refs),
        )
        for number, (frame, refs) in enumerate(frames.items(), start=1)
    ]


def _mask_at(frame: Path, members: Iterable[Instance]) -> MaskRef | None:
    """The true mask of a reference on a frame; None where it is not annotated there."""
    moments = (moment for instance in members if not instance.absent for moment in instance.moments)
    return next((moment.target for moment in moments if moment.frame == frame and moment.target is not None), None)


def _sentence(instance: Instance) -> Sentence:
    kind = (instance.negation or "null") if instance.absent else ""
    return Sentence(text=instance.query.text or "", exists=not instance.absent, kind=kind, negative=instance.negative)
