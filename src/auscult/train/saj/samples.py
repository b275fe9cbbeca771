"""What SAJ learns from, an INPUT or generated sounds, and batches, which follow from (seed, number) and that alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from auscult.arrays.resampling import mono_at
from auscult.cases.sounds import read_sounds
from auscult.errors import AuscultError, InputError, UsageError
from auscult.judge.sound.shared import aligned, is_silent
from auscult.media.sound import read_sound
from auscult.models.separators.base import picture_frames
from auscult.nets.saj.inputs import Reader, SajBatch
from auscult.nets.saj.settings import AXES
from auscult.rng import generator
from auscult.scenes.mixtures.catalogue import Part
from auscult.train.saj.plan import Plan
from auscult.train.sound_judge.samples import DAMAGES, Recipe, made_samples
from auscult.types import DOMAINS, Samples, SoundCase, SoundItem, SoundTruth

T = TypeVar("T")
TRIES: Final = 50
"""Sounds in a row that cannot be used and so end a training."""
_PER_MIXTURE: Final = 4
_MIXTURES: Final = 10_000  # more than any batch takes
_RECIPES: Final = {
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
        found = aligned(case.mixture, output, rate_hz=case.rate_hz)[0]
        return cls(case=case, output=found, truth={**truth.scores, **hard}, follows=follows)


class Source(Protocol):
    """Where examples come from; picklable."""

    def examples(self, rng: np.random.Generator) -> Iterator[Example]:
        """As many examples as are asked for."""
        ...


def read_items(path: Path, plan: Plan) -> list[SoundItem]:
    """The items of an INPUT for training that a plan can learn from: with scores, or with stems for alignment."""
    found = []
    for item in read_sounds(path).items:
        truth = item.truth or SoundTruth()
        told = truth.stem and truth.others if plan.stage == "alignment" else item.separated and truth.scores
        if told and item.split in {"", "train"} and any(getattr(item.query, name) for name in plan.prompts):
            found.append(item)
    if not found:
        raise UsageError(
            f"there is nothing to learn {plan.stage} from",
            path=path,
            expected=f"items for training with {' or '.join(plan.prompts)}, and true scores, or stems for alignment",
            hint="`auscult make mixtures`, then `auscult stress separation` make both",
        )
    return found


@dataclass(frozen=True, slots=True)
class Made:
    """Generated sounds of a part of their recordings, new ones for each batch; no scores are drawn evenly."""

    plan: Plan
    part: Part = "train"

    def examples(self, rng: np.random.Generator) -> Iterator[Example]:
        """Outputs of one mixture after another; for alignment its whole sources, as often the target as another."""
        numbers, recipe = rng.integers(1 << 31, size=_MIXTURES).tolist(), _RECIPES[self.plan.stage]
        for sample in made_samples(None, part=self.part, numbers=numbers, seed=0, recipe=recipe):
            whole = sample.kind in {"stem", "other_source"}
            if (self.plan.stage == "scores" or whole) and not is_silent(sample.case.mixture, sample.separated):
                truth = SoundTruth(scores=sample.scores, difficulty=sample.difficulty)
                yield Example.of(sample.case, sample.separated, truth, follows=sample.aligned)


class Listed:
    """Items of an INPUT: first a domain is drawn, then, where that is balanced, a whole number of the overall score."""

    def __init__(self, items: Sequence[SoundItem], plan: Plan, *, pictures: bool = False) -> None:
        self.plan, self._pictures = plan, pictures and "picture" in plan.prompts
        found: dict[str, dict[int, list[SoundItem]]] = defaultdict(dict)
        for item in items:
            scored = plan.balanced and plan.stage == "scores" and item.truth is not None
            overall = round(item.truth.scores.get("overall", 3.0)) if scored and item.truth else 0
            found[item.domain or DOMAINS[-1]].setdefault(overall, []).append(item)
        self._items = {domain: list(bins.values()) for domain, bins in found.items()}
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
                yield self.read(_one_of(_one_of(bins, rng), rng), rng)
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
            path = truth.stem if follows else _one_of(sorted(truth.others.values()), rng)
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


class Feed:
    """Makes batches, each a list of ``Lesson`` with ``plan.tokens`` audio tokens in all, or a few less."""

    def __init__(self, source: Source, plan: Plan, reader: Reader, *, seed: int) -> None:
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
        return lesson(examples, self.reader, prompts=[self._prompts(one.case, rng) for one in examples])

    def _prompts(self, case: SoundCase, rng: np.random.Generator) -> set[str]:
        """One of the subsets of the prompts that there are, none of them empty."""
        has = {"text": case.text, "spans": case.spans, "picture": case.frames is not None}
        there = [name for name in self.plan.prompts if has[name]]
        number = int(rng.integers(1, 1 << len(there)))
        return {name for at, name in enumerate(there) if number >> at & 1}


def lesson(examples: Sequence[Example], reader: Reader, *, prompts: Sequence[set[str]] | None = None) -> Lesson:
    """Examples as the network takes them."""
    return Lesson(
        batch=reader.batch([(one.case, one.output) for one in examples], prompts=prompts),
        truth={axis: torch.tensor([one.truth.get(axis, float("nan")) for one in examples]) for axis in AXES},
        follows=torch.tensor([float(one.follows) for one in examples]),
    )


def _one_of(values: Sequence[T], rng: np.random.Generator) -> T:
    return values[int(rng.integers(len(values)))]
