"""The page of an audit, filled from the lines of its record.

Rows are put in order and counted for the charts; every other number is the record's own, computed after judging by the
job that wrote the tables.

A clip has one row, with a timeline of the estimated IoU: a band for the 90 % interval, a line for the estimate, an
upright bar where the mask switched to something else, a ring where a frame differs from its neighbours, a tick at the
foot where there is no mask. Every mark leads to its item and says in words what it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from auscult.errors import ErrorRecord
from auscult.record.codec import from_json
from auscult.record.digest import digest_json
from auscult.record.manifest import argument, section
from auscult.record.reader import Run
from auscult.record.schema import ClipRow, Mark
from auscult.report.charts.basic import ScatterPoint, Stack, bars, histogram, scatter
from auscult.report.drawing import Circle, Drawing, DrawnShape, Line, Polygon, Polyline, Text
from auscult.report.facts import (
    ACTION_WORDS,
    RANK,
    UNDECIDED,
    UNJUDGED,
    UNLIKE,
    Unlike,
    action_key,
    estimates_note,
    estimates_of,
    facts_of,
    interval,
    interval_words,
    metrics_of,
    number,
    percent,
    policy_of,
    title_of,
    unchecked_of,
    unlike_of,
    worst_first,
)
from auscult.report.page import (
    LARGE,
    PICTURED,
    Advice,
    ClipView,
    Figure,
    ItemList,
    ItemRow,
    Overview,
    Page,
    Section,
)
from auscult.report.sounds import TRUTH_TABLE, ShownSound, sound_notes, sound_sections
from auscult.report.tables import Table, read_table, totals_of
from auscult.types import ACTIONS, DEFECTS, Verdict

MARKS_LISTED = 300
MARKS_SHOWN = 40

_WIDTH, _LEFT, _HIGH, _TOP = 520.0, 30.0, 74.0, 6.0
_BASE = _TOP + _HIGH


def clip_views(run: Run, *, links: Mapping[str, str]) -> tuple[ClipView, ...]:
    """Lay out the clips of a record, worst first; at most ``MARKS_LISTED``."""
    rows = sorted((from_json(ClipRow, row) for row in run.clips), key=_worst_first)[:MARKS_LISTED]
    verdicts = {verdict.id: verdict for verdict, _ in run.verdicts} if rows else {}
    return tuple(_view(row, verdicts, links) for row in rows)


def _worst_first(row: ClipRow) -> tuple[int, float, str]:
    return RANK[_action(row)], 1.0 if row.iou is None else row.iou, f"{row.clip} {row.track}"


def _action(row: ClipRow) -> str:
    return row.action if row.action in ACTION_WORDS else UNDECIDED


def _view(row: ClipRow, verdicts: Mapping[str, Verdict], links: Mapping[str, str]) -> ClipView:
    marks = (*row.switches, *row.odd)
    counts = ((row.failed, "failed"), (row.empty, "empty"), (row.missing, "without mask"))
    frames = ", ".join([str(row.n), *(f"{count} {words}" for count, words in counts if count)])
    drift = f"{row.drift:+.2f} {interval(row.drift_low, row.drift_high)}" if row.drift is not None else "–"
    reasons = [f"No {name}: {reason}." for name, reason in row.undefined.items()]
    return ClipView(
        name=f"{row.clip} {row.track}".strip(),
        action=_action(row),
        facts=(
            ("Frames", frames),
            ("Mean estimated IoU", f"{number(row.iou)} {interval(row.iou_low, row.iou_high)}".strip()),
            ("Defect", row.defect or "not judged"),
            ("Flicker", number(row.flicker)),
            ("Drift", drift),
            ("Switches", str(len(row.switches))),
            ("Odd frames", str(len(row.odd))),
        ),
        marks=tuple((mark.kind, _moment(mark), mark.why, links.get(mark.id or "", "")) for mark in marks[:MARKS_SHOWN]),
        more=max(0, len(marks) - MARKS_SHOWN),
        note=" ".join([row.note, *reasons]).strip(),
        timeline=timeline(row, verdicts, links),
    )


def _moment(mark: Mark) -> str:
    return f"{mark.frame} at {mark.time_s:g} s" if mark.time_s is not None else mark.frame


def timeline(row: ClipRow, verdicts: Mapping[str, Verdict], links: Mapping[str, str]) -> Figure:
    """Estimated IoU over the frames of a clip, with its interval and the frames that stand out."""
    by_frame = [None if name is None else verdicts.get(name) for name in row.frames]
    parts = _axis(len(by_frame))
    judged = [(i, verdict) for i, verdict in enumerate(by_frame) if verdict is not None and verdict.iou is not None]
    for stretch in _stretches([i for i, _ in judged]):
        parts += _curve_shapes([pair for pair in judged if stretch[0] <= pair[0] <= stretch[-1]], len(by_frame))
    index_of = {name: i for i, name in enumerate(row.frames) if name is not None}
    for mark in (*row.switches, *row.odd):
        i = index_of.get(mark.id or "")
        if i is not None:
            parts.append(_mark(mark, (_x(i, len(by_frame)), _iou_of(by_frame[i])), links))
    gaps = (_x(i, len(by_frame)) for i, verdict in enumerate(by_frame) if verdict is None or verdict.defect == "empty")
    parts += [Line(start=(x, _BASE - 5), end=(x, _BASE), colour="quiet", width=3) for x in gaps]
    words = f"Estimated IoU of {row.clip} over {len(by_frame)} frames: mean {number(row.iou)}, "
    words += f"{len(row.switches)} switches, {len(row.odd)} odd frames, {ACTION_WORDS[_action(row)]}"
    drawing = Drawing(size=(round(_WIDTH), round(_BASE + 18)), parts=tuple(parts), title=words)
    return Figure(caption=f"Estimated IoU of {row.clip}", drawing=drawing, kind="timeline")


def _stretches(indices: Sequence[int]) -> list[list[int]]:
    """Runs of neighbouring indices: no line is drawn over a frame without an estimate."""
    numbered = enumerate(indices)
    return [[index for _, index in group] for _, group in groupby(numbered, key=lambda pair: pair[1] - pair[0])]


def _curve_shapes(judged: Sequence[tuple[int, Verdict]], count: int) -> list[DrawnShape]:
    upper = [(_x(i, count), _y(verdict.iou if verdict.iou_high is None else verdict.iou_high)) for i, verdict in judged]
    lower = [(_x(i, count), _y(verdict.iou if verdict.iou_low is None else verdict.iou_low)) for i, verdict in judged]
    line = [(_x(i, count), _y(verdict.iou)) for i, verdict in judged]
    if len(line) == 1:  # a line needs two ends
        (x, y), (_, top), (_, foot) = line[0], upper[0], lower[0]
        upper, lower, line = [(x - 1, top), (x + 1, top)], [(x - 1, foot), (x + 1, foot)], [(x - 1, y), (x + 1, y)]
    return [
        Polygon(points=(*upper, *reversed(lower)), fill="accent", opacity=0.22),
        Polyline(points=tuple(line), colour="accent", width=2),
    ]


def _mark(mark: Mark, point: tuple[float, float], links: Mapping[str, str]) -> DrawnShape:
    words, link = f"{_moment(mark)}: {mark.why}", links.get(mark.id or "", "")
    if mark.kind == "switch":
        return Line(start=(point[0], _TOP), end=(point[0], _BASE), colour="a-reject", width=3, title=words, link=link)
    # filled, though with nothing to see, so that its inside can be pointed at
    return Circle(
        centre=point, radius=4.5, fill="ground", opacity=0, stroke="a-reject-ink", width=2, title=words, link=link
    )


def _axis(count: int) -> list[DrawnShape]:
    parts: list[DrawnShape] = []
    for value in (0.0, 0.5, 1.0):
        y, words = _y(value), f"{value:.1f}".removesuffix(".0")
        parts.append(Line(start=(_LEFT, y), end=(_WIDTH - 4, y), colour="line"))
        parts.append(Text(at=(_LEFT - 6, y + 4), words=words, size=12.5, anchor="end", colour="quiet"))
    foot, right = _BASE + 15, _WIDTH - 4
    first = Text(at=(_LEFT, foot), words="first frame", size=12.5, colour="quiet")
    return [*parts, first, Text(at=(right, foot), words=f"frame {count}", size=12.5, anchor="end", colour="quiet")]


def _x(index: int, count: int) -> float:
    return _LEFT + 6 + (_WIDTH - _LEFT - 16) * (index / max(1, count - 1))


def _y(value: float | None) -> float:
    return _BASE - _HIGH * min(1.0, max(0.0, value or 0.0))


def _iou_of(verdict: Verdict | None) -> float:
    return _y(None if verdict is None else verdict.iou)


LISTED = 3_000
POINTS = 2_000
PICTURE_BYTES = 7_800_000
ERRORS_LISTED = 500
IOU_BINS = 20
TRUE_IOU = "masks.iou.v1"
MODEL_SCORE = "model_score"
DISAGREEMENTS = f"{MODEL_SCORE}_2_disagreements"
"""Table of the masks that judge and model's score rank most differently: id, estimate, rank, score, rank."""

_FOOTER = "IoU is 0 to 1, higher is better. All verdicts: `verdicts.jsonl` and `verdicts.csv` beside this file."
_SOUND_FOOTER = "All verdicts: `verdicts.jsonl` and `verdicts.csv` beside this file."
_MIXED = "Counts and charts above the tabs are of the {:,} masks; {:,} separated sounds have tabs of their own."
_WIDEN = (
    "Decide by the lower end of an interval, not by the estimate, and look at the most novel masks yourself: sort by "
    "“most novel”."
)
_CALIBRATE = (
    "Sort the items by “random, for marking”, mark 60 or more as good or bad (keys g and b), export the marks, and let "
    "`auscult act calibrate DIR --labels marks.csv` estimate the record anew."
)
_GATE = (
    "With marks on 100 photographs or more, let `auscult act gate DIR --calibration marks.csv` find a threshold that "
    "holds for such masks, or say that there is none."
)
_MARKS = {"Calibrate.": (_CALIBRATE, 60), "Gate.": (_GATE, 100)}
"""What marks are good for, and how many masks a record needs for that: else the command would refuse."""
_COMPARE = "Judge once more with another judge and let `auscult compare DIR DIR` show where the two differ most."
_CLIPS = (
    "One row for each object of a video, worst first. IoU is the mean of the frames' estimates; flicker is how much "
    "the mask changes from frame to frame beyond motion (0 is best); drift is the change of the estimated IoU from the "
    "first to the last frame."
)
_WORST_TO_BEST = sorted(RANK.keys() - {UNJUDGED}, key=RANK.__getitem__)  # what is not judged is in no chart


def page_of_audit(
    run: Run,
    *,
    thumbnails: Mapping[str, bytes],
    crops: Mapping[str, bytes],
    tables: Mapping[str, object],
    sounds: Mapping[str, ShownSound] | None = None,
    alarms: tuple[str, ...] = (),
) -> Page:
    """Put a record in the order of the page; ``thumbnails`` and ``crops`` are JPEG bytes by item id.

    Pictures are given to the worst items first, until ``PICTURED`` items or ``PICTURE_BYTES`` bytes have been
    reached; large views go to the worst ``LARGE``. ``tables`` is name to the JSON of ``tables/<name>.json``; names
    that begin with ``truth`` make the section that compares with truth, for which the points are the record's scores
    named ``TRUE_IOU``, those that begin with ``MODEL_SCORE`` the section on the model's own score. ``sounds`` are what
    is shown of separated sounds, which have sections of their own. ``alarms`` stand in red above all.
    """
    sound_parts = sound_sections(run.sounds, shown=sounds or {}, tables=tables) if run.sounds else []
    verdicts = worst_first(verdict for verdict, _ in run.verdicts)
    listed = [verdict for verdict in verdicts if verdict.defect != "empty"]
    truth = _truth(run, listed, tables)
    unlike = unlike_of(run.summary or {})
    of_masks = bool(verdicts) or not sound_parts
    sound_bytes = sum(len(jpeg) + sum(len(clip.data) for clip in clips) for jpeg, clips in (sounds or {}).values())
    sections = (
        truth,
        _score(run, tables, thumbnails),
        _clips(run, listed),
        *sound_parts,
        _tables(run, tables),
        _failed(run),
        _items(run, verdicts, listed, pictures=(thumbnails, crops), taken=sound_bytes) if of_masks else None,
    )
    judges = ", ".join(sorted({verdict.judge for verdict in verdicts} | {verdict.judge for verdict, _ in run.sounds}))
    policies = [*([policy_of(run)] if of_masks else []), *([policy_of(run, "sound_policy")] if sound_parts else [])]
    notes = [*_changes(run)]
    notes += [*_notes(verdicts, unlike, with_truth=truth is not None)] if of_masks else []
    notes += [_MIXED.format(len(verdicts), len(run.sounds))] if sound_parts and of_masks else []
    return Page(
        title=title_of(run),
        command=str(run.manifest.get("command", "")),
        facts=(("Judge", judges or "–"), ("Policy", ", ".join(policies) or "–"), *facts_of(run.manifest)),
        alarms=alarms,
        notes=(*notes, *(sound_notes(run.summary or {}) if run.sounds else ())),
        advice=_advice(unlike) if unlike is not None and unlike.many else None,
        overview=_overview(run, verdicts) if of_masks else None,
        sections=tuple(part for part in sections if part is not None),
        footer=_FOOTER if of_masks else _SOUND_FOOTER,
    )


def _changes(run: Run) -> Iterator[str]:
    """What was done to the record of the audit since."""
    repaired = sum(bool(_repaired(row)) for _, row in run.verdicts)
    if repaired:
        yield f"{repaired:,} of {len(run.verdicts):,} masks were repaired: search for “Repaired by”."
    labels = section(section(section(run.manifest, "inputs"), "calibration"), "labels")
    if labels:
        count = labels.get("count") if isinstance(labels.get("count"), int) else "some"
        yield (
            f"Estimates, intervals and actions were fitted to {count} labels; those of a labelled mask are by a fit "
            "without its photograph."
        )


def _notes(verdicts: Sequence[Verdict], unlike: Unlike | None, *, with_truth: bool) -> Iterator[str]:
    if unlike is not None and not unlike.many:
        yield (
            f"{percent(unlike.share)} of the items ({unlike.count:,} of {unlike.n:,}) are out of distribution for this "
            "judge."
        )
    yield from unchecked_of(verdicts)
    words = interval_words(verdicts).replace(" %", "\u00a0%")
    estimate = f"Every IoU on this page is an estimate made without ground truth, {words}."
    opened = (
        " The truth that the input holds was opened after the last verdict and is shown under “Judge against truth” "
        "only."
    )
    yield estimate + (opened if with_truth else "")


def _advice(unlike: Unlike) -> Advice:
    return Advice(
        title=f"{percent(unlike.share)} of your items are out of distribution for this judge",
        text=f"{unlike.count:,} of {unlike.n:,} judged masks have a novelty of {UNLIKE} or more. For them an estimate "
        "may be further off than its interval says. What to do:",
        steps=(
            ("Widen.", _WIDEN),
            *((word, text) for word, (text, least) in _MARKS.items() if unlike.n >= least),
            ("Compare.", _COMPARE),
        ),
    )


def _overview(run: Run, verdicts: Sequence[Verdict]) -> Overview:
    actions = Counter(action_key(verdict.action) for verdict in verdicts)
    estimates = estimates_of(run.summary or {})
    return Overview(
        totals=totals_of(run),
        facts=estimates,
        note=estimates_note(estimates),
        tally=tuple(
            (action, actions[action])
            for action in (*ACTIONS, UNDECIDED, UNJUDGED)
            if action in ACTIONS or actions[action]
        ),
        figures=(_iou_chart(verdicts), _defect_chart(verdicts)) if verdicts else (),
    )


def _iou_chart(verdicts: Sequence[Verdict]) -> Figure:
    bins = {action: _bins(verdicts, action) for action in _WORST_TO_BEST}
    stacks = [
        Stack(
            f"IoU {index / IOU_BINS:.2f} to {(index + 1) / IOU_BINS:.2f}",
            tuple((f"a-{action}", ACTION_WORDS[action], bins[action][index]) for action in _WORST_TO_BEST),
        )
        for index in range(IOU_BINS)
    ]
    total = sum(stack.total for stack in stacks)
    title = f"Estimated IoU of {total} masks: " + (_totals_text(stacks) or "none")
    ticks = {edge: f"{edge / IOU_BINS:.1f}" for edge in range(0, IOU_BINS + 1, 4)}
    return Figure(caption="Estimated IoU", drawing=histogram(stacks, title=title, ticks=ticks), kind="bars")


def _bins(verdicts: Sequence[Verdict], action: str) -> Counter[int]:
    return Counter(
        min(IOU_BINS - 1, max(0, int(verdict.iou * IOU_BINS + 1e-9)))
        for verdict in verdicts
        if verdict.iou is not None and action_key(verdict.action) == action
    )


def _defect_chart(verdicts: Sequence[Verdict]) -> Figure:
    counted = Counter((verdict.defect, action_key(verdict.action)) for verdict in verdicts if verdict.defect)
    defects = {defect for defect, _ in counted}
    stacks = [
        Stack(name, tuple((f"a-{action}", ACTION_WORDS[action], counted[name, action]) for action in _WORST_TO_BEST))
        for name in (*DEFECTS, "empty")
        if name in defects
    ]
    drawing = bars(stacks, title="Masks by defect: " + (_totals_text(stacks) or "none"))
    return Figure(caption="Defects", drawing=drawing, kind="bars")


def _totals_text(stacks: Sequence[Stack]) -> str:
    return ", ".join(f"{stack.label}: {stack.total}" for stack in stacks if stack.total)


def _truth(run: Run, verdicts: Sequence[Verdict], tables: Mapping[str, object]) -> Section | None:
    """Judge against truth: finished tables, and the items that have both an estimate and a truth."""
    chosen = _read(tables, "truth")
    values = ((row.get("id"), row.get("metric"), row.get("value")) for row in run.scores)
    truths = {
        str(name): float(value)
        for name, metric, value in values
        if metric == TRUE_IOU and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    }
    points = _points(verdicts, truths)
    if not chosen and not points:
        return None
    drawing = scatter(
        points,
        title=f"Estimated against true IoU of {len(points)} masks; the diagonal is perfect agreement",
        axes=("true IoU", "estimated IoU"),
    )
    caption = (
        "Estimated against true IoU. A point on the diagonal is a right estimate; above it the judge was too kind, "
        "below it too strict."
    )
    return Section(
        name="truth",
        title="Judge against truth",
        lead="Written after judging: the judge saw none of this.",
        figures=(Figure(caption=caption, drawing=drawing, kind="scatter", legend=True),) if points else (),
        tables=tuple(chosen.values()),
        beside=True,
    )


def _points(verdicts: Sequence[Verdict], truths: Mapping[str, float]) -> list[ScatterPoint]:
    """True IoU across, estimated IoU up, of at most ``POINTS`` items; one that is listed leads to its card."""
    points = [
        (index, verdict, verdict.iou)
        for index, verdict in enumerate(verdicts)
        if verdict.iou is not None and verdict.id in truths
    ]
    step = max(1, -(-len(points) // POINTS))
    return [
        ScatterPoint(
            x=truths[verdict.id],
            y=iou,
            style=f"a-{action_key(verdict.action)}",
            words=f"{verdict.id}: true {number(truths[verdict.id])}, estimated {number(iou)}, "
            f"{ACTION_WORDS[action_key(verdict.action)]}",
            link=f"#i{index + 1}" if index < LISTED else "",
        )
        for index, verdict, iou in points[::step]
    ]


def _score(run: Run, tables: Mapping[str, object], thumbnails: Mapping[str, bytes]) -> Section | None:
    chosen = _read(tables, MODEL_SCORE)
    if not chosen:
        return None
    by_id = {verdict.id: (verdict, row) for verdict, row in run.verdicts}
    listed = chosen.pop(DISAGREEMENTS, None)
    strongest = tuple(
        replace(
            _row(*by_id[name]),
            thumbnail=thumbnails.get(name),
            ranks=f"rank {by_judge} by the estimate, rank {by_model} by the model's score {score}",
        )
        for name, _, by_judge, score, by_model in (listed.rows if listed is not None else ())
        if name in by_id
    )
    lead = "The strongest disagreements: the masks whose two ranks differ most. Rank 1 is the worst mask."
    return Section(
        name="score",
        title="Judge against the model’s own score",
        tables=tuple(chosen.values()),
        items=ItemList(rows=strongest, lead=lead) if strongest else None,
    )


def _clips(run: Run, verdicts: Sequence[Verdict]) -> Section | None:
    total = len(run.clips)
    if not total:
        return None
    views = clip_views(run, links={verdict.id: f"#i{index}" for index, verdict in enumerate(verdicts[:LISTED], 1)})
    left = f"The worst {len(views)} of {total:,} are shown; all are in `clips.jsonl`."
    return Section(
        name="clips",
        title="Clips",
        count=total,
        lead=_CLIPS,
        clips=views,
        notes=(left,) if total > len(views) else (),
    )


def _tables(run: Run, tables: Mapping[str, object]) -> Section | None:
    rows = metrics_of(run.summary or {})
    metrics = [Table(title="Metrics", header=("metric", "value", "n", "signature"), rows=rows)] if rows else []
    separate = tuple(name for name in tables if name.startswith(("truth", MODEL_SCORE, TRUTH_TABLE)))
    others = _read({name: table for name, table in tables.items() if name not in separate}, "")
    shown = (*metrics, *others.values())
    return Section(name="tables", title="Tables", tables=shown) if shown else None


def _read(tables: Mapping[str, object], start: str) -> dict[str, Table]:
    """The tables whose names begin so, in the order of their names."""
    return {name: read_table(name, tables[name]) for name in sorted(tables) if name.startswith(start)}


def _failed(run: Run) -> Section:
    failed = (*run.failed, *run.remarks)
    left = f"{ERRORS_LISTED:,} of {len(failed):,} are shown; all are in `errors.jsonl`."
    return Section(
        name="errors",
        title="Failed",
        count=len(failed),
        lead="" if failed else "Nothing failed.",
        errors=tuple(_error(row) for row in failed[:ERRORS_LISTED]),
        notes=(left,) if len(failed) > ERRORS_LISTED else (),
    )


def _error(row: Mapping[str, Any]) -> ErrorRecord:
    line = row.get("line")
    return ErrorRecord(
        id=str(row.get("id") or ""),
        path=str(row.get("path") or ""),
        line=line if isinstance(line, int) else None,
        stage=str(row.get("stage") or ""),
        error=str(row.get("error") or ""),
        expected=str(row.get("expected") or ""),
        hint=str(row.get("hint") or ""),
    )


def _items(
    run: Run,
    verdicts: Sequence[Verdict],
    listed: Sequence[Verdict],
    *,
    pictures: tuple[Mapping[str, bytes], Mapping[str, bytes]],
    taken: int = 0,
) -> Section:
    """The cards of the verdicts to list; ``pictures`` are thumbnails and crops by id, ``taken`` bytes of sounds."""
    by_id = {verdict.id: row for verdict, row in run.verdicts}
    rows = [_row(verdict, by_id[verdict.id]) for verdict in listed[:LISTED]]
    empty = [verdict for verdict in verdicts if verdict.defect == "empty"]
    defects = Counter(verdict.defect for verdict in listed)
    thumbnails, crops = pictures
    return Section(
        name="items",
        title="Items, worst first",
        tab="Items",
        count=len(verdicts),
        items=ItemList(
            rows=_pictured(rows, thumbnails, crops=crops, most_bytes=PICTURE_BYTES - taken),
            defects=tuple((name, defects[name]) for name in DEFECTS if defects[name]),
            total=len(listed),
            record=digest_json([run.manifest.get("started"), argument(run.manifest, "source")])[:16],
            folded=_folded(empty),
            empty=tuple(verdict.id for verdict in empty[:LISTED]),
        ),
    )


def _folded(empty: Sequence[Verdict]) -> str:
    """What is said of the empty masks; empty where there are none."""
    if not empty:
        return ""
    actions = Counter(action_key(verdict.action) for verdict in empty)
    counted = ", ".join(f"{count:,} {ACTION_WORDS[name]}" for name, count in actions.most_common())
    return f"{len(empty):,} empty mask{'' if len(empty) == 1 else 's'}, where nothing is segmented: {counted}"


def _row(verdict: Verdict, row: Mapping[str, Any]) -> ItemRow:
    return ItemRow(
        verdict=replace(verdict, rationale=f"{_repaired(row)}{verdict.rationale}"),
        text=str(row.get("text") or ""),
        frame=str(row.get("frame") or ""),
        reading=str(row.get("reading") or ""),
        missing=_share(row.get("missing_share")),
        extra=_share(row.get("extra_share")),
        model_score=_number(row.get("model_score")),
    )


def _repaired(row: Mapping[str, Any]) -> str:
    """What a repair changed, as a sentence before the verdict's own; empty for a mask that was not repaired."""
    repair = row.get("repair")
    if not isinstance(repair, Mapping):
        return ""
    before = repair.get("before")
    iou = _number(before.get("iou")) if isinstance(before, Mapping) else None
    return f"Repaired by {str(repair.get('attempt'))[:40]}; estimated IoU before: {number(iou)}. "


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _share(value: object) -> float | None:
    share = _number(value)
    return share if share is not None and 0 <= share <= 1 else None


def _pictured(
    rows: Sequence[ItemRow], thumbnails: Mapping[str, bytes], *, crops: Mapping[str, bytes], most_bytes: int
) -> tuple[ItemRow, ...]:
    """Give the rows their pictures, worst first, as long as the file stays small.

    Where not all fit, the thumbnails that only accompany a large view go first.
    """
    small = {row.verdict.id: thumbnails.get(row.verdict.id) for row in rows[:PICTURED]}
    large = {row.verdict.id: crops.get(row.verdict.id) for row in rows[:LARGE]}
    total = sum(len(picture) for pictures in (small, large) for picture in pictures.values() if picture)
    if total > most_bytes:
        small = {name: None if large.get(name) else picture for name, picture in small.items()}
    left = most_bytes
    result = []
    for row in rows:
        thumbnail, crop = small.get(row.verdict.id), large.get(row.verdict.id)
        left -= len(thumbnail or b"") + len(crop or b"")
        if left < 0:  # stays below, so that pictures go to the worst without gaps
            thumbnail = crop = None
        result.append(replace(row, thumbnail=thumbnail, crop=crop))
    return tuple(result)
