"""What the lexicon model scores beside baselines, on scenes, photographs and videos; prints tables.

    auscult make scenes --out SCENES --count 30 --seed 9203 --seconds 5 --size 480x640
    python studies/lexicon_results.py [--data DATA] [--scenes SCENES] [--only ris-scenes,...] [--part reported]

ris-scenes, rvos-scenes   every expression that names a thing; of a photograph's task the frame that shows most of it
ris-photographs           COCO photographs of DATA with sentences made here from the true masks, see ``lexicon_asked``
rvos-davis                the positive sentences of DATA/video/davis2016, for the whole foreground

Photographs of even number were chosen on; ``--part`` takes the others. Every difference is the model's value less the
baseline's, with a 95 % interval by drawing whole scenes, photographs or videos.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lexicon_asked import Asked, davis, photographs, scenes

from auscult.models.base import Masks
from auscult.types import Frames
from auscult.models.baselines import CENTRE_BOX, FULL_FRAME, RANDOM_REGION
from auscult.models.classical.lexicon import MODEL as LEXICON
from auscult.rng import generator
from auscult.score.masks.video import boundary_f
from auscult.score.stats.few_clusters import CORRELATION, ends_of, widened
from auscult.score.stats.intervals import cluster_draws, sums_by_cluster
from auscult.types import Query

REPLICATES = 2000
SEED = 6
PREDICTORS: dict[str, Callable[[Frames, Query], Masks]] = {
    "lexicon": LEXICON.predict,
    "lexicon, no sentence": lambda frames, query: LEXICON.predict(frames, Query(None)),  # noqa: ARG005 - the point
    "full frame": FULL_FRAME.predict,
    "centre box": CENTRE_BOX.predict,
    "random region": RANDOM_REGION.predict,
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one model scored on one sentence."""

    both_px: float
    either_px: float
    j: float
    f: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("AUSCULT_DATA"))
    parser.add_argument("--scenes", type=Path)
    parser.add_argument("--only", default="ris-scenes,ris-photographs,rvos-scenes,rvos-davis")
    parser.add_argument("--part", choices=("chosen", "reported"), default="reported")
    parser.add_argument("--most", type=int, help="scenes, photographs or videos at most")
    parser.add_argument("--each", action="store_true", help="print each sentence's J as well")
    given = parser.parse_args()
    data = Path(given.data) if given.data else None
    for task in given.only.split(","):
        asked = _asked(task, given.scenes, data, part=given.part)
        if asked is None:
            print(f"{task}: not measured, since its folder was not named")
            continue
        measure(task, asked if given.most is None else _first(asked, given.most), each=given.each)


def _asked(task: str, scenes_at: Path | None, data: Path | None, *, part: str) -> Iterator[Asked] | None:
    if task.endswith("-scenes"):
        return None if scenes_at is None else scenes(scenes_at, clips=task.startswith("rvos"))
    if data is None:
        return None
    if task == "ris-photographs":
        return photographs(data / "images" / "coco", odd=part == "reported")
    return davis(data / "video" / "davis2016")


def _first(asked: Iterator[Asked], most: int) -> Iterator[Asked]:
    """The sentences of the first clusters."""
    seen: set[str] = set()
    for one in asked:
        seen.add(one.cluster)
        if len(seen) > most:
            return
        yield one


def measure(task: str, asked: Iterator[Asked], *, each: bool) -> None:
    """Ask every model, score, and print the task's table."""
    rows: dict[str, list[Row]] = {name: [] for name in PREDICTORS}
    clusters, families, seconds, frames = [], [], 0.0, 0
    before: Asked | None = None
    for one in asked:
        same = (
            before is not None and np.array_equal(before.frames, one.frames) and np.array_equal(before.truth, one.truth)
        )
        before = one
        clusters.append(one.cluster)
        families.append(one.family)
        frames += len(one.frames)
        for name, predict in PREDICTORS.items():
            if same and name != "lexicon":  # the others do not read the sentence
                rows[name].append(rows[name][-1])
                continue
            start = time.process_time()
            masks = predict(one.frames.copy(), Query(one.text))
            seconds += time.process_time() - start if name == "lexicon" else 0.0
            rows[name].append(_scored(masks, one.truth, f=task.startswith("rvos")))
        if each:
            print(f"  {rows['lexicon'][-1].j:.2f} {rows['lexicon, no sentence'][-1].j:.2f} {one.cluster}: {one.text}")
    if not clusters:
        print(f"{task}: nothing to ask")
        return
    taken = f"{1000 * seconds / frames:.0f} ms of CPU a frame"
    print(f"{task}: {len(clusters)} sentences, {len(set(clusters))} clusters, {taken}")
    _print_table(rows, clusters, video=task.startswith("rvos"))
    _print_families(rows, families)


def _scored(masks: Masks, truth: Masks, *, f: bool) -> Row:
    both = np.count_nonzero(masks & truth, axis=(1, 2)).astype(np.float64)
    either = np.count_nonzero(masks | truth, axis=(1, 2)).astype(np.float64)
    j = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    bounds = [boundary_f(one, other).value for one, other in zip(masks, truth, strict=True)] if f else [0.0]
    return Row(float(both.sum()), float(either.sum()), float(j.mean()), float(np.mean(bounds)))


def _print_table(rows: dict[str, list[Row]], clusters: Sequence[str], *, video: bool) -> None:
    names = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    members = np.array([names[cluster] for cluster in clusters])
    # The same draws for all, so that what makes a cluster hard cancels in a difference.
    drawn = cluster_draws(len(names), rng=generator(SEED, "lexicon"), replicates=REPLICATES)
    values, draws = {}, {}
    for name, own in rows.items():
        parts = np.array([[row.both_px, row.either_px, row.j, row.f, 1.0] for row in own])
        values[name] = _statistics(parts.sum(axis=0)[None])[0]
        draws[name] = _statistics(drawn @ sums_by_cluster(parts, members, len(names)))
    heads = ((0, "J"), (1, "F")) if video else ((0, "mIoU"), (2, "oIoU"))
    print(f"  {'':22s}" + "".join(f"{head:>7s}  lexicon less it         " for _, head in heads))
    for name in rows:
        cells = []
        for column, _ in heads:
            gap = values["lexicon"][column] - values[name][column]
            apart = widened(draws["lexicon"][:, column] - draws[name][:, column], gap, sizes=np.bincount(members))
            ends = ends_of(apart, value=gap, clusters=len(names), within=CORRELATION)
            said = "" if name == "lexicon" or ends is None else f"{gap:+.3f} [{ends.low:+.3f}, {ends.high:+.3f}]"
            cells.append(f"{values[name][column]:7.3f}  {said:24s}")
        print(f"  {name:22s}" + "".join(cells))


def _statistics(sums: np.ndarray) -> np.ndarray:
    """Mean J, mean F and overall IoU of sums over sentences."""
    return np.stack([sums[:, 2] / sums[:, 4], sums[:, 3] / sums[:, 4], sums[:, 0] / sums[:, 1]], axis=1)


def _print_families(rows: dict[str, list[Row]], families: Sequence[str]) -> None:
    for family in sorted(set(families)):
        at = [place for place, name in enumerate(families) if name == family]
        shown = [
            f"{name} {np.mean([rows[name][place].j for place in at]):.3f}"
            for name in ("lexicon", "lexicon, no sentence")
        ]
        print(f"    {family:24s} n {len(at):4d}  {', '.join(shown)}")


if __name__ == "__main__":
    main()
