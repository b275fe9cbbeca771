"""``auscult act``: verdicts into decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auscult.cli import show
from auscult.cli.command import Shown, command, group, verb_command
from auscult.jobs.options import CalibrateOptions, ExportOptions, FilterOptions, GateOptions, RepairOptions
from auscult.jobs.sound_options import PseudoLabelOptions, RerankOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from auscult.report.tables import Table

app = group("Turn verdicts into decisions.")


@app.command("filter")
@command(FilterOptions, shown=("json",))
def filter_verdicts(options: FilterOptions, shown: Shown) -> None:
    """Pick the items with certain actions, from the record alone; prints their ids, one a line."""
    from auscult.jobs.act import curve_table, filter_record

    chosen = filter_record(options)
    tables = [curve_table(chosen.curve)] if chosen.curve else []
    _print(shown, chosen.as_json(), lines=chosen.ids, tables=tables)
    _say_where(chosen.out, options.folder, lead=f"{len(chosen.ids)} of {chosen.total} items; ")


@app.command("export")
@command(ExportOptions, shown=("json",))
def export_masks(options: ExportOptions, shown: Shown) -> None:
    """Write the masks with certain actions for another tool, from the record alone, and say what the format loses."""
    from auscult.jobs.export import export_record

    with show.progress_bar(quiet=shown.json) as progress:
        done = export_record(options, progress)
    _print(shown, done.as_json(), lines=done.sentences)
    _say_where(done.out, options.folder)


@app.command("gate")
@command(GateOptions, shown=("json",))
def gate_verdicts(options: GateOptions, shown: Shown) -> None:
    """Accept masks unseen, as many as masks with truth show to be good enough, and list the rest to look at."""
    from auscult.jobs.gate import gate_record

    with show.busy("finding a threshold"):
        gated = gate_record(options)
    value = {**gated.as_json(), "ids": list(gated.accepted), "out": str(gated.out)}
    _print(shown, value, lines=gated.sentences)
    for warning in gated.warnings:
        show.say(f"warning: {warning}")
    _say_where(gated.out, options.folder)


@app.command("calibrate")
@command(CalibrateOptions, shown=("json",))
def calibrate_verdicts(options: CalibrateOptions, shown: Shown) -> None:
    """Estimate anew from labels of 60 masks or more: a record with new IoUs, intervals and actions."""
    from auscult.jobs.calibrate import calibrate_record

    with show.busy("estimating anew"):
        result = calibrate_record(options)
    _print(shown, result.as_json(), lines=[result.sentence])
    for note in result.notes:
        show.say(f"note: {note}")
    _say_where(result.out, result.out)


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
    _print(shown, chosen.said, tables=chosen.tables)
    _say_where(chosen.out, options.folder)


@app.command("pseudo-label")
@command(PseudoLabelOptions, shown=("json",))
def pseudo_label_sounds(options: PseudoLabelOptions, shown: Shown) -> None:
    """Write separated sounds that pass as labelled stems with a confidence, for `make mixtures --assets`."""
    from auscult.jobs.rerank import pseudo_label

    with show.busy("labelling"):
        chosen = pseudo_label(options)
    _print(shown, chosen.said, tables=chosen.tables)
    _say_where(chosen.out, options.folder)


def _print(shown: Shown, value: Any, *, lines: Iterable[str] = (), tables: Sequence[Table] = ()) -> None:
    """Print a result: the value as JSON, or its lines and tables."""
    if shown.json:
        show.as_json(value)
        return
    for line in lines:
        print(show.clean(line))
    show.tables(tables)


def _say_where(out: Path, record: Path, *, lead: str = "") -> None:
    show.say(f"{lead}written to {out}")
    for warning in show.warnings_of(record):
        show.say(warning)
    show.failures(record)
