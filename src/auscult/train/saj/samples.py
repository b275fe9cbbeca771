"""How SAJ is trained, a YAML for each stage and size, and on what: an INPUT or generated sounds, and batches of them.

The defaults of settings are the paper's (Sec. III-B). Batches follow from (seed, number) and that alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, Protocol

import msgspec
import numpy as np
import torch
from torch import Tensor

from auscult.arrays.resampling import mono_at
from auscult.cases.sounds import read_sounds
from auscult.errors import AuscultError, InputError, UsageError
from auscult.judge.sound.shared import aligned, is_silent
from auscult.media.sound import read_sound
from auscult.models.separators.base import picture_frames
from auscult.nets.saj.inputs import SajBatch, SajReader
from auscult.nets.saj.settings import AXES, PROMPTS, SajDesign
from auscult.record.codec import from_json
from auscult.rng import generator, pick
from auscult.scenes.mixtures.catalogue import Part
from auscult.train.recipes import read_yaml
from auscult.train.sound_judge.samples import DAMAGES, Recipe, made_samples
from auscult.types import DOMAINS, Samples, SoundCase, SoundItem, SoundTruth

Stage = Literal["alignment", "scores"]
STAGES: Final[tuple[Stage, ...]] = ("alignment", "scores")
SIZES: Final = ("paper", "small", "tiny")
_Positive = Annotated[float, msgspec.Meta(gt=0)]
_Weight = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SajPlan:
    """How a stage of SAJ is trained."""

    # ``alignment``: whether the output is what the prompts ask for, the target or another source of the same mixture;
    # ``scores``: what a separated sound deserves
    stage: Stage
    design: SajDesign = field(default_factory=SajDesign)  # of the network; a later stage has that of the one before
    audio: str | None = None  # folder or hub name of an encoder of sounds; None for the design's, with random weights
    text: str | None = None  # the same of a text encoder
    vision: str | None = None  # the same of a picture encoder
    frozen: tuple[str, ...] = ()  # parameters whose names begin so keep their values, such as ``audio.``
    # some of ``text``, ``spans``, ``picture``: what is asked with; each row has one of the subsets of those that it
    # could have, drawn evenly, never none. ``[text]`` is the paper's first judge
    prompts: tuple[Literal["text", "spans", "picture"], ...] = PROMPTS
    tokens: _Count = 8192  # audio tokens of a step: frames of mixtures and outputs, over all processes
    # a step is computed in so many parts, one after another, to fit the memory; shared out among processes
    parts: _Count = 1
    updates: _Count = 200_000  # steps
    warmup: Annotated[int, msgspec.Meta(ge=0)] = 5000  # steps over which the rate rises; then it is constant
    # the last steps, over which it falls to nothing; the paper has none
    cooldown: Annotated[int, msgspec.Meta(ge=0)] = 0
    rate: _Positive = 1e-4  # of AdamW. The paper's is lost from its text: this one is ours
    decay: _Weight = 0.1  # its weight decay, on matrices and kernels
    clip: _Positive | None = None  # largest norm of the gradient; None for any. The paper names none
    precision: Literal["no", "bf16"] = "bf16"  # ``bf16`` or ``no``, of ``accelerate``
    # how often each is drawn, beside the others that are there
    domains: Mapping[str, _Weight] = field(default_factory=lambda: {"speech": 1.0, "music": 2.0, "sound": 4.0})
    balanced: bool = True  # whether whole numbers of the overall score are drawn evenly
    longest_s: _Positive = 30.0  # longer sounds are left out

    def __post_init__(self) -> None:
        """Check that the network has what the stage teaches."""
        if not set(self.prompts) & set(self.design.prompts):
            raise ValueError("none of the prompts is one that the network takes")
        if not (self.design.alignment if self.stage == "alignment" else self.design.axes):
            raise ValueError(f"the network has no head that the stage {self.stage} teaches")
        if unknown := set(self.domains) - set(DOMAINS):
            raise ValueError(f"domains are {', '.join(DOMAINS)}, not {', '.join(sorted(unknown))}")

    def rate_at(self, step: int, steps: int) -> float:
        """The learning rate of a step."""
        return self.rate * min(1.0, (step + 1) / max(self.warmup, 1), (steps - step) / max(self.cooldown, 1))


def read_plans(name: str) -> list[SajPlan]:
    """The settings of both stages of a size, ``paper``; of one, ``paper-scores``; or of a YAML file."""
    committed = [f"{size}-{stage}" for size in SIZES for stage in STAGES]
    names = [f"{name}-{stage}" for stage in STAGES] if name in SIZES else [name]
    plans = []
    for plan_name in names:
        table, path = read_yaml(plan_name, folder=Path(__file__).parent, committed=committed)
        plans.append(from_json(SajPlan, table, path=path, error=UsageError, exact=True))
    return plans


TRIES: Final = 50
"""Sounds in a row that cannot be used and so end a training."""
_PER_MIXTURE: Final = 4
_MIXTURES: Final = 10_000  # more than any batch takes
RECIPES: Final = {
    "scores": Recipe(outputs=_PER_MIXTURE),
    "alignment": Recipe(damages=DAMAGES, outputs=_PER_MIXTURE, whole=0.5, by_separators=0.0, wrong=0.5, twice=0.0),
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lesson:
    """A part of a batch: outputs, what they deserve by axis, (n,), NaN where not known, and whether they follow."""

    batch: SajBatch
    truth: dict[str, Tensor]
    follows: Tensor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Example:
    """An output, in time and at level with its mixture, what it deserves by axis, and whether it was asked for."""

    case: SoundCase
    output: Samples
    truth: Mapping[str, float]
    follows: bool = True

    @classmethod
    def of(cls, case: SoundCase, output: Samples, truth: SoundTruth, *, follows: bool) -> Example:
        """From an output as it was separated; an InputError where silence leaves nothing to learn."""
        if is_silent(case.mixture) or is_silent(case.mixture, output):
            raise InputError("it is silent, and so judged by rule")
        hard = {f"difficulty_{axis}": value for axis, value in truth.difficulty.items()}
        shifted = aligned(case.mixture, output, rate_hz=case.rate_hz)[0]
        return cls(case=case, output=shifted, truth={**truth.scores, **hard}, follows=follows)


class Source(Protocol):
    """Where examples come from; picklable."""

    def examples(self, rng: np.random.Generator) -> Iterator[Example]:
        """As many examples as are asked for."""
        ...


def read_items(path: Path, plan: SajPlan) -> list[SoundItem]:
    """The items of an INPUT for training that a plan can learn from: with scores, or with stems for alignment."""
    items = []
    for item in read_sounds(path).items:
        truth = item.truth or SoundTruth()
        usable = truth.stem and truth.others if plan.stage == "alignment" else item.separated and truth.scores
        if usable and item.split in {"", "train"} and any(getattr(item.query, name) for name in plan.prompts):
            items.append(item)
    if not items:
        raise UsageError(
            f"there is nothing to learn {plan.stage} from",
            path=path,
            expected=f"items for training with {' or '.join(plan.prompts)}, and true scores, or stems for alignment",
            hint="`auscult make mixtures`, then `auscult stress separation` make both",
        )
    return items


@dataclass(frozen=True, slots=True)
class Made:
    """Generated sounds of a part of their recordings, new ones for each batch; no scores are drawn evenly."""

    plan: SajPlan
    part: Part = "train"

    def examples(self, rng: np.random.Generator) -> Iterator[Example]:
        """Outputs of one mixture after another; for alignment its whole sources, as often the target as another."""
        numbers, recipe = rng.integers(1 << 31, size=_MIXTURES).tolist(), RECIPES[self.plan.stage]
        for sample in made_samples(None, part=self.part, numbers=numbers, seed=0, recipe=recipe):
            is_source = sample.kind in {"stem", "other_source"}
            if (self.plan.stage == "scores" or is_source) and not is_silent(sample.case.mixture, sample.separated):
                truth = SoundTruth(scores=sample.scores, difficulty=sample.difficulty)
                yield Example.of(sample.case, sample.separated, truth, follows=sample.aligned)


class Listed:
    """Items of an INPUT: first a domain is drawn, then, where that is balanced, a whole number of the overall score."""

    def __init__(self, items: Sequence[SoundItem], plan: SajPlan, *, pictures: bool = False) -> None:
        self.plan, self._pictures = plan, pictures and "picture" in plan.prompts
        by_domain: dict[str, dict[int, list[SoundItem]]] = defaultdict(dict)
        for item in items:
            scored = plan.balanced and plan.stage == "scores" and item.truth is not None
            overall = round(item.truth.scores.get("overall", 3.0)) if scored and item.truth else 0
            by_domain[item.domain or DOMAINS[-1]].setdefault(overall, []).append(item)
        self._items = {domain: list(bins.values()) for domain, bins in by_domain.items()}
        weights = np.array([plan.domains.get(domain, 0.0) for domain in self._items])
        if not weights.sum():
            raise UsageError("none of the domains that are there is to be drawn", expected=", ".join(self._items))
        self._weights = weights / weights.sum()

    def examples(self, rng: np.random.Generator) -> Iterator[Example]:
        """Items as they are drawn; what cannot be used is left out; ``TRIES`` of that in turn are an InputError."""
        failed = 0
        while True:
            bins = list(self._items.values())[int(rng.choice(len(self._weights), p=self._weights))]
            try:
                yield self.read(pick(rng, pick(rng, bins)), rng)
                failed = 0
            except (AuscultError, OSError) as error:
                failed += 1
                if failed == TRIES:
                    raise InputError(f"{TRIES} sounds in a row cannot be used, the last: {error}") from error

    def once(self, items: Sequence[SoundItem], rng: np.random.Generator) -> Iterator[Example]:
        """Each of some items that can be used."""
        for item in items:
            with suppress(AuscultError, OSError):
                yield self.read(item, rng)

    def read(self, item: SoundItem, rng: np.random.Generator) -> Example:
        """An item as a judge hears it; for alignment, its target or another source of its mixture."""
        truth, path, follows = item.truth or SoundTruth(), item.separated, True
        if self.plan.stage == "alignment":
            follows = bool(rng.random() < 0.5)
            path = truth.stem if follows else pick(rng, sorted(truth.others.values()))
        sound = read_sound(item.mixture)
        if path is None or sound.samples.shape[1] > self.plan.longest_s * sound.rate_hz:
            raise InputError(f"it has no output, or is longer than {self.plan.longest_s} s", path=item.mixture)
        other, rate_hz = read_sound(path), sound.rate_hz
        output = mono_at(other.samples, rate_hz=other.rate_hz, wanted_hz=rate_hz)[None, : sound.samples.shape[1]]
        mixture = mono_at(sound.samples, rate_hz=rate_hz, wanted_hz=rate_hz)[None, : output.shape[1]]
        frames = picture_frames(item.query.picture) if self._pictures else None
        case = SoundCase(
            id=item.id, mixture=mixture, rate_hz=rate_hz, text=item.query.text, spans=item.query.spans, frames=frames
        )
        return Example.of(case, output, truth, follows=follows)


class SajFeed:
    """Makes batches, each a list of ``Lesson`` with ``plan.tokens`` audio tokens in all, or a few less."""

    def __init__(self, source: Source, plan: SajPlan, reader: SajReader, *, seed: int) -> None:
        self.source, self.plan, self.reader, self.seed = source, plan, reader, seed

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> list[Lesson]:
        """The parts of a batch that one of several processes computes."""
        return [self.part(number, part) for part in range(process, self.plan.parts, processes)]

    def part(self, number: int, part: int) -> Lesson:
        """A part of a batch: outputs until the next one would be too many tokens."""
        rng = generator(self.seed, "saj", self.plan.stage, number, part)
        examples, left = list[Example](), self.plan.tokens // self.plan.parts
        for example in self.source.examples(rng):
            seconds = example.case.mixture.shape[1] / example.case.rate_hz
            left -= 2 * int(-(-seconds * self.reader.rate_hz // self.reader.steps))
            if examples and left < 0:
                break
            examples.append(example)
        return lesson(examples, self.reader, prompts=[self._prompts(example.case, rng) for example in examples])

    def _prompts(self, case: SoundCase, rng: np.random.Generator) -> set[str]:
        """One of the subsets of the prompts that there are, none of them empty."""
        has = {"text": case.text, "spans": case.spans, "picture": case.frames is not None}
        present = [name for name in self.plan.prompts if has[name]]
        number = int(rng.integers(1, 1 << len(present)))
        return {name for bit, name in enumerate(present) if number >> bit & 1}


def lesson(examples: Sequence[Example], reader: SajReader, *, prompts: Sequence[set[str]] | None = None) -> Lesson:
    """Examples as the network takes them."""
    return Lesson(
        batch=reader.batch([(example.case, example.output) for example in examples], prompts=prompts),
        truth={axis: torch.tensor([example.truth.get(axis, float("nan")) for example in examples]) for axis in AXES},
        follows=torch.tensor([float(example.follows) for example in examples]),
    )
