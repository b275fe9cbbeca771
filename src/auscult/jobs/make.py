"""``auscult make scenes``: scenes with exact truth, in Ref-AVSBench's layout and as an INPUT for ``audit``.

The same command again resumes a stopped run, and with a larger ``--count`` adds scenes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Meta

from auscult.cases.datasets import refavs
from auscult.cases.walk import is_file, walk
from auscult.errors import ErrorRecord, InputError, RecordError
from auscult.jobs.options import MakeOptions, refuse_out_of_range
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
)
from auscult.language.forms import Facts
from auscult.media.frames import FRAME_SUFFIXES
from auscult.media.sound import SOUND_SUFFIXES
from auscult.record import codec
from auscult.record.codec import Word
from auscult.record.digest import digest_file, digest_json
from auscult.record.lines import typed_lines
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.rng import generator
from auscult.scenes.appearance.folder import PICTURES
from auscult.scenes.dataset import ExpressionRow, files_of, items_of, joint_files, rows_of, video_name, with_video
from auscult.scenes.draw import RenderedScene, Stage, hear
from auscult.scenes.facts import facts_from_json, facts_of, say, targets_of
from auscult.scenes.plan import RATES_HZ, SECONDS, SIDES, ScenePlan, choose, numbered_id
from auscult.scenes.references import choose_joint, separated
from auscult.scenes.splits import SPLITS, Assets, Shelf, Split, divide, open_bundle
from auscult.types import Frame, Samples


@dataclass(frozen=True, slots=True)
class SceneTask(Indivisible):
    """A scene to make; its key is its id."""

    index: int
    key: str

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The row of ``errors.jsonl`` of a scene that could not be made."""
        return [error_to_json(f"scene {self.index}", error)]


class SceneMaker:
    """Makes scenes by their number; made once in each worker process."""

    def __init__(self, options: MakeOptions) -> None:
        self._options = options
        self._assets, _ = open_bundle(options.assets)
        self._shelves = divide(self._assets, wanted=_splits(options))

    def plan(self, index: int) -> ScenePlan:
        """All choices of a scene, before it is rendered."""
        return choose(
            self._options.seed, index, assets=self._assets, shelves=self._shelves, options=self._options.scene
        )

    def __call__(self, task: SceneTask) -> list[Result]:
        """Choose, render and describe a scene."""
        index, options, assets = task.index, self._options, self._assets
        plan = self.plan(index)
        stage = Stage(plan, assets.looks)
        shots = stage.key_shots()
        mixture = hear(plan, assets.sounds)
        facts = facts_of(plan, shots, gain_db=mixture.gain_db)
        targets = _allowed(plan, targets_of(plan, shots), self._shelves[plan.split])
        rng, most = generator(options.seed, "scene", index, "words"), options.expressions
        # null expressions are in test splits only, as in the release: one for every three others
        nulls = 0 if plan.split == "train" or not most else max(1, most // 3)
        expressions = rows_of(plan, say(rng, facts, targets=targets, most=most, nulls=nulls))
        files = files_of(plan, shots, mixture.samples, nulls=any(entry.row.absent for entry in expressions))
        if options.fps is not None:
            files[video_name(plan.vid)] = video_of(stage, plan, mixture.samples, fps=options.fps)
        line = scene_line(plan, facts, expressions, index=index) | {"targets": sorted(targets)}
        rows: dict[str, Sequence[Mapping[str, Any]]] = {ITEMS: with_video(items_of(plan, shots, expressions), files)}
        if options.stems:
            sentences = [entry.expression for entry in expressions]
            rng = generator(options.seed, "scene", index, "joint")
            chosen = list(choose_joint(rng, plan, shots, expressions=sentences))
            stems = [separated(sample, plan, assets.sounds, mixed=mixture) for sample in chosen]
            stem_files, rows[JOINT] = joint_files(plan, shots, chosen, stems=stems)
            files |= stem_files
        return [Result(id=plan.vid, files=files, rows={**rows, SCENES: [line]})]


def _allowed(plan: ScenePlan, seen: frozenset[str], shelf: Shelf) -> frozenset[str]:
    """Ids of possible targets: visible enough and, in a scene of unseen targets, of an unseen category."""
    return frozenset(obj.id for obj in plan.objects if obj.id in seen and obj.look.category in shelf.targets)


def scene_line(plan: ScenePlan, facts: Facts, expressions: Sequence[ExpressionRow], *, index: int) -> dict[str, Any]:
    """One line of ``scenes.jsonl``, with which the scene and all proofs can be made again."""
    return {
        "id": plan.vid,
        "index": index,
        "split": plan.split,
        "plan": plan.as_json(),
        "facts": codec.to_json(facts),
        "expressions": [
            {
                "uid": entry.row.uid,
                "split": entry.row.split,
                "fid": entry.row.fid,
                "text": entry.expression.text,
                "family": entry.expression.family,
                "wording": entry.expression.wording,
                "target": entry.expression.target,
                "needs": sorted(entry.expression.needs),
                "form": dict(entry.expression.form),
            }
            for entry in expressions
        ],
    }


def video_of(stage: Stage, plan: ScenePlan, samples: Samples, *, fps: float) -> bytes:
    """The scene as an MP4 with its sound."""
    from auscult.media.video_write import encode_video

    return encode_video(_frames(stage, plan, fps), fps=fps, samples=samples, rate_hz=plan.rate_hz)


def _frames(stage: Stage, plan: ScenePlan, fps: float) -> Iterator[Frame]:
    rate = Fraction(fps).limit_denominator(100_000)
    for number in range(max(1, round(plan.seconds * rate))):
        shot: RenderedScene = stage.at(float(number / rate))
        yield shot.frame


PARTLY_HIDDEN = 0.1


def scenes_table(scenes: Sequence[Mapping[str, Any]]) -> Table:
    """Counts of scenes and their content, by split; ``scenes`` are lines of ``scenes.jsonl``."""
    rows = [_counts(split, [scene for scene in scenes if scene["split"] == split]) for split in SPLITS]
    rows.append(_counts("all", scenes))
    return Table(
        title="scenes",
        header=("split", "scenes", "objects", "sounding", "hidden", "alike", "elsewhere", "expressions", "null"),
        rows=tuple(row for row in rows if row[1] != "0"),
        note=f"hidden: scenes with an object of which another hides {PARTLY_HIDDEN:.0%} or more at a key frame; "
        "alike: scenes with two objects of one category and colour; elsewhere: sounds from outside the picture; "
        "null expressions are in the split test_n",
    )


def _counts(name: str, scenes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    scene_objects = [scene["facts"]["things"] for scene in scenes]
    expressions = [expression for scene in scenes for expression in scene["expressions"]]
    counts = (
        len(scenes),
        sum(len(objects) for objects in scene_objects),
        sum(obj["voice"] is not None for objects in scene_objects for obj in objects),
        sum(any(obj["hidden"] >= PARTLY_HIDDEN for obj in objects) for objects in scene_objects),
        sum(len({(obj["category"], obj["colour"]) for obj in objects}) < len(objects) for objects in scene_objects),
        sum(len(scene["facts"]["elsewhere"]) for scene in scenes),
        sum(expression["target"] is not None for expression in expressions),
        sum(expression["target"] is None for expression in expressions),
    )
    return (name, *(str(count) for count in counts))


def families_table(scenes: Sequence[Mapping[str, Any]]) -> Table:
    """Count expressions by family."""
    expressions = [expression for scene in scenes for expression in scene["expressions"]]
    counts = Counter((expression["family"], expression["target"] is None) for expression in expressions)
    wordings: dict[str, set[str]] = {}
    needs: dict[str, set[str]] = {}
    for expression in expressions:
        wordings.setdefault(expression["family"], set()).add(expression["wording"])
        needs.setdefault(expression["family"], set()).add("+".join(expression["needs"]))
    rows = tuple(
        (
            name,
            str(counts[name, False]),
            str(counts[name, True]),
            str(len(wordings[name])),
            ", ".join(sorted(needs[name])),
        )
        for name in sorted(wordings)
    )
    return Table(
        title="expressions",
        header=("family", "expressions", "null", "wordings", "needs"),
        rows=rows,
        note="every expression is proven to name one object, every null expression to name none",
    )


def left_out_table(left_out: Sequence[ErrorRecord]) -> Table:
    """List asset files that cannot be used, and why."""
    return Table(
        title="assets left out",
        header=("file", "why"),
        rows=tuple((error.path or "", error.error) for error in left_out),
        note="none of these files or rows is used; errors.jsonl says what was expected",
    )


SCENES, ITEMS, JOINT = "scenes.jsonl", "items.jsonl", "joint.jsonl"
_MOST_ON_LINE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExpressionLine:
    """The keys of an expression that tables and ``metadata.csv`` need."""

    uid: Word
    split: Word
    text: Word
    family: Word
    wording: Word
    target: str | None
    fid: Annotated[int, Meta(ge=0, le=_MOST_ON_LINE)]
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SceneLine:
    """The keys of a scene that tables and ``metadata.csv`` need."""

    id: Word
    split: Split
    facts: dict[str, Any]
    expressions: Annotated[tuple[_ExpressionLine, ...], Meta(max_length=_MOST_ON_LINE)]
    index: Annotated[int, Meta(ge=0, le=2**53)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ItemLine:
    """The keys of an item by which its line finds its scene."""

    id: Word
    clip: Word


_DAMAGED_SCENE: Final = (
    "the file was edited or damaged; remove the line and run the command again, which makes its scene anew, or begin "
    "anew with --overwrite"
)
_DAMAGED_ITEM: Final = "the file was edited or damaged; begin anew with --overwrite, or use another --out"


def _check_lines(folder: Path) -> None:
    """Refuse lines of scenes and items that `make scenes` does not write, and two of one scene."""
    path, numbers = folder / SCENES, dict[int, int]()
    for number, _, line in typed_lines(_SceneLine, path, hint=_DAMAGED_SCENE):
        wrong = partial(RecordError, hint=_DAMAGED_SCENE, path=path, line=number)
        try:
            facts_from_json(line.facts)  # for tables and ``metadata.csv``
        except InputError as error:
            raise wrong(error.message, expected=error.expected) from error
        if line.index in numbers:
            message = f"line {numbers[line.index]} holds scene {line.index} already"
            raise wrong(message, expected="one line for each scene")
        numbers[line.index] = number
    for _ in typed_lines(_ItemLine, folder / ITEMS, hint=_DAMAGED_ITEM):
        pass


MOST_SCENES = 1_000_000
MOST_SEED = 2**63
MOST_OBJECTS = 12
MOST_EXPRESSIONS = 100
MOST_FPS = 240.0

_USED: Mapping[str, frozenset[str]] = {"cutouts": PICTURES, "backgrounds": FRAME_SUFFIXES, "sounds": SOUND_SUFFIXES}


def _splits(options: MakeOptions) -> tuple[Split, ...]:
    """The splits to make."""
    return tuple(split for split in SPLITS if options.split in {"all", split})


class MakeScenes(NumberedVerb[SceneTask, tuple[Summary, list[Table]]]):
    """``auscult make scenes``, as the runner sees it."""

    doing = "making scenes"
    stage = "make"
    once = (ITEMS, JOINT)
    rows = SCENES
    unit = "scenes"
    options: MakeOptions

    def __init__(self, options: MakeOptions) -> None:
        super().__init__(options)
        _check(options)
        self._assets, self._left_out = open_bundle(options.assets)
        divide(self._assets, wanted=_splits(options))

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        options, assets = self.options, self._assets
        inputs = {"assets": assets.name, "asset_files": assets_digest(options.assets), "names": _names(assets)}
        return run_manifest("make scenes", options, inputs=inputs)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """The files of assets that cannot be used."""
        return ((None, error) for error in self._left_out)

    def worker(self) -> partial[SceneMaker]:
        """Makes the function of one scene in a worker process."""
        return partial(SceneMaker, self.options)

    def wanted(self) -> Iterator[SceneTask]:
        """Scenes by their number."""
        for index in range(self.options.count):
            yield SceneTask(index, numbered_id(self.options.seed, index))

    def batches(self, writer: ResultWriter) -> Iterator[tuple[Iterable[SceneTask], float | None]]:
        """The missing scenes; a scene is done when its line of ``scenes.jsonl`` is complete."""
        _check_lines(writer.run.path)
        return super().batches(writer)

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Put the lines in order, and write the table of expressions, summary and tables."""
        run = writer.run
        scenes = self.ordered(run)
        place = {row["id"]: number for number, row in enumerate(scenes)}
        for name in (ITEMS, JOINT):  # a killed run may leave lines of a scene that failed later: they go last
            if lines := run.lines(name):
                run.write_lines(name, sorted(lines, key=lambda row: place.get(row["clip"], math.inf)))
        run.write_bytes(refavs.TABLE, refavs.metadata_csv(_rows(scenes)))
        summary = self.counted("make scenes", run, scenes)
        tables = {"scenes": scenes_table(scenes), "families": families_table(scenes)}
        if self._left_out:
            tables["left_out"] = left_out_table(self._left_out)
        return finish_tables(run, summary, tables)


make_scenes: Final = MakeScenes.of


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
        f"--split {options.split}": (bool(_splits(options)), f"all, {', '.join(SPLITS)}"),
        f"--expressions {options.expressions}": (
            0 <= options.expressions <= MOST_EXPRESSIONS,
            f"0 to {MOST_EXPRESSIONS}",
        ),
        f"--workers {options.workers}": (options.workers is None or options.workers >= 0, "1 or more; 0 from Python"),
        f"--video {options.fps}": (options.fps is None or 0 < options.fps <= MOST_FPS, f"above 0, to {MOST_FPS:g}"),
    }
    refuse_out_of_range(fine)
    if options.fps is not None:
        from auscult.media.containers import load_av

        load_av()


def _names(assets: Assets) -> str:
    """Hash of the names of all assets."""
    groups = (assets.looks.instances(), assets.sounds.instances())
    plain = [{name: list(instances) for name, instances in group.items()} for group in groups]
    return digest_json([*plain, list(assets.looks.backgrounds())])


def assets_digest(root: Path | None) -> str | None:
    """Hash of a user's asset files, so that scenes of two states of a folder are not mixed.

    Files that no scene can use are ignored: other types, and links that leave the folder.
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


def _rows(scenes: Iterable[Mapping[str, Any]]) -> Iterator[refavs.MetadataRow]:
    for scene in scenes:
        for expression in scene["expressions"]:
            yield refavs.MetadataRow(
                vid=scene["id"],
                uid=expression["uid"],
                split=expression["split"],
                fid=expression["fid"],
                exp=expression["text"],
            )
