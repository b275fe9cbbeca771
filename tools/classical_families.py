"""Make candidate masks with classical methods, for testing judges; nothing here is what judges train with.

    python tools/classical_families.py --data $AUSCULT_DATA --out FILE.json.gz [--part test --part unseen] [--items DIR]

Each method gets what a user who points at the object would give it: a click, a box, a scribble, or the object's outline
some frames ago. These prompts are drawn from the truth; the method sees nothing else of it. ``--items`` also writes an
input of `auscult audit` that holds no truth, and the truth beside it. Needs the extra `demo` (scikit-image).
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes, regions
from auscult.arrays.motion import moved
from auscult.arrays.overlap import counts
from auscult.errors import AuscultError
from auscult.media.rle import encode
from auscult.rng import generator
from auscult.train.prompted.material import LEAST_PX, PARTS, Picture, read_material
from auscult.types import Frame, Mask

Rng: TypeAlias = np.random.Generator
Row: TypeAlias = dict[str, Any]
SIDE_PX, FLOW_PX = 200, 480  # longer sides of a window round an object and of a video frame, as methods see them
MOST, PER_PICTURE = 250, 6  # masks of a family and part, masks of a picture
TRIES, EVERY = 2, 3  # objects tried for one mask; every third video frame
LEAST_IOU, MOST_IOU, LEAST_MASK_PX = 0.1, 0.995, 100  # what is kept
GAPS: Final = ((2, 4), (5, 8), (9, 12))  # frames that an outline is carried: three masks of one frame


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A picture, uint8 RGB (h, w, 3), and the object in it, bool (h, w), from which only prompts are drawn."""

    frame: Frame
    truth: Mask

    def lab(self) -> NDArray[np.float64]:
        """Its colours in CIE Lab, a little smoothed, 0..1."""
        smooth = cv2.GaussianBlur(self.frame, (0, 0), 1.0)
        return np.asarray(cv2.cvtColor(smooth, cv2.COLOR_RGB2LAB), dtype=np.float64) / 255


def shrunk(picture: Frame, side_px: int) -> Frame:
    """A picture with a longer side of at most ``side_px``."""
    scale = min(1.0, side_px / max(picture.shape[:2]))
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def resized(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """A mask in another size (height, width), its outline smooth."""
    soft = cv2.resize(mask.astype(np.float32), (shape[1], shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(soft) >= 0.5


def disk_of(truth: Mask, rng: Rng, *, share: float) -> Mask:
    """A click well inside an object: the disk round it, ``share`` as wide as there is room."""
    depth = regions.depth(truth, frame_is_outline=True)
    place = rng.choice(np.argwhere(depth >= rng.uniform(0.4, 0.8) * depth.max()))
    aim = np.rint(rng.normal(place, 0.04 * np.sqrt(truth.sum()))).astype(int).clip(0, np.array(truth.shape) - 1)
    y, x = aim if truth[aim[0], aim[1]] else place
    down, across = np.ogrid[: truth.shape[0], : truth.shape[1]]
    return np.asarray(np.hypot(down - y, across - x) <= max(2.0, share * float(depth[y, x])))


def box_of(truth: Mask, rng: Rng, *, spare: float = 0.0) -> Mask:
    """The pixels of a box that a hurried hand draws round an object, ``spare`` of its sides wider."""
    x0, y0, x1, y1 = boxes.box_of(truth) or (0, 0, 1, 1)
    off = rng.normal((-spare, -spare, spare, spare), 0.05) * (x1 - x0, y1 - y0, x1 - x0, y1 - y0)
    left, upper = max(0, x0 + round(off[0])), max(0, y0 + round(off[1]))
    mask = np.zeros_like(truth)
    mask[upper : max(upper + 2, y1 + round(off[3])), left : max(left + 2, x1 + round(off[2]))] = True
    return mask


def scribble_of(truth: Mask, rng: Rng) -> Mask:
    """A stroke through three to eight places inside an object, as wide as a fifth of it is deep."""
    depth = regions.depth(truth, frame_is_outline=True)
    places = rng.choice(np.argwhere(depth >= 0.3 * depth.max())[:, ::-1].astype(np.int32), int(rng.integers(3, 9)))
    canvas = np.zeros(truth.shape, np.uint8)
    cv2.polylines(canvas, [places], isClosed=False, color=(1,), thickness=max(2, round(0.2 * float(depth.max()))))
    return (canvas > 0) & truth


def touching(mask: Mask, seed: Mask) -> Mask:
    """The connected parts of a mask that hold pixels of a seed."""
    labels, _ = regions.components(mask)
    return np.isin(labels, np.unique(labels[seed & mask])) & mask


def grabcut_click(view: View, rng: Rng) -> Mask | None:
    """GrabCut from a disk round a click, without a box: perhaps more round it, nothing along the window's rim."""
    disk = disk_of(view.truth, rng, share=0.6)
    near = regions.reach(disk) <= max(3.0, np.sqrt(disk.sum() / np.pi) * rng.uniform(1.0, 3.0))
    labels = np.where(near, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    labels[[0, -1]] = labels[:, [0, -1]] = cv2.GC_BGD
    labels[disk] = cv2.GC_FGD
    found = _cut(view.frame, labels, rng)
    return None if found is None else touching(found, disk)


def grabcut_box(view: View, rng: Rng) -> Mask | None:
    """GrabCut from a box: a method that judges do learn from, with other people's masks."""
    labels = np.where(box_of(view.truth, rng, spare=0.03), cv2.GC_PR_FGD, cv2.GC_BGD).astype(np.uint8)
    found = _cut(view.frame, labels, rng)
    return found if found is None or rng.random() < 0.5 else regions.largest(found)


def _cut(frame: Frame, labels: NDArray[np.uint8], rng: Rng) -> Mask | None:
    if min(np.count_nonzero(labels & 1), np.count_nonzero(~labels & 1)) < 32:  # odd labels are the object's
        return None
    models = np.zeros((1, 65)), np.zeros((1, 65))
    cv2.setRNGSeed(int(rng.integers(1 << 30)))
    cv2.grabCut(frame, labels, (0, 0, 1, 1), *models, int(rng.integers(1, 5)), cv2.GC_INIT_WITH_MASK)
    return (labels & 1) > 0


def watershed(view: View, rng: Rng) -> Mask | None:
    """Flooding from a click inside against a frame of markers round the object."""
    disk = disk_of(view.truth, rng, share=rng.uniform(0.3, 0.8))
    beyond = ~box_of(view.truth, rng, spare=rng.uniform(0.04, 0.15))
    if not beyond.any():
        return None
    markers = np.where(disk, 1, np.where(beyond, 2, 0)).astype(np.int32)
    cv2.watershed(np.asarray(cv2.GaussianBlur(view.frame, (0, 0), rng.uniform(0.8, 2.5)), np.uint8), markers)
    return np.asarray(cv2.dilate((markers == 1).view(np.uint8), np.ones((3, 3), np.uint8))) > 0


def segments(view: View, rng: Rng) -> Mask | None:
    """A union of segments that a scribble touches, a broad brush over the object meets, or that lie mostly in a box."""
    method: Any = import_module("skimage.segmentation")
    if rng.random() < 0.5:
        least = max(20, round(view.truth.size * rng.uniform(0.002, 0.015)))
        pieces = method.felzenszwalb(view.frame, scale=rng.uniform(100, 600), sigma=0.7, min_size=least)
    else:
        pieces = method.slic(view.frame, int(rng.integers(30, 120)), compactness=rng.uniform(5, 20), start_label=0)
    depth = regions.depth(view.truth, frame_is_outline=True)
    held, share = (
        (scribble_of(view.truth, rng), 0.01),
        (depth > rng.uniform(0.1, 0.4) * depth.max(), 0.3),
        (box_of(view.truth, rng), rng.uniform(0.6, 0.95)),
    )[int(rng.integers(3))]
    inside = np.bincount(pieces[held], minlength=pieces.max() + 1)
    return np.asarray((inside >= share * np.bincount(pieces.ravel()))[pieces], np.bool_)


def chan_vese(view: View, rng: Rng) -> Mask | None:
    """An active contour that starts as a box, few steps: of two mean values in and out, or drawn to edges."""
    method: Any = import_module("skimage.segmentation")
    start, lab = box_of(view.truth, rng, spare=0.02), view.lab()
    if start.all():
        return None
    # Along the line of colours on which the box differs most from what is round it. The steps are even in number, as
    # scikit-image smooths by two ways in turn and does not begin anew with a call.
    grey = lab @ ((lab[start].mean(axis=0) - lab[~start].mean(axis=0)) / (lab[~start].var(axis=0) + 0.001))
    if rng.random() < 0.5:
        found = method.morphological_chan_vese(grey, 2 * int(rng.integers(4, 16)), start, int(rng.integers(1, 4)))
        return np.asarray(found > 0) & (regions.reach(start) <= 6)
    grey /= max(float(np.ptp(grey)), 1e-6)
    slope = method.inverse_gaussian_gradient(grey, alpha=rng.uniform(100, 250), sigma=rng.uniform(1.0, 2.5))
    steps, threshold = 2 * int(rng.integers(10, 30)), rng.uniform(0.6, 0.75)
    found = method.morphological_geodesic_active_contour(slope, steps, start, threshold=threshold, balloon=-1)
    return np.asarray(found > 0)


def colour(view: View, rng: Rng) -> Mask | None:
    """Pixels of a box whose colour is nearer to a scribble's than to the surroundings', cleaned by opening."""
    within, hint = box_of(view.truth, rng, spare=0.03), scribble_of(view.truth, rng)
    if min(np.count_nonzero(hint), np.count_nonzero(~within)) < 16:
        return None
    lab = view.lab().astype(np.float32)
    cv2.setRNGSeed(int(rng.integers(1 << 30)))
    found = (_apart(lab, hint, int(rng.integers(2, 6))) < _apart(lab, ~within, int(rng.integers(4, 9)))) & within
    disk = np.asarray(cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (3, 3) if rng.random() < 0.5 else (5, 5)))
    found = np.asarray(cv2.morphologyEx(found.view(np.uint8), cv2.MORPH_OPEN, disk)) > 0
    if rng.random() < 0.5:
        found = touching(found, hint)
    return found | regions.holes(found) if rng.random() < 0.5 else found


def _apart(lab: NDArray[np.float32], mask: Mask, count: int) -> NDArray[np.float32]:
    """Each pixel's squared distance from the nearest of the k-means colours under a mask."""
    stop, labels = (cv2.TERM_CRITERIA_MAX_ITER, 20, 0.0), np.zeros((int(mask.sum()), 1), np.int32)
    centres = np.asarray(cv2.kmeans(lab[mask], count, labels, stop, 1, cv2.KMEANS_PP_CENTERS)[2])
    return np.asarray(np.min([np.square(lab - one).sum(axis=2) for one in centres], axis=0), np.float32)


_MAKERS = (grabcut_click, grabcut_box, watershed, segments, chan_vese, colour)
FAMILIES: Final = {maker.__name__.replace("_", "-"): maker for maker in _MAKERS}
"""What can be made of one picture; ``flow`` needs a sequence."""


def made(view: View, family: str, rng: Rng) -> Mask | None:
    """One mask of the object of a whole picture, in its size; None where the prompts leave nothing to work on."""
    x0, y0, x1, y1 = boxes.box_of(view.truth) or (0, 0, 1, 1)
    margin = round(max(16, rng.uniform(0.25, 0.9) * max(x1 - x0, y1 - y0)))
    at = boxes.window(boxes.grown((x0, y0, x1, y1), margin, (view.truth.shape[0], view.truth.shape[1])))
    truth = shrunk(view.truth[at].view(np.uint8), SIDE_PX) > 0
    if not truth.any() or min(truth.shape) < 16:
        return None
    found = FAMILIES[family](View(frame=shrunk(view.frame[at], SIDE_PX), truth=truth), rng)
    if found is None:
        return None
    whole = np.zeros_like(view.truth)
    whole[at] = resized(found, whole[at].shape)
    return whole


def carried(frames: Sequence[Frame], first: Mask, rng: Rng) -> Mask:
    """The object in the first of some frames, carried to the last by optical flow, step by step."""
    search = cv2.DISOpticalFlow.create(int(rng.integers(3)))  # ultrafast, fast, medium
    greys = [np.asarray(cv2.cvtColor(shrunk(one, FLOW_PX), cv2.COLOR_RGB2GRAY), np.uint8) for one in frames]
    now = resized(first, greys[0].shape).astype(np.float32)
    for before, after in pairwise(greys):
        now = moved(now, np.asarray(search.calc(after, before, np.zeros((*after.shape, 2), np.float32)), np.float32))
    return resized(now >= 0.5, first.shape)


def flow(picture: Picture, film: Sequence[Picture], rng: Rng, *, gap: tuple[int, int]) -> Mask | None:
    """The outline in a frame of a sequence ``gap`` frames earlier, carried to this one; None at its start."""
    now = number_of(picture)
    early = [one for one in film if gap[0] <= now - number_of(one) <= gap[1] and len(one.objects) == 1]
    if not early:
        return None
    first = early[int(rng.integers(len(early)))]
    between = [one.frame() for one in film if number_of(first) <= number_of(one) <= now]
    return carried(between, first.masks()[0], rng)


def number_of(picture: Picture) -> int:
    """A video frame's number in its sequence, from its name: a sequence may lack frames."""
    return int(re.findall(r"\d+", picture.path.stem)[-1])


def row_of(mask: Mask | None, truth: Mask) -> Row | None:
    """A mask and how good it is; None for one that is too small, all wrong, or as good as the truth."""
    if mask is None or np.count_nonzero(mask) < LEAST_MASK_PX:
        return None
    both, either = counts(mask, truth)
    if not LEAST_IOU <= both / either <= MOST_IOU:
        return None
    shares = {"iou": both / either, "precision": both / int(mask.sum()), "recall": both / int(truth.sum())}
    return {"rle": encode(mask)} | {name: round(share, 4) for name, share in shares.items()}


def rows_of(picture: Picture, film: Sequence[Picture], *, name: str, seed: int) -> Iterator[Row]:
    """Masks of one picture, in an order by lot; ``film`` is its sequence, empty for a photograph."""
    frame, truths, order = picture.frame(), picture.masks(), generator(seed, "order", name)
    large = order.permutation([at for at, one in enumerate(truths) if one.sum() >= LEAST_PX and not one.all()])
    still = [(family, (0, 0)) for family in order.permutation(list(FAMILIES)).tolist()]
    families = [("flow", gap) for gap in GAPS if film] + still
    head = {"picture": name, "cluster": picture.cluster, "source": picture.source, "part": picture.part}
    for place, (family, gap) in enumerate(families):
        for target in np.roll(large, -place)[:TRIES].tolist():
            rng, view = generator(seed, name, target, family, *gap), View(frame=frame, truth=truths[target])
            mask = flow(picture, film, rng, gap=gap) if family == "flow" else made(view, family, rng)
            if row := row_of(mask, view.truth):
                yield head | {"target": target, "family": family} | row
                break


def all_rows(pictures: Sequence[Picture], data: Path, *, seed: int) -> list[Row]:
    """Masks of pictures, these in an order by lot; one that is broken costs itself and is said on stderr."""
    films: dict[str, list[Picture]] = {}
    for one in sorted((one for one in pictures if one.source == "davis"), key=number_of):
        films.setdefault(one.cluster, []).append(one)
    used = [one for one in pictures if one.source != "davis" or number_of(one) % EVERY == 0]
    names = {one.path.relative_to(data).as_posix(): one for one in used}
    found: list[Row] = []
    held, broken = Counter[tuple[str, str]](), 0
    for name in sorted(names, key=lambda name: float(generator(seed, name).random())):
        try:
            rows = rows_of(names[name], films.get(names[name].cluster, ()), name=name, seed=seed)
            new = list(islice((row for row in rows if held[row["part"], row["family"]] < MOST), PER_PICTURE))
        except (AuscultError, cv2.error) as error:
            broken += 1
            print(f"{name}: {error}", file=sys.stderr)
            continue
        held.update((row["part"], row["family"]) for row in new)
        found += new
    print(f"{broken} of {len(names)} pictures are broken", file=sys.stderr)
    return sorted(found, key=lambda row: (row["part"], row["picture"], row["target"], row["family"]))


def write_items(found: Sequence[Row], folder: Path, *, data: Path, seed: int) -> None:
    """Write an input of `auscult audit` with frames and masks alone, and in another file the truth of its ids."""
    folder.mkdir(parents=True, exist_ok=True)
    home, pictures = folder.resolve(), data.resolve()
    mixed = [found[at] for at in generator(seed, "items").permutation(len(found))]
    with (folder / "items.jsonl").open("w", encoding="utf-8") as file:
        for at, row in enumerate(mixed):
            frame = Path(os.path.relpath(pictures / row["picture"], home)).as_posix()
            file.write(json.dumps({"id": f"m{at:05d}", "frame": frame, "mask": row["rle"]}) + "\n")
    truth = {f"m{at:05d}": {key: row[key] for key in ("iou", "family", "cluster")} for at, row in enumerate(mixed)}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    print(f"auscult audit {folder} --root {os.path.commonpath([home, pictures])} --alone --out FOLDER", file=sys.stderr)


def table(found: Sequence[Row]) -> str:
    """How many masks there are of each family and part, of how many clusters, and how good they are."""
    lines = [f"{'family':14} {'part':12} {'masks':>6} {'clusters':>8} {'mean IoU':>8} {'IoU >= .8':>9}"]
    for family, part in sorted({(row["family"], row["part"]) for row in found}):
        own = [row for row in found if (row["family"], row["part"]) == (family, part)]
        ious = np.array([row["iou"] for row in own])
        clusters = len({row["cluster"] for row in own})
        lines.append(f"{family:14} {part:12} {len(own):6} {clusters:8} {ious.mean():8.3f} {(ious >= 0.8).mean():9.3f}")
    return "\n".join(lines)


def main() -> None:
    """Make the masks, write them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", action="append", choices=PARTS, help="may be given more than once")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--items", type=Path, help="a folder for an input of `auscult audit`")
    given = parser.parse_args()
    cv2.setNumThreads(1)
    material = read_material(given.data, families=())
    for path, reason in material.lost:
        print(f"{path}: {reason}", file=sys.stderr)
    found = all_rows(material.of(*(given.part or ("test", "unseen"))), given.data, seed=given.seed)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))
    if given.items:
        write_items(found, given.items, data=given.data, seed=given.seed)
    print(table(found))


if __name__ == "__main__":
    main()
