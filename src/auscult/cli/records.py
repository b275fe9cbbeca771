"""``auscult score``, ``compare``, ``levels`` and ``report``: numbers and pages from files on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auscult.cli import show
from auscult.cli.audit import show_record
from auscult.cli.command import Shown, command
from auscult.errors import UsageError
from auscult.jobs.options import CompareOptions, EffectsOptions, LevelsOptions, ReportOptions, ScoreOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from auscult.record.schema import Summary
    from auscult.report.tables import Table
    from auscult.suites.core.records import ModelSuite


@command(ScoreOptions)
def score(options: ScoreOptions, shown: Shown) -> None:
    """Score a record from what it holds or by a table of labels, or two folders of masks or of sound."""
    from auscult.jobs.score import PROTOCOLS, score_folders

    _refuse_media(path for path in (options.prediction, options.truth) if path is not None)
    tables: Sequence[Table]
    errors: Sequence[Mapping[str, Any]] = ()
    of_record = options.truth is None or options.truth.is_file()
    if options.truth is None:
        with show.busy("scoring the record"):
            summary, tables = _score_record(options.prediction)
    elif of_record:
        from auscult.jobs.finish import score_labels

        with show.busy("scoring the record"):
            summary, tables = score_labels(options.prediction, options.truth)
    else:
        score_all = score_folders
        if options.protocol not in PROTOCOLS:
            from auscult.jobs.score_sound import score_sounds as score_all
        with show.progress_bar(quiet=shown.quiet) as progress:
            summary, tables, errors = score_all(options, progress)
    show.result(summary, tables, shown, record=options.prediction if of_record else options.out, errors=errors)


def _refuse_media(paths: Iterable[Path]) -> None:
    """Refuse a single sound or mask, which is neither a record nor a table of labels."""
    from auscult.media.frames import MASK_SUFFIXES
    from auscult.media.sound import SOUND_SUFFIXES

    for path in paths:
        if path.suffix.lower() in MASK_SUFFIXES | SOUND_SUFFIXES and path.is_file():
            raise UsageError(
                "this is a file",
                path=path,
                expected="two folders of masks, or two folders of sounds with --protocol si_sdr",
                hint="files are paired by name; `auscult list score` has the other protocols",
            )


def _score_record(folder: Path) -> tuple[Summary, Sequence[Table]]:
    """Score a record with the verb or suite that made it."""
    from auscult.record.folder import read_manifest
    from auscult.record.reader import require_record

    require_record(folder)
    command = read_manifest(folder)["command"]
    if command == "run mqa":
        from auscult.suites.mqa.finish_run import score_mqa

        result = score_mqa(folder)
        return result.summary, result.shown
    if command.startswith("run "):
        from auscult.suites.core import records

        suite = records.suite_of(command, folder)
        if suite is not None:
            result = records.score_record(folder, suite)
            for remark in result.remarks:
                show.say(remark)
            return result.summary, result.shown
    from auscult.jobs.finish import score_record

    return score_record(folder)


@command(LevelsOptions, shown=("max_failed", "json"))
def levels(options: LevelsOptions, shown: Shown) -> None:
    """Turn a table of AVI-Bench's task scores into stages and the four levels."""
    from auscult.jobs.levels import run_levels

    result = run_levels(options)
    show.result(result.summary, result.tables, shown, record=None, errors=result.errors, kept="")


@command(EffectsOptions, shown=("json",))
def effects(options: EffectsOptions, shown: Shown) -> None:
    """Say what each part of composed models is worth, and whether other seeds change who is better."""
    from auscult.jobs.effects import run_effects

    summary, tables = run_effects(options)
    if shown.json:
        show.as_json(summary.as_json())
    else:
        show.tables(tables)


@command(ReportOptions, shown=("json",))
def report(options: ReportOptions, shown: Shown) -> None:
    """Lay out a record again: report.html, and of an audit the tables too, without judging or asking anything."""
    from auscult.jobs.finish import AGAIN, is_suite, report_folder, report_suite
    from auscult.record.reader import read_summary

    folder = options.folder
    if not is_suite(folder):
        with show.busy("laying out the record"):
            summary = report_folder(folder)
        show_record(folder, summary=summary.as_json(), json=shown.json)
        if options.video:
            from auscult.jobs.video_report import write_videos

            with show.progress_bar(quiet=shown.json) as progress:
                for path in write_videos(folder, progress):
                    show.say(f"video: {path}")
        show.failures(folder)
        return
    if options.video:
        raise UsageError("a benchmark has no clips to draw", expected="a record of `auscult audit`", path=folder)
    with show.busy("laying out the record"):
        page = report_suite(folder)
    if shown.json:
        show.as_json(read_summary(folder, hint=AGAIN))
        return
    show.tables(page.shown)
    for message in page.lost:
        show.say(message)
    show.say(f"report: {folder / 'report.html'}")
    show.failures(folder)


@command(CompareOptions, shown=("json",))
def compare(options: CompareOptions, shown: Shown) -> None:
    """Compare judges, or models under test, from their records: paired differences on the same items or cases."""
    suite = _suite_of(options.folders)
    with show.busy("comparing"):
        summary, tables, notes = _compared_judges(options) if suite is None else _compared_models(options, suite)
    for note in notes:
        show.say(note)
    if shown.json:
        show.as_json(summary.as_json())
    else:
        show.tables(tables)
    if options.out is not None:
        show.say(f"report: {options.out / 'report.html'}")
    for folder in options.folders:
        show.failures(folder)


def _suite_of(folders: Sequence[Path]) -> ModelSuite | None:
    """The suite of models of all records, or None; raises for records of different kinds."""
    from auscult.record.folder import read_manifest
    from auscult.record.reader import require_record

    for folder in folders:
        require_record(folder)
    commands = {folder: read_manifest(folder)["command"] for folder in folders}
    if not any(command.startswith("run ") for command in commands.values()):
        return None
    from auscult.suites.core.records import suite_of

    suites = {folder: suite_of(made_by, folder) for folder, made_by in commands.items()}
    first = next((folder for folder, suite in suites.items() if suite is not None), None)
    if first is None:
        return None
    other = next((folder for folder, command in commands.items() if command != commands[first]), None)
    if other is not None:
        raise UsageError(
            f"{first.name} is a record of `auscult {commands[first]}`, {other.name} of `auscult {commands[other]}`",
            expected="records of one kind: of models under test, or of judges",
        )
    return suites[first]


def _compared_judges(options: CompareOptions) -> tuple[Summary, Sequence[Table], Sequence[str]]:
    from auscult.jobs.compare import compare_folders, write_comparison

    folders, out = options.folders, options.out
    compared = compare_folders(folders) if out is None else write_comparison(folders, out, overwrite=options.overwrite)
    return compared.summary, compared.tables, ()


def _compared_models(options: CompareOptions, suite: ModelSuite) -> tuple[Summary, Sequence[Table], Sequence[str]]:
    from auscult.suites.core.compare import compare_records, write_comparison

    folders, out = options.folders, options.out
    if out is None:
        compared = compare_records(folders, suite)
    else:
        compared = write_comparison(folders, suite, out, overwrite=options.overwrite)
    return compared.summary, compared.shown, compared.notes
