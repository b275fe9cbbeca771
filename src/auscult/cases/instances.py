"""The referring instances of an INPUT, with ground truth, that a benchmark is made of.

A data set that knows its expressions lists its instances itself (``Dataset.instances``). Of any other layout they are
made from its items: an item with a true mask stands for that mask, a listing without any truth is taken as true itself.
The masks of one object index through a clip are one object; so are those of a clip with one mask file without indices a
frame; any other mask is an object of its own, and pictures side by side in a plain folder are photographs.

A frame of a video whose mask cannot be opened, or is not there, stays a moment, without a target: a clip has no holes.

No picture is opened: only indices, names and texts are used.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from auscult.cases.ids import counted, natural_key
from auscult.cases.listing import INPUTS, Listing, ListOptions, Unmasked, layouts, list_items, refuse_options
from auscult.cases.problems import ListError, few
from auscult.errors import REMARKS, ErrorRecord, NothingToDo
from auscult.types import Instance, Item, MaskRef, Moment, Query

_INDEX_IN_ID = re.compile(r"#([0-9]{1,5})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class _FrameMask:
    """A true mask on a frame, and the first item that named it.

    ``number`` is the object's index in its clip where the item says it; else ``name`` is what it is called: the item's
    id, or the id of the target it was made from.
    """

    item: Item
    ref: MaskRef
    number: int | None
    name: str


@dataclass(slots=True)
class _Object:
    """One object of a clip: its masks by frame, and its texts by frame; whether it is one through the clip."""

    id: str
    number: int | None
    followed: bool
    masks: dict[Path, MaskRef] = field(default_factory=dict)
    items: dict[Path, Item] = field(default_factory=dict)


@dataclass(slots=True)
class _ClipMasks:
    """The frames of a clip in order of time, with their masks; frames in ``gaps`` have no known mask."""

    name: str
    gaps: set[Path] = field(default_factory=set)
    frames: dict[Path, list[_FrameMask]] = field(default_factory=dict)
    objects: dict[object, _Object] = field(default_factory=dict)
    supposed: str = ""
    unasked: set[tuple[object, str]] = field(default_factory=set)  # masks, and further texts of them on one frame


def instances_of(
    items: Sequence[Item], *, videos: bool, unmasked: Sequence[Unmasked] = ()
) -> tuple[tuple[Instance, ...], tuple[str, ...]]:
    """Make instances of items, by clip, object and text, in the order of the items; and notes.

    Where an item has truth, its true mask is the target; in a listing where some have truth, an item that has none is
    left out. Where no item has truth the masks themselves are taken as true, as ``auscult stress masks`` takes them.

    ``videos`` says that the layout's frames of a clip are a video; of a folder's frames, a folder of clips is taken as
    videos, and pictures side by side as photographs, which is said. A video keeps ``unmasked`` frames, as moments
    without a target.
    """
    any_truth = _any_truth(items)
    broken = {gap.mask for gap in unmasked if gap.error is not None}
    frame_masks, unknown = [], 0
    for item in items:
        ref = _true_mask(item, any_truth=any_truth)
        if ref is not None and ref.path in broken:
            continue  # which object it would be is not known
        if ref is None:
            unknown += 1
            continue
        target = _target(item)
        frame_masks.append(_FrameMask(item=item, ref=ref, number=_number(ref, target), name=target or item.id))
    instances: list[Instance] = []
    as_video = as_photographs = unasked = 0
    for clip in _clips(frame_masks, videos=videos, unmasked=unmasked):
        instances += _instances(clip)
        as_video += clip.supposed == "video" and not videos
        as_photographs += clip.supposed == "photographs"
        unasked += len(clip.unasked)
    instances = list(_unique_ids(instances))
    supposed = 0
    for index, instance in enumerate(instances):
        if instance.query.text is None and instance.category:
            supposed += 1
            instances[index] = replace(instance, query=Query(f"the {instance.category}"))
    notes = (
        (unknown, "{} left out: the true mask is not known", "item"),
        (as_video, "{} of a clip with one mask a frame: taken as one object of one video", "folder"),
        (
            as_photographs,
            "{} with one mask a frame: taken as photographs; frames of a video belong into frames/<clip>/",
            "folder",
        ),
        (unasked, '{} left out: their mask has another one; lines with "exists" and "reference" are all taken', "text"),
        (supposed, '{} without an expression: "the <category>" stands in, which may fit several', "instance"),
    )
    return tuple(instances), tuple(words.format(counted(count, noun)) for count, words, noun in notes if count)


def sentences_of(items: Sequence[Item]) -> Iterator[Instance]:
    """Items that say in ``exists`` whether their sentence names something, each as an instance of a photograph.

    They are what ``auscult stress negatives`` writes: also ``reference``, ``split``, ``category``, and of a negative
    one ``negative`` with its ``kind``.
    """
    names = _picture_names({item.frame for item in items})
    for item in items:
        negative, exists = item.extra.get("negative"), item.extra["exists"]
        target = _true_mask(item, any_truth=item.truth is not None) if exists else None
        yield Instance(
            id=item.id,
            clip=names[item.frame],
            query=item.query,
            moments=(Moment(frame=item.frame, target=target),),
            split=_extra_text(item, "split"),
            category=_extra_text(item, "category") if exists else "",
            absent=not exists,
            reference=_extra_text(item, "reference"),
            negative=negative if isinstance(negative, Mapping) and not exists else None,
            source=item.source,
            line=item.line,
        )


def _any_truth(items: Iterable[Item]) -> bool:
    """Whether some have truth: then what has none is a candidate, and not true itself."""
    truths = [item.truth for item in items if item.truth is not None]
    return any(truth.mask is not None or truth.iou is not None or truth.defect is not None for truth in truths)


def _true_mask(item: Item, *, any_truth: bool) -> MaskRef | None:
    truth = item.truth
    if truth is not None and truth.mask is not None:
        return truth.mask
    if not any_truth or (truth is not None and truth.defect == "perfect"):
        return item.mask
    return None


def _target(item: Item) -> str | None:
    """The id of the item that a stressed one was made from, as ``auscult stress masks`` notes it."""
    stress = item.extra.get("stress")
    name = stress.get("target") if isinstance(stress, Mapping) else None
    return name if isinstance(name, str) else None


def _number(ref: MaskRef, target: str | None) -> int | None:
    if ref.index is not None:
        return ref.index
    ending = _INDEX_IN_ID.search(target or "")
    return int(ending[1]) if ending else None


def _clips(frame_masks: Iterable[_FrameMask], *, videos: bool, unmasked: Iterable[Unmasked]) -> list[_ClipMasks]:
    frame_masks = list(frame_masks)
    joined = {
        mask.item.clip
        for mask in frame_masks
        if mask.item.clip is not None and (mask.number is not None or not _only_a_folder(mask.item))
    }
    names = _picture_names({mask.item.frame for mask in frame_masks if mask.item.clip not in joined})
    clips: dict[str, _ClipMasks] = {}
    texts: dict[object, str | None] = {}
    for mask in frame_masks:
        name = mask.item.clip if mask.item.clip is not None and mask.item.clip in joined else names[mask.item.frame]
        key = (name, mask.item.frame, _key(mask.ref))
        masks = clips.setdefault(name, _ClipMasks(name)).frames.setdefault(mask.item.frame, [])
        text = mask.item.query.text
        if key not in texts:  # several candidates of one target name the same true mask
            texts[key] = text
            masks.append(mask)
        elif text and text != texts[key]:
            clips[name].unasked.add((key[2] if mask.number is None else mask.number, text))
    for gap in unmasked:
        if gap.clip in joined and gap.clip in clips:
            clips[gap.clip].gaps.add(gap.frame)
            clips[gap.clip].frames.setdefault(gap.frame, [])
    for clip in clips.values():
        _sort(clip)
        _follow(clip, videos=videos)
    return list(clips.values())


def _only_a_folder(item: Item) -> bool:
    """Whether an item's clip is only the folder of its frame (no clip or time given), so maybe of photographs."""
    if item.clip is None:
        return True
    if item.line is None or item.source is None or item.time_s is not None:
        return False
    folder = item.frame.parent
    return folder == item.source.parent or folder.as_posix().endswith(f"/{item.clip}") or folder.name == item.clip


def _picture_names(frames: set[Path]) -> dict[Path, str]:
    """Names of pictures that are no clip: the file's stem, or its path where a stem occurs twice."""
    stems: dict[str, int] = {}
    for frame in frames:
        stems[frame.stem] = stems.get(frame.stem, 0) + 1
    if all(count == 1 for count in stems.values()):
        return {frame: frame.stem for frame in frames}
    root = os.path.commonpath([frame.parent for frame in frames])
    return {frame: frame.stem if stems[frame.stem] == 1 else frame.relative_to(root).as_posix() for frame in frames}


def _key(ref: MaskRef) -> object:
    if ref.path is not None:
        return str(ref.path), ref.index
    return hashlib.blake2b(repr(ref.segmentation).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _sort(clip: _ClipMasks) -> None:
    """Frames by time where all have one, else by name; the masks of a frame by number where they have one."""
    times = {frame: _time_s(masks) for frame, masks in clip.frames.items()}
    timed = all(time is not None for time in times.values())
    names = {frame: natural_key(frame.as_posix()) for frame in times}
    order = sorted(times, key=lambda frame: (times[frame] or 0.0 if timed else 0.0, names[frame]))
    clip.frames = {
        frame: sorted(clip.frames[frame], key=lambda mask: math.inf if mask.number is None else mask.number)
        for frame in order
    }


def _time_s(masks: Sequence[_FrameMask]) -> float | None:
    return masks[0].item.time_s if masks else None


def _follow(clip: _ClipMasks, *, videos: bool) -> None:
    """Join masks that are one object."""
    numbers = [[mask.number for mask in masks if mask.number is not None] for masks in clip.frames.values()]
    numbered = any(numbers) and all(len(set(frame_numbers)) == len(frame_numbers) for frame_numbers in numbers)
    clip.supposed = _supposed(clip, videos=videos) if not any(numbers) else ""
    alone = clip.supposed == "video"
    files: dict[Path, MaskRef] = {}
    for frame, masks in clip.frames.items():
        paths = {mask.ref.path for mask in masks}
        if numbered and len(paths) == 1 and masks[0].ref.path is not None:
            files[frame] = masks[0].ref
        for mask in masks:
            if numbered and mask.number is None and len(masks) == 1 and mask.item.query.text is None:
                continue  # a palette on which nothing is drawn: the frame is annotated, no object is in it
            number = mask.number if numbered else None
            key: object = number if number is not None else clip.name if alone else (frame, mask.name)
            name = f"{clip.name}#{number}" if number is not None else clip.name if alone else mask.name
            obj = clip.objects.setdefault(key, _Object(name, number, number is not None or alone))
            obj.masks.setdefault(frame, mask.ref)
            obj.items.setdefault(frame, mask.item)
    for obj in clip.objects.values():
        if obj.number is not None and any(ref.index is not None for ref in obj.masks.values()):
            for frame, ref in files.items():
                # annotated, and this object is not drawn: it is out of the picture
                obj.masks.setdefault(frame, replace(ref, index=obj.number, absent_ok=True))


def _supposed(clip: _ClipMasks, *, videos: bool) -> str:
    """What pictures with one mask each are: a video where the layout or a folder of the clip's name says so."""
    if len(clip.frames) < 2 or any(len(masks) > 1 for masks in clip.frames.values()):
        return ""
    if videos or all(frame.parent.name == clip.name for frame in clip.frames):
        return "video"
    return "photographs" if sum(map(bool, clip.frames.values())) > 1 else ""


def _instances(clip: _ClipMasks) -> Iterator[Instance]:
    on_frame: dict[Path, list[_Object]] = {frame: [] for frame in clip.frames}
    for obj in clip.objects.values():
        for frame in obj.items:
            on_frame[frame].append(obj)
    for obj in clip.objects.values():
        for index, (text, frames) in enumerate(_texts(clip, obj)):
            same_frame = {id(other): other for frame in frames for other in on_frame[frame] if other is not obj}
            others = [other for other in clip.objects.values() if id(other) in same_frame] if same_frame else []
            first = next((obj.items[frame] for frame in frames if frame in obj.items), None)
            if first is None:
                continue
            moments = tuple(_moment(clip, obj, frame=frame, others=others) for frame in frames)
            names = [_extra_text(next(iter(other.items.values())), "category") for other in others]
            if len(moments) == 1:
                moments = (_with_listed(moments[0], first),)
            yield Instance(
                id=obj.id if index == 0 else f"{obj.id}/{index + 1}",
                clip=clip.name,
                query=Query(text),
                moments=moments,
                split=_extra_text(first, "split"),
                category=_extra_text(first, "category"),
                template=_extra_text(first, "template"),
                others=(*names, *[""] * (len(moments[0].others) - len(names))),
                source=first.source,
                line=first.line,
            )


def _texts(clip: _ClipMasks, obj: _Object) -> list[tuple[str | None, list[Path]]]:
    """The texts asked of an object, each with its frames; one text, or none, is for all frames of the object."""
    gaps = clip.gaps if obj.followed else ()
    frames = [frame for frame in clip.frames if frame in obj.masks or frame in gaps]
    texts = dict.fromkeys(item.query.text for item in obj.items.values())
    expressions = [text for text in texts if text]
    if len(expressions) <= 1:
        return [(expressions[0] if expressions else None, frames)]
    by_text: dict[str | None, list[Path]] = {text: [] for text in texts}
    for frame in frames:
        if frame in obj.items:
            by_text[obj.items[frame].query.text].append(frame)
    return list(by_text.items())


def _moment(clip: _ClipMasks, obj: _Object, *, frame: Path, others: Sequence[_Object]) -> Moment:
    return Moment(
        frame=frame,
        target=obj.masks.get(frame),
        others=tuple(other.masks[frame] if frame in other.items else None for other in others),
        time_s=_time_s(clip.frames[frame]),
    )


def _with_listed(moment: Moment, item: Item) -> Moment:
    """Add what the data set itself draws beside an item; over several frames nothing says which of them are one."""
    keys = {_key(ref) for ref in (moment.target, *moment.others) if ref is not None}
    return replace(moment, others=(*moment.others, *(ref for ref in item.others if _key(ref) not in keys)))


def _extra_text(item: Item, key: str) -> str:
    """What the item's row says beside the known keys; a benchmark's rows say it under ``mqa``."""
    inner: Any = item.extra.get("mqa")
    for row in (item.extra, inner if isinstance(inner, Mapping) else {}):
        value = row.get(key)
        if isinstance(value, str):
            return value
    return ""


def _unique_ids(instances: Iterable[Instance]) -> Iterator[Instance]:
    names: set[str] = set()
    for instance in instances:
        name, count = instance.id, 1
        while name in names:
            count += 1
            name = f"{instance.id}~{count}"
        names.add(name)
        yield instance if name == instance.id else replace(instance, id=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceListing:
    """The instances of an INPUT.

    Attributes:
        instances: Ids unique; moments in order of time.
        errors: (id or None, record) for what could not be listed.
        layout: Registry name of the layout.
        notes: Plain sentences about what was left out or supposed.
        categories: The categories of items; empty where the layout is none of items, or an item was left out.
        unopened: Frames whose mask file cannot be opened, to why: their moments have no target, as those of frames
            that are not annotated, but nobody can tell from which frame on an object is seen.
    """

    instances: tuple[Instance, ...]
    errors: tuple[ListError, ...]
    layout: str
    notes: tuple[str, ...] = ()
    categories: frozenset[str] = frozenset()
    unopened: Mapping[Path, ErrorRecord] = field(default_factory=dict)


@runtime_checkable
class InstanceSource(Protocol):
    """A data set that knows what its expressions refer to."""

    name: str

    def recognises(self, source: Path, options: ListOptions) -> bool:
        """Whether ``source`` has this layout."""
        ...

    def instances(self, source: Path, options: ListOptions) -> InstanceListing:
        """List the instances; ids unique."""
        ...


_PLAIN = ListOptions()
_FOLDER = "datasets.folder.v1"
_SHOWN = "the clip keeps its frame, and nothing is scored there; put the mask in its place to have it scored"


def list_instances(source: Path, options: ListOptions = _PLAIN) -> InstanceListing:
    """List what an INPUT refers to, in whichever layout it is; ``NothingToDo`` where it holds nothing, broken or not.

    A layout that lists instances goes first, even where an ``items.jsonl`` stands beside its files, as in what
    ``auscult make scenes`` writes: it knows splits, expressions and sounds that lines of items do not have.
    """
    layout = next((layout for layout in layouts(source, options) if isinstance(layout, InstanceSource)), None)
    if layout is None:
        listing = _of_items(source, options)
    else:
        refuse_options(options, "text", "texts", layout=f"{layout.name}, with expressions of its own")
        listing = layout.instances(source, options)
    if not listing.instances and all(error.stage in REMARKS for _, error in listing.errors):
        raise NothingToDo(
            f"the input holds no object with a true mask (read as {listing.layout})",
            path=source,
            expected=INPUTS,
            hint="; ".join(listing.notes),
        )
    return listing


def _of_items(source: Path, options: ListOptions) -> InstanceListing:
    listing = list_items(source, options)
    with_exists = [item for item in listing.items if isinstance(item.extra.get("exists"), bool)]
    items = [item for item in listing.items if not isinstance(item.extra.get("exists"), bool)]
    instances, notes = instances_of(items, videos=listing.layout != _FOLDER, unmasked=listing.unmasked)
    instances = (*sentences_of(with_exists), *instances)
    any_truth = _any_truth(items)
    left_out = any(_true_mask(item, any_truth=any_truth) is None for item in items)
    bare = {moment.frame for instance in instances for moment in instance.moments if moment.target is None}
    gaps = [gap for gap in listing.unmasked if gap.frame in bare]
    if options.masks is not None and all(item.truth is None for item in listing.items):
        notes = (*notes, f"no mask of {options.masks} has a truth: each is taken as true itself")
    return InstanceListing(
        instances=instances,
        errors=(*_without_cost(listing, gaps), *((None, error) for error in _missing(gaps))),
        layout=listing.layout,
        notes=(*listing.notes, *notes),
        categories=frozenset() if left_out else frozenset(instance.category for instance in instances) - {""},
        unopened={gap.frame: gap.error for gap in gaps if gap.error is not None},
    )


def _without_cost(listing: Listing, gaps: Sequence[Unmasked]) -> Iterator[ListError]:
    """The errors of a listing; a mask that cannot be opened costs no instance where its frame is kept in a clip.

    Pictures side by side in a plain folder may be photographs: there it costs one.
    """
    loose = listing.layout == _FOLDER
    broken = {gap.error: gap for gap in gaps if gap.error is not None and (not loose or _in_its_clip(gap))}
    for name, error in listing.errors:
        if error in broken:
            yield None, untrue(error)
        else:
            yield name, error
    listed = {error for _, error in listing.errors}
    yield from ((None, untrue(error)) for error in broken if error not in listed)


def _in_its_clip(gap: Unmasked) -> bool:
    return gap.frame.parent.as_posix().endswith(f"/{gap.clip}")


def untrue(error: ErrorRecord) -> ErrorRecord:
    """The remark that a mask file cannot be opened, where that costs its frame the truth and the clip nothing."""
    message = f"the true mask cannot be opened, and its frame stays without truth: {error.error}"
    return replace(error, stage="truth", error=message, hint=error.hint or _SHOWN)


def _missing(gaps: Sequence[Unmasked]) -> Iterator[ErrorRecord]:
    """Missing masks, one record a folder."""
    folders: dict[Path, list[str]] = {}
    for gap in gaps:
        if gap.error is None:
            folders.setdefault(gap.mask.parent, []).append(gap.mask.name)
    for folder, names in folders.items():
        yield ErrorRecord(
            stage="truth",
            error=f"{counted(len(names), 'mask')} {'is' if len(names) == 1 else 'are'} missing: {few(names)}",
            expected="a mask for every frame of the clip",
            hint=_SHOWN,
            path=str(folder),
        )
