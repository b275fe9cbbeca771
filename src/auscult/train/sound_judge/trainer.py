"""The losses of the compact judge's two stages: alignment, then scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from auscult.nets.sound_judge.network import Hardness, Heard, HeardAlone, Judged, SoundJudgeNet
from auscult.train.trainer import Trainer

_BETA = 0.25  # of smooth L1, in points


class SoundTrainer(Trainer):
    """Learns to judge; with ``aligning`` only whether an output is the target."""

    recipe = "compact-sound"
    aligning = False

    def _groups(self, net: nn.Module) -> list[dict[str, Any]]:
        groups = []
        for name, share in (("trunk", self.plan.trunk), ("", 1.0)):  # type: ignore[attr-defined]
            mine = [value for key, value in net.named_parameters() if key.startswith("trunk") == bool(name)]
            if share == 0:
                for value in mine:
                    value.requires_grad = False
                continue
            for matrices, decay in ((True, self.plan.decay), (False, 0.0)):
                chosen = [value for value in mine if (value.ndim > 1) == matrices]
                groups.append({"params": chosen, "weight_decay": decay, "scale": share})
        return groups

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The loss of a batch and its parts."""
        judged, hardness = judge(self.net, batch)
        aligned = F.binary_cross_entropy_with_logits(judged.aligned, batch["aligned"])
        if self.aligning:
            right = ((judged.aligned > 0) == (batch["aligned"] > 0.5)).float().mean()
            return {"loss": aligned, "right": right}
        error = F.smooth_l1_loss(judged.scores, batch["scores"], beta=_BETA, reduction="none")
        scores = (error * error.new_tensor([1.0, 1.0, 1.0, 1.5])).mean()
        off = (judged.scores - batch["scores"]).abs().detach()
        spread = (off * torch.exp(-judged.spread) + judged.spread).mean()
        curves = F.binary_cross_entropy_with_logits(judged.curves, batch["curves"].clamp(0, 1))
        hard = F.smooth_l1_loss(hardness.difficulty, batch["difficulty"], beta=_BETA)
        known = batch["domain"] >= 0
        domain = F.cross_entropy(hardness.domain[known], batch["domain"][known]) if known.any() else scores * 0
        loss = scores + 0.1 * spread + 0.2 * aligned + 0.4 * curves + 0.3 * hard + 0.05 * domain
        return {"loss": loss, "scores": scores, "curves": curves, "difficulty": hard, "aligned": aligned}


def judge(net: nn.Module, batch: dict[str, Tensor]) -> tuple[Judged, Hardness]:
    """What a network says of a batch."""
    own: SoundJudgeNet = getattr(net, "module", net)
    mels = batch["mels"]
    count, three, bands, frames = mels.shape
    if "early" in batch:
        early = batch["early"].flatten(0, 1).float()
    else:
        early = own.trunk.early(_last(mels.reshape(count * three, 1, bands, frames)))
    steps = own.trunk.late(_last(early)).reshape(count, three, -1, frames // 32)
    return own(hear(own, steps, batch)), own.hardness(hear_alone(own, steps, batch))


def hear(net: SoundJudgeNet, steps: Tensor, batch: Mapping[str, Tensor]) -> Heard:
    """What the head is given of steps (n, 3, 384, S) and of a batch's spectrograms, spans and classes."""
    mixture, output, rest = steps.unbind(1)
    evidence = torch.cat([net.evidence(one, batch["classes"]) for one in (mixture, output, rest)], dim=-1)
    return Heard(mixture, output, rest, batch["mels"], batch["spans"], evidence, net.prompt(batch["classes"]))


def hear_alone(net: SoundJudgeNet, steps: Tensor, batch: Mapping[str, Tensor]) -> HeardAlone:
    """The same of mixtures alone."""
    own, classes = steps[:, 0], batch["classes"]
    return HeardAlone(own, batch["mels"][:, :1], batch["spans"], net.evidence(own, classes), net.prompt(classes))


def _last(images: Tensor) -> Tensor:
    """Images with their channels last in memory, by which convolutions are three times as fast."""
    return images.contiguous(memory_format=torch.channels_last)
