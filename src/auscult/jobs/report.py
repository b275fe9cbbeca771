"""``auscult report``: lay out a record again; nothing is judged, no model is run, no input file is needed."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from auscult.jobs.finish import finish_run
from auscult.record.files import Files
from auscult.record.folder import FolderLock, open_run, read_manifest
from auscult.record.reader import SUMMARY, read_all_verdicts, require_audit, require_record, require_whole
from auscult.record.schema import Summary
from auscult.report.page import Page, render
from auscult.report.suite import PAGE, REPORT, read_page

AGAIN: Final = "repeat the `auscult run` command that made the record: it asks nothing again"


def report_folder(folder: Path) -> Summary:
    """Write summary, tables, CSV, COCO and report of a record anew from its lines."""
    require_record(folder)
    manifest = read_manifest(folder)
    require_audit(folder, manifest)
    verdicts, sounds = read_all_verdicts(folder)
    require_whole(folder, verdicts, sounds)
    with open_run(folder, manifest) as run:
        run.remove(SUMMARY)  # it is written anew; a damaged one is no reason to stop
        command, ended = str(manifest["command"]), "finished" in manifest
        return finish_run(run, command=command, verdicts=verdicts, sounds=sounds, ended=ended)


def is_suite(folder: Path) -> bool:
    """Whether a folder is the record of a suite, which has a page layout of its own."""
    require_record(folder)
    return str(read_manifest(folder)["command"]).startswith("run ") or (folder / PAGE).is_file()


def report_suite(folder: Path) -> Page:
    """Write the report of a suite's record anew, from its finished tables, charts and pictures.

    Everything else stays as it is, the manifest too: a report does not mark a run as finished.
    """
    require_record(folder)
    with ExitStack() as held:
        held.callback(FolderLock(folder).release)
        page = read_page(folder)
        files = Files(folder)
        held.callback(files.close)
        files.write_bytes(REPORT, render(page).encode())
    return page
