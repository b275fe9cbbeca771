"""RefSegformer: a segmenter that reads a sentence and can answer with nothing.

Wu et al. 2024, "Towards Robust Referring Image Segmentation" (IEEE TIP; arXiv 2209.09554), Sec. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from torch import Tensor, nn
from torch.nn import functional

from auscult.nets.refsegformer.decoder import Deformable, Fpn
from auscult.nets.refsegformer.settings import LAST, Design
from auscult.nets.refsegformer.vltf import Attention, Fused, Pwan, Vltf, flat


class Segmentation(NamedTuple):
    """What a segmenter answers."""

    masks: Sequence[Tensor]  # logits (n, 2, h, w) of background and target, finest first, at any strides
    existence: Tensor | None = None  # logits (n,) that the target is there; None without a head
    attention: Sequence[Tensor] = ()  # by fusion: of each position to each token, (n, h * w, blank + memory)


class Segmenter(Protocol):
    """A network that `auscult train rris` can train."""

    def __call__(self, pictures: Tensor, ids: Tensor, known: Tensor) -> Segmentation:
        """Segment.

        Args:
            pictures: RGB in 0..1, (p, 3, side, side).
            ids: Tokens, int64 (n, t): n / p sentences of the first picture, then those of the next.
            known: Which of them are no padding, bool (n, t).
        """
        ...


class ExistenceHead(nn.Module):
    """Eq. 6: mask features and tokens attend to one another, are averaged and weighed: is the target there?"""

    def __init__(self, width: int, *, tokens: int, design: Design) -> None:
        super().__init__()
        self.by_vision = design.existence == "vision"
        self.detached = design.existence_gradient == "detached"
        asking, asked = (width, tokens) if self.by_vision else (tokens, width)
        self.attention = Attention(asking, heads=max(1, asking // design.head_width), source=asked)
        self.mu = nn.Linear(asking, 1)

    def forward(self, features: Tensor, fused: Fused) -> Tensor:
        """Logits (n,) from S_1 (n, c, h, w) and a fusion's tokens."""
        seen, tokens = flat(features), fused.tokens
        if self.detached:
            seen, tokens = seen.detach(), tokens.detach()
        if self.by_vision:
            return self.mu(self.attention(seen, tokens, fused.known)[0].mean(dim=1))[:, 0]
        found, _ = self.attention(tokens, seen)
        if fused.known is None:
            return self.mu(found.mean(dim=1))[:, 0]
        held = fused.known[:, :, None].to(found.dtype)
        return self.mu((found * held).sum(dim=1) / held.sum(dim=1))[:, 0]


_DECODERS: Final[dict[str, type[Fpn | Deformable]]] = {"fpn": Fpn, "deformable": Deformable}


class RefSegformer(nn.Module):
    """Encoders, a fusion behind each stage of ``design.fused``, a decoder, and the existence head.

    Eq. 3 as printed gives V_3 and V_4 no stage of their own: it says V_i = V_{i-1} + sigma(F_i), of two sizes. Our
    reading, which is also the release's: V_i = v_i(V_{i-1} + sigma(F_{i-1})). The next stage sees the picture's
    features with the normalised fusion added. Sigma is a batch norm; beside a pretrained encoder its gain begins at 0,
    so that nothing is disturbed at first (release). The decoder gets V_1 and F_2, F_3, F_4; V_i where no fusion was.
    """

    def __init__(self, design: Design, *, vision: nn.Module, text: nn.Module) -> None:
        super().__init__()
        self.design = design
        self.vision, self.text = vision, text
        fusion = Vltf if design.fusion == "vltf" else Pwan
        self.fusions = nn.ModuleDict(
            {
                str(at): fusion(design.widths[at - 1], design, leads_on=at < LAST or design.decoder_input == "sum")
                for at in design.fused
            }
        )
        self.decoder = _DECODERS[design.decoder](design) if design.decoder != "none" else None
        width = design.widths[-1] if self.decoder is None else self.decoder.width
        tokens = design.widths[design.existence_stage - 1]
        self.head = ExistenceHead(width, tokens=tokens, design=design) if design.existence != "none" else None

    def forward(self, pictures: Tensor, ids: Tensor, known: Tensor) -> Segmentation:
        """As ``Segmenter`` says; what hangs on the picture alone is computed once a picture."""
        each = len(ids) // len(pictures)
        return self.answer([one.repeat_interleave(each, dim=0) for one in self.stem(pictures)], ids, known)

    def stem(self, pictures: Tensor) -> list[Tensor]:
        """V_1 up to the first fused stage: all that hangs on the picture alone."""
        maps = [self.vision(pictures, 1)]
        for stage in range(2, self.design.fused[0] + 1):
            maps.append(self.vision(maps[-1], stage))
        return maps

    def answer(self, maps: Sequence[Tensor], ids: Tensor, known: Tensor) -> Segmentation:
        """Answer sentences, one for each picture of the batch that ``stem`` saw."""
        words = self.text(ids, known)
        kept, fused = list(maps[:-1]), dict[int, Fused]()
        seen = maps[-1]
        for stage in range(len(maps), LAST + 1):
            if stage > len(maps):
                seen = self.vision(seen, stage)
            shown = seen
            if stage in self.design.fused:
                fused[stage] = found = self.fusions[str(stage)](seen, words, known)
                seen = seen if found.onward is None else seen + found.onward
                shown = seen if self.design.decoder_input == "sum" else found.features
            kept.append(shown)
        features, masks = (kept[-1], []) if self.decoder is None else self.decoder(kept, fused)
        existence = self.head(features, fused[self.design.existence_stage]) if self.head is not None else None
        return Segmentation(masks, existence, [one.attention for one in fused.values()])


class TwoStage(nn.Module):
    """The paper's two-stage baseline: one network draws, another says whether the target is there (Sec. 4.1).

    Args:
        segmenter: Draws masks; trained on true sentences alone it is a plain referring segmenter.
        classifier: Has an existence head.
    """

    def __init__(self, segmenter: nn.Module, classifier: nn.Module) -> None:
        super().__init__()
        self.segmenter, self.classifier = segmenter, classifier

    def forward(self, pictures: Tensor, ids: tuple[Tensor, Tensor], known: tuple[Tensor, Tensor]) -> Segmentation:
        """As ``Segmenter``, the sentence read by each network's own reader."""
        drawn = self.segmenter(pictures, ids[0], known[0])
        return Segmentation(drawn.masks, self.classifier(pictures, ids[1], known[1]).existence)


def predicted(found: Segmentation, size: tuple[int, int]) -> Tensor:
    """Masks of ``size`` (height, width), bool (n, H, W): where M_1, enlarged linearly, is higher for the target.

    Empty where the head says that nothing is there: a probability below .5.
    """
    logits = functional.interpolate(found.masks[0].float(), size=size, mode="bilinear", align_corners=False)
    masks = logits[:, 1] > logits[:, 0]
    return masks if found.existence is None else masks & (found.existence >= 0)[:, None, None]
