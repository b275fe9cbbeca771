"""``auscult compare``: records of several judges on the same items, pair by pair.

Items are matched by id; frame, mask and expression must be the same by their hash, and so must be what is known to be
right. What cannot be matched is counted by reason. Without truth, judges are compared with one another. Nothing is
judged and no input file is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from auscult.errors import RecordError, UsageError
from auscult.jobs.against_sound_truth import compare_sounds
from auscult.jobs.finish import crops, pictures
from auscult.outcome import Scored, Signature, Undefined
from auscult.record.digest import digest_file
from auscult.record.folder import MANIFEST, open_run, read_manifest
from auscult.record.lines import read_lines
from auscult.record.manifest import build
from auscult.record.reader import SUMMARY, failed_rows, read_run, read_summary, require_record, require_whole
from auscult.record.schema import Summary, metric_row
from auscult.report.facts import ACTION_WORDS, action_key, ends_text, interval, number
from auscult.report.page import Example, Page, Section, render
from auscult.report.suite import write_tables
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.score.judges import JudgeColumns, TruthColumns, measures, reals, texts
from auscult.score.stats import RightDifference, holm, right_difference, rmse, rmse_difference, sign_flips, spearman
from auscult.score.stats.inputs import members_of
from auscult.score.stats.intervals import cluster_totals
from auscult.types import Doubles, Verdict

FIRST_FAILED, SECOND_FAILED, BOTH_FAILED = "the first failed", "the second failed", "both failed"
FAILED = (FIRST_FAILED, SECOND_FAILED, BOTH_FAILED)
ONLY_FIRST, ONLY_SECOND = "only the first judged", "only the second judged"
CHANGED, OTHER_TRUTH, NO_TRUTH = "other frame, mask or text", "other truth", "no truth"
REASONS = (*FAILED, ONLY_FIRST, ONLY_SECOND, CHANGED, OTHER_TRUTH, NO_TRUTH)
LABELS = ("defect", "action")
RMSE = "rmse"
SIGNIFICANT = 0.05
VIDEO = "video"
_SAME_IOU = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkPlace:
    """Protocol, clip, track and split of an item in a benchmark."""

    protocol: str = ""  # ``image`` or ``video``; empty where the item's line is of no benchmark
    clip: str = ""
    track: str = ""  # name of its mask track within the whole benchmark
    split: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRecord:
    """One judge's record."""

    name: str  # what tables call it
    home: Path  # the folder that was given: the record itself, or the folder of ``auscult run`` that holds it
    folder: Path  # the record itself
    verdicts: Mapping[str, Verdict]  # by item id
    failed: frozenset[str]  # ids of the items that the judge failed on
    inputs: Mapping[str, str]  # hash of what was judged, by item id
    truths: Mapping[str, Mapping[str, Any]]  # row of ``truth.jsonl`` by item id
    places: Mapping[str, BenchmarkPlace]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The items that two judges have in common."""

    first: JudgeRecord
    second: JudgeRecord
    items: tuple[str, ...]  # ids in order
    unmatched: Mapping[str, int]  # reason to how many items; every reason is there, with 0 where it did not occur

    @property
    def failed(self) -> int:
        """Items that one or both failed on."""
        return sum(self.unmatched[reason] for reason in FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Paired tests of two judges on one protocol."""

    match: Match
    protocol: str  # ``image``, ``video``, or empty where the items are of no benchmark
    splits: tuple[str, ...]
    n_iou: int  # items with a true IoU; in the video protocol, tracks
    undefined: int  # items without a true IoU, or of true type ``empty``: in no RMSE
    silent: tuple[int, int]  # replies of each judge without an IoU
    clusters: int  # clips or photographs of those with a true IoU
    rmse: tuple[float, float]  # RMSE of each on them; 0 where there is none
    difference: Scored[float] | Undefined  # first minus second, with its interval
    p: Scored[float]  # of no difference between the squared errors, by sign flips of clips
    right: Mapping[str, tuple[int, int]]  # label to how many each named right
    tests: Mapping[str, RightDifference]  # label to its test; a label without truth is left out


def require_apart(out: Path, records: Sequence[Path]) -> None:
    """Insist that the output folder is none of the records, holds none and lies in none."""
    home = out.resolve()
    for folder in records:
        other = folder.resolve()
        if home.is_relative_to(other) or other.is_relative_to(home):
            raise UsageError(
                "the output folder and a record that is compared are one, or one lies in the other",
                path=out,
                expected="a folder of its own",
                hint="choose another --out",
            )


def match(first: JudgeRecord, second: JudgeRecord) -> Match:
    """Find the items that two judges have in common: same id, same input, same truth."""
    unmatched = dict.fromkeys(REASONS, 0)
    items = []
    for name in sorted({*first.verdicts, *second.verdicts, *first.failed, *second.failed}):
        reason = _why_not(first, second, name)
        if reason:
            unmatched[reason] += 1
        else:
            items.append(name)
    return Match(first=first, second=second, items=tuple(items), unmatched=unmatched)


def _why_not(first: JudgeRecord, second: JudgeRecord, name: str) -> str:
    failed = name in first.failed, name in second.failed
    if any(failed):
        return BOTH_FAILED if all(failed) else FIRST_FAILED if failed[0] else SECOND_FAILED
    if name not in second.verdicts:
        return ONLY_FIRST
    if name not in first.verdicts:
        return ONLY_SECOND
    if first.inputs[name] != second.inputs[name]:
        return CHANGED
    truth, other = first.truths.get(name), second.truths.get(name)
    if truth is None or other is None:
        return NO_TRUTH
    return "" if _same_truth(truth, other) else OTHER_TRUTH


def _same_truth(truth: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    if any(truth.get(key) != other.get(key) for key in ("defect", "action")):
        return False
    first, second = truth.get("iou"), other.get("iou")
    if first is None or second is None:
        return first is second
    return abs(float(first) - float(second)) <= _SAME_IOU


def paired_tests(matched: Match) -> list[Paired]:
    """Compare two judges on their common items, one protocol at a time.

    Masks whose true type is ``empty`` are left out, as everywhere; an ``empty`` verdict on another mask is wrong.
    """
    by_protocol: dict[str, list[str]] = {}
    for name in matched.items:
        by_protocol.setdefault(matched.first.places[name].protocol, []).append(name)
    return [_tested(matched, protocol, names) for protocol, names in sorted(by_protocol.items())]


def _tested(matched: Match, protocol: str, all_names: Sequence[str]) -> Paired:
    sides, truths = (matched.first, matched.second), matched.first.truths
    names = [name for name in all_names if truths[name].get("defect") != "empty"]
    with_iou = [name for name in names if truths[name].get("iou") is not None]
    places = matched.first.places
    over: measures.Over = "tracks" if protocol == VIDEO else "items"
    true = TruthColumns(
        iou=reals(float(truths[name]["iou"]) for name in with_iou),
        cluster=texts([_cluster(matched, name) for name in with_iou]),
        track=texts([places[name].track for name in with_iou]),
    )
    first, second = (JudgeColumns(iou=reals(side.verdicts[name].iou for name in with_iou)) for side in sides)
    errors, clusters = _errors(first, true, over=over)
    others, _ = _errors(second, true, over=over)
    zeros = np.zeros_like(errors)
    difference = rmse_difference(errors, others, zeros, clusters=clusters, rng=generator(0, "compare"))
    rmses = [rmse(values, zeros) for values in (errors, others)]
    totals = cluster_totals(errors**2 - others**2, members_of(clusters))
    right, tests = _labels(matched, names)
    return Paired(
        match=matched,
        protocol=protocol,
        splits=tuple(sorted({split for name in all_names if (split := places[name].split)})),
        n_iou=len(zeros),
        undefined=len(all_names) - len(with_iou),
        silent=(_silent(matched.first, with_iou), _silent(matched.second, with_iou)),
        clusters=len(set(clusters)),
        rmse=(_value(rmses[0]), _value(rmses[1])),
        difference=_of_tracks(difference) if protocol == VIDEO else difference,
        p=sign_flips(totals),
        right=right,
        tests=tests,
    )


def _errors(judge: JudgeColumns, true: TruthColumns, *, over: measures.Over) -> tuple[Doubles, tuple[Hashable, ...]]:
    """Mean estimated minus mean true IoU per unit of RMSE: an item, or in the video protocol the frames of a track.

    Source: MQA-RefAVS Eq. 12; of a single item it is the error of Eq. 10.
    """
    estimated, truth, clusters = measures.estimates(judge, true, over=over)
    return estimated - truth, clusters


def _cluster(matched: Match, name: str) -> Hashable:
    """The clip or photograph of an item, as the cluster of the bootstrap."""
    cluster: Hashable = matched.first.places[name].clip or matched.first.truths[name].get("cluster") or name
    return cluster


def _silent(side: JudgeRecord, names: Sequence[str]) -> int:
    return sum(side.verdicts[name].iou is None for name in names)


def _labels(matched: Match, names: Sequence[str]) -> tuple[dict[str, tuple[int, int]], dict[str, RightDifference]]:
    right: dict[str, tuple[int, int]] = {}
    tests: dict[str, RightDifference] = {}
    for label in LABELS:
        labelled = [name for name in names if matched.first.truths[name].get(label) is not None]
        hits = [
            [getattr(side.verdicts[name], label) == matched.first.truths[name][label] for name in labelled]
            for side in (matched.first, matched.second)
        ]
        test = right_difference(hits[0], hits[1], clusters=[_cluster(matched, name) for name in labelled])
        if isinstance(test, RightDifference):
            right[label], tests[label] = (sum(hits[0]), sum(hits[1])), test
    return right, tests


def _of_tracks(outcome: Scored[float] | Undefined) -> Scored[float] | Undefined:
    if not isinstance(outcome, Scored):
        return outcome
    fields = tuple(
        (key, "tracks" if key == "over" else value) for key, value in outcome.signature.fields if key != "version"
    )
    return replace(outcome, signature=Signature(fields))


def _value(outcome: Scored[float] | Undefined) -> float:
    return outcome.value if isinstance(outcome, Scored) else 0.0


_DASH = "–"


def part_tables(tested: Sequence[Paired], adjusted: Mapping[str, Sequence[float | None]]) -> list[Table]:
    """RMSE, types and actions of one protocol."""
    protocol = tested[0].protocol
    suffix = f", {protocol} protocol" if protocol else ""
    tables = [
        Table(
            title=f"RMSE of the estimated IoU, paired{suffix}",
            header=("first", "second", "n", "clips", "no IoU", "RMSE", "difference", "p (Holm)", "better"),
            rows=tuple(_rmse_row(pair, p) for pair, p in zip(tested, adjusted[RMSE], strict=True)),
            note=_rmse_note(tested, protocol),
        )
    ]
    for label, words in (("defect", "types"), ("action", "actions")):
        rows = tuple(
            _test_row(pair, label, adjusted[label][index]) for index, pair in enumerate(tested) if label in pair.tests
        )
        if rows:
            tables.append(
                Table(
                    title=f"{words} named right, paired{suffix}",
                    header=("first", "second", "n", "clips", "right first", "right second", "only first", "only second",
                            "p", "p (Holm)"),
                    rows=rows,
                    note="p: two-sided, by flipping the sign of whole clips or photographs, which is McNemar's exact "
                    f"test where each has one item; Holm: adjusted for the {len(rows)} of this table",
                )
            )  # fmt: skip
    return tables


def matched_table(matches: Sequence[Match], tested: Sequence[Paired], left_out: Sequence[str]) -> Table:
    """Counts of matched and unmatched items of each pair; only reasons that occurred have a row."""
    rows: list[tuple[str, ...]] = []
    for matched in matches:
        names = matched.first.name, matched.second.name
        rows.append((*names, "matched", str(len(matched.items))))
        bare = sum(pair.undefined for pair in tested if pair.match is matched)
        if bare:
            rows.append((*names, "of these without a true IoU, in no RMSE", str(bare)))
        rows += [(*names, reason, str(count)) for reason, count in matched.unmatched.items() if count]
    note = "what is not matched is in no number; a reason without a row did not occur"
    if any(matched.unmatched[CHANGED] for matched in matches):
        note += f"; {_AS_GIVEN}"
    if left_out:
        note += f". Not compared: {'; '.join(left_out)}"
    return Table(title="matched items", header=("first", "second", "of the items", "n"), rows=tuple(rows), note=note)


def _rmse_note(tested: Sequence[Paired], protocol: str) -> str:
    over = "n: items; a reply without IoU counts as 0"
    if protocol == VIDEO:
        over = (
            "n: tracks, whose frames come to one value first (Eq. 12); a reply without IoU leaves the mean of its "
            "track, a track without any counts as 0"
        )
    splits = sorted({split for pair in tested for split in pair.splits})
    pooled = f". Pooled over the splits {', '.join(splits)}" if len(splits) > 1 else ""
    return (
        f"{over}. no IoU and RMSE: first / second. difference: first minus second with its 95 % interval by bootstrap "
        "over clips or photographs, drawn for both at once; p: by flipping the sign of whole clips, of squared "
        f"errors, by Holm adjusted for the {len(tested)} of this table; better: whose RMSE is lower where p is at most "
        f"{SIGNIFICANT:g}{pooled}"
    )


def _rmse_row(pair: Paired, p: float | None) -> tuple[str, ...]:
    first, second = pair.match.first.name, pair.match.second.name
    counts = first, second, str(pair.n_iou), str(pair.clusters), f"{pair.silent[0]} / {pair.silent[1]}"
    if not isinstance(pair.difference, Scored):
        return *counts, _DASH, _DASH, _DASH, _DASH
    low, high = (getattr(pair.difference, end, None) for end in ("low", "high"))
    span = "" if low is None or high is None else f" [{ends_text(low, high, 3, signed=True)}]"
    better = _DASH
    if p is not None:
        better = "neither" if p > SIGNIFICANT else "first" if pair.difference.value < 0 else "second"
    rmses = f"{pair.rmse[0]:.3f} / {pair.rmse[1]:.3f}"
    return *counts, rmses, f"{_signed(pair.difference.value)}{span}", _DASH if p is None else _p_text(p), better


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"


def _test_row(pair: Paired, label: str, adjusted: float | None) -> tuple[str, ...]:
    test = pair.tests[label]
    right = pair.right[label]
    return (
        pair.match.first.name,
        pair.match.second.name,
        str(test.n),
        str(test.clusters),
        f"{100 * right[0] / test.n:.1f} %",
        f"{100 * right[1] / test.n:.1f} %",
        str(test.first),
        str(test.second),
        _p_text(test.value),
        _DASH if adjusted is None else _p_text(adjusted),
    )


def _p_text(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else f"{value:.1e}"


# --- where judges disagree ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """A mask, and what each judge says of it."""

    id: str
    verdicts: Mapping[str, Verdict]  # by the judge's name in tables
    difference: float  # of the highest and the lowest estimated IoU, 0..1


def disagreements(sides: Sequence[JudgeRecord]) -> tuple[Disagreement, ...]:
    """The masks that all judges gave an estimate, by how far apart these are, farthest first."""
    shared = set.intersection(*(set(side.verdicts) for side in sides))
    rows = []
    for name in shared:
        verdicts = {side.name: side.verdicts[name] for side in sides}
        values = [verdict.iou for verdict in verdicts.values() if verdict.iou is not None]
        if len(values) == len(sides) and len({side.inputs[name] for side in sides}) == 1:
            rows.append(Disagreement(id=name, verdicts=verdicts, difference=max(values) - min(values)))
    return tuple(sorted(rows, key=lambda row: (-row.difference, row.id)))


def _without_truth(sides: Sequence[JudgeRecord], apart: tuple[Disagreement, ...]) -> Comparison:
    """How far judges agree on masks whose truth nobody knows."""
    if not apart:
        raise UsageError(
            "no mask has an estimate of all judges on the same frame, mask and text",
            expected="records of the same items",
            hint=_HINT,
        )
    metrics: dict[str, Mapping[str, Any]] = {}
    rows = []
    for first, second in combinations((side.name for side in sides), 2):
        pairs = [(row.verdicts[first], row.verdicts[second]) for row in apart]
        values = np.array([[verdict.iou for verdict in pair] for pair in pairs], dtype=np.float64)
        difference, order = float(np.abs(values[:, 0] - values[:, 1]).mean()), spearman(values[:, 0], values[:, 1])
        same = [sum(getattr(a, label) == getattr(b, label) for a, b in pairs) for label in LABELS]
        shares = (f"{100 * count / len(pairs):.1f} %" for count in same)
        rank = f"{order.value:.2f}" if isinstance(order, Scored) else _DASH
        rows.append((first, second, str(len(pairs)), f"{difference:.3f}", rank, *shares))
        signature = Signature.of(metric="mean absolute difference of estimated IoU")
        metrics[f"iou_difference/{first}/{second}"] = metric_row(Scored(difference, signature), n=len(pairs))
    ids = {name for side in sides for name in (*side.verdicts, *side.failed)}
    failed = {name for side in sides for name in side.failed}
    agreement = Table(
        title="how far the judges agree",
        header=("first", "second", "n", "mean difference", "Spearman", "same type", "same action"),
        rows=tuple(rows),
        note="There is no truth, so nothing here says who is right. Of the masks that all judges gave an estimate; the "
        "difference is that of the estimated IoUs, without its sign.",
    )
    summary = Summary(
        command="compare",
        n=len(ids),
        ok=len(apart),
        failed=len(failed),
        undefined=len(ids) - len(apart) - len(failed),
        metrics=metrics,
    )
    return Comparison(
        summary=summary,
        tables=(agreement, disagreement_table(apart)),
        disagreements=apart,
    )


def disagreement_table(apart: Sequence[Disagreement], *, most: int = 20) -> Table:
    """The largest disagreements."""
    judges = tuple(apart[0].verdicts)
    return Table(
        title="where the judges disagree most",
        header=("id", "difference", *judges),
        rows=tuple(
            (row.id, f"{row.difference:.2f}", *(_verdict_cell(row.verdicts[judge], "") for judge in judges))
            for row in apart[:most]
        ),
        note=f"The {min(most, len(apart))} of {len(apart):,} masks whose estimated IoUs are farthest apart. Look at "
        "these yourself: the page of --out DIR has their pictures.",
    )


def _verdict_cell(verdict: Verdict, span: str) -> str:
    return f"{verdict.defect}, {ACTION_WORDS[action_key(verdict.action)]}, {number(verdict.iou)} {span}".rstrip()


_PICTURED = 24


def write_comparison(folders: Sequence[Path], out: Path, *, overwrite: bool = False) -> Comparison:
    """Compare judges and write tables and a page with pictures into a folder of its own."""
    require_apart(out, folders)
    result = compare_folders(folders)
    manifest = build(
        "compare",
        given={"records": [str(folder.resolve()) for folder in folders]},
        defaulted={},
        seeds={},
        inputs={str(path): digest_file(path / "verdicts.jsonl") for folder in folders for path in _records_in(folder)},
    )
    pictured = result.disagreements[:_PICTURED]
    with open_run(out, manifest, overwrite=overwrite) as run:
        tables = {f"compare_{index}": table for index, table in enumerate(result.tables)}
        write_tables(run, tables)
        run.write_json("summary.json", result.summary.as_json())
        examples = tuple(
            Example(
                title=f"{row.difference:.2f} apart",
                jpeg=jpeg,
                shows="the mask tinted, without truth",
                text="",
                id=row.id,
                facts=tuple(
                    (judge, _verdict_cell(verdict, interval(verdict.iou_low, verdict.iou_high)))
                    for judge, verdict in row.verdicts.items()
                ),
            )
            for row, jpeg in zip(pictured, _pictures_of(folders, [row.id for row in pictured]), strict=True)
            if jpeg
        )
        judges = list(result.disagreements[0].verdicts) if result.disagreements else []
        page = Page(
            title=f"{len(judges)} judges on the same masks" if judges else "Judges on the same sounds",
            command="compare",
            facts=(("Judges", ", ".join(judges)), ("Masks that all of them judged", f"{len(result.disagreements):,}")),
            sections=(
                Section(name="apart", title="Where the judges disagree most", lead=_APART, examples=examples),
                Section(name="numbers", title="Numbers", tables=result.tables),
            ),
            footer="The tables as JSON, CSV and LaTeX: `tables/`.",
        )
        run.write_text("report.html", render(page))
        run.finish()
    return result


_APART = (
    "The masks whose estimated IoUs are farthest apart, as the first judge's record shows them. Where judges disagree, "
    "one of them at least is wrong: look yourself."
)


def _pictures_of(folders: Sequence[Path], ids: Sequence[str]) -> list[bytes | None]:
    """The picture of each item in the first record that has it: its large view, else its thumbnail."""
    by_id: dict[str, bytes] = {}
    for home in folders:
        for folder in _records_in(home):
            missing = set(ids) - by_id.keys()
            rows = (row for row in read_lines(folder / "thumbnails.jsonl") if row.get("id") in missing)
            by_id |= {**pictures(rows, path=folder / "thumbnails.jsonl"), **crops(folder, sorted(missing))}
    return [by_id.get(name) for name in ids]


JUDGES = "judges"
_AS_GIVEN = (
    "a mask is told apart as it was given: as a picture and as RLE or polygons it is not the same; where identity was "
    "checked, the sound of a clip counts too"
)
_HINT = "compare records of `auscult audit` of one INPUT, or folders of `auscult run`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison."""

    summary: Summary  # the content of ``--json``: n and ok are the items of all pairs, matched and compared
    tables: tuple[Table, ...]
    disagreements: tuple[Disagreement, ...] = ()  # largest first


def compare_folders(folders: Sequence[Path]) -> Comparison:
    """Compare every two judges of some records; without truth, list where they disagree most.

    A judge without verdicts is left out and named, and so is one without truth where two have it; the others are
    compared. Separated sounds have a table of their own.
    """
    paths = [path for folder in folders for path in _records_in(folder) if (path / SUMMARY).is_file()]
    runs = [read_run(path) for path in paths if read_summary(path).get("sound")]
    tables, metrics = compare_sounds(runs)
    if not tables and len(runs) > 1 and not any(run.verdicts for run in runs):
        expected, hint = "records of one INPUT", "an output is the same where id, files, prompt and truth are"
        raise UsageError("the records have no separated sound in common", expected=expected, hint=hint)
    if not tables:
        return _compare_masks(folders)
    if sum(bool(run.verdicts) for run in runs) > 1:
        comparison = _compare_masks(folders)
        summary = replace(comparison.summary, metrics={**comparison.summary.metrics, **metrics})
        return replace(comparison, summary=summary, tables=(*comparison.tables, *tables))
    judged_ids = [{verdict.id for verdict, _ in run.sounds} for run in runs]
    n, ok = len(set.union(*judged_ids)), len(set.intersection(*judged_ids))
    summary = Summary(command="compare", n=n, ok=ok, failed=0, undefined=n - ok, metrics=metrics)
    return Comparison(summary=summary, tables=tables)


def _compare_masks(folders: Sequence[Path]) -> Comparison:
    results = [side for folder in folders for side in _sides(folder)]
    records = _named([side for side in results if isinstance(side, JudgeRecord)])
    broken = [error for error in results if isinstance(error, RecordError)]
    if len(records) < 2:
        if broken:
            raise broken[0]
        raise UsageError(f"{len(records)} judge is nothing to compare with", expected="two records or more", hint=_HINT)
    sides = [side for side in records if side.truths]
    apart = disagreements(records)
    if len(sides) < 2:
        return _without_truth(records, apart)
    broken += [RecordError("the record holds no truth", path=side.folder) for side in records if not side.truths]
    matches = [match(first, second) for first, second in combinations(sides, 2)]
    if not any(pair.items for pair in matches):
        raise UsageError(
            "no item of any two records can be matched: " + _reasons(matches),
            expected="records of the same items with truth: same id, same frame, mask and text, same truth",
            hint=f"{_HINT}; {_AS_GIVEN}" if any(pair.unmatched[CHANGED] for pair in matches) else _HINT,
        )
    tested = [paired for pair in matches for paired in paired_tests(pair)]
    left_out = [(Path(str(error.path)).name, error.message) for error in broken]
    tables: list[Table] = []
    metrics: dict[str, Mapping[str, Any]] = {}
    for protocol in sorted({paired.protocol for paired in tested}):
        of_protocol = [paired for paired in tested if paired.protocol == protocol]
        adjusted = {name: _adjusted([_p_of(pair, name) for pair in of_protocol]) for name in (RMSE, *LABELS)}
        tables += part_tables(of_protocol, adjusted)
        for index, pair in enumerate(of_protocol):
            metrics |= _metrics(pair, {label: values[index] for label, values in adjusted.items()})
    for name, reason in left_out:
        metrics[f"left_out/{name}"] = {
            "value": None, "low": None, "high": None, "n": 0, "signature": None, "reason": reason,
        }  # fmt: skip
    tables.append(matched_table(matches, tested, [f"{name}: {reason}" for name, reason in left_out]))
    return Comparison(summary=_summary(matches, metrics), tables=tuple(tables), disagreements=apart)


def _sides(folder: Path) -> list[JudgeRecord | RecordError]:
    """The judges of a folder; for one that cannot be compared, the error that says why."""
    paths = _records_in(folder)
    if not paths:
        command = read_manifest(folder)["command"]
        message = f"a record of `auscult {command}` cannot be compared"
        raise RecordError(message, path=folder, expected="verdicts of a judge", hint=_HINT)
    sides: list[JudgeRecord | RecordError] = []
    for path in paths:
        try:
            sides.append(_read_side(path, folder))
        except RecordError as error:
            sides.append(error)
    return sides


def _records_in(folder: Path) -> list[Path]:
    """The records of judges in a folder: itself, or of a benchmark those it holds."""
    require_record(folder)
    inner = folder / JUDGES
    if read_manifest(folder)["command"] in {"audit", "demo"}:
        return [folder]
    return sorted(path for path in inner.iterdir() if (path / MANIFEST).is_file()) if inner.is_dir() else []


def _read_side(folder: Path, home: Path) -> JudgeRecord:
    run = read_run(folder, error_maps=False)
    judged_ids = {verdict.id for verdict, _ in run.verdicts}
    failed = frozenset(row["id"] for row in failed_rows(run.errors, judged_ids) if isinstance(row.get("id"), str))
    if not run.verdicts:
        raise RecordError(
            f"the record holds no verdicts ({len(failed)} failed)",
            path=folder,
            expected="verdicts of a judge",
            hint=f"{folder / 'errors.jsonl'} says why" if failed else _HINT,
        )
    require_whole(folder, run.verdicts)
    truths = {str(row["id"]): row for row in run.truths()}
    return JudgeRecord(
        name=", ".join(sorted({verdict.judge for verdict, _ in run.verdicts})),
        home=home,
        folder=folder,
        verdicts={verdict.id: verdict for verdict, _ in run.verdicts},
        failed=failed,
        inputs={verdict.id: str(row.get("input")) for verdict, row in run.verdicts},
        truths=truths,
        places={verdict.id: _benchmark_place(row, truths.get(verdict.id, {})) for verdict, row in run.verdicts},
    )


def _benchmark_place(row: Mapping[str, Any], truth: Mapping[str, Any]) -> BenchmarkPlace:
    """Protocol, clip, track and split of an item, from its benchmark metadata."""
    extra = row.get("extra")
    benchmark = extra.get("mqa") if isinstance(extra, Mapping) else None
    if not isinstance(benchmark, Mapping):
        return BenchmarkPlace()
    uid, clip, split, track = (
        value if isinstance(value := benchmark.get(key), str) else "" for key in ("uid", "vid", "split", "track")
    )
    track = track or f"{truth.get('defect')}_{benchmark.get('rank') or 0}"
    protocol = VIDEO if benchmark.get("protocol") == VIDEO else "image"
    return BenchmarkPlace(protocol=protocol, clip=clip, track=f"{uid or row['id']}/{track}", split=split)


def _named(sides: Sequence[JudgeRecord]) -> list[JudgeRecord]:
    """Give each side a name of its own: the judge's, with the folder given where one judge has several records."""
    counts = [side.name for side in sides]
    taken: set[str] = set()
    renamed = []
    for place, side in enumerate(sides, start=1):
        home = side.home.resolve()
        names = (f"{side.name} ({home.name})", f"{side.name} ({home.parent.name}/{home.name})")
        options = names if counts.count(side.name) > 1 else (side.name,)
        name = next((name for name in options if name not in taken), f"{options[0]} {place}")
        taken.add(name)
        renamed.append(replace(side, name=name))
    return renamed


def _reasons(matches: Sequence[Match]) -> str:
    total = Counter[str]()
    for matched in matches:
        total.update(matched.unmatched)
    return ", ".join(f"{count} {reason}" for reason, count in total.items() if count)


def _p_of(pair: Paired, name: str) -> float | None:
    """The p value of a pair, of its RMSE or of a label; None without truth, and of one clip alone."""
    if name == RMSE:
        return pair.p.value if pair.clusters > 1 else None
    return pair.tests[name].value if name in pair.tests else None


def _adjusted(values: Sequence[float | None]) -> list[float | None]:
    """The p values of a table by Holm, in their order."""
    adjusted = iter(holm([value for value in values if value is not None]))
    return [None if value is None else next(adjusted) for value in values]


def _summary(matches: Sequence[Match], metrics: Mapping[str, Mapping[str, Any]]) -> Summary:
    total = sum(len(pair.items) + sum(pair.unmatched.values()) for pair in matches)
    matched, failed = sum(len(pair.items) for pair in matches), sum(pair.failed for pair in matches)
    return Summary(
        command="compare", n=total, ok=matched, failed=failed, undefined=total - matched - failed, metrics=metrics
    )


def _metrics(pair: Paired, adjusted: Mapping[str, float | None]) -> dict[str, Mapping[str, Any]]:
    names = "/".join(filter(None, (pair.protocol, pair.match.first.name, pair.match.second.name)))
    metrics: dict[str, Mapping[str, Any]] = {}
    if isinstance(pair.difference, Scored):
        metrics[f"rmse_difference/{names}"] = metric_row(
            pair.difference,
            n=pair.n_iou,
            undefined=pair.undefined,
            unparsed_first=pair.silent[0],
            unparsed_second=pair.silent[1],
            p=pair.p.value,
            holm=adjusted[RMSE],
        )
    for label, test in pair.tests.items():
        metrics[f"paired_{label}/{names}"] = {
            "value": test.value,
            "low": None,
            "high": None,
            "n": test.n,
            "signature": str(test.signature),
            "clusters": test.clusters,
            "only_first_right": test.first,
            "only_second_right": test.second,
            "holm": adjusted[label],
        }
    return metrics
