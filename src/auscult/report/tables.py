"""Tables ready to print: strings in rows, with a title and a note. Who prints them decides how they look.

LaTeX is plain text with rules in the manner of ``booktabs``; names come from users, so that every character that means
something to TeX is escaped, and what TeX cannot set is dropped.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from auscult.errors import InputError
from auscult.record.cells import disarmed
from auscult.record.reader import Run
from auscult.record.schema import PRINTED
from auscult.report.facts import (
    ACTION_WORDS,
    UNDECIDED,
    UNJUDGED,
    action_key,
    estimates_note,
    estimates_of,
    interval,
    interval_words,
    number,
    shortened,
    worst_first,
)
from auscult.types import ACTIONS, DEFECTS, Verdict

ESTIMATES = "What the estimates come to"

_MOST_CELLS = 100_000
_WORST = 10
_COUNTED = {"n": "items", "ok": "judged", "failed": "failed", "undefined": "undefined"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A finished table."""

    title: str  # what it shows, one line
    header: tuple[str, ...]  # one text per column
    rows: tuple[tuple[str, ...], ...]  # one text per column in each row
    note: str = ""  # what a reader must know to read it right; may be empty


def console_tables(run: Run) -> dict[str, Table]:
    """What `auscult audit` prints of masks, by name: actions by defects, what the estimates come to, the worst items.

    Names are of ``PRINTED``, in its order; a table that would be empty is left out.
    """
    verdicts = [verdict for verdict, _ in run.verdicts]
    actions, _, sums, items = PRINTED
    tables = {actions: _cross_table(totals_of(run), verdicts)}
    estimates = estimates_of(run.summary or {})
    if estimates:
        tables[sums] = Table(title=ESTIMATES, header=("", "estimate"), rows=estimates, note=estimates_note(estimates))
    empty = sum(verdict.defect == "empty" for verdict in verdicts)
    judged = [verdict for verdict in verdicts if verdict.defect != "empty" and verdict.action != UNJUDGED]
    if judged:
        left = {"empty": empty, "not judged": len(verdicts) - len(judged) - empty}
        tables[items] = _worst_table(worst_first(judged)[:_WORST], len(judged), left)
    return tables


def _counts_of(run: Run) -> dict[str, int]:
    """``n``, ``ok``, ``failed`` and ``undefined`` of the summary's masks; counted from the rows while there is none."""
    if run.summary is not None:
        sounds = run.summary.get("sound") or {}
        return {name: int(run.summary.get(name) or 0) - int(sounds.get(name) or 0) for name in _COUNTED}
    ok, failed = len(run.verdicts), len(run.failed)
    return {"n": ok + failed, "ok": ok, "failed": failed, "undefined": 0}


def totals_of(run: Run) -> tuple[tuple[int, str], ...]:
    """Counts of a record's masks, each with its word; those without a basis to judge them stand apart."""
    counted = _counts_of(run)
    unjudged = sum(verdict.action == UNJUDGED for verdict, _ in run.verdicts)
    totals = [(counted[name], words) for name, words in _COUNTED.items()]
    if unjudged:
        totals[1:2] = [(counted["ok"] - unjudged, _COUNTED["ok"]), (unjudged, "not judged")]
    return tuple(totals)


def read_table(name: str, content: object) -> Table:
    """A table from the JSON of ``tables/<name>.json``: {title, header, rows, note}; ``name`` is for the message.

    Numbers become text as they are: the record's tables are finished, so nothing is rounded or computed here.
    """
    expected = '{"title": text, "header": [text], "rows": [[text or number]], "note": text}'
    if not isinstance(content, Mapping):
        raise InputError(f"table {name} is {type(content).__name__}", expected=expected, path=name)
    header, rows = content.get("header"), content.get("rows")
    if not isinstance(header, Sequence) or not isinstance(rows, Sequence) or isinstance(header, str):
        raise InputError(f"table {name} has no header or rows", expected=expected, path=name)
    if any(isinstance(row, str) or not isinstance(row, Sequence) or len(row) != len(header) for row in rows):
        raise InputError(
            f"a row of table {name} does not have the {len(header)} columns of its header",
            expected=expected,
            path=name,
        )
    if len(rows) * len(header) > _MOST_CELLS:
        raise InputError(f"table {name} has {len(rows)} rows", expected=f"at most {_MOST_CELLS} cells", path=name)
    return Table(
        title=_cell(content.get("title") or name),
        header=tuple(_cell(cell) for cell in header),
        rows=tuple(tuple(_cell(cell) for cell in row) for row in rows),
        note=_cell(content.get("note")),
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _cross_table(totals: Sequence[tuple[int, str]], verdicts: Sequence[Verdict]) -> Table:
    present = {action_key(verdict.action) for verdict in verdicts}
    actions = [*ACTIONS, *(name for name in (UNDECIDED, UNJUDGED) if name in present)]
    defects = [name for name in (*DEFECTS, "empty") if any(verdict.defect == name for verdict in verdicts)]
    rows = [_count_row(name, [v for v in verdicts if v.defect == name], actions) for name in defects]
    if any(verdict.defect is None for verdict in verdicts):
        rows.append(_count_row("not judged", [v for v in verdicts if v.defect is None], actions))
    rows.append(_count_row("all", list(verdicts), actions))
    share = ["% of all", *(_percent(int(cell), len(verdicts)) for cell in rows[-1][1:])]
    counts = ", ".join(f"{count} {words}" for count, words in totals)
    whole = "all verdicts" if UNJUDGED in present else "the judged masks"
    return Table(
        title="Verdicts by defect and action",
        header=("defect", *(ACTION_WORDS[action] for action in actions), "all"),
        rows=(*rows, tuple(share)),
        note=f"{counts}. Counts are masks; the last row is percent of {whole}.",
    )


def _count_row(label: str, verdicts: Sequence[Verdict], actions: Sequence[str]) -> tuple[str, ...]:
    counts = [sum(action_key(verdict.action) == action for verdict in verdicts) for action in actions]
    return (label, *(str(count) for count in counts), str(len(verdicts)))


def _percent(part: int, total: int) -> str:
    return "–" if total == 0 else f"{100 * part / total:.1f} %"


def _worst_table(verdicts: Sequence[Verdict], total: int, left: Mapping[str, int]) -> Table:
    not_listed = ", ".join(f"{count:,} {reason}" for reason, count in left.items() if count)
    rows = tuple(
        (
            verdict.id,
            ACTION_WORDS[action_key(verdict.action)],
            verdict.defect or "–",
            f"{number(verdict.iou)} {interval(verdict.iou_low, verdict.iou_high)}".strip(),
            shortened(verdict.rationale, 66),
        )
        for verdict in verdicts
    )
    return Table(
        title=f"The worst {len(verdicts)} of {total:,}",
        header=("id", "action", "defect", "estimated IoU", "why"),
        rows=rows,
        note=f"IoU is estimated without ground truth, 0..1, {interval_words(verdicts)}. Worst first."
        + (f" Not listed: {not_listed}." if not_listed else ""),
    )


_ESCAPED = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "[": "{[}",
    "]": "{]}",
}
_NUMERIC = frozenset("0123456789.,+-–[]()%n/ ")


def escaped(text: str) -> str:
    r"""Text that TeX sets as it stands.

    Line breaks and tabs become spaces; control and format characters are dropped.

    Example:
        >>> escaped("100 % of a_b")
        '100 \\% of a\\_b'
    """
    line = " ".join(text.split())
    return "".join(_ESCAPED.get(sign, sign) for sign in line if unicodedata.category(sign)[0] != "C")


def table_latex(table: Table) -> str:
    r"""A table as a LaTeX ``table`` with ``\toprule``, ``\midrule`` and ``\bottomrule``; needs ``booktabs``.

    The first column is set to the left, columns of numbers to the right. A comment of the first line says so.
    """
    columns = "".join("l" if index == 0 or not _is_numeric(table, index) else "r" for index in range(len(table.header)))
    lines = [
        r"% needs \usepackage{booktabs,textcomp}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(table.header),
        r"\midrule",
        *(_row(row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([rf"\par\footnotesize {escaped(table.note)}"] if table.note else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def table_csv(table: Table) -> str:
    """A table as CSV with its header; a cell that a spreadsheet would run as a formula is given an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in (table.header, *table.rows):
        writer.writerow([_harmless(cell) for cell in row])
    return file.getvalue()


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def _is_numeric(table: Table, index: int) -> bool:
    return all(set(row[index]) <= _NUMERIC for row in table.rows)


def _harmless(cell: str) -> str:
    line = " ".join(cell.splitlines())
    return line if _is_number(line) else disarmed(line)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
