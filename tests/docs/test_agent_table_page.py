"""The numbers of docs/agent-table7.md are those that ``auscult run agent`` prints."""

from __future__ import annotations

from pathlib import Path

import agent_sheets
import pytest

STALE = "run: PYTHONPATH=tools python tests/docs/agent_sheets.py"


def test_the_built_in_planner_and_the_baselines_have_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auscult.agent.evaluation.measuring.ERROR_RATES", ())
    page = agent_sheets.PAGE.read_text(encoding="utf-8").splitlines()
    for table in agent_sheets.tables_of(tmp_path, "test").values():
        missing = {agent_sheets.row(cells) for cells in table.rows} - set(page)
        assert not missing, STALE


@pytest.mark.slow
def test_the_page_has_all_tables_as_they_are(tmp_path: Path) -> None:
    page = agent_sheets.PAGE.read_text(encoding="utf-8")
    assert agent_sheets.with_tables(page, agent_sheets.tables_of(tmp_path, "test")) == page, STALE
