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
from auscult.jobs.comparing import Match, Paired, Side, match, paired_tests
from auscult.jobs.rows import known
from auscult.outcome import Scored
from auscult.record.folder import MANIFEST, read_manifest
from auscult.record.reader import read_run, require_record
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

    Args:
        folders: Records of ``auscult audit``; of a folder of ``auscult run`` all its judges.

    Returns:
        Tables and summary.

    Raises:
        RecordError: A folder is no such record.
        UsageError: There are fewer than two judges, or no item of any two can be matched.
    """
    sides = _named([side for folder in folders for side in _sides(folder)])
    if len(sides) < 2:
        raise UsageError(f"{len(sides)} judge is nothing to compare with", expected="two records or more", hint=_HINT)
    matches = [match(first, second) for first, second in combinations(sides, 2)]
    if not any(found.items for found in matches):
        raise UsageError(
            "no item of any two records can be matched: " + _reasons(matches),
            expected="records of the same items with truth: same id, same frame, mask and text, same truth",
            hint=_HINT,
        )
    tested = [paired_tests(found) for found in matches]
    adjusted = {
        label: _adjusted([pair.tests[label].value if label in pair.tests else None for pair in tested])
        for label in LABELS
    }
    return Comparison(summary=_summary(tested, adjusted), tables=tuple(_tables(tested, adjusted)))


def _sides(folder: Path) -> list[Side]:
    """The judges of a folder, unnamed: each by the judge that its verdicts name."""
    require_record(folder)
    if read_manifest(folder)["command"] in _AUDITS:
        return [_side(folder)]
    inner = folder / JUDGES
    found = sorted(path for path in inner.iterdir() if (path / MANIFEST).is_file()) if inner.is_dir() else []
    if not found:
        raise RecordError("the record holds no verdicts", path=folder, expected="verdicts of a judge", hint=_HINT)
    return [_side(path) for path in found]


def _side(folder: Path) -> Side:
    run = read_run(folder)
    truths = {str(row["id"]): row for row in known(run.lines("truth.jsonl"), path=folder / "truth.jsonl")}
    if not truths:
        raise RecordError(
            "the record holds no truth",
            path=folder,
            expected="an INPUT whose items have `truth`",
            hint="without truth there is nothing to be nearer to; audit an INPUT that has some",
        )
    names = sorted({verdict.judge for verdict, _ in run.verdicts})
    return Side(
        name=", ".join(names) or folder.name,
        folder=folder,
        verdicts={verdict.id: verdict for verdict, _ in run.verdicts},
        inputs={verdict.id: str(row.get("input")) for verdict, row in run.verdicts},
        truths=truths,
        clips={verdict.id: clip for verdict, row in run.verdicts if (clip := _clip(row))},
    )


def _clip(row: Mapping[str, Any]) -> str:
    """The clip that a benchmark's line names; empty where the line is of no benchmark."""
    extra = row.get("extra")
    place = extra.get("mqa") if isinstance(extra, Mapping) else None
    clip = place.get("vid") if isinstance(place, Mapping) else None
    return clip if isinstance(clip, str) else ""


def _named(sides: Sequence[Side]) -> list[Side]:
    """Give each side a name of its own: the judge's, with its folder where one judge has several records."""
    counts = [side.name for side in sides]
    taken: set[str] = set()
    named = []
    for number, side in enumerate(sides, start=1):
        name = side.name if counts.count(side.name) == 1 else f"{side.name} ({side.folder.name})"
        name = name if name not in taken else f"{name} {number}"
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


def _summary(tested: Sequence[Paired], adjusted: Mapping[str, Sequence[float | None]]) -> Summary:
    metrics: dict[str, Mapping[str, Any]] = {}
    for index, pair in enumerate(tested):
        names = f"{pair.match.first.name}/{pair.match.second.name}"
        if isinstance(pair.difference, Scored):
            metrics[f"rmse_difference/{names}"] = {
                "value": round(pair.difference.value, 6),
                "low": _rounded(getattr(pair.difference, "low", None)),
                "high": _rounded(getattr(pair.difference, "high", None)),
                "n": pair.n_iou,
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
                "holm": adjusted[label][index],
            }
    asked = sum(len(pair.match.items) + sum(pair.match.unmatched.values()) for pair in tested)
    matched = sum(len(pair.match.items) for pair in tested)
    return Summary(command="compare", n=asked, ok=matched, failed=0, undefined=asked - matched, metrics=metrics)


def _tables(tested: Sequence[Paired], adjusted: Mapping[str, Sequence[float | None]]) -> list[Table]:
    tables = [
        Table(
            title="RMSE of the estimated IoU, paired",
            header=("first", "second", "n", "clips", "RMSE first", "RMSE second", "difference", "better"),
            rows=tuple(_rmse_row(pair) for pair in tested),
            note="difference: first minus second with its 95 % interval by bootstrap over clips or photographs, drawn "
            "for both at once; better: whose RMSE is lower where the interval leaves out 0",
        )
    ]
    for label, words in (("defect", "types"), ("action", "actions")):
        rows = tuple(
            _test_row(pair, label, adjusted[label][index]) for index, pair in enumerate(tested) if label in pair.tests
        )
        if rows:
            tables.append(
                Table(
                    title=f"{words} named right, paired",
                    header=("first", "second", "n", "right first", "right second", "only first", "only second", "p",
                            "p (Holm)"),
                    rows=rows,
                    note="exact two-sided McNemar test of the items that only one of the two got right; Holm: adjusted "
                    "for the pairs of this table. Items of one clip are alike, so p is smaller than it should be",
                )
            )  # fmt: skip
    reasons = list(tested[0].match.unmatched)
    matched = tuple(
        (
            pair.match.first.name,
            pair.match.second.name,
            str(len(pair.match.items)),
            *(str(pair.match.unmatched[reason]) for reason in reasons),
        )
        for pair in tested
    )
    note = "unmatched items are in no number"
    tables.append(
        Table(title="matched items", header=("first", "second", "matched", *reasons), rows=matched, note=note)
    )
    return tables


def _rmse_row(pair: Paired) -> tuple[str, ...]:
    first, second = pair.match.first.name, pair.match.second.name
    if not isinstance(pair.difference, Scored):
        return first, second, str(pair.n_iou), str(pair.clusters), "–", "–", "–", "–"
    low, high = getattr(pair.difference, "low", None), getattr(pair.difference, "high", None)
    span = "" if low is None or high is None else f" [{low:+.3f}, {high:+.3f}]"
    better = "–"
    if low is not None and high is not None:
        better = first if high < 0 else second if low > 0 else "neither"
    values = (f"{pair.rmse[0]:.3f}", f"{pair.rmse[1]:.3f}", f"{pair.difference.value:+.3f}{span}")
    return first, second, str(pair.n_iou), str(pair.clusters), *values, better


def _test_row(pair: Paired, label: str, adjusted: float | None) -> tuple[str, ...]:
    test = pair.tests[label]
    right = pair.right[label]
    return (
        pair.match.first.name,
        pair.match.second.name,
        str(test.n),
        f"{100 * right[0] / test.n:.1f} %",
        f"{100 * right[1] / test.n:.1f} %",
        str(test.first),
        str(test.second),
        _p_text(test.value),
        "–" if adjusted is None else _p_text(adjusted),
    )


def _p_text(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
