"""``auscult compare``: records of several judges on the same items, pair by pair.

Items are matched by id; frame, mask and expression must be the same by their hash, and so must be what is known to be
right. What cannot be matched is counted by reason. Nothing is judged and no input file is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from auscult.errors import RecordError, UsageError
from auscult.jobs.compare_tables import matched_table, part_tables
from auscult.jobs.comparing import VIDEO, Match, Paired, Place, Side, match, paired_tests
from auscult.jobs.rows import known
from auscult.outcome import Scored
from auscult.record.folder import MANIFEST, read_manifest
from auscult.record.reader import failed_rows, read_run, require_record
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.score.stats import holm

JUDGES = "judges"
LABELS = ("defect", "action")
_AUDITS = frozenset({"audit", "demo"})
_HINT = "compare records of `auscult audit` of one INPUT, or folders of `auscult run`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison came to.

    Attributes:
        summary: The content of ``--json``: n and ok are the items of all pairs, matched and compared.
        tables: RMSE, types, actions, and what was matched.
    """

    summary: Summary
    tables: tuple[Table, ...]


def compare_folders(folders: Sequence[Path]) -> Comparison:
    """Compare every two judges of some records.

    A judge without verdicts or truth is left out and named; the others are compared.

    Args:
        folders: Records of ``auscult audit``; of a folder of ``auscult run`` all its judges.

    Returns:
        Tables and summary.

    Raises:
        RecordError: A folder is no such record, or fewer than two judges can be read.
        UsageError: There are fewer than two judges, or no item of any two can be matched.
    """
    found = [one for folder in folders for one in _sides(folder)]
    sides = _named([one for one in found if isinstance(one, Side)])
    broken = [one for one in found if isinstance(one, RecordError)]
    if len(sides) < 2:
        if broken:
            raise broken[0]
        raise UsageError(f"{len(sides)} judge is nothing to compare with", expected="two records or more", hint=_HINT)
    matches = [match(first, second) for first, second in combinations(sides, 2)]
    if not any(one.items for one in matches):
        raise UsageError(
            "no item of any two records can be matched: " + _reasons(matches),
            expected="records of the same items with truth: same id, same frame, mask and text, same truth",
            hint=_HINT,
        )
    tested = [paired for one in matches for paired in paired_tests(one)]
    protocols = sorted({paired.protocol for paired in tested})
    parts = [_Part.of([one for one in tested if one.protocol == protocol]) for protocol in protocols]
    tables = [table for part in parts for table in part_tables(part.paired, part.adjusted)]
    return Comparison(
        summary=_summary(matches, parts, broken), tables=(*tables, matched_table(matches, tested, _words(broken)))
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The pairs of one protocol, with the adjusted p values of each label in their order."""

    paired: Sequence[Paired]
    adjusted: Mapping[str, Sequence[float | None]]

    @classmethod
    def of(cls, paired: Sequence[Paired]) -> _Part:
        values = {
            label: [pair.tests[label].value if label in pair.tests else None for pair in paired] for label in LABELS
        }
        return cls(paired, {label: _adjusted(row) for label, row in values.items()})


def _words(broken: Sequence[RecordError]) -> list[str]:
    return [f"{Path(str(error.path)).name}: {error.message}" for error in broken]


def _sides(folder: Path) -> list[Side | RecordError]:
    """The judges of a folder, each by the judge that its verdicts name; of one that cannot be compared why not."""
    require_record(folder)
    if read_manifest(folder)["command"] in _AUDITS:
        return [_side(folder, folder)]
    inner = folder / JUDGES
    found = sorted(path for path in inner.iterdir() if (path / MANIFEST).is_file()) if inner.is_dir() else []
    if not found:
        raise RecordError("the record holds no verdicts", path=folder, expected="verdicts of a judge", hint=_HINT)
    return [_side(path, folder) for path in found]


def _side(folder: Path, home: Path) -> Side | RecordError:
    try:
        return _read_side(folder, home)
    except RecordError as error:
        return error


def _read_side(folder: Path, home: Path) -> Side:
    run = read_run(folder)
    judged = {verdict.id for verdict, _ in run.verdicts}
    failed = frozenset(row["id"] for row in failed_rows(run.errors, judged) if isinstance(row.get("id"), str))
    if not run.verdicts:
        raise RecordError(
            f"the record holds no verdicts ({len(failed)} failed)",
            path=folder,
            expected="verdicts of a judge",
            hint=f"{folder / 'errors.jsonl'} says why" if failed else _HINT,
        )
    truths = {str(row["id"]): row for row in known(run.lines("truth.jsonl"), path=folder / "truth.jsonl")}
    if not truths:
        raise RecordError(
            "the record holds no truth",
            path=folder,
            expected="an INPUT whose items have `truth`",
            hint="without truth there is nothing to be nearer to; audit an INPUT that has some",
        )
    return Side(
        name=", ".join(sorted({verdict.judge for verdict, _ in run.verdicts})),
        home=home,
        verdicts={verdict.id: verdict for verdict, _ in run.verdicts},
        failed=failed,
        inputs={verdict.id: str(row.get("input")) for verdict, row in run.verdicts},
        truths=truths,
        places={verdict.id: _place(row, truths.get(verdict.id, {})) for verdict, row in run.verdicts},
    )


def _place(row: Mapping[str, Any], truth: Mapping[str, Any]) -> Place:
    """Where a benchmark's line says that its item stands."""
    extra = row.get("extra")
    told = extra.get("mqa") if isinstance(extra, Mapping) else None
    if not isinstance(told, Mapping):
        return Place()
    uid, clip, split, track = (
        value if isinstance(value := told.get(key), str) else "" for key in ("uid", "vid", "split", "track")
    )
    track = track or f"{truth.get('defect')}_{told.get('rank') or 0}"
    protocol = VIDEO if told.get("protocol") == VIDEO else "image"
    return Place(protocol=protocol, clip=clip, track=f"{uid or row['id']}/{track}", split=split)


def _named(sides: Sequence[Side]) -> list[Side]:
    """Give each side a name of its own: the judge's, with the folder given where one judge has several records."""
    counts = [side.name for side in sides]
    taken: set[str] = set()
    named = []
    for number, side in enumerate(sides, start=1):
        home = side.home.resolve()
        names = (f"{side.name} ({home.name})", f"{side.name} ({home.parent.name}/{home.name})")
        tried = names if counts.count(side.name) > 1 else (side.name,)
        name = next((name for name in tried if name not in taken), f"{tried[0]} {number}")
        taken.add(name)
        named.append(replace(side, name=name))
    return named


def _reasons(matches: Sequence[Match]) -> str:
    total: dict[str, int] = {}
    for found in matches:
        for reason, count in found.unmatched.items():
            total[reason] = total.get(reason, 0) + count
    return ", ".join(f"{count} {reason}" for reason, count in total.items() if count)


def _adjusted(values: Sequence[float | None]) -> list[float | None]:
    there = iter(holm([value for value in values if value is not None]))
    return [None if value is None else next(there) for value in values]


def _summary(matches: Sequence[Match], parts: Sequence[_Part], broken: Sequence[RecordError]) -> Summary:
    metrics: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        for index, pair in enumerate(part.paired):
            metrics |= _metrics(pair, {label: values[index] for label, values in part.adjusted.items()})
    for error in broken:
        metrics[f"left_out/{Path(str(error.path)).name}"] = {
            "value": None, "low": None, "high": None, "n": 0, "signature": None, "reason": error.message,
        }  # fmt: skip
    asked = sum(len(one.items) + sum(one.unmatched.values()) for one in matches)
    matched, failed = sum(len(one.items) for one in matches), sum(one.failed for one in matches)
    return Summary(
        command="compare", n=asked, ok=matched, failed=failed, undefined=asked - matched - failed, metrics=metrics
    )


def _metrics(pair: Paired, adjusted: Mapping[str, float | None]) -> dict[str, Mapping[str, Any]]:
    names = "/".join(filter(None, (pair.protocol, pair.match.first.name, pair.match.second.name)))
    metrics: dict[str, Mapping[str, Any]] = {}
    if isinstance(pair.difference, Scored):
        metrics[f"rmse_difference/{names}"] = {
            "value": round(pair.difference.value, 6),
            "low": _rounded(getattr(pair.difference, "low", None)),
            "high": _rounded(getattr(pair.difference, "high", None)),
            "n": pair.n_iou,
            "undefined": pair.undefined,
            "unparsed_first": pair.silent[0],
            "unparsed_second": pair.silent[1],
            "signature": str(pair.difference.signature),
        }
    for label, test in pair.tests.items():
        metrics[f"mcnemar_{label}/{names}"] = {
            "value": test.value,
            "low": None,
            "high": None,
            "n": test.n,
            "signature": str(test.signature),
            "only_first_right": test.first,
            "only_second_right": test.second,
            "holm": adjusted[label],
        }
    return metrics


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
