"""The settings of a CLIP model, read from a ``config.json`` that a stranger may have written.

Only what describes the network is taken, each value within bounds, and the whole no larger than the file of weights can
fill. Everything else in the file is left out: names of other files of weights, code, and ways of loading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from auscult.errors import InputError

WEIGHTS: Final = "model.safetensors"

# Bounds on what a configuration may ask for: the largest released CLIP models are well within.
_MOST: Final[Mapping[str, int]] = {
    "hidden_size": 4096,
    "intermediate_size": 16_384,
    "num_hidden_layers": 64,
    "num_attention_heads": 64,
    "image_size": 1024,
    "patch_size": 1024,
    "vocab_size": 500_000,
    "max_position_embeddings": 1024,
    "projection_dim": 4096,
}
MOST_PATCHES: Final = 64
"""Patches along one side of a picture, at most: attention takes the fourth power of it."""

LEAST_BYTES: Final = 2
"""Of one weight in the file; released models have two or four."""

# What the format leaves out where it has the usual value, that of the first release.
_SHARED: Final[Mapping[str, Any]] = {"hidden_act": "quick_gelu", "layer_norm_eps": 1e-5, "num_hidden_layers": 12}
_TEXT: Final[Mapping[str, Any]] = {
    **_SHARED,
    "vocab_size": 49_408,
    "hidden_size": 512,
    "intermediate_size": 2048,
    "num_attention_heads": 8,
    "max_position_embeddings": 77,
    "pad_token_id": 1,
    "bos_token_id": 49_406,
    "eos_token_id": 49_407,
}
_VISION: Final[Mapping[str, Any]] = {
    **_SHARED,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 32,
}
_PROJECTED: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipSettings:
    """Of what a CLIP model is made.

    Attributes:
        text: Settings of its part that reads, by their names in ``config.json``.
        vision: The same of the part that sees.
        projection_dim: Length of the vectors of both.
    """

    text: Mapping[str, Any]
    vision: Mapping[str, Any]
    projection_dim: int

    @property
    def weights(self) -> int:
        """How many numbers the model has, but for a few thousand biases of normalisation."""
        text, vision = self.text, self.vision
        patch = vision["num_channels"] * vision["patch_size"] ** 2
        seen = patch + (vision["image_size"] // vision["patch_size"]) ** 2 + 2
        read = text["vocab_size"] + text["max_position_embeddings"]
        rest = text["hidden_size"] * (read + self.projection_dim) + vision["hidden_size"] * (seen + self.projection_dim)
        return _of_layers(text) + _of_layers(vision) + int(rest)


def read_settings(config: Mapping[str, Any], *, size: int) -> ClipSettings:
    """Take the settings out of a ``config.json``.

    Args:
        config: What the file holds.
        size: Of the file of weights, bytes.

    Raises:
        InputError: It describes no CLIP model, names other weights, is out of bounds, or describes more weights than
            the file can hold.
    """
    if config.get("model_type") != "clip":
        raise InputError(f"config.json describes a model of type {str(config.get('model_type'))[:40]!r}, not 'clip'")
    if config.get("transformers_weights", WEIGHTS) not in (WEIGHTS, None):
        raise InputError(
            f"config.json names another file of weights, {str(config['transformers_weights'])[:60]!r}, not {WEIGHTS}"
        )
    text, vision = _part(config, "text_config", _TEXT), _part(config, "vision_config", _VISION)
    _bounded({"projection_dim": config.get("projection_dim", _PROJECTED)})
    found = ClipSettings(text=text, vision=vision, projection_dim=config.get("projection_dim", _PROJECTED))
    _check_patches(vision)
    if found.weights > size // LEAST_BYTES:
        raise InputError(
            f"config.json describes {found.weights:,} weights, and {WEIGHTS} of {size:,} bytes holds fewer"
        )
    return found


def _part(config: Mapping[str, Any], key: str, usual: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings of one half. Old files have a second table, which goes before the first as a whole."""
    tables = [config.get(name) for name in (key, f"{key}_dict")]
    for table in tables:
        if table is not None and not isinstance(table, dict):
            raise InputError(f"{key!r} in config.json is no object")
    said: Mapping[str, Any] = tables[1] if tables[1] is not None else tables[0] or {}
    found = {name: said.get(name, value) for name, value in usual.items()}
    _bounded(found)
    if not isinstance(found["hidden_act"], str):
        raise InputError("'hidden_act' in config.json is no name")
    if type(found["layer_norm_eps"]) not in {int, float} or not 0 < found["layer_norm_eps"] < 1:
        raise InputError("'layer_norm_eps' in config.json is no number between 0 and 1")
    return found


def _bounded(table: Mapping[str, Any]) -> None:
    for key, most in _MOST.items():
        value = table.get(key, 1)
        if type(value) is not int or not 1 <= value <= most:
            raise InputError(f"{key!r} in config.json is {str(value)[:40]}, not a whole number from 1 to {most}")


def _check_patches(vision: Mapping[str, Any]) -> None:
    side, patch = vision["image_size"], vision["patch_size"]
    if not 1 <= side // patch <= MOST_PATCHES:
        raise InputError(
            f"pictures of {side} pixels in patches of {patch} ('image_size' and 'patch_size' in config.json) "
            f"are not 1 to {MOST_PATCHES} patches a side"
        )
    if type(vision["num_channels"]) is not int or vision["num_channels"] != len("RGB"):
        raise InputError(f"'num_channels' in config.json is {str(vision['num_channels'])[:40]}, not 3")


def _of_layers(part: Mapping[str, Any]) -> int:
    """Weights of the layers of one half: four projections of attention, and two of the rest."""
    width = part["hidden_size"]
    return int(part["num_hidden_layers"]) * int(width) * (4 * int(width) + 2 * int(part["intermediate_size"]))
