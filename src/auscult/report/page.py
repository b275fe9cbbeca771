"""Everything that the HTML file shows, as one frozen value made from a record.

Rows are put in order and counted for the charts; every other number is the record's own.

Nothing is computed here; the numbers were computed, after judging, by the job that wrote the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from auscult.record.reader import Run
from auscult.report.clips import ClipView, clip_views
from auscult.report.curves import Point, scatter
from auscult.report.facts import (
    ACTION_WORDS,
    Unlike,
    action_key,
    estimates_of,
    facts_of,
    metrics_of,
    number,
    policy_of,
    title_of,
    unchecked_of,
    unlike_of,
    worst_first,
)
from auscult.report.tables import Table, counts_of, read_table
from auscult.types import Verdict

POINTS = 2_000


def truth_tables(tables: Mapping[str, object]) -> tuple[Table, ...]:
    """Read the finished judge-against-truth tables of a record, in the order of their names."""
    return tuple(read_table(name, tables[name]) for name in sorted(tables))


def truth_points(verdicts: Sequence[Verdict], truths: Mapping[str, float], *, listed: int) -> tuple[Point, ...]:
    """The items to draw: true IoU across, estimated IoU up.

    Args:
        verdicts: In the order of the page; an item leads to its card.
        truths: Item id to its true IoU, 0..1.
        listed: How many of them, from the start, have a card on the page.
    """
    places = [
        (index, verdict, verdict.iou)
        for index, verdict in enumerate(verdicts)
        if verdict.iou is not None and verdict.id in truths
    ]
    step = max(1, -(-len(places) // POINTS))
    return tuple(
        Point(
            x=truths[verdict.id],
            y=iou,
            style=f"a-{action_key(verdict.action)}",
            words=f"{verdict.id}: true {number(truths[verdict.id])}, estimated {number(iou)}, "
            f"{ACTION_WORDS[action_key(verdict.action)]}",
            link=f"#i{index + 1}" if index < listed else "",
        )
        for index, verdict, iou in places[::step]
    )


def truth_scatter(points: Sequence[Point]) -> Markup:
    """Estimated against true IoU as inline SVG; empty markup for no points."""
    if not points:
        return Markup("")
    return scatter(
        points,
        label=f"Estimated against true IoU of {len(points)} masks; the diagonal is perfect agreement",
        axes=("true IoU", "estimated IoU"),
    )


PICTURED = 1_000
LISTED = 3_000
LARGE = 100
PICTURE_BYTES = 7_800_000
ERRORS_LISTED = 500
IOU_BINS = 20
TRUE_IOU = "masks.iou.v1"
MODEL_SCORE = "model_score"
DISAGREEMENTS = f"{MODEL_SCORE}_2_disagreements"
"""Table of the masks that judge and model's score rank most differently: id, estimate, rank, score, rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One judged item as the page shows it.

    Attributes:
        verdict: What the judge said and the policy decided.
        text: The referring expression; empty when there is none.
        frame: Name of the frame's file.
        reading: How the mask was read: as an index, soft with a threshold, and the like.
        thumbnail: JPEG bytes, or None.
        crop: JPEG bytes of the large view, or None.
        missing: Likely missing part of the object, 0..1; None where the record does not say.
        extra: Likely superfluous part of the mask, 0..1; None where the record does not say.
        model_score: The model's own score of its mask; None where INPUT has none.
    """

    verdict: Verdict
    text: str = ""
    frame: str = ""
    reading: str = ""
    thumbnail: bytes | None = None
    crop: bytes | None = None
    missing: float | None = None
    extra: float | None = None
    model_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    """One item that failed: where, why, and what to do about it."""

    id: str
    path: str
    line: int | None
    stage: str
    error: str
    expected: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthPage:
    """Judge against truth: finished tables, and the items that have both an estimate and a truth."""

    tables: tuple[Table, ...]
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorePage:
    """Judge against the model's own score: finished tables, and the strongest disagreements with ranks in words."""

    tables: tuple[Table, ...]
    strongest: tuple[tuple[Row, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """What `report.html` shows.

    Attributes:
        title: Heading of the page.
        command: The verb that made the record.
        judge: Full name of the judge, or several joined by a comma.
        policy: Name of the policy that decided.
        facts: Label and text of what the manifest says: input, time, version, seed.
        counts: ``n``, ``ok``, ``failed``, ``undefined`` of the summary.
        by_action: Items by action, of the whole record.
        by_defect: Items by defect, of the whole record.
        metrics: Name, value with interval, n and signature of each metric of the summary.
        iou_bins: Action to the counts of estimated IoU in ``IOU_BINS`` equal bins over 0..1, of the whole record.
        defect_actions: Defect to action to count, of the whole record.
        unchecked: Plain sentences about what no judge looked at.
        estimates: Label and text of what the estimates come to; empty where the judge gives no probabilities.
        unlike: How many items are out of distribution; None where none does or it was not counted.
        rows: Worst first; at most ``LISTED``.
        judged: How many verdicts the record has.
        tables: Further finished tables of the record.
        errors: At most ``ERRORS_LISTED``.
        error_total: How many errors the record has.
        truth: Judge against truth, or None where INPUT had no truth.
        score: Judge against the model's own score, or None where INPUT has none.
        clips: Videos, worst first.
        clip_total: How many the record has.
    """

    title: str
    command: str
    judge: str
    policy: str
    facts: tuple[tuple[str, str], ...] = ()
    counts: Mapping[str, int]
    by_action: Mapping[str, int]
    by_defect: Mapping[str, int]
    metrics: tuple[tuple[str, str, str, str], ...] = ()
    iou_bins: Mapping[str, tuple[int, ...]]
    defect_actions: Mapping[str, Mapping[str, int]]
    unchecked: tuple[str, ...] = ()
    estimates: tuple[tuple[str, str], ...] = ()
    unlike: Unlike | None = None
    rows: tuple[Row, ...] = ()
    judged: int = 0
    tables: tuple[Table, ...] = ()
    errors: tuple[ErrorRow, ...] = ()
    error_total: int = 0
    truth: TruthPage | None = None
    score: ScorePage | None = None
    clips: tuple[ClipView, ...] = ()
    clip_total: int = 0


def page_from_run(
    run: Run,
    *,
    thumbnails: Mapping[str, bytes],
    crops: Mapping[str, bytes],
    tables: Mapping[str, object],
) -> ReportPage:
    """Put a record in the order of the page.

    Pictures are given to the worst items first, until ``PICTURED`` items or ``PICTURE_BYTES`` bytes have been reached;
    large views go to the worst ``LARGE``.

    Args:
        run: The record.
        thumbnails: Item id to JPEG bytes.
        crops: Item id to JPEG bytes of the large view.
        tables: Name to the JSON of ``tables/<name>.json``; names that begin with ``truth`` make the page judge against
            truth, for which the points are the record's scores named ``TRUE_IOU``; those that begin with
            ``MODEL_SCORE`` make the section on the model's own score.

    Raises:
        InputError: One of ``tables`` is not {title, header, rows, note}.
    """
    found = {verdict.id: row for verdict, row in run.verdicts}
    verdicts = worst_first(verdict for verdict, _ in run.verdicts)
    failed = (*run.failed, *run.remarks)
    actions = Counter((action_key(verdict.action)) for verdict in verdicts)
    return ReportPage(
        title=title_of(run),
        command=str(run.manifest.get("command", "")),
        judge=", ".join(sorted({verdict.judge for verdict in verdicts})),
        policy=policy_of(run),
        facts=facts_of(run.manifest),
        counts=counts_of(run),
        by_action=actions,
        by_defect=Counter(verdict.defect for verdict in verdicts),
        metrics=metrics_of(run.summary or {}),
        iou_bins={action: _bins(verdicts, action) for action in actions},
        defect_actions=_defect_actions(verdicts),
        unchecked=unchecked_of(verdicts),
        estimates=estimates_of(run.summary or {}),
        unlike=unlike_of(run.summary or {}),
        rows=_pictured([_row(verdict, found[verdict.id]) for verdict in verdicts[:LISTED]], thumbnails, crops=crops),
        judged=len(verdicts),
        tables=tuple(
            read_table(name, tables[name]) for name in sorted(tables) if not name.startswith(("truth", MODEL_SCORE))
        ),
        errors=tuple(_error(row) for row in failed[:ERRORS_LISTED]),
        error_total=len(failed),
        truth=_truth(run, verdicts, tables),
        score=_score(run, tables, thumbnails),
        clips=clip_views(run, links={one.id: f"#i{place}" for place, one in enumerate(verdicts[:LISTED], start=1)}),
        clip_total=len(run.clips),
    )


def _bins(verdicts: Sequence[Verdict], action: str) -> tuple[int, ...]:
    counted = Counter(
        min(IOU_BINS - 1, max(0, int(verdict.iou * IOU_BINS + 1e-9)))
        for verdict in verdicts
        if verdict.iou is not None and action_key(verdict.action) == action
    )
    return tuple(counted[index] for index in range(IOU_BINS))


def _defect_actions(verdicts: Sequence[Verdict]) -> dict[str, Counter[str]]:
    counted: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        counted.setdefault(verdict.defect, Counter())[action_key(verdict.action)] += 1
    return counted


def _row(verdict: Verdict, row: Mapping[str, Any]) -> Row:
    return Row(
        verdict=verdict,
        text=str(row.get("text") or ""),
        frame=str(row.get("frame") or ""),
        reading=str(row.get("reading") or ""),
        missing=_share(row.get("missing_share")),
        extra=_share(row.get("extra_share")),
        model_score=_number(row.get("model_score")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _share(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if known else None  # type: ignore[arg-type]


def _pictured(rows: Sequence[Row], thumbnails: Mapping[str, bytes], *, crops: Mapping[str, bytes]) -> tuple[Row, ...]:
    """Give the rows their pictures, worst first, as long as the file stays small.

    Where not all fit, the thumbnails that only accompany a large view go first.
    """
    small = {row.verdict.id: thumbnails.get(row.verdict.id) for row in rows[:PICTURED]}
    big = {row.verdict.id: crops.get(row.verdict.id) for row in rows[:LARGE]}
    total = sum(len(picture) for pictures in (small, big) for picture in pictures.values() if picture)
    if total > PICTURE_BYTES:
        small = {name: None if big.get(name) else picture for name, picture in small.items()}
    left = PICTURE_BYTES
    done = []
    for row in rows:
        thumbnail, crop = small.get(row.verdict.id), big.get(row.verdict.id)
        left -= len(thumbnail or b"") + len(crop or b"")
        if left < 0:  # stays below, so that pictures go to the worst without gaps
            thumbnail = crop = None
        done.append(replace(row, thumbnail=thumbnail, crop=crop))
    return tuple(done)


def _error(row: Mapping[str, Any]) -> ErrorRow:
    line = row.get("line")
    return ErrorRow(
        id=str(row.get("id") or ""),
        path=str(row.get("path") or ""),
        line=line if isinstance(line, int) else None,
        stage=str(row.get("stage") or ""),
        error=str(row.get("error") or ""),
        expected=str(row.get("expected") or ""),
        hint=str(row.get("hint") or ""),
    )


def _truth(run: Run, verdicts: Sequence[Verdict], tables: Mapping[str, object]) -> TruthPage | None:
    chosen = {name: table for name, table in tables.items() if name.startswith("truth")}
    values = ((row.get("id"), row.get("metric"), row.get("value")) for row in run.scores)
    truths = {
        str(name): float(value)
        for name, metric, value in values
        if metric == TRUE_IOU and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    }
    points = truth_points(verdicts, truths, listed=LISTED)
    return TruthPage(tables=truth_tables(chosen), points=points) if chosen or points else None


def _score(run: Run, tables: Mapping[str, object], thumbnails: Mapping[str, bytes]) -> ScorePage | None:
    chosen = {name: read_table(name, tables[name]) for name in sorted(tables) if name.startswith(MODEL_SCORE)}
    if not chosen:
        return None
    found = {verdict.id: (verdict, row) for verdict, row in run.verdicts}
    listed = chosen.pop(DISAGREEMENTS, None)
    strongest = [
        (
            replace(_row(*found[name]), thumbnail=thumbnails.get(name)),
            f"rank {by_judge} by the estimate, rank {by_model} by the model's score {score}",
        )
        for name, _, by_judge, score, by_model in (listed.rows if listed is not None else ())
        if name in found
    ]
    return ScorePage(tables=tuple(chosen.values()), strongest=tuple(strongest))
