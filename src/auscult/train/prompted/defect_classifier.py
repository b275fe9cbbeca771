"""Trains the defect classifier: it predicts the type of a defect from cues measured along the outline.

Its material are masks of known type on the training part: flawless ones, what ``train.candidates`` makes, and the
defects of ``stress.masks``. Measuring takes a core some ten minutes, learning one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from auscult.errors import InputError
from auscult.jobs.runner import Progress
from auscult.judge.masks.compact.view import outline_of
from auscult.judge.masks.prompted.network import TYPES
from auscult.judge.masks.prompted.view import shape_of
from auscult.nets.prompted import DefectClassifier
from auscult.rng import generator
from auscult.train.material import made
from auscult.train.network_files import write_onnx
from auscult.train.prompted.material import Picture
from auscult.train.prompted.outputs import Judgeable, judgeable, made_of
from auscult.types import Floats, MaskTarget

OBJECTS: Final = 3
"""Objects of a picture that are used."""
MADE_EACH: Final = 3
STRESSED_EACH: Final = 5
"""Masks of an object by either maker."""
EPOCHS: Final = 30
LEAST_PX: Final = 32 * 32
VIDEO_COUNTS: Final = 3
"""A mask of a video's frame counts this often: a few sequences stand beside a thousand photographs."""
_BATCH: Final = 128
_NOISE: Final = 0.1
_RATE: Final = 4e-3
_STRESSORS: Final = ("cutout", "dilate", "erode", "merge")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledSamples:
    """Masks of known type as the network sees them."""

    cues: Floats  # float32 (n, 169)
    shape: Floats  # float32 (n, 10)
    types: NDArray[np.int64]  # place of the type in ``TYPES``, (n,)


def samples_of(pictures: Sequence[Picture], *, seed: int, progress: Progress) -> LabelledSamples:
    """Make masks of known type on pictures and measure along their outlines.

    Raises:
        InputError: No object of the pictures is large enough.
    """
    cues, shapes, types = list[Floats](), list[Floats](), list[int]()
    for picture in pictures:
        for labelled in labelled_masks(picture, seed=seed):
            times = VIDEO_COUNTS if picture.source == "davis" else 1
            cues += [outline_of(labelled.frame, labelled.mask).cues] * times
            shapes += [shape_of(labelled.mask)] * times
            types += [TYPES.index(labelled.defect)] * times
        progress.step()
    if not types:
        raise InputError("there is no object to learn types from", expected=f"objects of {LEAST_PX} pixels and more")
    return LabelledSamples(cues=np.stack(cues), shape=np.stack(shapes), types=np.array(types, dtype=np.int64))


def labelled_masks(picture: Picture, *, seed: int) -> Iterator[Judgeable]:
    """Masks of known type of some objects of a picture: flawless, and by both makers."""
    frame, masks = picture.frame(), picture.masks()
    rng = generator(seed, "prompted", "types", picture.path.name)
    large = [target for target in rng.permutation(len(masks)).tolist() if np.count_nonzero(masks[target]) >= LEAST_PX]
    chosen = large[:OBJECTS]
    names = {f"{picture.path.name}#{target}" for target in chosen}
    yield from (case for case in made_of([picture], seed=seed, each=MADE_EACH) if case.name in names and case.defect)
    for target in chosen:
        truth, others = masks[target], tuple(other for index, other in enumerate(masks) if index != target)
        yield judgeable(picture, target, frame=frame, mask=truth, truth=truth, family="", defect="perfect")
        name = (picture.source, picture.cluster, f"{picture.path.name}/{target}")
        stressed = list(made(MaskTarget(mask=truth, others=others), frame, (), name=name, seed=seed, kinds=_STRESSORS))
        for index in rng.permutation(len(stressed))[:STRESSED_EACH].tolist():
            variant = stressed[index]
            mask, defect = variant.mask, variant.defect
            yield judgeable(picture, target, frame=frame, mask=mask, truth=truth, family="", defect=defect)


def fit_classifier(samples: LabelledSamples, *, seed: int) -> DefectClassifier:
    """Train the network; every type counts alike."""
    torch.manual_seed(seed)
    rng = generator(seed, "prompted", "types", "batches")
    cues, shape = torch.from_numpy(samples.cues), torch.from_numpy(samples.shape)
    net = DefectClassifier.standardised(cues, shape)
    counts = np.bincount(samples.types, minlength=len(TYPES))
    weight = torch.from_numpy((len(samples.types) / (len(TYPES) * np.maximum(counts, 1))).astype(np.float32))
    truth = torch.from_numpy(samples.types)
    steps = max(1, EPOCHS * len(samples.types) // _BATCH)
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps + 1)
    net.train()
    for _ in range(steps):
        batch = torch.from_numpy(rng.integers(0, len(truth), _BATCH))
        scores = net.members_of(cues[batch], shape[batch], noise=_NOISE)
        loss = sum(functional.cross_entropy(score, truth[batch], weight=weight) for score in scores)
        optimiser.zero_grad()
        torch.as_tensor(loss).backward()
        optimiser.step()
        schedule.step()
    net.eval()
    return net


def export(net: DefectClassifier, path: Path) -> Path:
    """Write the network as ONNX."""
    example = (torch.zeros(2, net.cues), torch.zeros(2, net.shape))
    axes = {name: {0: "n"} for name in ("cues", "shape", "types")}
    return write_onnx(net, example, path, inputs=("cues", "shape"), outputs=("types",), axes=axes)
