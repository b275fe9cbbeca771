"""What SAJ needs at full size, computed on shapes without weights: parameters, operations, memory, least time.

Operations are counted on torch's meta device; times are what peaks of data sheets allow, so that real ones are longer.
Nothing here was run on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from auscult.nets.saj.network import Saj
from auscult.nets.saj.settings import SajDesign, released_design
from auscult.train.saj.samples import read_plans

SECONDS, WORDS, PICTURES, UPDATES = 10, 8, 8, 200_000
CARDS = (("A100 80 GB", 312e12), ("H100 SXM", 989e12))  # bf16 operations/s, data sheets


def run() -> list[tuple[str, str]]:
    """What is needed, and how much."""
    rows = []
    for name, design in (("paper", SajDesign()), ("sam_audio", released_design())):
        with torch.device("meta"):
            net = Saj(design).to(torch.bfloat16)
        parts = {part: sum(one.numel() for one in module.parameters()) for part, module in net.named_children()}
        whole = sum(parts.values())
        rows += [(f"{name}: weights", f"{whole / 1e9:.2f} billion: "
                  + ", ".join(f"{part} {count / 1e6:.1f} M" for part, count in parts.items()))]  # fmt: skip
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            _told(net, rows=1)
        spent = float(counter.get_total_flops())
        rows += [
            (f"{name}: judging, weights in bf16 (fp32)", f"{2 * whole / 1e9:.1f} ({4 * whole / 1e9:.1f}) GB"),
            (f"{name}: judging, operations of an output of {SECONDS} s", f"{spent / 1e12:.2f} T"),
        ]
        rows += [(f"{name}: judging, least time, {card}", f"{1e3 * spent / peak:.1f} ms") for card, peak in CARDS]
    return [*rows, *_training()]


def _told(net: Saj, *, rows: int) -> Mapping[str, Tensor]:
    """The network on ``rows`` outputs of one length each with all its prompts; on the meta device no value is known."""

    def of(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
        return torch.zeros(*shape, device="meta", dtype=dtype)

    frames = SECONDS * 25
    batch = SimpleNamespace(spans=of(rows, frames, dtype=torch.long), words_known=of(rows, WORDS, dtype=torch.bool),
                            asked={name: of(rows, dtype=torch.bool) for name in net.design.prompts})  # fmt: skip
    known, sounds = of(rows, frames, dtype=torch.bool), of(2 * rows, 1, frames * net.audio.steps)
    mixture, output = net.audio.net.net(input_values=sounds).last_hidden_state.split(rows)
    text = net.text(input_ids=of(rows, WORDS, dtype=torch.long), output_hidden_states=True).hidden_states[22]
    seen = None
    if net.vision is not None:
        shown = net.vision(pixel_values=of(rows * PICTURES, 3, 224, 224)).last_hidden_state[:, 0]
        seen = shown.unflatten(0, (rows, PICTURES))
    prompts: dict[str, Any] = {"known": known, "text": text, "seen": seen}
    whole = net.fusion(mixture, output, batch, **prompts)
    if net.design.form == "sam_audio":
        return {"all": net.head(whole).mean()}
    alone = net.fusion(mixture, None, batch, **prompts)
    return {name: head(alone if "difficulty" in name else whole).mean() for name, head in net.head.items()}


def _training() -> list[tuple[str, str]]:
    plan = read_plans("paper-scores")[0]
    with torch.device("meta"):
        net = Saj(plan.design).to(torch.bfloat16)
    for name, one in net.named_parameters():
        one.requires_grad_(not name.startswith(plan.frozen))
    together = plan.tokens // (2 * 25 * SECONDS)
    rows = together // plan.parts
    own = {one.untyped_storage()._cdata for one in net.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        if (key := tensor.untyped_storage()._cdata) not in own:
            kept[key] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor), \
            FlopCounterMode(display=False) as counter:  # fmt: skip
        loss = torch.stack(list(_told(net, rows=rows).values())).sum()
        inner = sum(kept.values())
        loss.backward()
    step = float(counter.get_total_flops()) * plan.parts
    learned = sum(one.numel() for one in net.parameters() if one.requires_grad)
    states = 6 * sum(one.numel() for one in net.parameters()) + 12 * learned
    hours = {(count, card): step * UPDATES / peak / count / 3600 for card, peak in CARDS for count in (1, 8)}
    return [
        ("training: learned", f"{learned / 1e9:.2f} billion"),
        ("training: weights in fp32 and bf16, gradients, AdamW's moments", f"{states / 1e9:.1f} GB"),
        (f"training: kept for the way back, {rows} outputs of {SECONDS} s at once", f"{inner / 1e9:.1f} GB"),
        (f"training: operations of a step of {plan.tokens} audio tokens, {together} outputs", f"{step / 1e12:.0f} T"),
        *((f"training: least time of {UPDATES} updates, {count} x {card}", f"{spent:.0f} h")
          for (count, card), spent in hours.items()),
    ]  # fmt: skip


if __name__ == "__main__":
    for name, value in run():
        print(f"| {name} | {value} |")
