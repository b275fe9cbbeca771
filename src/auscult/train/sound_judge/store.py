"""Samples as ``sound.compact.v1`` hears them, in files: made once, read by every training and every measurement.

A shard is one ``.npz``: spectrograms of all its samples in eight bits, one after another, and their truth. Shards are
made one by one; a stopped run goes on with the next.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from auscult.arrays.spectra import SILENCE
from auscult.jobs.runner import Progress
from auscult.judge.sound.compact.network import STEP, STEP_S, HeardMixture, hear_mixture, hear_output, span_steps
from auscult.judge.sound.shared import is_silent
from auscult.nets.sound_judge import Trunk
from auscult.train.sound_judge.samples import Recipe, SoundSample, made_samples, real_samples
from auscult.train.sound_judge.songs import song_samples
from auscult.types import DIFFICULTY_AXES, DOMAINS, PERFORMANCE, Floats

SHARD: Final = 50
"""Mixtures of one shard."""
_LEVELS: Final = (2.6 - SILENCE) / 255
_ABOUT: Final = ("id", "kind", "severity", "label", "domain", "setting", "seen", "cluster", "family", "aligned")

Bytes = NDArray[np.uint8]
Halves = NDArray[np.float16]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredSample:
    """A sample of ``steps`` steps; spectrograms are uint8 (32 steps, 128)."""

    mixture: Bytes
    output: Bytes
    rest: Bytes
    spans: Floats  # (3, steps)
    curves: Floats  # (2, steps) missing and left over
    scores: Floats  # (4,)
    difficulty: Floats  # (2, 5) with spans and without
    text: str
    picture: bool  # whether it has one
    about: dict[str, Any]  # by the names of ``SoundSample``
    early: Halves | None = None  # (3, 4 steps, 16, 16) what the trunk's first blocks make of the three spectrograms

    @property
    def steps(self) -> int:
        """How long it is."""
        return int(self.spans.shape[1])


def packed(mel: Floats) -> Bytes:
    """A spectrogram (128, frames) as uint8 (frames, 128)."""
    return np.asarray(np.rint(np.clip((mel.T - SILENCE) / _LEVELS, 0, 255)), dtype=np.uint8)


def unpacked(mels: Bytes) -> Floats:
    """Spectrograms (..., frames, 128) as they were, float32 (..., 128, frames)."""
    return np.asarray(mels.swapaxes(-1, -2) * np.float32(_LEVELS) + np.float32(SILENCE), dtype=np.float32)


def stored(sample: SoundSample, heard: HeardMixture) -> StoredSample:
    """A sample, whose output and mixture are not silent, as the network hears it."""
    output, rest = hear_output(heard, sample.separated)
    steps = heard.mel.shape[1] // STEP
    return StoredSample(
        mixture=packed(heard.mel),
        output=packed(output),
        rest=packed(rest),
        spans=span_steps(sample.case.spans, steps),
        curves=np.stack([_in_steps(curve, sample.hop_s, steps) for curve in (sample.missing, sample.left_over)]),
        scores=np.array([sample.scores[name] for name in PERFORMANCE], np.float32),
        difficulty=np.array(
            [[hard[name] for name in DIFFICULTY_AXES] for hard in (sample.difficulty, sample.without_spans)], np.float32
        ),
        text=sample.case.text or "",
        picture=sample.case.frames is not None,
        about={name: getattr(sample, name) for name in _ABOUT},
    )


def _in_steps(curve: Floats, hop_s: float, steps: int) -> Floats:
    """The means of a curve in the network's steps; 0 behind its end."""
    cumulative = np.concatenate([[0.0], np.cumsum(curve, dtype=np.float64)]) * hop_s
    integrals = np.interp(np.arange(steps + 1) * STEP_S, np.arange(len(cumulative)) * hop_s, cumulative)
    return np.asarray(np.diff(integrals) / STEP_S, dtype=np.float32)


def heard_samples(samples: Iterable[SoundSample]) -> Iterator[StoredSample]:
    """Samples in their order as the network hears them; each mixture once for all its outputs; silent ones left out."""
    last: tuple[int, HeardMixture] | None = None
    for sample in samples:
        if is_silent(sample.case.mixture) or is_silent(sample.case.mixture, sample.separated):
            continue
        if last is None or last[0] != id(sample.case.mixture):
            last = id(sample.case.mixture), hear_mixture(sample.case.mixture, sample.case.rate_hz)
        yield stored(sample, last[1])


def write_shard(path: Path, samples: Sequence[StoredSample]) -> None:
    """Write samples as one file, whole or not at all; a mixture that follows itself stands once."""
    mixtures: list[Bytes] = []
    places = []
    for sample in samples:
        if not mixtures or not np.array_equal(mixtures[-1], sample.mixture):
            mixtures.append(sample.mixture)
        places.append(len(mixtures) - 1)
    rows = [
        {"text": sample.text, "picture": sample.picture, "steps": sample.steps, **sample.about} for sample in samples
    ]
    part = path.with_suffix(".part.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        part,
        mixtures=np.concatenate(mixtures),
        lengths=np.array([len(mixture) for mixture in mixtures]),
        places=np.array(places),
        outputs=np.concatenate([sample.output for sample in samples]),
        rests=np.concatenate([sample.rest for sample in samples]),
        spans=np.concatenate([sample.spans.T for sample in samples]),
        curves=np.concatenate([sample.curves.T for sample in samples]),
        scores=np.stack([sample.scores for sample in samples]),
        difficulty=np.stack([sample.difficulty for sample in samples]),
        rows=np.frombuffer(json.dumps(rows).encode(), np.uint8),
    )
    part.replace(path)


def read_shard(path: Path) -> list[StoredSample]:
    """The samples of a file, which share its arrays."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    rows = json.loads(arrays["rows"].tobytes())
    begins = np.concatenate([[0], np.cumsum(arrays["lengths"])])
    ends = np.cumsum([row["steps"] for row in rows])
    samples = []
    for index, (row, end) in enumerate(zip(rows, ends, strict=True)):
        start, place = end - row["steps"], arrays["places"][index]
        frames = slice(start * STEP, end * STEP)
        samples.append(
            StoredSample(
                mixture=arrays["mixtures"][begins[place] : begins[place + 1]],
                output=arrays["outputs"][frames],
                rest=arrays["rests"][frames],
                spans=arrays["spans"][start:end].T,
                curves=arrays["curves"][start:end].T,
                scores=arrays["scores"][index],
                difficulty=arrays["difficulty"][index],
                text=row["text"],
                picture=row["picture"],
                about={name: row[name] for name in _ABOUT},
            )
        )
    return samples


@dataclass(frozen=True, kw_only=True)
class Store:
    """The samples of a part, in a folder."""

    folder: Path
    real: bool = True  # whether outputs of real systems are among them
    songs: bool = False  # whether the mixtures are songs

    def make(
        self,
        root: Path | None,
        *,
        part: Any,
        mixtures: int,
        seed: int,
        recipe: Recipe,
        progress: Progress,
        until: float,
    ) -> bool:
        """Make the shards that are missing; gives whether all are there, since it stops at a moment of time."""
        count = -(-mixtures // SHARD)
        progress.stage(f"sounds for {part}", count)
        for shard in range(count):
            path = self.folder / f"{shard:04d}.npz"
            if not path.is_file():
                if time.monotonic() >= until:
                    return False
                numbers = range(shard * SHARD, min(mixtures, (shard + 1) * SHARD))
                if self.songs:
                    samples = song_samples(root, part=part, numbers=numbers, seed=seed)
                else:
                    samples = made_samples(root, part=part, numbers=numbers, seed=seed, recipe=recipe)
                write_shard(path, list(heard_samples(samples)))
            progress.step()
        if self.real and root is not None and (root / "sound" / "separated").is_dir():
            path = self.folder / "real.npz"
            if not path.is_file():
                write_shard(path, list(heard_samples(real_samples(root, part=part))))
        return True

    @property
    def files(self) -> list[Path]:
        """The files of samples, made ones first."""
        return sorted(self.folder.glob("[0-9r]*.npz" if self.real else "[0-9]*.npz"))

    @cached_property
    def samples(self) -> list[StoredSample]:
        """All of them."""
        return [sample for path in self.files for sample in read_shard(path)]


def domain_number(sample: StoredSample) -> int:
    """The place of its domain in ``DOMAINS``; -1 where it is not known."""
    domain = sample.about["domain"]
    return DOMAINS.index(domain) if domain in DOMAINS else -1


_AT_ONCE: Final = 32


def with_early(files: Iterable[Path], trunk: Trunk) -> list[StoredSample]:
    """All samples of a store's files with what the pretrained trunk's first blocks make of them, kept beside each."""
    result: list[StoredSample] = []
    for path in files:
        samples = read_shard(path)
        cache = path.with_suffix(".early.npy")
        if not cache.is_file():
            _write(cache, early_of(samples, trunk))
        early, start = np.load(cache, allow_pickle=False), 0
        for sample in samples:
            end = start + 12 * sample.steps
            result.append(replace(sample, early=early[start:end].reshape(3, 4 * sample.steps, 16, 16)))
            start = end
    return result


def _write(path: Path, arrays: Sequence[Halves]) -> None:
    part = path.with_suffix(f".{os.getpid()}")  # two trainings may share samples
    with part.open("wb") as file:
        np.save(file, np.concatenate([array.reshape(-1, 16, 16) for array in arrays]))
    part.replace(path)


def early_of(samples: Sequence[StoredSample], trunk: Trunk) -> list[Halves]:
    """Of each sample float16 (3, 4 steps, 16, 16)."""
    by_length: dict[int, list[tuple[int, int, Bytes]]] = defaultdict(list)
    for index, sample in enumerate(samples):
        for place, mel in enumerate((sample.mixture, sample.output, sample.rest)):
            by_length[sample.steps].append((index, place, mel))
    arrays = [np.empty((3, 4 * sample.steps, 16, 16), np.float16) for sample in samples]
    for entries in by_length.values():
        for start in range(0, len(entries), _AT_ONCE):
            part = entries[start : start + _AT_ONCE]
            mels = torch.from_numpy(unpacked(np.stack([mel for _, _, mel in part]))[:, None].copy())
            with torch.no_grad():
                features = trunk.early(mels.contiguous(memory_format=torch.channels_last))
            for (index, place, _), values in zip(part, features.permute(0, 3, 1, 2).numpy(), strict=True):
                arrays[index][place] = values
    return arrays
