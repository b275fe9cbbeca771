"""``auscult run mqa``: the benchmark made, judged by each judge, and told in tables, charts and one page.

::

    DIR/scenes/            generated scenes, where they are the source
    DIR/input/             the benchmark, where it is built here
    DIR/items.jsonl        what is judged: its evaluated part
    DIR/judges/<judge>/    the record of each judge, with its own report
    DIR/cells.json .csv    every number with interval, counts and signature
    DIR/tables/            each table as JSON, CSV and LaTeX
    DIR/pictures/          the examples
    DIR/report.html summary.json errors.jsonl

The same command again computes nothing that is done. Another judge is added to those that the folder has; a judge that
cannot be loaded, or that crashes, costs its own cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from auscult import registry
from auscult.act.policy import Policy, load_policy
from auscult.cases.listing import ListOptions
from auscult.errors import AuscultError, ErrorRecord, Mismatch, NothingToDo, OutputError, RecordError, UsageError
from auscult.jobs.audit import AuditOptions, audit_folder
from auscult.jobs.clip_tracks import filmed
from auscult.jobs.errors import ErrorLog
from auscult.jobs.finish import counted_by
from auscult.jobs.identities import identity_arguments
from auscult.jobs.manifests import SAME_RESULT
from auscult.jobs.progress import Progress, Silent
from auscult.jobs.resume import refuse_changed
from auscult.jobs.rows import known
from auscult.record.digest import digest_json
from auscult.record.folder import MANIFEST, RunFolder, open_run
from auscult.record.manifest import argument
from auscult.record.manifest import build as build_manifest
from auscult.record.reader import Run, read_run
from auscult.record.schema import error_to_json
from auscult.suites.mqa.areas import with_areas
from auscult.suites.mqa.baselines import baseline_answers, constant_of
from auscult.suites.mqa.benchmark import FRAME_LIMIT_S, Benchmark, benchmark_of
from auscult.suites.mqa.evaluate import blocks_of, training_of
from auscult.suites.mqa.finish_run import Outcome, write_results
from auscult.suites.mqa.judged import FILE, line_of, root_of
from auscult.suites.mqa.parts import splits_digest
from auscult.suites.mqa.rows import PROTOCOLS, Answers, Candidate, answers_of, candidates_of, with_true_ious
from auscult.suites.registered import SuiteOptions, SuiteRun, refuse_idle
from auscult.types import ACTIONS, DEFECTS, Item

COMMAND = "run mqa"
JUDGES = "judges"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the judges' records say.

    Attributes:
        answers: Judge to answers, those asked for first, then what the folder had before.
        runs: Judge to record; a judge that has none failed as a whole.
        ious: Item id to true IoU, as computed from the masks.
    """

    answers: Mapping[str, Answers]
    runs: Mapping[str, Run]
    ious: Mapping[str, float]


def run_mqa(options: SuiteOptions, progress: Progress | None = None) -> SuiteRun:
    """Run the benchmark.

    Args:
        options: What to run it on and how.
        progress: Who listens.

    Returns:
        Summary and tables; the record lies in ``options.out``.

    Raises:
        UnknownName: There is no such judge or identity check.
        UsageError: An option is unknown, or no judge was named.
        NothingToDo: The source holds nothing to judge.
        RecordError: The folder is in use, or was made with other arguments.
    """
    listener = progress or Silent()
    judges = _judges(options)
    refuse_idle(options, {})
    policy = load_policy(options.policy)
    manifest = _manifest(options, judges, policy)
    with open_run(
        options.out, manifest, overwrite=options.overwrite, ignore=SAME_RESULT | {"judge", "judge_from"}
    ) as run:
        run.remove("errors.jsonl")  # whatever failed before is tried again now
        errors = ErrorLog(run)
        benchmark = benchmark_of(options, listener)
        errors.keep(error_to_json(name, error) for name, error in benchmark.listing.errors)
        candidates, broken = candidates_of(benchmark.listing.items, films=filmed(benchmark.listing))
        errors.keep(error_to_json(name, error) for name, error in broken)
        tested = _tested(candidates, options, benchmark)
        items = _write_items(run, benchmark, tested)
        judged = _judge_all(run, options, judges, items=items, policy=policy, errors=errors, progress=listener)
        outcome = _outcome(judged, candidates, with_areas(tested, items), policy=policy)
        return write_results(
            run, outcome, items=items, unlisted=len(benchmark.listing.errors) + len(broken) + benchmark.lost
        )


def _judges(options: SuiteOptions) -> dict[str, registry.Entry]:
    for name in options.protocols:
        if name not in PROTOCOLS:
            raise UsageError(f"there is no protocol {name!r}", expected="image, video, or both")
    if not options.protocols:
        raise UsageError("no protocol was chosen", expected="image, video, or both")
    found = [registry.find("judge", name) for name in options.judges]
    if not found:
        raise UsageError("no judge was named", expected="at least one --judge", hint="`auscult list judge` shows them")
    return {entry.name: entry for entry in found}


def _manifest(options: SuiteOptions, judges: Mapping[str, registry.Entry], policy: Policy) -> dict[str, Any]:
    data = options.data if isinstance(options.data, str) else str(options.data.resolve())
    everything = {
        "data": data,
        "out": str(options.out),
        "judge": list(judges),
        "judge_from": {name: entry.origin for name, entry in judges.items()},
        "count": options.count,
        "seed": options.seed,
        "assets": None if options.assets is None else str(options.assets.resolve()),
        "protocol": list(options.protocols),
        "split": list(options.splits),
        "negatives": options.negatives,
        "images": None if options.images is None else str(options.images.resolve()),
        "generator": options.generator,
        "take": options.take,
        "objects": options.objects,
        "least_px": options.least_px,
        "splits_file": splits_digest(options.splits_file),
        "policy": asdict(policy),
        "workers": options.crew_size,
        "timeout": options.limit_s(FRAME_LIMIT_S),
        **identity_arguments(options.identity, options.identity_weights),
    }
    spelled = options.given | {"data", "out"}
    return build_manifest(
        COMMAND,
        given={key: value for key, value in everything.items() if key in spelled},
        defaulted={key: value for key, value in everything.items() if key not in spelled},
        seeds={"seed": options.seed},
        inputs={},
    )


def _tested(candidates: Sequence[Candidate], options: SuiteOptions, benchmark: Benchmark) -> list[Candidate]:
    """The candidates of the wanted protocols that are evaluated.

    Raises:
        NothingToDo: There are none.
    """
    wanted = [one for one in candidates if one.protocol in options.protocols]
    if options.splits and not benchmark.made:
        wanted = [one for one in wanted if one.split in options.splits]
    tested = [one for block in blocks_of(wanted) for one in block.candidates]
    if not tested:
        raise NothingToDo(
            "the benchmark holds no candidate of the protocols and splits that were asked for",
            path=benchmark.source,
            expected="candidate masks whose truth names a defect",
            hint="see its tables/ folder, or leave --protocol and --split out",
        )
    return tested


def _write_items(run: RunFolder, benchmark: Benchmark, tested: Sequence[Candidate]) -> dict[str, Item]:
    """Write the INPUT of the judges; gives its items by id, as the benchmark lists them."""
    by_id = {item.id: item for item in benchmark.listing.items}
    chosen = {one.id: by_id[one.id] for one in tested}
    run.remove(FILE)
    run.append_many(FILE, [line_of(item, run.path) for item in chosen.values()])
    return chosen


def _judge_all(
    run: RunFolder,
    options: SuiteOptions,
    judges: Mapping[str, registry.Entry],
    *,
    items: Mapping[str, Item],
    policy: Policy,
    errors: ErrorLog,
    progress: Progress,
) -> Judged:
    root = root_of(run.path, list(items.values()))
    for name in judges:
        progress.stage(f"judge {name}", 0)
        job = AuditOptions(
            source=run.path / FILE,
            out=run.path / JUDGES / name,
            judge=name,
            policy=options.policy,
            identity=options.identity,
            identity_weights=options.identity_weights,
            listing=ListOptions(root=root),
            workers=options.workers,
            timeout_s=options.limit_s(FRAME_LIMIT_S),
            overwrite=options.overwrite,
            alone=True,
        )
        try:
            audit_folder(job, progress)
        except (RecordError, OutputError):
            raise
        except AuscultError as error:  # this judge has no card, or cannot be loaded: the others go on
            errors.keep([error_to_json(None, ErrorRecord.of(error, "judge"))])
    return _read(run.path / JUDGES, list(judges), items, policy=policy, overwrite=options.overwrite)


def _read(folder: Path, asked: Sequence[str], items: Mapping[str, Item], *, policy: Policy, overwrite: bool) -> Judged:
    """Read the records of the judges asked for, and of those that judged the same masks here before."""
    there = sorted(path.name for path in folder.iterdir() if (path / MANIFEST).is_file()) if folder.is_dir() else []
    runs = {name: read_run(folder / name) for name in asked if name in there}
    answers: dict[str, Answers] = {name: _answers(runs[name], items) if name in runs else {} for name in asked}
    for name in there:
        if name in answers or overwrite:
            continue
        before = read_run(folder / name)
        if digest_json(argument(before.manifest, "policy")) != digest_json(asdict(policy)):
            continue
        with suppress(Mismatch):
            refuse_changed({verdict.id: row.get("input") for verdict, row in before.verdicts}, list(items.values()))
            runs[name], answers[name] = before, _answers(before, items)
    ious: dict[str, float] = {}
    for name, run in runs.items():
        truths = known(run.lines("truth.jsonl"), path=folder / name / "truth.jsonl")
        ious |= {str(row["id"]): float(row["iou"]) for row in truths if row.get("iou") is not None}
    return Judged(answers=answers, runs=runs, ious=ious)


def _answers(run: Run, items: Mapping[str, Item]) -> Answers:
    return answers_of(verdict for verdict, _ in run.verdicts if verdict.id in items)


def _outcome(
    judged: Judged, candidates: Sequence[Candidate], tested: Sequence[Candidate], *, policy: Policy
) -> Outcome:
    exact = with_true_ious(tested, judged.ious)
    judged_ids = {one.id for one in tested}
    constant = constant_of([one for one in training_of(candidates) if one.id not in judged_ids])
    rows = {**judged.answers, **baseline_answers(exact, constant, policy)}
    verdicts = [verdict for run in judged.runs.values() for verdict, _ in run.verdicts]
    counted = {
        "by_action": counted_by([verdict.action or "" for verdict in verdicts], ACTIONS),
        "by_defect": counted_by([verdict.defect for verdict in verdicts], (*DEFECTS, "empty")),
    }
    return Outcome(
        command=COMMAND,
        candidates=tuple(exact),
        judges=judged.answers,
        rows=rows,
        constant=constant,
        by_action=counted["by_action"],
        by_defect=counted["by_defect"],
    )
