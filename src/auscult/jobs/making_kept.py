"""Keeping the scenes of a run: files as they come, lines in order, nothing twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from auscult.errors import Mismatch, RecordError
from auscult.jobs.making import MadeScene
from auscult.record.folder import RunFolder
from auscult.record.lines import dump

SCENES, ITEMS = "scenes.jsonl", "items.jsonl"


class Keeper:
    """Writes scenes as they come: files at once, lines in the order of the scenes' numbers.

    A scene counts as done when its line of ``scenes.jsonl`` is whole, which is written last.
    """

    def __init__(self, run: RunFolder, *, count: int) -> None:
        self._run = run
        self.done = frozenset(_index(row, run.path) for row in run.lines(SCENES))
        if self.done and max(self.done) >= count:
            raise Mismatch(
                f"the folder holds {max(self.done) + 1} scenes, {count} are asked for",
                path=run.path,
                expected=f"--count {max(self.done) + 1} or more, which adds scenes",
                hint="use --overwrite to begin anew, or another --out",
            )
        self._items = {row["id"] for row in run.lines(ITEMS)}
        self._waiting: dict[int, MadeScene | None] = {}
        self._to_come = iter(sorted(set(range(count)) - self.done))
        self._next = next(self._to_come, None)

    def keep(self, index: int, scene: MadeScene) -> None:
        """Keep a scene."""
        for name, data in scene.files.items():
            self._run.write_bytes(name, data, durable=False)
        self._waiting[index] = MadeScene(files={}, line=scene.line, items=scene.items)
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
        items = sorted(self._run.lines(ITEMS), key=lambda row: order[row["clip"]])
        self._run.write_bytes(ITEMS, _as_lines(items))
        self._run.write_bytes(SCENES, _as_lines(sorted(rows, key=lambda row: int(row["index"]))))


def _index(row: Mapping[str, Any], folder: Path) -> int:
    index = row.get("index")
    if type(index) is not int or index < 0:
        raise RecordError(
            f"a line of {SCENES} has the index {str(index)[:40]}",
            expected="the number of a scene",
            hint="the file was edited or damaged; run the command again with --overwrite",
            path=folder / SCENES,
        )
    return index


def _as_lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(dump(dict(row)) + b"\n" for row in rows)
