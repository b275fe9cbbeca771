"""``auscult demo``: the main job on photographs that scikit-image ships, with nothing to download.

The outlines in ``demo_photos.json`` were drawn by hand for this purpose. ``demo_masks.json`` has masks that DeepLab v3
drew of the objects' boxes, with its mistakes; GrabCut from a box gives one more candidate per object, and the stressors
those whose defect is known. All are kept in ``input/`` of the output folder as an INPUT like any other, which is then
audited.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import util
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from auscult.arrays.boxes import grown, window
from auscult.errors import InputError, Mismatch, UsageError
from auscult.jobs.audit import audit_folder
from auscult.jobs.options import DIFFICULTIES, AuditOptions, DemoOptions, RunOptions
from auscult.jobs.runner import (
    ERRORS,
    FrameGroup,
    Progress,
    Result,
    ResultWriter,
    Silent,
    Verb,
    frame_groups,
)
from auscult.jobs.stress import ITEMS, TARGETS, Stresser
from auscult.media.frames import frame_size, read_frame
from auscult.media.masks import encode_mask, rasterize
from auscult.media.paths import safe_name
from auscult.media.rle import decode, encode
from auscult.models.classical.grabcut import MODEL
from auscult.record.digest import digest_json
from auscult.record.folder import INPUT, MANIFEST, require_own_folder
from auscult.record.manifest import build
from auscult.record.reader import read_run
from auscult.record.schema import Summary
from auscult.report.facts import ACTION_WORDS, action_key, interval, number
from auscult.report.tables import Table
from auscult.shipped import read_shipped
from auscult.types import DEFECTS, Box, Frame, Item, Mask, MaskRef, Query

OUTLINES = "demo_photos.json"
MASKS = "demo_masks.json"
GRABCUT = "grabcut"
DEEPLAB = ("deeplab_close", "deeplab_wide")
DRAWN = (*DEEPLAB, GRABCUT)
"""Candidates that a model or a segmenter drew."""
# One merge and one wrong object each: with all of them those two would make up half of the demonstration.
STRESSED = frozenset(
    {
        "perfect",
        "merge_1",
        "full_neg_1",
        *(f"{kind}_{grade}" for kind in ("cutout", "dilate", "erode") for grade in DIFFICULTIES),
    }
)

_TIMEOUT_S = 120.0
_SURROUNDINGS = 0.3  # of the box's longer side: what GrabCut learns the background from
_HINT = "install the extra `demo`: `make demo` does, or pip install '.[demo]' in a clone"


def run_demo(options: DemoOptions, progress: Progress | None = None) -> Summary:
    """Make candidate masks of real photographs in ``input/`` of the output folder, and audit them."""
    listener = progress or Silent()
    photos = load_photos()
    items = targets(photos, photo_folder(photos))
    out, workers, overwrite = options.out, options.n_workers, options.overwrite
    _check_free(out, overwrite=overwrite)
    candidates = RunOptions(out=out / INPUT, workers=workers, timeout_s=_TIMEOUT_S, overwrite=overwrite)
    Candidates(candidates, items, seed=options.seed, outlines=digest_json([photos, load_masks()])).run(listener)
    return audit_folder(AuditOptions(source=out / INPUT, out=out, workers=workers, overwrite=overwrite), listener)


def load_photos() -> list[dict[str, Any]]:
    """The photographs; their objects, the foremost first, have ``box`` (xyxy) and ``outline``, polygons in pixels."""
    photos: list[dict[str, Any]] = read_shipped(f"jobs/{OUTLINES}")["photos"]
    return photos


def load_masks() -> dict[str, dict[str, Any]]:
    """DeepLab's masks as COCO RLE, by object and by how much it saw round the object's box; `studies/demo_masks.py`."""
    return read_shipped(f"jobs/{MASKS}")


def worst_drawn(out: Path, *, most: int = 10) -> Table:
    """The masks that DeepLab and GrabCut drew and the judge thinks least of, with the truth that it did not see."""
    read = read_run(out)
    truths = {row["id"]: row["iou"] for row in read.truths()}
    drawn = sorted(
        (verdict for verdict, _ in read.verdicts if verdict.id.rpartition("/")[2] in DRAWN and verdict.iou is not None),
        key=lambda verdict: (verdict.iou, verdict.id),
    )
    rows = tuple(
        (
            verdict.id,
            ACTION_WORDS[action_key(verdict.action)],
            verdict.defect or "",
            f"{number(verdict.iou)} {interval(verdict.iou_low, verdict.iou_high)}".strip(),
            number(truths[verdict.id]),
        )
        for verdict in drawn[:most]
    )
    rest = [truths[verdict.id] for verdict in drawn[most:]]
    return Table(
        title=f"The worst {len(rows)} of {len(drawn)} masks that DeepLab v3 and GrabCut drew",
        header=("id", "action", "defect", "estimated IoU", "true IoU"),
        rows=rows,
        note=f"In the judge's order; it saw no truth. The mean true IoU of the other {len(rest)} is {fmean(rest):.2f}.",
    )


def photo_folder(photos: Sequence[Mapping[str, Any]]) -> Path:
    """Find the photographs inside the installed scikit-image, without importing it."""
    spec = util.find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise UsageError(
            "the demonstration needs the photographs of scikit-image, which is not installed",
            expected="the extra `demo`",
            hint=_HINT,
        )
    folder = Path(spec.submodule_search_locations[0]) / "data"
    for photo in photos:
        _check_photo(folder / photo["file"], tuple(photo["size"]))
    return folder


def _check_photo(path: Path, size: tuple[int, ...]) -> None:
    try:
        actual: tuple[int, ...] = frame_size(path)
    except InputError as error:
        raise UsageError(
            f"the installed scikit-image lacks a photograph: {error.message}",
            path=path,
            expected="scikit-image 0.25 or newer",
            hint=_HINT,
        ) from error
    if actual != size:
        raise UsageError(
            f"the installed scikit-image has a photograph of {actual[0]} x {actual[1]} pixels",
            path=path,
            expected=f"the one that was outlined, {size[0]} x {size[1]}",
            hint=_HINT,
        )


def true_masks(photo: Mapping[str, Any]) -> dict[str, Mask]:
    """Visible parts of a photograph's objects by name, bool (H, W): an object hides what lies behind it."""
    size = (photo["size"][0], photo["size"][1])
    hidden = np.zeros(size, np.bool_)
    masks = {}
    for obj in photo["objects"]:
        masks[obj["name"]] = rasterize(obj["outline"], size=size) & ~hidden
        hidden |= masks[obj["name"]]
    return masks


def targets(photos: Sequence[Mapping[str, Any]], folder: Path) -> list[Item]:
    """The outlined objects as items whose mask is the true one; ``extra`` has the box for GrabCut."""
    items: list[Item] = []
    for photo in photos:
        masks = true_masks(photo)
        frame = folder / photo["file"]
        items.extend(
            Item(
                id=f"{frame.stem}/{obj['name']}",
                frame=frame,
                mask=MaskRef(segmentation=encode(masks[obj["name"]])),
                query=Query(obj["text"]),
                clip=frame.stem,
                extra={"box": obj["box"]},
            )
            for obj in photo["objects"]
        )
    return items


@dataclass(frozen=True, slots=True)
class CandidateMaker:
    """Makes the candidates of the objects of one photograph; made once in each worker process."""

    stresser: Stresser

    def __call__(self, group: FrameGroup) -> list[Result]:
        """Segment and stress the wanted objects."""
        boxes = {item.id: item.extra["box"] for item in group.items}
        frame = read_frame(group.items[0].frame)
        return [
            result if result.errors else _with_drawn(_shortened(result), frame, boxes[result.id])
            for result in self.stresser(group)
        ]


def _shortened(result: Result) -> Result:
    """The variants that the demonstration shows, and only their files."""
    items = [row for row in result.rows[ITEMS] if row["id"].rpartition("/")[2] in STRESSED]
    paths = {row["mask"] for row in items} | {row["truth"]["mask"] for row in items}
    files = {name: data for name, data in result.files.items() if name in paths}
    return replace(result, rows={**result.rows, ITEMS: items}, files=files)


def _with_drawn(result: Result, frame: Frame, box: Sequence[int]) -> Result:
    """Put DeepLab's and GrabCut's candidates first; their truth is the mask alone, since their defect is not known."""
    items = result.rows[ITEMS]
    shared = {key: items[0][key] for key in ("id", "frame", "mask", "text", "clip")}
    masks = {name: decode(rle) for name, rle in load_masks()[result.id].items()}
    masks[GRABCUT] = segmented(frame, (box[0], box[1], box[2], box[3]))
    files = {f"masks/{safe_name(result.id)}/{name}.png": encode_mask(mask) for name, mask in masks.items()}
    rows = [
        {**shared, "id": f"{result.id}/{name}", "mask": path, "truth": {"mask": items[0]["truth"]["mask"]}}
        for name, path in zip(masks, files, strict=True)
    ]
    return replace(result, rows={**result.rows, ITEMS: [*rows, *items]}, files={**result.files, **files})


def segmented(frame: Frame, box: Box) -> Mask:
    """GrabCut around a box (xyxy, half-open), bool (H, W): the background is learned near the box only."""
    height, width = frame.shape[:2]
    margin = round(_SURROUNDINGS * max(box[2] - box[0], box[3] - box[1]))
    around = grown(box, margin, (height, width))
    x0, y0 = around[:2]
    mask = np.zeros((height, width), np.bool_)
    mask[window(around)] = MODEL(frame[window(around)], (box[0] - x0, box[1] - y0, box[2] - x0, box[3] - y0))
    return mask


class Candidates(Verb[FrameGroup, None]):
    """The candidate masks, as the runner sees them."""

    doing = "making candidates"
    stage = "stress"
    once = (ITEMS,)

    def __init__(self, options: RunOptions, items: Sequence[Item], *, seed: int, outlines: str) -> None:
        super().__init__(options)
        self._items = items
        self._seed = seed
        self._outlines = outlines

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        return build("demo", given={}, defaulted={}, seeds={"seed": self._seed}, inputs={"outlines": self._outlines})

    def worker(self) -> partial[CandidateMaker]:
        """Makes the function of one photograph in a worker process."""
        folder = self._items[0].frame.parent
        stresser = Stresser(source=folder, seed=self._seed, kinds=DEFECTS, difficulties=DIFFICULTIES)
        return partial(CandidateMaker, stresser)

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[FrameGroup], float | None]]:
        """The photographs of which candidates are still to be made."""
        done = {row["id"] for row in writer.run.lines(TARGETS)}
        writer.progress.stage(self.doing, len(self._items))
        writer.progress.step(len(done))
        yield frame_groups(self._items, done=done), self.options.timeout_s

    def finish(self, writer: ResultWriter) -> None:
        """Insist that all candidates could be made."""
        ids = {row["id"] for row in writer.run.lines(TARGETS)}
        for row in writer.run.lines(ERRORS):
            if row["id"] not in ids:
                raise UsageError(
                    f"the candidates of {row['id']} could not be made: {row['error']}",
                    path=row["path"],
                    hint="the same command again tries once more; `auscult doctor` says what is wrong here",
                )
        writer.run.finish()


def _check_free(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder with other content before anything is written."""
    if not out.is_dir():
        return
    require_own_folder(out)
    if not overwrite and (out / MANIFEST).exists() and not (out / INPUT / MANIFEST).exists():
        raise Mismatch(
            "the folder holds a run that is no demonstration",
            path=out,
            hint="use another --out, or --overwrite to replace it",
        )
