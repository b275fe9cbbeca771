"""What an MQ-Auditor is made of, as a ``config.json``; the defaults are the paper's (MQA-RefAVS, Sec. 4 and Fig. 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from transformers import PretrainedConfig

MASK_USES: Final = ("both", "mask", "masked", "overlay")
IOU_WAYS: Final = ("text", "token")
SOUNDS: Final = ("beats", "ast", "clap", "pe_audio")

LLAMA_2_7B: Final[Mapping[str, Any]] = {
    "model_type": "llama",
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}
CLIP_L_14: Final[Mapping[str, Any]] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
}
BEATS: Final[Mapping[str, Any]] = {
    "kind": "beats",
    "layers": 12,
    "width": 768,
    "inner": 3072,
    "heads": 12,
    "patch": 16,
    "patch_width": 512,
    "buckets": 320,
    "max_distance": 800,
    "conv": 128,
    "conv_groups": 16,
}


class AuditorConfig(PretrainedConfig):
    """Settings of an MQ-Auditor.

    Args:
        language: Settings of a causal language model of ``transformers`` that takes ``inputs_embeds``.
        vision: Settings of ``CLIPVisionModel``.
        sound: ``kind``, one of ``SOUNDS``, and the settings of that encoder.
        frames: Most frames of a clip.
        seconds: Most seconds of its sound.
        queries: Tokens of a picture and of a second.
        qformer_layers: Layers of each of the two Q-Formers.
        qformer_width: Their width.
        qformer_heads: Their heads.
        vision_layer: Which hidden states of CLIP are used, -1 for the last layer's. The release computes layers 14, 22
            and 23 of hidden states 0 to 24, and uses 23.
        mask_use: What is seen of a mask (Tables 4, 9): ``mask`` in white on black, ``masked``, the frame in black
            outside of it, ``both``, or ``overlay``, the frame with the mask tinted.
        iou: Whether the IoU is written as ``text``, or read off a ``token`` by a linear layer and a sigmoid (Table 5).
        lora_rank: Rank of the adapters on all seven projections of each layer; 0 for none.
        lora_alpha: Their scale is this by the rank.
        lora_dropout: Dropout before them.
    """

    model_type = "mq_auditor"

    def __init__(
        self,
        *,
        language: Mapping[str, Any] | None = None,
        vision: Mapping[str, Any] | None = None,
        sound: Mapping[str, Any] | None = None,
        frames: int = 10,
        seconds: int = 10,
        queries: int = 32,
        qformer_layers: int = 2,
        qformer_width: int = 768,
        qformer_heads: int = 12,
        vision_layer: int = -2,
        mask_use: str = "both",
        iou: str = "text",
        lora_rank: int = 32,
        lora_alpha: int = 64,
        lora_dropout: float = 0.05,
        **others: Any,
    ) -> None:
        for what, given, known in (("mask_use", mask_use, MASK_USES), ("iou", iou, IOU_WAYS)):
            if given not in known:
                raise ValueError(f"{what} is {given!r}, not one of {', '.join(known)}")
        self.language = dict(language or LLAMA_2_7B)
        self.vision = dict(vision or CLIP_L_14)
        self.sound = dict(sound or BEATS)
        if self.sound.get("kind") not in SOUNDS:
            raise ValueError(f"the sound's kind is {self.sound.get('kind')!r}, not one of {', '.join(SOUNDS)}")
        self.frames, self.seconds, self.queries = frames, seconds, queries
        self.qformer_layers, self.qformer_width, self.qformer_heads = qformer_layers, qformer_width, qformer_heads
        self.vision_layer, self.mask_use, self.iou = vision_layer, mask_use, iou
        self.lora_rank, self.lora_alpha, self.lora_dropout = lora_rank, lora_alpha, lora_dropout
        super().__init__(**others)

    @property
    def mask_pictures(self) -> int:
        """Pictures that a mask is shown as."""
        return 2 if self.mask_use == "both" else 1

    @property
    def sound_rate_hz(self) -> int:
        """Sample rate that the encoder of sounds was made for."""
        return 16_000 if self.sound["kind"] in {"beats", "ast"} else 48_000


def tiny_config(vocabulary: int, **network: Any) -> AuditorConfig:
    """The same network with next to no weights, for tests: pictures of 32 pixels; ``network`` replaces settings."""
    layers = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    usual: dict[str, Any] = {
        "language": {"model_type": "llama", "vocab_size": vocabulary, "max_position_embeddings": 2048, **layers},
        "vision": {"image_size": 32, "patch_size": 8, **layers},
        "sound": {**BEATS, "layers": 2, "width": 32, "inner": 64, "heads": 2, "patch_width": 16, "conv": 16},
        "frames": 4,
        "seconds": 4,
        "queries": 4,
        "qformer_width": 32,
        "qformer_heads": 2,
        "lora_rank": 4,
        "lora_alpha": 8,
    }
    return AuditorConfig(**{**usual, **network})
