"""``auscult compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show
from auscult.errors import UsageError

R2 = "run r2"


def compare(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Records of `auscult audit`, or folders of `auscult run`."),
    ],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also write tables, figures and a report there (records of run r2).")
    ] = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Compare judges, or models under test, from their records: paired differences on the same items or cases."""
    if _are_r2(folders):
        _compare_r2(folders, out, overwrite=overwrite, json=json)
        return
    if out is not None:
        raise UsageError(
            "a comparison of judges writes nothing",
            expected="--out with records of `auscult run r2`",
            hint="use --json",
        )
    from auscult.jobs.compare import compare_folders

    compared = compare_folders(folders)
    if json:
        show.as_json(compared.summary.as_json())
    else:
        show.tables(compared.tables)


def _are_r2(folders: list[Path]) -> bool:
    """Whether all records are of models under test; records of both kinds are compared with nothing.

    Raises:
        RecordError: A folder is no record.
        UsageError: Some are and some are not.
    """
    from auscult.record.folder import read_manifest
    from auscult.record.reader import require_record

    for folder in folders:
        require_record(folder)
    commands = {folder: read_manifest(folder)["command"] for folder in folders}
    of_models = [folder for folder, command in commands.items() if command == R2]
    if of_models and len(of_models) < len(commands):
        other = next(folder for folder, command in commands.items() if command != R2)
        raise UsageError(
            f"{of_models[0].name} is a record of `auscult {R2}`, {other.name} of `auscult {commands[other]}`",
            expected="records of one kind: of models under test, or of judges",
        )
    return bool(of_models)


def _compare_r2(folders: list[Path], out: Path | None, *, overwrite: bool, json: bool) -> None:
    from auscult.suites.r2.compare import compare_r2, write_comparison

    found = compare_r2(folders) if out is None else write_comparison(folders, out, overwrite=overwrite)
    for note in found.notes:
        show.say(note)
    if json:
        show.as_json(found.summary.as_json())
        return
    show.tables(found.shown)
    if out is not None:
        show.say(f"report: {out / 'report.html'}")
