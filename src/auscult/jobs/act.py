"""``auscult act filter``: pick items of a record by action, if wanted after deciding again by another policy."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auscult.act.export import verdicts_csv
from auscult.act.filter import redecide, select
from auscult.act.policy import load_policy
from auscult.errors import OutputError, RecordError
from auscult.jobs.finish import coco_of, column, in_order
from auscult.jobs.options import FilterOptions
from auscult.media.paths import write_bytes
from auscult.record.reader import read_run
from auscult.report.facts import policy_of
from auscult.types import ACTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """What was picked.

    Attributes:
        ids: The items, in natural order.
        total: How many verdicts the record has.
        by_action: Actions of all verdicts, as decided now.
        policy: Name of the policy that decided.
        out: Where ``ids.txt``, ``verdicts.csv`` and ``coco.json`` are.
    """

    ids: tuple[str, ...]
    total: int
    by_action: dict[str, int]
    policy: str
    out: Path

    def as_json(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {
            "command": "act filter",
            "n": self.total,
            "kept": len(self.ids),
            "ids": list(self.ids),
            "by_action": self.by_action,
            "policy": self.policy,
            "out": str(self.out),
        }


def filter_record(options: FilterOptions) -> Filtered:
    """Pick items of a record and write them out; nothing is judged, no input file is opened.

    Raises:
        RecordError: The folder holds no record with verdicts, or the output folder holds other files.
        UsageError: An action, defect or policy does not exist.
        OutputError: The output folder cannot be written.
    """
    run = read_run(options.folder)
    rows = in_order(row for _, row in run.verdicts)
    if not rows:
        raise RecordError("the record holds no verdict", path=options.folder, expected="a record of `auscult audit`")
    policy = policy_of(run)
    if options.policy is not None:
        chosen = load_policy(options.policy)
        rows, policy = redecide(rows, chosen), chosen.name
    kept = select(rows, actions=options.actions, defects=options.defects, min_iou=options.min_iou)
    out = options.out or _beside(options.folder, options.actions)
    ids = tuple(str(row["id"]) for row in kept)
    segmentations = column(run.lines("masks.jsonl"), "segmentation", path=options.folder / "masks.jsonl")
    _write(
        out,
        {
            "ids.txt": "".join(f"{name}\n" for name in ids),
            "verdicts.csv": verdicts_csv(kept),
            "coco.json": json.dumps(coco_of(kept, segmentations), ensure_ascii=False, allow_nan=False),
        },
    )
    counts = Counter(str(row["action"]) for row in rows)
    return Filtered(
        ids=ids, total=len(rows), by_action={name: counts[name] for name in ACTIONS}, policy=policy, out=out
    )


def _beside(folder: Path, actions: tuple[str, ...]) -> Path:
    named = folder if folder.name not in {"", ".."} else folder.resolve()
    return named.with_name(f"{named.name}-filter-{'-'.join(actions)}")


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        others = sorted(names - files.keys())
        if others:
            raise RecordError(
                f"the folder holds other files ({', '.join(others[:3])})",
                expected="a new or empty folder, or one of an earlier filter",
                hint="choose another --out",
                path=folder,
            )
        for name, text in files.items():
            write_bytes(folder / name, text.encode("utf-8"))
    except OSError as error:
        raise OutputError(
            f"cannot write: {error.strerror}", path=folder, hint="choose another folder with --out"
        ) from error
