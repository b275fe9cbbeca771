"""A finished table as LaTeX and as CSV, for papers and spreadsheets.

LaTeX is plain text with rules in the manner of ``booktabs``; names come from users, so that every character that means
something to TeX is escaped, and what TeX cannot set is dropped.
"""

from __future__ import annotations

import csv
import io
import unicodedata

from auscult.report.tables import Table

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
_FORMULA = ("=", "+", "-", "@", "\t")
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

    Args:
        table: The finished table.

    Returns:
        LaTeX, one row a line, UTF-8.
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
    return f"'{line}" if line.startswith(_FORMULA) and not _is_number(line) else line


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
