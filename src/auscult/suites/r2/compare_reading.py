"""A record of ``auscult run r2`` as it lies on disk, read for a comparison: no data is opened and no model is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from auscult.errors import AuscultError, RecordError
from auscult.media.paths import safe_name
from auscult.record.folder import read_manifest
from auscult.record.lines import load, numbered_lines
from auscult.record.manifest import argument
from auscult.record.reader import require_record
from auscult.suites.r2.asking import FILE as ASKED
from auscult.suites.r2.asking import Asked, asked_of
from auscult.suites.r2.cases import R2Case
from auscult.suites.r2.conditions import CLEAN, MIXES, PARTS, Condition, told_once
from auscult.suites.r2.grid import Grid, grid_of
from auscult.suites.r2.scoring import FILE as SCORES
from auscult.suites.r2.tasks import TaskRules, task_rules
from auscult.suites.r2.telling import questions_of
from auscult.suites.r2.vain import vain_keys
from auscult.types import Query

COMMAND: Final = "run r2"
CASES: Final = "cases.jsonl"
ERRORS: Final = "errors.jsonl"
_MAX_BYTES: Final = 64 << 20
_AGAIN: Final = "the file was edited or damaged; run the command of this record again with --overwrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class R2Record:
    """What a record says.

    Attributes:
        path: The folder.
        label: What it is called here: the folder's name, with its parent's where two are alike.
        task: The task.
        seed: The run's seed, from which every perturbation was drawn.
        data: The name of what it was run on: the end of the path, or ``scenes``.
        digests: Case id to the hash of everything that a model sees of it, and that of its true masks.
        revisions: Model to the hash of its code or weights.
        grid: All its scores.
        finished: Whether the run came to its end.
        version: The version of auscult that made it.
        told: Whether it tells what was asked in vain from what is yet to be asked.
    """

    path: Path
    label: str
    task: TaskRules
    seed: int
    data: str
    digests: Mapping[str, str]
    revisions: Mapping[str, str]
    grid: Grid
    finished: bool
    version: str
    told: bool = False


def labels_of(folders: Sequence[Path]) -> tuple[str, ...]:
    """A short name for every folder, all different."""
    homes = [folder.resolve() for folder in folders]
    short = [safe_name(home.name) for home in homes]
    longer = [
        name if short.count(name) == 1 else f"{safe_name(home.parent.name)}/{name}"
        for name, home in zip(short, homes, strict=True)
    ]
    return tuple(name if longer.count(name) == 1 else f"{name} {place}" for place, name in enumerate(longer, start=1))


def read_record(folder: Path, label: str) -> R2Record:
    """Read one record.

    Args:
        folder: The output folder of ``auscult run r2``; the run may still be at work.
        label: What it is called here.

    Raises:
        RecordError: It is no such record, or a damaged one; the message names file and line.
        UnknownName: Its task is not one that this version knows.
    """
    require_record(folder)
    manifest = read_manifest(folder)
    if manifest["command"] != COMMAND:
        raise RecordError(f"the record is of `auscult {manifest['command']}`", path=folder, expected=f"of {COMMAND}")
    task = task_rules(str(argument(manifest, "task")))
    seed = manifest.get("seeds", {}).get("seed") if isinstance(manifest.get("seeds"), Mapping) else None
    if type(seed) is not int:
        raise RecordError("the manifest names no seed", path=folder, expected="a whole number", hint=_AGAIN)
    cases = tuple(_cases(folder / CASES, task))
    if not cases:
        raise RecordError(
            "the record holds no case", path=folder, expected=f"cases in {CASES}", hint="let the run go on first"
        )
    asked = _asked(folder / ASKED)
    finished = "finished" in manifest
    grid = _grid(folder, task, asked=asked, cases=cases, seed=seed, finished=finished)
    if not grid.cells:
        raise RecordError(
            "the record holds no score of its cases",
            path=folder,
            expected=f"scores in {SCORES}",
            hint="let the run go on first; errors.jsonl says what failed",
        )
    versions = manifest.get("versions")
    return R2Record(
        path=folder,
        label=label,
        task=task,
        seed=seed,
        data=PurePath(str(argument(manifest, "data") or "")).name or label,
        digests={case.id: f"{case.digest} {case.truth}" for case in cases},
        revisions=asked.models,
        grid=grid,
        finished=finished,
        version=str(versions.get("auscult") or "") if isinstance(versions, Mapping) else "",
        told=asked.vain is not None,
    )


def _grid(folder: Path, task: TaskRules, *, asked: Asked, cases: Sequence[R2Case], seed: int, finished: bool) -> Grid:
    places = asked.places(cases, seed=seed)
    scored = {str(row["key"]) for row in _scores(folder / SCORES)}
    failed = set(_failed(folder / ERRORS, asked)) if asked.vain is None else set()
    if finished or asked.vain is not None:  # else what has no score may only be yet to come
        failed |= set(asked.without(places, scored))
    return grid_of(
        _scores(folder / SCORES),
        task=task,
        valid=places,
        cases={case.id: (case.clip, case.split) for case in cases},
        models=tuple(asked.models),
        conditions=asked.conditions,
        truths={case.id: case.truth for case in cases if case.truth},
        failed=failed,
        waiting=asked.waiting(places, scored),
    )


def _cases(path: Path, task: TaskRules) -> Iterator[R2Case]:
    """The cases without their files: what a comparison needs is who they are, not what they show."""
    seen: set[str] = set()
    for number, row in numbered_lines(path):
        told = [*(row.get(key) for key in ("id", "clip", "split", "digest")), row.get("truth", "")]
        if not all(isinstance(one, str) for one in told) or row["id"] in seen:
            raise RecordError("the line is no case", path=path, line=number, expected="a new id, a clip", hint=_AGAIN)
        seen.add(row["id"])
        yield R2Case(
            id=row["id"],
            clip=row["clip"],
            split=row["split"],
            query=Query(),
            frames=(),
            targets=(),
            size=(0, 0),
            rate_fps=1.0,
            scored=task.scored,
            digest=row["digest"],
            truth=row.get("truth", ""),
        )


def _scores(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, row in numbered_lines(path):
        if not _is_score(row):
            raise RecordError(
                "the line is no score", path=path, line=number, expected="key, metric, outcome and value", hint=_AGAIN
            )
        yield row


def _failed(path: Path, asked: Asked) -> Iterator[tuple[str, str, str]]:
    """What the record says has no answer: where no case has one, there is no score that shows it was asked."""
    place_of = asked.told()
    for _, row in numbered_lines(path):
        yield from questions_of(row)
        case, error = row.get("id"), row.get("error")
        if "questions" not in row and isinstance(case, str) and isinstance(error, str) and (found := place_of(error)):
            yield (*found, case)


def _is_score(row: Mapping[str, Any]) -> bool:
    if not isinstance(row.get("key"), str) or not isinstance(row.get("metric"), str):
        return False
    pixels = [row[name] for name in ("both_px", "either_px") if name in row]
    if len(pixels) == 1 or any(type(one) is not int or one < 0 for one in pixels):
        return False
    if row.get("outcome") != "scored":
        return row.get("outcome") in {"undefined", "failed"}
    value = row.get("value")
    sound = type(value) in {int, float} and 0.0 <= value <= 1.0  # type: ignore[operator] # no NaN is
    return sound and isinstance(row.get("signature"), Mapping)


def _asked(path: Path) -> Asked:
    try:
        with path.open("rb") as file:
            content: Any = load(file.read(_MAX_BYTES))
        models = {str(name): str(revision) for name, revision in content["models"].items()}
        conditions = tuple(_condition(one) for one in content["conditions"])
        told = asked_of(content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, AuscultError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error)
        raise RecordError(f"the list of what was asked is damaged: {reason}", path=path, hint=_AGAIN) from error
    names = [one.name for one in conditions]
    if not models or CLEAN not in names[:1] or len(set(names)) != len(names):
        raise RecordError(
            "the list of what was asked is damaged", path=path, expected="models, and conditions from clean on",
            hint=_AGAIN,
        )  # fmt: skip
    return Asked(models=models, conditions=told_once(conditions), asked_of=told, vain=vain_keys(path.parent))


def _condition(told: Mapping[str, Any]) -> Condition:
    """One condition.

    Raises:
        TypeError: It has other fields.
        ValueError: A field holds something else than a condition's.
        AuscultError: Its level is no strength.
    """
    one = Condition(**told)
    if not all(isinstance(word, str) for word in (one.name, one.group, one.level)) or one.part not in PARTS:
        raise ValueError(f"no condition: {told!r:.80}")
    if one.group not in {CLEAN, *MIXES} and "." not in one.group:
        raise ValueError(f"no group of conditions: {one.group!r:.80}")
    _ = one.strength  # raises where the level is none
    return one
