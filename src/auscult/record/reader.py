"""Reading a record, finished or not; nothing in the folder is changed or locked."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any, Final, TypeAlias

from auscult.errors import REMARKS, RecordError
from auscult.record.codec import Share, from_json, read_file
from auscult.record.files import refuse_special
from auscult.record.folder import MANIFEST, read_manifest
from auscult.record.lines import StoredRows, numbered_lines, read_lines, typed_lines
from auscult.record.manifest import section
from auscult.record.schema import is_sound, sound_verdict_from_json, verdict_from_json
from auscult.types import SoundCurves, SoundVerdict, Verdict

SUMMARY = "summary.json"
HEADER = "coco_header.json"
_MAX_SUMMARY_BYTES = 64 << 20
_MAX_HEADER_BYTES = 1 << 30  # as much as a COCO file itself may have
DAMAGED = "the file was damaged or edited; judge again into another --out"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """A record as it was when it was read."""

    path: Path
    manifest: Mapping[str, Any]
    # each verdict with the whole row it came from, which may hold further keys
    verdicts: tuple[tuple[Verdict, Mapping[str, Any]], ...]
    # rows of ``errors.jsonl``, as they were written; see ``failed`` and ``remarks``
    errors: tuple[Mapping[str, Any], ...]
    scores: tuple[Mapping[str, Any], ...]
    clips: tuple[Mapping[str, Any], ...]
    summary: Mapping[str, Any] | None  # content of ``summary.json``; None while the run is unfinished
    # the same of separated sounds, without their curves
    sounds: tuple[tuple[SoundVerdict, Mapping[str, Any]], ...] = ()

    def frame_path(self, row: Mapping[str, Any]) -> Path | None:
        """Where the picture of a row lay when it was judged; None where the record is of an older version."""
        root, name = section(self.manifest, "inputs").get("frames_root"), row.get("frame")
        return Path(os.path.normpath(Path(root, name))) if isinstance(root, str) and isinstance(name, str) else None

    @property
    def films(self) -> frozenset[str]:
        """Names of the clips that are videos, whose masks resemble one another; all other frames are photographs."""
        names = section(self.manifest, "inputs").get("films")
        return frozenset(map(str, names)) if isinstance(names, list) else frozenset()

    @property
    def finished(self) -> bool:
        """Whether the command came to its end."""
        return "finished" in self.manifest

    @property
    def failed(self) -> tuple[Mapping[str, Any], ...]:
        """The errors that still stand: not those of ids that have a result by now, each once."""
        done = {verdict.id for verdict, _ in self.verdicts} | {verdict.id for verdict, _ in self.sounds}
        done |= {str(row.get("id")) for row in self.scores if row.get("outcome") != "failed"}
        return failed_rows(self.errors, done)

    @property
    def remarks(self) -> tuple[Mapping[str, Any], ...]:
        """The errors that cost no case, each once: rows of stages in ``REMARKS``, not of truths read since."""
        done = {str(row.get("id")) for row in self.scores if row.get("outcome") != "failed"}
        rows = (row for row in self.errors if _is_remark(row) and str(row.get("id")) not in done)
        return tuple({json.dumps(row, sort_keys=True): row for row in rows}.values())

    def thumbnails(self) -> Iterator[dict[str, Any]]:
        """Rows of ``thumbnails.jsonl``, read one by one."""
        return self.lines("thumbnails.jsonl")

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Rows of any file of the record, read one by one; none if there is no such file."""
        return read_lines(self.path / name)

    def header(self) -> dict[str, Any]:
        """What the COCO file that was judged says beside its annotations; empty for other INPUT."""
        path = self.path / HEADER
        return read_object(path, what="the header", most_bytes=_MAX_HEADER_BYTES, hint=DAMAGED) if path.exists() else {}

    def truths(self) -> list[dict[str, Any]]:
        """Rows of ``truth.jsonl``; each is a ``TruthRow`` and may hold further keys."""
        return [row for _, row, _ in typed_lines(TruthRow, self.path / "truth.jsonl", hint=DAMAGED)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthRow:
    """What is true of an item."""

    id: str
    iou: Share | None = None
    defect: str | None = None
    action: str | None = None  # what would be right to do
    difficulty: str | None = None
    cluster: str | None = None  # the photograph or sequence


def kept_file(path: Path, *, most_bytes: int = 1 << 20) -> bytes | None:
    """A file that a record holds; None where it is gone, a link, or larger than the command writes it."""
    intact = path.is_file() and not path.is_symlink() and path.stat().st_size <= most_bytes
    return path.read_bytes() if intact else None


def column(rows: Iterable[Mapping[str, Any]], key: str, *, path: Path) -> dict[str, Any]:
    """One key of each row, by the row's id; of two rows with one id the later counts."""
    value, values = _value_of(key, path=path), dict[str, Any]()
    for row in rows:
        found = value(row)
        values[row["id"]] = found
    return values


def stored_column(path: Path, key: str) -> Mapping[str, Any]:
    """``column`` of a file, whose values are read one by one as they are asked for."""
    return StoredRows(path, _value_of(key, path=path))


def _value_of(key: str, *, path: Path) -> Callable[[Mapping[str, Any]], Any]:
    def value(row: Mapping[str, Any]) -> Any:
        if not isinstance(row.get("id"), str) or key not in row:
            raise RecordError(f"a row lacks 'id' or {key!r}", expected=f"rows of id and {key}", hint=DAMAGED, path=path)
        return row[key]

    return value


def failed_rows(rows: Iterable[Mapping[str, Any]], done: Collection[str]) -> tuple[Mapping[str, Any], ...]:
    """The error rows that still stand.

    Failed cases are tried again by the next run and rows are only ever appended, so that an id may have several; the
    last one counts. Rows without id count once per content. Remarks, which cost no case, are left out.
    """
    standing: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if _is_remark(row):
            continue
        name = row.get("id")
        if isinstance(name, str):
            if name not in done:
                standing["id:" + name] = row
        else:
            standing["row:" + json.dumps(row, sort_keys=True)] = row
    return tuple(standing.values())


def _is_remark(row: Mapping[str, Any]) -> bool:
    stage = row.get("stage")
    return isinstance(stage, str) and stage in REMARKS


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReason:
    """Why cases failed: how many by the same reason, and the first row of ``errors.jsonl`` that gives it."""

    count: int
    example: Mapping[str, Any]


_SPECIFIC: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[/\\]\S*|\d[\d.,]*")


def failure_reasons(rows: Iterable[Mapping[str, Any]], *, most: int = 3) -> list[FailureReason]:
    """The most frequent reasons of failure, most frequent first.

    Rows count as one reason where stage and message differ in quoted names, paths and numbers only. A row that stands
    for several cases or requests counts as many. Remarks, which cost no case, are left out.
    """
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        if _is_remark(row):
            continue
        reason = str(row.get("stage")), _SPECIFIC.sub("#", str(row.get("cause") or row.get("error")))
        counts[reason] += _cases_of(row)
        examples.setdefault(reason, row)
    return [FailureReason(count=count, example=examples[reason]) for reason, count in counts.most_common(most)]


def _cases_of(row: Mapping[str, Any]) -> int:
    """How many cases or requests a row of ``errors.jsonl`` stands for."""
    blocks = row.get("questions")
    if isinstance(blocks, list):
        sides = [(block.get("conditions"), block.get("cases")) for block in blocks if isinstance(block, Mapping)]
        return sum(len(one) * len(other) for one, other in sides if isinstance(one, list) and isinstance(other, list))
    cases = row.get("cases")
    return len(cases) if isinstance(cases, list) else 1


Verdicts: TypeAlias = tuple[tuple[Verdict, Mapping[str, Any]], ...]
"""Each verdict with the whole row it came from, which may hold further keys."""


SoundVerdicts: TypeAlias = tuple[tuple[SoundVerdict, Mapping[str, Any]], ...]
"""The same of separated sounds."""


def read_run(
    folder: Path, *, verdicts: Verdicts | None = None, sounds: SoundVerdicts = (), error_maps: bool = True
) -> Run:
    """Read a record; verdicts that were read before are given with those of sounds.

    ``error_maps`` is as ``read_all_verdicts`` takes it.
    """
    require_record(folder)
    if verdicts is None:
        verdicts, sounds = read_all_verdicts(folder, error_maps=error_maps)
    return Run(
        path=folder,
        manifest=read_manifest(folder),
        verdicts=verdicts,
        sounds=sounds,
        errors=tuple(read_lines(folder / "errors.jsonl")),
        scores=tuple(read_lines(folder / "scores.jsonl")),
        clips=tuple(read_lines(folder / "clips.jsonl")),
        summary=read_summary(folder) if (folder / SUMMARY).exists() else None,
    )


def read_audit(folder: Path, *, error_maps: bool = True) -> Run:
    """Read a record of verdicts; a RecordError for one of another kind, or a finished one that lacks verdicts.

    ``error_maps`` is as ``read_all_verdicts`` takes it.
    """
    run = read_run(folder, error_maps=error_maps)
    require_audit(folder, run.manifest)
    require_whole(folder, run.verdicts, run.sounds)
    return run


def require_record(folder: Path) -> None:
    """Insist that a folder is a record."""
    if not folder.is_dir() or not (folder / MANIFEST).exists():
        missing = f"the folder holds no {MANIFEST}, so it is no record"
        raise RecordError(
            missing if folder.is_dir() else "this is a file" if folder.exists() else "there is no such folder",
            expected="the output folder of an auscult command",
            hint="`auscult audit INPUT --out DIR` makes one",
            path=folder,
        )
    refuse_special(folder)


def require_audit(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Insist that a record is one of verdicts, not of a benchmark or of made material."""
    command = str(manifest["command"])
    if command not in {"audit", "demo", "act repair"}:
        raise RecordError(
            f"the record was made by `auscult {command}`",
            path=folder,
            expected="a record of `auscult audit`",
            hint="its judges/ folder holds one for each judge" if (folder / "judges").is_dir() else "",
        )


def require_whole(folder: Path, verdicts: Verdicts, sounds: SoundVerdicts | None = None) -> None:
    """Insist that a finished audit has its verdicts: a file that was cut must not look like fewer masks or sounds.

    A run that was stopped may lack its last verdicts, and is left alone. Sounds are counted where they are given.
    """
    _require_all(folder, [verdict.id for verdict, _ in verdicts], sounds)


def _require_all(folder: Path, ids: Sequence[str], sounds: Sized | None) -> None:
    """``require_whole`` by the ids of the verdicts on masks."""
    if "finished" not in read_manifest(folder):
        return
    missing = _mask_count(folder, ids) - len(ids)
    if sounds is not None:
        missing = max(0, missing) + _sound_count(folder) - len(sounds)
    if missing > 0:
        count = len(ids) + (0 if sounds is None else len(sounds))
        raise RecordError(
            f"{missing} of {missing + count} verdicts of the finished run are missing",
            expected="as many as summary.json counts, or one for each mask of masks.jsonl that did not fail",
            hint="the file was cut or deleted; give the command of this record again: it judges what is missing",
            path=folder / "verdicts.jsonl",
        )


def _mask_count(folder: Path, ids: Sequence[str]) -> int:
    """How many masks a finished audit judged: by its summary, or where that is damaged, by the masks it wrote."""
    with suppress(RecordError):  # none, or a damaged one
        count = read_summary(folder).get("ok")
        if isinstance(count, int):
            return count - _sound_count(folder)
    # a mask is written before its verdict or error; as text: a file that was edited may hold anything
    done = {*ids, *(str(row.get("id")) for row in read_lines(folder / "errors.jsonl"))}
    return len(ids) + len({str(row.get("id")) for row in read_lines(folder / "masks.jsonl")} - done)


def _sound_count(folder: Path) -> int:
    """How many separated sounds a finished audit judged, by its summary; 0 where that is damaged."""
    with suppress(RecordError):
        counts = read_summary(folder).get("sound")
        if isinstance(counts, Mapping) and isinstance(counts.get("ok"), int):
            return int(counts["ok"])
    return 0


def read_verdicts(folder: Path) -> Verdicts:
    """The verdicts of a record on masks, each with its row; a row without an action is given None."""
    return read_all_verdicts(folder)[0]


MapChoice: TypeAlias = Callable[[Iterable[Verdict]], Sequence[Verdict]]
"""Chooses a few of any number of verdicts; one that is not among the few of some is not among those of more."""


def read_all_verdicts(folder: Path, *, error_maps: bool | MapChoice = True) -> tuple[Verdicts, SoundVerdicts]:
    """The verdicts of a record on masks, and those on separated sounds, in one pass; ``sound_curves`` reads curves.

    Error maps take more than all else. They are those of all, of none, or of the few verdicts that a function chooses;
    rows have them only where all have.
    """
    path = folder / "verdicts.jsonl"
    masks, sounds = [], []
    chosen: dict[str, Verdict] = {}
    for number, row in numbered_lines(path):
        if is_sound(row):
            row["curves"] = None  # hundreds of numbers each
            sounds.append((sound_verdict_from_json(row, path=path, line=number, hint=_EDITED), {"action": None, **row}))
            continue
        verdict, whole = _verdict(row, path=path, line=number)
        if error_maps is not True and verdict.error_map is not None:
            if callable(error_maps):
                chosen[verdict.id] = verdict
                if len(chosen) >= _CHOSEN_AT_ONCE:
                    chosen = {one.id: one for one in error_maps(chosen.values())}
            verdict, whole = replace(verdict, error_map=None), {**whole, "error_map": None}
        masks.append((verdict, whole))
    if callable(error_maps):
        chosen = {one.id: one for one in error_maps(chosen.values())}
    return tuple((chosen.get(verdict.id, verdict), row) for verdict, row in masks), tuple(sounds)


def stored_verdicts(folder: Path) -> Mapping[str, tuple[Verdict, Mapping[str, Any]]]:
    """The verdicts of a whole record on masks by id, each with its row, read one by one as they are asked for."""
    path, masks, sounds = folder / "verdicts.jsonl", list[str](), list[str]()

    def is_mask(row: Mapping[str, Any]) -> bool:
        (sounds if is_sound(row) else masks).append(str(row.get("id")))
        return not is_sound(row)

    stored = StoredRows(path, partial(_verdict, path=path), where=is_mask)
    _require_all(folder, masks, sounds)
    return stored


def sound_curves(folder: Path, ids: Collection[str]) -> dict[str, SoundCurves]:
    """The curves of some separated sounds of a record, by id; those without are left out."""
    rows = (row for row in read_lines(folder / "verdicts.jsonl") if is_sound(row) and row.get("id") in ids)
    return {row["id"]: from_json(SoundCurves, row["curves"]) for row in rows if row.get("curves") is not None}


_EDITED = "the file was edited or damaged; run the command again with --overwrite"


def _verdict(row: dict[str, Any], *, path: Path, line: int | None = None) -> tuple[Verdict, Mapping[str, Any]]:
    """A verdict and its row, which hold their largest part together: of a long record, both are in memory."""
    if isinstance(probs := row.get("defect_probs"), dict):
        row["defect_probs"] = {intern(name): share for name, share in probs.items()}
    for key in _REPEATED:
        if isinstance(text := row.get(key), str):
            row[key] = intern(text)
    verdict = verdict_from_json(row, path=path, line=line, hint=_EDITED)
    return verdict, {"action": None, **row, "defect_probs": verdict.defect_probs}


_CHOSEN_AT_ONCE: Final = 400
_REPEATED: Final = ("defect", "action", "target_exists", "judge", "rationale", "text", "clip", "reading")
"""Keys whose texts many rows share."""


def read_summary(folder: Path, *, hint: str = "") -> dict[str, Any]:
    """The summary that lies in a record."""
    return read_object(folder / SUMMARY, what="the summary", most_bytes=_MAX_SUMMARY_BYTES, hint=hint)


def read_object(path: Path, *, what: str, most_bytes: int, hint: str) -> dict[str, Any]:
    """A JSON object of a record, or a RecordError that says that ``what`` cannot be read."""
    expected = "the JSON object that the command wrote"
    return read_file(
        dict[str, Any], path, what=what, expected=expected, most_bytes=most_bytes, error=RecordError, hint=hint
    )
