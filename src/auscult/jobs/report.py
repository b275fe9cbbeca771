"""``auscult report``: lay out a record again; nothing is judged or asked, no input file is needed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from auscult.errors import InputError, RecordError
from auscult.jobs.finish import finish_run
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes
from auscult.record.codec import load
from auscult.record.files import Files
from auscult.record.folder import FolderLock, open_run, read_manifest
from auscult.record.reader import read_verdicts, require_record, require_whole
from auscult.record.schema import Summary
from auscult.report.page import Page, render
from auscult.report.suite import PAGE, REPORT, read_page

_SUITES: Final = "run "
_SUMMARY: Final = "summary.json"
_MOST: Final = Limits(max_bytes=64 << 20)
_AGAIN: Final = "repeat the `auscult run` command that made the record: it asks nothing again"


def report_folder(folder: Path) -> Summary:
    """Write summary, tables, CSV, COCO and report of a record anew from its lines."""
    require_record(folder)
    manifest = read_manifest(folder)
    command = str(manifest["command"])
    if command not in {"audit", "demo"}:
        raise RecordError(
            f"the record was made by `auscult {command}`",
            path=folder,
            expected="a record of `auscult audit` or `auscult run`",
            hint="its tables/ folder holds the tables of other commands",
        )
    verdicts = read_verdicts(folder)
    require_whole(folder, verdicts)
    with open_run(folder, manifest) as run:
        run.remove(_SUMMARY)  # it is written anew; a damaged one is no reason to stop
        return finish_run(run, command=command, verdicts=verdicts, ended="finished" in manifest)


def is_suite(folder: Path) -> bool:
    """Whether a folder is the record of a suite, whose report is laid out by its own page."""
    require_record(folder)
    return str(read_manifest(folder)["command"]).startswith(_SUITES) or (folder / PAGE).is_file()


def report_suite(folder: Path) -> Page:
    """Write the report of a suite's record anew, from its finished tables, charts and pictures.

    Everything else stays as it is, the manifest too: whether the run came to its end is not for a report to say.
    """
    require_record(folder)
    with ExitStack() as held:
        held.callback(FolderLock(folder).release)
        page = read_page(folder)
        files = Files(folder)
        held.callback(files.close)
        files.replace(REPORT, render(page).encode())
    return page


def summary_of(folder: Path) -> Mapping[str, Any]:
    """The summary that lies in a record."""
    path = folder / _SUMMARY
    try:
        content = load(read_bytes(path, limits=_MOST))
    except InputError as error:
        raise RecordError(f"the summary cannot be read: {error.message}", path=path, hint=_AGAIN) from error
    except ValueError as error:
        raise RecordError(f"the summary cannot be read: {error}", path=path, hint=_AGAIN) from error
    if not isinstance(content, dict):
        raise RecordError("the summary is no JSON object", path=path, hint=_AGAIN)
    return content
