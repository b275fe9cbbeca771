"""``auscult train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show


def train(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to train: cues.")],
    *,
    data: Annotated[Path, typer.Option("--data", help="Folder of real material, laid out as DATA.md says.")],
    out: options.Out,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Fit a judge and measure its card."""
    from auscult.errors import UnknownName
    from auscult.train import recipes

    if name not in recipes.NAMES:
        raise UnknownName(f"there is no recipe {name!r}", expected=f"one of: {', '.join(recipes.NAMES)}")
    with show.progress_bar(quiet=quiet) as progress:
        for path in recipes.run(name, data=data, out=out, seed=seed, progress=progress):
            print(path)
