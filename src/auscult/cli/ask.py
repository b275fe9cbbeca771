"""``auscult ask``: a question about a record, answered from what it holds."""

from __future__ import annotations

from dataclasses import asdict

import typer

from auscult.agent.options import AskOptions
from auscult.cli import show
from auscult.cli.command import Shown, command


@command(AskOptions, shown=("json",))
def ask(options: AskOptions, shown: Shown) -> None:
    """Answer a question about a study or a record by a read-only query, shown with its table; 2 where it cannot."""
    from auscult.agent.questions import ask as ask_record
    from auscult.report.tables import Table

    answer = ask_record(
        options.folder, options.question, llm=options.llm, base_url=options.base_url, profile=options.profile
    )
    if shown.json:
        show.as_json(asdict(answer))
    else:
        print(show.clean(answer.sentence))
        rows = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in answer.rows)
        show.tables([Table(title=answer.question, header=answer.columns, rows=rows, note=" ".join(answer.notes))])
        if answer.sql:
            print(show.clean(answer.sql))
    if not answer.answered:
        raise typer.Exit(2)
