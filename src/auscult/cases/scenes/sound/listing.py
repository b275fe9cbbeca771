"""Which label each sound of a folder has, and the words for it: sub-folders, ``names.csv``, ``verbs.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from auscult.cases.named_files import NamedFile, Row, first_rows, named_files, noun, plain, table
from auscult.cases.walk import Tree
from auscult.errors import ErrorRecord, InputError
from auscult.media.sound import SOUND_SUFFIXES

VERBS: Final = "verbs.csv"


def labels(tree: Tree) -> tuple[list[NamedFile], list[ErrorRecord]]:
    """Label every sound by the sub-folder it lies in, else by its row in ``names.csv`` (columns ``file,name``).

    Returns:
        The labelled files in natural order, and an error for each sound without a usable label and each row without
        use.
    """
    return named_files(tree, SOUND_SUFFIXES, what="sound")


def words(tree: Tree) -> tuple[Mapping[str, tuple[str, str]], list[ErrorRecord]]:
    """Label to noun and verb, from ``verbs.csv`` (columns ``label,noun,verb``); nothing where there is no such file."""
    listed, errors = table(tree, VERBS, columns=("label", "noun", "verb"))
    path = tree.folder / VERBS
    rows: list[Row] = []
    for row in listed:
        try:
            rows.append(_cleaned(row, path))
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    found, again = first_rows(rows, path=path)
    return {label: (row.cells[1], row.cells[2]) for label, row in found.items()}, [*errors, *again]


def _cleaned(row: Row, path: Path) -> Row:
    label = noun(row.cells[0], "the label", path=path, line=row.line)
    name, verb = (
        plain(cell, f"the {what} of {label!r}", path=path, line=row.line)
        for what, cell in zip(("noun", "verb"), row.cells[1:], strict=True)
    )
    return Row((label, name, verb), row.line)
