"""A segmenter in training: what of its network learns, and the loss of a batch."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from auscult.nets.refsegformer.losses import choosing_loss, existence_loss, segmentation_loss, total_loss
from auscult.train import trainer
from auscult.train.rris.trainable import Plan, Trainable


class Trainer(trainer.Trainer):
    """A segmenter in training, see ``trainer.Trainer``."""

    recipe: ClassVar = "rris"
    plan: Plan

    def __init__(
        self, trainable: Trainable, feed: trainer.Lessons, *, seed: int, steps: int, device: str = "cpu"
    ) -> None:
        net = trainable.net
        if not isinstance(net, nn.Module):
            raise TypeError("a segmenter in training is a torch module")
        for name, value in net.named_parameters():
            value.requires_grad_(value.requires_grad and not name.startswith(trainable.plan.frozen or ("\0",)))
        self.trainable = trainable
        super().__init__(net, feed, trainable.plan, seed=seed, steps=steps, device=device)

    def losses(self, batch: Any) -> dict[str, torch.Tensor]:
        """Eqs. 5, 7 and 8 of a batch, and what the plan adds to them."""
        device, plan = self.accelerator.device, self.plan
        ids, known = (value.to(device) for value in self.trainable.read(batch.texts))
        pictures = torch.from_numpy(batch.pictures).to(device).permute(0, 3, 1, 2).float() / 255
        truth, exists = torch.from_numpy(batch.truth).to(device), torch.from_numpy(batch.exists).to(device)
        found = self.net(pictures, ids, known)
        masks = segmentation_loss(
            found.masks,
            truth,
            coarse=plan.coarse,
            foreground=plan.foreground,
            exists=exists,
            negatives=plan.negatives,
        )
        existence = None if found.existence is None else existence_loss(found.existence, exists)
        parts = {"loss": total_loss(masks, existence, gamma=plan.gamma), "masks": masks}
        if existence is not None:
            parts["existence"] = existence
        if plan.choosing and found.masks:
            objects, of, chosen = (torch.from_numpy(one).to(device) for one in (batch.objects, batch.of, batch.chosen))
            parts["choosing"] = choosing_loss(
                found.masks, objects, of, chosen=chosen, each=len(chosen) // len(pictures)
            )
            parts["loss"] = parts["loss"] + plan.choosing * parts["choosing"]
        return parts
