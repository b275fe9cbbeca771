"""``auscult make`` and ``auscult demo``: generated cases, and an audit of photographs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from auscult.cli import show
from auscult.cli.audit import show_record
from auscult.cli.command import Shown, command, group, verb_command
from auscult.jobs.options import DemoOptions, FamiliarOptions, MakeOptions, MixturesOptions, PriseOptions

app = group("Make cases from nothing, with exact truth.")

_VERBS: Final[Mapping[str, tuple[type, str, str, str]]] = {
    "scenes": (
        MakeOptions,
        "make:MakeScenes",
        "Make audio-visual scenes with exact masks, sounds and proven expressions; writes an INPUT that audit takes.",
        "next: auscult run mqa --data {out} --out {out}-mqa",
    ),
    "mixtures": (
        MixturesOptions,
        "mixtures:MakeMixtures",
        "Make mixtures of sounds with stems, prompts and known scores; writes an INPUT that run separation takes.",
        "next: auscult run separation --model nmf --data {out} --out {out}-separation",
    ),
    "avi": (
        FamiliarOptions,
        "make_avi:MakeAvi",
        "Make samples of AVI-Bench's eleven familiar tasks, with exact truth, in its layout.",
        "",
    ),
    "prise": (
        PriseOptions,
        "make_avi:MakePrise",
        "Make sounds, pictures and videos that nobody trained on, with questions, in AVI-Bench's layout.",
        "to be reviewed in this order: {out}/review.csv",
    ),
}
"""Options, class, help and next step of each command."""

for _name, (_options, _verb, _help, _next) in _VERBS.items():
    app.command(_name)(verb_command(_options, _verb, help=_help, next_step=_next))


@command(DemoOptions)
def demo(options: DemoOptions, shown: Shown) -> None:
    """Audit candidate masks of real photographs: a model's, a classical segmenter's, and stressed ones."""
    from auscult.jobs.demo import run_demo, worst_drawn

    with show.progress_bar(quiet=shown.quiet) as progress:
        summary = run_demo(options, progress)
    show_record(options.out, summary=summary.as_json(), json=shown.json, worst=worst_drawn(options.out))
    show.exit_code(summary, max_failed=shown.max_failed, record=options.out)
