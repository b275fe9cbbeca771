"""Which category each cut-out of a folder belongs to, and what its photographs are known to show."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from auscult.cases.walk import Tree
from auscult.errors import ErrorRecord, InputError
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes

LIST: Final = "names.csv"
_SUFFIXES: Final = frozenset({".png", ".webp", ".tif", ".tiff", ".jpg", ".jpeg", ".gif", ".bmp"})
_LIMITS: Final = Limits(max_bytes=16_777_216)
_LONGEST: Final = 60
_EXPECTED: Final = "a CSV file with the columns file,name"


@dataclass(frozen=True, slots=True)
class Named:
    """A file with a category.

    Attributes:
        name: Relative to the folder, with ``/``.
        path: The file.
        category: Countable noun.
    """

    name: str
    path: Path
    category: str


def categories(tree: Tree) -> tuple[list[Named], list[ErrorRecord]]:
    """Name every picture of a folder by its sub-folder, else by its row in ``names.csv``.

    Returns:
        The named files in natural order, and an error for each picture without a usable name.
    """
    rows, errors = _rows(tree)
    names = dict(rows)
    named = []
    for name, path in tree.with_suffix(_SUFFIXES).items():
        parent = PurePosixPath(name).parent.name
        try:
            named.append(Named(name, path, _category(parent or names.get(name, ""), path)))
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return named, errors


def names_by_file(tree: Tree) -> tuple[Mapping[str, frozenset[str]], list[ErrorRecord]]:
    """All names that ``names.csv`` gives each file, in lower case; a file may have several rows."""
    rows, errors = _rows(tree)
    found: dict[str, frozenset[str]] = {}
    for name, category in rows:
        found[name] = found.get(name, frozenset()) | {category.lower()}
    return found, errors


def _category(text: str, path: Path) -> str:
    category = " ".join(text.replace("_", " ").split())
    if not category:
        raise InputError(
            "the cut-out has no name",
            expected="a sub-folder of cutouts/ that names what it shows, or a row in cutouts/names.csv (file,name)",
            path=path,
        )
    if len(category) > _LONGEST or not category.isprintable():
        raise InputError(
            f"the cut-out's name is {category[:_LONGEST]!a}",
            expected=f"a noun of at most {_LONGEST} printable characters",
            path=path,
        )
    return category


def _rows(tree: Tree) -> tuple[list[tuple[str, str]], list[ErrorRecord]]:
    """Read ``names.csv``: rows of file and name; nothing where it is absent, and an error where it cannot be read."""
    path = tree.files.get(LIST)
    if path is None:
        return [], []
    try:
        return _parsed(read_bytes(path, limits=_LIMITS).decode("utf-8-sig"), path), []
    except UnicodeDecodeError:
        error = InputError("the list is not UTF-8", expected="a CSV file in UTF-8", path=path)
    except csv.Error as broken:
        error = InputError(f"the list cannot be read: {broken}", expected=_EXPECTED, path=path)
    except InputError as given:
        error = given
    return [], [ErrorRecord.of(error, "read")]


def _parsed(text: str, path: Path) -> list[tuple[str, str]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if not {"file", "name"} <= set(reader.fieldnames or ()):
        raise InputError("the list has other columns", expected=_EXPECTED, path=path)
    return [(row["file"].strip(), row["name"].strip()) for row in reader if row["file"] and row["name"]]
