"""Each sample several times: as it is made, then shuffled within its block; mirrored and recoloured anew each time.

Making a sample costs more than learning from it. The batches of a block follow from the seed and the block's number
alone, so a run that continues inside a block makes it again and goes on with the very next batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auscult.judge.masks.compact.view import GREY
from auscult.rng import generator
from auscult.train.compact.feed import Arrays

BLOCK: Final = 128
"""Batches of a block; with the next one, made ahead, they take about 1 GB."""

_PICTURES: Final = ("crop", "context", "strip")
_MIRRORED: Final = (*_PICTURES, "truth", "profile")
_GAIN: Final = 0.08
_OWN_LIFT: Final = 6.0  # grey levels, each colour by itself
_LIFT: Final = 9.0


def echoed(made: Iterator[Arrays], *, seed: int, size: int, echo: int, first: int) -> Iterator[Arrays]:
    """Batches out of blocks of made ones, each sample ``echo`` times.

    Args:
        made: Batches as they are made, from the first of the block that step ``first`` lies in.
        seed: Seed of order and changes.
        size: Samples of a batch.
        echo: How often each sample is shown.
        first: The step that the first batch is for.
    """
    step = first
    while True:
        number, begun = divmod(step, BLOCK * echo)
        parts: list[Arrays] = []
        for place in range(BLOCK):
            parts.append(next(made))
            if begun <= place:
                yield changed(parts[-1], generator(seed, "compact", "seen", step))
                step += 1
        block = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        del parts
        while step // (BLOCK * echo) == number:
            turn, place = divmod(step - number * BLOCK * echo, BLOCK)
            order = generator(seed, "compact", "echo", number, turn).permutation(len(block["iou"]))
            shown = {name: value[order[place * size : (place + 1) * size]] for name, value in block.items()}
            yield changed(shown, generator(seed, "compact", "seen", step))
            step += 1
        del block, shown  # the next one is about to be collected


def changed(batch: Arrays, rng: np.random.Generator) -> Arrays:
    """Half of the samples mirrored; the colours of each made a little brighter, darker or tinted.

    Likeness and cues stay as they were, and so does the grey that lies outside the frame.
    """
    count = len(batch["iou"])
    turned = rng.random(count) < 0.5
    found = dict(batch)
    for name in _MIRRORED:
        value = batch[name].copy()
        value[turned] = value[turned][..., ::-1]
        found[name] = value
    gain = np.exp(rng.normal(0, _GAIN, (count, 3, 1, 1))).astype(np.float32)
    lift = rng.normal(0, _OWN_LIFT, (count, 3, 1, 1)) + rng.normal(0, _LIFT, (count, 1, 1, 1))
    for name in _PICTURES:
        found[name][:, :3] = _recoloured(found[name][:, :3], gain, lift.astype(np.float32))
    return found


def _recoloured(colours: NDArray[Any], gain: NDArray[np.float32], lift: NDArray[np.float32]) -> NDArray[np.uint8]:
    moved = (colours.astype(np.float32) - GREY) * gain + (GREY + lift)
    found = np.clip(moved, 0, 255, out=moved).astype(np.uint8)
    outside = (colours == GREY).all(axis=1, keepdims=True)
    return np.where(outside, np.uint8(GREY), found)
