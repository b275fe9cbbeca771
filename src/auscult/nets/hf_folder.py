"""Folders of Hugging Face weights: looked at first with bounds, then loaded, offline. Nothing in them is executed.

A folder is what ``save_pretrained`` writes: ``config.json``, ``model.safetensors`` and, for models that read, the
tokenizer's files. Weights are read from ``model.safetensors`` only, since other formats can run code.

A family of models says which tables its settings are made of (``SettingsTable``). Only what a table declares itself is
taken, each number within bounds; ways of loading, code, other files and downloads are refused or left out.
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

from auscult.errors import InputError, UsageError
from auscult.media.limits import Limits
from auscult.media.paths import check_file, read_bytes, unreadable

_SMALL: Final = Limits(max_bytes=1_000_000)
_LARGE: Final = Limits(max_bytes=16_000_000_000)
_MOST_HEADER: Final = 32_000_000
_MOST_AXES: Final = 16


def read_table(path: Path, limits: Limits = _SMALL) -> Mapping[str, Any]:
    """Read a JSON object, a small one unless told.

    Raises:
        InputError: It is missing, too large, broken, or no object.
    """
    try:
        found = json.loads(read_bytes(path, limits=limits))
    except (ValueError, RecursionError) as error:
        raise InputError(f"broken JSON: {str(error)[:80]}", path=path) from error
    if not isinstance(found, dict):
        raise InputError("the settings are no object", path=path)
    return found


def count_weights(path: Path) -> int:
    """Count the numbers in a safetensors file by its header; the weights are not read.

    Raises:
        InputError: The file is missing, too large, damaged or cut off.
    """
    check_file(path, limits=_LARGE)
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            head = file.read(min(length, _MOST_HEADER))
    except OSError as error:
        raise unreadable(path, error) from error
    if not 2 <= length <= min(_MOST_HEADER, size - 8):
        raise InputError("it is no safetensors file, or cut off", path=path, hint="download it again")
    try:
        table = json.loads(head)
        entries = [entry for name, entry in table.items() if name != "__metadata__"]
        numbers = sum(_numbers(entry["shape"]) for entry in entries)
        end = max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(f"its header is damaged: {str(error)[:60]}", path=path) from error
    if 8 + length + end != size:
        raise InputError(
            f"it has {size:,} bytes, and its header speaks of {8 + length + end:,}",
            path=path,
            hint="it was cut off: download it again",
        )
    return numbers


def _numbers(shape: Any) -> int:
    if len(shape) > _MOST_AXES:
        raise ValueError(f"a tensor of {len(shape)} axes")
    return math.prod(map(int, shape))


WEIGHTS: Final = "model.safetensors"

_MOST_INT: Final = 1_000_000
_MOST_LISTED: Final = 128
_LONGEST_TEXT: Final = 200
_DEEPEST: Final = 8
# Bounds on what a name counts; the largest released models (SAM 3: 32 layers, 1008 pixels) are well within.
_BOUNDS: Final = (
    (re.compile(r"layers|blocks|depth|stages|levels"), 128),
    (re.compile(r"image_size"), 2048),
    (re.compile(r"sizes|background_size"), 2048),
    (re.compile(r"queries|points|maskmem|pointers|heads|max_text_len"), 4096),
    (re.compile(r"hidden|intermediate|dim|d_model|channel|embed|position"), 65_536),
)
MOST_PATCHES: Final = 128
"""Patches along one side of a picture, at most: attention takes the fourth power of it."""

# What may run code, fetch something, or read other weights, wherever it stands in the file.
_REFUSED: Final = (
    "auto_map",
    "custom_pipelines",
    "quantization_config",
    "use_timm_backbone",
    "use_pretrained_backbone",
)
# What a class reads without declaring it, by the attribute that tells such a class: old names that the library turns
# into new ones, and which layers of a backbone are looked at.
_ALSO: Final = {
    "rope_theta": "rope_parameters",
    "memory_attention_rope_theta": "memory_attention_rope_theta",
    "out_features": "out_features",
    "out_indices": "out_indices",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTable:
    """A table of settings and what reads it.

    Attributes:
        settings: The class of ``transformers`` that holds it.
        types: What its ``model_type`` may be; a table without one is taken for the first.
        parts: Tables inside it, by name.
        inside: Where in a larger model's file the table stands, by the larger one's ``model_type``.
    """

    settings: str
    types: tuple[str, ...]
    parts: Mapping[str, SettingsTable] = field(default_factory=dict)
    inside: Mapping[str, str] = field(default_factory=dict)


def check_settings(table: Mapping[str, Any], part: SettingsTable) -> Mapping[str, Any]:
    """Look whether a ``config.json`` is of the expected model, without loading anything.

    Args:
        table: What the file holds.
        part: What it should hold.

    Returns:
        The model's own table: ``table``, or the one inside it where the file is of a larger model.

    Raises:
        InputError: It describes another model, is nested too deeply, or names code, a download or other weights.
    """
    for key, value in _everything(table):
        if key in _REFUSED and value:
            raise InputError(f"config.json holds {key!r}: code, downloads and other weights are never used")
        if key == "backbone" and value is not None:
            raise InputError(f"config.json names a backbone to fetch, {str(value)[:60]!r}")
        if key == "transformers_weights" and value not in (WEIGHTS, None):
            raise InputError(f"config.json names another file of weights, {str(value)[:60]!r}, not {WEIGHTS}")
    found = str(table.get("model_type"))
    if found in part.inside:
        table = _inner(table, part.inside[found]) or {}
        found = str(table.get("model_type", part.types[0]))
    if found not in part.types:
        expected = " or ".join(map(repr, (*part.types, *part.inside)))
        raise InputError(f"config.json describes a model of type {found[:40]!r}, not {expected}")
    return table


def build_settings(table: Mapping[str, Any], part: SettingsTable) -> Any:
    """Make the library's settings of a checked table.

    Raises:
        InputError: A value is out of bounds, or a part is of another type.
        Exception: What the library's own checks raise.
    """
    import transformers

    kind: Any = getattr(transformers, part.settings)
    own = _declared(kind)
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key in part.parts or key not in own or (value is None and key in _ALSO):
            continue
        _check_value(key, value)
        found[key] = value
    for key, inner in part.parts.items():
        below = _inner(table, key)
        if below is None:  # the library fills in its own defaults
            continue
        if below.get("model_type", inner.types[0]) not in inner.types:
            said = str(below.get("model_type"))[:40]
            raise InputError(f"{key!r} in config.json is of type {said!r}, not {inner.types[0]!r}")
        found[key] = build_settings(below, inner)
    made = kind(**found)
    _check_patches(made)
    return made


def _declared(kind: Any) -> frozenset[str]:
    """Names that a class of settings declares itself, beyond those that every model has."""
    from transformers import PretrainedConfig

    names = set(getattr(kind, "attribute_map", {}))
    for base in kind.__mro__:
        if base is PretrainedConfig:
            break
        names |= {name for name in inspect.get_annotations(base) if not name.startswith("_")}
    return frozenset(names - {"model_type"}) | {name for name, tells in _ALSO.items() if hasattr(kind, tells)}


def _inner(table: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """A table inside another. Old files have a second one, ``KEY_dict``, which goes before the first as a whole."""
    for name in (f"{key}_dict", key):
        value = table.get(name)
        if value is not None and not isinstance(value, dict):
            raise InputError(f"{name!r} in config.json is no object")
        if value is not None:
            return dict(value)
    return None


def _everything(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        raise InputError(f"config.json is nested more than {_DEEPEST} deep")
    if isinstance(value, dict):
        for name, below in value.items():
            yield str(name), below
            yield from _everything(below, str(name), depth + 1)
    elif isinstance(value, list):
        for below in value:
            yield from _everything(below, key, depth + 1)


def _check_value(key: str, value: Any) -> None:
    if isinstance(value, list):
        if len(value) > _MOST_LISTED:
            raise InputError(f"{key!r} in config.json lists {len(value)} values, more than {_MOST_LISTED}")
        for one in value:
            _check_value(key, one)
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_value(f"{key}.{name}", one)
    else:
        _check_single(key, value)


def _check_single(key: str, value: Any) -> None:
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        raise InputError(f"{key!r} in config.json is a text of {len(value)} characters")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{key!r} in config.json is {value}")
    if isinstance(value, int):
        most = next((most for pattern, most in _BOUNDS if pattern.search(key)), _MOST_INT)
        if abs(value) > most:
            raise InputError(f"{key!r} in config.json is {str(value)[:40]}, over {most}")


def _check_patches(made: Any) -> None:
    sides, patches = (_whole(getattr(made, name, None)) for name in ("image_size", "patch_size"))
    if not sides or not patches:
        return
    side, patch = max(sides), min(patches)
    if patch < 1 or not 1 <= side // patch <= MOST_PATCHES:
        raise InputError(
            f"pictures of {side} pixels in patches of {patch} ('image_size' and 'patch_size' in config.json) "
            f"are not 1 to {MOST_PATCHES} patches a side"
        )


def _whole(value: Any) -> list[int]:
    return [one for one in (value if isinstance(value, list | tuple) else [value]) if type(one) is int]


CONFIG: Final = "config.json"
CLIP_TOKENS: Final = (("tokenizer.json",), ("vocab.json", "merges.txt"))
BERT_TOKENS: Final = (("tokenizer.json",), ("vocab.txt",))

_ADAPTER: Final = "adapter_config.json"
_BESIDE: Final = ("tokenizer_config.json", "preprocessor_config.json", "processor_config.json")
_MEDIUM: Final = Limits(max_bytes=32_000_000)
_SHARED: Final = 2  # weights that stand in several places of a model are in its file once
_PICKLED: Final = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A kind of checkpoint.

    Attributes:
        title: What messages call it.
        model: The class of ``transformers`` that runs it.
        part: Its settings.
        tokens: Files of its tokenizer, in either of these sets; empty where it reads no text.
        reader: The tokenizer's class; empty where it reads no text.
    """

    title: str
    model: str
    part: SettingsTable
    tokens: tuple[tuple[str, ...], ...] = ()
    reader: str = ""

    @property
    def expected(self) -> str:
        """What a folder must hold, for messages."""
        also = " and the tokenizer's files" if self.tokens else ""
        return f"a folder with {CONFIG}, {WEIGHTS}{also} of {self.title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder that was looked at and may be loaded.

    Attributes:
        path: The folder.
        family: What it holds.
        settings: The model's own table of ``config.json``.
        numbers: How many weights the file has.
    """

    path: Path
    family: Family
    settings: Mapping[str, Any]
    numbers: int


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A model ready to run.

    Attributes:
        folder: Where it comes from.
        model: The library's model, float32, not in training.
        tokens: The library's tokenizer, or None.
        device: ``cuda`` where there is one, else ``cpu``.
    """

    folder: Folder
    model: Any
    tokens: Any
    device: str


def check_folder(path: Path, family: Family) -> Folder:
    """Look at a folder of weights without loading them.

    Raises:
        UsageError: The extra `hf` is not installed; the folder or a file is missing, damaged or too large; the
            configuration is of another model or names code; or the folder holds an adapter.
    """
    if find_spec("transformers") is None or find_spec("torch") is None:
        raise UsageError(
            f"{family.title} needs the extra `hf`",
            expected="the packages transformers and torch",
            hint="pip install 'auscult[hf]', or '.[hf]' in a clone",
        )
    if not path.is_dir():
        raise UsageError("there is no such folder of weights", path=path, expected=family.expected)
    if (path / _ADAPTER).exists():
        raise UsageError(
            "the folder holds an adapter, that is other weights beside the model's",
            path=path / _ADAPTER,
            expected=family.expected,
        )
    try:
        settings = check_settings(read_table(path / CONFIG), family.part)
        _check_beside(path)
        _check_tokens(path, family)
        numbers = count_weights(path / WEIGHTS)
    except InputError as error:
        hint = "pickled weights are not read: save the model again with safetensors" if _pickled(path) else error.hint
        where = error.path or str(path / CONFIG)
        raise UsageError(error.message, path=where, expected=family.expected, hint=hint) from error
    return Folder(path=path, family=family, settings=settings, numbers=numbers)


def load(folder: Folder) -> Loaded:
    """Load model and tokenizer, in float32; takes seconds and the size of the weights in memory.

    Raises:
        UsageError: The files do not fit together, are damaged, or lack some of the weights.
    """
    import torch

    family = folder.family
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        with quiet():
            model, lacking = _model(folder)
            tokens = _tokens(folder)
    except InputError as error:
        raise UsageError(error.message, path=folder.path / CONFIG, expected=family.expected) from error
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


def finite(found: Any, folder: Folder) -> Any:
    """Give back a tensor of a model.

    Raises:
        UsageError: It holds what is no number.
    """
    import torch

    if not bool(torch.isfinite(found).all()):
        raise UsageError(
            f"{folder.family.title} gives what is no number", path=folder.path / WEIGHTS, expected="whole weights"
        )
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no notes of transformers on stderr; its settings are put back."""
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


def _model(folder: Folder) -> tuple[Any, list[str]]:
    import torch
    import transformers

    kind: Any = getattr(transformers, folder.family.model)
    settings = build_settings(folder.settings, folder.family.part)
    with torch.device("meta"):  # takes no memory, however large the settings are
        numbers = sum(weights.numel() for weights in kind(settings).parameters())
    if numbers > _SHARED * folder.numbers:
        raise InputError(f"{CONFIG} describes {numbers:,} weights, and {WEIGHTS} holds {folder.numbers:,}")
    model, told = kind.from_pretrained(
        str(folder.path),
        config=build_settings(folder.settings, folder.family.part),
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # they are told, and refused by name
        dtype="float32",
    )
    wrong = (one[0] if isinstance(one, tuple) else one for one in told.get("mismatched_keys", ()))
    return model.eval(), sorted(map(str, (*told.get("missing_keys", ()), *wrong)))


def _tokens(folder: Folder) -> Any:
    import transformers

    if not folder.family.reader:
        return None
    return getattr(transformers, folder.family.reader).from_pretrained(str(folder.path), local_files_only=True)


def _check_beside(path: Path) -> None:
    for name in _BESIDE:
        if (path / name).is_file() and "auto_map" in read_table(path / name):
            raise InputError("it holds 'auto_map': code of a folder is never run", path=path / name)


def _check_tokens(path: Path, family: Family) -> None:
    if not family.tokens:
        return
    if not any(all((path / name).is_file() for name in names) for names in family.tokens):
        ways = ", or ".join(" and ".join(names) for names in family.tokens)
        raise InputError(f"the tokenizer is missing: {ways}", path=path)
    for name in {name for names in family.tokens for name in names if (path / name).is_file()}:
        check_file(path / name, limits=_MEDIUM)
        if name.endswith(".json"):
            read_table(path / name, _MEDIUM)  # so that a damaged one is named


def _pickled(path: Path) -> bool:
    return not (path / WEIGHTS).exists() and any(any(path.glob(pattern)) for pattern in _PICKLED)
