"""The end of a run: tables, charts, example pictures, page and summary, from candidates and answers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from auscult.record.folder import RunFolder
from auscult.record.manifest import argument
from auscult.record.schema import Summary
from auscult.report.facts import facts_of
from auscult.report.suite import Example, Section, SuitePage, write_charts, write_page, write_tables
from auscult.report.tables import Table
from auscult.suites.leftovers import remove_stale, written_files
from auscult.suites.mqa.baselines import Constant
from auscult.suites.mqa.basis import Basis, write_basis
from auscult.suites.mqa.charts import figures_of
from auscult.suites.mqa.examples import Pick, Shown, draw_examples, picks
from auscult.suites.mqa.results import BlockResults, Results, results_of, summary_metrics
from auscult.suites.mqa.rows import Answers, Candidate
from auscult.suites.mqa.tables import cells_csv, cells_json
from auscult.suites.registered import SuiteRun
from auscult.types import Item

_ERRORS = "errors.jsonl and input/errors.jsonl"
_SHOWN = ("overall", "rmse", "f2_m", "f2_a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to before anything is computed from it.

    Attributes:
        command: The verb.
        candidates: What was judged, with true IoUs.
        judges: Judge to answers.
        rows: The judges and the rows that look at nothing, in the order of the tables.
        constant: What the constant row says.
        by_action: Verdicts of all judges by action.
        by_defect: Verdicts of all judges by defect.
    """

    command: str
    candidates: tuple[Candidate, ...]
    judges: Mapping[str, Answers]
    rows: Mapping[str, Answers]
    constant: Constant
    by_action: Mapping[str, int]
    by_defect: Mapping[str, int]


def write_results(run: RunFolder, outcome: Outcome, *, items: Mapping[str, Item], unlisted: int) -> SuiteRun:
    """Write everything that follows from the answers.

    Args:
        run: The record.
        outcome: Candidates and answers.
        items: Item id to item, for the pictures.
        unlisted: Candidates that could not be listed, and instances that could not be built; each is a failure of
            every judge.

    Returns:
        Summary and tables.
    """
    results = results_of(outcome.candidates, outcome.rows)
    summary = summary_of(outcome, results, unlisted=unlisted)
    tables = noted_tables(results, outcome.constant)
    basis = Basis(judges=tuple(outcome.judges), constant=outcome.constant, unlisted=unlisted)
    write_basis(run, outcome.candidates, basis)
    write_tables(run, tables)
    run.write_json("cells.json", cells_json(results.cells))
    run.write_text("cells.csv", cells_csv(results.cells))
    run.write_json("summary.json", summary.as_json())
    judge, chosen = _chosen(outcome)
    examples = draw_examples(run, chosen, Shown(items=items, judges=outcome.judges))
    cases = _cases(judge, examples)
    page = _page(run, outcome, results, tables=tables, cases=cases, unlisted=unlisted)
    charts = [(one.name, one.drawing) for section in page.sections for one in section.figures]
    write_charts(run, charts)
    write_page(run, page, tables)
    remove_stale(run, written_files(tables, (name for name, _ in charts), examples))
    run.finish()
    return SuiteRun(out=run.path, summary=summary, tables=tables, shown=page.shown)


def summary_of(outcome: Outcome, results: Results, *, unlisted: int) -> Summary:
    """Counts are verdicts: one per judge and candidate."""
    asked = len(outcome.judges) * (len(outcome.candidates) + unlisted)
    names = {one.id for one in outcome.candidates}
    ok = sum(len(names & answers.keys()) for answers in outcome.judges.values())
    empty = sum(one.defect == "empty" for one in outcome.candidates) * len(outcome.judges)
    return Summary(
        command=outcome.command,
        n=asked,
        ok=ok,
        failed=asked - ok,
        undefined=empty,
        by_action=outcome.by_action,
        by_defect=outcome.by_defect,
        metrics=summary_metrics(results.cells),
    )


def noted_tables(results: Results, constant: Constant) -> dict[str, Table]:
    """All tables by file name; those over all masks tell what the constant row says."""
    return {
        name: replace(table, note=f"{table.note} The {constant.words}.") if name.endswith("overall") else table
        for name, table in results.all_tables.items()
    }


def _page(
    run: RunFolder,
    outcome: Outcome,
    results: Results,
    *,
    tables: Mapping[str, Table],
    cases: Sequence[Section],
    unlisted: int,
) -> SuitePage:
    clips = len({one.clip for one in outcome.candidates})
    judges = list(outcome.judges)
    sections = [_section(block, tables) for block in results.blocks]
    over = tuple(tables[name] for name in results.tables)
    if over:
        lead = "Hard and medium are averaged first, then the six types of each part."
        sections.append(Section(name="ablation", title="Ablation form", lead=lead, tables=over))
    return SuitePage(
        title=f"{len(judges)} judge{'' if len(judges) == 1 else 's'} on {len(outcome.candidates):,} masks",
        suite="mqa",
        facts=(
            ("Judges", ", ".join(judges)),
            ("Data", PurePath(str(argument(run.manifest, "data") or "")).name),
            ("Clips or photographs", f"{clips:,}"),
            *facts_of(run.manifest),
        ),
        notes=(
            "The truth was opened after each judge's last verdict. Failed cases are in no number and are counted.",
            *_failures(run, outcome),
            *([f"Not in the benchmark, although they should be: {unlisted:,}; see {_ERRORS}."] if unlisted else []),
            (
                f"The {outcome.constant.words}. Rows that look at nothing stand in every table: what a judge is better "
                "than they are is what it is worth."
            ),
        ),
        links=tuple((name, f"judges/{name}/report.html") for name in judges),
        sections=(*sections, *cases),
        shown=shown_of(tables),
    )


def _chosen(outcome: Outcome) -> tuple[str, list[Pick]]:
    """The first judge that has answers, and its best and worst cases; nothing where no judge has any."""
    for judge, answers in outcome.judges.items():
        chosen = picks(outcome.candidates, answers)
        if chosen:
            return judge, chosen
    return "", []


def _cases(judge: str, examples: Sequence[Example]) -> list[Section]:
    lead = (
        f"The smallest and the largest error of {judge} on each type. Tinted is the candidate, the white line is the "
        "true outline, which no judge saw."
    )
    section = Section(name="examples", title="Best and worst cases", lead=lead, examples=tuple(examples))
    return [section] if examples else []


def _failures(run: RunFolder, outcome: Outcome) -> list[str]:
    """How many cases each judge failed on, and the file that says why."""
    notes = []
    for judge, answers in outcome.judges.items():
        count = sum(one.id not in answers for one in outcome.candidates)
        own = f"judges/{judge}/errors.jsonl"
        place = own if (run.path / own).is_file() else "errors.jsonl"
        notes += [f"Failed cases of {judge}: {count:,}; see {place}."] if count else []
    return notes


def _section(results: BlockResults, tables: Mapping[str, Table]) -> Section:
    block = results.block
    part = "" if block.part == "all" else f", {block.part}"
    return Section(
        name=f"{block.protocol}-{block.part}",
        title=f"{block.protocol.capitalize()} protocol{part}",
        figures=figures_of(results),
        tables=tuple(tables[name] for name in results.tables),
    )


def shown_of(tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """What is over all masks, and the three blocks of Table 2 or 3."""
    return tuple(table for name, table in tables.items() if name.endswith(_SHOWN) and "ablation" not in name)
