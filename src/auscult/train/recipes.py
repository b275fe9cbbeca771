"""The recipes by name, for `auscult train NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from auscult.errors import UnknownName, UsageError
from auscult.jobs.runner import Progress, Silent


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeOptions:
    """What every recipe may be told; a recipe leaves aside what it has no use for.

    Attributes:
        out: Folder for all it makes; made if missing. What is there already is continued where the recipe can.
        data: Folder of real material: COCO photographs, DAVIS sequences, stamps.
        seed: Seed of everything that is drawn.
        samples: How many samples training sees in all; None for the recipe's own number.
        minutes: After this long training stops, to be continued by the same command; None for the recipe's own bound.
        device: ``cpu`` or ``cuda``.
        threads: Threads of the network's arithmetic.
        workers: Processes that make batches.
    """

    out: Path
    data: Path | None = None
    seed: int = 0
    samples: int | None = None
    minutes: float | None = None
    device: str = "cpu"
    threads: int = 2
    workers: int = 1

    def material(self) -> Path:
        """The data folder."""
        if self.data is None:
            raise UsageError("this recipe needs real material", hint="name its folder: --data DIR")
        return self.data


def run(name: str, options: RecipeOptions, progress: Progress | None = None) -> Iterator[Path]:
    """Run a recipe.

    Args:
        name: One of ``NAMES``.
        options: What it is told.
        progress: Hears how far it is.

    Yields:
        The files it wrote.

    Raises:
        UnknownName: There is no such recipe.
        UsageError: The extra ``train`` is not installed, or an option is missing.
        InputError: The data is missing or broken.
        OutputError: A file cannot be written.
    """
    if name not in RECIPES:
        raise UnknownName(f"there is no recipe {name!r}", expected=f"one of: {', '.join(NAMES)}")
    try:
        yield from RECIPES[name](options, progress or Silent())
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _OF_THE_EXTRA:
            raise
        raise UsageError(
            f"this recipe needs the extra `train`: {error.name} is missing", hint="pip install 'auscult[train]'"
        ) from error


_OF_THE_EXTRA: Final = frozenset({"torch", "onnx", "sklearn", "ai_edge_litert"})


def _cues(options: RecipeOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.cues import fit

    yield from fit(options.material(), out=options.out, seed=options.seed, progress=progress)


def _prompted_mask(options: RecipeOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.prompted.recipe import MINUTES, WEIGHTS, PromptedOptions, fit_to_own, prompted_mask

    job = PromptedOptions(
        data=options.material(),
        out=options.out,
        seed=options.seed,
        samples=options.samples,
        minutes=options.minutes or MINUTES,
        device=options.device,
        threads=options.threads,
        workers=options.workers,
    )
    whole = (job.data / WEIGHTS).is_dir()  # the first weights come with the material of the whole training
    yield from (prompted_mask if whole else fit_to_own)(job, progress)


def _scenes_identity(options: RecipeOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.matcher.loop import FRAMES, MINUTES, STEPS, MatcherOptions, scenes_identity

    job = MatcherOptions(
        data=options.material(),
        out=options.out,
        seed=options.seed,
        steps=STEPS if options.samples is None else max(1, options.samples // FRAMES),
        minutes=options.minutes or MINUTES,
        threads=options.threads,
    )
    yield from scenes_identity(job, progress)


Recipe = Callable[[RecipeOptions, Progress], Iterator[Path]]
RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {"cues": _cues, "prompted-mask": _prompted_mask, "scenes-identity": _scenes_identity}
)
NAMES: Final[tuple[str, ...]] = tuple(RECIPES)
