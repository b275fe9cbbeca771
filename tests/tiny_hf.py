"""Hugging Face models of random weights, a few hundred kilobytes small, written the way real ones are.

Need torch and transformers. Random weights of the usual spread make flat answers, so some are made larger, and where a
model says whether anything is there, its bias is set.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

CLIP_WORDS = 40
SIDE = 64


def random_model(build: Callable[[], Any], *, seed: int) -> Any:
    """A model of random weights, the same for a seed; torch's own generator is left as it was."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    before = torch.random.get_rng_state()
    torch.manual_seed(seed)
    try:
        return build().eval()
    finally:
        torch.random.set_rng_state(before)


def spread(model: Any, *, by: float) -> Any:
    """Make every matrix of a model larger, so that its answers vary with its input."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            if weights.ndim > 1:
                weights.mul_(by)
    return model


def write_clip_words(folder: Path) -> dict[str, int]:
    """Write CLIP's tokenizer with single letters as its only tokens, and give the numbers of its marks."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(code) for code in range(ord("!"), 127)]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    numbers = {token: place for place, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    transformers.CLIPTokenizer.from_pretrained(str(folder)).save_pretrained(folder)
    end = numbers["<|endoftext|>"]
    return {
        "vocab_size": len(tokens),
        "bos_token_id": numbers["<|startoftext|>"],
        "eos_token_id": end,
        "pad_token_id": end,
    }


def write_bert_words(folder: Path) -> int:
    """Write BERT's tokenizer, its marks and full stop where Grounding DINO looks for them; gives the vocabulary."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    words = [f"[unused{place}]" for place in range(1100)]
    marks = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    letters = {200 + place: chr(ord("a") + place) for place in range(26)}
    pieces = {300 + place: f"##{chr(ord('a') + place)}" for place in range(26)}
    for place, word in {**marks, **letters, **pieces}.items():
        words[place] = word
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    transformers.BertTokenizer.from_pretrained(str(folder)).save_pretrained(folder)
    return len(words)


def write_clipseg(folder: Path, *, seed: int = 0) -> Path:
    """Write CLIPSeg; its pictures are larger than those it is made for, as in the release."""
    import transformers

    marks = write_clip_words(folder)
    shared: dict[str, Any] = {"intermediate_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2}
    config = transformers.CLIPSegConfig(
        text_config={**marks, **shared, "hidden_size": 16, "max_position_embeddings": CLIP_WORDS},
        vision_config={**shared, "hidden_size": 20, "image_size": 32, "patch_size": 8},
        projection_dim=12,
        extract_layers=[0, 1],
        reduce_dim=8,
        decoder_num_attention_heads=2,
        decoder_intermediate_size=16,
    )
    model = random_model(lambda: transformers.CLIPSegForImageSegmentation(config), seed=seed)
    spread(model, by=4.0).save_pretrained(folder)
    settings = {"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.4], "resample": 2, "do_resize": True}
    _write(folder / "preprocessor_config.json", {**settings, "size": {"height": SIDE, "width": SIDE}})
    return folder


def write_grounding(folder: Path, *, seed: int = 0) -> Path:
    """Write Grounding DINO."""
    import transformers

    words = write_bert_words(folder)
    text = {"vocab_size": words, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.GroundingDinoConfig(
        backbone_config=transformers.SwinConfig(
            embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=4, out_indices=[2, 3, 4]
        ),
        text_config=transformers.BertConfig(**text, intermediate_size=24, max_position_embeddings=CLIP_WORDS),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=12,
        max_text_len=CLIP_WORDS,
    )
    random_model(lambda: transformers.GroundingDinoForObjectDetection(config), seed=seed).save_pretrained(folder)
    settings = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    _write(folder / "preprocessor_config.json", {**settings, "size": {"shortest_edge": 256, "longest_edge": 400}})
    return folder


def write_swin(folder: Path, *, seed: int = 0) -> Path:
    """Write Swin, for pictures of 64 pixels."""
    import transformers

    config = transformers.SwinConfig(
        image_size=SIDE, patch_size=4, embed_dim=8, depths=[1, 1, 2, 1], num_heads=[1, 1, 2, 2], window_size=2
    )
    random_model(lambda: transformers.SwinModel(config), seed=seed).save_pretrained(folder)
    return folder


def write_bert(folder: Path, *, seed: int = 0) -> Path:
    """Write BERT and its tokenizer."""
    import transformers

    words = write_bert_words(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.BertConfig(vocab_size=words, max_position_embeddings=CLIP_WORDS, **sizes)
    random_model(lambda: transformers.BertModel(config), seed=seed).save_pretrained(folder)
    return folder


def sam2_parts(*, width: int = 128) -> dict[str, Any]:
    """Settings that SAM 2 and SAM 2 video share, for pictures of 64 pixels."""
    backbone = {
        "hidden_size": 8,
        "image_size": [SIDE, SIDE],
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2],
        "window_size_per_stage": [4, 2, 2, 2],
        "window_positional_embedding_background_size": [4, 4],
        "global_attention_blocks": [3],
    }
    seeing = {
        "backbone_config": {**backbone, "model_type": "sam2_hiera_det_model"},
        "backbone_channel_list": [64, 32, 16, 8],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
        "fpn_hidden_size": width,
        "model_type": "sam2_vision_model",
    }
    return {
        "vision_config": seeing,
        "prompt_encoder_config": {"hidden_size": width, "image_size": SIDE, "patch_size": 16},
        "mask_decoder_config": {
            "hidden_size": width,
            "mlp_dim": 32,
            "num_attention_heads": 4,
            "iou_head_hidden_dim": 16,
        },
    }


def write_sam2(folder: Path, *, seed: int = 0) -> Path:
    """Write SAM 2 for single frames."""
    import transformers

    config = transformers.Sam2Config(**sam2_parts())
    model = random_model(lambda: transformers.Sam2Model(config), seed=seed)
    spread(model, by=3.0).save_pretrained(folder)
    return folder


def write_sam2_video(folder: Path, *, seed: int = 0) -> Path:
    """Write SAM 2 for videos, which looks back at two frames and three pointers only."""
    import transformers

    width = 128
    config = transformers.Sam2VideoConfig(
        **sam2_parts(width=width),
        image_size=SIDE,
        num_maskmem=3,
        max_object_pointers_in_encoder=4,
        memory_attention_hidden_size=width,
        memory_attention_num_layers=1,
        memory_attention_feed_forward_hidden_size=32,
        memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=width,
        memory_encoder_output_channels=64,
        mask_downsampler_embed_dim=width,
        memory_fuser_embed_dim=width,
        memory_fuser_intermediate_dim=32,
        memory_fuser_num_layers=1,
    )
    model = spread(random_model(lambda: transformers.Sam2VideoModel(config), seed=seed), by=3.0)
    _raise(model.mask_decoder.pred_obj_score_head.proj_out, by=5.0)  # the object is seen
    model.save_pretrained(folder)
    return folder


def write_sam3(folder: Path, *, seed: int = 0) -> Path:
    """Write the detector of SAM 3."""
    import transformers

    marks = write_clip_words(folder)
    width = 32
    layers = {"hidden_size": width, "num_attention_heads": 2, "intermediate_size": 48, "num_layers": 1}
    config = transformers.Sam3Config(
        vision_config={
            "backbone_config": {
                "model_type": "sam3_vit_model",
                "hidden_size": 32,
                "intermediate_size": 48,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": 112,
                "patch_size": 14,
                "pretrain_image_size": 56,
                "window_size": 4,
                "global_attn_indexes": [1],
            },
            "fpn_hidden_size": width,
            "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        },
        text_config={
            "model_type": "clip_text_model",
            **marks,
            "hidden_size": 24,
            "intermediate_size": 48,
            "projection_dim": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "max_position_embeddings": 32,
        },
        geometry_encoder_config=layers,
        detr_encoder_config=layers,
        detr_decoder_config={**layers, "num_queries": 10},
        mask_decoder_config={"hidden_size": width, "num_attention_heads": 2},
    )
    model = spread(random_model(lambda: transformers.Sam3Model(config), seed=seed), by=3.0)
    _raise(model.detr_decoder.presence_head.layer3, by=3.0)  # what is asked for is there
    spread(model.dot_product_scoring.query_proj, by=10.0)
    spread(model.mask_decoder.mask_embedder, by=4.0)
    model.save_pretrained(folder)
    return folder


def write_sam(folder: Path, *, seed: int = 0) -> Path:
    """Write the first SAM, for pictures of 64 pixels."""
    import transformers

    config = transformers.SamConfig(
        vision_config={
            "hidden_size": 16,
            "output_channels": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": SIDE,
            "patch_size": 16,
            "window_size": 2,
            "global_attn_indexes": [1],
            "num_pos_feats": 16,
            "mlp_dim": 32,
            "initializer_range": 0.02,
        },
        prompt_encoder_config={"hidden_size": 32, "image_size": SIDE, "patch_size": 16},
        mask_decoder_config={"hidden_size": 32, "mlp_dim": 32, "num_attention_heads": 4, "iou_head_hidden_dim": 16},
    )
    spread(random_model(lambda: transformers.SamModel(config), seed=seed), by=3.0).save_pretrained(folder)
    return folder


def write_sam3_tracker(folder: Path, *, seed: int = 0) -> Path:
    """Write the part of SAM 3 that takes a box, for pictures of 112 pixels."""
    import transformers

    side, patch, width = 112, 14, 32
    config = transformers.Sam3TrackerConfig(
        vision_config={
            "model_type": "sam3_vision_model",
            "backbone_config": {
                "model_type": "sam3_vit_model",
                "hidden_size": 32,
                "intermediate_size": 48,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "image_size": side,
                "patch_size": patch,
                "pretrain_image_size": side // 2,
                "window_size": 4,
                "global_attn_indexes": [1],
            },
            "fpn_hidden_size": width,
            "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        },
        prompt_encoder_config={"hidden_size": width, "image_size": side, "patch_size": patch},
        mask_decoder_config={"hidden_size": width, "mlp_dim": 32, "num_attention_heads": 4, "iou_head_hidden_dim": 16},
    )
    spread(random_model(lambda: transformers.Sam3TrackerModel(config), seed=seed), by=3.0).save_pretrained(folder)
    return folder


def clip_of(frames: int, *, size: tuple[int, int] = (48, 70)) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Frames of coarse random patches, uint8 RGB (T, H, W, 3)."""
    from auscult.rng import generator

    coarse = generator(0, "hf frames").integers(0, 256, (frames, 6, 7, 3), dtype=np.uint8)
    rows = np.arange(size[0]) * 6 // size[0]
    columns = np.arange(size[1]) * 7 // size[1]
    return np.ascontiguousarray(coarse[:, rows][:, :, columns])


def _raise(layer: Any, *, by: float) -> None:
    import torch

    with torch.no_grad():
        layer.bias += by


def _write(path: Path, table: dict[str, Any]) -> None:
    path.write_text(json.dumps(table))
