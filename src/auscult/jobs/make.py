"""``auscult make scenes``: scenes with exact truth, in Ref-AVSBench's layout and as an INPUT for ``audit``.

The same command again continues where a stopped run left off, and with a larger ``--count`` adds to what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from auscult.cases.layouts import refavs
from auscult.cases.walk import is_file, walk
from auscult.errors import ErrorRecord, InputError, UsageError
from auscult.jobs.errors import ErrorLog
from auscult.jobs.making import MadeScene, SceneJob, make_maker
from auscult.jobs.making_kept import SCENES, Keeper
from auscult.jobs.making_tables import families_table, left_out_table, scenes_table
from auscult.jobs.manifests import SAME_RESULT
from auscult.jobs.progress import Progress, Silent
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.sound import SOUND_SUFFIXES
from auscult.outcome import Failed
from auscult.record.digest import digest_file, digest_json
from auscult.record.folder import RunFolder, open_run
from auscult.record.manifest import build
from auscult.record.reader import failed_rows
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.scenes.appearance.folder import PICTURES
from auscult.scenes.assets import Assets, open_bundle
from auscult.scenes.plan import RATES_HZ, SECONDS, SIDES, SceneOptions
from auscult.scenes.splits import SPLITS, Split, divide
from auscult.work.pool import Task, default_workers, run_tasks

MOST_SCENES = 1_000_000
MOST_SEED = 2**63
MOST_OBJECTS = 12
MOST_EXPRESSIONS = 100
MOST_FPS = 240.0

_USED: Mapping[str, frozenset[str]] = {"cutouts": PICTURES, "backgrounds": FRAME_SUFFIXES, "sounds": SOUND_SUFFIXES}


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeOptions:
    """Which scenes to make.

    Attributes:
        out: The output folder.
        count: How many.
        seed: The same seed makes the same scenes.
        assets: A user's folder; None for generated things and sounds.
        scene: Size, length, sample rate and number of things.
        split: ``all`` for a mixture of 60 % train, 20 % test_s, 20 % test_u; or one of them.
        fps: Also write a video of so many frames a second; None for none.
        expressions: Most expressions a scene.
        workers: Worker processes, 1 or more as ``--workers`` takes them; None for one per processor. From Python also
            0: everything in this process, without time limit.
        timeout_s: Limit for one scene.
        overwrite: Start anew over an earlier record.
        given: Names of the options that the user spelled out, for the manifest.
    """

    out: Path
    count: int
    seed: int = 0
    assets: Path | None = None
    scene: SceneOptions = field(default_factory=SceneOptions)
    split: str = "all"
    fps: float | None = None
    expressions: int = 6
    workers: int | None = None
    timeout_s: float = 120.0
    overwrite: bool = False
    given: frozenset[str] = frozenset()

    @property
    def crew_size(self) -> int:
        """Worker processes, decided."""
        return default_workers() if self.workers is None else self.workers

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits to make."""
        return tuple(split for split in SPLITS if self.split in {"all", split})


def make_scenes(options: MakeOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Make scenes into an output folder.

    Returns:
        What ``summary.json`` says, and tables of what was made.

    Raises:
        UsageError: An argument is out of range, or the assets are too few for the wanted splits.
        RecordError: The output folder is in use, or was made with other arguments.
    """
    listener = progress or Silent()
    _check(options)
    assets, left_out = open_bundle(options.assets)
    divide(assets, wanted=options.splits)
    with open_run(
        options.out, _manifest(options, assets), overwrite=options.overwrite, ignore=SAME_RESULT | {"count"}
    ) as run:
        run.remove("errors.jsonl")  # whatever failed before is tried again now
        errors = ErrorLog(run)
        errors.keep(error_to_json(None, error) for error in left_out)
        keeper = Keeper(run, count=options.count)
        listener.stage("making scenes", options.count)
        listener.step(len(keeper.done))
        for index, outcome in _made(options, keeper.done):
            if isinstance(outcome, Failed):
                errors.keep([error_to_json(f"scene {index}", outcome.error)])
                keeper.skip(index)
            else:
                keeper.keep(index, outcome)
            listener.step()
        keeper.in_order()
        return _finish(run, options, left_out)


def _made(options: MakeOptions, done: frozenset[int]) -> Iterator[tuple[int, MadeScene | Failed]]:
    job = SceneJob(
        seed=options.seed,
        assets=options.assets,
        splits=options.splits,
        options=options.scene,
        expressions=options.expressions,
        fps=options.fps,
    )
    tasks = (Task(str(index), index) for index in range(options.count) if index not in done)
    make = partial(make_maker, job)
    for result in run_tasks(make, tasks, workers=options.crew_size, timeout_s=options.timeout_s, stage="make"):
        yield int(result.key), result.outcome


def _check(options: MakeOptions) -> None:
    scene = options.scene
    fewest, most = scene.objects
    fine = {
        f"--count {options.count}": (1 <= options.count <= MOST_SCENES, f"1 to {MOST_SCENES}"),
        f"--seed {options.seed}": (abs(options.seed) < MOST_SEED, f"below {MOST_SEED} in size"),
        f"--size {scene.size[0]}x{scene.size[1]}": (
            all(SIDES[0] <= side <= SIDES[1] for side in scene.size),
            f"HEIGHTxWIDTH, {SIDES[0]} to {SIDES[1]} pixels each",
        ),
        f"--seconds {scene.seconds:g}": (
            SECONDS[0] <= scene.seconds <= SECONDS[1],
            f"{SECONDS[0]:g} to {SECONDS[1]:g}",
        ),
        f"--rate {scene.rate_hz}": (
            RATES_HZ[0] <= scene.rate_hz <= RATES_HZ[1],
            f"{RATES_HZ[0]} to {RATES_HZ[1]} Hz",
        ),
        f"--objects {fewest}-{most}": (
            2 <= fewest <= most <= MOST_OBJECTS,
            f"FEWEST-MOST, 2 to {MOST_OBJECTS}: of one object alone there is nothing to tell apart",
        ),
        f"--split {options.split}": (bool(options.splits), f"all, {', '.join(SPLITS)}"),
        f"--expressions {options.expressions}": (
            0 <= options.expressions <= MOST_EXPRESSIONS,
            f"0 to {MOST_EXPRESSIONS}",
        ),
        f"--workers {options.workers}": (options.workers is None or options.workers >= 0, "1 or more; 0 from Python"),
        f"--video {options.fps}": (options.fps is None or 0 < options.fps <= MOST_FPS, f"above 0, to {MOST_FPS:g}"),
    }
    for given, (good, expected) in fine.items():
        if not good:
            raise UsageError(f"{given} is out of range", expected=expected)
    if options.fps is not None:
        from auscult.media.containers import load_av

        load_av()


def _manifest(options: MakeOptions, assets: Assets) -> dict[str, Any]:
    scene = options.scene
    everything = {
        "out": str(options.out),
        "count": options.count,
        "seed": options.seed,
        "assets": None if options.assets is None else str(options.assets.resolve()),
        "size": f"{scene.size[0]}x{scene.size[1]}",
        "seconds": scene.seconds,
        "rate": scene.rate_hz,
        "objects": f"{scene.objects[0]}-{scene.objects[1]}",
        "split": options.split,
        "video": options.fps,
        "expressions": options.expressions,
        "workers": options.crew_size,
        "timeout": options.timeout_s,
    }
    spelled = options.given | {"out", "count"}
    return build(
        "make scenes",
        given={key: value for key, value in everything.items() if key in spelled},
        defaulted={key: value for key, value in everything.items() if key not in spelled},
        seeds={"seed": options.seed},
        inputs={"assets": assets.name, "asset_files": _digest(options.assets), "names": _names(assets)},
    )


def _names(assets: Assets) -> str:
    """Hash of the names of everything that can be chosen."""
    groups = (assets.looks.instances(), assets.sounds.instances())
    plain = [{name: list(instances) for name, instances in group.items()} for group in groups]
    return digest_json([*plain, list(assets.looks.backgrounds())])


def _digest(root: Path | None) -> str | None:
    """Hash of a user's files, so that scenes of two states of a folder are not mixed.

    What no scene can use is passed over: other files, and links that leave the folder.
    """
    if root is None:
        return None
    files = [
        (f"{folder}/{name}", path)
        for folder, suffixes in _USED.items()
        if (root / folder).is_dir()
        for name, path in walk(root / folder, root=root).with_suffix(suffixes | {".csv"}).items()
    ]
    return digest_json([[name, _content(path)] for name, path in sorted(files)])


def _content(path: Path) -> str | None:
    """Hash of a file; None for one that cannot be read, which is left out."""
    try:
        return digest_file(path) if is_file(path) else None
    except InputError:
        return None


def _finish(run: RunFolder, options: MakeOptions, left_out: Sequence[ErrorRecord]) -> tuple[Summary, list[Table]]:
    scenes = run.lines(SCENES)
    failed = failed_rows((row for row in run.lines("errors.jsonl") if row.get("id")), ())
    run.write_bytes(refavs.TABLE, refavs.metadata_csv(_rows(scenes)))
    summary = Summary(command="make scenes", n=options.count, ok=len(scenes), failed=len(failed))
    tables = {"scenes": scenes_table(scenes), "families": families_table(scenes)}
    if left_out:
        tables["left_out"] = left_out_table(left_out)
    for name, table in tables.items():
        run.write_json(f"tables/{name}.json", asdict(table))
    run.write_json("summary.json", summary.as_json())
    run.finish()
    return summary, list(tables.values())


def _rows(scenes: Iterable[Mapping[str, Any]]) -> Iterator[refavs.Row]:
    for scene in scenes:
        for one in scene["expressions"]:
            yield refavs.Row(vid=scene["id"], uid=one["uid"], split=one["split"], fid=one["fid"], exp=one["text"])
