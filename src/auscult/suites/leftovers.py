"""Tables, charts and pictures that an earlier command of the same folder wrote, and this one did not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from auscult.errors import AuscultError
from auscult.media.paths import inside
from auscult.record.files import NOTES
from auscult.record.folder import RunFolder
from auscult.record.lines import read_lines
from auscult.report.suite import Example
from auscult.report.tables import Table

FOLDERS: Final = ("tables/", "figures/", "pictures/")
_TABLE: Final = (".json", ".csv", ".tex")
_CHART: Final = (".json", ".svg", ".png")


def written_files(tables: Mapping[str, Table], charts: Iterable[str], pictures: Iterable[Example] = ()) -> set[str]:
    """The files of a suite's results, as ``report.suite`` names them."""
    found = {f"tables/{name}{end}" for name in tables for end in _TABLE}
    found |= {f"figures/{name}{end}" for name in charts for end in _CHART}
    return found | {one.file for one in pictures if one.file}


def remove_stale(run: RunFolder, written: Collection[str]) -> None:
    """Remove tables and figures that lie in the record and are none of these; of files, only those noted as ours.

    A note that a hand has altered, so that it leads elsewhere, removes nothing.
    """
    noted = {str(row.get("name")) for row in read_lines(run.path / NOTES)}
    for name in sorted(noted - set(written)):
        if name.startswith(FOLDERS) and _is_plain(run, name):
            run.remove(name)


def _is_plain(run: RunFolder, name: str) -> bool:
    """Whether it is a real file of the record, reached without a symbolic link."""
    try:
        path = inside(run.path, name)
    except AuscultError:
        return False
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not hidden and path.is_file() and path.resolve() == run.path.resolve() / name
