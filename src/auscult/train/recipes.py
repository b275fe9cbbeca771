"""The recipes by name, for `auscult train NAME`.

Settings of a run are YAML beside the recipe, or a file of the user's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Final

from auscult.errors import InputError, UnknownName, UsageError
from auscult.jobs.options import TrainOptions
from auscult.jobs.runner import Progress, Silent
from auscult.media.limits import Limits
from auscult.media.paths import read_bytes


def read_yaml(name: str, *, folder: Path, committed: Sequence[str]) -> tuple[object, Path]:
    """What the YAML of a committed name in ``folder``, or a YAML file, holds; and where it stands."""
    path = folder / f"{name}.yaml" if name in committed else Path(name)
    try:
        import yaml
    except ImportError as error:
        raise UsageError("PyYAML is not installed", hint="pip install 'auscult[train]'") from error
    try:
        return yaml.safe_load(read_bytes(path, limits=Limits(max_bytes=100_000))), path
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"no YAML: {' '.join(str(error).split())[:160]}", path=path) from error
    except InputError as error:
        raise UsageError(
            f"the settings cannot be read: {error.message}",
            path=path,
            expected=f"{', '.join(committed)}, or a YAML file",
        ) from error


def run(options: TrainOptions, progress: Progress | None = None) -> Iterator[Path]:
    """Run one of ``RECIPES``; yields the files it wrote."""
    if options.name not in RECIPES:
        raise UnknownName(f"there is no recipe {options.name!r}", expected=f"one of: {', '.join(NAMES)}")
    try:
        module, function = RECIPES[options.name].split(":")
        yield from getattr(import_module(module), function)(options, progress or Silent())
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _OF_THE_EXTRA:
            raise
        raise UsageError(
            f"this recipe needs the extra `train`: {error.name} is missing", hint="pip install 'auscult[train]'"
        ) from error


_OF_THE_EXTRA: Final = frozenset(
    {"torch", "onnx", "sklearn", "ai_edge_litert", "accelerate", "safetensors", "yaml", "transformers", "peft"}
)


RECIPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "cues": "auscult.train.cues:cues",
        "prompted-mask": "auscult.train.prompted.recipe:prompted",
        "scenes-identity": "auscult.train.matcher.loop:scenes_identity",
        "scenes-joint": "auscult.train.matcher.joint:scenes_joint",
        "sound-pictures": "auscult.train.sound_judge.pictures:sound_pictures",
        "rris": "auscult.train.rris.loop:rris",
        "mq-auditor": "auscult.train.mq_auditor.loop:mq_auditor",
        "saj": "auscult.train.saj.loop:saj",
        "compact-sound": "auscult.train.sound_judge.compact:compact_sound",
        "cues-sound": "auscult.train.sound_judge.cues:cues_sound",
        "sound-card": "auscult.train.sound_judge.card:sound_card",
    }
)
"""By name the module of each and its function of options and progress, imported when it is run."""

NAMES: Final[tuple[str, ...]] = tuple(RECIPES)
