"""Options of the few commands that ask for no more than a name or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.jobs.options import out_path

Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="<path>", parser=out_path, help="Output folder; the same command again continues in it."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew over an earlier record in --out.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same material.")]
