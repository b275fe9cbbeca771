"""The sources of samples: one tree, several in one folder, or ``make avi`` and ``make prise``."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Final

from auscult.cases.avi_tree import TASK_OF, AviListing, read_tree
from auscult.jobs.runner import Progress
from auscult.record.folder import MANIFEST
from auscult.score.tasks import TASKS
from auscult.suites.avi import AviOptions
from auscult.suites.options import SCENES

_FOLDER: Final = "scenes"
_SIZES: Final = {folder: size for task in TASKS.values() for folder, size in task.folders.items()}
_MOST_TREES: Final = 32


def listing_of(options: AviOptions, progress: Progress) -> AviListing:
    """The samples of the data, made first if needed."""
    sources = _made(options, progress) if options.data == SCENES else _trees(Path(options.data))
    result = AviListing()
    for source in sources:
        listing = read_tree(source)
        result.samples += listing.samples
        result.errors += listing.errors
        result.notes += listing.notes
    present = {TASK_OF[sample.folder] for sample in result.samples}
    missing = [name for name in dict.fromkeys(TASK_OF.values()) if name not in present]
    if missing:
        result.notes.append(f"Not in the data: {', '.join(missing)}.")
    return result


def is_released(options: AviOptions, listing: AviListing) -> bool:
    """Whether the data look like the release: not made by auscult, and of Table 2's size in every folder."""
    if options.data == SCENES or (Path(options.data) / MANIFEST).is_file():
        return False
    return Counter(sample.folder for sample in listing.samples) == _SIZES


def _trees(source: Path) -> list[Path]:
    """The folder, if it is a tree, else the trees in it."""
    if (source / "levels").is_dir() or any((source / stage).is_dir() for stage in ("perception", "sensation")):
        return [source]
    below = sorted(folder for folder in source.iterdir() if (folder / "levels").is_dir()) if source.is_dir() else []
    return below[:_MOST_TREES] or [source]


def _made(options: AviOptions, progress: Progress) -> list[Path]:
    """Make missing samples of scenes and stimuli in the run's folder; returns their folders."""
    from auscult.jobs.make_avi import make_avi, make_prise
    from auscult.jobs.options import FamiliarOptions, PriseOptions

    # without --count each makes its default number of samples
    count = {} if count_of(options) is None else {"count": options.count}
    familiar = FamiliarOptions(data=options.assets, **options.making(f"{_FOLDER}/familiar") | count)
    stimuli = PriseOptions(**options.making(f"{_FOLDER}/stimuli") | count)
    make_avi(familiar, progress)
    make_prise(stimuli, progress)
    return [familiar.out, stimuli.out]


def count_of(options: AviOptions) -> int | None:
    """How many samples of each task and type to make; None for the default."""
    usual = next(option.default for option in fields(AviOptions) if option.name == "count")
    return options.count if "count" in options.given or options.count != usual else None
