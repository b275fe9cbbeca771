"""What ``auscult act gate`` writes: two lists to hand over, what was decided, and the curve that it rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from auscult.act.export import verdicts_csv
from auscult.act.gate import Search, Step
from auscult.cases.ids import natural_key
from auscult.errors import OutputError, RecordError
from auscult.jobs.handover import coco_of
from auscult.media.paths import write_bytes
from auscult.record.digest import digest_file
from auscult.report.curves import Axes, Line, lines_chart

LISTS: Final = ("accepted", "to-look-at")
FAILED: Final = "failed"
_IN_LIST: Final = ("ids.txt", "verdicts.csv", "coco.json")
_IN_FAILED: Final = ("ids.txt", "errors.jsonl")
_IN_ALL: Final = (*LISTS, FAILED, "gate.json", "gate.svg")
_SOURCES: Final = ("verdicts.jsonl", "truth.jsonl")
_POINTS: Final = 24
_STYLE: Final = """
svg { font: 12px system-ui, sans-serif; fill: #24292f; background: #ffffff }
polyline, line { fill: none; stroke-width: 2; stroke: var(--shade) }
line.grid { stroke: #d0d7de; stroke-width: 1 }
.mark { fill: var(--shade) }
.quiet { stroke-width: 1.2; stroke-dasharray: 5 4 }
.l0, .m0 { --shade: #1f5aa8 } .l1, .m1 { --shade: #b8370f } .l2, .m2 { --shade: #57606a }
"""


def refuse_place(out: Path, records: Sequence[Path]) -> None:
    """Insist on a folder of its own: not in a record, and without files of anyone else.

    Raises:
        RecordError: It is not.
    """
    for record in records:
        if out.resolve().is_relative_to(record.resolve()):
            raise RecordError(
                "the folder lies in a record, which is not changed", hint="choose another --out", path=out
            )
    try:
        _only(out, _IN_ALL)
        for name in LISTS:
            _only(out / name, _IN_LIST)
        _only(out / FAILED, _IN_FAILED)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=out, hint="choose another --out") from error


def list_files(rows: Sequence[Mapping[str, Any]], segmentations: Mapping[str, Any]) -> dict[str, str]:
    """Some masks of a record for other tools, as ``act filter`` gives them: names and contents of files.

    Args:
        rows: Lines of ``verdicts.jsonl``.
        segmentations: COCO RLE by item id.

    Raises:
        RecordError: The record holds no mask or no frame of an item.
    """
    return {
        "ids.txt": "".join(f"{row['id']}\n" for row in rows),
        "verdicts.csv": verdicts_csv(rows),
        "coco.json": json.dumps(coco_of(rows, segmentations), ensure_ascii=False, allow_nan=False),
    }


def failed_files(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What could not be judged, and is in neither list: names and contents of files.

    Args:
        rows: Lines of ``errors.jsonl``; one that names no item is of a file that could not be listed.
    """
    ids = sorted({row["id"] for row in rows if isinstance(row.get("id"), str)}, key=natural_key)
    return {
        f"{FAILED}/ids.txt": "".join(f"{name}\n" for name in ids),
        f"{FAILED}/errors.jsonl": "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows),
    }


def origin(path: Path) -> dict[str, Any]:
    """Where numbers come from: a file with its hash, or a record with those of its verdicts and of what is true.

    Raises:
        InputError: A file cannot be read.
    """
    files = [path / name for name in _SOURCES if (path / name).is_file()] if path.is_dir() else [path]
    return {"path": str(path), "files": {file.name: digest_file(file) for file in files}}


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files whole; names may lead into a folder below.

    Raises:
        OutputError: The folder cannot be written.
    """
    for name, text in files.items():
        write_bytes(folder / name, text.encode("utf-8", "backslashreplace"))


def curve(found: Search, scores: Sequence[float | None], *, accept_error: float) -> str:
    """Draw what each threshold costs: the share of masks it accepts, and the share of bad ones it may let through.

    Args:
        found: The thresholds.
        scores: Of the masks to be gated; None for those that no threshold accepts. Not empty.
        accept_error: The share that may be accepted.

    Returns:
        A whole SVG file with its own colours.
    """
    steps = _thinned(found)
    top = min(1.0, max(0.2, 4 * accept_error))
    bound = Line(name="highest credible share", points=_points(steps, scores, bound=True), style=0)
    counted = Line(name="share as counted", points=_points(steps, scores, bound=False), style=1, quiet=True)
    words = f"{accept_error:g} may be accepted"
    wanted = Line(name=words, points=((0.0, accept_error, words), (1.0, accept_error, words)), style=2, quiet=True)
    axes = Axes(
        x=(0.0, 1.0),
        y=(0.0, top),
        ticks=tuple((tick / 5, f"{tick / 5:g}") for tick in range(6)),
        across="share of masks accepted",
        up="share of bad ones among them",
    )
    chart = lines_chart((bound, counted, wanted), axes, label="Bad masks among the accepted, by how many are accepted")
    return str(
        Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 310"><style>{}</style>{}</svg>\n').format(
            Markup(_STYLE),  # noqa: S704 - our own text
            chart,
        )
    )


def _points(
    steps: Sequence[Step], scores: Sequence[float | None], *, bound: bool
) -> tuple[tuple[float, float, str], ...]:
    points = []
    for step in steps:
        share = sum(score is not None and score >= step.threshold for score in scores) / len(scores)
        value = step.bound if bound else step.tested_bad / step.tested
        points.append((share, value, f"from {step.threshold:g}: {share:.1%} accepted, {value:.1%} bad"))
    return tuple(points)


def _thinned(found: Search) -> list[Step]:
    """Some of the steps, evenly, and always the chosen one: marks on every one would hide the line."""
    every = max(1, -(-len(found.steps) // _POINTS))
    return [step for number, step in enumerate(found.steps) if number % every == 0 or step is found.chosen]


def _only(folder: Path, names: Sequence[str]) -> None:
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RecordError(
            "this is no folder", expected="a new or empty folder", hint="choose another --out", path=folder
        )
    if not folder.exists():
        return
    others = sorted({path.name for path in folder.iterdir() if not path.name.startswith(".")} - set(names))
    if others:
        raise RecordError(
            f"the folder holds other files ({', '.join(others[:3])})",
            expected="a new or empty folder, or one of an earlier gate",
            hint="choose another --out",
            path=folder,
        )
