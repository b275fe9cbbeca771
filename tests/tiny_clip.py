"""A CLIP of random weights, a few kilobytes small, written the way real ones are; needs the extra `clip`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SKIP = "the extra `clip` is not installed"
SIDE = 32
DIM = 12


def needs_clip() -> None:
    """Skip the module where torch or transformers is missing."""
    if any(find_spec(name) is None for name in ("torch", "transformers")):
        pytest.skip(SKIP, allow_module_level=True)


def write_clip(folder: Path, *, seed: int = 0) -> Path:
    """Write model and tokenizer; the hidden sizes differ from the projected one, so that they cannot be mixed up."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(ord("!"), 127)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    numbers = {token: place for place, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    shared: dict[str, Any] = {"intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    ends = {"bos_token_id": numbers["<|startoftext|>"], "eos_token_id": numbers["<|endoftext|>"]}
    text = transformers.CLIPTextConfig(
        vocab_size=len(tokens),
        hidden_size=16,
        projection_dim=DIM,
        max_position_embeddings=40,
        pad_token_id=ends["eos_token_id"],
        **ends,
        **shared,
    )
    vision = transformers.CLIPVisionConfig(hidden_size=20, projection_dim=DIM, image_size=SIDE, patch_size=8, **shared)
    config = transformers.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=DIM)
    before = torch.random.get_rng_state()
    torch.manual_seed(seed)
    model = transformers.CLIPModel(config)
    torch.random.set_rng_state(before)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    return folder
