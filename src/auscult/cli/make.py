"""``auscult make`` and ``auscult demo``: generated cases, and an audit of photographs."""

from __future__ import annotations

import typer

from auscult.cli import show
from auscult.cli.audit import show_record
from auscult.cli.command import Commands, Shown, command
from auscult.jobs.options import DemoOptions, FamiliarOptions, MakeOptions, MixturesOptions, PriseOptions

app = typer.Typer(help="Make cases from nothing, with exact truth.", no_args_is_help=True, cls=Commands)


@app.callback()
def _make() -> None:
    """Make cases from nothing, with exact truth."""


@app.command("scenes")
@command(MakeOptions)
def make_scenes_command(options: MakeOptions, shown: Shown) -> None:
    """Make audio-visual scenes with exact masks, sounds and proven expressions; writes an INPUT that audit takes."""
    from auscult.jobs.make import make_scenes

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = make_scenes(options, progress)
    note = f"next: auscult run mqa --data {options.out} --out {options.out}-mqa"
    show.result(summary, tables, shown, record=options.out, notes=[note])


@app.command("mixtures")
@command(MixturesOptions)
def make_mixtures_command(options: MixturesOptions, shown: Shown) -> None:
    """Make mixtures of sounds with stems, prompts and known scores; writes an INPUT that run separation takes."""
    from auscult.jobs.mixtures import make_mixtures

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = make_mixtures(options, progress)
    note = f"next: auscult run separation --model nmf --data {options.out} --out {options.out}-separation"
    show.result(summary, tables, shown, record=options.out, notes=[note])


@app.command("avi")
@command(FamiliarOptions)
def make_avi_command(options: FamiliarOptions, shown: Shown) -> None:
    """Make samples of AVI-Bench's eleven familiar tasks, with exact truth, in its layout."""
    from auscult.jobs.familiar import make_avi

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = make_avi(options, progress)
    show.result(summary, tables, shown, record=options.out)


@app.command("prise")
@command(PriseOptions)
def make_prise_command(options: PriseOptions, shown: Shown) -> None:
    """Make sounds, pictures and videos that nobody trained on, with questions, in AVI-Bench's layout."""
    from auscult.jobs.prise import REVIEW, make_prise

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = make_prise(options, progress)
    show.result(
        summary, tables, shown, record=options.out, notes=[f"to be reviewed in this order: {options.out / REVIEW}"]
    )


@command(DemoOptions)
def demo(options: DemoOptions, shown: Shown) -> None:
    """Audit candidate masks of real photographs: a model's, a classical segmenter's, and stressed ones."""
    from auscult.jobs.demo import run_demo, worst_drawn

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary = run_demo(options, progress)
    show_record(options.out, summary=summary.as_json(), json=shown.json, worst=worst_drawn(options.out))
    show.exit_code(summary, max_failed=shown.max_failed, record=options.out)
