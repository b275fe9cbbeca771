"""Tables as LaTeX and CSV: every sign that means something to TeX or to a spreadsheet is harmless."""

import csv
import io
import re

from hypothesis import given
from hypothesis import strategies as st

from auscult.report.tables import Table, escaped, table_csv, table_latex

TEXT = st.text(max_size=30)
TABLE = Table(
    title="RMSE of 100 % & more",
    header=("judge", "Avg.", "95 %"),
    rows=(("masks.my_judge.v1", "0.303", "0.2–0.4"), ("$\\input{x}$ #1", "–", "")),
    note="lower is better",
)
_SAFE = re.compile(
    r"\\(?:textbackslash|textasciicircum|textasciitilde|textless|textgreater|textbar|textquotedbl|textasciigrave"
    r"|textquotesingle|ldots)\{\}|\\[{}$&#%_]|\{\[\}|\{\]\}"
)


@given(TEXT)
def test_nothing_of_a_text_is_left_that_tex_would_act_on(text):
    remainder = _SAFE.sub("", escaped(text))
    assert not set(remainder) & set("\\{}$&#%_^~\n\r\t")
    assert not any(ord(sign) < 32 for sign in remainder)


def test_the_table_reads_as_it_should():
    assert table_latex(TABLE) == (
        "% needs \\usepackage{booktabs,textcomp}\n"
        "\\begin{table}\n"
        "\\centering\n"
        "\\caption{RMSE of 100 \\% \\& more}\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "judge & Avg. & 95 \\% \\\\\n"
        "\\midrule\n"
        "masks.my\\_judge.v1 & 0.303 & 0.2--0.4 \\\\\n"
        "\\$\\textbackslash{}input\\{x\\}\\$ \\#1 & -- &  \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\par\\footnotesize lower is better\n"
        "\\end{table}\n"
    )


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4))
def test_rows_and_columns_stay_what_they_are(rows):
    table = Table(title="t", header=("a", "b", "c"), rows=tuple(rows))
    body = table_latex(table).split("\\midrule\n")[1].split("\\bottomrule")[0].splitlines()
    assert len(body) == len(rows)
    assert all(line.endswith(" \\\\") and len(re.findall(r"(?<!\\)&", line)) == 2 for line in body)
    csv_rows = list(csv.reader(io.StringIO(table_csv(table), newline="")))
    assert len(csv_rows) == len(rows) + 1
    assert all(len(line) == 3 for line in csv_rows)
    assert not any(cell.startswith(("=", "+", "-", "@")) and not _number(cell) for line in csv_rows for cell in line)


def test_numbers_of_a_csv_stay_numbers():
    table = Table(title="t", header=("a",), rows=(("-0.5",), ("=1+1",), ("@SUM(A1)",)))
    assert table_csv(table).splitlines() == ["a", "-0.5", "'=1+1", "'@SUM(A1)"]


def _number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
