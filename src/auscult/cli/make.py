"""``auscult make scenes`` and ``auscult demo``: cases made from nothing, and the main job on photographs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from auscult.cli import options, show
from auscult.cli.audit import show_record
from auscult.errors import UsageError

app = typer.Typer(help="Make cases from nothing, with exact truth.", no_args_is_help=True)


@app.callback()
def _make() -> None:
    """Make cases from nothing, with exact truth."""


def _two(text: str, name: str, separator: str) -> tuple[int, int]:
    """Two whole numbers with a separator between; one number stands for both where ``separator`` is ``-``."""
    found = re.fullmatch(rf"\s*(\d{{1,6}})\s*(?:{separator}\s*(\d{{1,6}})\s*)?", text)
    if found is None or (found[2] is None and separator != "-"):
        shown = "HEIGHTxWIDTH, such as 480x854" if separator == "x" else "FEWEST-MOST, such as 2-6"
        raise UsageError(f"--{name} {text[:40]!r} cannot be read", expected=shown)
    return int(found[1]), int(found[2] or found[1])


@app.command("scenes")
def make_scenes_command(
    ctx: typer.Context,
    *,
    out: options.Out,
    count: Annotated[int, typer.Option("--count", help="How many scenes; more than before adds to what is there.")],
    seed: options.Seed = 0,
    assets: Annotated[
        Path | None,
        typer.Option("--assets", help="Folder with cutouts/, backgrounds/ and sounds/, instead of generated ones."),
    ] = None,
    size: Annotated[str, typer.Option("--size", help="Height x width of the frames, each 32 to 4096.")] = "480x854",
    seconds: Annotated[
        float, typer.Option("--seconds", help="Length of a clip, 3 to 120 s; key frames at 0, 1, 2, ... s.")
    ] = 10.0,
    rate: Annotated[int, typer.Option("--rate", help="Sample rate of the sound, 8000 to 96000 Hz.")] = 16_000,
    objects: Annotated[
        str, typer.Option("--objects", help="Fewest and most objects of a scene, from 2 to 12.")
    ] = "2-6",
    split: Annotated[
        str, typer.Option("--split", help="train, test_s, test_u, or all: 60, 20 and 20 %, by chance.")
    ] = "all",
    video: Annotated[
        float | None, typer.Option("--video", help="Also write video.mp4 at so many frames a second (extra `video`).")
    ] = None,
    expressions: Annotated[int, typer.Option("--expressions", help="Most expressions of a scene.")] = 6,
    workers: options.Workers = None,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for one scene.")] = 120.0,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make audio-visual scenes with exact masks, sounds and proven expressions; writes an INPUT that audit takes."""
    from auscult.jobs.make import MakeOptions, make_scenes
    from auscult.scenes.plan import SceneOptions

    job = MakeOptions(
        out=out,
        count=count,
        seed=seed,
        assets=assets,
        scene=SceneOptions(
            size=_two(size, "size", "x"), seconds=seconds, rate_hz=rate, objects=_two(objects, "objects", "-")
        ),
        split=split,
        fps=video,
        expressions=expressions,
        workers=workers,
        timeout_s=timeout,
        overwrite=overwrite,
        given=options.given(ctx),
    )
    with show.progress_bar(quiet=quiet) as progress:
        summary, shown = make_scenes(job, progress)
    if json:
        show.as_json(summary.as_json())
    else:
        show.tables(shown)
        show.say(f"next: auscult run mqa --data {out} --out {out}-mqa")
    show.exit_code(summary, max_failed=max_failed, record=out)


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", help="Output folder.")] = Path("auscult-demo"),
    seed: options.Seed = 0,
    workers: options.Workers = None,
    overwrite: options.Overwrite = False,
    max_failed: options.MaxFailed = 0,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Audit candidate masks of real photographs: a classical segmenter's and stressed ones."""
    from auscult.jobs.demo import run_demo

    with show.progress_bar(quiet=quiet) as progress:
        summary = run_demo(out, seed=seed, workers=workers, overwrite=overwrite, progress=progress)
    show_record(out, summary=summary.as_json(), json=json)
    show.exit_code(summary, max_failed=max_failed, record=out)
