"""What SAJ learns from: outputs of an INPUT with their scores, or stems, and batches as large as their sounds are long.

A batch follows from (seed, number) and the INPUT alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import torch
from torch import Tensor

from auscult.arrays.resampling import mono_at
from auscult.cases.sounds import read_sounds, sound_line
from auscult.errors import AuscultError, InputError, UsageError
from auscult.judge.sound.shared import aligned, is_silent
from auscult.media.paths import write_bytes
from auscult.media.sound import read_sound
from auscult.media.wav import encode_wav
from auscult.models.separators.base import picture_frames
from auscult.nets.saj.inputs import Reader, SajBatch
from auscult.nets.saj.settings import AXES
from auscult.rng import generator
from auscult.train.saj.plan import Plan
from auscult.train.sound_judge.samples import DAMAGES, Recipe, SoundSample, made_samples
from auscult.types import DOMAINS, PERFORMANCE, Samples, SoundCase, SoundItem, SoundQuery, SoundTruth

T = TypeVar("T")
TRIES: Final = 50
"""Sounds in a row that cannot be used and so end a training."""
OUTPUTS: Final = 4
"""Generated outputs of a mixture with scores, and as many whole sources to tell apart."""
_TOLD_APART: Final = Recipe(damages=DAMAGES, outputs=OUTPUTS, whole=0.5, by_separators=0.0, wrong=0.5, twice=0.0)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lesson:
    """A part of a batch: outputs, what they deserve by axis, (n,), NaN where not known, and whether they follow."""

    batch: SajBatch
    truth: dict[str, Tensor]
    follows: Tensor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Example:
    """An output, in time and at level with its mixture, and whether it is what was asked for."""

    case: SoundCase
    output: Samples
    item: SoundItem
    follows: bool


def read_items(source: Path, plan: Plan) -> list[SoundItem]:
    """The items of an INPUT for training that a plan can learn from.

    For scores they have true ones; for alignment the stem and other stems of their mixture, or a key ``follows``.
    """
    wanted = {"text": "text" in plan.prompts, "spans": "spans" in plan.prompts, "picture": "picture" in plan.prompts}
    found = []
    for item in read_sounds(source).items:
        truth = item.truth or SoundTruth()
        asked = any(wanted[name] and getattr(item.query, name) for name in wanted)
        told = (truth.stem is not None and truth.others) or isinstance(item.extra.get("follows"), bool)
        scored = item.separated is not None and truth.scores and "follows" not in item.extra
        if item.split in {"", "train"} and asked and (told if plan.stage == "alignment" else scored):
            found.append(item)
    if not found:
        raise UsageError(
            f"there is nothing to learn {plan.stage} from",
            path=source,
            expected=f"items for training with {' or '.join(plan.prompts)}, and true scores, or stems for alignment",
            hint="`auscult make mixtures`, then `auscult stress separation` make both",
        )
    return found


class Feed:
    """Makes the batches of a plan, each a list of ``Lesson`` with ``plan.tokens`` audio tokens in all, or a few less.

    First a domain is drawn, then, where that is balanced, a whole number of the overall score, then an item.
    """

    def __init__(self, items: Sequence[SoundItem], plan: Plan, reader: Reader, *, seed: int) -> None:
        self.plan, self.reader, self.seed = plan, reader, seed
        self._items: dict[str, dict[int, list[SoundItem]]] = defaultdict(lambda: defaultdict(list))
        for item in items:
            self._items[item.domain or DOMAINS[-1]][self._bin(item)].append(item)
        self._items = {domain: dict(bins) for domain, bins in self._items.items()}  # picklable
        weights = np.array([plan.domains.get(domain, 0.0) for domain in self._items])
        if not weights.sum():
            raise UsageError("none of the domains that are there is to be drawn", expected=", ".join(self._items))
        self._weights = weights / weights.sum()

    def _bin(self, item: SoundItem) -> int:
        if not self.plan.balanced:
            return 0
        if self.plan.stage == "alignment":
            return int(item.extra.get("follows", 0))
        return round(item.truth.scores.get("overall", 3.0)) if item.truth else 0

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> list[Lesson]:
        """The parts of a batch that one of several processes computes."""
        return [self.part(number, part) for part in range(process, self.plan.parts, processes)]

    def part(self, number: int, part: int) -> Lesson:
        """A part of a batch: outputs until the next one would be too many tokens."""
        rng = generator(self.seed, "saj", self.plan.stage, number, part)
        examples, left = list[Example](), self.plan.tokens // self.plan.parts
        while True:
            example = self._drawn(rng)
            seconds = example.case.mixture.shape[1] / example.case.rate_hz
            left -= 2 * int(-(-seconds * self.reader.rate_hz // self.reader.steps))
            if examples and left < 0:
                return lesson(examples, self.reader, prompts=[self._prompts(one, rng) for one in examples])
            examples.append(example)

    def _prompts(self, example: Example, rng: np.random.Generator) -> set[str]:
        """One of the subsets of the prompts that there are, none of them empty."""
        case = example.case
        has = {"text": case.text, "spans": case.spans, "picture": case.frames is not None}
        there = [name for name in self.plan.prompts if has[name]]
        number = int(rng.integers(1, 1 << len(there)))
        return {name for at, name in enumerate(there) if number >> at & 1}

    def _drawn(self, rng: np.random.Generator) -> Example:
        for _ in range(TRIES):
            bins = list(self._items.values())[int(rng.choice(len(self._weights), p=self._weights))]
            item = _one_of(_one_of(list(bins.values()), rng), rng)
            try:
                return self.read(item, rng)
            except (AuscultError, OSError) as error:
                last = error
        raise InputError(f"{TRIES} sounds in a row cannot be used, the last: {last}", hint="are the files there?")

    def read(self, item: SoundItem, rng: np.random.Generator) -> Example:
        """An item as a judge hears it; for alignment, its target or another source of its mixture."""
        follows, path, truth = bool(item.extra.get("follows", True)), item.separated, item.truth
        if self.plan.stage == "alignment" and "follows" not in item.extra and truth is not None:
            follows = bool(rng.random() < 0.5)
            path = truth.stem if follows else _one_of(sorted(truth.others.values()), rng)
        sound = read_sound(item.mixture)
        if sound.samples.shape[1] > self.plan.longest_s * sound.rate_hz:
            raise InputError(f"it is longer than {self.plan.longest_s} s", path=item.mixture)
        if path is None:
            raise InputError("nothing was separated", path=item.mixture)
        other = read_sound(path)
        mixture = mono_at(sound.samples, rate_hz=sound.rate_hz, wanted_hz=sound.rate_hz)[None]
        output = mono_at(other.samples, rate_hz=other.rate_hz, wanted_hz=sound.rate_hz)[None, : mixture.shape[1]]
        mixture = mixture[:, : output.shape[1]]
        if is_silent(mixture) or is_silent(mixture, output):
            raise InputError("it is silent, and so judged by rule", path=path)
        query = item.query
        wants = "picture" in self.plan.prompts and self.reader.design.vision is not None
        case = SoundCase(
            id=item.id,
            mixture=mixture,
            rate_hz=sound.rate_hz,
            text=query.text,
            spans=query.spans,
            frames=picture_frames(query.picture) if wants else None,
        )
        return Example(case=case, output=aligned(mixture, output, rate_hz=sound.rate_hz)[0], item=item, follows=follows)


def lesson(examples: Sequence[Example], reader: Reader, *, prompts: Sequence[set[str]] | None = None) -> Lesson:
    """Examples as the network takes them."""
    truths = [truth_of(one.item) for one in examples]
    return Lesson(
        batch=reader.batch([(one.case, one.output) for one in examples], prompts=prompts),
        truth={axis: torch.tensor([truth.get(axis, float("nan")) for truth in truths]) for axis in AXES},
        follows=torch.tensor([float(one.follows) for one in examples]),
    )


def truth_of(item: SoundItem) -> dict[str, float]:
    """What is known of an item, by ``AXES``."""
    truth = item.truth or SoundTruth()
    return {**truth.scores, **{f"difficulty_{axis}": hard for axis, hard in truth.difficulty.items()}}


def _one_of(values: Sequence[T], rng: np.random.Generator) -> T:
    return values[int(rng.integers(len(values)))]


def made_input(folder: Path, *, mixtures: int, seed: int) -> Path:
    """Write generated sounds for training as an INPUT: outputs with scores, and sources to tell apart.

    What is there of an earlier run is kept.
    """
    file = folder / "items.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    done = 1 + max((json.loads(line)["number"] for line in lines), default=-1)
    for number in range(done, mixtures):
        for recipe in (Recipe(outputs=OUTPUTS), _TOLD_APART):
            found = made_samples(None, part="train", numbers=[number], seed=seed, recipe=recipe)
            for sample in found:
                follows = None if recipe is not _TOLD_APART else sample.aligned
                if follows is None or sample.kind in {"stem", "other_source"}:
                    lines.append(json.dumps(_written(sample, folder, number=number, follows=follows)))
        if number % 10 == 9 or number == mixtures - 1:
            write_bytes(file, ("\n".join(lines) + "\n").encode())
    return file


def _written(sample: SoundSample, folder: Path, *, number: int, follows: bool | None) -> Any:
    """The line of a sample whose sounds are written, the mixture once."""
    mixture, name = folder / f"mixtures/{number:06}.wav", f"{sample.id}{'' if follows is None else '-whole'}"
    if not mixture.exists():
        write_bytes(mixture, encode_wav(sample.case.mixture, sample.case.rate_hz))
    separated = folder / f"separated/{name}.wav"
    write_bytes(separated, encode_wav(sample.separated / max(1.0, float(np.abs(sample.separated).max())),
                                      sample.case.rate_hz))  # fmt: skip
    item = SoundItem(
        id=name,
        mixture=mixture,
        query=SoundQuery(text=sample.case.text, spans=sample.case.spans),
        separated=separated,
        truth=SoundTruth(scores={axis: sample.scores[axis] for axis in PERFORMANCE}, difficulty=sample.difficulty),
        domain=sample.domain,
        split="train",
        cluster=sample.cluster,
        extra={"number": number, "kind": sample.kind} | ({} if follows is None else {"follows": follows}),
    )
    return sound_line(item, home=folder)
