"""The recipes by name, for `auscult train NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from auscult.errors import UnknownName, UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress, Silent


def run(options: TrainOptions, progress: Progress | None = None) -> Iterator[Path]:
    """Run one of ``RECIPES``; yields the files it wrote."""
    if options.name not in RECIPES:
        raise UnknownName(f"there is no recipe {options.name!r}", expected=f"one of: {', '.join(NAMES)}")
    try:
        yield from RECIPES[options.name](options, progress or Silent())
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _OF_THE_EXTRA:
            raise
        raise UsageError(
            f"this recipe needs the extra `train`: {error.name} is missing", hint="pip install 'auscult[train]'"
        ) from error


_OF_THE_EXTRA: Final = frozenset({"torch", "onnx", "sklearn", "ai_edge_litert", "accelerate", "safetensors", "yaml"})


def _cues(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.cues import fit

    yield from fit(options.material(), out=options.out, seed=options.seed, progress=progress)


def _prompted_mask(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.prompted.recipe import WEIGHTS, fit_to_own, prompted_mask

    whole = (options.material() / WEIGHTS).is_dir()  # the first weights come with the material of the whole training
    yield from (prompted_mask if whole else fit_to_own)(options, progress)


def _scenes_identity(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.matcher.loop import scenes_identity

    yield from scenes_identity(options, progress)


def _scenes_joint(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.matcher.joint import scenes_joint

    yield from scenes_joint(options, progress)


def _sound_pictures(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.sound_judge.pictures import sound_pictures

    yield from sound_pictures(options, progress)


def _rris(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.rris.loop import rris

    yield from rris(options, progress)


def _mq_auditor(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.mq_auditor.loop import mq_auditor

    yield from mq_auditor(options, progress)


def _compact_sound(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.sound_judge.compact import compact_sound

    yield from compact_sound(options, progress)


def _cues_sound(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.sound_judge.cues import cues_sound

    yield from cues_sound(options, progress)


def _sound_card(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.sound_judge.card import sound_card

    yield from sound_card(options, progress)


def _saj(options: TrainOptions, progress: Progress) -> Iterator[Path]:
    from auscult.train.saj.loop import saj

    yield from saj(options, progress)


Recipe = Callable[[TrainOptions, Progress], Iterator[Path]]
RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "cues": _cues,
        "prompted-mask": _prompted_mask,
        "scenes-identity": _scenes_identity,
        "scenes-joint": _scenes_joint,
        "sound-pictures": _sound_pictures,
        "rris": _rris,
        "mq-auditor": _mq_auditor,
        "saj": _saj,
        "compact-sound": _compact_sound,
        "cues-sound": _cues_sound,
        "sound-card": _sound_card,
    }
)
NAMES: Final[tuple[str, ...]] = tuple(RECIPES)
