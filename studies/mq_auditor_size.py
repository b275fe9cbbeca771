"""What MQ-Auditor needs at full size, computed on shapes without weights: parameters, operations, memory, least time.

Operations are counted on torch's meta device and checked against the formula for the language model; times are what
peaks of data sheets allow, so that real ones are longer. Nothing here was run on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from auscult.nets.mq_auditor.inputs import AuditorBatch, Clip
from auscult.nets.mq_auditor.network import MqAuditor
from auscult.nets.mq_auditor.prompt import AuditorConfig

BEFORE, MASK_WORDS, REPLY, STEPS = 90, 20, 90, 60
"""Tokens of words before the mask and after it, of a reply, and the steps that it takes (tags cost none)."""
MASKS, BATCH, SAMPLES_A_STEP = 13, 4, 128
CARDS = (("A100 80 GB", 312e12, 2.04e12), ("H100 SXM", 989e12, 3.35e12))  # bf16 operations/s, bytes/s, data sheets


def run() -> list[tuple[str, str]]:
    """What is needed, and how much."""
    with torch.device("meta"):
        net = MqAuditor(AuditorConfig()).to(torch.bfloat16)
    return [*_weights(net), *_judging(net), *_training(net)]


def _counted(call: Callable[[], Any]) -> float:
    with FlopCounterMode(display=False) as counter:
        call()
    return float(counter.get_total_flops())


def _count(parts: Any) -> int:
    return sum(one.numel() for one in parts)


def _language(net: MqAuditor, tokens: int, before: int = 0) -> float:
    """Operations of reading ``tokens`` after ``before`` others: two a weight and token, four a pair and width."""
    shape = net.config.language
    width, layers = shape["hidden_size"], shape["num_hidden_layers"]
    inside = 4 * width * width + 3 * width * shape["intermediate_size"]
    rank = net.config.lora_rank * (4 * 2 * width + 3 * (width + shape["intermediate_size"]))
    pairs = tokens * (before + tokens)  # of the whole square, as it is computed
    return float(layers * (2 * (inside + rank) * tokens + 4 * width * pairs))


def _weights(net: MqAuditor) -> list[tuple[str, str]]:
    learned = _count(one for one in net.parameters() if one.requires_grad)
    adapters = _count(one for name, one in net.named_parameters() if "lora_" in name)
    ends = _count(net.language.get_input_embeddings().parameters()) * 2
    return [
        ("weights", f"{_count(net.parameters()) / 1e9:.2f} billion"),
        ("of these learned", f"{learned / 1e6:.0f} million: adapters {adapters / 1e6:.0f}, embeddings and head "
                             f"{ends / 1e6:.0f}, Q-Formers and projectors {(learned - adapters - ends) / 1e6:.0f}"),
    ]  # fmt: skip


def _meta(*shape: int) -> Tensor:
    return torch.zeros(*shape, device="meta", dtype=torch.bfloat16)


def _judging(net: MqAuditor) -> list[tuple[str, str]]:
    config = net.config
    clip = Clip(_meta(config.frames, 3, 224, 224), torch.zeros(config.seconds, 16_000, device="meta"))
    net.requires_grad_(False)
    with torch.no_grad():
        seen = _counted(lambda: net.encode([clip]))
        one = _counted(lambda: net.look(_meta(1, 3, 224, 224)))
        read = _counted(lambda: net.language(inputs_embeds=_meta(1, 512, 4096), logits_to_keep=1))
    share = read / _language(net, 512)
    prefix = (config.frames + config.seconds + 1) * config.queries + BEFORE
    own = config.mask_pictures * config.queries + MASK_WORDS
    shared = seen + one + _language(net, prefix)
    each = config.mask_pictures * one + _language(net, own, prefix) + _language(net, REPLY, prefix + own)
    cache = 2 * 2 * config.language["num_hidden_layers"] * config.language["hidden_size"] * (prefix + own + REPLY)
    weights = 2 * _count(net.parameters())
    rows = [
        ("counted by the formula's, language model", f"{share:.3f}"),
        ("tokens before the mask, with the mask", f"{prefix}, {prefix + own}"),
        ("judging: weights in bf16", f"{weights / 1e9:.1f} GB"),
        ("judging: cache a mask", f"{cache / 1e9:.2f} GB"),
        (f"judging: together, 1 and {MASKS} masks at once",
         f"{(weights + cache) / 1e9:.1f} and {(weights + MASKS * cache) / 1e9:.1f} GB"),
        ("judging: operations of what a clip's masks share, of each mask",
         f"{shared / 1e12:.1f} and {each / 1e12:.1f} T"),
        (f"judging: operations of {MASKS} masks, by those of one",
         f"{(shared + MASKS * each) / (shared + each):.1f}"),
    ]  # fmt: skip
    for card, peak, band in CARDS:
        alone = (shared + each) / peak + STEPS * (weights + cache) / band
        whole = (shared + MASKS * each) / peak + STEPS * (weights + MASKS * cache) / band
        rows.append((f"judging: least seconds of 1 and of {MASKS} masks of a clip, {card}",
                     f"{alone:.2f} and {whole:.2f}, {MASKS / whole:.0f} masks/s"))  # fmt: skip
    return rows


def _training(net: MqAuditor) -> list[tuple[str, str]]:
    config = net.config
    net.train()
    net.learn("answers")
    # prompts are of one length, so that the mask says nothing; on the meta device it cannot be looked at
    net.language.register_forward_pre_hook(lambda _, given, more: (given, {**more, "attention_mask": None}),
                                           with_kwargs=True)  # fmt: skip
    layout = (tuple(range(BEFORE)), "video", "sound", "frame", "mask", tuple(range(MASK_WORDS)))
    clips = tuple(
        Clip(_meta(config.frames, 3, 224, 224), torch.zeros(config.seconds, 16_000, device="meta"))
        for _ in range(BATCH)
    )
    batch = AuditorBatch(
        clips=clips,
        clip_of=tuple(range(BATCH)),
        frames=_meta(BATCH, 3, 224, 224),
        frame_of=tuple(range(BATCH)),
        masks=_meta(BATCH, config.mask_pictures, 3, 224, 224),
        layouts=(layout,) * BATCH,
        answers=(tuple(range(REPLY)),) * BATCH,
    )
    own = {one.untyped_storage()._cdata for one in net.parameters()}
    kept: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor.untyped_storage()._cdata not in own:
            kept[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), \
            FlopCounterMode(display=False) as counter:  # fmt: skip
        loss = net(batch)["loss"]
        inner = sum(one.untyped_storage().nbytes() for one in kept.values())
        loss.backward()
    operations = float(counter.get_total_flops())
    learned = _count(one for one in net.parameters() if one.requires_grad)
    whole = _count(net.parameters())
    states, cast = 4 * whole + 12 * learned, 2 * whole
    rows = [
        ("training: weights in fp32, their gradients and AdamW's two moments", f"{states / 1e9:.1f} GB"),
        ("training: weights cast to bf16 until the way back", f"{cast / 1e9:.1f} GB"),
        (f"training: what is kept for the way back, batch {BATCH}", f"{inner / 1e9:.1f} GB"),
        ("training: together", f"{(states + cast + inner) / 1e9:.0f} GB"),
        (f"training: operations of a batch of {BATCH}", f"{operations / 1e12:.0f} T"),
    ]
    rows += [
        (f"training: least time of a step of {SAMPLES_A_STEP} masks, one {card}",
         f"{operations * SAMPLES_A_STEP / BATCH / peak:.0f} s")
        for card, peak, _ in CARDS
    ]  # fmt: skip
    return rows


if __name__ == "__main__":
    for name, value in run():
        print(f"| {name} | {value} |")
