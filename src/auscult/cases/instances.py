"""What an INPUT refers to, with truth: the instances that a benchmark is made of.

A data set that knows its expressions lists its instances itself (``Dataset.instances``). Of any other layout they are
made from its items: an item with a true mask stands for that mask, a listing without any truth is taken as true itself.
The masks of one object index through a clip are one object; so are those of a clip with one mask file without indices a
frame; any other mask is an object of its own, and pictures side by side in a plain folder are photographs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from auscult import registry
from auscult.cases.listing import INPUTS, ListError, ListOptions, list_items, refuse_options
from auscult.cases.objects import instances_of
from auscult.errors import REMARKS, NothingToDo
from auscult.types import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceListing:
    """The instances of an INPUT.

    Attributes:
        instances: Ids unique; moments in order of time.
        errors: (id or None, record) for what could not be listed.
        layout: Registry name of the layout.
        notes: Plain sentences about what was left out or supposed.
    """

    instances: tuple[Instance, ...]
    errors: tuple[ListError, ...]
    layout: str
    notes: tuple[str, ...] = ()


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
    instances, notes = instances_of(listing.items, videos=listing.layout != _FOLDER)
    if options.masks is not None and all(item.truth is None for item in listing.items):
        notes = (*notes, f"no mask of {options.masks} has a truth: each is taken as true itself")
    return InstanceListing(
        instances=instances, errors=listing.errors, layout=listing.layout, notes=(*listing.notes, *notes)
    )


def _knowing(source: Path, options: ListOptions) -> InstanceSource | None:
    """The data set that lists its instances itself; a plug-in's goes before a built-in one."""
    entries = sorted(registry.entries("dataset"), key=lambda entry: (entry.package == registry.BUILT_IN, entry.name))
    for entry in entries:
        dataset = entry.load()
        if isinstance(dataset, InstanceSource) and dataset.recognises(source, options):
            return dataset
    return None
