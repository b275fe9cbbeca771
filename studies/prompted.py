"""What was asked of `masks.prompted.v1` beside its card: members alone, 8 bits, video neighbours, masks of one's own.

    python studies/prompted.py --data DATA --judge OUT --out RESULTS

OUT is what `auscult train prompted-mask` made. Outputs of the networks are kept under RESULTS. Prints Markdown tables;
`studies/prompted.md` holds them. Choices are made on the part `dev`; the parts `test` and `unseen` are only measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import prompted_card  # tools/prompted_card.py: PYTHONPATH=tools
import torch
from numpy.typing import NDArray

from auscult.cli import show
from auscult.judge.masks.prompted.calibration import Calibration, load_calibration
from auscult.judge.masks.prompted.network import FOLDER, CLASSIFIER_FILE, Member, load_member, load_classifier
from auscult.rng import generator
from auscult.train.prompted.calibrate import estimates, fit
from auscult.train.prompted.material import FAMILIES, Material, SplitPart, read_material
from auscult.score.judges import JudgeColumns
from auscult.train.prompted.outputs import FLAWLESS, Outputs, judged, load_outputs, real_and_flawless
from auscult.train.prompted.calibrate import refit

DRAWS = 400
OWN_MASKS = 200
REPEATS = 5


def main() -> None:
    options = _options()
    cv2.setNumThreads(1)
    torch.set_num_threads(1)
    calibration = load_calibration(options.judge / "calibration.json")
    members = [load_member(options.judge / f"member{at}.onnx", one) for at, one in enumerate(calibration.weights)]
    whole = [load_member(options.judge / f"member{at}.whole.onnx") for at in range(len(members))]
    material = read_material(options.data, families=FAMILIES)
    known = load_outputs(options.judge / "calibration.npz")
    dev = outputs(material, members, "dev", options.out / "dev.npz", every=1)
    print(alone(dev, known), eight_bits(material, whole, dev, calibration, options.out), sep="\n\n")
    moving = outputs(material, members, "test", options.out / "test-all-frames.npz", every=1)
    print(neighbours(moving, calibration))
    print(own_masks(outputs(material, members, "unseen", options.out / "unseen.npz", every=1), calibration))


def outputs(material: Material, members: Sequence[Member], part: SplitPart, path: Path, *, every: int) -> Outputs:
    """What the networks say of a part's real masks, kept in a file."""
    if path.exists():
        return load_outputs(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with show.progress_bar(quiet=False) as progress:
        pictures = material.of(part)
        progress.stage(f"judging {part}", sum(len(one.real) + len(one.objects) for one in pictures))
        classifier = load_classifier(FOLDER / CLASSIFIER_FILE)
        found = judged(real_and_flawless(pictures, every=every), members, classifier=classifier, progress=progress)
    found.save(path)
    return found


def row(found: Outputs, calibration: Calibration) -> JudgeColumns:
    """Estimates as a row of the card."""
    said = estimates(found, calibration)
    return JudgeColumns(iou=said.iou, rank=said.good + 1e-3 * said.iou, low=said.low, high=said.high)


def alone(dev: Outputs, known: Outputs) -> str:
    """Each network by itself, calibrated by itself, beside the mean of both: real masks of the part dev."""
    lines = ["| dev, real masks | AUC | Spearman | RMSE |", "|---|---|---|---|"]
    real = dev.where(dev.family != FLAWLESS)
    count = dev.ious.shape[1]
    for name, at in [*((f"network {at + 1}", [at]) for at in range(count)), ("mean", list(range(count)))]:
        calibration = fit(_only(known, at), ["0" * 64] * len(at), "0" * 64)
        lines.append(_line(name, real, row(_only(real, at), calibration)))
    return "\n".join(lines)


def eight_bits(
    material: Material, whole: Sequence[Member], dev: Outputs, calibration: Calibration, out: Path
) -> str:  # fmt: skip
    """What 8 bits cost: the same masks through the whole networks."""
    full = outputs(material, whole, "dev", out / "dev-whole.npz", every=1)
    real = dev.family != FLAWLESS
    lines = ["| dev, real masks | AUC | Spearman | RMSE |", "|---|---|---|---|"]
    for name, found in (("8 bits", dev), ("whole numbers of 32 bits", full)):
        lines.append(_line(name, found.where(real), row(found.where(real), calibration)))
    return "\n".join(lines)


def neighbours(found: Outputs, calibration: Calibration) -> str:
    """Video: the estimate mixed with those of the two neighbouring frames; its weight chosen on the other sequences."""
    video = found.where((found.source == "davis") & (found.family != FLAWLESS))
    said = estimates(video, calibration).iou
    beside = np.full(len(video), np.nan)
    for key in {(str(f), str(c)) for f, c in zip(video.family, video.cluster, strict=True)}:
        at = np.flatnonzero((video.family == key[0]) & (video.cluster == key[1]))
        at = at[np.argsort(video.order[at])]
        for place, here in enumerate(at):
            near = [at[other] for other in (place - 1, place + 1) if 0 <= other < len(at)]
            beside[here] = said[near].mean() if near else said[here]
    weights = (0.0, 0.2, 0.4, 0.6)
    mixed = said.copy()
    for name in np.unique(video.cluster):
        others = video.cluster != name
        best = min(weights, key=lambda one: _off((1 - one) * said[others] + one * beside[others], video.iou[others]))
        mixed[~others] = (1 - best) * said[~others] + best * beside[~others]
    gain = _paired(video, lambda at: _off(said[at], video.iou[at]) - _off(mixed[at], video.iou[at]))
    return (
        f"Neighbouring frames, {len(np.unique(video.cluster))} sequences: RMSE {_off(said, video.iou):.3f} without, "
        f"{_off(mixed, video.iou):.3f} with; better by {gain}"
    )


def own_masks(found: Outputs, shipped: Calibration) -> str:
    """A source nobody saw: the shipped judge, and the same fitted to 200 of its masks, on photographs left out."""
    real = found.where(found.family != FLAWLESS)
    clusters = np.unique(real.cluster)
    lines = ["| draw | fitted on | measured on | RMSE shipped | RMSE fitted | better by |", "|---|---|---|---|---|---|"]
    for at in range(REPEATS):
        rng = generator(at, "prompted", "own")
        chosen = rng.permutation(clusters)[: len(clusters) // 2]
        inside = np.flatnonzero(np.isin(real.cluster, chosen))
        keep = np.zeros(len(real), dtype=np.bool_)
        keep[rng.permutation(inside)[:OWN_MASKS]] = True
        fitted = refit(real.where(keep), shipped, seed=at)
        held = real.where(~np.isin(real.cluster, chosen))
        before, after = estimates(held, shipped).iou, estimates(held, fitted).iou
        gain = _paired(
            held, lambda some, b=before, a=after, h=held: _off(b[some], h.iou[some]) - _off(a[some], h.iou[some])
        )
        lines.append(
            f"| {at} | {int(keep.sum())} | {len(held)} | {_off(before, held.iou):.3f} | {_off(after, held.iou):.3f} | {gain} |"
        )
    return "\n".join(lines)


def _only(found: Outputs, at: Sequence[int]) -> Outputs:
    columns = dict(found.__dict__)
    for name in ("ious", "types", "features"):
        columns[name] = columns[name][:, list(at)]
    return Outputs(**columns)


def _line(name: str, found: Outputs, said: JudgeColumns) -> str:
    cells = []
    for metric in ("auc_80", "spearman", "rmse"):
        value = next(
            one
            for one in prompted_card.results_of(
                "dev", found, {name: said}, metrics={metric: prompted_card.REAL[metric]}, seed=0
            )
        )
        cells.append(f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]")
    return f"| {name} | {' | '.join(cells)} |"


def _off(said: NDArray[np.float64], true: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean((said - true) ** 2)))


def _paired(found: Outputs, gain) -> str:  # type: ignore[no-untyped-def]  # a function of places
    """A gain with its interval over clusters."""
    clusters, members = np.unique(found.cluster, return_inverse=True)
    places = [np.flatnonzero(members == at) for at in range(len(clusters))]
    rng = generator(0, "prompted", "studies")
    drawn = [
        gain(np.concatenate([places[at] for at in rng.integers(len(clusters), size=len(clusters))]))
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{gain(np.arange(len(found))):+.3f} [{low:+.3f}, {high:+.3f}]"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
