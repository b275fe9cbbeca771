"""Folders of Hugging Face weights: checked first, within bounds, then loaded, offline. Nothing in them is executed.

A folder is what ``save_pretrained`` writes: ``config.json``, ``model.safetensors`` and, for models that read, the
tokenizer's files. Weights are read from ``model.safetensors``, or the parts that ``model.safetensors.index.json`` names
in the folder, and from nothing else, since other formats can run code. Only
settings that the library's class declares are read, whole numbers and lists within bounds; ways of loading, code,
other files and downloads are refused or left out. What is still too much meets the limits of the worker that loads it.

Frames as a network wants them: resized, scaled to 0..1, and normalised by each channel's mean and deviation.

The library's own processors need torchvision for most of these models; this is the same arithmetic with torch alone.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import check_file, read_bytes
from auscult.types import Frames

CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"

_TOKENS: Final = {  # files of a tokenizer, in either of two sets
    "CLIPTokenizer": (("tokenizer.json",), ("vocab.json", "merges.txt")),
    "BertTokenizer": (("tokenizer.json",), ("vocab.txt",)),
    "RobertaTokenizer": (("tokenizer.json",), ("vocab.json", "merges.txt")),
    "WhisperTokenizer": (("tokenizer.json",), ("vocab.json", "merges.txt")),
    "Qwen2Tokenizer": (("tokenizer.json",), ("vocab.json", "merges.txt")),
    "PreTrainedTokenizerFast": (("tokenizer.json",),),
}
_SMALL: Final = Limits(max_bytes=1_000_000)
_MEDIUM: Final = Limits(max_bytes=32_000_000)
_LARGE: Final = Limits(max_bytes=16_000_000_000)
_ADAPTER: Final = "adapter_config.json"
_PREPARED: Final = ("tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
_PICKLED: Final = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl"})

# Bounds on what a name counts; the largest released models (SAM 3: 32 layers, 1008 pixels) are well within.
_BOUNDS: Final = (
    (re.compile(r"layers|blocks|depth|stages|levels"), 0, 128),
    (re.compile(r"image_size|patch_size"), 1, 2048),
    (re.compile(r"sizes|background_size"), 0, 2048),
    (re.compile(r"queries|points|maskmem|pointers|heads|max_text_len"), 0, 4096),
    (re.compile(r"hidden|intermediate|dim|d_model|channel|embed|position"), 0, 65_536),
    (re.compile(""), -1_000_000, 1_000_000),
)
_MOST_LISTED: Final = 128
_DEEPEST: Final = 8
# What may run code, fetch something, or read other weights, at any depth of the file.
_REFUSED: Final = frozenset(
    {"auto_map", "custom_pipelines", "quantization_config", "use_timm_backbone", "use_pretrained_backbone", "backbone"}
)
# What a class reads without declaring it: old names that the library turns into new ones, which layers of a backbone
# give features, and the mark that stands before a picture.
_UNDECLARED: Final = frozenset(
    {"rope_theta", "memory_attention_rope_theta", "out_features", "out_indices", "vision_start_token_id"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of checkpoint, run by the class ``model`` of ``transformers``, its text read by the class ``reader``."""

    title: str
    model: str
    types: tuple[str, ...]  # what ``model_type`` may be
    parts: Mapping[str, str] = field(default_factory=dict)  # classes of sub-tables whose type the file decides
    # key of its table in a larger model's, by that model's type
    inside: Mapping[str, str] = field(default_factory=dict)
    reader: str = ""
    extra: str = "hf"
    dtype: str = "float32"  # auto for that of the weights

    @property
    def expected(self) -> str:
        """What a folder must hold, for messages."""
        also = " and the tokenizer's files" if self.reader else ""
        return f"a folder with {CONFIG}, {WEIGHTS}{also} of {self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFolder:
    """A folder that was checked and may be loaded."""

    path: Path
    family: Family
    settings: Mapping[str, Any]  # the model's own table of ``config.json``
    numbers: int  # of weights in the file


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model ready to run: the library's, in float32 and not in training, and its tokenizer or None."""

    folder: CheckedFolder
    model: Any
    tokens: Any
    device: str


def read_table(path: Path) -> Mapping[str, Any]:
    """Read a small JSON object."""
    try:
        table = json.loads(read_bytes(path, limits=_SMALL))
    except (ValueError, RecursionError) as error:
        raise InputError(f"broken JSON: {str(error)[:80]}", path=path) from error
    if not isinstance(table, dict):
        raise InputError("the settings are no object", path=path)
    return table


def check_folder(path: Path, family: Family) -> CheckedFolder:
    """Look at a folder of weights without loading them.

    Refused are missing, damaged and too large files, other models, values out of bounds, code, and adapters.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise UsageError(
            f"{family.title} needs the extra `{family.extra}`",
            expected="the packages transformers and torch",
            hint=f"pip install 'auscult[{family.extra}]', or '.[{family.extra}]' in a clone",
        )
    if not path.is_dir():
        raise UsageError("there is no such folder of weights", path=path, expected=family.expected)
    try:
        settings = own_settings(read_table(path / CONFIG), family)
        check_beside(path, family.reader)
        numbers = sum(map(count_weights, weight_files(path)))
    except InputError as error:
        pickled = (
            not (path / WEIGHTS).exists()
            and not (path / INDEX).exists()
            and any(file.suffix in _PICKLED for file in path.iterdir())
        )
        hint = "pickled weights are not read: save the model again with safetensors" if pickled else error.hint
        source = error.path or str(path / CONFIG)
        raise UsageError(error.message, path=source, expected=family.expected, hint=hint) from error
    return CheckedFolder(path=path, family=family, settings=settings, numbers=numbers)


def own_settings(table: Mapping[str, Any], family: Family) -> Mapping[str, Any]:
    """The model's own table of a ``config.json``, which may be a larger model's; checks all values."""
    _check_values(table)
    if table.get("transformers_weights") not in (WEIGHTS, None):
        raise InputError(f"{CONFIG} names another file of weights, {str(table['transformers_weights'])[:60]!r}")
    kind = str(table.get("model_type"))
    if kind in family.inside:
        table = _inner(table, family.inside[kind]) or {}
        kind = str(table.get("model_type", family.types[0]))
    if kind not in family.types:
        expected = " or ".join(map(repr, (*family.types, *family.inside)))
        raise InputError(f"{CONFIG} describes a model of type {kind[:40]!r}, not {expected}")
    return table


def _check_values(value: Any, key: str = "", depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise InputError(f"{CONFIG} is nested more than {_DEEPEST} deep")
    if key in _REFUSED and value:
        raise InputError(f"{CONFIG} holds {key!r}: code, downloads and other weights are never used")
    if isinstance(value, dict):
        for name, inner in value.items():
            _check_values(inner, name, depth + 1)
    elif isinstance(value, list):
        if len(value) > _MOST_LISTED:
            raise InputError(f"{key!r} in {CONFIG} lists {len(value)} values, more than {_MOST_LISTED}")
        for item in value:
            _check_values(item, key, depth + 1)
    elif isinstance(value, int):
        least, most = next(bounds for pattern, *bounds in _BOUNDS if pattern.search(key))
        if not least <= value <= most:
            raise InputError(f"{key!r} in {CONFIG} is {str(value)[:40]}, not from {least} to {most}")


def _inner(table: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """A table inside another. Old files have a second one, ``KEY_dict``, which goes before the first as a whole."""
    for name in (f"{key}_dict", key):
        value = table.get(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            raise InputError(f"{name!r} in {CONFIG} is no object")
    return None


def folder_of(name: str) -> Path:
    """A folder, or the folder in which the hub's cache keeps a model of this name; nothing is downloaded."""
    try:
        if Path(name).is_dir():
            return Path(name)
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except (ImportError, OSError, ValueError) as error:  # no such name, not in the cache, or no package
        raise UsageError(
            f"there is no folder {name[:200]!r}, and the hub's cache holds no model of this name",
            expected="a folder of weights, or a model that was downloaded",
            hint=f"hf download {name[:200]} --include '*.json' '*.safetensors' '*.txt'",
        ) from error


def check_beside(path: Path, reader: str) -> None:
    """Look at what lies beside settings and weights: adapters, code, the files of the tokenizer ``reader``."""
    if (path / _ADAPTER).exists():
        raise InputError("the folder holds an adapter, that is other weights beside the model's", path=path / _ADAPTER)
    for name in _PREPARED:
        if (path / name).is_file() and "auto_map" in read_table(path / name):
            raise InputError("it holds 'auto_map': code of a folder is never run", path=path / name)
    alternatives = _TOKENS.get(reader, ((),))
    if not any(all((path / name).is_file() for name in names) for names in alternatives):
        choices = ", or ".join(" and ".join(names) for names in alternatives)
        raise InputError(f"the tokenizer is missing: {choices}", path=path)
    for name in sum(alternatives, ()):
        if (path / name).is_file():
            check_file(path / name, limits=_MEDIUM)


def weight_files(path: Path) -> list[Path]:
    """The files of a folder's weights: one, or the parts that its index names."""
    if (path / WEIGHTS).exists() or not (path / INDEX).exists():
        return [path / WEIGHTS]
    try:
        index = json.loads(read_bytes(path / INDEX, limits=_MEDIUM))
        names = sorted(set(index["weight_map"].values()))
        files = [path / name for name in names if name.endswith(".safetensors") and Path(name).name == name]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise InputError("the index of the weights is damaged", path=path / INDEX) from error
    if not files or len(files) != len(names) or len(files) > _MOST_LISTED:
        raise InputError(
            f"the index names what is no part of the weights, or more than {_MOST_LISTED}", path=path / INDEX
        )
    return files


def count_weights(path: Path) -> int:
    """How many numbers a safetensors file has, by its header, which the library checks; the weights are not read."""
    from safetensors import SafetensorError, safe_open

    check_file(path, limits=_LARGE)
    try:
        with safe_open(path, framework="np") as file:
            return sum(math.prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 - no mapping
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"the weights are damaged or cut off: {str(error)[:80]}", path=path, hint="download them again"
        ) from error


def load(folder: CheckedFolder) -> Loaded:
    """Load model and tokenizer, in float32; takes seconds and the size of the weights in memory."""
    import torch
    import transformers

    family = folder.family
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        with quiet():
            model, lacking = _model(folder)
            reader: Any = getattr(transformers, family.reader) if family.reader else None
            tokens = reader and reader.from_pretrained(str(folder.path), local_files_only=True)
    except Exception as error:  # what tokenizers, safetensors and checks of settings raise shares no base but Exception
        reason = " ".join(str(error).split())[:160]
        raise UsageError(
            f"{family.title} cannot be loaded: {reason}", path=folder.path, expected=family.expected
        ) from error
    if lacking:
        raise UsageError(
            f"{len(lacking)} weights are missing or of another shape, the first {lacking[0][:80]}",
            path=folder.path / WEIGHTS,
            expected=f"the weights that {CONFIG} describes",
        )
    return Loaded(folder, model.to(device), tokens, device)


def _model(folder: CheckedFolder) -> tuple[Any, list[str]]:
    """The model, and the names of weights that it lacks."""
    import torch
    import transformers

    family = folder.family
    kind: Any = getattr(transformers, family.model)
    with torch.device("meta"):  # takes no memory, however large the settings are
        described = kind(build_settings(folder.settings, kind.config_class, family.parts))
    numbers = sum(weights.numel() for weights in described.parameters())
    if numbers > 2 * folder.numbers:  # weights that stand in several places of a model are in its file once
        raise InputError(f"{CONFIG} describes {numbers:,} weights, and {WEIGHTS} holds fewer, {folder.numbers:,}")
    model, report = kind.from_pretrained(
        str(folder.path),
        config=build_settings(folder.settings, kind.config_class, family.parts),
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are reported, and refused by name
        dtype=family.dtype,
    )
    wrong = (mismatch[0] if isinstance(mismatch, tuple) else mismatch for mismatch in report.get("mismatched_keys", ()))
    return model.eval(), sorted(map(str, (*report.get("missing_keys", ()), *wrong)))


def build_settings(table: Mapping[str, Any], kind: Any, parts: Mapping[str, str]) -> Any:
    """The library's settings of a checked table; ``parts`` as in ``Family``."""
    import transformers

    keys = set(kind.attribute_map) - {"model_type"}
    for base in kind.__mro__[: kind.__mro__.index(transformers.PretrainedConfig)]:
        keys |= {name for name in inspect.get_annotations(base) if name != "model_type" and not name.startswith("_")}
    values = {key: value for key, value in table.items() if key in keys or (key in _UNDECLARED and value is not None)}
    for key, usual in kind.sub_configs.items():
        below = _inner(table, key)
        if below is None:  # the library fills in its own defaults
            continue
        part: Any = getattr(transformers, parts[key]) if key in parts else usual
        model_type = str(below.get("model_type", part.model_type))
        # Parts of a model of pictures and of its model of videos are the same but for their name.
        if model_type.replace("_video", "") != part.model_type.replace("_video", ""):
            raise InputError(f"{key!r} in {CONFIG} is of type {model_type[:40]!r}, not {part.model_type!r}")
        values[key] = build_settings(below, part, parts)
    return kind(**values)


def finite(tensor: Any, folder: CheckedFolder) -> Any:
    """Give back a tensor of a model; a value that is not finite is an error of the user's weights."""
    import torch

    if not bool(torch.isfinite(tensor).all()):
        raise UsageError(
            f"{folder.family.title} gives what is no number", path=folder.path / WEIGHTS, expected="whole weights"
        )
    return tensor


@contextmanager
def quiet() -> Iterator[None]:
    """Keep progress bars and messages of transformers off stderr; its settings are restored afterwards."""
    from transformers.utils import logging

    notes: Any = logging
    level, bars = notes.get_verbosity(), notes.is_progress_bar_enabled()
    notes.set_verbosity(notes.CRITICAL)
    notes.disable_progress_bar()
    try:
        yield
    finally:
        notes.set_verbosity(level)
        if bars:
            notes.enable_progress_bar()


PREPARED: Final = "preprocessor_config.json"
_PROCESSOR: Final = "processor_config.json"
_IMAGENET: Final = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
_LEAST_SIDE: Final = 8
_MOST_SIDE: Final = 2048
_BILINEAR: Final = 2
_BICUBIC: Final = 3
_SCALE: Final = 1 / 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How frames are prepared."""

    size: tuple[int, int] | None = None  # (height, width) that every frame is squeezed to; or None, see ``edges``
    edges: tuple[int, int] = (800, 1333)  # where the shape is kept: shorter side, and the longer at most, pixels
    mean: tuple[float, ...] = _IMAGENET[0]  # of each channel, 0..1
    std: tuple[float, ...] = _IMAGENET[1]  # their deviation
    cubic: bool = False  # resized with cubic instead of linear weights

    def __call__(self, frames: Frames) -> Any:
        """Prepare frames, uint8 RGB (n, H, W, 3): a torch tensor float32 (n, 3, height, width) on the CPU."""
        import torch
        from torch.nn.functional import interpolate

        pixels = torch.from_numpy(np.ascontiguousarray(frames.transpose(0, 3, 1, 2)))
        size = self.sized(frames.shape[1], frames.shape[2])
        if size != tuple(frames.shape[1:3]):
            pixels = interpolate(pixels, size=size, mode="bicubic" if self.cubic else "bilinear", antialias=True)
        mean, std = (torch.tensor(values, dtype=torch.float32)[:, None, None] for values in (self.mean, self.std))
        return (pixels.to(torch.float32) * _SCALE - mean) / std

    def sized(self, height: int, width: int) -> tuple[int, int]:
        """The size that a frame of ``height`` and ``width`` is given."""
        if self.size is not None:
            return self.size
        short, limit = self.edges
        least, greatest = min(height, width), max(height, width)
        exact = float(short)
        if greatest / least * short > limit:
            exact = limit * least / greatest
            short = round(exact)
        if least == short:
            return height, width
        long = int(exact * greatest / least)
        return (short, long) if height < width else (long, short) if width < height else (short, short)


def read_preparation(folder: Path, *, side: int | None, usual: Preparation) -> Preparation:
    """How a release prepares frames, by ``preprocessor_config.json`` or ``processor_config.json``, else as usual.

    ``side`` is the only one that the model takes, whatever the file says; None where the file decides.
    """
    path = folder / PREPARED
    try:
        if path.is_file():
            table = read_table(path)
        else:
            path = folder / _PROCESSOR
            table = _table_in(read_table(path)) if path.is_file() else {}
        mean, std = channels(table, usual=(usual.mean, usual.std))
        cubic = _cubic(table, usual)
        size, edges = ((side, side), usual.edges) if side else _size(table, usual)
    except InputError as error:
        raise UsageError(error.message, path=error.path or path, expected="settings of the release") from error
    return Preparation(size=size, edges=edges, mean=mean, std=std, cubic=cubic)


def square(side: Any) -> int:
    """The side of the model's pictures, given as one number or as two."""
    return int(side[0]) if isinstance(side, list | tuple) else int(side)


def batches(frames: Frames, most: int) -> Iterator[Frames]:
    """Cut a clip into runs of at most ``most`` frames, so that memory does not grow with its length."""
    for start in range(0, len(frames), most):
        yield frames[start : start + most]


def _table_in(table: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = table.get("image_processor", {})
    if not isinstance(inner, dict):
        raise InputError("'image_processor' is no object")
    return inner


def channels(
    table: Mapping[str, Any], *, usual: tuple[tuple[float, ...], tuple[float, ...]]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel, 0..1, as a table of settings has them."""
    return _three(table, "image_mean", usual[0]), _three(table, "image_std", usual[1])


def _three(table: Mapping[str, Any], key: str, usual: tuple[float, ...]) -> tuple[float, ...]:
    value = table.get(key)
    if value is None:
        return usual
    valid = isinstance(value, list) and len(value) == 3 and all(type(number) in {int, float} for number in value)
    if not valid or not all(0 <= number <= 1 for number in value) or (key == "image_std" and min(value) < 1e-3):
        raise InputError(f"{key!r} is {str(value)[:60]}, not three numbers from 0 to 1")
    return tuple(float(number) for number in value)


def _cubic(table: Mapping[str, Any], usual: Preparation) -> bool:
    for key in ("do_resize", "do_rescale", "do_normalize"):
        if table.get(key) not in (None, True):
            raise InputError(f"{key!r} is {str(table[key])[:20]}: frames are always resized, scaled and normalised")
    scale = table.get("rescale_factor")
    if scale is not None and (type(scale) is not float or abs(scale - _SCALE) > 1e-9):
        raise InputError(f"'rescale_factor' is {str(scale)[:20]}, not 1/255")
    resample = table.get("resample", _BICUBIC if usual.cubic else _BILINEAR)
    if resample not in (_BILINEAR, _BICUBIC):
        raise InputError(f"'resample' is {str(resample)[:20]}, not {_BILINEAR} (linear) or {_BICUBIC} (cubic)")
    return bool(resample == _BICUBIC)


def _size(table: Mapping[str, Any], usual: Preparation) -> tuple[tuple[int, int] | None, tuple[int, int]]:
    value = table.get("size")
    if value is None:
        return usual.size, usual.edges
    if type(value) is int:
        value = {"height": value, "width": value} if usual.size else {"shortest_edge": value}
    if isinstance(value, dict) and {"height", "width"} <= value.keys():
        return (_side(value["height"]), _side(value["width"])), usual.edges
    if isinstance(value, dict) and "shortest_edge" in value and usual.size is None:
        longest = value.get("longest_edge", table.get("max_size", usual.edges[1]))
        return None, (_side(value["shortest_edge"]), _side(longest))
    raise InputError(f"'size' is {str(value)[:60]}, which this model is not prepared by")


def _side(value: Any) -> int:
    if type(value) is not int or not _LEAST_SIDE <= value <= _MOST_SIDE:
        raise InputError(f"a side in 'size' is {str(value)[:20]}, not {_LEAST_SIDE} to {_MOST_SIDE} pixels")
    return value
