"""``auscult report``: lay out a record again; nothing is judged, no input file is needed."""

from __future__ import annotations

from pathlib import Path

from auscult.errors import RecordError
from auscult.jobs.finish import finish_run
from auscult.record.folder import open_run, read_manifest
from auscult.record.reader import require_record
from auscult.record.schema import Summary


def report_folder(folder: Path) -> Summary:
    """Write summary, tables, CSV, COCO and report of a record anew from its lines.

    Args:
        folder: A record of ``auscult audit``; it may be unfinished.

    Raises:
        RecordError: The folder holds no record of an audit, or another process writes to it.
    """
    require_record(folder)
    manifest = read_manifest(folder)
    command = str(manifest["command"])
    if command not in {"audit", "demo"}:
        raise RecordError(
            f"the record was made by `auscult {command}`",
            path=folder,
            expected="a record of `auscult audit`",
            hint="its tables/ folder holds the tables of other commands",
        )
    with open_run(folder, manifest) as run:
        run.remove("summary.json")  # it is written anew; a damaged one is no reason to stop
        return finish_run(run, command=command)
