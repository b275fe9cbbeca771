"""Scenes that a suite makes for itself, where ``--data scenes`` was said."""

from __future__ import annotations

from pathlib import Path

from auscult.jobs.progress import Progress
from auscult.suites.registered import SuiteOptions

SCENE_FOLDER = "scenes"


def scenes_of(options: SuiteOptions, progress: Progress) -> Path:
    """Make the scenes of a run into its folder, as far as they are not there, and say where.

    Raises:
        UsageError: An option is wrong.
        RecordError: The folder holds scenes made with other arguments.
    """
    from auscult.jobs.make import MakeOptions, make_scenes

    folder = options.out / SCENE_FOLDER
    make_scenes(
        MakeOptions(
            out=folder,
            count=options.count,
            seed=options.seed,
            assets=options.assets,
            workers=options.workers,
            overwrite=options.overwrite,
        ),
        progress,
    )
    return folder
