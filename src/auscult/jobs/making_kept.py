"""Keeping the scenes of a run: files as they come, lines in order, nothing twice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from auscult.cases import fields
from auscult.errors import InputError, Mismatch, RecordError
from auscult.jobs.making import MadeScene
from auscult.record.folder import RunFolder
from auscult.record.lines import dump, numbered_lines
from auscult.scenes import reading
from auscult.scenes.facts import facts_from_json
from auscult.scenes.refavs_layout import with_video
from auscult.scenes.splits import SPLITS

SCENES, ITEMS = "scenes.jsonl", "items.jsonl"
_MOST_SAID = 100_000


class Keeper:
    """Writes scenes as they come: files at once, lines in the order of the scenes' numbers.

    A scene counts as done when its line of ``scenes.jsonl`` is whole, which is written last.
    """

    def __init__(self, run: RunFolder, *, count: int) -> None:
        self._run = run
        self.done = _done(run.path / SCENES)
        if self.done and max(self.done) >= count:
            raise Mismatch(
                f"the folder holds {max(self.done) + 1} scenes, {count} are asked for",
                path=run.path,
                expected=f"--count {max(self.done) + 1} or more, which adds scenes",
                hint="use --overwrite to begin anew, or another --out",
            )
        self._items = _item_ids(run.path / ITEMS)
        self._waiting: dict[int, MadeScene | None] = {}
        self._to_come = iter(sorted(set(range(count)) - self.done))
        self._next = next(self._to_come, None)

    def keep(self, index: int, scene: MadeScene) -> None:
        """Keep a scene."""
        for name, data in scene.files.items():
            self._run.write_bytes(name, data, durable=False)
        self._waiting[index] = MadeScene(files={}, line=scene.line, items=with_video(scene.items, scene.files))
        self._write()

    def skip(self, index: int) -> None:
        """Wait no longer for a scene."""
        self._waiting[index] = None
        self._write()

    def _write(self) -> None:
        while self._next is not None and self._next in self._waiting:
            scene = self._waiting.pop(self._next)
            if scene is not None:
                self._run.append_many(ITEMS, [row for row in scene.items if row["id"] not in self._items])
                self._run.append(SCENES, scene.line)
            self._next = next(self._to_come, None)

    def in_order(self) -> None:
        """Put lines in order where a scene that failed at first was made by a later run."""
        rows = self._run.lines(SCENES)
        places = [row["index"] for row in rows]
        if places == sorted(places):
            return
        order = {row["id"]: row["index"] for row in rows}
        # A killed run may have left lines of a scene that could not be made since: they go last.
        items = sorted(self._run.lines(ITEMS), key=lambda row: order.get(row["clip"], math.inf))
        self._run.write_bytes(ITEMS, _as_lines(items))
        self._run.write_bytes(SCENES, _as_lines(sorted(rows, key=lambda row: int(row["index"]))))


def _done(path: Path) -> frozenset[int]:
    """Numbers of the scenes that the lines of ``scenes.jsonl`` hold.

    Raises:
        RecordError: A line is none that this command writes, or a second one of its scene.
    """
    done: dict[int, int] = {}
    for number, row in numbered_lines(path):
        try:
            index = _index(row)
        except InputError as error:
            raise _damaged(path, number, error) from error
        if index in done:
            again = InputError(f"line {done[index]} holds scene {index} already", expected="one line for each scene")
            raise _damaged(path, number, again)
        done[index] = number
    return frozenset(done)


def _damaged(path: Path, line: int, error: InputError) -> RecordError:
    return RecordError(
        f"the line is none that `make scenes` writes: {error.message}",
        expected=error.expected,
        hint="the file was edited or damaged; remove the line and run the command again, which makes its scene anew, "
        "or begin anew with --overwrite",
        path=path,
        line=line,
    )


def _index(row: Mapping[str, Any]) -> int:
    """The scene's number; the rest of what tables and ``metadata.csv`` are made of is looked at too."""
    fields.required(row, "id")
    reading.word(row, "split", SPLITS)
    facts_from_json(reading.mapping(row, "facts"))
    for said in reading.entries(row, "expressions", most=_MOST_SAID):
        for key in ("uid", "split", "text", "family", "wording"):
            fields.required(said, key)
        fields.text(said, "target")
        reading.whole(said, "fid", low=0, high=_MOST_SAID)
        if "target" not in said or not _words(said.get("needs")):
            raise fields.wrong("expressions", None, "a list of objects with 'target' and 'needs'")
    return reading.whole(row, "index", low=0, high=2**53)


def _words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _item_ids(path: Path) -> set[str]:
    """Ids of the lines of ``items.jsonl``.

    Raises:
        RecordError: A line has no id or no clip.
    """
    ids = set()
    for number, row in numbered_lines(path):
        try:
            fields.required(row, "clip")
            ids.add(fields.required(row, "id"))
        except InputError as error:
            raise RecordError(
                f"the line is no item's: {error.message}",
                expected=error.expected,
                hint="the file was edited or damaged; begin anew with --overwrite, or use another --out",
                path=path,
                line=number,
            ) from error
    return ids


def _as_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(dump(dict(row)) + b"\n" for row in rows)
