"""Settings of Hugging Face models, read from a ``config.json`` that a stranger may have written.

A family of models says of which parts its settings are made (``Part``). Only what a part declares itself is taken, each
number within bounds; ways of loading, code, other files and downloads are refused or left out.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from auscult.errors import InputError

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
class Part:
    """A table of settings and what reads it.

    Attributes:
        settings: The class of ``transformers`` that holds it.
        types: What its ``model_type`` may be; a table without one is taken for the first.
        parts: Tables inside it, by name.
        inside: Where in a larger model's file the table stands, by the larger one's ``model_type``.
    """

    settings: str
    types: tuple[str, ...]
    parts: Mapping[str, Part] = field(default_factory=dict)
    inside: Mapping[str, str] = field(default_factory=dict)


def check_settings(table: Mapping[str, Any], part: Part) -> Mapping[str, Any]:
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


def build_settings(table: Mapping[str, Any], part: Part) -> Any:
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
