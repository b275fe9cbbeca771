"""What ``auscult make scenes`` knows beside the released table: ``scenes.jsonl``, read as far as it helps.

The families of its expressions are exact where the classes of ``template_of`` are guessed from words, and every object
has a category, referred to or not. A line that cannot be read costs only that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from auscult.cases.ids import counted
from auscult.cases.strict_json import parse
from auscult.cases.walk import is_file
from auscult.errors import InputError

FILE = "scenes.jsonl"
MAX_LINE_BYTES = 16 * 1024 * 1024

_DIGITS = 5


@dataclass(slots=True)
class Scenes:
    """Families by uid, and categories by clip and object number.

    Attributes:
        families: uid to family.
        categories: (clip, object number) to category.
        broken: Lines that could not be read.
    """

    families: dict[str, str] = field(default_factory=dict)
    categories: dict[tuple[str, int], str] = field(default_factory=dict)
    broken: int = 0

    def notes(self) -> tuple[str, ...]:
        """What could not be read, in a plain sentence."""
        told = f"{counted(self.broken, 'line')} of {FILE} left out: families and categories come from the table"
        return (told,) if self.broken else ()


def read_scenes(source: Path) -> Scenes:
    """Read the scenes of a folder; empty where there are none."""
    found = Scenes()
    file = source / FILE
    if not is_file(file):
        return found
    for line in _lines(file):
        try:
            row = None if line is None else parse(line, path=file)
        except InputError:
            row = None
        clip = row.get("id") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(clip, str):
            found.broken += 1
            continue
        _add(found, clip, row)
    return found


def _add(found: Scenes, clip: str, row: Mapping[str, Any]) -> None:
    facts = row.get("facts")
    for thing in _objects(facts.get("things") if isinstance(facts, dict) else None):
        name, category = thing.get("id"), thing.get("category")
        if (
            isinstance(name, str)
            and name.isascii()
            and name.isdigit()
            and len(name) <= _DIGITS
            and isinstance(category, str)
        ):
            found.categories[clip, int(name)] = category
    for one in _objects(row.get("expressions")):
        uid, family = one.get("uid"), one.get("family")
        if isinstance(uid, str) and isinstance(family, str):
            found.families[uid] = family


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _lines(file: Path) -> Iterator[bytes | None]:
    """The lines that are not blank; None, and no further, for one that is too long or cannot be read."""
    try:
        with file.open("rb") as opened:
            while content := opened.readline(MAX_LINE_BYTES + 1):
                if len(content) > MAX_LINE_BYTES:
                    yield None
                    return
                if content.strip():
                    yield content.strip()
    except OSError:
        yield None
