"""Measure `auscult act repair` on test pictures, beside no repair, blind repair, another judge and an oracle.

    python studies/repair_results.py --data DATA --out OUT [--part confused,video] [--scenes-seed 91500]

Everything lies under OUT and is gone on with: INPUTs, records of audits, records of repairs, and `results.md`. The
margins of the attempts were chosen on pictures of the parts dev and calibration; here are those of test and unseen, of
which docs/repair.md says what was known when the rules were made.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import cv2
import numpy as np

from auscult.act.policy import DEFAULT, decide
from auscult.act.repair import ATTEMPTS, Tools, geometric, repair
from auscult.arrays.overlap import iou
from auscult.cases.listing import list_items
from auscult.jobs.act import beside
from auscult.jobs.against_truth import clusters_of
from auscult.jobs.audit import audit_folder
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.make import make_scenes
from auscult.jobs.options import AuditOptions, MakeOptions, RepairOptions, StressOptions
from auscult.jobs.repair import repair_record
from auscult.jobs.stress import stress_masks
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.masks import encode_mask, read_mask
from auscult.media.paths import safe_name
from auscult.media.rle import decode
from auscult.models.classical.grabcut import graph_cut
from auscult.record.lines import read_lines
from auscult.report.overlay import compared
from auscult.rng import generator
from auscult.score.stats.intervals import Interval, bootstrap_interval
from auscult.train.prompted.material import FAMILIES, Picture, read_material
from auscult.types import Evidence, Frame, Item, Mask, Verdict

VIDEO: Final = ("osvos", "rvos")
_EVERY: Final = 4  # of the frames of a sequence
_LEAST_PX: Final = 32 * 32
_WORSE: Final = 0.005
PARTS: Final = ("coco", "davis", "video", "real", "confused")
_SCENES, _AT_S = 60, 3.0
_MOST_BLIND: Final = 250
_SHOWN: Final = (240, 135)  # width and height of a picture, px


def targets(pictures: Iterable[Picture], folder: Path) -> None:
    """True masks of pictures as an INPUT of frames and masks."""
    for picture in pictures:
        name = f"{picture.cluster}_{picture.path.stem}" if picture.source == "davis" else picture.path.stem
        masks = [mask for mask in picture.masks() if mask.sum() >= _LEAST_PX]
        for number, mask in enumerate(masks):
            own = f"{name}.png" if picture.source == "davis" else f"{name}/{number}.png"
            write(folder / "masks" / own, encode_mask(mask))
        if masks:
            write(folder / "frames" / f"{name}{picture.path.suffix}", picture.path.read_bytes())


def real_masks(pictures: Iterable[Picture], families: Iterable[str], folder: Path, *, most: int) -> None:
    """Masks that models drew, as lines with truth; at most ``most`` of a picture, drawn at random."""
    rows, wanted = [], frozenset(families)
    for picture in pictures:
        drawn = [one for one in picture.real if one.family in wanted]
        order = generator(0, "repair", picture.cluster, picture.path.name).permutation(len(drawn))
        for number in order[:most]:
            one = drawn[number]
            frame = f"frames/{picture.cluster}__{picture.path.name}"
            write(folder / frame, picture.path.read_bytes())
            row: dict[str, Any] = {"id": f"{picture.cluster}/{picture.path.stem}/{one.family}_{number}"}
            row |= {"frame": frame, "mask": dict(one.rle), "truth": {"mask": dict(picture.objects[one.target])}}
            if picture.source == "davis":
                row |= {"clip": picture.cluster, "time_s": float(picture.order)}
            rows.append(row)
    write(folder / "items.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode())


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def make_inputs(data: Path, out: Path, parts: Sequence[str]) -> list[str]:
    """The INPUTs of photographs and sequences that are asked for, each made once."""
    material = read_material(data, families=FAMILIES)
    test, unseen = material.of("test"), material.of("unseen")
    makers: Mapping[str, Callable[[Path], object]] = {
        "coco": partial(targets, [one for one in test if one.source == "coco"]),
        "davis": partial(targets, [one for one in test if one.source == "davis" and one.order % _EVERY == 0]),
        "video": partial(real_masks, [*test, *unseen], VIDEO, most=2),
        "real": partial(real_masks, [*test, *unseen], [name for name in FAMILIES if name not in VIDEO], most=1),
    }
    chosen = [name for name in makers if name in parts]
    for name in chosen:
        if not (out / name).exists():
            makers[name](out / f"{name}.part")
            shutil.move(out / f"{name}.part", out / name)
        if name in {"coco", "davis"}:
            stress_masks(StressOptions(source=out / name, out=out / f"{name}-stressed"))
    return [f"{name}-stressed" if name in {"coco", "davis"} else name for name in chosen]


def changes(out: Path, name: str, judge: str) -> dict[str, float]:
    """Audit and repair with a judge: the change of the true IoU by item."""
    record = out / f"{name}-{judge}"
    audit_folder(AuditOptions(source=out / name, out=record, judge=judge, alone=True))
    repair_record(RepairOptions(folder=record))
    return changed(beside(record, "repaired"))


def changed(repaired: Path) -> dict[str, float]:
    rows = read_lines(repaired / "before_after.jsonl")
    return {str(row["id"]): row["after"][0] - row["before"][0] for row in rows}


def confused(out: Path, seed: int) -> Iterator[str]:
    """A segmenter that draws another object half of the time, over scenes: an identity check, and what draws anew."""
    scenes, again = out / "scenes", out / "scenes-again"
    make_scenes(MakeOptions(out=scenes, count=_SCENES, seed=seed, expressions=3))
    lines = list(read_lines(scenes / "items.jsonl"))
    chosen = [row for row in lines if row["time_s"] == _AT_S and row.get("text")]
    rows = []
    for row in {row["id"]: row for row in chosen}.values():
        others = [one["mask"] for one in lines if one["frame"] == row["frame"] and thing(one) != thing(row)]
        masks = [drawn(row, others, key) for key in ("first", "again")]
        rows.append(row | {"mask": masks[0], "truth": {"mask": row["mask"]}})
        write(again / "clean" / row["id"] / f"{Path(row['frame']).stem}.png", (scenes / masks[1]).read_bytes())
    write(scenes / "confused.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows).encode())
    clusters = {row["id"]: row["clip"] for row in rows}
    wrong = sum(row["mask"] != row["truth"]["mask"] for row in rows)
    yield f"\n### A confused segmenter: {len(rows)} masks of {_SCENES} scenes (seed {seed}), {wrong} of another object\n"
    yield "| identity check | drawn anew by | change of IoU, 95 % | changed, % | made worse, % |\n|---|---|---|---|---|"
    models = ("lexicon", "refsegformer-small", f"predictions:{again}")
    for identity, model in [*(("scenes", model) for model in models), (None, models[-1])]:
        record = out / f"confused-{identity}"
        audit_folder(AuditOptions(source=scenes / "confused.jsonl", out=record, alone=True, identity=identity))
        name = "the same segmenter, asked again" if model == models[-1] else f"`{model}`"
        repaired = out / f"{record.name}-{safe_name(model.partition(':')[0])}"
        repair_record(RepairOptions(folder=record, model=model, out=repaired))
        check = "none" if identity is None else f"`{identity}`"
        yield row_of(f"{check} | {name}", changed(repaired), clusters)


def thing(row: Mapping[str, Any]) -> str:
    return str(row["scene"]["object"])


def drawn(row: Mapping[str, Any], others: Sequence[str], key: str) -> str:
    """The mask of the object that is meant, or half of the time of another one of the frame."""
    rng = generator(0, "confused", key, row["id"])
    return others[int(rng.integers(len(others)))] if others and rng.random() < 0.5 else str(row["mask"])


def knowing(item: Item, truth: Mask) -> Callable[[Sequence[Mask]], list[Verdict]]:
    """The judge that knows the truth, for the ceiling."""

    def judge(masks: Sequence[Mask]) -> list[Verdict]:
        found = []
        for mask in masks:
            known = iou(mask, truth)
            verdict = Verdict(
                id=item.id, iou=known, iou_low=known, iou_high=known, defect="perfect", defect_probs={},
                evidence=Evidence(), rationale="", judge="oracle",
            )  # fmt: skip
            found.append(decide(verdict, DEFAULT))
        return found

    return judge


def without_judge(out: Path, name: str) -> dict[str, dict[str, float]]:
    """By row the change by item: each attempt on every mask, blindly, and the best of all by the truth.

    Of long INPUTs masks that lie evenly apart are taken.
    """
    path = out / f"{name}-without.json"
    if path.exists():
        return json.loads(path.read_text())  # type: ignore[no-any-return]
    every = tuple(replace(attempt, suits=("erode",), margin=0.0) for attempt in ATTEMPTS)
    found: dict[str, dict[str, float]] = {"oracle": {}}
    items = list_items(out / name).items
    chosen = items[:: max(1, len(items) // _MOST_BLIND)]
    for frame_file, group in groupby(chosen, key=lambda item: item.frame):
        frame = read_frame(frame_file)
        for item in group:
            if item.truth is None or item.truth.mask is None:
                continue
            size = (frame.shape[0], frame.shape[1])
            mask, truth = read_mask(item.mask, size=size).mask, read_mask(item.truth.mask, size=size).mask
            judge = knowing(item, truth)
            tools = Tools(judge=judge, cut=partial(graph_cut, rounds=2), attempts=every)
            said = replace(judge([mask])[0], defect="erode")
            blind = {one.attempt: one.mask for one in geometric(frame, mask, said, tools=tools)}
            before = iou(mask, truth)
            for attempt in ATTEMPTS:
                after = blind.get(attempt.name)
                found.setdefault(attempt.name, {})[item.id] = 0.0 if after is None else iou(after, truth) - before
            kept = repair(frame, mask, replace(said, action="major_revision"), tools=tools).kept
            gain = 0.0 if kept is None or kept.mask is None else iou(kept.mask, truth) - before
            found["oracle"][item.id] = gain
    path.write_text(json.dumps(found))
    return found


def row_of(name: str, by_id: Mapping[str, float], clusters: Mapping[str, Any]) -> str:
    """Mean change with its interval over whole photographs or clips, share changed and made worse."""
    groups: dict[Any, list[float]] = {}
    for key, change in by_id.items():
        groups.setdefault(clusters[key], []).append(change)
    found = bootstrap_interval(fmean, list(groups.values()), rng=generator(0, "repair", "results"))
    span = f"[{found.low:+.3f}, {found.high:+.3f}]" if isinstance(found, Interval) else ""
    values = list(by_id.values())
    changed, worse = (sum(test) / len(values) for test in (map(bool, values), (one < -_WORSE for one in values)))
    return f"| {name} | {fmean(values):+.3f} {span} | {100 * changed:.1f} | {100 * worse:.1f} |"


def tables(out: Path, name: str) -> Iterator[str]:
    """The rows of one INPUT, and the change by true defect or model."""
    listing = list_items(out / name)
    clusters = clusters_of(listing.items, films=filmed(listing))
    if name.startswith("davis"):  # frames side by side, named after their sequences
        clusters = {item.id: item.frame.stem.rsplit("_", 1)[0] for item in listing.items}
    by_judge = {judge: changes(out, name, judge) for judge in ("prompted", "cues")}
    none = dict.fromkeys(by_judge["prompted"], 0.0)
    before = {row["id"]: row["before"][0] for row in read_lines(out / f"{name}-prompted-repaired/before_after.jsonl")}
    yield f"\n### {name}: {len(none)} masks, {len(set(clusters.values()))} photographs or clips\n"
    yield f"Mean IoU before: {fmean(before.values()):.3f}.\n"
    yield "| row | change of IoU, 95 % | changed, % | made worse, % |\n|---|---|---|---|"
    yield row_of("no repair", none, clusters)
    for judge, found in by_judge.items():
        yield row_of(f"judge `{judge}`", found, clusters)
    without = without_judge(out, name)
    yield f"| of {len(without['oracle'])} masks, without a judge: | | | |"
    for key, found in without.items():
        yield row_of("oracle (ceiling)" if key == "oracle" else f"`{key}` on every mask, blindly", found, clusters)
    kinds: dict[str, list[str]] = {}
    for item in listing.items:
        defect = item.truth.defect if item.truth is not None else None
        kinds.setdefault(defect or item.id.rsplit("/", 1)[-1].partition("_")[0], []).append(item.id)
    yield "\n| masks | n | IoU before | change with `prompted` | made worse, % |\n|---|---|---|---|---|"
    for kind, ids in sorted(kinds.items()):
        values = [by_judge["prompted"][key] for key in ids if key in before]
        worse = 100 * fmean(value < -_WORSE for value in values)
        mean = fmean(before[key] for key in ids if key in before)
        yield f"| {kind} | {len(values)} | {mean:.3f} | {fmean(values):+.3f} | {worse:.1f} |"


def pictures(records: Sequence[tuple[Path, Path]], target: Path) -> None:
    """Before and after, two pairs of each attempt: its typical change, and its worst; INPUT and record of repairs."""
    found: dict[str, list[tuple[float, str, Item, Mask, str]]] = {}
    for source, repaired in records:
        items = {item.id: item for item in list_items(source).items}
        rows = {str(row["id"]): row for row in read_lines(repaired / "before_after.jsonl")}
        for row in read_lines(repaired / "repairs.jsonl"):
            for one in row["attempts"]:
                if one["kept"]:
                    (before, _), (after, _) = rows[row["id"]]["before"], rows[row["id"]]["after"]
                    text = f"{one['attempt']}: IoU {before:.2f} to {after:.2f}"
                    entry = after - before, row["id"], items[row["id"]], decode(one["segmentation"]), text
                    found.setdefault(one["attempt"], []).append(entry)
    strips = []
    for attempt in sorted(found):
        ranked = sorted(found[attempt], key=lambda entry: entry[:2])
        strips += [_pair(*entry[2:]) for entry in (ranked[len(ranked) // 2], ranked[0])]
    pairs = [np.hstack(strips[at : at + 2]) for at in range(0, len(strips), 2)]
    write(target, encode_jpeg(np.asarray(np.vstack(pairs), np.uint8), quality=70))


def _pair(item: Item, repaired: Mask, text: str) -> Frame:
    frame = read_frame(item.frame)
    size = (frame.shape[0], frame.shape[1])
    if item.truth is None or item.truth.mask is None:
        raise ValueError("no truth")
    masks = read_mask(item.mask, size=size).mask, repaired
    truth = read_mask(item.truth.mask, size=size).mask
    shown = np.hstack([compared(frame, mask, truth, size=_SHOWN) for mask in masks])
    strip = np.full((22, shown.shape[1], 3), 255, np.uint8)
    cv2.putText(strip, text, (6, 16), cv2.FONT_HERSHEY_SIMPLEX, 0.45, (0, 0, 0), 1, cv2.LINE_AA)
    return np.asarray(np.vstack([strip, shown]), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--scenes-seed", type=int, default=91_500)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    parts = options.part.split(",")
    inputs = make_inputs(options.data, options.out, parts) if parts != ["confused"] else []
    lines = [line for name in inputs for line in tables(options.out, name)]
    if "confused" in parts:
        lines += confused(options.out, options.scenes_seed)
        shown = options.out / "scenes/confused.jsonl", options.out / "confused-scenes-lexicon"
        pictures([shown], options.out / "repair.jpg")
    (options.out / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
