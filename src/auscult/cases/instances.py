"""What an INPUT refers to, with truth: the instances that a benchmark is made of.

A data set that knows its expressions lists its instances itself (``Dataset.instances``). Of any other layout they are
made from its items: an item with a true mask stands for that mask, a listing without any truth is taken as true itself.
The masks of one object index through a clip are one object; so are those of a clip with one mask file without indices a
frame; any other mask is an object of its own, and pictures side by side in a plain folder are photographs.

A frame of a video whose mask cannot be opened, or is not there, stays a moment, without a target: a clip has no holes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from auscult import registry
from auscult.cases.ids import counted, shown
from auscult.cases.listing import INPUTS, ListError, Listing, ListOptions, Unmasked, list_items, refuse_options
from auscult.cases.objects import instances_of
from auscult.errors import REMARKS, ErrorRecord, NothingToDo
from auscult.types import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceListing:
    """The instances of an INPUT.

    Attributes:
        instances: Ids unique; moments in order of time.
        errors: (id or None, record) for what could not be listed.
        layout: Registry name of the layout.
        notes: Plain sentences about what was left out or supposed.
        unopened: Frames whose mask file cannot be opened, to why: their moments have no target, as those of frames
            that are not annotated, but nobody can tell from which frame on an object is seen.
    """

    instances: tuple[Instance, ...]
    errors: tuple[ListError, ...]
    layout: str
    notes: tuple[str, ...] = ()
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
_NAMED = 3
_SHOWN = "the clip keeps its frame, and nothing is scored there; put the mask in its place to have it scored"


def list_instances(source: Path, options: ListOptions = _PLAIN) -> InstanceListing:
    """List what an INPUT refers to, in whichever layout it is.

    A layout that lists instances goes first, even where an ``items.jsonl`` stands beside its files, as in what
    ``auscult make scenes`` writes: it knows splits, expressions and sounds that lines of items do not have.

    Args:
        source: A folder or file.
        options: How it is read; as for ``list_items``.

    Raises:
        NothingToDo: It holds neither an instance nor a broken one; the message says what INPUT can be.
        UsageError: It does not exist, or an option does not fit it.
    """
    known = _knowing(source, options)
    if known is None:
        listing = _of_items(source, options)
    else:
        refuse_options(options, "text", "texts", layout=f"{known.name}, with expressions of its own")
        listing = known.instances(source, options)
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
    instances, notes = instances_of(listing.items, videos=listing.layout != _FOLDER, unmasked=listing.unmasked)
    bare = {moment.frame for one in instances for moment in one.moments if moment.target is None}
    kept = [one for one in listing.unmasked if one.frame in bare]
    if options.masks is not None and all(item.truth is None for item in listing.items):
        notes = (*notes, f"no mask of {options.masks} has a truth: each is taken as true itself")
    return InstanceListing(
        instances=instances,
        errors=(*_without_cost(listing, kept), *((None, error) for error in _missing(kept))),
        layout=listing.layout,
        notes=(*listing.notes, *notes),
        unopened={one.frame: one.error for one in kept if one.error is not None},
    )


def _without_cost(listing: Listing, kept: Sequence[Unmasked]) -> Iterator[ListError]:
    """The errors of a listing; a mask that cannot be opened costs no instance where its frame is kept in a clip.

    Pictures side by side in a plain folder may be photographs: there it costs one.
    """
    loose = listing.layout == _FOLDER
    broken = {one.error: one for one in kept if one.error is not None and (not loose or _in_its_clip(one))}
    for name, error in listing.errors:
        if error in broken:
            yield None, untrue(error)
        else:
            yield name, error
    told = {error for _, error in listing.errors}
    yield from ((None, untrue(error)) for error in broken if error not in told)


def _in_its_clip(one: Unmasked) -> bool:
    return one.frame.parent.as_posix().endswith(f"/{one.clip}")


def untrue(error: ErrorRecord) -> ErrorRecord:
    """The remark that a mask file cannot be opened, where that costs its frame the truth and the clip nothing."""
    message = f"the true mask cannot be opened, and its frame stays without truth: {error.error}"
    return replace(error, stage="truth", error=message, hint=error.hint or _SHOWN)


def _missing(kept: Sequence[Unmasked]) -> Iterator[ErrorRecord]:
    """What is missing, once a folder of masks."""
    folders: dict[Path, list[str]] = {}
    for one in kept:
        if one.error is None:
            folders.setdefault(one.mask.parent, []).append(one.mask.name)
    for folder, names in folders.items():
        few = ", ".join(map(shown, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
        yield ErrorRecord(
            stage="truth",
            error=f"{counted(len(names), 'mask')} {'is' if len(names) == 1 else 'are'} missing: {few}",
            expected="a mask for every frame of the clip",
            hint=_SHOWN,
            path=str(folder),
        )


def _knowing(source: Path, options: ListOptions) -> InstanceSource | None:
    """The data set that lists its instances itself; a plug-in's goes before a built-in one."""
    entries = sorted(registry.entries("dataset"), key=lambda entry: (entry.package == registry.BUILT_IN, entry.name))
    for entry in entries:
        dataset = entry.load()
        if isinstance(dataset, InstanceSource) and dataset.recognises(source, options):
            return dataset
    return None
