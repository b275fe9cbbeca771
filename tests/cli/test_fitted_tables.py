"""Tables in terminals of several widths: every number whole, every row named, nothing lost."""

from __future__ import annotations

import io
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from auscult.cli import show
from auscult.cli.show import blocks, keys, pieces, wrapped_at
from auscult.report.tables import Table

WIDTHS = (80, 100, 120, 200)
MODELS = ("classical.lexicon.v1", "mine.py:predict", "classical.flow.v1")
CHANGES = tuple(f"{-10.5 - number:+.1f} [{-20.25 - number:+.1f}, {-1.75 + number:+.1f}] *" for number in range(8))
GENERAL = Table(
    title="Perturbed: a kind drawn for each case",
    header=("model", "metric", "clean", "low", "medium", "high", "APC", "dynamic", "dynamic - clean", "cases"),
    rows=tuple(
        (model, metric, "64.2", "67.2", "60.1", "51.3", CHANGES[0], "38.1", f"{CHANGES[1]} (low only)", "10 (2 failed)")
        for model in MODELS
        for metric in ("J", "F", "J&F")
    ),
    note="Scores are percent. " * 8,
)  # fmt: skip
FLOOR = Table(
    title="Clean J&F above the baselines",
    header=("model", *(f"baseline.{name}.v1" for name in ("full_frame", "centre_box", "random_region", "empty"))),
    rows=tuple((model, *CHANGES[:4]) for model in MODELS),
)
PROSE = Table(
    title="what was wrong",
    header=("what", "state", "detail"),
    rows=(("a", "yes", "a long explanation of it " * 8), ("b", "no", "/a/path/" + "x" * 300)),
)
RANKING = Table(
    title="Ranking of the models",
    header=("ranked by", "place", "model", "value, percent", "first in"),
    rows=tuple(("least J&F lost, picture alone", f"{index} [1, 3]", "m" * 30, "9.5", "98 %") for index in (1, 2)),
)
TABLES = (GENERAL, FLOOR, PROSE, RANKING)


def printed_table(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    show.tables([table])
    return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_no_line_is_wider_and_no_number_is_broken(table: Table, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = printed_table(table, width, monkeypatch)
    lines = out.splitlines()
    assert max(map(cell_len, lines)) <= width
    for row in table.rows:
        for cell in row:
            for cell_part in re.findall(r"[+-][\d.]+ \[[^]]*\] \*|\d+ \(\d failed\)|\d+ %", cell):
                assert any(cell_part in line for line in lines), f"{cell_part} is broken at {width}"
    for name in table.header:
        assert all(word in out for word in name.split())
    for model in MODELS if table in (GENERAL, FLOOR) else ():
        assert any(line.strip().startswith(model) for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_part_has_every_row_with_its_keys_and_together_they_have_every_cell(table: Table, width: int) -> None:
    parts = pieces(table, width)
    shared = keys(table)
    joined = [_joined(piece.rows) for piece in parts]
    for place, row in enumerate(table.rows):
        for piece in joined:
            assert piece[place][:shared] == tuple(map(_packed, row[:shared]))
        cells = tuple(cell for piece in joined for cell in piece[place][shared:])
        assert cells == tuple(map(_packed, row[shared:]))


def test_a_table_that_fits_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in TABLES:
        assert len(pieces(table, 300)) == 1
    assert [len(pieces(GENERAL, width)) for width in WIDTHS] == [3, 2, 2, 1]
    assert [len(pieces(FLOOR, width)) for width in WIDTHS] == [2, 2, 1, 1]
    assert "(1 of 2)" in printed_table(FLOOR, 80, monkeypatch)
    assert " of 2)" not in printed_table(RANKING, 200, monkeypatch)


@pytest.mark.parametrize("width", [1, 7, 24, 38])
def test_where_no_table_fits_every_row_is_a_block(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pieces(FLOOR, width) == ()
    row_blocks = blocks(FLOOR, width)
    assert len(row_blocks) == len(FLOOR.rows)
    for lines, row in zip(row_blocks, FLOOR.rows, strict=True):
        assert max(map(cell_len, lines)) <= max(3, width)
        expected = "".join(f"{name}:{cell}" for name, cell in zip(FLOOR.header, row, strict=True))
        assert _packed("".join(lines)) == _packed(expected)
    if width == 38:
        assert max(map(cell_len, printed_table(FLOOR, width, monkeypatch).splitlines())) <= width


@given(st.text(max_size=80), st.integers(2, 60))
@settings(max_examples=60)
def test_lines_hold_what_the_text_held(text: str, width: int) -> None:
    lines = wrapped_at(text, width)
    assert _packed("".join(lines)) == _packed(text)
    assert all(cell_len(line) <= width for line in lines)


def test_wide_letters_and_what_would_move_the_cursor() -> None:
    table = Table(title="t", header=("id", "text"), rows=(("a", "犬" * 50), ("b", "\x1b[2J\x07gone\tback")))
    (piece,) = pieces(table, 60)
    assert max(cell_len(line) for row in piece.rows for cell in row for line in cell) <= 60
    assert piece.rows[1][1] == ("\ufffd[2J\ufffdgone back",)


def test_titles_notes_and_talk_control_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table(title="a\x1b[31m", header=("b",), rows=(("c\u202e",),), note="d\x1b]0;e\x07")
    text = printed_table(table, 80, monkeypatch)
    assert not set("\x1b\x07\u202e") & set(text)
    capsys.readouterr()
    show.say("ev\x1b[2Jil\nnext")
    assert capsys.readouterr().err == "ev\ufffd[2Jil\nnext\n"


def test_a_narrow_table_without_rows_names_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed_table(Table(title="t", header=("a" * 30, "b" * 30), rows=()), 40, monkeypatch)
    assert "a" * 30 in text
    assert "b" * 30 in text


def test_tables_without_rows_or_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nothing" in printed_table(Table(title="nothing", header=("a", "b"), rows=()), 80, monkeypatch)
    assert "empty" in printed_table(Table(title="empty", header=(), rows=()), 80, monkeypatch)


def _joined(rows: tuple[tuple[tuple[str, ...], ...], ...]) -> list[tuple[str, ...]]:
    return [tuple(_packed("".join(cell)) for cell in row) for row in rows]


def _packed(text: str) -> str:
    return "".join(text.split())
