"""Qwen-Omni thinkers of random weights, half a megabyte, written as real ones are. Need torch and transformers."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from tiny_hf import random_model, spread

MARKS_25 = {
    "image_token": "<|IMAGE|>", "audio_token": "<|AUDIO|>", "video_token": "<|VIDEO|>",
    "vision_bos_token": "<|vision_bos|>", "vision_eos_token": "<|vision_eos|>",
    "audio_bos_token": "<|audio_bos|>", "audio_eos_token": "<|audio_eos|>",
}  # fmt: skip
MARKS_3 = {
    "image_token": "<|image_pad|>", "audio_token": "<|audio_pad|>", "video_token": "<|video_pad|>",
    "vision_bos_token": "<|vision_start|>", "vision_eos_token": "<|vision_end|>",
    "audio_bos_token": "<|audio_start|>", "audio_eos_token": "<|audio_end|>",
}  # fmt: skip
_TURNS = {"turn_start": "<|im_start|>", "turn_end": "<|im_end|>"}


def write_words(folder: Path, marks: dict[str, str]) -> Any:
    """Write Qwen's tokenizer with single bytes as its only tokens, and its marks."""
    import transformers
    from tokenizers.pre_tokenizers import ByteLevel

    folder.mkdir(parents=True, exist_ok=True)
    letters = {letter: place for place, letter in enumerate(sorted(ByteLevel.alphabet()))}
    (folder / "vocab.json").write_text(json.dumps(letters))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    words = transformers.Qwen2Tokenizer(
        vocab=str(folder / "vocab.json"), merges=str(folder / "merges.txt"), extra_special_tokens={**marks, **_TURNS}
    )
    words.save_pretrained(folder)
    return words


SAYS = ("<iou>", "0.5", "</iou>", "<mask_type>", "erode", "</mask_type>")
"""What ``taught`` makes a model say, a token each."""


def taught(model: Any, words: Any) -> Any:
    """Make a language model say ``SAYS`` to whatever it is asked: each token follows from the one before alone."""
    import torch

    begin, end = words.convert_tokens_to_ids("Ċ"), words.convert_tokens_to_ids("<|im_end|>")
    chain = [begin, *words.convert_tokens_to_ids(list(SAYS)), end]
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if name.endswith(("o_proj.weight", "down_proj.weight")):
                weights.zero_()
        inner, outer = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        inner.copy_(torch.nn.functional.normalize(torch.randn(inner.shape, generator=torch.Generator().manual_seed(1))))
        outer.zero_()
        for before, after in itertools.pairwise(chain):
            outer[after] = 10.0 * inner[before]
    return model


def write_omni(folder: Path, *, generation: str = "2.5", seed: int = 3, teach: bool = False) -> Path:
    """Write a thinker with tokenizer and preparation of media; one that is taught says ``SAYS``."""
    import transformers

    words = write_words(folder, MARKS_25 if generation == "2.5" else MARKS_3)
    if teach:
        words.add_tokens(list(SAYS))
        words.save_pretrained(folder)
    sizes = {"patch_size": 14, "min_pixels": 28 * 28, "max_pixels": 28 * 28 * 9}
    if generation == "video-llama":
        transformers.VideoLlama3ImageProcessorPil(**sizes).save_pretrained(folder)
    else:
        transformers.Qwen2VLImageProcessorPil(**sizes, merge_size=2).save_pretrained(folder)
    pictures = json.loads((folder / "preprocessor_config.json").read_text())
    transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=3).save_pretrained(folder)
    settings = pictures | json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    build = {"2.5": _thinker_25, "3": _thinker_3, "video-llama": _video_llama}[generation]
    model = random_model(lambda: build(words), seed=seed)
    (taught(model, words) if teach else spread(model, by=8.0)).save_pretrained(folder)
    return folder


def _text(words: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(words), "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 4096,
        "pad_token_id": words.pad_token_id, "eos_token_id": words.eos_token_id, "bos_token_id": None,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [2, 3, 3]},
    }  # fmt: skip


_AUDIO = {
    "num_mel_bins": 16, "d_model": 32, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32,
    "output_dim": 32, "max_source_positions": 1500,
}  # fmt: skip
_VISION = {
    "depth": 2, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": 14, "out_hidden_size": 32,
}  # fmt: skip


def _thinker_25(words: Any) -> Any:
    import transformers

    numbers = {
        "image_token_index": words.image_token_id, "audio_token_index": words.audio_token_id,
        "video_token_index": words.video_token_id,
    }  # fmt: skip
    starts = {
        "vision_start_token_id": words.vision_bos_token_id, "audio_start_token_id": words.audio_bos_token_id,
        "audio_end_token_id": words.audio_eos_token_id,
    }  # fmt: skip
    config = transformers.Qwen2_5OmniThinkerConfig(
        text_config=_text(words), audio_config=_AUDIO,
        vision_config={**_VISION, "fullatt_block_indexes": [1], "window_size": 56}, **numbers, **starts,
    )  # fmt: skip
    return transformers.Qwen2_5OmniThinkerForConditionalGeneration(config)


def _thinker_3(words: Any) -> Any:
    import transformers

    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "head_dim": 16}
    numbers = {
        "image_token_id": words.image_token_id, "audio_token_id": words.audio_token_id,
        "video_token_id": words.video_token_id, "vision_start_token_id": words.vision_bos_token_id,
        "audio_start_token_id": words.audio_bos_token_id,
    }  # fmt: skip
    config = transformers.Qwen3OmniMoeThinkerConfig(
        text_config=_text(words) | experts,
        audio_config=_AUDIO | {"downsample_hidden_size": 8, "n_window_infer": 400},
        vision_config=_VISION | {"num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        **numbers,
    )
    return transformers.Qwen3OmniMoeThinkerForConditionalGeneration(config)


def _video_llama(words: Any) -> Any:
    import transformers

    text = {key: value for key, value in _text(words).items() if key != "rope_parameters"}
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.VideoLlama3Config(
        text_config={"model_type": "qwen2", **text}, vision_config={**vision, "patch_size": 14},
        image_token_id=words.image_token_id, video_token_id=words.video_token_id,
    )  # fmt: skip
    return transformers.VideoLlama3ForConditionalGeneration(config)
