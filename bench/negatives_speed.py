"""How many negative sentences a second `auscult stress negatives` makes, from annotation to files, and its memory."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from auscult.cases.listing import ListOptions
from auscult.jobs.negatives import stress_negatives
from auscult.jobs.options import NegativesOptions
from auscult.language.categories import coco_categories
from auscult.rng import generator
from bench.main_job import measure
from bench.table import Table

REFERENCES, PICTURES, OBJECTS, CORNERS = 10_000, 4_000, 8, 40
SIZE = (480, 640)
_BEFORE = ("", "left", "red", "the small", "a", "the white", "second")
_AFTER = ("", "on the left", "in blue", "next to the {}", "behind a {}", "sitting", "at the bottom")


def run() -> Table:
    """Measure 10,000 generated references on one core, then real photographs, then two sizes by their memory."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "refcoco"
        make_references(folder)
        rows.append(_timed("generated annotation, RefCOCO's form", folder, Path(name) / "out"))
        data = os.environ.get("AUSCULT_DATA")
        if data:
            coco = Path(data) / "images/coco"
            options = ListOptions(images=coco / "images")
            file, out = coco / "instances.json", Path(name) / "coco"
            rows.append(_timed("70 COCO photographs, colours", file, out, options=options))
        for split, count in (("few", REFERENCES // 10), ("", REFERENCES)):
            command = ["stress", "negatives", str(folder), "--workers", "1", "--per", "10"]
            command += ["--split", split] if split else []
            found = measure([*command, "--out", str(Path(name) / f"memory{split}")], workers=False)
            rows.append([f"the command, {count:,} of them", "", "", "", f"{found.peak_mb:.0f}"])
    return Table(
        "negative sentences",
        ["what", "references", "negatives", "per second", "largest process MB"],
        rows,
        f"one process, one thread; {PICTURES:,} pictures of {OBJECTS} objects with polygons of {CORNERS} corners; "
        "ten of a reference, five kinds, every file written; per second of processor time. Wanted: 2,000 per second, "
        "and memory that does not grow with the references.",
    )


def _timed(what: str, source: Path, out: Path, *, options: ListOptions | None = None) -> list[str]:
    listing = ListOptions() if options is None else options
    start = time.process_time()
    summary, _ = stress_negatives(
        NegativesOptions(source=source, out=out, workers=0, listing=listing, given=frozenset({"per"}))
    )
    took = time.process_time() - start
    made = 10 * summary.ok - summary.undefined
    return [what, f"{summary.n:,}", f"{made:,}", f"{made / took:,.0f}", ""]


def make_references(folder: Path) -> None:
    """Write refs and instances of RefCOCO's form: every picture's objects are drawn, and every sentence is made."""
    folder.mkdir(parents=True)
    names = coco_categories().names
    rng = generator(1, "bench", "negatives")
    annotations: list[dict[str, Any]] = []
    refs = []
    for picture in range(PICTURES):
        for _ in range(OBJECTS):
            x, y, r = (float(rng.uniform(60, side)) for side in (SIZE[1] - 60, SIZE[0] - 60, 61))
            turns = [2 * math.pi * at / CORNERS for at in range(CORNERS)]
            corners = [round(v, 2) for turn in turns for v in (x + r * math.cos(turn), y + r * math.sin(turn))]
            row = {"id": len(annotations) + 1, "image_id": picture, "category_id": int(rng.integers(80)) + 1}
            annotations.append({**row, "iscrowd": 0, "segmentation": [corners], "bbox": [x - r, y - r, 2 * r, 2 * r]})
    for number in range(REFERENCES):
        target = annotations[number * (PICTURES * OBJECTS) // REFERENCES]
        name = names[target["category_id"] - 1]
        sentences = []
        for at in range(3):
            before, after = _BEFORE[int(rng.integers(len(_BEFORE)))], _AFTER[int(rng.integers(len(_AFTER)))]
            text = f"{before} {name} {after.format(names[int(rng.integers(80))])}".strip()
            sentences.append({"sent_id": 3 * number + at, "raw": text, "sent": text, "tokens": text.split()})
        ref = {"ref_id": number, "ann_id": target["id"], "image_id": target["image_id"], "sentences": sentences}
        refs.append({**ref, "split": "few" if number % 10 == 0 else "many", "sent_ids": []})
    images = [{"id": at, "file_name": f"{at}.jpg", "height": SIZE[0], "width": SIZE[1]} for at in range(PICTURES)]
    categories = [{"id": at, "name": name} for at, name in enumerate(names, start=1)]
    whole = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(whole))
    (folder / "refs(bench).json").write_text(json.dumps(refs))
