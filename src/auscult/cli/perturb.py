"""``auscult stress vision|sound|sentences|timing|recipe``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from auscult.cli import options, show

if TYPE_CHECKING:
    from auscult.record.schema import Summary

_VIDEO_S: Final = "120; no limit for a video"
_TIMEOUT_S: Final = 120.0

Source = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        parser=options.input_path,
        help="A picture, video or sound, a folder of them, sentences (.txt, or .csv with id,text), or what "
        "`auscult audit` takes.",
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        "--kind", help="a,b is a sweep with a folder for each, a+b composes, all takes the paper's.", show_default=False
    ),
]
Severity = Annotated[
    str,
    typer.Option("--severity", help="0 to 5, or low, medium, high; a comma is a sweep.", show_default="3"),
]
Dynamic = Annotated[
    str,
    typer.Option("--dynamic", help="How strength goes through a clip: static, paper, r2bench, ramp, burst or walk."),
]
Keep = Annotated[
    str,
    typer.Option("--keep", help="Comma-separated words or phrases that sentences keep."),
]
KeepHead = Annotated[
    bool, typer.Option("--keep-head", help="Sentences keep the noun that says what is looked for, where one is found.")
]
Quality = Annotated[
    int,
    typer.Option("--quality", help="Of videos: 0 is lossless, 1 to 51 x264's quantiser, more is smaller and worse."),
]
Depth = Annotated[str, typer.Option("--depth", help="Of sounds: int16 or float32.")]
Preset = Annotated[
    str,
    typer.Option(
        "--preset",
        help="Instead of --kind: a recipe drawn for each clip: release, r2bench or paper.",
        show_default=False,
    ),
]
Place = Annotated[
    str, typer.Option("--place", help="With --preset: draw what can occur there, such as indoors.", show_default=False)
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", min=0.1, help="Seconds for a few pictures, a sound or a video.", show_default=_VIDEO_S),
]


def as_command(*words: Path | str) -> str:
    """A command as it can be given to a shell, whatever is in its paths."""
    return shlex.join(map(str, words))


def register(app: typer.Typer) -> None:
    """Add the commands to ``auscult stress``."""
    app.command("vision")(vision)
    app.command("sound")(sound)
    app.command("sentences")(sentences)
    app.command("timing")(timing)
    app.command("recipe")(recipe)


def vision(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    kind: Kind = "",
    severity: Severity = "",
    dynamic: Dynamic = "static",
    seed: options.Seed = 0,
    quality: Quality = 0,
    depth: Depth = "int16",
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.FramesOption = None,
    masks: options.MasksOption = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: Timeout = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb pictures and videos: weather, blur, noise, loss in transmission. Masks follow where pixels move."""
    _run(ctx, "vision")


def sound(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    kind: Kind = "",
    severity: Severity = "",
    dynamic: Dynamic = "static",
    seed: options.Seed = 0,
    quality: Quality = 0,
    depth: Depth = "int16",
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.FramesOption = None,
    masks: options.MasksOption = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: Timeout = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb sounds and the sound of videos: loudness, noise, rooms, filters. What leaves full scale is cut off."""
    _run(ctx, "sound")


def sentences(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    kind: Kind = "",
    severity: Severity = "",
    dynamic: Dynamic = "static",
    seed: options.Seed = 0,
    keep: Keep = "",
    keep_head: KeepHead = False,
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.FramesOption = None,
    masks: options.MasksOption = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: Timeout = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb sentences: typos, stray marks, wrong grammar, lost characters, look-alike letters."""
    _run(ctx, "sentences")


def timing(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    kind: Kind = "",
    severity: Severity = "",
    seed: options.Seed = 0,
    quality: Quality = 0,
    depth: Depth = "int16",
    workers: options.Workers = None,
    timeout: Timeout = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb the timing of videos: sound before or after its picture, drift, dropped and repeated frames."""
    _run(ctx, "timing")


def recipe(
    ctx: typer.Context,
    source: Source,
    *,
    out: options.Out,
    kind: Kind = "",
    severity: Severity = "",
    dynamic: Dynamic = "static",
    preset: Preset = "",
    place: Place = "",
    seed: options.Seed = 0,
    keep: Keep = "",
    keep_head: KeepHead = False,
    quality: Quality = 0,
    depth: Depth = "int16",
    text: options.Text = None,
    texts: options.Texts = None,
    frames: options.FramesOption = None,
    masks: options.MasksOption = None,
    images: options.Images = None,
    instances: options.Instances = None,
    root: options.Root = None,
    labels: options.LabelsOption = False,
    workers: options.Workers = None,
    timeout: Timeout = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Perturb picture, sound, sentence and timing together, in the order in which such things arise."""
    _run(ctx, "recipe")


def _run(ctx: typer.Context, room: str) -> None:
    """Do what the options of a command say; all five share their names."""
    from auscult.jobs.perturb.choice import Wanted
    from auscult.jobs.perturb.run import PerturbOptions, perturb

    given: dict[str, Any] = ctx.params
    wanted = Wanted(
        room=room,
        kinds=given["kind"].strip(),
        severities=given["severity"].strip(),
        schedule=given.get("dynamic", "static"),
        preset=given.get("preset", ""),
        place=given.get("place", ""),
    )
    limit_s: float | None = given["timeout"]
    asked = PerturbOptions(
        source=given["source"],
        out=given["out"],
        listing=options.listing(ctx),
        wanted=wanted,
        seed=given["seed"],
        keep=options.names(given.get("keep", "")),
        keep_head=given.get("keep_head", False),
        quality=given.get("quality", 0),
        depth=given.get("depth", "int16"),
        workers=given["workers"],
        timeout_s=_TIMEOUT_S if limit_s is None else limit_s,
        video_timeout_s=limit_s,
        overwrite=given["overwrite"],
        given=options.given(ctx),
    )
    with show.progress_bar(quiet=given["quiet"]) as progress:
        summary, shown = perturb(asked, progress)
    if given["json"]:
        show.as_json(summary.as_json())
    else:
        show.tables(shown)
        _say_notes(given["out"])
    _say_next(summary, given)
    show.exit_code(summary, max_failed=given["max_failed"], record=given["out"])


def _say_notes(out: Path) -> None:
    from auscult.record.folder import read_manifest

    for note in read_manifest(out).get("inputs", {}).get("notes", ()):
        show.say(f"note: {note}")


def _say_next(summary: Summary, given: dict[str, Any]) -> None:
    items = sorted(given["out"].glob("*/items.jsonl"))
    if summary.ok and items and not given["json"]:
        audit = as_command("auscult", "audit", items[0].parent, "--out", f"{given['out']}-audit")
        show.say(f"next: {audit}")
