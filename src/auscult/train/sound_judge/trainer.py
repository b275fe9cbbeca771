"""How the compact judge is trained: settings, batches, and the losses of its two stages, alignment, then scores.

A batch has samples of one length, drawn by score and domain, each with some of its prompts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from auscult.errors import UsageError
from auscult.judge.sound.compact.network import as_classes
from auscult.judge.sound.vocabulary import read_prompt
from auscult.nets.sound_judge import Hardness, HeadDesign, HeadInput, HeardAlone, Judged, SoundJudgeNet
from auscult.record.codec import from_json
from auscult.rng import generator
from auscult.train.recipes import read_yaml
from auscult.train.sound_judge.songs import SONG
from auscult.train.sound_judge.store import StoredSample, domain_number, unpacked
from auscult.train.trainer import Trainer
from auscult.types import Floats

COMMITTED: Final = ("small", "songs")
SoundStage: TypeAlias = Literal["align", "scores", "songs"]
"""The stages of a training: whether an output is the target; scores; scores with songs, by the head alone."""
_Count = Annotated[int, msgspec.Meta(ge=1)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundPlan:
    """How ``sound.compact.v1`` is trained."""

    mixtures: _Count = 4000  # made mixtures to learn from
    # mixtures of the first stage, alignment (SAM Audio Judge, Sec. III-B); 0 leaves it out
    aligning: Annotated[int, msgspec.Meta(ge=0)] = 1000
    held: _Count = 600  # made mixtures to calibrate on
    stage: tuple[int, int] = (400, 4000)  # steps of the first stage and of the second
    batch: _Count = 16  # samples of a step
    rate: float = 1.5e-3  # highest learning rate of AdamW
    trunk: _Share = 0.2  # share of it that the trunk learns with; 0 keeps it as it was
    # ``tagger``, from the weights of the pretrained network; ``judge``, from the judge that ships; or ``nothing``
    start: Literal["tagger", "judge", "nothing"] = "tagger"
    songs: Annotated[int, msgspec.Meta(ge=0)] = 1200  # made songs of the third stage; 0 leaves it out
    song_steps: Annotated[int, msgspec.Meta(ge=0)] = 2000  # of the third stage
    song_share: _Share = 0.35  # part of its samples that are songs
    song_rate: float = 6e-4  # its highest learning rate
    # share of what it learned that is kept; the rest of each weight is as before (Wortsman et al., CVPR 2022)
    song_weight: _Share = 0.7
    decay: float = 0.02  # weight decay, on matrices and kernels
    warmup: _Share = 0.05  # part of the steps over which the rate rises; then it falls as a cosine
    clip: float | None = 1.0  # largest norm of the gradient
    real: _Share = 0.12  # part of the samples that are outputs of real separators
    text: _Share = 0.7  # how often a sample keeps its text
    spans: _Share = 0.5  # how often its spans
    picture: _Share = 0.25  # how often its class is asked for as by a picture, whether it has one or not
    text_first: _Share = 0.0  # part of the steps in which text is the only prompt
    balanced: bool = True  # whether scores of overall are drawn equally often
    # how often speech, music and sound are drawn, relative to one another
    domains: tuple[float, float, float] = (1.0, 2.0, 4.0)
    precision: Literal["no", "bf16"] = "no"  # ``bf16`` or ``no``
    design: Mapping[str, Any] = field(default_factory=dict)  # of the network

    def __post_init__(self) -> None:
        if self.real + self.song_share > 1:  # the samples that are neither would have negative weights
            raise ValueError(f"real {self.real:g} and song_share {self.song_share:g} are more than 1 together")

    @property
    def network(self) -> HeadDesign:
        """The design of the network."""
        return from_json(HeadDesign, self.design, error=UsageError, exact=True)

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        rising = math.ceil(self.warmup * steps)
        if step < rising:
            return self.rate * (step + 1) / rising
        return self.rate * (1 + math.cos(math.pi * (step - rising) / max(steps - rising, 1))) / 2


def read_plan(name: str) -> SoundPlan:
    """The settings of a committed name, or of a YAML file."""
    table, path = read_yaml(name, folder=Path(__file__).parent, committed=COMMITTED)
    return from_json(SoundPlan, table or {}, path=path, error=UsageError, exact=True)


_BINS: Final = np.linspace(1, 5, 9)
_MOST: Final = 8.0  # times the weight of the commonest score


class SoundFeed:
    """Draws batches; the same seed and number give the same one."""

    def __init__(
        self,
        samples: Sequence[StoredSample],
        plan: SoundPlan,
        *,
        seed: int,
        name: SoundStage,
        steps: int,
    ) -> None:
        self._samples, self._plan, self._seed, self._name = samples, plan, seed, name
        self._text_until = round(plan.text_first * steps) if name == "scores" else 0
        weights = self._weights()
        self._lengths: dict[int, Any] = {}
        for length in sorted({sample.steps for sample in samples}):
            indices = np.array([index for index, sample in enumerate(samples) if sample.steps == length])
            self._lengths[length] = indices, weights[indices] / max(weights[indices].sum(), 1e-12)
        chances = np.array([weights[indices].sum() for indices, _ in self._lengths.values()])
        self._chances = chances / chances.sum()

    def _weights(self) -> Floats:
        """How often each sample is drawn, relative to the others."""
        songs = np.array([sample.about["id"].startswith(SONG) for sample in self._samples])
        real = np.array([bool(sample.about["family"]) for sample in self._samples])
        weights = np.ones(len(self._samples))
        if self._plan.balanced and self._name != "align":
            bins = np.digitize([sample.scores[3] for sample in self._samples], _BINS[1:-1])
            counts = np.bincount(bins, minlength=8)
            weights *= np.minimum(counts.max() / np.maximum(counts, 1), _MOST)[bins]
        domains = np.array([domain_number(sample) for sample in self._samples])
        for number, share in enumerate(self._plan.domains):
            members = (domains == number) & ~real & ~songs
            weights[members] *= share / max(weights[members].sum(), 1e-12)
        shares = [(real, self._plan.real), (songs, self._plan.song_share)]
        shares = [(members, share) for members, share in shares if members.any()]
        rest = 1 - sum(share for _, share in shares)
        for members, share in [*shares, (~real & ~songs, rest)]:
            if members.any():
                weights[members] *= share / weights[members].sum()
        return np.asarray(weights, dtype=np.float32)

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> dict[str, Tensor]:
        """The part of a batch that one of several processes computes."""
        rng = generator(self._seed, self._name, number)
        indices, weights = self._lengths[list(self._lengths)[int(rng.choice(len(self._chances), p=self._chances))]]
        chosen = rng.choice(indices, self._plan.batch, p=weights / weights.sum())[process::processes]
        plan = self._plan
        only_text = number < self._text_until
        rows = rng.random((len(chosen), 3)) < ((1.0, 0.0, 0.0) if only_text else (plan.text, plan.spans, plan.picture))
        return tensors([self._samples[index] for index in chosen], rows)


def tensors(samples: Sequence[StoredSample], prompts: Any) -> dict[str, Tensor]:
    """Samples of one length as tensors; ``prompts`` says of each whether it keeps text, spans and picture, (n, 3)."""
    mels = np.stack([np.stack([sample.mixture, sample.output, sample.rest]) for sample in samples])
    classes, spans, hard = [], [], []
    for sample, (text, span, picture) in zip(samples, prompts, strict=True):
        classes.append(asked(sample.text if text else "", sample.about["label"] if picture else ""))
        spans.append(sample.spans * np.float32(span))
        hard.append(sample.difficulty[0 if span else 1])
    arrays = {
        "mels": unpacked(mels),
        "spans": np.stack(spans),
        "classes": np.stack(classes),
        "scores": np.stack([sample.scores for sample in samples]),
        "difficulty": np.stack(hard),
        "curves": np.stack([sample.curves for sample in samples]),
        "aligned": np.array([sample.about["aligned"] for sample in samples], np.float32),
    }
    if samples[0].early is not None:
        early = np.stack([sample.early for sample in samples if sample.early is not None])
        arrays["early"] = early.transpose(0, 1, 3, 4, 2)
    result = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in arrays.items()}
    result["domain"] = torch.tensor([domain_number(sample) for sample in samples])
    return result


@lru_cache(maxsize=4096)
def asked(text: str, shown: str) -> Floats:
    """The classes of a text, and of what a picture shows, by its name."""
    return as_classes(*(read_prompt(words).classes for words in (text, shown) if words))


def subset_rows(name: str, count: int) -> Any:
    """Which prompts each of some samples keeps, for one of ``SUBSETS``."""
    return np.tile([kind in name.split("+") for kind in ("text", "spans", "picture")], (count, 1))


_BETA = 0.25  # of smooth L1, in points
_LEAST_SPREAD = -20.0  # of an expected error's logarithm, which falls without end where scores are exactly right


class SoundTrainer(Trainer):
    """Learns to judge."""

    recipe = "compact-sound"

    def _groups(self, net: nn.Module) -> list[dict[str, Any]]:
        groups = []
        for name, share in (("trunk", self.plan.trunk), ("", 1.0)):  # type: ignore[attr-defined]
            parameters = [value for key, value in net.named_parameters() if key.startswith("trunk") == bool(name)]
            if share == 0:
                for value in parameters:
                    value.requires_grad = False
                continue
            for matrices, decay in ((True, self.plan.decay), (False, 0.0)):
                chosen = [value for value in parameters if (value.ndim > 1) == matrices]
                groups.append({"params": chosen, "weight_decay": decay, "scale": share})
        return groups

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The loss of a batch and its parts."""
        judged, hardness = judge(self.net, batch)
        aligned = _alignment(judged, batch)
        error = F.smooth_l1_loss(judged.scores, batch["scores"], beta=_BETA, reduction="none")
        scores = (error * error.new_tensor([1.0, 1.0, 1.0, 1.5])).mean()
        off, logarithm = (judged.scores - batch["scores"]).abs().detach(), judged.spread.clamp(min=_LEAST_SPREAD)
        spread = (off * torch.exp(-logarithm) + logarithm).mean()
        curves = F.binary_cross_entropy_with_logits(judged.curves, batch["curves"].clamp(0, 1))
        hard = F.smooth_l1_loss(hardness.difficulty, batch["difficulty"], beta=_BETA)
        labelled = batch["domain"] >= 0
        domain = F.cross_entropy(hardness.domain[labelled], batch["domain"][labelled]) if labelled.any() else scores * 0
        loss = scores + 0.1 * spread + 0.2 * aligned + 0.4 * curves + 0.3 * hard + 0.05 * domain
        return {"loss": loss, "scores": scores, "curves": curves, "difficulty": hard, "aligned": aligned}


class AlignmentTrainer(SoundTrainer):
    """Learns whether an output is the target, and nothing else."""

    def losses(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """The loss of a batch, and how many of it are right."""
        judged, _ = judge(self.net, batch)
        right = ((judged.aligned > 0) == (batch["aligned"] > 0.5)).float().mean()
        return {"loss": _alignment(judged, batch), "right": right}


class HeadTrainer(SoundTrainer):
    """Learns to judge with the head alone: what is heard, what prompts mean and difficulty stay as they are."""

    def _groups(self, net: nn.Module) -> list[dict[str, Any]]:
        for name, value in net.named_parameters():
            value.requires_grad = not name.startswith(("trunk", "query", "hard"))
        return super(SoundTrainer, self)._groups(net)


def _alignment(judged: Judged, batch: Mapping[str, Tensor]) -> Tensor:
    return F.binary_cross_entropy_with_logits(judged.aligned, batch["aligned"])


def judge(net: nn.Module, batch: dict[str, Tensor]) -> tuple[Judged, Hardness]:
    """What a network says of a batch."""
    module: SoundJudgeNet = getattr(net, "module", net)
    return judge_steps(module, trunk_steps(module, batch), batch)


def judge_steps(net: SoundJudgeNet, steps: Tensor, batch: Mapping[str, Tensor]) -> tuple[Judged, Hardness]:
    """What the heads say of a batch of which the trunk has heard ``trunk_steps``."""
    return net(hear(net, steps, batch)), net.hardness(hear_alone(net, steps, batch))


def trunk_steps(net: SoundJudgeNet, batch: Mapping[str, Tensor]) -> Tensor:
    """What the trunk hears in mixture, output and rest of each sample, (n, 3, 384, S)."""
    mels = batch["mels"]
    count, three, bands, frames = mels.shape
    if "early" in batch:
        early = batch["early"].flatten(0, 1).float()
    else:
        early = net.trunk.early(_last(mels.reshape(count * three, 1, bands, frames)))
    return net.trunk.late(_last(early)).reshape(count, three, -1, frames // 32)


def hear(net: SoundJudgeNet, steps: Tensor, batch: Mapping[str, Tensor]) -> HeadInput:
    """What the head is given of steps (n, 3, 384, S) and of a batch's spectrograms, spans and classes."""
    mixture, output, rest = steps.unbind(1)
    evidence = torch.cat([net.evidence(sound, batch["classes"]) for sound in (mixture, output, rest)], dim=-1)
    return HeadInput(mixture, output, rest, batch["mels"], batch["spans"], evidence, net.prompt(batch["classes"]))


def hear_alone(net: SoundJudgeNet, steps: Tensor, batch: Mapping[str, Tensor]) -> HeardAlone:
    """The same of mixtures alone."""
    alone, classes = steps[:, 0], batch["classes"]
    return HeardAlone(alone, batch["mels"][:, :1], batch["spans"], net.evidence(alone, classes), net.prompt(classes))


def _last(images: Tensor) -> Tensor:
    """Images with their channels last in memory, by which convolutions are three times as fast."""
    return images.contiguous(memory_format=torch.channels_last)
