"""``auscult run``: a benchmark end to end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from auscult.cli import show
from auscult.cli.command import Shown, command
from auscult.jobs.options import Flag, input_path, names, out_path, specs_of

if TYPE_CHECKING:
    from auscult.suites.registered import Suite, SuiteOptions, SuiteRun

_OF_THE_COMMAND = frozenset({"suite", "max_failed", "json", "quiet"})
"""Options of the command itself, whatever the suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """What ``auscult run`` is asked for: the options of all suites; a suite refuses those that it does not know.

    Attributes:
        suite: A suite of `auscult list suite`, for example mqa.
        data: A source of true masks, a benchmark made before, or the word scenes for new ones (a folder of that name
            goes first).
        out: Output folder; the same command again continues in it.
        judge: A judge of `auscult list judge`, for a suite of judges; repeat it for several.
        model: For a suite of models: one of `auscult list model`, NAME@WEIGHTS, FILE.py:FUNCTION, predictions:DIR or
            'command:PROGRAM ...'; repeat it for several.
        task: The task of a suite of models: ris, vos, rvos or avs.
        severity: Comma-separated: low, medium, high, numbers from 0 to 5, dynamic.
        perturb: Comma-separated, drawn for each case: mix (picture, guidance or both), picture, guidance; none for
            none.
        kind: Comma-separated perturbations tried alone; all for the paper's.
        part: Frames that are perturbed: all; with --task vos also first (the reference's) and rest.
        texts: CSV of sentences (id,text or frame,text), for data that has none of its own.
        masks: Folder of the true masks, where the data has several.
        memory_mb: Most memory of one worker with its model.
        inputs: Also write to OUT/inputs what models are shown, to predict elsewhere.
        count: How many scenes, with --data scenes.
        seed: The same seed makes the same material.
        assets: Folder of cutouts/, sounds/ and backgrounds/ for the scenes.
        protocol: Comma-separated: image,video.
        split: Comma-separated splits of the source.
        negatives: Other objects: own (the data set's), or a proposer of regions.
        generator: Who makes the defects: standard, or freehand (same kinds, other shapes).
        take: Frames of the image protocol: key (one an object), all, or every:N of them.
        objects: Objects of the source: sample (the suite's numbers), or all.
        least_px: Leave out objects with fewer pixels.
        splits_file: JSON of split to names of photographs or sequences, where the source has no splits of its own.
        images: Folder of the pictures of a COCO json.
        policy: Name of a shipped policy, or a policy file.
        identity: A check of `auscult list identity`: is the mask on the object that the text names?
        identity_weights: Folder of CLIP weights, for --identity clip.
        workers: Worker processes.
        timeout_s: Seconds for the masks of one frame together, or for one case under one condition.
        overwrite: Start anew over an earlier record in --out.
        given: Names of the options that the user spelled out, for the manifest.
    """

    suite: Annotated[str, Flag(metavar="SUITE", positional=True)]
    data: str
    out: Annotated[Path, Flag(read=out_path, metavar="<path>")]
    judge: Annotated[list[str] | None, Flag(shown="the best that ships")] = None
    model: Annotated[list[str] | None, Flag(shown="none")] = None
    task: Annotated[str, Flag(shown="none")] = ""
    severity: Annotated[tuple[str, ...], Flag(read=names)] = ("low", "medium", "high", "dynamic")
    perturb: Annotated[tuple[str, ...], Flag(read=names)] = ("mix",)
    kind: Annotated[tuple[str, ...], Flag(read=names, shown="none")] = ()
    part: Annotated[tuple[str, ...], Flag(read=names)] = ("all",)
    texts: Path | None = None
    masks: Path | None = None
    memory_mb: Annotated[int, Flag(least=256)] = 8192
    inputs: bool = False
    count: Annotated[int, Flag(least=1)] = 50
    seed: int = 0
    assets: Path | None = None
    protocol: Annotated[tuple[str, ...], Flag(read=names)] = ("image", "video")
    split: Annotated[tuple[str, ...], Flag(read=names, shown="the suite's")] = ()
    negatives: str = "own"
    generator: str = "standard"
    take: str = "key"
    objects: str = "sample"
    least_px: Annotated[int, Flag(least=0)] = 0
    splits_file: Annotated[Path | None, Flag(read=input_path)] = None
    images: Path | None = None
    policy: str = "paper"
    identity: Annotated[str | None, Flag(shown="none")] = None
    identity_weights: Annotated[Path | None, Flag(shown="$AUSCULT_CLIP")] = None
    workers: Annotated[int | None, Flag(least=1, shown="one per processor")] = None
    timeout_s: Annotated[float | None, Flag(name="timeout", least=0.1, shown="120, or 600 for models")] = None
    overwrite: bool = False
    given: Annotated[frozenset[str], Flag(internal=True)] = frozenset()


@command(RunCommand)
def run(options: RunCommand, shown: Shown) -> None:
    """Run a benchmark: make it, have every judge judge it or every model asked, and write tables and a report."""
    from auscult.suites.registered import load_suite

    found = load_suite(options.suite)
    asked = _asked(options, found)
    with show.progress_bar(quiet=shown.quiet) as progress:
        done = found.run(asked, progress)
    _tell(done, options.out, json=shown.json)
    show.exit_code(done.summary, max_failed=shown.max_failed, record=options.out)


def _tell(done: SuiteRun, out: Path, *, json: bool) -> None:
    """Print the summary as JSON, or the tables that fit a console; remarks go to stderr."""
    for remark in done.remarks:
        show.say(remark)
    if json:
        show.as_json(done.summary.as_json())
        return
    show.tables(done.shown)
    show.say(f"report: {out / 'report.html'}")


def _asked(options: RunCommand, suite: Suite) -> SuiteOptions:
    """What the command asks the suite for."""
    from auscult.suites.registered import data_of, option_names, options_of, refuse_foreign

    refuse_foreign(suite, options.given - _OF_THE_COMMAND)
    given = {spec.name: getattr(options, spec.path[0]) for spec in specs_of(RunCommand)}
    words = {name: given[flag] for name, flag in option_names(suite.options()).items() if flag in given}
    if words.get("mixes") == ("none",):
        words["mixes"] = ()
    data = data_of(options.data)
    words["data"] = input_path(options.data) if isinstance(data, Path) else data
    asked = {name: value for name, value in words.items() if value is not None}
    return options_of(suite, {**asked, "given": options.given})
