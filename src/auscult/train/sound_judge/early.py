"""What the trunk's first blocks make of stored samples: computed once where these blocks rest."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import torch

from auscult.nets.sound_judge.trunk import Trunk
from auscult.train.sound_judge.store import Bytes, Halves, Store, StoredSample, read_shard, unpacked

_AT_ONCE: Final = 32


def with_early(store: Store, trunk: Trunk) -> list[StoredSample]:
    """All samples of a store with what the pretrained trunk's first blocks make of them, kept beside each file."""
    found: list[StoredSample] = []
    for path in store.files:
        samples = read_shard(path)
        kept = path.with_suffix(".early.npy")
        if not kept.is_file():
            _write(kept, early_of(samples, trunk))
        whole, start = np.load(kept, allow_pickle=False), 0
        for sample in samples:
            end = start + 12 * sample.steps
            found.append(replace(sample, early=whole[start:end].reshape(3, 4 * sample.steps, 16, 16)))
            start = end
    return found


def _write(path: Path, made: Sequence[Halves]) -> None:
    part = path.with_suffix(f".{os.getpid()}")  # two trainings may share samples
    with part.open("wb") as file:
        np.save(file, np.concatenate([one.reshape(-1, 16, 16) for one in made]))
    part.replace(path)


def early_of(samples: Sequence[StoredSample], trunk: Trunk) -> list[Halves]:
    """Of each sample float16 (3, 4 steps, 16, 16)."""
    by_length: dict[int, list[tuple[int, int, Bytes]]] = defaultdict(list)
    for at, sample in enumerate(samples):
        for place, mel in enumerate((sample.mixture, sample.output, sample.rest)):
            by_length[sample.steps].append((at, place, mel))
    made = [np.empty((3, 4 * sample.steps, 16, 16), np.float16) for sample in samples]
    for wanted in by_length.values():
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            mels = torch.from_numpy(unpacked(np.stack([mel for _, _, mel in part]))[:, None].copy())
            with torch.no_grad():
                found = trunk.early(mels.contiguous(memory_format=torch.channels_last))
            for (at, place, _), one in zip(part, found.permute(0, 3, 1, 2).numpy(), strict=True):
                made[at][place] = one
    return made
