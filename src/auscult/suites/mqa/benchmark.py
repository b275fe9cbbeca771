"""Which benchmark a run is about: one made before, a released one, or one that is built here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import NothingToDo, UsageError
from auscult.jobs.progress import Progress
from auscult.record.folder import INPUT
from auscult.scenes.splits import SPLITS
from auscult.suites.mqa.build import build_benchmark
from auscult.suites.mqa.options import BuildOptions
from auscult.suites.mqa.rows import KEY
from auscult.suites.registered import SCENES, SuiteOptions
from auscult.suites.scene_source import scenes_of

FRAME_LIMIT_S = 120.0
"""Limit for the masks of one frame together, where no other is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The benchmark of a run.

    Attributes:
        source: Its folder or file.
        listing: Its items.
        made: Whether it was built here.
        lost: Instances that should be in it and could not be built; ``input/errors.jsonl`` says why.
    """

    source: Path
    listing: Listing
    made: bool
    lost: int = 0


def benchmark_of(options: SuiteOptions, progress: Progress) -> Benchmark:
    """Find the benchmark, or build it into ``input/`` of the output folder.

    A source whose items already say where they stand in a benchmark is used as it is: an INPUT of
    ``auscult stress masks --suite mqa``, or a released MQ-RAVSBench folder. So is what plain ``auscult stress masks``
    made, whose truths name defects. Anything else with true masks is what a benchmark is built from.

    Raises:
        NothingToDo: The source holds nothing to judge.
        UsageError: ``data`` is neither a path nor ``scenes``, or an option is unknown.
    """
    if options.data == SCENES:
        return _built(_scenes(options, progress), options, progress)
    source = Path(options.data)
    if not source.exists():
        raise UsageError(
            "there is no such file or folder",
            path=source,
            expected="a source with true masks, a benchmark, or the word scenes",
            hint="see `auscult run --help`",
        )
    listing = _listed(source, options)
    if listing is not None and any(_stands(item) for item in listing.items):
        _refuse_making(options, source)
        return Benchmark(source=source, listing=listing, made=False)
    return _built(source, options, progress)


def _refuse_making(options: SuiteOptions, source: Path) -> None:
    """Refuse to say how masks are made where they are made already.

    Raises:
        UsageError: An option asks for another benchmark than ``source`` holds.
    """
    plain = SuiteOptions(data=options.data, out=options.out)
    for name in ("generator", "take", "objects", "least_px", "splits_file"):
        if getattr(options, name) != getattr(plain, name):
            raise UsageError(
                f"--{name.replace('_', '-')} says how a benchmark is made, and this one is made already",
                path=source,
                expected="a source with true masks",
                hint="leave the option out, or name the source that the benchmark was made from",
            )


def _listed(source: Path, options: SuiteOptions) -> Listing | None:
    """The items of a source; None where it has no such layout, which the builder may still know."""
    try:
        return list_items(source, ListOptions(images=options.images))
    except (NothingToDo, UsageError):
        return None


def _stands(item: object) -> bool:
    extra, truth = getattr(item, "extra", {}), getattr(item, "truth", None)
    return KEY in extra or ("stress" in extra and truth is not None and truth.defect is not None)


def _built(source: Path, options: SuiteOptions, progress: Progress) -> Benchmark:
    folder = options.out / INPUT
    summary, _ = build_benchmark(
        BuildOptions(
            source=source,
            out=folder,
            listing=ListOptions(images=options.images),
            workers=options.workers,
            timeout_s=options.limit_s(FRAME_LIMIT_S),
            overwrite=options.overwrite,
            seed=options.seed,
            protocols=options.protocols,
            splits=options.splits,
            negatives=options.negatives,
            generator=options.generator,
            take=options.take,
            objects=options.objects,
            least_px=options.least_px,
            splits_file=options.splits_file,
        ),
        progress,
    )
    return Benchmark(source=folder, listing=list_items(folder, ListOptions()), made=True, lost=summary.failed)


def _scenes(options: SuiteOptions, progress: Progress) -> Path:
    unknown = sorted(set(options.splits) - set(SPLITS))
    if unknown:
        raise UsageError(f"scenes have no split {unknown[0]!r}", expected=f"one of: {', '.join(SPLITS)}")
    return scenes_of(options, progress)
