"""The network of ``sound.compact.v1``: a pretrained tagger hears mixture, output and rest; a head compares them.

After SAM Audio Judge, Sec. III-B, at a laptop's size. The trunk is EfficientAT's smallest tagger, ``mn04_as``: a
MobileNetV3 at .4 of its width (Schmid et al., ICASSP 2023), which hears all three alike. Beside what it makes of them
the head gets, in each step, how strongly the wanted classes, and the strongest of all others, are in each of the three;
what a small network sees in the three spectrograms side by side; spans; and levels. Difficulty has a head of its own,
which never gets the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH: Final = 384
CLASSES: Final = 527
FRAMES: Final = 32
"""So many frames of 10 ms are one step of what the trunk gives."""
EARLY: Final = 6
"""Blocks that may rest in training: they hold 1 % of the weights and take two thirds of its time."""
_HIDDEN: Final = 512
# kernel, expanded width (0: none), width, width of the squeeze (0: none), hard swish, stride
_BLOCKS: Final = (
    (3, 0, 8, 0, False, 1),
    (3, 24, 16, 0, False, 2),
    (3, 32, 16, 0, False, 1),
    (5, 32, 16, 8, False, 2),
    (5, 48, 16, 16, False, 1),
    (5, 48, 16, 16, False, 1),
    (3, 96, 32, 0, True, 2),
    (3, 80, 32, 0, True, 1),
    (3, 72, 32, 0, True, 1),
    (3, 72, 32, 0, True, 1),
    (3, 192, 48, 48, True, 1),
    (3, 272, 48, 72, True, 1),
    (5, 272, 64, 72, True, 2),
    (5, 384, 64, 96, True, 1),
    (5, 384, 64, 96, True, 1),
)


class _Inverted(nn.Module):
    """An inverted residual block, with its batch normalisation folded into the convolutions."""

    def __init__(self, narrow: int, settings: tuple[int, int, int, int, bool, int]) -> None:
        super().__init__()
        kernel, expanded, width, squeeze, hard, stride = settings
        wide = expanded or narrow
        self.act = nn.Hardswish() if hard else nn.ReLU()
        self.expand = nn.Conv2d(narrow, wide, 1) if expanded else None
        self.depth = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide)
        self.squeeze = nn.Sequential(nn.Linear(wide, squeeze), nn.ReLU(), nn.Linear(squeeze, wide)) if squeeze else None
        self.project = nn.Conv2d(wide, width, 1)
        self.residual = stride == 1 and width == narrow

    def forward(self, inputs: Tensor) -> Tensor:
        features = inputs if self.expand is None else self.act(self.expand(inputs))
        features = self.act(self.depth(features))
        if self.squeeze is not None:
            features = features * torch.sigmoid(self.squeeze(features.mean((2, 3))))[:, :, None, None]
        features = self.project(features)
        return inputs + features if self.residual else features


class Trunk(nn.Module):
    """From log-mel spectrograms (n, 1, 128, T) to steps (n, 384, T / 32), and on to classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, 2, 1)
        narrow, blocks = 8, []
        for settings in _BLOCKS:
            blocks.append(_Inverted(narrow, settings))
            narrow = settings[2]
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Conv2d(narrow, WIDTH, 1)
        self.hidden, self.classes = nn.Linear(WIDTH, _HIDDEN), nn.Linear(_HIDDEN, CLASSES)

    def forward(self, log_mel: Tensor) -> Tensor:
        """Steps of .32 s, the mean over frequency."""
        return self.late(self.early(log_mel))

    def early(self, log_mel: Tensor) -> Tensor:
        """What the first ``EARLY`` blocks make: (n, 16, 16, T / 8)."""
        features: Tensor = self.blocks[:EARLY](F.hardswish(self.stem(log_mel)))
        return features

    def late(self, early: Tensor) -> Tensor:
        """What the other blocks make of that: (n, 384, T / 32)."""
        return F.hardswish(self.last(self.blocks[EARLY:](early))).mean(2)

    def logits(self, steps: Tensor) -> Tensor:
        """Logits of the classes, (..., 527), of steps or of their mean, (..., 384)."""
        result: Tensor = self.classes(F.hardswish(self.hidden(steps)))
        return result


SCORES: Final = 4
AXES: Final = 5
DOMAINS: Final = 3
_QUERY, _EVIDENCE, _SEEN = 64, 4, 96
_FAR: Final = -30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadDesign:
    """What the network is made of."""

    width: int = 160  # of the head
    blocks: int = 2  # of the head, each attention and convolution over time
    compare: bool = True  # whether a network of its own sees the three spectrograms side by side
    evidence: bool = True  # whether the head is told how strongly the wanted classes are in each of the three
    # how steps become one: weighted by attention and in the mean, or in the mean alone
    pooling: Literal["attention", "mean"] = "attention"


class HeadInput(NamedTuple):
    """What the head is given of n samples of S steps."""

    mixture: Tensor  # (n, 384, S) of the trunk
    output: Tensor
    rest: Tensor
    mels: Tensor  # (n, 3, 128, 32 S) mixture, output and rest
    spans: Tensor  # (n, 3, S)
    evidence: Tensor  # (n, S, 12) what ``SoundJudgeNet.evidence`` says of the three
    prompt: Tensor  # (n, 65) what ``SoundJudgeNet.prompt`` makes of its classes


class HeardAlone(NamedTuple):
    """What the head of difficulty is given."""

    mixture: Tensor  # (n, 384, S) of the trunk
    mel: Tensor  # (n, 1, 128, 32 S)
    spans: Tensor  # (n, 3, S)
    evidence: Tensor  # (n, S, 4)
    prompt: Tensor  # (n, 65)


class Judged(NamedTuple):
    """What the network says."""

    scores: Tensor  # (n, 4) 1..5
    spread: Tensor  # (n, 4) logarithm of the expected error
    curves: Tensor  # (n, 2, S) logits of missing and left over
    aligned: Tensor  # (n,) logit: the output is the target
    pooled: Tensor  # (n, 2 width), by which novelty is measured


class Hardness(NamedTuple):
    """What is said of the mixture and its prompt alone."""

    difficulty: Tensor  # (n, 5) 1..5
    domain: Tensor  # (n, 3) logits


class _Block(nn.Module):
    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.near = nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.parts, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, steps: Tensor) -> Tensor:
        steps = steps + self.near(self.norms[0](steps).transpose(1, 2)).transpose(1, 2)
        count, length, width = steps.shape
        parts = self.parts(self.norms[1](steps)).reshape(count, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5, dim=-1)
        steps = steps + self.joined((weights @ value).transpose(1, 2).reshape(count, length, width))
        output: Tensor = steps + self.narrow(F.gelu(self.wide(self.norms[2](steps))))
        return output


class Comparison(nn.Module):
    """Sees spectrograms side by side, (n, channels, 128, 32 S), and gives (n, 96, S)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths, strides = (24, 32, 48, 64, _SEEN), ((2, 2), (2, 2), (2, 2), (4, 2), (4, 2))
        layers: list[nn.Module] = []
        before = channels
        for width, stride in zip(widths, strides, strict=True):
            separable = before >= 24
            if separable:
                layers += [nn.Conv2d(before, before, 5, stride, 2, groups=before), nn.Conv2d(before, width, 1)]
            else:
                layers += [nn.Conv2d(before, width, 5, stride, 2)]
            layers += [nn.GroupNorm(1, width), nn.ReLU()]
            before = width
        self.layers = nn.Sequential(*layers)

    def forward(self, mels: Tensor) -> Tensor:
        """What it sees in each step."""
        return self.layers(mels).squeeze(2)


class _Pool(nn.Module):
    def __init__(self, width: int, *, attention: bool) -> None:
        super().__init__()
        self.weight = nn.Linear(width, 1) if attention else None

    def forward(self, steps: Tensor) -> Tensor:
        mean = steps.mean(1)
        if self.weight is None:
            return torch.cat([mean, mean], dim=1)
        return torch.cat([(torch.softmax(self.weight(steps), dim=1) * steps).sum(1), mean], dim=1)


class SoundJudgeNet(nn.Module):
    """Trunk and heads."""

    def __init__(self, trunk: Trunk, design: HeadDesign | None = None) -> None:
        super().__init__()
        self.trunk, self.design = trunk, design or HeadDesign()
        width = self.design.width
        self.register_buffer("meaning", trunk.classes.weight.detach().clone(), persistent=True)
        self.query = nn.Linear(self.meaning.shape[1], _QUERY)
        self.look = nn.Linear(WIDTH, 96)
        self.compare = Comparison(3) if self.design.compare else None
        evidence = _EVIDENCE if self.design.evidence else 0
        self.enter = nn.Linear(3 * (96 + evidence) + 6 + _QUERY + 1 + (_SEEN if self.design.compare else 0), width)
        self.blocks = nn.Sequential(*(_Block(width) for _ in range(self.design.blocks)))
        self.pool = _Pool(width, attention=self.design.pooling == "attention")
        self.curves = nn.Linear(width, 2)
        self.scores = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 2 * SCORES + 1))
        self.hard_look = nn.Linear(WIDTH, 96)
        self.hard_enter = nn.Linear(96 + evidence + 4 + _QUERY + 1, width)
        self.hard_block, self.hard_pool = _Block(width), _Pool(width, attention=True)
        self.hard_out = nn.Linear(2 * width, AXES + DOMAINS)

    def prompt(self, classes: Tensor) -> Tensor:
        """What prompts mean, (n, 65): of the weights by which the trunk knows their classes (n, 527), and 1 if any."""
        present = (classes.sum(1, keepdim=True) > 0).to(classes.dtype)
        share = classes / classes.sum(1, keepdim=True).clamp(min=1.0)
        return torch.cat([self.query(share @ self.meaning) * present, present], dim=1)

    def evidence(self, steps: Tensor, classes: Tensor) -> Tensor:
        """Logits of the wanted classes and of the strongest other, in each step (n, 384, S) and in all: (n, S, 4).

        Wanted are the classes of 1 in (n, 527), other those of 0; where none is wanted, its logit is 0.
        """
        present = (classes.sum(1) > 0).to(steps.dtype)[:, None]
        columns = []
        for place in (steps.transpose(1, 2), steps.mean(2)[:, None]):
            logits = self.trunk.logits(place)
            wanted = torch.where(classes[:, None] >= 1.0, logits, _FAR).amax(-1).clamp(min=-12.0) * present
            other = torch.where(classes[:, None] <= 0.0, logits, _FAR).amax(-1)
            columns += [wanted.expand(-1, steps.shape[2]), other.expand(-1, steps.shape[2])]
        return torch.stack(columns, dim=-1) / 4

    def forward(self, heard: HeadInput) -> Judged:
        """Judge outputs."""
        length = heard.mixture.shape[2]
        parts = [self.look(stream.transpose(1, 2)) for stream in (heard.mixture, heard.output, heard.rest)]
        parts += [heard.evidence] if self.design.evidence else []
        parts += [heard.spans.transpose(1, 2), _levels(heard.mels).transpose(1, 2)]
        parts.append(heard.prompt[:, None].expand(-1, length, -1))
        if self.compare is not None:
            parts.append(self.compare(heard.mels).transpose(1, 2))
        steps = self.blocks(self.enter(torch.cat(parts, dim=-1)))
        pooled = self.pool(steps)
        outputs = self.scores(pooled)
        return Judged(
            scores=1 + 4 * torch.sigmoid(outputs[:, :SCORES]),
            spread=outputs[:, SCORES : 2 * SCORES],
            curves=self.curves(steps).transpose(1, 2),
            aligned=outputs[:, -1],
            pooled=pooled,
        )

    def hardness(self, heard: HeardAlone) -> Hardness:
        """Judge how hard mixtures are."""
        length = heard.mixture.shape[2]
        parts = [self.hard_look(heard.mixture.transpose(1, 2))]
        parts += [heard.evidence] if self.design.evidence else []
        parts += [heard.spans.transpose(1, 2), _levels(heard.mel).transpose(1, 2)]
        parts.append(heard.prompt[:, None].expand(-1, length, -1))
        outputs = self.hard_out(self.hard_pool(self.hard_block(self.hard_enter(torch.cat(parts, dim=-1)))))
        return Hardness(difficulty=1 + 4 * torch.sigmoid(outputs[:, :AXES]), domain=outputs[:, AXES:])


def _levels(mels: Tensor) -> Tensor:
    """Levels of spectrograms, (n, channels, 128, 32 S), in each step: (n, channels, S), as the logarithm of power."""
    power = torch.exp(5 * mels - 4.5).mean(2)
    count, channels, frames = power.shape
    return torch.log(power.reshape(count, channels, frames // 32, 32).mean(-1) + 1e-5) / 5
