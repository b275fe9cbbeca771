"""The lines of a perturbed ``items.jsonl``: what ``audit`` takes, with what was done and what became of the truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auscult.jobs.clip_tracks import LOOSE, filmed
from auscult.jobs.items import asked
from auscult.jobs.perturb_choice import Choice
from auscult.jobs.perturb_item_parts import audio_id, frame_id, text_id
from auscult.jobs.perturb_parts import Part, Parts
from auscult.jobs.perturb_work import not_done, only
from auscult.stress.recipe import Recipe
from auscult.types import Item

if TYPE_CHECKING:
    from auscult.jobs.perturb import PerturbOptions

ELSEWHERE: Final = ("video", "mixture", "separated")
"""Keys that name files which are not carried along; they are left out, and the line says so."""

BOXES: Final = ("box", "boxes", "bbox", "bboxes")
"""Keys that tell places in the picture; left out where pixels moved."""

SPANS: Final = ("spans_s",)
"""Keys that tell when something is heard; left out where the sound was taken away in part."""

_ROOM_OF: Final[Mapping[str, str]] = {"picture": "vision", "sound": "sound", "sentence": "sentences"}

Rows = Mapping[str, Mapping[str, Any]]


def item_lines(parts: Parts, choice: Choice, *, rows: Rows, options: PerturbOptions) -> list[dict[str, Any]]:
    """The lines of one recipe, in the order of INPUT; an item that failed in any of its parts has none.

    Args:
        parts: What INPUT holds.
        choice: The recipe.
        rows: Its lines of ``outputs.jsonl``, by part.
        options: Where INPUT is, and the seed.
    """
    assert parts.listing is not None  # noqa: S101 - the caller looked
    films = filmed(parts.listing)
    known = {part.id: part for part in parts.parts}
    lines = []
    for item in parts.listing.items:
        names = part_names(item, known, choice, source=options.source)
        found = _Found.of(item, names, recipe=choice.of(known[names["picture"]]), seed=options.seed, rows=rows)
        if found is not None:
            lines.append(found.line(loose=item.id not in films))
    return lines


def part_names(item: Item, known: Mapping[str, Part], choice: Choice, *, source: Path) -> dict[str, str]:
    """Which parts an item is put together from: ``picture``, ``sound``, ``sentence`` to a part's id."""
    names = {"picture": frame_id(item, source)}
    if item.audio is not None:
        own = audio_id(item, source, known[names["picture"]].group)
        names["sound"] = own if own in known else audio_id(item, source)
    if item.query.text:
        part = known.get(text_id(item))
        if part is not None and only(choice.of(part), part).steps:
            names["sentence"] = part.id
    return names


class _Found:
    """An item with the rows of its frame, its sound and its expression."""

    def __init__(self, item: Item, *, recipe: Recipe, seed: int, rows: Rows) -> None:
        self._item = item
        self._recipe = recipe
        self._seed = seed
        self._rows = rows

    @classmethod
    def of(cls, item: Item, names: Mapping[str, str], *, recipe: Recipe, seed: int, rows: Rows) -> _Found | None:
        """Put an item together; None where one of its parts is missing."""
        if any(name not in rows for name in names.values()) or item.id not in rows[names["picture"]]["items"]:
            return None
        return cls(item, recipe=recipe, seed=seed, rows={what: rows[name] for what, name in names.items()})

    def line(self, *, loose: bool) -> dict[str, Any]:
        """The line; keys that auscult does not know are kept."""
        item, picture = self._item, self._rows["picture"]
        extra = {key: value for key, value in item.extra.items() if key not in {*self._left_out(), "stress"}}
        said = picture["items"][item.id]
        row: dict[str, Any] = {"id": item.id, "frame": self._below(picture), "mask": said["mask"], **asked(item)}
        if "sentence" in self._rows:
            row["text"] = self._rows["sentence"]["text"]
        if "sound" in self._rows:
            row["audio"] = self._below(self._rows["sound"])
        if "truth" in said:
            row["truth"] = said["truth"]
        return {**row, **extra, "stress": self._stress(loose=loose)}

    def _left_out(self) -> list[str]:
        """Keys of the item that are not carried along: what they tell is elsewhere, or true no more."""
        keys = [*ELSEWHERE]
        keys += BOXES if self._rows["picture"]["moved"] else ()
        keys += SPANS if self._rows.get("sound", {}).get("silent_s") else ()
        return [key for key in keys if key in self._item.extra]

    def _below(self, row: Mapping[str, Any]) -> str:
        return str(row["output"]).removeprefix(f"{self._recipe.name}/")

    def _stress(self, *, loose: bool) -> dict[str, Any]:
        item, picture = self._item, self._rows["picture"]
        plans = {what: row["plan"] for what, row in self._rows.items() if row["plan"] is not None}
        told: dict[str, Any] = {"recipe": self._recipe.name, "seed": self._seed, "plans": plans}
        told |= {"index": picture["index"], "moved": picture["moved"]}
        if "sentence" in self._rows:
            told |= {"text": item.query.text, "words": self._rows["sentence"]["words"]}
        silent = self._rows.get("sound", {}).get("silent_s")
        if silent:
            told["silent_s"] = silent
        left = not_done(self._recipe, {_ROOM_OF[what] for what in self._rows})
        if left:
            told["not_done"] = left
        left_out = self._left_out()
        if left_out:
            told["left_out"] = left_out
        if loose:
            told[LOOSE] = True
        if "stress" in item.extra:
            told["before"] = item.extra["stress"]
        return told
