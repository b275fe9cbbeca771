"""The recipes by name, for `auscult train NAME`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from auscult.errors import UnknownName
from auscult.jobs.progress import Progress, Silent

NAMES: Final[tuple[str, ...]] = ("cues",)


def run(name: str, *, data: Path, out: Path, seed: int = 0, progress: Progress | None = None) -> Iterator[Path]:
    """Run a recipe.

    Args:
        name: One of ``NAMES``.
        data: Folder of real material: COCO photographs and DAVIS sequences.
        out: Folder for coefficients, card and page; made if missing.
        seed: Seed of everything that is drawn.
        progress: Hears how far it is.

    Yields:
        The files it wrote.

    Raises:
        UnknownName: There is no such recipe.
        UsageError: The extra ``train`` is not installed.
        InputError: The data is missing or broken.
        OutputError: A file cannot be written.
    """
    if name not in NAMES:
        raise UnknownName(f"there is no recipe {name!r}", expected=f"one of: {', '.join(NAMES)}")
    from auscult.train.cues import fit

    yield from fit(data, out=out, seed=seed, progress=progress or Silent())
