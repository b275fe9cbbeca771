"""The report of a study as one file: plan, conversation, run, analysis with its numbers, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from auscult.agent.analysis import Analysis, value_text
from auscult.agent.debate import CHOICE_SETS, LOG_FILE, Dispute, Turn, logged
from auscult.agent.plan import Plan
from auscult.agent.result_table import charts_by
from auscult.report.drawing import plain
from auscult.report.page import Section, render
from auscult.report.suite import read_page
from auscult.report.tables import Table

_MOST_ROWS: Final = 200
_LONGEST: Final = 300
_REPEAT: Final = 'Repeat it: `auscult run plan.yaml --out AGAIN`. Ask about it: `auscult ask STUDY "QUESTION"`.'


def study_report(folder: Path, *, plan: Plan, record: Path, analysis: Analysis) -> str:
    """The report of a study, whose folder has ``agent.jsonl``, as HTML; ``record`` is the suite's."""
    page, metric = read_page(record), analysis.table.metric
    curves = tuple(charts_by(record, metric))  # by the metric of the plan, if the suite's page has them by another
    limits = ", ".join(f"{limit:g} {name}" for name, limit in asdict(plan.limits).items() if limit is not None)
    return render(
        replace(
            page,
            title=_text(plan.instruction) or page.title,
            command="agent",
            facts=(
                ("Planned by", plan.planner),
                ("Analysed by", analysis.writer),
                ("Plan", plan.hash[:12]),
                ("Limits", limits or "none"),
                *page.facts,
            ),
            sections=(
                *_analysis_sections(analysis),
                *((Section(name="by-metric", title=f"By {metric}", figures=curves),) if curves else ()),
                *_plan_sections(plan),
                *_conversation(folder),
                *page.sections,
                _cells(analysis),
            ),
            footer=f"{_REPEAT} The plan is `plan.yaml`, the conversation `{LOG_FILE}`, the run's own record `run/`.",
        )
    )


def _text(text: object) -> str:
    return plain(str(text or ""), limit=_LONGEST)


def _analysis_sections(analysis: Analysis) -> Iterator[Section]:
    for section in analysis.sections:
        statements = tuple((sentence.text, sentence.refs) for sentence in section.sentences)
        yield Section(name=f"analysis-{section.name}", title=section.title, statements=statements)
    if analysis.table.failures:
        lead = "What failed is in no number. The causes, the first few; errors.jsonl has all."
        yield Section(name="failures", title="Failures", lead=lead, notes=analysis.table.failures)
    rows = tuple((sentence.section, sentence.text, sentence.why) for sentence in analysis.struck)
    if rows or analysis.remarks:
        lead = "What the analyst wrote and the record does not bear out. None of it is a finding."
        table = Table(title="Sentences that were struck out", header=("section", "sentence", "why"), rows=rows)
        yield Section(
            name="struck",
            title="Struck out",
            wordy=True,
            lead=lead,
            tables=(table,) if rows else (),
            notes=analysis.remarks,
        )


def choice_tables(plan: Plan, *, most: int = _MOST_ROWS) -> tuple[Table, ...]:
    """The selected and the left-out entries of each set, with reasons; at most so many rows each."""
    tables = []
    for of in CHOICE_SETS:
        name = plan.middle if of == "perturbations" else of
        taken = dict.fromkeys((choice.name, "yes", choice.reason) for choice in plan.taken(of))
        left = dict.fromkeys((choice.name, "no", choice.reason) for choice in getattr(plan.left_out, of))
        title = f"{name}: {len({row[0] for row in taken}):,} taken, {len(left):,} left out"
        tables.append(_table(title, (name, "taken", "reason"), (*taken, *left), limit=most))
    return tuple(tables)


def _plan_sections(plan: Plan) -> Iterator[Section]:
    lead = f"For “{_text(plan.instruction)}”. " if plan.instruction else ""
    notes = tuple(map(_text, plan.remarks))
    tables = tuple(table for table in choice_tables(plan) if table.rows)
    changed = "A person changed the plan after it was proposed." if plan.changed else ""
    yield Section(
        name="plan", wordy=True, title="What was chosen, and why", lead=lead + changed, tables=tables, notes=notes
    )


def _conversation(folder: Path) -> Iterator[Section]:
    """The debate: what the operator would select first, then what each would change."""
    rows, taken = list[tuple[str, ...]](), dict[tuple[str, str], bool]()
    for _, turn in logged(folder, "turn", Turn):
        who = (str(turn.round), turn.name if turn.role in turn.name else f"{turn.role} ({turn.name})")
        proposal = turn.proposal
        now = (
            {} if proposal is None else {(choice.type, of): choice for of in CHOICE_SETS for choice in proposal.of(of)}
        )
        other = [key for key, choice in now.items() if choice.selected != taken.get(key, False)]
        for key in other:
            verb = "take" if now[key].selected else "leave out"
            rows.append((*who, verb, f"{_text(key[0])} ({key[1]})", now[key].reason))
        if not other:
            nothing = (("agree", "–") if taken else ("take", "nothing")) if now else ("–", "–")
            rows.append((*who, *nothing, "" if now else "no answer that could be used"))
        taken |= {key: choice.selected for key, choice in now.items()}
    disputes = logged(folder, "dispute", Dispute)
    open_ones = [(dispute.type, dispute.operator_reason, dispute.guardian_reason) for _, dispute in disputes]
    if rows:
        talk = _table("What was said", ("round", "who", "would", "what", "why"), rows)
        left = _table("Where they never agreed", ("what", "operator, whose word counts", "guardian"), open_ones)
        tables = (talk, *((left,) if open_ones else ()))
        yield Section(name="conversation", wordy=True, title="Operator and guardian", tables=tables)


def _table(title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, limit: int = _MOST_ROWS) -> Table:
    left = len(rows) - limit
    cells = tuple(tuple(map(_text, row)) for row in rows[:limit])
    return Table(title=title, header=header, rows=cells, note=f"{left:,} more are not shown." if left > 0 else "")


def _cells(analysis: Analysis) -> Section:
    rows = tuple(
        (
            cell.ref,
            cell.measure,
            *(text or "–" for text in (cell.model, cell.metric, cell.group, cell.level, cell.case)),
            value_text(cell),
            "–" if cell.p is None else f"{cell.p:.3f}",
            "–" if cell.n is None else f"{cell.n}",
        )
        for cell in analysis.table.cells
    )
    table = Table(
        title="Every number that the analysis may refer to",
        header=("ref", "what", "model", "metric", "perturbed", "level", "of", "value", "p", "n"),
        rows=rows,
        note="In brackets: 95 % interval, by drawing whole clips or photographs. p: by sign flips of these, adjusted "
        "by Holm for all of this table. Changes and differences are percentage points.",
    )
    return Section(name="cells", wordy=True, title="The numbers behind the analysis", referred=table)
