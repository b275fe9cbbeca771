"""Which label each sound of a folder has, and the words for it: sub-folders, ``names.csv``, ``verbs.csv``."""

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
from auscult.media.sound import SOUND_SUFFIXES

NAMES: Final = "names.csv"
VERBS: Final = "verbs.csv"
_LIMITS: Final = Limits(max_bytes=16_777_216)
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True)
class Named:
    """A sound file with a label.

    Attributes:
        name: Relative to the folder, with ``/``.
        path: The file.
        label: What sounds.
    """

    name: str
    path: Path
    label: str


def labels(tree: Tree) -> tuple[list[Named], list[ErrorRecord]]:
    """Label every sound by the sub-folder it lies in, else by its row in ``names.csv`` (columns ``file,name``).

    Underscores are read as spaces.

    Returns:
        The labelled files in natural order, and an error for each sound without a usable label.
    """
    errors: list[ErrorRecord] = []
    rows: Mapping[str, tuple[str, ...]] = {}
    if NAMES in tree.files:
        rows, errors = _rows(tree.files[NAMES], ("file", "name"))
    named = []
    for name, path in tree.with_suffix(SOUND_SUFFIXES).items():
        given = PurePosixPath(name).parent.name or rows.get(name, ("",))[0]
        try:
            named.append(Named(name, path, _word(given, "the sound's name", path=path)))
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return named, errors


def words(tree: Tree) -> tuple[Mapping[str, tuple[str, str]], list[ErrorRecord]]:
    """Label to noun and verb, from ``verbs.csv`` (columns ``label,noun,verb``); nothing where there is no such file."""
    if VERBS not in tree.files:
        return {}, []
    path = tree.files[VERBS]
    rows, errors = _rows(path, ("label", "noun", "verb"))
    found = {}
    for label, (noun, verb) in rows.items():
        try:
            told = f"of {label[:_LONGEST]!r}"
            pair = _word(noun, f"the noun {told}", path=path), _word(verb, f"the verb {told}", path=path)
            found[_word(label, "the label", path=path)] = pair
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return found, errors


def _word(text: str, what: str, *, path: Path) -> str:
    word = " ".join(text.replace("_", " ").split())
    if not word:
        raise InputError(
            f"{what} is missing",
            expected="a sub-folder of sounds/ that names what sounds, or a row in sounds/names.csv (file,name)",
            path=path,
        )
    if len(word) > _LONGEST or not word.isprintable():
        raise InputError(
            f"{what} is {word[:_LONGEST]!a}", expected=f"at most {_LONGEST} printable characters", path=path
        )
    return word


def _rows(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], list[ErrorRecord]]:
    """Read a table: its first column to the others. Rows with an empty first cell are left out."""
    expected = f"a CSV file in UTF-8 with the columns {','.join(columns)}"
    try:
        text = read_bytes(path, limits=_LIMITS).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        if set(columns) <= set(reader.fieldnames or ()):
            rows = [tuple((row[column] or "").strip() for column in columns) for row in reader]
            return {key: tuple(rest) for key, *rest in rows if key}, []
        error = InputError("the list has other columns", expected=expected, path=path)
    except UnicodeDecodeError:
        error = InputError("the list is not UTF-8", expected=expected, path=path)
    except csv.Error as broken:
        error = InputError(f"the list cannot be read: {broken}", expected=expected, path=path)
    except InputError as given:
        error = given
    return {}, [ErrorRecord.of(error, "read")]
