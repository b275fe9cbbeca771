"""The end of a run: tables, charts, example pictures, page and summary, from candidates and answers alone.

::

    DIR/candidates.jsonl           every judged mask: its protocol, split and frame, its true IoU and defect
    DIR/basis.json                 judges in order, the answer of the constant row, the count of unlisted masks
    DIR/judges/<judge>/            the record of each judge

The tables are computed from these alone, without masks and data set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Annotated, Final

from msgspec import Meta

from auscult.act.policy import Policy
from auscult.cases.ids import counted
from auscult.errors import InputError, RecordError
from auscult.jobs.finish import alarms_of
from auscult.media.paths import inside
from auscult.record.codec import Count, from_json, read_file
from auscult.record.folder import MANIFEST, RunFolder, read_manifest
from auscult.record.lines import typed_lines
from auscult.record.manifest import argument
from auscult.record.reader import Run, read_run, require_record
from auscult.record.schema import Summary, counted_by
from auscult.report.facts import facts_of
from auscult.report.page import Page, Section
from auscult.report.tables import Table
from auscult.suites.core.numbers import SuiteNumber
from auscult.suites.core.page import write_run
from auscult.suites.mqa.charts import draw_examples, failures, figures_of, picks
from auscult.suites.mqa.costs import (
    TIMING,
    CurvePoint,
    JudgeCost,
    Timing,
    cost_of,
    costs_table,
    curve_figure,
    curve_table,
    pairs_of,
    printed_costs,
)
from auscult.suites.mqa.evaluate import Block
from auscult.suites.mqa.rows import RANDOM, AnswersById, Candidate, Constant, answers_of, baseline_answers
from auscult.suites.mqa.tables import (
    MqaResults,
    headline,
    interval_text,
    number_text,
    results_of,
    summary_metrics,
)
from auscult.suites.registered import SuiteRun
from auscult.types import DECISIONS, DEFECTS, ErrorMap, Item

COMMAND: Final = "run mqa"
JUDGES: Final = "judges"
CANDIDATES: Final = "candidates.jsonl"
BASIS: Final = "basis.json"

_AGAIN: Final = "repeat the `auscult run` command that made the record: it judges nothing again and writes the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The data of the tables besides the candidates."""

    judges: tuple[Annotated[str, Meta(pattern=r"\S")], ...]  # in the order of the tables
    constant: Constant  # the constant row's answer
    unlisted: Count  # candidates not listed; each counts as failed for every judge


def write_basis(run: RunFolder, candidates: tuple[Candidate, ...], basis: Basis) -> None:
    """Write both files."""
    run.write_lines(CANDIDATES, map(asdict, candidates))
    run.write_json(BASIS, asdict(basis))


def read_candidates(folder: Path) -> tuple[Candidate, ...]:
    """The candidates of a record."""
    path = folder / CANDIDATES
    candidates: dict[str, Candidate] = {}
    for number, _, candidate in typed_lines(Candidate, path, hint=_AGAIN, exact=True):
        if candidate.id in candidates:
            raise RecordError(f"the id {candidate.id[:80]} stands twice", path=path, line=number, hint=_AGAIN)
        candidates[candidate.id] = candidate
    if not candidates:
        raise RecordError(f"the record holds no {CANDIDATES}, from which it is scored", path=folder, hint=_AGAIN)
    return tuple(candidates.values())


def read_basis(folder: Path) -> Basis:
    """The ``Basis`` of a record."""
    return read_file(
        Basis,
        folder / BASIS,
        what="the basis of the tables",
        expected="the file that `auscult run mqa` writes",
        most_bytes=1 << 20,
        error=RecordError,
        hint=_AGAIN,
    )


_ERRORS = "errors.jsonl and input/errors.jsonl"
_SHOWN = ("overall", "rmse", "f2_m", "f2_a", "f2_own_a", "costs")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """The results of a run."""

    command: str
    candidates: tuple[Candidate, ...]  # with true IoUs
    judges: Mapping[str, AnswersById]
    basis: Basis
    by_action: Mapping[str, int]  # counts over all judges
    by_defect: Mapping[str, int]
    results: MqaResults  # of judges and baselines, in the order of the tables
    # what each judge takes to be wrong with a mask, by judge and id, where it says so
    error_maps: Mapping[str, Mapping[str, ErrorMap]] = field(default_factory=dict)
    costs: Mapping[str, JudgeCost] = field(default_factory=dict)
    cascades: Sequence[tuple[Block, Sequence[CurvePoint]]] = ()  # the blocks that have any

    @property
    def tables(self) -> dict[str, Table]:
        """Every table by file name: results, then costs."""
        found = {**self.results.tables}
        if self.costs:
            found |= {"costs": costs_table(self.costs), "costs_printed": printed_costs()}
        return found | {f"{block.name}_cascade": curve_table(block, points) for block, points in self.cascades}

    @property
    def cells(self) -> tuple[SuiteNumber, ...]:
        """Every number of the tables."""
        curves = (cell for _, points in self.cascades for point in points for cell in point.cells)
        return *self.results.cells, *curves

    def summary(self) -> Summary:
        """Counts are verdicts: one per judge and candidate."""
        total = len(self.judges) * (len(self.candidates) + self.basis.unlisted)
        names = {candidate.id for candidate in self.candidates}
        ok = sum(len(names & answers.keys()) for answers in self.judges.values())
        return Summary(
            command=self.command,
            n=total,
            ok=ok,
            failed=total - ok,
            undefined=sum(candidate.defect == "empty" for candidate in self.candidates) * len(self.judges),
            by_action=self.by_action,
            by_defect=self.by_defect,
            metrics=summary_metrics(self.results.cells),
        )


def outcome_of(
    command: str,
    candidates: Sequence[Candidate],
    runs: Mapping[str, Run | None],
    *,
    basis: Basis,
    policy: Policy,
    timings: Sequence[Timing] = (),
) -> RunOutcome:
    """The results of judges and baselines; a judge without a record fails on every candidate."""
    ids = {candidate.id for candidate in candidates}
    by_judge = {name: [] if run is None else [verdict for verdict, _ in run.verdicts] for name, run in runs.items()}
    judges = {name: answers_of(verdict for verdict in group if verdict.id in ids) for name, group in by_judge.items()}
    verdicts = [verdict for group in by_judge.values() for verdict in group]
    rows = {**judges, **baseline_answers(candidates, basis.constant, policy)}
    results = results_of(candidates, rows, remark=f" The {basis.constant.words}.", policy=policy.name)
    recorded = {name: run for name, run in runs.items() if run is not None and run.verdicts}
    pairs = pairs_of(recorded, policy)
    return RunOutcome(
        command=command,
        candidates=tuple(candidates),
        judges=judges,
        basis=basis,
        by_action=counted_by([verdict.action or "" for verdict in verdicts], DECISIONS),
        by_defect=counted_by([verdict.defect or "" for verdict in verdicts], (*DEFECTS, "empty")),
        results=results,
        error_maps={
            name: {verdict.id: verdict.error_map for verdict in group if verdict.error_map is not None}
            for name, group in by_judge.items()
        },
        costs={
            name: cost_of(run, [timing for timing in timings if timing.judge == name]) for name, run in recorded.items()
        },
        cascades=[
            (block.block, points)
            for block in results.blocks
            if (points := [point for pair in pairs for point in pair.points(block.block)])
        ],
    )


def read_timings(folder: Path) -> list[Timing]:
    """Masks and time of each command of a record."""
    return [timing for *_, timing in typed_lines(Timing, folder / TIMING, hint=_AGAIN)]


def write_results(run: RunFolder, outcome: RunOutcome, items: Mapping[str, Item]) -> SuiteRun:
    """Write all files that depend on the answers."""
    write_basis(run, outcome.candidates, outcome.basis)
    page = _page(run, outcome, _cases(outcome, items))
    return write_run(run, page, tables=outcome.tables, numbers=outcome.cells, summary=outcome.summary())


def _page(run: RunFolder, outcome: RunOutcome, cases: Sequence[Section]) -> Page:
    results, constant, unlisted = outcome.results, outcome.basis.constant, outcome.basis.unlisted
    judges, clips = list(outcome.judges), len({candidate.clip for candidate in outcome.candidates})
    sections = [
        Section(
            name=f"{block.block.protocol}-{block.block.part}",
            title=block.block.title,
            figures=figures_of(block),
            tables=tuple(block.tables.values()),
        )
        for block in results.blocks
    ]
    if results.ablation:
        lead = "Hard and medium are averaged first, then the six types of each part."
        over = tuple(results.ablation.values())
        sections.append(Section(name="ablation", title="Ablation form", lead=lead, tables=over))
    sections += _costs(outcome)
    return Page(
        title=f"{counted(len(judges), 'judge')} on {len(outcome.candidates):,} masks",
        command=COMMAND,
        lead=_lead(outcome),
        facts=(
            ("Judges", ", ".join(judges)),
            ("Data", PurePath(str(argument(run.manifest, "data") or "")).name),
            ("Clips or photographs", f"{clips:,}"),
            *facts_of(run.manifest),
        ),
        alarms=tuple(f"{name}: {alarm}" for name in judges for alarm in alarms_of(run.path / JUDGES / name)),
        notes=(
            "The truth was opened after each judge's last verdict. Failed cases are in no number and are counted.",
            *_failures(run, outcome),
            *([f"Not in the benchmark, although they should be: {unlisted:,}; see {_ERRORS}."] if unlisted else []),
            (
                f"The {constant.words}. Rows that look at nothing stand in every table: what a judge is better "
                "than they are is what it is worth."
            ),
        ),
        links=tuple((name, f"{JUDGES}/{name}/report.html") for name in judges),
        sections=(*cases, *sections),
        shown=shown_of(outcome.tables),
    )


def _costs(outcome: RunOutcome) -> list[Section]:
    """Costs of masks, and results of cascades of two judges."""
    tables = [table for name, table in outcome.tables.items() if name.startswith("costs") or name.endswith("_cascade")]
    figures = tuple(curve_figure(block, points) for block, points in outcome.cascades)
    section = Section(name="costs", title="Cost and quality", figures=figures, tables=tuple(tables))
    return [section] if tables else []


def _lead(outcome: RunOutcome) -> str:
    """The results in one paragraph."""
    judges, clips = list(outcome.judges), len({candidate.clip for candidate in outcome.candidates})
    defects = ", ".join(sorted({candidate.defect for candidate in outcome.candidates}, key=(*DEFECTS, "empty").index))
    opening = (
        f"{counted(len(judges), 'judge')} judged {len(outcome.candidates):,} masks ({defects}) of {clips:,} clips or "
    )
    sentences = [opening + "photographs without their truth, which was opened afterwards."]
    for block in outcome.results.blocks:
        rmse = {judge: headline(row)["rmse"] for judge, row in block.cells.items() if judge != RANDOM}
        scores = [f"{name} {number_text(rmse[name])} {interval_text(rmse[name])}".rstrip() for name in judges]
        blind = {name: rmse[name] for name in rmse if name not in judges and rmse[name].value is not None}
        least = min(blind, key=lambda name: blind[name].value or 0.0, default="")
        baseline = f"; the row {least}, which looks at nothing, has {number_text(blind[least])}" if least else ""
        has_intervals = any(rmse[name].ends is not None for name in judges)
        spans = "with 95 % intervals" if has_intervals else "too few clips or photographs for intervals"
        sentences.append(
            f"{block.block.title}: the error of the estimated IoU (RMSE, 0 is best, {spans}) is "
            f"{', '.join(scores)}{baseline}."
        )
    return " ".join(sentences)


def _cases(outcome: RunOutcome, items: Mapping[str, Item]) -> list[Section]:
    """Best and worst cases of the first judge with answers, and the failures of all."""
    chosen = {judge: picks(outcome.candidates, answers) for judge, answers in outcome.judges.items()}
    judge = next((name for name, selection in chosen.items() if selection), "")
    best = chosen.get(judge, [])
    failed = failures(outcome.judges, outcome.candidates, {candidate.id for _, candidate in best})
    lead = (
        f"The smallest and the largest error of {judge} on each type, and what every judge says of the same mask, as "
        "in the paper's Figs. 5 to 10. First the candidate, tinted, with the true outline in white, which no judge "
        "saw; then what each judge takes to be missing (blue with stripes) or too much (yellow with dots)."
    )
    wrong = (
        "Of each judge, among masks not shown yet, the wrong one of the lowest IoU that it calls perfect, and the "
        "first where it speaks of another object than the one that is meant, as in the paper's Fig. 13. Another word "
        "for the same object counts too."
    )
    parts = (("examples", "All judges side by side", lead, best), ("failures", "How judges fail", wrong, failed))
    sections = []
    for name, title, words, mine in parts:
        examples = draw_examples(mine, items=items, judges=outcome.judges, error_maps=outcome.error_maps)
        sections += [Section(name=name, title=title, lead=words, examples=tuple(examples))] if examples else []
    return sections


def _failures(run: RunFolder, outcome: RunOutcome) -> list[str]:
    """Failed cases of each judge, with the file of reasons."""
    notes = []
    for judge, answers in outcome.judges.items():
        count = sum(candidate.id not in answers for candidate in outcome.candidates)
        judge_errors = f"{JUDGES}/{judge}/errors.jsonl"
        path = judge_errors if (run.path / judge_errors).is_file() else "errors.jsonl"
        notes += [f"Failed cases of {judge}: {count:,}; see {path}."] if count else []
    return notes


def shown_of(tables: Mapping[str, Table]) -> tuple[Table, ...]:
    """The tables over all masks, the blocks of Table 2 or 3, and Table 11."""
    return tuple(table for name, table in tables.items() if name.endswith(_SHOWN) and "ablation" not in name)


def score_mqa(folder: Path) -> SuiteRun:
    """Compute the tables of a record from its candidates and verdicts, as the run does; no file is written."""
    require_record(folder)
    manifest = read_manifest(folder)
    if manifest["command"] != COMMAND:
        raise RecordError(f"the record is of `auscult {manifest['command']}`", path=folder, expected=f"of {COMMAND}")
    candidates, basis = read_candidates(folder), read_basis(folder)
    runs = {name: _run(folder, name) for name in basis.judges}
    policy = _policy(argument(manifest, "policy"), folder)
    outcome = outcome_of("score", candidates, runs, basis=basis, policy=policy, timings=read_timings(folder))
    tables = outcome.tables
    return SuiteRun(out=folder, summary=outcome.summary(), tables=tables, shown=shown_of(tables))


def _run(folder: Path, name: str) -> Run | None:
    """The record of a judge; None if it has none, such as one that could not be loaded."""
    try:
        home = inside(folder, f"{JUDGES}/{name}")
    except InputError as error:
        raise RecordError(error.message, expected="names of judges", path=folder / BASIS) from error
    return read_run(home) if (home / MANIFEST).exists() else None


def _policy(payload: object, folder: Path) -> Policy:
    """The policy in the manifest."""
    try:
        return from_json(Policy, payload, error=InputError)
    except InputError as error:
        raise RecordError(
            "the manifest holds no policy", path=folder / MANIFEST, expected="the thresholds of the run",
            hint="the file was edited or damaged; run the command of this record again with --overwrite",
        ) from error  # fmt: skip
