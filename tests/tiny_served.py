"""Models of random weights that `transformers serve` can serve without torchvision: of text, pictures, sounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiny_hf import random_model
from tiny_omni import MARKS_25, SAYS, taught, write_words

_TURN = "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
_TEXT = "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}"
_TEMPLATE = (
    _TURN + "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}" + _TEXT + "MARK{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _words(folder: Path, mark: str) -> Any:
    words = write_words(folder, MARKS_25)
    words.chat_template = _TEMPLATE.replace("MARK", mark)
    words.save_pretrained(folder)
    return words


def _language(words: Any) -> dict[str, Any]:
    return {
        "model_type": "qwen2", "vocab_size": len(words), "hidden_size": 32, "intermediate_size": 32,
        "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 4096,
        "pad_token_id": words.pad_token_id, "eos_token_id": words.eos_token_id, "bos_token_id": None,
    }  # fmt: skip


def write_text_model(folder: Path) -> Path:
    """A Qwen2 of text."""
    import transformers

    words = _words(folder, "")
    config = transformers.Qwen2Config(**{k: v for k, v in _language(words).items() if k != "model_type"})
    random_model(lambda: transformers.Qwen2ForCausalLM(config), seed=1).save_pretrained(folder)
    return folder


def write_picture_model(folder: Path, *, teach: bool = False) -> Path:
    """A LLaVA: CLIP's tower and Qwen2; one that is taught says ``tiny_omni.SAYS``."""
    import transformers

    words = _words(folder, "<|IMAGE|>")
    if teach:
        words.add_tokens(list(SAYS))
        words.save_pretrained(folder)
    vision = {
        "model_type": "clip_vision_model", "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "image_size": 32, "patch_size": 16, "projection_dim": 32,
    }  # fmt: skip
    config = transformers.LlavaConfig(
        vision_config=vision, text_config=_language(words), image_token_index=words.image_token_id,
        vision_feature_layer=-1, image_seq_length=4,
    )  # fmt: skip
    model = random_model(lambda: transformers.LlavaForConditionalGeneration(config), seed=1)
    (taught(model, words) if teach else model).save_pretrained(folder)
    processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    transformers.LlavaProcessor(
        image_processor=processor, tokenizer=words, patch_size=16, vision_feature_select_strategy="default",
        image_token=words.image_token, num_additional_image_tokens=1, chat_template=words.chat_template,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def write_sound_model(folder: Path) -> Path:
    """A Qwen2-Audio."""
    import transformers

    words = _words(folder, "<|audio_bos|><|AUDIO|><|audio_eos|>")
    audio = {
        "model_type": "qwen2_audio_encoder", "num_mel_bins": 16, "d_model": 32, "encoder_layers": 1,
        "encoder_attention_heads": 2, "encoder_ffn_dim": 32, "max_source_positions": 1500,
    }  # fmt: skip
    config = transformers.Qwen2AudioConfig(
        audio_config=audio, text_config=_language(words), audio_token_index=words.audio_token_id
    )
    random_model(lambda: transformers.Qwen2AudioForConditionalGeneration(config), seed=1).save_pretrained(folder)
    transformers.Qwen2AudioProcessor(
        feature_extractor=transformers.WhisperFeatureExtractor(feature_size=16),
        tokenizer=words,
        chat_template=words.chat_template,
    ).save_pretrained(folder)
    return folder


def profile(path: Path, folder: Path, **fields: Any) -> Path:
    """Its profile, as JSON."""
    path.write_text(json.dumps({"model": str(folder), "revision": "tiny", "max_tokens": 6, **fields}))
    return path
