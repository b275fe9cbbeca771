"""The parts of an INPUT that are perturbed and kept by themselves, and what can be done to each kind of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from auscult.cases.listing import Listing
from auscult.errors import ErrorRecord
from auscult.jobs.perturb_texts import Sentences
from auscult.types import Item

Kind: TypeAlias = Literal["picture", "video", "sound", "sentence", "frame", "audio", "text"]

ROOMS_OF: Final[dict[Kind, frozenset[str]]] = {
    "picture": frozenset({"vision"}),
    "video": frozenset({"vision", "sound", "timing"}),
    "sound": frozenset({"sound"}),
    "sentence": frozenset({"sentences"}),
    "frame": frozenset({"vision"}),
    "audio": frozenset({"sound"}),
    "text": frozenset({"sentences"}),
}
"""What can be done to each kind of part. Frames and sounds of items that nothing is done to are carried along."""

CARRIED: Final[frozenset[Kind]] = frozenset({"frame", "audio"})

OF_ITEMS: Final[frozenset[Kind]] = frozenset({"frame", "audio", "text"})
"""Parts of items: what one of them cannot take, another does."""

RATE_FPS: Final = 25.0
"""Frames a second of a clip that does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The smallest thing that is perturbed and kept by itself.

    Attributes:
        id: Unique among the parts.
        kind: ``frame``, ``audio`` and ``text`` are parts of items, the others stand alone.
        key: What the draws are made for; frames of one clip share it.
        group: The clip or file it is of; a preset draws one recipe for all parts of a group.
        path: The file, or None for a sentence.
        name: Of the file that is made, below the recipe's folder; empty for a sentence.
        carried: Of its copy, where nothing is done to it.
        index: The frame's number in its clip.
        count: How many frames the clip has.
        rate_fps: Frames of the clip per second.
        text: The sentence.
        items: The items of a frame.
        twins: Those of the items' ids from which another item's differs in upper and lower case alone.
        costs: Ids of the items that are lost with a sound or an expression.
    """

    id: str
    kind: Kind
    key: str
    group: str = ""
    path: Path | None = None
    name: str = ""
    carried: str = ""
    index: int = 0
    count: int = 1
    rate_fps: float = RATE_FPS
    text: str = ""
    items: tuple[Item, ...] = ()
    twins: frozenset[str] = frozenset()
    costs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What an INPUT holds.

    Attributes:
        layout: How it was read.
        parts: In order.
        errors: (id or None, record) for what could not be listed.
        notes: What was left out on purpose.
        listing: The items, where INPUT is one of items.
        sentences: The table, where INPUT is one of sentences.
    """

    layout: str
    parts: tuple[Part, ...]
    errors: tuple[tuple[str | None, ErrorRecord], ...] = ()
    notes: tuple[str, ...] = ()
    listing: Listing | None = None
    sentences: Sentences | None = None
