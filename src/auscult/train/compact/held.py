"""What a network says of masks that no weight was trained on: the material of calibration and of comparing designs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.view import inputs, look
from auscult.rng import generator
from auscult.train import material
from auscult.train.compact.calibrate import UNKNOWN, Held
from auscult.train.candidates import CandidateScene, candidates
from auscult.train.compact.feed import TYPES
from auscult.train.material import Sample
from auscult.train.split import Part, committed

Floats = NDArray[np.float32]
Network = Callable[[Mapping[str, Floats]], Mapping[str, Floats]]

_READ = ("types", "ious", "features")
_BATCH = 32
_EVERY = 3
_OF_EACH = 4


def held_out(data: Path, part: Part, *, seed: int) -> Iterator[Sample]:
    """Masks of photographs and sequences of one part.

    The paper's defects, masks on no object, real models' masks, and candidates of the kinds that training draws.

    Args:
        data: The folder of real material.
        part: Which part of the committed split.
        seed: Seed of the made masks.
    """
    names = committed()
    photographs, sequences = names["coco"][part], names["davis"][part]
    yield from _without_others(material.coco(data, photographs, seed=seed, alone=True))
    yield from islice(material.coco_nonsense(data, photographs, seed=seed), 0, None, _EVERY)
    yield from _without_others(material.davis(data, sequences, seed=seed, every=_EVERY))
    yield from islice(material.davis_nonsense(data, sequences, seed=seed, every=_EVERY), 0, None, _EVERY)
    yield from material.real(data, sequences)
    yield from _mixture(material.coco(data, photographs, seed=seed, alone=False), seed=seed)
    yield from _mixture(material.davis(data, sequences, seed=seed, every=2 * _EVERY), seed=seed)


def _mixture(samples: Iterable[Sample], *, seed: int) -> Iterator[Sample]:
    """Of each true mask a few candidates of the kinds that training draws, realistic errors among them."""
    for number, sample in enumerate(sample for sample in samples if sample.defect == "perfect"):
        scene = CandidateScene(frame=sample.frame, mask=sample.mask, others=sample.others)
        for made in candidates(scene, generator(seed, "compact", "held", sample.source, number), _OF_EACH):
            yield replace(
                sample, mask=made.mask, others=(), defect=made.defect or made.kind, difficulty=None, iou=made.iou
            )


def said_of(network: Network, samples: Iterable[Sample]) -> Held:
    """Run a network over samples; empty masks are left out."""
    known: list[tuple[float, int, str, float]] = []
    said: dict[str, list[Floats]] = {name: [] for name in _READ}
    for part in _parts(sample for sample in samples if sample.mask.any()):
        found = network(inputs([look(sample.frame, sample.mask) for sample in part]))
        for name in _READ:
            said[name].append(found[name])
        known += [(one.iou, _kind(one.defect), one.cluster, float(np.count_nonzero(one.mask))) for one in part]
    iou, kind, cluster, area = zip(*known, strict=True)
    return Held(
        **{name: np.concatenate(values) for name, values in said.items()},
        iou=np.array(iou),
        kind=np.array(kind),
        cluster=np.array(cluster),
        area_px=np.array(area),
    )


def _kind(defect: str) -> int:
    return TYPES.index(defect) if defect in TYPES else UNKNOWN


def _parts(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    waiting: list[Sample] = []
    for sample in samples:
        waiting.append(sample)
        if len(waiting) == _BATCH:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _without_others(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Without masks of another real object, which no picture tells from the right one."""
    return (sample for sample in samples if sample.defect != "full_neg")
