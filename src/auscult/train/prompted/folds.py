"""Errors of our own decoder, out of fold: what a network draws of objects of photographs that it did not learn from.

Two short trainings learn from one half of the training part each and draw the objects of the other half, told by a box
or by points and cut at different levels. These masks are real errors whose licence is our own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from auscult.arrays.overlap import iou
from auscult.errors import InputError, OutputError
from auscult.judge.masks.prompted.view import look
from auscult.media.rle import decode, encode
from auscult.nets.prompted import PromptedNet
from auscult.rng import generator
from auscult.train.prompted.feed import boxes_or_points
from auscult.train.prompted.material import LEAST_PX, Picture, RealMask
from auscult.train.prompted.outputs import OWN, answers, lens_of, placed

FOLDS: Final = 2
_EACH: Final = 3
_EVERY: Final = 3
_LEVELS: Final = (-1.5, -0.5, 0.0, 0.5, 1.5)
_LEAST_IOU: Final = 0.05
_LEAST_PX: Final = 48
_MOST_BYTES: Final = 200 << 20

Row = Mapping[str, Any]


def fold_of(picture: Picture) -> int:
    """Which half a picture is in; all frames of a sequence are in one."""
    return hashlib.blake2b(picture.cluster.encode(), digest_size=1).digest()[0] % FOLDS


def drawn_by(net: PromptedNet, pictures: Sequence[Picture], *, seed: int) -> Iterator[list[Row]]:
    """What a network draws of pictures that it did not learn from.

    Args:
        net: The network, on the CPU.
        pictures: Pictures of another fold.
        seed: Seed of the prompts and of the level at which an answer is cut.

    Yields:
        The masks of one picture: ``picture`` its cluster and name, ``target`` the object, ``rle`` the mask.
    """
    lens = lens_of(net)
    for picture in pictures:
        rows: list[Row] = []
        if picture.order % _EVERY == 0:
            frame = picture.frame()
            for target, truth in enumerate(picture.masks()):
                if np.count_nonzero(truth) < LEAST_PX:
                    continue
                rng = generator(seed, "prompted", "folds", picture.path.name, target)
                view = look(frame, truth, lens)
                prompts = np.stack([boxes_or_points(view.candidate >= 128, rng) for _ in range(_EACH)])
                for answer in answers(net, view, prompts):
                    mask = placed(answer - np.float32(rng.choice(_LEVELS)), view.box, truth.shape)
                    if np.count_nonzero(mask) >= _LEAST_PX and iou(mask, truth) >= _LEAST_IOU:
                        rows.append({"picture": _name(picture), "target": target, "rle": encode(mask)})
        yield rows


def save_drawn(rows: Sequence[Row], path: Path) -> Path:
    """Write drawn masks.

    Raises:
        OutputError: They cannot be written.
    """
    try:
        path.write_bytes(gzip.compress(json.dumps(list(rows)).encode(), mtime=0))
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror}", path=path) from error
    return path


def with_drawn(pictures: Iterable[Picture], path: Path) -> list[Picture]:
    """Pictures with the masks of a file added to their real ones; masks of other pictures are left.

    Raises:
        InputError: The file is missing or damaged.
    """
    found: dict[str, list[RealMask]] = {}
    try:
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES)
        for row in json.loads(content):
            one = RealMask(family=OWN, target=int(row["target"]), rle=row["rle"])
            decode(one.rle)
            found.setdefault(str(row["picture"]), []).append(one)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"the drawn masks cannot be read: {error}", hint="delete it to make it anew", path=path
        ) from error
    return [replace(one, real=(*one.real, *found.get(_name(one), ()))) for one in pictures]


def _name(picture: Picture) -> str:
    return f"{picture.cluster}/{picture.path.name}"
