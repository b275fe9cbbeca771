"""Builds the benchmark: a source with true masks becomes an INPUT, and files in MQ-RAVSBench's own layout.

Instances are chosen and their masks opened; unusable ones are replaced, until all chosen ones can be used. Then every
instance is made, once per protocol. The same command again resumes; unreadable files are tried again.

::

    items.jsonl masks/ truth/ media/     an INPUT that `auscult audit` takes
    targets.jsonl survey.jsonl           masks made and not made of each instance; findings from opening its masks
    train_test_meta_files/               MQ-RAVSBench's layout: table of key frames, a document a split and protocol
    tables/ figures/ summary.json        statistics

Source: MQ-RAVSBench, Sec. 3.

A clip's frames are numbered once for all its instances, in order of time, as ``media/<clip>/frames/<n>``, so that a
model finds the whole clip beside the masks, as in MQ-RAVSBench.

The file of splits is a JSON object of split to list of names, or of groups of those; other keys are for people::

    {"rule": "by hash", "coco": {"train": ["a.jpg"], "test": ["b.jpg"]}, "davis": {"test": ["dog"]}}

A name is a clip's, or a picture's with or without its suffix. What the file does not name is in no split.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.cases import fields
from auscult.cases.datasets import mqravs, refavs
from auscult.cases.ids import natural_key
from auscult.cases.instances import InstanceListing, list_instances
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.jobs.options import arguments_of
from auscult.jobs.runner import (
    HINT,
    SAME_RESULT,
    Progress,
    ResultWriter,
    Silent,
    Workers,
    failed_row,
    finish_tables,
    require_unchanged,
    run_manifest,
)
from auscult.jobs.stress import TARGETS
from auscult.media.paths import read_bytes, safe_name
from auscult.outcome import Failed
from auscult.record.codec import from_json
from auscult.record.digest import digest_json
from auscult.record.folder import RunFolder, open_run
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, counted_by, error_to_json
from auscult.report.tables import Table
from auscult.suites.mqa.building import (
    UNREADABLE,
    BuildTask,
    InstanceSurvey,
    check_negatives,
    digest_of,
    make_builder,
    make_finder,
)
from auscult.suites.mqa.options import PROTOCOLS, UNLISTED, BuildOptions, MqaProtocol
from auscult.suites.mqa.sample import (
    SampledInstances,
    choose,
    is_clip,
    split_of,
    split_remarks,
    splits_in,
    with_photographs,
)
from auscult.suites.mqa.statistics import REASON_WORDS, JsonRow, iou_figure, sample_table, statistics
from auscult.suites.options import refuse_unknown_splits
from auscult.types import ACTIONS, DEFECTS, Instance, Moment
from auscult.work.pool import Task, run_tasks

SOUND = "audio"
MEDIA = "media"
FIGURE = "figures/iou.svg"
SURVEY = "survey.jsonl"
_FID: Final = re.compile(r"fid_([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class ClipFiles:
    """The files of a clip in the output folder."""

    frames: Mapping[Path, tuple[int, str]]  # source to number and name in the output folder, in order of time
    sound: tuple[Path, str] | None  # source and name there


def media_of(instances: Sequence[Instance]) -> dict[str, ClipFiles]:
    """Number the frames of every clip."""
    by_clip: dict[str, list[Instance]] = {}
    for instance in instances:
        by_clip.setdefault(instance.clip, []).append(instance)
    media = {}
    for clip, members in by_clip.items():
        moments = {moment.frame: moment for instance in members for moment in instance.moments}
        folder = f"{MEDIA}/{safe_name(clip)}"
        ordered = sorted(moments.values(), key=_when)
        frames = {
            moment.frame: (number, f"{folder}/frames/{number}{moment.frame.suffix.lower()}")
            for number, moment in enumerate(ordered)
        }
        sounds = [instance.sound for instance in members if instance.sound is not None]
        sound = (sounds[0], f"{folder}/{SOUND}{sounds[0].suffix.lower()}") if sounds else None
        media[clip] = ClipFiles(frames, sound)
    return media


def taken_of(survey: InstanceSurvey, options: BuildOptions) -> tuple[int, ...]:
    """Moments of the image protocol: the key frame, or every n-th that shows the target."""
    if not options.step:
        return () if survey.frame is None else (survey.frame,)
    showing = [index for index, area in enumerate(survey.areas) if area >= max(1, options.least_px)]
    return tuple(showing[:: options.step])


def build_tasks(
    sample: SampledInstances,
    taken: Mapping[str, Sequence[int]],
    *,
    options: BuildOptions,
    media: Mapping[str, ClipFiles],
) -> list[BuildTask]:
    """The tasks: the image protocol first, each in the order of the sample."""

    def task(instance: Instance, protocol: MqaProtocol, moments: Sequence[int]) -> BuildTask:
        clip = media[instance.clip]
        files = [clip.frames[instance.moments[index].frame] for index in moments]
        return BuildTask(
            instance=instance,
            protocol=protocol,
            moments=tuple(moments),
            numbers=tuple(number for number, _ in files),
            frames=tuple(name for _, name in files),
            sound=clip.sound[1] if clip.sound else None,
            several=protocol == "image" and options.step > 0,
        )

    images = [task(instance, "image", [index]) for instance in sample.instances for index in taken[instance.id]]
    videos = [task(instance, "video", _annotated(instance)) for chosen in sample.video.values() for instance in chosen]
    by_protocol = {"image": images, "video": videos}
    return [task for protocol in PROTOCOLS if protocol in options.protocols for task in by_protocol[protocol]]


def _annotated(instance: Instance) -> list[int]:
    return [index for index, moment in enumerate(instance.moments) if moment.target is not None]


def _when(moment: Moment) -> tuple[float, object]:
    return (-1.0 if moment.time_s is None else moment.time_s), natural_key(moment.frame.as_posix())


SOUND_REMARK = "frames"
"""Stage of a clip's missing sound, which is in ``errors.jsonl`` and affects no mask."""


def _copied(writer: ResultWriter, instance: Instance, media: ClipFiles) -> bool:
    """Copy the missing files of an instance's clip; False, with an error row, if a frame cannot be read."""
    try:
        for source, (_, name) in media.frames.items():
            _copy(writer.run, source, name)
    except InputError as error:
        writer.errors.keep([failed_row(instance, error, "read")])
        return False
    try:
        if media.sound is not None:
            _copy(writer.run, *media.sound)
    except InputError as error:
        writer.errors.keep([error_to_json(None, ErrorRecord.of(error, SOUND_REMARK))])
    return True


def _copy(run: RunFolder, source: Path, name: str) -> None:
    if not (run.path / name).is_file():
        run.write_bytes(name, read_bytes(source), durable=False)


_MOST_BYTES: Final = 64 << 20
_SHAPE: Final = '{"test": ["name", ...], ...}, or such objects by group'


def read_splits(path: Path) -> dict[str, str]:
    """Name to split."""
    splits: dict[str, str] = {}
    for split, name in _named(fields.load(path, max_bytes=_MOST_BYTES), path):
        if splits.setdefault(name, split) != split:
            raise UsageError(
                f"{name!r} stands in the splits {splits[name]!r} and {split!r}", path=path, expected="one split a name"
            )
    if not splits:
        raise UsageError("the file names no photograph or sequence of any split", path=path, expected=_SHAPE)
    return splits


def splits_digest(path: Path | None) -> str | None:
    """Hash of a file of splits for the manifest, so that a resumed run requires the same splits."""
    return None if path is None else digest_json(sorted(read_splits(path).items()))


def with_splits(instances: Sequence[Instance], splits: Mapping[str, str]) -> tuple[Instance, ...]:
    """The instances with the splits of a file; those not in the file are in ``UNLISTED``."""
    own = sorted({instance.split for instance in instances if instance.split})
    if own:
        raise UsageError(
            f"the source has splits of its own: {', '.join(own[:4])}",
            expected="a file of splits only for a source that has none",
            hint="leave --splits-file out and name a split with --split",
        )
    return tuple(replace(instance, split=_split_in(instance, splits)) for instance in instances)


def _split_in(instance: Instance, splits: Mapping[str, str]) -> str:
    frame = instance.moments[0].frame
    for name in (instance.clip, frame.name, frame.stem):
        if name in splits:
            return splits[name]
    return UNLISTED


def _named(value: Any, path: Path, *, depth: int = 0) -> Iterator[tuple[str, str]]:
    """(split, name) of every list in the object, and in the objects one level down."""
    if not isinstance(value, dict):
        raise UsageError(f"the file holds {type(value).__name__}", path=path, expected=_SHAPE)
    for key, entry in value.items():
        if isinstance(entry, list):
            if not key or key == UNLISTED or not all(isinstance(name, str) for name in entry):
                raise UsageError(f"split {key[:40]!r} is no list of names", path=path, expected=_SHAPE)
            yield from ((key, name) for name in entry)
        elif isinstance(entry, dict) and depth == 0:
            yield from _named(entry, path, depth=1)


_SHORT = 12

# The sample depends on the whole listing: a new instance in the source would give another benchmark.
_SAME_BENCHMARK = (SAME_RESULT - {"items", "listed"}) | {"base_url"}


def build_benchmark(options: BuildOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Build the benchmark from a source with true masks; returns its summary and tables."""
    options.check()
    make_finder(options.key_frame)  # raises on an unknown name before anything is written
    check_negatives(options.negatives, endpoint=options.endpoint)
    splits = None if options.splits_file is None else read_splits(options.splits_file)
    listing = list_instances(options.source, options.listing)
    loose = listing.layout == "datasets.folder.v1"  # any other layout marks its clips itself
    instances = with_photographs(listing.instances) if loose else listing.instances
    if splits is not None:
        instances = with_splits(instances, splits)
    _refuse_nothing(instances, options, has_errors=bool(listing.errors))
    with open_run(
        options.out, _manifest(options, listing, instances), overwrite=options.overwrite, ignore=_SAME_BENCHMARK
    ) as run:
        run.remove("errors.jsonl")  # failed work is tried again
        writer = ResultWriter(run, progress or Silent())
        writer.errors.keep(error_to_json(name, error) for name, error in listing.errors)
        sample, surveys = _sample(writer, instances, options)
        media = media_of(sample.instances)
        taken = {name: taken_of(result, options) for name, result in surveys.items() if result.frame is not None}
        tasks = build_tasks(sample, taken, options=options, media=media)
        _make(writer, tasks, media=media, options=options)
        remarks = (*listing.notes, *split_remarks(instances))
        return finish(run, tasks, sample=sample, options=options, remarks=remarks)


def _refuse_nothing(instances: Sequence[Instance], options: BuildOptions, *, has_errors: bool) -> None:
    """Raise if a source gives no instance, before anything is written."""
    splits = splits_in(instances, [split_of(instance) for instance in instances])
    if instances:
        refuse_unknown_splits(options.splits, splits)
    sample = choose(instances, options, rejected={})
    if sample.instances or has_errors:
        return
    reasons = sum(map(Counter, sample.left_out.values()), Counter[str]())
    text = "; left out: " + ", ".join(
        f"{REASON_WORDS.get(reason, reason)} ({reasons[reason]})" for reason in sorted(reasons)
    )
    raise NothingToDo(
        f"the source holds no object with a true mask to build from{text if reasons else ''}",
        path=options.source,
        hint="name a split with --split, or see docs/mqa.md for what is left out" if reasons else "see docs/mqa.md",
    )


def _sample(
    writer: ResultWriter, instances: Sequence[Instance], options: BuildOptions
) -> tuple[SampledInstances, dict[str, InstanceSurvey]]:
    """Choose instances and open their masks, until all chosen ones can be used."""
    rows = [row for row in writer.run.lines(SURVEY) if row["reason"] != UNREADABLE]
    path = writer.run.path / SURVEY
    surveys = {row["id"]: from_json(InstanceSurvey, row, path=path, hint=HINT) for row in rows}
    while True:
        rejected = {name: result.reason for name, result in surveys.items() if result.reason}
        sample = choose(instances, options, rejected=rejected)
        unseen = [instance for instance in sample.instances if instance.id not in surveys]
        if not unseen:
            writer.errors.keep(row for result in surveys.values() for row in result.errors)
            return sample, surveys
        surveys |= {result.id: result for result in _survey(writer, unseen, options)}


def _survey(writer: ResultWriter, instances: Sequence[Instance], options: BuildOptions) -> Iterator[InstanceSurvey]:
    writer.progress.stage("opening masks", len(instances))
    find = partial(make_finder, options.key_frame, least_px=options.least_px)
    tasks = (Task(instance.id, instance) for instance in instances)
    for result in run_tasks(find, tasks, workers=options.n_workers, timeout_s=options.timeout_s, stage="read"):
        outcome = result.outcome
        if isinstance(outcome, Failed):
            row = error_to_json(result.key, outcome.error)
            outcome = InstanceSurvey(id=result.key, frame=None, reason=UNREADABLE, errors=(row,))
        writer.run.append(SURVEY, asdict(outcome))
        yield outcome
        writer.progress.step()


def _make(
    writer: ResultWriter, tasks: Sequence[BuildTask], *, media: Mapping[str, ClipFiles], options: BuildOptions
) -> None:
    """Make the missing masks."""
    done = {row["id"]: row["input"] for row in writer.run.lines(TARGETS)}
    for task in tasks:
        if task.key in done:
            same, parts = partial(_is_same, task, done[task.key]), "frames, masks or expression have"
            require_unchanged(task.instance.id, same, path=task.instance.source, made="has masks", parts=parts)
    pending = [task for task in tasks if task.key not in done]
    writer.progress.stage("making masks", len(tasks))
    writer.progress.step(len(tasks) - len(pending))
    making, splits = options.making, splits_digest(options.splits_file)
    if splits is not None:
        making["splits_file"] = splits[:_SHORT]
    make = partial(
        make_builder,
        options.negatives,
        seed=options.seed,
        generator=options.generator,
        making=making,
        endpoint=options.endpoint,
    )
    workers = Workers(make=make, count=options.n_workers, stage="stress", timeout_s=options.timeout_s)
    for task, outcome in workers.results(pending):
        if isinstance(outcome, Failed):
            writer.errors.keep([error_to_json(task.instance.id, outcome.error)])
        elif outcome.errors or _copied(writer, task.instance, media[task.instance.clip]):
            writer.keep([outcome])
        writer.progress.step()


def _is_same(task: BuildTask, before: str) -> bool:
    return digest_of(task.instance, task.moments) == before


def _manifest(options: BuildOptions, listing: InstanceListing, instances: Sequence[Instance]) -> dict[str, Any]:
    arguments = arguments_of(options)
    arguments["keyframe"] = _name_of(arguments.pop("key_frame"))  # a manifest hides values of names with ``key``
    splits = splits_digest(options.splits_file)
    arguments |= {"suite": "mqa", "negatives": _name_of(options.negatives), "splits_file": splits}
    given = {name.replace("key_frame", "keyframe") for name in options.given} | {"suite"}
    listed = [
        [instance.id, instance.clip, instance.split, instance.query.text, len(instance.moments)]
        for instance in instances
    ]
    return run_manifest(
        "stress masks",
        replace(options, given=frozenset(given)),
        arguments=arguments,
        inputs={
            "layout": listing.layout,
            "items": len(instances),
            "listed": digest_json(listed),
            "notes": list(listing.notes),
        },
    )


def _name_of(value: object) -> str:
    """The name of a proposer or detector for the manifest."""
    if isinstance(value, str):
        return value
    name = getattr(value, "name", None) or getattr(value, "__qualname__", None) or type(value).__qualname__
    return f"{getattr(value, '__module__', '')}:{name}"


# --- the end of a build, and the benchmark in MQ-RAVSBench's own files ---


def layout_files(run: RunFolder, items: Sequence[JsonRow], tasks: Sequence[BuildTask]) -> dict[str, bytes]:
    """The released files, name to bytes; none for a split and protocol without a mask."""
    if not items:
        return {}
    frames = {row["id"]: row["frame"] for row in run.lines(SURVEY)}
    table = []
    for name, task in {task.instance.id: task for task in tasks}.items():
        key = frames.get(name)
        table.append(
            refavs.MetadataRow(
                vid=task.instance.clip,
                uid=name,
                split=split_of(task.instance),
                fid=object_number(task.instance),
                exp=task.instance.query.text or "",
                kfid=task.numbers[task.moments.index(key)] if key in task.moments else None,
            )
        )
    return mqravs.files_of(items, table)


def object_number(instance: Instance) -> int:
    """The target's number in its clip, from Ref-AVSBench's mask folder or a mask of several objects; else 0."""
    for moment in instance.moments:
        if moment.target is not None and moment.target.index is not None:
            return moment.target.index
        if moment.target is not None and moment.target.path is not None:
            match = _FID.fullmatch(moment.target.path.parent.name)
            return int(match[1]) if match else 0
    return 0


def finish(
    run: RunFolder,
    tasks: Sequence[BuildTask],
    *,
    sample: SampledInstances,
    options: BuildOptions,
    remarks: Sequence[str],
) -> tuple[Summary, list[Table]]:
    """Write all files that depend on the lines."""
    items, targets = _settled(run, tasks)
    failed = failed_rows(run.lines("errors.jsonl"), ())
    counted = sample_table(sample, options)
    note = "; ".join([counted.note, *remarks, *_without_video(sample, options)])
    tables = {"sample": replace(counted, note=note), **statistics(items, targets)}
    run.write_text(FIGURE, iou_figure(items))
    if not options.step:  # the release has one frame per instance in its image protocol
        for file, data in layout_files(run, items, tasks).items():
            run.write_bytes(file, data, durable=False)
    undefined = sum(entry.get("count", 1) for row in targets for entry in row["undefined"])
    summary = Summary(
        command="stress masks",
        n=len(items) + undefined + len(failed),
        ok=len(items),
        failed=len(failed),
        undefined=undefined,
        by_action=counted_by([row["truth"]["action"] for row in items], ACTIONS),
        by_defect=counted_by([row["truth"]["defect"] for row in items], DEFECTS),
        metrics={},
    )
    summary, shown = finish_tables(run, summary, tables)
    return summary, [table for table in shown if table.rows]


def _settled(run: RunFolder, tasks: Sequence[BuildTask]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Items and targets in the order of the tasks, whatever the timing of workers.

    A repaired file may have changed the sample: masks of instances that are no longer in it are removed.
    """
    positions = {task.key: position for position, task in enumerate(tasks)}
    rows = list({row["id"]: row for row in run.lines("items.jsonl")}.values())
    items = [row for row in rows if _key_of(row) in positions]
    for row in rows:
        if _key_of(row) not in positions:
            run.remove(row["mask"])
    items.sort(key=lambda row: positions[_key_of(row)])  # stable: the rows of an instance are in order
    targets = [row for row in run.lines("targets.jsonl") if row["id"] in positions]
    targets.sort(key=lambda row: positions[row["id"]])
    survey = sorted({row["id"]: row for row in run.lines(SURVEY)}.values(), key=lambda row: str(row["id"]))
    for name, settled in (("items.jsonl", items), ("targets.jsonl", targets), (SURVEY, survey)):
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in settled)
        run.write_text(name, text)
    return items, targets


def _key_of(row: Mapping[str, Any]) -> str:
    """The key of a row's task: its id without the name of the mask and, for video, the frame number."""
    return str(row["id"]).rsplit("/", 1 if row["mqa"]["protocol"] == "image" else 2)[0]


def _without_video(sample: SampledInstances, options: BuildOptions) -> list[str]:
    """Splits without video protocol, since the source has photographs, or one annotated frame per clip."""
    if "video" not in options.protocols:
        return []
    return [
        f"no video protocol for {split}: no clip has two annotated frames of the target"
        for split, chosen in sample.image.items()
        if chosen and split in sample.video and not any(is_clip(instance) for instance in chosen)
    ]
