"""Errors of our own decoder, out of fold: what a network draws of objects of photographs that it did not learn from.

Two short trainings learn from one half of the training part each and draw the objects of the other half, told by a box
or by points and cut at different levels. These masks are real errors whose licence is our own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from auscult.arrays.overlap import iou
from auscult.errors import AuscultError, InputError, OutputError
from auscult.judge.masks.prompted.view import Lens, View, inputs, look
from auscult.media.rle import decode, encode
from auscult.nets.prompted import PromptedNet
from auscult.rng import generator
from auscult.train.prompted.feed import boxes_or_points
from auscult.train.prompted.material import LEAST_PX, Picture, RealMask
from auscult.train.prompted.outputs import OWN, Judgeable, judgeable
from auscult.types import Box, Floats, Frame, Mask

FOLDS: Final = 2
_EACH: Final = 3
_EVERY: Final = 3
_LEVELS: Final = (-1.5, -0.5, 0.0, 0.5, 1.5)
_LEAST_IOU: Final = 0.05
_LEAST_PX: Final = 48
_MOST_BYTES: Final = 200 << 20


def fold_of(picture: Picture) -> int:
    """Which half a picture is in; all frames of a sequence are in one."""
    return hashlib.blake2b(picture.cluster.encode(), digest_size=1).digest()[0] % FOLDS


def drawn_by(net: PromptedNet, pictures: Iterable[Picture], *, seed: int) -> Iterator[list[Judgeable]]:
    """What a network draws of objects that it did not learn from.

    Each object is shown three times, told by a jittered true box or by points; each answer is cut at its own level.
    """
    for picture in pictures:
        found: list[Judgeable] = []
        frame = picture.frame() if picture.order % _EVERY == 0 else None
        for target, truth in enumerate(picture.masks() if frame is not None else ()):
            if frame is None or np.count_nonzero(truth) < LEAST_PX:
                continue
            rng = generator(seed, "prompted", "folds", picture.path.name, target)
            found += [
                judgeable(picture, target, frame=frame, mask=mask, truth=truth, family=OWN)
                for mask in _drawn(net, frame, truth, rng=rng)
            ]
        yield found


def _drawn(net: PromptedNet, frame: Frame, truth: Mask, *, rng: np.random.Generator) -> Iterator[Mask]:
    view = look(frame, truth, Lens(side=net.design.side, margin=net.design.margin))
    prompts = np.stack([boxes_or_points(view.candidate >= 128, rng) for _ in range(_EACH)])
    for answer in _answers(net, view, prompts):
        mask = placed(answer - np.float32(rng.choice(_LEVELS)), view.box, truth.shape)
        if np.count_nonzero(mask) >= _LEAST_PX and iou(mask, truth) >= _LEAST_IOU:
            yield mask


def _answers(net: PromptedNet, view: View, prompts: NDArray[np.uint8]) -> Floats:
    """What a network draws on one crop for each prompt, (n, 4, grid, grid) as bytes -> logits (n, grid, grid)."""
    given = {
        name: torch.from_numpy(value).expand(len(prompts), *value.shape[1:]) for name, value in inputs([view]).items()
    }
    told = torch.from_numpy((prompts / np.float32(255)).astype(np.float32))
    with torch.no_grad():
        found = net(
            given["crop"], torch.zeros_like(given["candidate"]), strip=given["strip"], shape=given["shape"], prompt=told
        )
    return np.asarray(found["answer"][:, 0].numpy())


def placed(answer: Floats, box: Box, size: tuple[int, ...]) -> Mask:
    """An answer's logits over a crop as a mask of the frame, bool (H, W); False outside the crop."""
    x0, y0, x1, y1 = box
    grown = cv2.resize(answer, (x1 - x0, y1 - y0), interpolation=cv2.INTER_LINEAR)
    mask = np.zeros((size[0], size[1]), np.bool_)
    top, bottom, left, right = max(y0, 0), min(y1, size[0]), max(x0, 0), min(x1, size[1])
    mask[top:bottom, left:right] = np.asarray(grown)[top - y0 : bottom - y0, left - x0 : right - x0] > 0
    return mask


def save_drawn(drawn: Iterable[Judgeable], path: Path) -> Path:
    """Write drawn masks: of each its picture, the object it is meant for, and its RLE."""
    rows = []
    for one in drawn:
        name, _, target = one.name.rpartition("#")
        rows.append({"picture": f"{one.cluster}/{name}", "target": int(target), "rle": encode(one.mask)})
    try:
        path.write_bytes(gzip.compress(json.dumps(rows).encode(), mtime=0))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path


def with_drawn(pictures: Iterable[Picture], path: Path) -> list[Picture]:
    """Pictures with the masks of a file added to their real ones; masks of other pictures are left."""
    found: dict[str, list[RealMask]] = {}
    try:
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES)
        for row in json.loads(content):
            one = RealMask(family=OWN, target=int(row["target"]), rle=row["rle"])
            decode(one.rle)
            found.setdefault(str(row["picture"]), []).append(one)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AuscultError) as error:
        raise InputError(
            f"the drawn masks cannot be read: {error}", hint="delete it to make it anew", path=path
        ) from error
    return [replace(one, real=(*one.real, *found.get(f"{one.cluster}/{one.path.name}", ()))) for one in pictures]
