"""Look at candidates: time, yield and IoU of each kind, and a contact sheet of them on training photographs.

python studies/candidates_sheet.py --data $AUSCULT_DATA --out /tmp/sheet.png [--kind wavy] [--objects 60]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from auscult.arrays import boxes
from auscult.media.frames import read_frame, write_frame
from auscult.media.masks import read_mask
from auscult.media.rle import decode
from auscult.rng import generator
from auscult.train.candidates.base import Candidate, CandidateScene
from auscult.train.candidates.mixture import candidates, mixture, of_kind, working
from auscult.train.material import LEAST_PX
from auscult.train.material import committed
from auscult.types import Frame, Mask, MaskRef

SIDE, CELL, ACROSS, PER_CALL, SEED, BEFORE = 320, 160, 10, 4, 1, 2
MISSING, EXTRA, OUTLINE = (40, 90, 255), (255, 60, 40), (255, 230, 0)


def main() -> int:
    """Print the numbers and write the sheet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--kind", action="append", help="only these kinds; may be given more than once")
    parser.add_argument("--objects", type=int, default=60)
    given = parser.parse_args()
    cv2.setNumThreads(1)
    scenes = list(crops(given.data, given.objects))
    kinds = given.kind or [kind for kind, _ in mixture()]
    rows = [row for kind in kinds if (row := _kind_row(kind, scenes)) is not None]
    if not given.kind:
        _mixture_numbers(scenes)
    if given.out and rows:
        write_frame(given.out, np.vstack(rows))
    return 0


def crops(data: Path, wanted: int) -> Iterator[CandidateScene]:
    """Objects of training photographs and sequences in crops of at most 320 px a side."""
    yield from list(_photographs(data, wanted - wanted // 4))
    yield from list(_video(data, wanted // 4))


def _photographs(data: Path, wanted: int) -> Iterator[CandidateScene]:
    value = json.loads((data / "images/coco/instances.json").read_text(encoding="utf-8"))
    names = {image["file_name"]: image["id"] for image in value["images"]}
    made = 0
    for name in committed()["coco"]["train"]:
        frame = read_frame(data / "images/coco/images" / name)
        known = [one for one in value["annotations"] if one["image_id"] == names[name] and not one["iscrowd"]]
        objects = [decode(one["rle"]) for one in known]
        for at, mask in enumerate(objects):
            if np.count_nonzero(mask) >= LEAST_PX and made < wanted:
                others = tuple(other for index, other in enumerate(objects) if index != at)
                yield _crop(CandidateScene(frame=frame, mask=mask, others=others))
                made += 1


def _video(data: Path, wanted: int) -> Iterator[CandidateScene]:
    names = committed()["davis"]["train"]
    each = max(1, -(-wanted // len(names)))
    for name in names:
        folder = data / "video/davis2016" / name
        paths = sorted((folder / "frames").glob("*.jpg"))
        for at in range(BEFORE, len(paths), max(1, len(paths) // each)):
            (frame, mask), before = (_shot(folder, paths[index]) for index in (at, at - BEFORE))
            if np.count_nonzero(mask) >= LEAST_PX:
                yield _crop(CandidateScene(frame=frame, mask=mask, before=before))


def _shot(folder: Path, path: Path) -> tuple[Frame, Mask]:
    return read_frame(path), read_mask(MaskRef(path=folder / "masks" / f"{path.stem}.png")).mask


def _crop(scene: CandidateScene) -> CandidateScene:
    box = boxes.box_of(scene.mask) or (0, 0, 1, 1)
    margin = max(16, int(0.35 * max(box[2] - box[0], box[3] - box[1])))
    window = boxes.window(boxes.grown(box, margin, (scene.mask.shape[0], scene.mask.shape[1])))
    scale = min(1.0, SIDE / max(scene.mask[window].shape))
    before = scene.before
    return CandidateScene(
        frame=_scaled(scene.frame[window], scale),
        mask=_scaled_mask(scene.mask[window], scale),
        others=tuple(small for other in scene.others if (small := _scaled_mask(other[window], scale)).any()),
        before=(_scaled(before[0][window], scale), _scaled_mask(before[1][window], scale)) if before else None,
    )


def _scaled(frame: Frame, scale: float) -> Frame:
    return np.asarray(cv2.resize(frame, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _scaled_mask(mask: Mask, scale: float) -> Mask:
    soft = np.asarray(cv2.resize(mask.astype(np.float32), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA))
    return np.asarray(soft >= 0.5)


def _kind_row(kind: str, scenes: list[CandidateScene]) -> Frame | None:
    """Print one kind's numbers; its row of the sheet."""
    shown: list[tuple[CandidateScene, Candidate]] = []
    spent, made, tried = 0.0, [], 0
    for index, scene in enumerate(scenes):
        rng = generator(SEED, "sheet", kind, index)
        start = time.process_time()
        work = working(scene)
        found = [of_kind(work, kind, rng) for _ in range(PER_CALL)]
        spent += time.process_time() - start
        tried += PER_CALL
        good = [candidate for candidate in found if candidate is not None]
        made += good
        if good:
            shown.append((scene, good[0]))
    named = ",".join(sorted({str(candidate.defect) for candidate in made}))
    cost = 1000 * spent / tried
    print(f"{kind:18} {cost:6.2f} ms {len(made) / tried:5.0%} made  {_quantiles(made)}  {named}")
    if not shown:
        return None
    step = max(1, len(shown) // ACROSS)
    cells = [_cell(scene, candidate) for scene, candidate in shown[::step][:ACROSS]]
    cells += [np.zeros((CELL, CELL, 3), np.uint8)] * (ACROSS - len(cells))
    return np.hstack(cells)


def _quantiles(made: list[Candidate]) -> str:
    if not made:
        return "no IoU"
    values = np.quantile([candidate.iou for candidate in made], (0.05, 0.25, 0.5, 0.75, 0.95))
    return "IoU " + " ".join(f"{value:.2f}" for value in values)


def _cell(scene: CandidateScene, candidate: Candidate) -> Frame:
    """The picture, what is missing blue, what is too much red, the candidate's outline yellow."""
    scale = CELL / max(scene.mask.shape)
    size = (max(1, round(scene.mask.shape[1] * scale)), max(1, round(scene.mask.shape[0] * scale)))
    small = np.asarray(cv2.resize(scene.frame, size, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    pair = [cv2.resize(mask.view(np.uint8), size, interpolation=cv2.INTER_NEAREST) for mask in _both(scene, candidate)]
    truth, mask = (np.asarray(one).astype(np.bool_) for one in pair)
    for where, colour in ((truth & ~mask, MISSING), (mask & ~truth, EXTRA)):
        small[where] = (0.45 * small[where] + 0.55 * np.array(colour)).astype(np.uint8)
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(small, outlines, -1, OUTLINE, 1)
    cv2.putText(small, f"{candidate.kind[:13]} {candidate.iou:.2f}", (2, 10), 0, 0.34, (255, 255, 255), 1)
    cell = np.zeros((CELL, CELL, 3), np.uint8)
    cell[: size[1], : size[0]] = small
    return cell


def _both(scene: CandidateScene, candidate: Candidate) -> tuple[Mask, Mask]:
    return np.ascontiguousarray(scene.mask), np.ascontiguousarray(candidate.mask)


def _mixture_numbers(scenes: list[CandidateScene]) -> None:
    """The whole mixture: time, types, and the distribution of the IoU."""
    start = time.process_time()
    made = [
        candidate
        for index, scene in enumerate(scenes)
        for candidate in candidates(scene, generator(SEED, "mixed", index), PER_CALL)
    ]
    spent = time.process_time() - start
    print(f"\nmixture: {1000 * spent / len(made):.2f} ms a candidate, {len(made)} candidates, {PER_CALL} a call")
    types: dict[str, int] = {}
    for candidate in made:
        types[str(candidate.defect)] = types.get(str(candidate.defect), 0) + 1
    print("types:", ", ".join(f"{name} {count / len(made):.1%}" for name, count in sorted(types.items())))
    edges: NDArray[np.float64] = np.linspace(0.0, 1.0, 21)
    histogram, _ = np.histogram([min(candidate.iou, 1 - 1e-9) for candidate in made], edges)
    for low, count in zip(edges, histogram, strict=False):
        print(f"  IoU {low:.2f}  {count / len(made):6.1%}  {'#' * round(120 * count / len(made))}")


if __name__ == "__main__":
    sys.exit(main())
