"""``auscult audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from auscult.cases.listing import INPUTS
from auscult.cli import show
from auscult.cli.command import Shown, command
from auscult.errors import UsageError
from auscult.jobs.options import AuditOptions
from auscult.record.schema import PRINTED

if TYPE_CHECKING:
    from pathlib import Path

    from auscult.record.reader import Run
    from auscult.report.tables import Table

_MOST_TABLE_BYTES: Final = 1 << 20


@command(AuditOptions)
def audit(options: AuditOptions, shown: Shown) -> None:
    """Judge every mask and separated sound of INPUT without ground truth, decide what to do with it, and report."""
    from auscult.jobs.audit import audit_folder

    if options.video is None and "source" not in options.given:
        raise UsageError("INPUT is missing", expected=INPUTS, hint="or a video: --video FILE --masks DIR")
    with show.progress_bar(quiet=shown.quiet) as progress:
        summary = audit_folder(options, progress)
    show_record(options.out, summary=summary.as_json(), json=shown.json)
    show.exit_code(summary, max_failed=shown.max_failed, record=options.out)


def show_record(folder: Path, *, summary: dict[str, object], json: bool, worst: Table | None = None) -> None:
    """Print a finished record: the summary as JSON, or its tables, with another table of the worst masks first."""
    from auscult.record.manifest import notes_of
    from auscult.record.reader import read_object, read_run
    from auscult.report.tables import read_table

    run = read_run(folder, verdicts=())  # the tables have what is printed of them
    if json:
        show.as_json(summary)
        _say_remarks(run)
        return
    names = (*PRINTED[:2], "joint", *PRINTED[2 : None if worst is None else -1])
    paths = {name: folder / "tables" / f"{name}.json" for name in names}
    again = "`auscult report DIR` writes it anew"
    tables = [
        read_table(name, read_object(path, what="the table", most_bytes=_MOST_TABLE_BYTES, hint=again))
        for name, path in paths.items()
        if path.is_file()
    ]
    show.tables(tables if worst is None else [worst, *tables])
    for warning in show.warnings_of(folder):
        show.say(warning)
    for note in notes_of(run.manifest):
        show.say(f"note: {note}")
    _say_remarks(run)
    _say_unlike(run)
    show.say(f"report: {folder / 'report.html'}")


def _say_unlike(run: Run) -> None:
    from auscult.report.facts import percent, unlike_of

    summary = run.summary or {}
    unlike = unlike_of(summary)
    if unlike is not None and unlike.many:
        share = percent(unlike.share)
        show.say(f"note: {share} of your items are out of distribution for this judge; the report says what to do")
    if summary.get("sound"):
        from auscult.report.sounds import sound_notes

        for note in sound_notes(summary):
            show.say(f"note: {note}")


def _say_remarks(run: Run) -> None:
    remarks = run.remarks
    if remarks:
        first = remarks[0]
        line = "" if first.get("line") is None else f":{first['line']}"
        place = f"{first['path']}{line}: " if first.get("path") else ""
        count = f"{len(remarks)} remark{'' if len(remarks) == 1 else 's'}"
        show.say(f"note: {count} in {run.path / 'errors.jsonl'}, the first: {place}{first.get('error')}")
