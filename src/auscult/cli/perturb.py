"""``auscult stress vision|sound|sentences|timing|recipe``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import typer

from auscult.cli import show
from auscult.cli.command import Shown, command
from auscult.jobs.perturb.options import PerturbOptions

_PRESETS: Final = ("preset", "place")
_WORDS: Final = ("keep", "keep_head")
_FILES: Final = ("quality", "depth")
_TABLES: Final = ("images", "instances")
_ITEMS: Final = ("text", "texts", "frames", "masks", "root", "labels")

ROOMS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "vision": (
        "Perturb pictures and videos: weather, blur, noise, loss in transmission. Masks follow where pixels move.",
        (*_PRESETS, *_WORDS),
    ),
    "sound": (
        "Perturb sounds and the sound of videos: loudness, noise, rooms, filters. What leaves full scale is cut off.",
        (*_PRESETS, *_WORDS, *_TABLES),
    ),
    "sentences": (
        "Perturb sentences: typos, stray marks, wrong grammar, lost characters, look-alike letters.",
        (*_PRESETS, *_FILES),
    ),
    "timing": (
        "Perturb the timing of videos: sound before or after its picture, drift, dropped and repeated frames.",
        (*_PRESETS, *_WORDS, *_TABLES, *_ITEMS, "dynamic"),
    ),
    "recipe": (
        "Perturb picture, sound, sentence and timing together, in the order in which such things arise.",
        (),
    ),
}
"""Room to the help of its command, and the options it lacks."""


def as_command(*words: Path | str) -> str:
    """A command quoted for a shell."""
    return shlex.join(map(str, words))


def register(app: typer.Typer) -> None:
    """Add the commands to ``auscult stress``."""
    for room, (does, without) in ROOMS.items():
        decorate = command(PerturbOptions, without=(*without, "scores"), fixed={"room": room})
        app.command(room, help=does)(decorate(_perturb))


def _perturb(options: PerturbOptions, shown: Shown) -> None:
    """Run a perturbation command."""
    from auscult.jobs.perturb.run import perturb
    from auscult.record.folder import read_manifest
    from auscult.record.manifest import notes_of

    if options.video_timeout_s is not None:
        options = replace(options, timeout_s=options.video_timeout_s)
    with show.progress_bar(quiet=shown.quiet) as progress:
        summary, tables = perturb(options, progress)
    notes = [f"note: {note}" for note in notes_of(read_manifest(options.out))]
    items = sorted(options.out.glob("*/items.jsonl"))
    if summary.ok and items:
        notes.append(f"next: {as_command('auscult', 'audit', items[0].parent, '--out', f'{options.out}-audit')}")
    show.result(summary, tables, shown, record=options.out, notes=notes)
