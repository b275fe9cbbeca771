"""How far J, F and S of Ref-AVS move with the release whose rules are used, on the same predictions.

    python studies/ref_avs_differences.py SCENES [--write]

SCENES is a folder made by `auscult make scenes`, or any Ref-AVSBench folder. Predictions are made from
the truth: probabilities of a blurred, shifted and sometimes wrong mask, by a fixed seed. They belong to no model; what
matters is that all variants see the same. `--write` puts the table into docs/ref-avs.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult import rng
from auscult.cases.instances import list_instances
from auscult.cases.listing import ListOptions
from auscult.media.frames import frame_size
from auscult.media.masks import read_mask
from auscult.outcome import Undefined
from auscult.score.masks.ref_avs import ClipMean, RefAvsVariant, ref_avs_f, ref_avs_j, ref_avs_s
from auscult.types import Instance, Mask, MaskRef

SIDE = 256  # both releases score small masks
SEED = 5
PAGE = Path(__file__).resolve().parents[1] / "docs" / "ref-avs.md"
MARKS = ("<!-- differences -->", "<!-- end of differences -->")


@dataclass(frozen=True, slots=True)
class Clip:
    """One expression's truth and what a made-up model said, (T, H, W)."""

    absent: bool
    truth: Mask
    prediction: NDArray[np.float64]


def main(source: Path, *, write: bool) -> None:
    """Print the table, and put it into the page where asked."""
    found = list_instances(source, ListOptions())
    clips = [clip for instance in found.instances if (clip := opened(instance)) is not None]
    named, null = [clip for clip in clips if not clip.absent], [clip for clip in clips if clip.absent]
    order = rng.generator(SEED, "order").permutation(len(named))
    lines = table(named, null, shuffled=[named[i] for i in order])
    text = "\n".join(lines)
    print(text)
    if write:
        page = PAGE.read_text(encoding="utf-8")
        start, end = page.index(MARKS[0]) + len(MARKS[0]), page.index(MARKS[1])
        PAGE.write_text(page[:start] + "\n" + text + "\n" + page[end:], encoding="utf-8")


def table(named: list[Clip], null: list[Clip], *, shuffled: list[Clip]) -> list[str]:
    """The rows of the page."""
    lines = [
        f"{len(named)} clips whose object is there, {len(null)} whose expression refers to nothing; 0 to 100.",
        "",
        "| rules | J ↑ | F ↑ | F, clips in another order | J, null expressions in the mean | S ↓ |",
        "|---|---|---|---|---|---|",
    ]
    for variant in get_args(RefAvsVariant):
        cells = [
            score(ref_avs_j, named, variant),
            score(ref_avs_f, named, variant),
            score(ref_avs_f, shuffled, variant),
            score(ref_avs_j, [*named, *null], variant),
            percent(ref_avs_s([clip.prediction for clip in null], variant=variant)),
        ]
        lines.append(f"| `{variant}` | " + " | ".join(cells) + " |")
    return lines


def score(function: Any, clips: list[Clip], variant: RefAvsVariant) -> str:
    """One cell."""
    return percent(function([clip.prediction for clip in clips], [clip.truth for clip in clips], variant=variant))


def percent(outcome: ClipMean | Undefined) -> str:
    """A number of the table, or a dash."""
    return "–" if isinstance(outcome, Undefined) else f"{100 * outcome.value:.1f}"


def opened(instance: Instance) -> Clip | None:
    """Truth and prediction of one expression; None where a frame has no annotation."""
    refs = [moment.target for moment in instance.moments]
    if any(ref is None for ref in refs) and not instance.absent:
        return None
    size = frame_size(instance.moments[0].frame)
    truth = np.stack([small(ref, size) for ref in refs])
    other = [moment.others[0] if moment.others else None for moment in instance.moments]
    wrong = np.stack([small(ref, size) for ref in other])
    return Clip(instance.absent, truth, predicted(instance.id, truth, wrong))


def small(ref: MaskRef | None, size: tuple[int, int]) -> Mask:
    """A mask at the releases' size."""
    if ref is None:
        return np.zeros((SIDE, SIDE), np.bool_)
    mask = read_mask(ref, size=size).mask.astype(np.uint8)
    return cv2.resize(mask, (SIDE, SIDE), interpolation=cv2.INTER_NEAREST) > 0


def predicted(name: str, truth: Mask, wrong: Mask) -> NDArray[np.float64]:
    """A prediction as a middling model might give it: soft, a little off, sometimes of another object or unsure."""
    draw = rng.generator(SEED, "prediction", name)
    seen = wrong if draw.random() < 0.25 or not truth.any() else truth
    sure, across = draw.uniform(0.35, 1.0), int(draw.integers(-8, 9))
    soft = [cv2.GaussianBlur(np.roll(mask, across, axis=1).astype(np.float64), (0, 0), 6.0) for mask in seen]
    return np.clip(sure * np.stack(soft) + draw.normal(0.0, 0.03, (len(soft), SIDE, SIDE)), 0.0, 1.0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), write="--write" in sys.argv)
