"""``auscult compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show


def compare(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Records of `auscult audit`, or folders of `auscult run`."),
    ],
    *,
    json: options.Json = False,
) -> None:
    """Compare judges on the same items: paired difference of RMSE, and whether types and actions differ by chance."""
    from auscult.jobs.compare import compare_folders

    compared = compare_folders(folders)
    if json:
        show.as_json(compared.summary.as_json())
    else:
        show.tables(compared.tables)
