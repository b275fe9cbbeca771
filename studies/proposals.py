"""How many objects of COCO photographs region proposals find, beside boxes that look at nothing."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes, overlap
from auscult.media import rle
from auscult.media.frames import read_frame
from auscult.models.classical.regions import GREATEST_SHARE, LEAST_SHARE, Regions
from auscult.models.named_objects import ObjectCounter
from auscult.rng import generator
from auscult.score.stats.correlation import spearman
from auscult.score.stats.intervals import cluster_draws, percentile_interval, sums_by_cluster
from auscult.types import Frame, Mask
from bench.table import Table, text

MOST = 20
ENOUGH = 0.5
LARGE = 0.02

Propose = Callable[[Frame], Sequence[Mask]]
Photograph = tuple[Frame, list[Mask]]


def run() -> Table:
    """Measure the proposer, the proposer with nested regions, and two baselines, one OpenCV thread."""
    root = os.environ.get("AUSCULT_DATA")
    header = ["proposer", "proposals", "recall of all", "of those >= 2 %", "best IoU, quartiles", "ms per picture"]
    if not root:
        return Table("region proposals on COCO photographs", header, [], "AUSCULT_DATA is not set")
    photographs = _photographs(Path(root) / "images" / "coco")
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        rows = [_row(name, photographs, propose) for name, propose in _proposers().items()]
        agreement = _agreement(photographs)
    finally:
        cv2.setNumThreads(threads)
    objects = sum(len(masks) for _, masks in photographs)
    return Table(
        "region proposals on COCO photographs",
        header,
        rows,
        f"{len(photographs)} photographs, {objects} objects that are no crowd. Recall: share with a proposal of IoU >= "
        f"{ENOUGH}, of at most {MOST}; 95 % intervals by bootstrap over photographs. {agreement}",
    )


def _photographs(folder: Path) -> list[Photograph]:
    listed = json.loads((folder / "instances.json").read_text(encoding="utf-8"))
    objects: dict[int, list[Mask]] = defaultdict(list)
    for instance in listed["annotations"]:
        if not instance["iscrowd"]:
            objects[instance["image_id"]].append(rle.decode(instance["rle"]))
    return [
        (read_frame(folder / "images" / image["file_name"]), objects[image["id"]])
        for image in listed["images"]
        if objects[image["id"]]
    ]


def _proposers() -> dict[str, Propose]:
    return {
        "classical.regions.v1": Regions(most=MOST),
        "the same, always 20": Regions(most=MOST, least_score=-np.inf),
        "the same, 20, nested": Regions(most=MOST, least_score=-np.inf, nested=True),
        "20 centred boxes": _centred,
        "20 random boxes": _random,
    }


def _centred(frame: Frame) -> list[Mask]:
    """Boxes of the picture's own form round its centre, of all sizes that a proposal may have."""
    height, width = frame.shape[:2]
    masks = []
    for share in np.geomspace(LEAST_SHARE, GREATEST_SHARE, MOST):
        high, wide = height * np.sqrt(share), width * np.sqrt(share)
        masks.append(_box(frame, (width - wide) / 2, (height - high) / 2, size=(wide, high)))
    return masks


def _random(frame: Frame) -> list[Mask]:
    """Boxes anywhere, of sizes and forms drawn evenly on a logarithmic scale."""
    height, width = frame.shape[:2]
    rng = generator(1, "bench", "boxes", int(frame.sum()))
    masks = []
    for _ in range(MOST):
        share = np.exp(rng.uniform(np.log(LEAST_SHARE), np.log(GREATEST_SHARE)))
        form = np.exp(rng.uniform(-0.7, 0.7))
        high, wide = (min(1.0, np.sqrt(share) * side) for side in (form, 1 / form))
        high, wide = high * height, wide * width
        masks.append(_box(frame, rng.uniform(0, width - wide), rng.uniform(0, height - high), size=(wide, high)))
    return masks


def _box(frame: Frame, left: float, top: float, *, size: tuple[float, float]) -> Mask:
    mask = np.zeros(frame.shape[:2], bool)
    box = (round(left), round(top), round(left + size[0]), round(top + size[1]))
    mask[boxes.window(box)] = True
    return mask


def _row(name: str, photographs: list[Photograph], propose: Propose) -> list[str]:
    best: list[float] = []
    share: list[float] = []
    cluster: list[int] = []
    seconds: list[float] = []
    counts: list[int] = []
    for number, (frame, objects) in enumerate(photographs):
        start = perf_counter()
        proposals = propose(frame)
        seconds.append(perf_counter() - start)
        counts.append(len(proposals))
        for one in objects:
            best.append(max((overlap.iou(proposal, one) for proposal in proposals), default=0.0))
            share.append(float(one.mean()))
            cluster.append(number)
    found, members, large = np.array(best) >= ENOUGH, np.array(cluster), np.array(share) >= LARGE
    quartiles = " ".join(f"{value:.2f}" for value in np.quantile(best, (0.25, 0.5, 0.75)))
    return [
        name,
        f"{np.mean(counts):.1f}",
        _recall(found, members, len(photographs)),
        _recall(found[large], members[large], len(photographs)),
        quartiles,
        f"{np.median(seconds) * 1e3:.0f} (most {max(seconds) * 1e3:.0f})",
    ]


def _recall(found: NDArray[np.bool_], members: NDArray[np.int64], clusters: int) -> str:
    sums = sums_by_cluster(np.stack([found, np.ones(found.size)], axis=1).astype(np.float64), members, clusters)
    drawn = cluster_draws(clusters, rng=generator(1, "bench", "proposals")) @ sums
    interval = percentile_interval(drawn[:, 0] / drawn[:, 1])
    low, high = interval if interval is not None else (float("nan"), float("nan"))
    return f"{found.mean():.3f} [{low:.3f}, {high:.3f}]"


def _agreement(photographs: list[Photograph]) -> str:
    counter = ObjectCounter(Regions())
    counted = [float(counter(frame)) for frame, _ in photographs]
    true = [float(sum(mask.mean() >= LEAST_SHARE for mask in objects)) for _, objects in photographs]
    rank = spearman(counted, true)
    value = getattr(rank, "value", float("nan"))
    return f"Counted proposals against annotated objects of at least {LEAST_SHARE:.1%}: Spearman {value:.2f}."


if __name__ == "__main__":
    print(text(run()))
