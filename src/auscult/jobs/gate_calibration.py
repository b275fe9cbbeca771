"""The calibration set of ``auscult act gate``: a record of an audit with truth, or a table.

A table holds scores and true IoUs of other masks, or labels, good and bad, of masks of the record itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from auscult.act.gate import SOUND_SCORES, KnownMask, score_of
from auscult.cases.fields import json_rows, table_rows
from auscult.cases.ids import check_id, shown
from auscult.cases.listing import JSON_LINES
from auscult.errors import InputError, RecordError, UsageError
from auscult.jobs.labels import clusters_in, header_of, read_labels
from auscult.jobs.sound_input import SoundRecord
from auscult.record.codec import Share, from_json
from auscult.record.manifest import argument
from auscult.record.reader import Run, read_run
from auscult.types import Defect, Existence

MAX_BYTES: Final = 64 << 20
MAX_ROWS: Final = 1_000_000
_NUMBERS: Final = frozenset({"iou", "iou_low", "true_iou", "novelty"})
_EXPECTED: Final = (
    "columns id, iou, true_iou, and if known cluster, iou_low, defect, target_exists, novelty, judge; as CSV with a "
    "first row of names, or JSON lines, in UTF-8; IoUs from 0 to 1"
)
_DROP: Final = "correct or drop the row"
_SEPARATORS: Final = {";": "semicolons", "\t": "tabs"}


_Text: TypeAlias = Annotated[str, Meta(pattern=r"^[^\x00]*$", max_length=1_000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownRow:
    """The columns of a calibration table that are read."""

    id: _Text
    iou: Share | None
    true_iou: Share | None
    iou_low: Share | None = None
    novelty: Share | None = None
    cluster: _Text | None = None
    defect: Defect | None = None
    target_exists: Existence | None = None
    judge: _Text | None = None


_COLUMNS: Final = tuple(column.name for column in fields(_KnownRow))


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCalibration:
    """Masks whose truth is known, and who judged them."""

    masks: tuple[KnownMask, ...]  # those with a true IoU
    without_truth: int  # how many have none, and were left out
    novelty: tuple[float, ...] = ()  # novelty of ``masks``; empty where the file does not say
    judges: frozenset[str] = frozenset()  # names of the judges; empty where the file does not say
    # what else the estimates depend on, by name; None where the file does not say
    settings: Mapping[str, Any] | None = None
    digests: frozenset[str] = frozenset()  # what was judged, as hashes; empty where the file does not say
    grouped: bool = True
    labelled: bool = False  # whether a person said good or bad, rather than a true IoU being known
    version: str = ""  # the version of auscult that judged; empty where the file does not say


def read_calibration(path: Path, *, by: str, bad_below: float, gated: Run) -> GateCalibration:
    """Read a calibration set; labels are of masks of the record that is ``gated``. For sounds it is a record."""
    if path.is_dir() or by in SOUND_SCORES:
        return _of_record(path, by=by, bad_below=bad_below)
    try:
        if path.suffix.lower() not in JSON_LINES and "label" in (names := header_of(path)) and "true_iou" not in names:
            return _of_labels(path, gated, by=by)
        rows = _json_rows(path) if path.suffix.lower() in JSON_LINES else _csv_rows(path)
        return _of_rows(rows, path, by=by, bad_below=bad_below)
    except InputError as error:
        raise UsageError(
            f"--calibration: {error.message}",
            expected=error.expected if error.line is not None else _EXPECTED,
            hint=error.hint or (_DROP if error.line is not None else ""),
            path=error.path or path,
            line=error.line,
        ) from error


def settings_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that the estimates of an audit depend on besides its judge.

    These are the identity check, the hashes of its weights, and whether the judge saw other masks of the frame.
    """
    return {
        "identity": argument(manifest, "identity"),
        "identity_weights": argument(manifest, "identity_weights"),
        "alone": bool(argument(manifest, "alone")),
    }


def version_of(manifest: Mapping[str, Any]) -> str:
    """The version of auscult that made a record; empty where it is not recorded."""
    versions = manifest.get("versions")
    return str(versions.get("auscult") or "") if isinstance(versions, Mapping) else ""


def _of_record(folder: Path, *, by: str, bad_below: float) -> GateCalibration:
    run = read_run(folder)
    if sound := by in SOUND_SCORES:
        truths, verdicts = SoundRecord(run=run).truths("overall"), [row for _, row in run.sounds]
    else:
        truths = {row["id"]: row["iou"] for row in run.truths() if row.get("iou") is not None}
        verdicts = [row for _, row in run.verdicts]
    known = {row["id"]: row for row in verdicts if row["id"] in truths}
    if not known:
        what, score = ("separated sound", "overall score") if sound else ("mask", "IoU")
        raise RecordError(
            f"the record holds no {what} with a true {score}",
            expected="a record of `auscult audit` on an INPUT with truth" + ("" if sound else ", or a table"),
            hint="give INPUT its truth and run the same `auscult audit` again: it compares without judging anew",
            path=folder,
        )
    clusters = {row["id"]: row.get("cluster") for row in (verdicts if sound else run.truths())}
    return GateCalibration(
        masks=tuple(
            KnownMask(
                id=name,
                score=score_of(row, by),
                bad=truths[name] < bad_below,
                cluster=str(clusters[name] or row.get("frame") or row.get("mixture") or name),
            )
            for name, row in known.items()
        ),
        without_truth=len(verdicts) - len(known),
        novelty=tuple(float(row.get("novelty") or 0.0) for row in known.values()),
        judges=frozenset(str(row["judge"]) for row in known.values()),
        settings=settings_of(run.manifest),
        digests=frozenset(str(row["input"]) for row in known.values() if row.get("input")),
        version=version_of(run.manifest),
    )


def _of_labels(path: Path, run: Run, *, by: str) -> GateCalibration:
    rows = {verdict.id: row for verdict, row in run.verdicts}
    labels, clusters = read_labels(path, known=rows), clusters_in(run)
    known = {name: label.word == "bad" for name, label in labels.items() if label.word in {"good", "bad"}}
    return GateCalibration(
        masks=tuple(
            KnownMask(id=name, score=score_of(rows[name], by), bad=bad, cluster=clusters[name])
            for name, bad in known.items()
        ),
        without_truth=len(labels) - len(known),
        novelty=tuple(float(rows[name].get("novelty") or 0.0) for name in known),
        judges=frozenset(str(rows[name]["judge"]) for name in known),
        settings=settings_of(run.manifest),
        digests=frozenset(str(rows[name]["input"]) for name in known if rows[name].get("input")),
        labelled=True,
        version=version_of(run.manifest),
    )


def _of_rows(rows: Iterator[tuple[int, dict[str, Any]]], path: Path, *, by: str, bad_below: float) -> GateCalibration:
    masks: list[KnownMask] = []
    novelty: list[float | None] = []
    judges: set[str] = set()
    seen: dict[str, int] = {}
    without_truth, grouped = 0, True
    for line, row in rows:
        name = row["id"]
        if name in seen:
            raise _wrong(f"the id {shown(name)} stands in line {seen[name]} already", path, line)
        if by not in row:
            raise _wrong(f"there is no {by!r}, which --by asks for", path, line)
        seen[name] = line
        judges |= {row["judge"]} if row.get("judge") else set()
        if row["true_iou"] is None:
            without_truth += 1
            continue
        grouped = grouped and bool(row.get("cluster"))
        # a row without cluster is named after its line, so that it never equals a named cluster
        cluster = f"cluster {row['cluster']}" if row.get("cluster") else f"line {line}"
        masks.append(KnownMask(id=name, score=score_of(row, by), bad=row["true_iou"] < bad_below, cluster=cluster))
        novelty.append(row.get("novelty"))
    novelties = tuple(value for value in novelty if value is not None)
    return GateCalibration(
        masks=tuple(masks),
        without_truth=without_truth,
        novelty=novelties if len(novelties) == len(masks) else (),
        judges=frozenset(judges),
        grouped=grouped,
    )


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = table_rows(path, max_bytes=MAX_BYTES, expected=_EXPECTED)
    for first, header in rows:
        names = _header(header, path, first)
        for line, cells in rows:
            if len(cells) != len(names):
                raise _wrong(f"the row has {len(cells)} cells, the first row {len(names)}", path, line)
            yield line, _row(dict(zip(names, cells, strict=True)), path, line)


def _header(cells: list[str], path: Path, line: int) -> list[str]:
    names = [cell.strip().lower() for cell in cells]
    missing = [name for name in ("id", "iou", "true_iou") if name not in names]
    twice = [name for name in _COLUMNS if names.count(name) > 1]
    if missing:
        others = [words for sign, words in _SEPARATORS.items() if sign in ",".join(cells)]
        hint = f"save it with commas instead of {others[0]}" if others else "name the columns in the first row"
        message = f"the first row has no column {' and no '.join(missing)}: {shown(','.join(cells))}"
        raise InputError(message, expected=_EXPECTED, hint=hint, path=path, line=line)
    if twice:
        raise _wrong(f"the first row names {twice[0]} twice", path, line)
    return names


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in json_rows(path, max_bytes=MAX_BYTES, expected=_EXPECTED):
        yield line, _row(row, path, line)


def _row(values: Mapping[str, Any], path: Path, line: int) -> dict[str, Any]:
    """The known columns as values: numbers, stripped texts, None for an empty cell."""
    if line > MAX_ROWS:
        raise _wrong("there are too many rows", path, line, expected=f"at most {MAX_ROWS:,} lines")
    row = {name: _read(name, values[name]) for name in _COLUMNS if name in values}
    known = from_json(_KnownRow, row, path=path, line=line, error=InputError, hint=_DROP)
    try:
        check_id(known.id)
    except InputError as error:
        raise InputError(error.message, expected=error.expected, hint=_DROP, path=path, line=line) from error
    return row


def _read(name: str, value: Any) -> Any:
    if name == "id" or not isinstance(value, str):
        return value
    text = value.strip()
    try:
        return float(text) if text and name in _NUMBERS else text or None
    except ValueError:  # the codec reports what is wrong with it
        return text


def _wrong(message: str, path: Path, line: int, *, expected: str = _EXPECTED) -> InputError:
    return InputError(message, expected=expected, hint=_DROP, path=path, line=line)
