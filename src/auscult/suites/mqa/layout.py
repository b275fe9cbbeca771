"""The benchmark in MQ-RAVSBench's own files, beside the INPUT and naming the same masks, frames and sounds.

What reads the release reads this folder: ``train_test_meta_files/metadata.csv`` with the key frames, one JSON document
per split and protocol, ``media/<vid>/frames/`` and ``media/<vid>/audio.wav``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from auscult.cases.layouts import mqravs, refavs
from auscult.suites.mqa.building import Order
from auscult.suites.mqa.statistics import Row
from auscult.types import Instance

_FID: Final = re.compile(r"fid_([0-9]{1,6})")


def layout_files(items: Sequence[Row], orders: Sequence[Order], *, key_frames: Mapping[str, int]) -> dict[str, bytes]:
    """The released files.

    Args:
        items: Rows of ``items.jsonl``.
        orders: What they were made of.
        key_frames: Instance id to the number of its key frame in its clip.

    Returns:
        Name to bytes; no file for a split and protocol without a mask.
    """
    if not items:
        return {}
    instances = {order.instance.id: order for order in orders}
    table = [
        refavs.Row(
            vid=order.instance.clip,
            uid=name,
            split=order.split,
            fid=object_number(order.instance),
            exp=order.instance.query.text or "",
            kfid=key_frames.get(name),
        )
        for name, order in instances.items()
    ]
    return mqravs.files_of(items, table)


def object_number(instance: Instance) -> int:
    """The target's number in its clip: of Ref-AVSBench's mask folder or a mask of several objects; 0 if it has none."""
    for moment in instance.moments:
        if moment.target is not None and moment.target.index is not None:
            return moment.target.index
        if moment.target is not None and moment.target.path is not None:
            match = _FID.fullmatch(moment.target.path.parent.name)
            return int(match[1]) if match else 0
    return 0
