"""``auscult act``: verdicts into decisions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from auscult.cli import show
from auscult.cli.command import Commands, Shown, command, verb_command
from auscult.jobs.options import CalibrateOptions, ExportOptions, FilterOptions, GateOptions, RepairOptions
from auscult.jobs.sound_options import PseudoLabelOptions, RerankOptions

if TYPE_CHECKING:
    from auscult.jobs.sound_input import Chosen

app = typer.Typer(help="Turn verdicts into decisions.", no_args_is_help=True, cls=Commands)


@app.callback()
def _act() -> None:
    """Turn verdicts into decisions."""


@app.command("filter")
@command(FilterOptions, shown=("json",))
def filter_verdicts(options: FilterOptions, shown: Shown) -> None:
    """Pick the items with certain actions, from the record alone; prints their ids, one a line."""
    from auscult.jobs.act import curve_table, filter_record

    chosen = filter_record(options)
    if shown.json:
        show.as_json(chosen.as_json())
    else:
        for name in chosen.ids:
            print(name)
        if chosen.curve:
            show.tables([curve_table(chosen.curve)])
    show.say(f"{len(chosen.ids)} of {chosen.total} items; written to {chosen.out}")
    show.failures(options.folder)


@app.command("export")
@command(ExportOptions, shown=("json",))
def export_masks(options: ExportOptions, shown: Shown) -> None:
    """Write the masks with certain actions for another tool, from the record alone, and say what the format loses."""
    from auscult.jobs.export import export_record

    with show.progress_bar(quiet=shown.json) as progress:
        done = export_record(options, progress)
    if shown.json:
        show.as_json(done.as_json())
    else:
        for sentence in done.sentences:
            print(sentence)
    show.say(f"written to {done.out}")
    show.failures(options.folder)


@app.command("gate")
@command(GateOptions, shown=("json",))
def gate_verdicts(options: GateOptions, shown: Shown) -> None:
    """Accept masks unseen, as many as masks with truth show to be good enough, and list the rest to look at."""
    from auscult.jobs.gate import gate_record

    with show.busy("finding a threshold"):
        gated = gate_record(options)
    if shown.json:
        show.as_json({**gated.as_json(), "ids": list(gated.accepted), "out": str(gated.out)})
    else:
        for sentence in gated.sentences:
            print(sentence)
    for warning in gated.warnings:
        show.say(f"warning: {warning}")
    show.say(f"written to {gated.out}")
    show.failures(options.folder)


@app.command("calibrate")
@command(CalibrateOptions, shown=("json",))
def calibrate_verdicts(options: CalibrateOptions, shown: Shown) -> None:
    """Estimate anew from labels of 60 masks or more: a record with new IoUs, intervals and actions."""
    from auscult.jobs.calibrate import calibrate_record

    with show.busy("estimating anew"):
        made = calibrate_record(options)
    if shown.json:
        show.as_json(made.as_json())
    else:
        print(made.sentence)
    for note in made.notes:
        show.say(f"note: {note}")
    show.say(f"written to {made.out}")
    show.failures(made.out)


app.command("repair")(
    verb_command(
        RepairOptions,
        "repair:RepairMasks",
        help="Try to repair what was not accepted, judge it again, and keep what is better; the record stays as it is.",
    )
)


@app.command("rerank")
@command(RerankOptions, shown=("json",))
def rerank_sounds(options: RerankOptions, shown: Shown) -> None:
    """Write the best output of each mixture as an INPUT, from the record."""
    from auscult.jobs.rerank import rerank_record

    with show.busy("choosing"):
        chosen = rerank_record(options)
    _show_chosen(chosen, options.folder, shown)


@app.command("pseudo-label")
@command(PseudoLabelOptions, shown=("json",))
def pseudo_label_sounds(options: PseudoLabelOptions, shown: Shown) -> None:
    """Write separated sounds that pass as labelled stems with a confidence, for `make mixtures --assets`."""
    from auscult.jobs.pseudo_label import pseudo_label

    with show.busy("labelling"):
        chosen = pseudo_label(options)
    _show_chosen(chosen, options.folder, shown)


def _show_chosen(chosen: Chosen, folder: Path, shown: Shown) -> None:
    if shown.json:
        show.as_json(chosen.said)
    else:
        show.tables(chosen.tables)
    show.say(f"written to {chosen.out}")
    show.failures(folder)
