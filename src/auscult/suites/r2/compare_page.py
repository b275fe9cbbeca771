"""A comparison written down: tables, figures, numbers and one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from auscult.errors import UsageError
from auscult.record.digest import digest_file
from auscult.record.folder import RunFolder, open_run
from auscult.record.manifest import build as build_manifest
from auscult.report.facts import facts_of
from auscult.report.suite import SuitePage, write_page
from auscult.suites.leftovers import remove_stale, written_files
from auscult.suites.r2.compare import COMMAND, R2Comparison, compare_r2
from auscult.suites.r2.results import FAILED, write_parts
from auscult.suites.r2.scoring import FILE as SCORES
from auscult.suites.r2.tables import is_baseline


def write_comparison(folders: Sequence[Path], out: Path, *, overwrite: bool = False) -> R2Comparison:
    """Compare records and write what comes out into a folder of its own.

    Args:
        folders: As in ``compare_r2``.
        out: The output folder; the same command again replaces what it wrote.
        overwrite: Begin anew over another comparison.

    Returns:
        The comparison.

    Raises:
        UsageError: As in ``compare_r2``, or ``out`` is one of the records, or lies in one or around one.
        RecordError: As in ``compare_r2``, or ``out`` is in use or was made with other arguments or records.
        OutputError: It cannot be written.
    """
    home = out.resolve()
    for folder in folders:
        other = folder.resolve()
        if home.is_relative_to(other) or other.is_relative_to(home):
            raise UsageError(
                "the output folder and a record that is compared are one, or one lies in the other",
                path=out,
                expected="a folder of its own",
                hint="choose another --out",
            )
    found = compare_r2(folders)
    with open_run(out, _manifest(folders, found), overwrite=overwrite) as run:
        write_parts(run, tables=found.tables, charts=found.charts, numbers=found.numbers)
        run.write_json("summary.json", found.summary.as_json())
        write_page(run, replace(_page(run, found), shown=tuple(found.shown)), found.tables)
        remove_stale(run, written_files(found.tables, (chart.name for chart in found.charts)))
        run.finish()
    return found


def _manifest(folders: Sequence[Path], found: R2Comparison) -> dict[str, object]:
    records = [record for one in found.sets for record in one.records]
    return build_manifest(
        COMMAND,
        given={"records": [str(folder.resolve()) for folder in folders]},
        defaulted={},
        seeds={"seed": found.sets[0].view.seed},
        inputs={record.label: digest_file(record.path / SCORES) for record in records},
    )


def _page(run: RunFolder, found: R2Comparison) -> SuitePage:
    first = found.sets[0]
    models = dict.fromkeys(model for one in found.sets for model in one.grid.models)
    counted = [model for model in models if not is_baseline(model)] or list(models)
    clips = sum(len(set(one.grid.cases.values())) for one in found.sets)
    cases = sum(len(one.grid.cases) for one in found.sets)
    return SuitePage(
        title=f"{first.grid.task.title.capitalize()}: {len(counted)} model{'' if len(counted) == 1 else 's'} compared",
        suite="r2",
        facts=(
            ("Models", ", ".join(models)),
            ("Data", ", ".join(one.name for one in found.sets)),
            ("Records", ", ".join(record.label for one in found.sets for record in one.records)),
            ("Cases", f"{cases:,} of {clips:,} clips or photographs"),
            *facts_of(run.manifest),
        ),
        notes=(*found.notes, FAILED),
        links=(),
        sections=found.sections,
    )
