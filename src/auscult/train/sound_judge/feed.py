"""Batches for the compact judge: samples of one length, drawn by score and domain, each with some of its prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from auscult.judge.sound.compact.front import as_classes
from auscult.judge.sound.vocabulary import read_prompt
from auscult.rng import generator
from auscult.train.sound_judge.plan import Plan
from auscult.train.sound_judge.store import StoredSample, domain_number, unpacked
from auscult.types import Floats

_BINS: Final = np.linspace(1, 5, 9)
_MOST: Final = 8.0  # times the weight of the commonest score


class Feed:
    """Draws batches; the same seed and number give the same one."""

    def __init__(
        self, samples: Sequence[StoredSample], plan: Plan, *, seed: int, name: str, steps: int, aligning: bool = False
    ) -> None:
        self._samples, self._plan, self._seed, self._name = samples, plan, seed, name
        self._text_until = 0 if aligning else round(plan.text_first * steps)
        weights = self._weights(aligning=aligning)
        self._lengths: dict[int, Any] = {}
        for length in sorted({sample.steps for sample in samples}):
            at = np.array([place for place, sample in enumerate(samples) if sample.steps == length])
            self._lengths[length] = at, weights[at] / max(weights[at].sum(), 1e-12)
        chances = np.array([weights[at].sum() for at, _ in self._lengths.values()])
        self._chances = chances / chances.sum()

    def _weights(self, *, aligning: bool) -> Floats:
        """How often each sample is drawn, relative to the others."""
        real = np.array([bool(sample.about["family"]) for sample in self._samples])
        weights = np.ones(len(self._samples))
        if self._plan.balanced and not aligning:
            bins = np.digitize([sample.scores[3] for sample in self._samples], _BINS[1:-1])
            counts = np.bincount(bins, minlength=8)
            weights *= np.minimum(counts.max() / np.maximum(counts, 1), _MOST)[bins]
        domains = np.array([domain_number(sample) for sample in self._samples])
        for number, share in enumerate(self._plan.domains):
            mine = (domains == number) & ~real
            weights[mine] *= share / max(weights[mine].sum(), 1e-12)
        weights[~real] *= (1 - self._plan.real) / weights[~real].sum()
        if real.any():
            weights[real] *= self._plan.real / weights[real].sum()
        return np.asarray(weights, dtype=np.float32)

    def batch(self, number: int, *, process: int = 0, processes: int = 1) -> dict[str, Tensor]:
        """The part of a batch that one of several processes computes."""
        rng = generator(self._seed, self._name, number)
        at, weights = self._lengths[list(self._lengths)[int(rng.choice(len(self._chances), p=self._chances))]]
        chosen = rng.choice(at, self._plan.batch, p=weights / weights.sum())[process::processes]
        plan = self._plan
        only_text = number < self._text_until
        rows = rng.random((len(chosen), 3)) < ((1.0, 0.0, 0.0) if only_text else (plan.text, plan.spans, plan.picture))
        return tensors([self._samples[one] for one in chosen], rows)


def tensors(samples: Sequence[StoredSample], prompts: Any) -> dict[str, Tensor]:
    """Samples of one length as tensors; ``prompts`` says of each whether it keeps text, spans and picture, (n, 3)."""
    mels = np.stack([np.stack([one.mixture, one.output, one.rest]) for one in samples])
    classes, spans, hard = [], [], []
    for sample, (text, span, picture) in zip(samples, prompts, strict=True):
        classes.append(asked(sample.text if text else "", sample.about["label"] if picture else ""))
        spans.append(sample.spans * np.float32(span))
        hard.append(sample.difficulty[0 if span else 1])
    found = {
        "mels": unpacked(mels),
        "spans": np.stack(spans),
        "classes": np.stack(classes),
        "scores": np.stack([one.scores for one in samples]),
        "difficulty": np.stack(hard),
        "curves": np.stack([one.curves for one in samples]),
        "aligned": np.array([one.about["aligned"] for one in samples], np.float32),
    }
    if samples[0].early is not None:
        found["early"] = np.stack([one.early for one in samples if one.early is not None]).transpose(0, 1, 3, 4, 2)
    made = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in found.items()}
    made["domain"] = torch.tensor([domain_number(one) for one in samples])
    return made


@lru_cache(maxsize=4096)
def asked(text: str, shown: str) -> Floats:
    """The classes of a text, and of what a picture shows, by its name."""
    return as_classes(*(read_prompt(words).classes for words in (text, shown) if words))


def subset_rows(name: str, count: int) -> Any:
    """Which prompts each of some samples keeps, for one of ``SUBSETS``."""
    return np.tile([kind in name.split("+") for kind in ("text", "spans", "picture")], (count, 1))
