"""``auscult make mixtures``: sounds mixed with all stems known, as an INPUT; the same command again goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from auscult.cases.fields import parse
from auscult.cases.problems import Problems, required_file, used_twice
from auscult.errors import ErrorRecord, InputError, NothingToDo, UsageError
from auscult.jobs.make import assets_digest, left_out_table
from auscult.jobs.options import MixturesOptions, refuse_out_of_range
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
)
from auscult.media.paths import read_bytes
from auscult.outcome import Undefined
from auscult.record import codec
from auscult.record.digest import digest_json
from auscult.record.schema import Summary
from auscult.report.tables import Table
from auscult.scenes.mixtures.audiovisual import SceneMixturePlan, SceneMixtures
from auscult.scenes.mixtures.catalogue import DOMAIN_OF, GENERATED, PARTS, Catalogue, class_of, open_recorded
from auscult.scenes.mixtures.plan import LOUDNESS_LUFS, RATES_HZ, SECONDS, SOURCES, MixturePlan, Planner
from auscult.scenes.mixtures.sound import FinishedMixture, files_of, finished, item_line, metadata_row
from auscult.scenes.plan import numbered_id
from auscult.scenes.splits import Assets, open_bundle
from auscult.score.sound.perceptual import difficulty, perceptual
from auscult.types import PERFORMANCE

ITEMS: Final = "items.jsonl"
PLANS: Final = "plans.jsonl"
THIN: Final = 4
"""A class with fewer recordings is thin."""


@dataclass(frozen=True, slots=True)
class MixtureTask(Indivisible):
    """A mixture to make."""

    index: int
    key: str
    plan: MixturePlan | SceneMixturePlan | None = None  # of a mixture to make again


class MixtureMaker:
    """Makes mixtures by their number, or of plans; made once in each worker process."""

    def __init__(self, options: MixturesOptions, catalogue: Catalogue, scenes: Assets | None) -> None:
        self._options = options
        self._planned: Callable[[Any], FinishedMixture] = partial(finished, catalogue=catalogue)
        if scenes is not None:
            maker = SceneMixtures(scenes, options.mixture)
            self._drawn, self._planned = maker.make, maker.planned
        elif options.plans is None:
            planner = Planner(catalogue, options.mixture)
            self._drawn = lambda seed, index: finished(planner.plan(seed, index), catalogue)

    def __call__(self, task: MixtureTask) -> list[Result]:
        """Choose and make a mixture, and score it as the output of a separator that does nothing."""
        mixture = self._drawn(self._options.seed, task.index) if task.plan is None else self._planned(task.plan)
        made, stems = mixture.made, [mixture.made.target, *mixture.made.others.values()]
        scores = perceptual(made.mixture, stems, rate_hz=made.rate_hz)
        if isinstance(scores, Undefined):
            raise InputError(f"the mixture {mixture.id} has no scores: {scores.reason}", hint="make another one")
        hard = difficulty(stems, rate_hz=made.rate_hz, prompt=mixture.query)
        item = item_line(mixture, scores={name: getattr(scores, name) for name in PERFORMANCE}, difficulty=hard)
        line = {key: item[key] for key in ("id", "setting", "split", "seen")} | dict(mixture.line)
        line |= {"loudness_lufs": made.loudness_lufs, "heard_s": made.spans, "overlap": made.overlap}
        files = files_of(mixture, tracks=self._options.tracks)
        return [Result(id=mixture.id, files=files, rows={ITEMS: [item], PLANS: [codec.to_json(line)]})]


class MakeMixtures(NumberedVerb[MixtureTask, tuple[Summary, list[Table]]]):
    """``auscult make mixtures``, as the runner sees it."""

    doing = "making mixtures"
    stage = "make"
    once = (ITEMS, PLANS)
    rows = PLANS
    unit = "mixtures"
    options: MixturesOptions

    def __init__(self, options: MixturesOptions) -> None:
        super().__init__(options)
        _check(options)
        self._catalogue, self._scenes = GENERATED, None
        self._left_out: Sequence[ErrorRecord] = ()
        if options.data is not None:
            self._scenes, self._left_out = open_bundle(options.assets)
        elif options.assets is not None:
            self._catalogue, self._left_out = open_recorded(options.assets)
        scenes = self._scenes is not None
        self._plans, self._bad_plans = read_plans(options.plans, scenes=scenes) if options.plans else ([], [])
        MixtureMaker(options, self._catalogue, self._scenes)  # reports too few sounds before anything is made

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        inputs = {"assets": self._catalogue.name, "files": self._catalogue.digest}
        if self._scenes is not None:
            inputs = {"assets": self._scenes.name, "files": assets_digest(self.options.assets) or ""}
        inputs["plans"] = digest_json(codec.to_json(self._plans))
        return run_manifest("make mixtures", self.options, inputs=inputs)

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """Files of assets and lines of plans that cannot be used."""
        yield from ((None, error) for error in self._left_out)
        yield from ((f"line {error.line}", error) for error in self._bad_plans)

    def worker(self) -> partial[MixtureMaker]:
        """Makes the function of one mixture in a worker process."""
        return partial(MixtureMaker, self.options, self._catalogue, self._scenes)

    def wanted(self) -> Iterator[MixtureTask]:
        """Mixtures by their number, or plan by plan."""
        if self.options.plans is not None:
            yield from (MixtureTask(index, plan.id, plan) for index, plan in enumerate(self._plans))
            return
        for index in range(self.options.count or 0):
            yield MixtureTask(index, numbered_id(self.options.seed, index))

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Put the lines in order, and write summary, tables, and the lines for ``datasets``."""
        run = writer.run
        rows = self.ordered(run)
        items = {row["id"]: row for row in run.lines(ITEMS)}
        ordered = [items[row["id"]] for row in rows]
        run.write_lines(ITEMS, ordered)
        run.write_lines("metadata.jsonl", [metadata_row(item) for item in ordered])
        run.write_bytes("README.md", Path(__file__).with_name("datasets_readme.txt").read_bytes())
        settings = settings_table(rows)
        if self._scenes is None and not self._plans:  # else --sources says nothing
            settings = replace(settings, note=settings.note + _too_few(rows, fewest=self.options.mixture.sources[0]))
        tables = {"settings": settings}
        if self._scenes is None or not self._scenes.own_voices:  # whose sounds are not the catalogue's
            tables["classes"] = classes_table(self._catalogue)
        if self._left_out:
            tables["left_out"] = left_out_table(self._left_out)
        summary = self.counted("make mixtures", run, rows)
        return finish_tables(run, replace(summary, n=summary.n + len(self._bad_plans)), tables)


make_mixtures: Final = MakeMixtures.of


def _check(options: MixturesOptions) -> None:
    mixture = options.mixture
    settings, parts = {"all", *DOMAIN_OF}, {"all", *PARTS}
    fine = {
        f"--count {options.count}": ((options.count is None) != (options.plans is None), "a number, or --plans FILE"),
        f"--data {options.data}": (options.data in {None, "scenes"}, "scenes"),
        f"--seconds {mixture.seconds}": (_within(mixture.seconds, SECONDS), "SHORTEST-LONGEST, 2 to 20"),
        f"--sources {mixture.sources}": (_within(mixture.sources, SOURCES), "FEWEST-MOST, 2 to 6"),
        f"--rate {mixture.rates_hz}": (_within(sorted(mixture.rates_hz), RATES_HZ), "8000 to 96000 Hz"),
        f"--channels {mixture.channels}": (mixture.channels in {"mono", "stereo", "any"}, "mono, stereo or any"),
        f"--loudness {mixture.loudness_lufs:g}": (_within([mixture.loudness_lufs], LOUDNESS_LUFS), "-60 to -10 LUFS"),
        f"--rooms {mixture.rooms:g}": (_within([mixture.rooms], (0.0, 1.0)), "0 to 1"),
        f"--setting {','.join(mixture.settings)}": (set(mixture.settings) <= settings, ", ".join(sorted(settings))),
        f"--split {mixture.split}": (mixture.split in parts, ", ".join(sorted(parts))),
    }
    refuse_out_of_range(fine)
    idle = sorted(options.given & _NOT_OF_SCENES) if options.data is not None else []
    if idle:
        message = f"--{idle[0]} changes nothing with --data scenes"
        raise UsageError(message, expected="the scenes' own sources, rooms and setting", hint="leave it out")


_NOT_OF_SCENES: Final = frozenset({"sources", "rooms", "setting"})


def _within(values: Sequence[float], bounds: tuple[float, float]) -> bool:
    """Whether values rise and lie within bounds."""
    return bool(values) and list(values) == sorted(values) and bounds[0] <= values[0] and values[-1] <= bounds[1]


def read_plans(path: Path, *, scenes: bool = False) -> tuple[list[MixturePlan | SceneMixturePlan], list[ErrorRecord]]:
    """The plans of a ``plans.jsonl``, of mixtures of ``scenes`` or others, and the errors of invalid lines."""
    plans: dict[str, MixturePlan | SceneMixturePlan] = {}
    problems = Problems()
    with required_file(path, option="--plans"):
        content = read_bytes(path)
    for number, line in enumerate(content.splitlines(), 1):
        with problems.skipping(path, line=number):
            row = parse(line, path=path, line=number)
            other = "plan" if scenes else "scene"
            if isinstance(row, dict) and other in row:
                hint = "leave out --data scenes" if scenes else "add --data scenes, with the same --assets"
                raise InputError(f"the plan is {'no mixture' if scenes else 'a mixture'} of a scene", hint=hint)
            plan = SceneMixturePlan.from_json(row) if scenes else _plan_of(row)
            if plans.setdefault(plan.id, plan) is not plan:
                raise used_twice(plan.id, "", path=path)
    errors = [error for _, error in problems.found]
    if not plans:
        raise NothingToDo("no line is a plan", path=path, hint=errors[0].error if errors else "the file is empty")
    return list(plans.values()), errors


def _plan_of(row: object) -> MixturePlan:
    plan = row.get("plan") if isinstance(row, dict) else None
    return codec.from_json(MixturePlan, plan, error=InputError, hint="correct the line", exact=True)


def settings_table(made: Sequence[Mapping[str, Any]]) -> Table:
    """Counts of mixtures by setting and part, and of those with a target of an unseen class."""
    counts = Counter((row["setting"], row["split"]) for row in made)
    unseen = Counter(row["setting"] for row in made if not row["seen"])
    return Table(
        title="mixtures",
        header=("setting", *PARTS, "unseen"),
        rows=tuple(
            (setting, *(str(counts[setting, part]) for part in PARTS), str(unseen[setting]))
            for setting in sorted({row["setting"] for row in made})
        ),
        note="no recording is in two parts; unseen: tests whose target is of a class that training never uses",
    )


def _too_few(made: Sequence[Mapping[str, Any]], *, fewest: int) -> str:
    """What a note says where mixtures have fewer sources than were asked for."""
    count = sum(len(row["plan"]["sources"]) < fewest for row in made)
    return f"; {count} of {len(made)} have fewer than {fewest} sources, for want of other classes" if count else ""


def classes_table(catalogue: Catalogue) -> Table:
    """Recordings of each class by part, thin classes marked."""
    seen = {clip.label: clip.seen for clip in catalogue.clips}
    distinct = {(clip.label, clip.part, clip.recording) for clip in catalogue.clips}
    recordings = Counter((label, part) for label, part, _ in distinct)
    rows = []
    for domain, label in sorted((class_of(label).domain, label) for label in seen):
        counts = [recordings[label, part] for part in PARTS]
        marks = ["unseen"] * (not seen[label]) + ["thin"] * (sum(counts) < THIN)
        rows.append((domain, label, *map(str, counts), ", ".join(marks)))
    thin = sum("thin" in row[-1] for row in rows)
    return Table(
        title="recordings",
        header=("domain", "class", *PARTS, ""),
        rows=tuple(rows),
        note=f"{thin} of {len(rows)} classes are thin: fewer than {THIN} recordings; files whose "
        "names differ in a number at the end are one",
    )
