"""How well does the sound model do on scenes, beside masks that do not listen? Prints one table.

Usage: python studies/onsets_results.py SCENES [SCENES ...]

SCENES is a folder that `auscult make scenes` wrote, of a seed that no constant was chosen on (901 to 904 were). For
each score: the mean over clips of the model and of five masks that do not listen, and the difference of the model to
each, with a 95 % interval from 2,000 draws of whole clips, both sides at once. Above 0 the model is better.
``empty`` is listed because AVSBench's J and the contour F give a silent frame a full mark for it; ``mono`` is the model
itself on both channels as one, which says what it owes to stereo.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import cv2
import numpy as np

from auscult.media.frames import read_frame
from auscult.media.masks import read_mask
from auscult.media.sound import read_sound
from auscult.models.base import Masks
from auscult.models.baselines import CENTRE_BOX, FULL_FRAME, RANDOM_REGION
from auscult.models.classical.onsets import MODEL
from auscult.models.classical.regions import Regions
from auscult.outcome import Scored
from auscult.rng import generator
from auscult.scenes.dataset import sounding_instances
from auscult.score.masks.ref_avs import AVS_METRICS, AvsMetric, avs_scores
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.types import Frames, Instance, Query

REPLICATES = 2000
PROPOSE = Regions()

Scores: TypeAlias = dict[AvsMetric, float]
Blind: TypeAlias = Callable[[Frames, str], Masks]


def proposal(frames: Frames, clip: str) -> Masks:
    """A thing-like region of the first frame, drawn by the clip's name, in all frames."""
    found = PROPOSE(frames[0])
    masks = np.zeros(frames.shape[:3], np.bool_)
    if found:
        masks[:] = found[int(generator(0, "proposal", clip).integers(len(found)))]
    return masks


BLIND: dict[str, Blind] = {
    "full frame": lambda frames, _: FULL_FRAME.predict(frames, Query()),
    "centre box": lambda frames, _: CENTRE_BOX.predict(frames, Query()),
    "random region": lambda frames, _: RANDOM_REGION.predict(frames, Query()),
    "a proposal": proposal,
    "empty": lambda frames, _: np.zeros(frames.shape[:3], np.bool_),
}


def main(folders: Sequence[str]) -> int:
    """Print the table; 2 without a folder."""
    if not folders:
        print(__doc__)
        return 2
    cv2.setNumThreads(1)
    told: dict[str, list[Scores]] = {name: [] for name in ("onsets", "mono", *BLIND)}
    seconds, frames = 0.0, 0
    for folder in folders:
        for instance in sounding_instances(Path(folder)).instances:
            taken, count = _add(instance, told)
            seconds, frames = seconds + taken, frames + count
    print(
        f"{len(told['onsets'])} clips, {frames} frames; the model took {1e3 * seconds / frames:.0f} ms of CPU a frame"
    )
    print(*_table(told), sep="\n")
    return 0


def _add(instance: Instance, told: dict[str, list[Scores]]) -> tuple[float, int]:
    frames = np.stack([read_frame(moment.frame) for moment in instance.moments])
    truth = np.stack([read_mask(moment.target).mask for moment in instance.moments if moment.target is not None])
    sound = read_sound(instance.sound) if instance.sound is not None else None
    if sound is None:
        return 0.0, 0
    start = time.process_time()
    masks = MODEL.predict(frames, instance.query, sound=sound.samples, rate_hz=sound.rate_hz)
    taken = time.process_time() - start
    told["onsets"].append(_scores(masks, truth))
    one = sound.samples.mean(axis=0)
    told["mono"].append(_scores(MODEL.predict(frames, instance.query, sound=one, rate_hz=sound.rate_hz), truth))
    for name, blind in BLIND.items():
        told[name].append(_scores(blind(frames, instance.clip), truth))
    return taken, len(frames)


def _scores(masks: Masks, truth: Masks) -> Scores:
    return {name: one.value for name, one in avs_scores(masks, truth).items() if isinstance(one, Scored)}


def _table(told: dict[str, list[Scores]]) -> list[str]:
    lines = [f"{'':14} {'score':9} {'clips':>5} {'mean':>6}   model minus this, with interval"]
    for name, clips in told.items():
        for metric in AVS_METRICS:
            values = [clip[metric] for clip in clips if metric in clip]
            line = f"{name:14} {metric:9} {len(values):5} {np.mean(values):6.3f}"
            lines.append(line if name == "onsets" else f"{line}   {_difference(told['onsets'], clips, metric)}")
    return lines


def _difference(ours: Sequence[Scores], theirs: Sequence[Scores], metric: AvsMetric) -> str:
    apart = [[one[metric] - other[metric]] for one, other in zip(ours, theirs, strict=True) if metric in one]
    told = bootstrap_interval(
        lambda values: sum(values) / len(values), apart, rng=generator(0, "onsets", metric), replicates=REPLICATES
    )
    return f"{told.value:+.3f} [{told.low:+.3f}, {told.high:+.3f}]" if isinstance(told, Interval) else "-"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
