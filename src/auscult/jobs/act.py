"""``auscult act filter``: pick items of a record by action, if wanted after deciding again by another policy."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from auscult.act.export.verdicts import verdicts_csv
from auscult.act.filter import redecide, select
from auscult.act.policy import load_policy
from auscult.errors import OutputError, RecordError
from auscult.jobs.finish import coco_of, in_order
from auscult.jobs.options import FilterOptions
from auscult.media.paths import write_bytes
from auscult.record.cells import disarmed
from auscult.record.reader import Run, read_run, require_audit, require_whole
from auscult.report.facts import policy_of
from auscult.types import DECISIONS

ANOTHER_OUT: Final = "choose another --out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The selected items."""

    ids: tuple[str, ...]  # the items, in natural order
    total: int
    by_action: dict[str, int]  # actions of all verdicts, as decided now
    policy: str
    out: Path  # where ``ids.txt``, ``verdicts.csv`` and ``coco.json`` are

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
    """Pick items of a record and write them out; nothing is judged, no input file is opened."""
    run, rows = judged_rows(options.folder)
    policy = policy_of(run)
    if options.policy is not None:
        chosen = load_policy(options.policy)
        rows, policy = redecide(rows, chosen), chosen.name
    kept = select(rows, actions=options.actions, defects=options.defects, min_iou=options.min_iou)
    out = options.out or beside(options.folder, f"filter-{'-'.join(options.actions)}")
    ids = tuple(str(row["id"]) for row in kept)
    files = list_files(kept, run)
    try:
        require_ours(out.resolve() if out.is_symlink() else out, names=files, made_by="filter")
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=out, hint=ANOTHER_OUT) from error
    write_files(out, files)
    counts = Counter(str(row["action"]) for row in rows)
    return Filtered(
        ids=ids, total=len(rows), by_action={name: counts[name] for name in DECISIONS}, policy=policy, out=out
    )


def judged_rows(folder: Path) -> tuple[Run, Sequence[Mapping[str, Any]]]:
    """A record and the rows of its verdicts, in the natural order of their ids."""
    run = read_run(folder)
    require_audit(folder, run.manifest)
    require_whole(folder, run.verdicts)
    rows = in_order(row for _, row in run.verdicts)
    if not rows:
        why = f"{len(run.failed)} failed; errors.jsonl in it says why" if run.failed else ""
        raise RecordError("the record holds no verdict", path=folder, expected="a record of `auscult audit`", hint=why)
    return run, rows


def list_files(rows: Sequence[Mapping[str, Any]], run: Run) -> dict[str, str]:
    """Selected masks of a record as files for other tools: names and contents."""
    return {
        "ids.txt": ids_text(str(row["id"]) for row in rows),
        "verdicts.csv": verdicts_csv(rows),
        "coco.json": json.dumps(coco_of(rows, run), ensure_ascii=False, allow_nan=False),
    }


def ids_text(ids: Iterable[str]) -> str:
    """Ids, one a line, ``disarmed`` as in ``verdicts.csv``."""
    return "".join(f"{disarmed(name)}\n" for name in ids)


def require_ours(folder: Path, *, names: Collection[str], made_by: str) -> None:
    """Insist that a folder is new, empty, or of an earlier run of the same command."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RecordError("this is no folder", expected="a new or empty folder", hint=ANOTHER_OUT, path=folder)
    if not folder.exists():
        return
    others = sorted({path.name for path in folder.iterdir() if not path.name.startswith(".")} - set(names))
    if others:
        raise RecordError(
            f"the folder holds other files ({', '.join(others[:3])})",
            expected=f"a new or empty folder, or one of an earlier {made_by}",
            hint=ANOTHER_OUT,
            path=folder,
        )


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files whole; names may lead into a folder below."""
    for name, text in files.items():
        write_bytes(folder / name, text.encode("utf-8", "backslashreplace"))


def beside(folder: Path, ending: str) -> Path:
    """A folder beside a record, named after it."""
    named = folder if folder.name not in {"", ".."} else folder.resolve()
    return named.with_name(f"{named.name}-{ending}")
