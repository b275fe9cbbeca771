"""Which category each cut-out of a folder belongs to, and what its photographs are known to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from auscult.cases.named_files import NAMES, NamedFile, listed_rows, named_files, noun
from auscult.cases.walk import Tree
from auscult.errors import ErrorRecord, InputError

PICTURES: Final = frozenset({".png", ".webp", ".tif", ".tiff", ".jpg", ".jpeg", ".gif", ".bmp"})
"""Endings that ``cutouts/`` is searched for; those of formats without alpha too, so that they are told of."""


def categories(tree: Tree) -> tuple[list[NamedFile], list[ErrorRecord]]:
    """Name every picture of a folder by its sub-folder, else by its row in ``names.csv``.

    Returns:
        The named files in natural order, and an error for each picture without a usable name and each row without use.
    """
    return named_files(tree, PICTURES, what="cut-out")


def names_by_file(tree: Tree) -> tuple[Mapping[str, frozenset[str]], list[ErrorRecord]]:
    """All names that ``names.csv`` gives each file; a file may have several rows.

    Returns:
        File to names, and an error for each row without use.
    """
    rows, errors = listed_rows(tree)
    found: dict[str, frozenset[str]] = {}
    for row in rows:
        file, given = row.cells
        try:
            name = noun(given, "the name of what is shown", path=tree.files[NAMES], line=row.line)
            found[file] = found.get(file, frozenset()) | {name}
        except InputError as error:
            errors.append(ErrorRecord.of(error, "read"))
    return found, errors
