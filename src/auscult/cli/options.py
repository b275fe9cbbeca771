"""Options that several verbs share, worded once."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auscult.errors import UsageError

if TYPE_CHECKING:
    from auscult.cases.listing import ListOptions


def _out_path(text: str) -> Path:
    """``--out`` as it was given; an empty one, as of a shell variable that is not set, is not the current folder."""
    return _path(text, "--out", expected="a folder")


def _path(text: str, name: str, *, expected: str) -> Path:
    if not text.strip():
        raise UsageError(f"{name} is empty", expected=expected, hint="for the current folder, give .")
    return Path(text)


Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="<path>", parser=_out_path, help="Output folder; the same command again continues in it."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Start anew over an earlier record in --out.")]
MaxFailed = Annotated[int, typer.Option("--max-failed", min=0, help="Exit 1 when more cases failed than this.")]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Worker processes.", show_default="one per processor")
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for the masks of one frame together.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same material.")]
Policy = Annotated[str, typer.Option("--policy", help="Name of a shipped policy, or a policy file.")]
Identity = Annotated[
    str | None,
    typer.Option(
        "--identity",
        help="A check of `auscult list identity`: is the mask on the object that the text names?",
        show_default="none",
    ),
]
IdentityWeights = Annotated[
    Path | None,
    typer.Option(
        "--identity-weights", help="Folder of CLIP weights, for --identity clip.", show_default="$AUSCULT_CLIP"
    ),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone",
        help="Show the judge one mask at a time; without it the masks of a frame are one another's other objects.",
    ),
]
EvidenceFrom = Annotated[
    str | None,
    typer.Option(
        "--evidence", help="hf:FOLDER: SAM, SAM 2 or SAM 3 draws what the judge compares with, from weights of yours."
    ),
]
FramesOption = Annotated[Path | None, typer.Option("--frames", help="Folder of the frames, when not INPUT/frames.")]
MasksOption = Annotated[Path | None, typer.Option("--masks", help="Folder of the masks, when not INPUT/masks.")]
Images = Annotated[Path | None, typer.Option("--images", help="Folder of the pictures of a COCO json.")]
Instances = Annotated[
    Path | None, typer.Option("--instances", help="COCO instances that name the pictures of a results json.")
]
Text = Annotated[str | None, typer.Option("--text", help="The referring expression of all items.")]
Texts = Annotated[Path | None, typer.Option("--texts", help="CSV with columns id,text or frame,text.")]
Scores = Annotated[
    Path | None,
    typer.Option(
        "--scores",
        help="The model's own scores of its masks: CSV with columns id,score, or JSON lines.",
    ),
]
Root = Annotated[
    Path | None, typer.Option("--root", help="Folder that paths in INPUT may reach; INPUT's own by default.")
]
LabelsOption = Annotated[bool, typer.Option("--labels", help="Read grey mask values as object indices.")]


def input_path(text: str) -> Path:
    """INPUT as it was given; an empty one, as of a shell variable that is not set, is not the current folder."""
    return _path(text, "INPUT", expected="a folder or file")


def names(text: str) -> tuple[str, ...]:
    """The names in a comma-separated list."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def given(ctx: typer.Context) -> frozenset[str]:
    """Names of the options that the user spelled out, as opposed to defaults."""
    return frozenset(
        name for name in ctx.params if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"
    )


def listing(ctx: typer.Context) -> ListOptions:
    """How INPUT is to be read, from the options of the verb that was called."""
    from auscult.cases.listing import ListOptions

    known = {field.name for field in fields(ListOptions)}
    return ListOptions(**{name: value for name, value in ctx.params.items() if name in known})
