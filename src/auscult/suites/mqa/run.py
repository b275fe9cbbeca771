"""``auscult run mqa``: make the benchmark, judge it with each judge, write tables, charts and a page.

Besides the files of ``core.page``::

    DIR/scenes/            generated scenes, where they are the source
    DIR/input/             the benchmark, where it is built here
    DIR/items.jsonl        what is judged: its evaluated part
    DIR/judges/<judge>/    the record of each judge, with its own report
    DIR/cells.json .csv    every number with interval, counts and signature
    DIR/pictures/          the examples
    DIR/errors.jsonl       what failed

The same command again repeats no work. Further judges are added to those of the folder; a judge that cannot be loaded
or crashes fails alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from auscult.act.policy import Policy, load_policy
from auscult.cases.listing import Listing, ListOptions, list_items
from auscult.errors import AuscultError, ErrorRecord, Mismatch, NothingToDo, OutputError, RecordError, UsageError
from auscult.jobs.audit import Audit, audit_folder
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.judges import JudgeAsking, JudgeSpec, judge_spec
from auscult.jobs.judging import VERDICTS, identity_arguments
from auscult.jobs.options import AuditOptions, ChatJudgeOptions
from auscult.jobs.runner import SAME_RESULT, ErrorLog, Progress, Silent, item_row, refuse_changed
from auscult.media.masks import read_mask
from auscult.record.digest import digest_json
from auscult.record.folder import INPUT, MANIFEST, RunFolder, open_run
from auscult.record.lines import read_lines
from auscult.record.manifest import argument
from auscult.record.reader import Run, read_run
from auscult.record.schema import error_to_json
from auscult.scenes.splits import SPLITS
from auscult.suites.mqa.build import build_benchmark, splits_digest
from auscult.suites.mqa.costs import TIMING, spent_usd
from auscult.suites.mqa.evaluate import blocks_of, training_of
from auscult.suites.mqa.finish_run import COMMAND, JUDGES, Basis, outcome_of, read_timings, write_results
from auscult.suites.mqa.options import BuildOptions, Making, MqaOptions
from auscult.suites.mqa.rows import KEY, MAKING, TRUTH, Candidate, candidates_of, constant_of
from auscult.suites.options import SCENES, refuse_unknown_splits
from auscult.suites.registered import SuiteRun, refuse_idle
from auscult.suites.scene_source import scenes_of
from auscult.types import Item, MaskRef

FILE: Final = "items.jsonl"
FRAME_LIMIT_S: Final = 120.0
"""Default time limit for the masks of one frame together."""


# --- the benchmark of a run, made here or given ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """The benchmark of a run."""

    source: Path
    listing: Listing
    made: bool  # whether this run built it
    lost: int = 0  # count of instances that could not be built; see input/errors.jsonl


def benchmark_of(options: MqaOptions, progress: Progress) -> Benchmark:
    """Find the benchmark, or build it into ``input/`` of the output folder.

    A source whose items have a position in a benchmark is used as it is: an INPUT of ``auscult stress masks --suite
    mqa``, or a released MQ-RAVSBench folder; also an INPUT of plain ``auscult stress masks``, whose truths name
    defects. From any other source with true masks a benchmark is built.
    """
    if options.data == SCENES:
        refuse_unknown_splits(options.splits, SPLITS)
        return _built(scenes_of(options, progress), options, progress)
    source = Path(options.data)
    listing = _listed(source, options)
    if listing is not None and any(_stands(item) for item in listing.items):
        _refuse_making(options, source)
        return Benchmark(source=source, listing=listing, made=False)
    return _built(source, options, progress)


def _refuse_making(options: MqaOptions, source: Path) -> None:
    """Refuse options of making masks for a source that has them."""
    for name in ("generator", *MAKING):
        if getattr(options, name) != getattr(Making, name):
            raise UsageError(
                f"--{name.replace('_', '-')} says how a benchmark is made, and this one is made already",
                path=source,
                expected="a source with true masks",
                hint="leave the option out, or name the source that the benchmark was made from",
            )


def _listed(source: Path, options: MqaOptions) -> Listing | None:
    """The items of a source; None without a layout of items (the builder reads further layouts)."""
    try:
        return list_items(source, ListOptions(images=options.images))
    except (NothingToDo, UsageError):
        return None


def _stands(item: Item) -> bool:
    """Whether an item has a position in a benchmark, or was made by ``auscult stress masks``."""
    return KEY in item.extra or ("stress" in item.extra and item.truth is not None and item.truth.defect is not None)


def _built(source: Path, options: MqaOptions, progress: Progress) -> Benchmark:
    folder = options.out / INPUT
    summary, _ = build_benchmark(
        BuildOptions(
            source=source,
            out=folder,
            listing=ListOptions(images=options.images),
            workers=options.workers,
            timeout_s=options.limit_s(FRAME_LIMIT_S),
            overwrite=options.overwrite,
            base_url=options.base_url,
            profile=options.profile,
            **{field.name: getattr(options, field.name) for field in fields(Making)},
        ),
        progress,
    )
    return Benchmark(source=folder, listing=list_items(folder, ListOptions()), made=True, lost=summary.failed)


# --- the input of the judges ---


def with_measured(
    candidates: Sequence[Candidate], items: Mapping[str, Item], ious: Mapping[str, float]
) -> list[Candidate]:
    """Candidates with the IoU of their masks and the object's share of the frame; None if unknown."""
    areas: dict[tuple[str, int | None], float | None] = {}

    def area_of(candidate: Candidate) -> float | None:
        truth = items[candidate.id].truth
        if candidate.area is not None or truth is None or truth.mask is None:
            return candidate.area
        key = str(truth.mask.path or candidate.id), truth.mask.index
        if key not in areas:
            areas[key] = _share(truth.mask)
        return areas[key]

    return [
        replace(candidate, iou=ious.get(candidate.id, candidate.iou), area=area_of(candidate))
        for candidate in candidates
    ]


def _share(ref: MaskRef) -> float | None:
    try:
        return float(read_mask(ref).mask.mean())
    except AuscultError:
        return None


def root_of(folder: Path, items: Sequence[Item]) -> Path | None:
    """The common folder of the record and all its files; None if all are in the record."""
    home = folder.resolve()
    parents = {home, *(path.resolve().parent for item in items for path in _paths(item))}
    try:
        root = Path(os.path.commonpath(parents))
    except ValueError as error:
        raise UsageError(
            "output folder and benchmark lie on different drives", hint="choose an --out on the benchmark's drive"
        ) from error
    return None if root == home else root


def line_of(item: Item, folder: Path) -> dict[str, Any]:
    """An item as a line of ``items.jsonl`` in a folder; unknown keys are kept."""
    home = folder.resolve()

    def name(path: Path) -> str:
        return Path(os.path.relpath(path.resolve(), home)).as_posix()

    def mask(ref: MaskRef) -> Any:
        if ref.path is None:
            return ref.segmentation
        plain = ref.index is None and not ref.labels
        colours = {"rgb": True} if ref.rgb else {}
        return (
            name(ref.path) if plain else {"path": name(ref.path), "index": ref.index, "labels": ref.labels, **colours}
        )

    row = {"id": item.id, "frame": name(item.frame), "mask": mask(item.mask), **item_row(item)}
    if item.audio is not None:
        row["audio"] = name(item.audio)
    if item.truth is not None:
        truth = {} if item.truth.mask is None else {"mask": mask(item.truth.mask)}
        truth |= {key: value for key in TRUTH if (value := getattr(item.truth, key)) is not None}
        row["truth"] = truth
    extra = {key: value for key, value in item.extra.items() if key not in row}
    video = extra.get("video")
    if isinstance(video, str) and item.source is not None and "\0" not in video:
        extra["video"] = name(item.source.parent / video)  # relative to the new folder
    return row | extra


def _paths(item: Item) -> list[Path]:
    masks = (item.mask, None if item.truth is None else item.truth.mask)
    sound = () if item.audio is None else (item.audio,)
    return [item.frame, *sound, *(ref.path for ref in masks if ref is not None and ref.path is not None)]


# --- the run ---


def run_mqa(options: MqaOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark; earlier verdicts are kept."""
    listener = progress or Silent()
    judges = _judges(options)
    refuse_idle(options, {})
    policy = load_policy(options.policy)
    manifest = _manifest(options, judges, policy)
    with open_run(
        options.out, manifest, overwrite=options.overwrite, ignore=SAME_RESULT | {"judge", "judge_from"}
    ) as run:
        run.remove("errors.jsonl")  # failed work is tried again
        errors = ErrorLog(run)
        benchmark = benchmark_of(options, listener)
        errors.keep(error_to_json(name, error) for name, error in benchmark.listing.errors)
        candidates, broken = candidates_of(benchmark.listing.items, films=filmed(benchmark.listing))
        errors.keep(error_to_json(name, error) for name, error in broken)
        tested = _tested(candidates, options, benchmark)
        items = _write_items(run, benchmark, tested)
        _judge_all(run, options, judges, items=items, errors=errors, progress=listener)
        runs = _runs(run.path / JUDGES, judges, items, policy=policy, overwrite=options.overwrite)
        basis = Basis(
            judges=tuple(runs),
            constant=constant_of([candidate for candidate in training_of(candidates) if candidate.id not in items]),
            unlisted=len(benchmark.listing.errors) + len(broken) + benchmark.lost,
        )
        measured = with_measured(tested, items, _true_ious(runs.values()))
        listener.stage("tables and report", 0)
        timings = read_timings(run.path)
        outcome = outcome_of(COMMAND, measured, runs, basis=basis, policy=policy, timings=timings)
        return replace(write_results(run, outcome, items), remarks=_training_remark(candidates, tested))


def _training_remark(candidates: Sequence[Candidate], tested: Sequence[Candidate]) -> tuple[str, ...]:
    """How many clips are not judged since they are of the training split; nothing where there are none."""
    judged = {candidate.clip for candidate in tested}
    training = {candidate.clip for candidate in training_of(candidates)} - judged
    if not training:
        return ()
    counts = f"{len(judged):,} of {len(judged | training):,} clips or photographs"
    return (f"note: judged: {counts}; the others are of the training split, which gives the constant row alone",)


def _judges(options: MqaOptions) -> dict[str, JudgeSpec]:
    options.check_protocols()
    specs: dict[str, JudgeSpec] = {}
    asking = JudgeAsking.of(options, None)
    for spec in (judge_spec(text, asking=asking) for text in options.judges):
        if specs.setdefault(spec.name, spec).arguments != spec.arguments:
            raise UsageError(
                f"two judges are called {spec.name}",
                expected="judges with names of their own",
                hint="rename the folder, file or program of one of them",
            )
    if not specs:
        raise UsageError("no judge was named", expected="at least one --judge", hint="`auscult list judge` shows them")
    return specs


def _manifest(options: MqaOptions, judges: Mapping[str, JudgeSpec], policy: Policy) -> dict[str, Any]:
    decided: dict[str, Any] = {
        "judge": list(judges),
        "judge_from": {name: entry.origin for name, entry in judges.items()},
        "splits_file": splits_digest(options.splits_file),
        "policy": asdict(policy),
        "timeout": options.limit_s(FRAME_LIMIT_S),
    }
    identity = identity_arguments(options.identity, options.identity_weights)
    without = frozenset({"identity", "identity_weights", *(option.name for option in fields(ChatJudgeOptions))})
    return options.manifest(COMMAND, without=without, **decided, **identity)


def _tested(candidates: Sequence[Candidate], options: MqaOptions, benchmark: Benchmark) -> list[Candidate]:
    """The evaluated candidates of the protocols and splits in the options."""
    selected = [candidate for candidate in candidates if candidate.protocol in options.protocols]
    if options.splits and not benchmark.made:
        selected = [candidate for candidate in selected if candidate.split in options.splits]
    tested = [candidate for block in blocks_of(selected) for candidate in block.candidates]
    if not tested:
        raise NothingToDo(
            "the benchmark holds no candidate of the protocols and splits that were asked for",
            path=benchmark.source,
            expected="candidate masks whose truth names a defect",
            hint="see its tables/ folder, or leave --protocol and --split out",
        )
    return tested


def _write_items(run: RunFolder, benchmark: Benchmark, candidates: Sequence[Candidate]) -> dict[str, Item]:
    """Write the INPUT of the judges; returns its items by id."""
    by_id = {item.id: item for item in benchmark.listing.items}
    chosen = {candidate.id: by_id[candidate.id] for candidate in candidates}
    run.write_lines(FILE, (line_of(item, run.path) for item in chosen.values()))
    return chosen


def _judge_all(
    run: RunFolder,
    options: MqaOptions,
    judges: Mapping[str, JudgeSpec],
    *,
    items: Mapping[str, Item],
    errors: ErrorLog,
    progress: Progress,
) -> None:
    root = root_of(run.path, list(items.values()))
    chat = {option.name: getattr(options, option.name) for option in fields(ChatJudgeOptions)}
    for name, judge in judges.items():
        progress.stage(f"judge {name}", 0)
        others = (path for path in (run.path / JUDGES).glob("*") if path.name != name)
        spent = sum(spent_usd(path) or 0.0 for path in others)
        job = AuditOptions(
            source=run.path / FILE,
            out=run.path / JUDGES / name,
            judge=judge.given,
            policy=options.policy,
            identity=options.identity,
            identity_weights=options.identity_weights,
            **chat | {"budget": None if options.budget is None else max(0.0, options.budget - spent)},
            listing=ListOptions(root=root),
            workers=options.workers,
            timeout_s=options.limit_s(FRAME_LIMIT_S),
            overwrite=options.overwrite,
            alone=True,
        )
        done = 0 if options.overwrite else sum(1 for _ in read_lines(job.out / VERDICTS))
        timed = _Timed(progress)
        try:
            audit_folder(job, timed)
        except (RecordError, OutputError):
            raise
        except AuscultError as error:  # this judge has no card, or cannot be loaded: the others go on
            errors.keep([error_to_json(None, ErrorRecord.of(error, "judge"))])
        finally:
            if timed.masks > done:
                run.append_many(TIMING, [{"judge": name, "masks": timed.masks - done, "seconds": timed.seconds}])


class _Timed:
    """Passes progress on; counts and times the judged masks, with those of earlier commands."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._begun = progress, -1.0
        self.masks, self.seconds = 0, 0.0

    def stage(self, name: str, total: int) -> None:
        """Begin a stage."""
        self._begun = time.perf_counter() if name == Audit.doing else -1.0
        self._progress.stage(name, total)

    def step(self, count: int = 1) -> None:
        """Count finished steps."""
        if self._begun >= 0:
            self.masks, self.seconds = self.masks + count, time.perf_counter() - self._begun
        self._progress.step(count)


def _runs(
    folder: Path, names: Iterable[str], items: Mapping[str, Item], *, policy: Policy, overwrite: bool
) -> dict[str, Run | None]:
    """The records of this command's judges (None for a failed one), and of earlier judges of the same masks."""
    existing = sorted(path.name for path in folder.iterdir() if (path / MANIFEST).exists()) if folder.is_dir() else []
    runs = {name: read_run(folder / name) if name in existing else None for name in names}
    for name in existing:
        if name in runs or overwrite:
            continue
        before = read_run(folder / name)
        if digest_json(argument(before.manifest, "policy")) != digest_json(asdict(policy)):
            continue
        with suppress(Mismatch):
            refuse_changed({verdict.id: row.get("input") for verdict, row in before.verdicts}, list(items.values()))
            runs[name] = before
    return runs


def _true_ious(runs: Iterable[Run | None]) -> dict[str, float]:
    """Item id to true IoU, computed from the masks."""
    truths = (row for run in runs if run is not None for row in run.truths())
    return {row["id"]: float(row["iou"]) for row in truths if row.get("iou") is not None}
