"""Print the tables of docs/models-classical-flow.md: the flow model against the baselines on videos with true masks.

Usage: python studies/flow_results.py FOLDER

FOLDER is any INPUT with videos and their true masks, such as a folder of DAVIS sequences. Each object is followed from
its true mask in its first frame. Differences are paired: whole videos are drawn, for both models at once.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, Literal

import numpy as np

from auscult import rng
from auscult.cases.instances import list_instances
from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.models.base import Masks
from auscult.models.baselines import CENTRE_BOX, FULL_FRAME, RANDOM_REGION
from auscult.models.classical import flow
from auscult.score.masks.video import JAndF, j_and_f
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.types import Frames, Instance, Mask

PROTOCOLS: Final[tuple[Literal["davis2016", "davis2017"], ...]] = ("davis2016", "davis2017")
MEASURES: Final = ("J", "F", "J&F")
FLOW: Final = "flow"
UNMOVED: Final = "first mask, unmoved"
BASELINES: Final = (FULL_FRAME, CENTRE_BOX, RANDOM_REGION)
REPLICATES: Final = 10_000
SEED: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one object gave: scores by protocol and model, (J, F, J&F) each; and the flow model's cost."""

    id: str
    clip: str
    frames: int
    scores: Mapping[str, Mapping[str, tuple[float, float, float]]]
    per_frame: tuple[float, ...]
    cpu_ms: float


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 2 without a folder."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    results = list(_results(Path(arguments[0])))
    if not results:
        print("no video of three frames or more with true masks")
        return 2
    for protocol in PROTOCOLS:
        print(f"\n{protocol}: mean over {len(results)} objects of {len({one.clip for one in results})} videos\n")
        print(*_table(results, protocol), sep="\n")
    print("\nflow, davis2016, each object\n")
    print(*_each(results), sep="\n")
    print(f"\nmedian CPU time of a frame on one thread: {median(one.cpu_ms for one in results):.0f} ms")
    return 0


def _results(folder: Path) -> Iterator[Result]:
    for instance in list_instances(folder).instances:
        frames, truth = _opened(instance)
        if len(frames) < 3:
            continue
        before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        answers = {FLOW: flow.MODEL.predict(frames, instance.query, first_mask=truth[0])}
        spent = 1000 * (time.process_time() - start) / (len(frames) - 1)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        size = f"{frames.shape[1]} x {frames.shape[2]}"
        print(f"{instance.id}: {len(frames)} frames {size}, {spent:.0f} ms each, {grown:.0f} MB more", file=sys.stderr)
        answers |= {model.name: model.predict(frames, instance.query) for model in BASELINES}
        answers[UNMOVED] = np.repeat(truth[:1], len(truth), axis=0)
        yield _scored(instance, truth, answers, spent=spent)


def _opened(instance: Instance) -> tuple[Frames, Masks]:
    frames = np.stack([read_frame(moment.frame) for moment in instance.moments])
    size = frames.shape[1:3]
    masks: list[Mask] = []
    for moment in instance.moments:
        known = None if moment.target is None else read_mask(moment.target, size=(size[0], size[1])).mask
        masks.append(np.zeros(size, np.bool_) if known is None else known)
    return frames, np.stack(masks)


def _scored(instance: Instance, truth: Masks, answers: Mapping[str, Masks], *, spent: float) -> Result:
    scores: dict[str, dict[str, tuple[float, float, float]]] = {}
    per_frame: tuple[float, ...] = ()
    for protocol in PROTOCOLS:
        scores[protocol] = {}
        for name, masks in answers.items():
            told = j_and_f(masks, truth, protocol=protocol)
            if not isinstance(told, JAndF):
                raise SystemExit(f"{instance.id}: {told}")
            scores[protocol][name] = (told.j, told.f, told.value)
            if name == FLOW and protocol == "davis2016":
                per_frame = told.objects[0].j_per_frame
    return Result(
        id=instance.id, clip=instance.clip, frames=len(truth), scores=scores, per_frame=per_frame, cpu_ms=spent
    )


def _table(results: Sequence[Result], protocol: str) -> Iterator[str]:
    yield "| | J | F | J&F | flow's J minus its J | flow's F minus its F | flow's J&F minus its J&F |"
    yield "|---|---|---|---|---|---|---|"
    for name in results[0].scores[protocol]:
        means = [np.mean([one.scores[protocol][name][at] for one in results]) for at in range(3)]
        cells = [f"{mean:.3f}" for mean in means]
        cells += ["", "", ""] if name == FLOW else [_difference(results, protocol, name=name, at=at) for at in range(3)]
        yield f"| {name} | " + " | ".join(cells) + " |"


def _difference(results: Sequence[Result], protocol: str, *, name: str, at: int) -> str:
    clusters: dict[str, list[float]] = {}
    for one in results:
        scores = one.scores[protocol]
        clusters.setdefault(one.clip, []).append(scores[FLOW][at] - scores[name][at])
    told = bootstrap_interval(
        lambda values: sum(values) / len(values),
        list(clusters.values()),
        rng=rng.generator(SEED, "flow results", protocol, name, MEASURES[at]),
        replicates=REPLICATES,
    )
    if not isinstance(told, Interval):
        return str(told)
    return f"{told.value:+.3f} [{told.low:+.3f}, {told.high:+.3f}]"


def _each(results: Sequence[Result]) -> Iterator[str]:
    yield "| object | frames | J | F | first mask, unmoved: J | J in each fifth of the frames |"
    yield "|---|---|---|---|---|---|"
    for one in results:
        scores = one.scores["davis2016"]
        fifths = " ".join(f"{part.mean():.2f}" for part in np.array_split(np.array(one.per_frame), 5) if part.size)
        j, f, _ = scores[FLOW]
        yield f"| {one.id} | {one.frames} | {j:.3f} | {f:.3f} | {scores[UNMOVED][0]:.3f} | {fifths} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
