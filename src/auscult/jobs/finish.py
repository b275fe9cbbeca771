"""The end of an audit, and all of ``auscult report``: from the lines of a record to its summary, tables and pages."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

from auscult.act.export.coco import coco_in_parts
from auscult.act.export.masks import ExportedMask, label_of
from auscult.act.export.verdicts import verdicts_lines
from auscult.cases.ids import group_by_frame, natural_key
from auscult.errors import AuscultError, RecordError
from auscult.jobs.against_sound_truth import against_sound_truth, sound_pairs
from auscult.jobs.against_truth import AgainstTruth, against_labels, against_truth, pairs_of
from auscult.jobs.estimates import ORDER_FILE, BesideScore, beside_score, expected
from auscult.jobs.joint import joint_table
from auscult.jobs.labels import clusters_in, read_labels
from auscult.jobs.runner import ResultWriter
from auscult.jobs.sound_report import shown_sounds, sound_metrics
from auscult.media.frames import encode_jpeg, read_frame
from auscult.media.limits import DEFAULT_LIMITS, Limits
from auscult.media.masks import read_mask
from auscult.media.paths import safe_name
from auscult.media.rle import Runs
from auscult.outcome import Scored, Signature
from auscult.record.codec import from_json
from auscult.record.files import Files
from auscult.record.folder import FolderLock, RunFolder, open_run, read_manifest
from auscult.record.reader import (
    DAMAGED,
    SUMMARY,
    Run,
    SoundVerdicts,
    Verdicts,
    column,
    kept_file,
    read_all_verdicts,
    read_audit,
    read_run,
    read_summary,
    require_audit,
    require_record,
    require_whole,
    stored_column,
)
from auscult.record.schema import HANDOVERS, PRINTED, PROBED, REPORT, TABLE, Summary, counted_by, metric_row
from auscult.report.audit import page_of_audit
from auscult.report.facts import UNLIKE, UNLIKE_SHARE, worst_first
from auscult.report.overlay import crop
from auscult.report.page import LARGE, PICTURED, Page, render, rendered
from auscult.report.sounds import sound_counts
from auscult.report.suite import PAGE, read_page
from auscult.report.tables import Table, console_tables
from auscult.types import DECISIONS, DEFECTS, Item, Verdict
from auscult.work.pool import Task, run_tasks

WORST = 100
MOST_BYTES = 4 << 20
_QUICK_BYTES = 24 << 20
_QUICK = Limits(max_pixels=12_000_000)


Judged: TypeAlias = Sequence[tuple[Item, Verdict]]
"""Items of one frame with their verdicts."""


def picture_name(item_id: str) -> str:
    """Where the crop of an item is kept in the record."""
    return f"pictures/{safe_name(item_id)}.jpg"


def draw_worst(writer: ResultWriter, items: Iterable[Item], *, verdicts: Verdicts, workers: int) -> None:
    """Draw the worst items that have no crop yet; one that cannot be drawn is left out, its verdict stays.

    Of these, verdicts have their error maps.
    """
    run, progress = writer.run, writer.progress
    worst = {verdict.id: verdict for verdict in worst_of(verdict for verdict, _ in verdicts)}
    missing = [item for item in items if item.id in worst and not (run.path / picture_name(item.id)).exists()]
    groups = [[(item, worst[item.id]) for item in group] for group in group_by_frame(missing)]
    progress.stage("drawing the worst", len(missing))
    for images in _drawn(groups, workers):
        for name, jpeg in images.items():
            run.write_bytes(picture_name(name), jpeg, durable=False)
        progress.step(len(images))


def worst_of(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The worst, which are drawn, among those that a report lists one by one: empty masks are folded."""
    return _listed(verdicts)[:WORST]


def _listed(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return worst_first(verdict for verdict in verdicts if verdict.defect != "empty")


def _drawn(groups: Sequence[Judged], workers: int) -> Iterator[Mapping[str, bytes]]:
    """The pictures of each frame, in any order; few are drawn sooner than worker processes are started."""
    tasks, large = [Task(group[0][0].id, group) for group in groups], list[Task[Judged]]()
    make = partial(_CropDrawer, _QUICK)
    if sum(_bytes(group[0][0].frame) for group in groups) > _QUICK_BYTES:
        tasks, large = [], tasks
    with ThreadPoolExecutor(max(1, workers)) as threads:
        outcomes = threads.map(lambda task: next(run_tasks(make, [task], workers=0, stage="draw")).outcome, tasks)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if isinstance(outcome, dict):
                yield outcome
            else:  # such as a small file of many pixels, which this process would not be rid of
                large.append(task)
    results = run_tasks(_CropDrawer, large, workers=workers, timeout_s=60.0, stage="draw")
    yield from (result.outcome for result in results if isinstance(result.outcome, dict))


def _bytes(path: Path) -> int:
    """Size of a file that was read before; 0 where it is gone, which reading it will report."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _CropDrawer:
    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits

    def __call__(self, group: Judged) -> dict[str, bytes]:
        frame = read_frame(group[0][0].frame, limits=self._limits)
        images = {}
        for item, verdict in group:
            try:
                mask = read_mask(item.mask, size=(frame.shape[0], frame.shape[1])).mask
            except AuscultError:
                continue
            errors = verdict.error_map
            picture = crop(frame, mask, verdict.region, whole=verdict.defect == "merge", errors=errors)
            images[item.id] = encode_jpeg(picture, quality=78 if errors is None else 72)
        return images


def crops(folder: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """The crops that a record holds, by item id."""
    by_id = {}
    for name in ids:
        picture = kept_file(folder / picture_name(name), most_bytes=MOST_BYTES)
        if picture is not None:
            by_id[name] = picture
    return by_id


def out_of_distribution_rate(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, Any]]:
    """Share of judged items with a novelty of ``UNLIKE`` or more, as a metric of ``summary.json``.

    Items without an estimate, such as empty masks, are left out: a rule judged them, not what the judge knows. Where
    every novelty is 0, the judge does not measure it, and there is no share.
    """
    measured = [verdict for verdict in verdicts if verdict.iou is not None and verdict.defect != "empty"]
    if not any(verdict.novelty > 0 for verdict in measured):
        return {}
    unlike = sum(verdict.novelty >= UNLIKE for verdict in measured)
    judges = ",".join(sorted({verdict.judge for verdict in measured}))
    signature = Signature.of(metric="share of items unlike the judge's data", novelty=f">={UNLIKE:g}", judge=judges)
    return {UNLIKE_SHARE: metric_row(Scored(unlike / len(measured), signature), n=len(measured))}


def segmentations(run: Run | RunFolder) -> Mapping[str, Any]:
    """The masks of a record as COCO RLE, by item id, each read when it is asked for."""
    return stored_column(run.path / "masks.jsonl", "segmentation")


def exported(rows: Sequence[Mapping[str, Any]], run: Run) -> Iterator[ExportedMask]:
    """Items of a record with their masks, one by one."""
    for candidate in _AsRuns(rows, segmentations(run)):
        yield replace(candidate, drawn=candidate.mask)


@dataclass(frozen=True, slots=True)
class _AsRuns:
    """Items of a record with the runs of their masks, read one by one, as often as they are gone through."""

    rows: Sequence[Mapping[str, Any]]
    masks: Mapping[str, Any]

    def __iter__(self) -> Iterator[ExportedMask]:
        for row in self.rows:
            if row["id"] not in self.masks or not isinstance(row.get("frame"), str):
                raise RecordError(
                    f"the record holds no mask or no frame of {row['id']!r}",
                    expected="a line of masks.jsonl for each verdict",
                    hint="the record was damaged or edited; judge again into another --out",
                )
            yield ExportedMask(row, Runs.read(self.masks[row["id"]]), row["frame"])


def coco_of(rows: Sequence[Mapping[str, Any]], run: Run) -> dict[str, Any]:
    """COCO instances of some items of a record."""
    content = coco_parts_of(rows, run, masks=segmentations(run))
    return {**content, "annotations": list(content["annotations"])}


def coco_parts_of(rows: Sequence[Mapping[str, Any]], run: Run, *, masks: Mapping[str, Any]) -> dict[str, Any]:
    """The same for ``write_long_json``, with annotations made one by one; ``masks`` are the record's ``segmentations``.

    A class has one number in all files of a record, whichever items they hold.
    """
    extras = ((row, row.get("extra")) for _, row in run.verdicts)
    numbered = {label_of(row) for row, extra in extras if not isinstance(extra, dict) or "category_id" not in extra}
    return coco_in_parts(_AsRuns(rows, masks), header=run.header(), classes=sorted(numbered, key=natural_key))


def in_order(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows by the natural order of their ids: the lines of a record stand in the order in which workers were done."""
    return sorted(rows, key=lambda row: natural_key(str(row["id"])))


def pictures(rows: Iterable[Mapping[str, Any]], *, path: Path) -> dict[str, bytes]:
    """The bytes of the pictures in ``thumbnails.jsonl``, by id."""
    decoded = ({**row, "jpeg": b64decode(row["jpeg"])} if "jpeg" in row else row for row in rows)
    try:
        return column(decoded, "jpeg", path=path)
    except (ValueError, TypeError) as error:
        raise RecordError("a row holds no picture", expected="base64 of a JPEG", hint=DAMAGED, path=path) from error


def finish_run(
    run: RunFolder,
    *,
    command: str,
    verdicts: Verdicts | None = None,
    sounds: SoundVerdicts = (),
    ended: bool = True,
) -> Summary:
    """Write everything that is computed from the lines: summary, tables, CSV, COCO, report.

    ``verdicts`` are given together with those on ``sounds``. ``ended`` marks the run as finished in its manifest.
    """
    read = read_run(run.path, verdicts=verdicts, sounds=sounds, error_maps=False)
    compared, score = _measured(read, read.truths())
    sound, means = AgainstTruth(), dict[str, Mapping[str, Any]]()
    if read.sounds:
        sound, means = against_sound_truth(sound_pairs(read)), sound_metrics(read.sounds)
    metrics = {**score.metrics, **compared.metrics, **means, **sound.metrics}
    summary = summarise(read, command=command, metrics=metrics)
    tables = {name: asdict(table) for name, table in {**score.tables, **compared.tables, **sound.tables}.items()}
    if joint := [verdict.joint for verdict, _ in read.verdicts if verdict.joint is not None]:
        tables["joint"] = asdict(joint_table(joint))
    printed = {PRINTED[1]: sound_counts(read.sounds)} if read.sounds else {}
    if read.verdicts or not read.sounds:
        printed |= console_tables(replace(read, summary=summary.as_json()))
    for name in PRINTED:
        run.remove(f"tables/{name}.json")
    for name, table in (tables | {name: asdict(table) for name, table in printed.items()}).items():
        run.write_json(f"tables/{name}.json", table)
    run.remove(ORDER_FILE)
    run.append_many(ORDER_FILE, score.order)
    run.write_json("summary.json", summary.as_json())
    rows = in_order(row for _, row in read.verdicts)
    run.write_text(TABLE, verdicts_lines([*rows, *in_order(row for _, row in read.sounds)]))
    masks = segmentations(read)
    for name, actions in HANDOVERS.items():
        chosen = [row for row in rows if row["action"] in actions]
        run.write_long_json(name, coco_parts_of(chosen, read, masks=masks))
    page = _page(replace(read, summary=summary.as_json()), tables, score.strongest)
    run.write_text(REPORT, page)
    if ended:
        run.finish()
    return summary


def score_record(folder: Path) -> tuple[Summary, list[Table]]:
    """Score the verdicts of a record against the truth it holds; no input file is opened."""
    read = read_audit(folder, error_maps=False)
    truths, sound = read.truths(), against_sound_truth(sound_pairs(read))
    if not truths and not sound.tables:
        raise RecordError(
            "the record holds no truth to score against",
            path=folder,
            expected="a record of `auscult audit` whose INPUT had truth",
            hint="two folders of masks: `auscult score PRED TRUTH --protocol davis2016`",
        )
    compared, score = _measured(read, truths)
    summary = summarise(read, command="score", metrics={**score.metrics, **compared.metrics, **sound.metrics})
    return summary, [*compared.tables.values(), *sound.tables.values()]


def score_labels(folder: Path, labels: Path) -> tuple[Summary, list[Table]]:
    """Score the verdicts of a record against a table of labels, such as the marks that its report exports."""
    read = read_audit(folder, error_maps=False)
    verdicts = [verdict for verdict, _ in read.verdicts]
    by_id = read_labels(labels, known={verdict.id for verdict in verdicts})
    compared = against_labels(verdicts, by_id, clusters=clusters_in(read))
    return summarise(read, command="score", metrics=compared.metrics), list(compared.tables.values())


def _measured(read: Run, truths: Sequence[Mapping[str, Any]]) -> tuple[AgainstTruth, BesideScore]:
    """Verdicts compared with truth, and with the model's own score."""
    with_truth = {row["id"] for row in truths}
    unreadable = {str(row.get("id")) for row in read.errors if row.get("stage") == "truth"} - with_truth
    pairs = pairs_of([verdict for verdict, _ in read.verdicts], truths)
    return against_truth(pairs, unreadable=len(unreadable)), beside_score(read.verdicts, pairs, films=read.films)


def summarise(read: Run, *, command: str, metrics: Mapping[str, Mapping[str, Any]]) -> Summary:
    """Count what a record holds."""
    verdicts, sounds = [verdict for verdict, _ in read.verdicts], [verdict for verdict, _ in read.sounds]
    actions = [verdict.action or "" for verdict in verdicts] + [verdict.action or "" for verdict in sounds]
    ok = len(verdicts) + len(sounds)
    return Summary(
        command=command,
        n=ok + len(read.failed),
        ok=ok,
        failed=len(read.failed),
        undefined=0,
        by_action=counted_by(actions, DECISIONS),
        sound=_summary_of_sounds(read),
        by_defect=counted_by([verdict.defect or "" for verdict in verdicts], (*DEFECTS, "empty")),
        metrics={
            **_estimated(verdicts),
            **expected(read.verdicts, films=read.films),
            **out_of_distribution_rate(verdicts),
            **_unparsed(verdicts),
            **metrics,
        },
    )


def _summary_of_sounds(read: Run) -> dict[str, Any] | None:
    """Counts of the separated sounds, of which an INPUT names the failed ones; None where there is none."""
    failed = sum(row.get("sound") is True for row in read.failed)
    if not read.sounds and not failed:
        return None
    by_action = counted_by([verdict.action or "" for verdict, _ in read.sounds], DECISIONS)
    ok = len(read.sounds)
    return {"n": ok + failed, "ok": ok, "failed": failed, "unjudged": by_action["unjudged"], "by_action": by_action}


def _unparsed(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, Any]]:
    """Share of masks whose replies hold no verdict, of those that a model was asked about."""
    asked = [verdict for verdict in verdicts if verdict.usage]
    unparsed = sum(verdict.iou is None for verdict in asked)
    if not unparsed:
        return {}
    signature = Signature.of(metric="share of masks without a verdict in the replies", judge=asked[0].judge)
    return {"unparsed": metric_row(Scored(unparsed / len(asked), signature), n=len(asked))}


def _estimated(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, Any]]:
    values = [verdict.iou for verdict in verdicts if verdict.iou is not None]
    if not values:
        return {}
    signature = Signature.of(metric="mean estimated IoU", judge=verdicts[0].judge)
    return {"estimated_iou": metric_row(Scored(fmean(values), signature), n=len(values))}


def _page(read: Run, tables: Mapping[str, Any], strongest: Sequence[str]) -> Iterator[str]:
    worst = _listed(verdict for verdict, _ in read.verdicts)[:PICTURED]
    ids = {*(verdict.id for verdict in worst), *strongest}
    rows = (row for row in read.thumbnails() if not isinstance(row.get("id"), str) or row["id"] in ids)
    thumbnails = pictures(rows, path=read.path / "thumbnails.jsonl")  # of thousands, only those that are shown
    large = crops(read.path, [verdict.id for verdict in worst[:LARGE]])
    audio, alarms = shown_sounds(read.path, read.sounds) if read.sounds else {}, alarms_of(read.path)
    return rendered(page_of_audit(read, thumbnails=thumbnails, crops=large, tables=tables, sounds=audio, alarms=alarms))


def alarms_of(folder: Path) -> tuple[str, ...]:
    """Why the verdicts of a record are not to be used, where its judge was probed and failed."""
    if not (folder / PROBED).is_file():
        return ()
    from auscult.jobs.probes import chance_alarms  # draws scenes, which few records need

    return chance_alarms(folder)


AGAIN: Final = "repeat the `auscult run` command that made the record: it asks nothing again"


def report_folder(folder: Path) -> Summary:
    """Write summary, tables, CSV, COCO and report of a record anew from its lines."""
    require_record(folder)
    manifest = read_manifest(folder)
    require_audit(folder, manifest)
    verdicts, sounds = read_all_verdicts(folder, error_maps=False)
    require_whole(folder, verdicts, sounds)
    with open_run(folder, manifest) as run:
        repair = _of_repair(folder)
        run.remove(SUMMARY)  # it is written anew; a damaged one is no reason to stop
        command, ended = str(manifest["command"]), "finished" in manifest
        summary = finish_run(run, command=command, verdicts=verdicts, sounds=sounds, ended=ended)
        if repair is not None:
            summary = replace(summary, failed=repair.failed, metrics={**summary.metrics, **repair.metrics})
            run.write_json(SUMMARY, summary.as_json())
        return summary


def _of_repair(folder: Path) -> Summary | None:
    """What only `act repair` can know: how many items failed, and its gain; None of other records, or where damaged."""
    with suppress(RecordError):
        summary = from_json(Summary, read_summary(folder), path=folder / SUMMARY)
        if summary.command == "act repair":
            gains = {name: row for name, row in summary.metrics.items() if name.startswith("repair_")}
            return replace(summary, metrics=gains)
    return None


def is_suite(folder: Path) -> bool:
    """Whether a folder is the record of a suite, which has a page layout of its own."""
    require_record(folder)
    return str(read_manifest(folder)["command"]).startswith("run ") or (folder / PAGE).is_file()


def report_suite(folder: Path) -> Page:
    """Write the report of a suite's record anew, from its finished tables, charts and pictures.

    Everything else stays as it is, the manifest too: a report does not mark a run as finished.
    """
    require_record(folder)
    with ExitStack() as stack:
        stack.callback(FolderLock(folder).release)
        page = read_page(folder)
        files = Files(folder)
        stack.callback(files.close)
        files.write_bytes(REPORT, render(page).encode())
    return page
