"""``auscult make mixtures``: sounds mixed with all stems known, as an INPUT; the same command again goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from auscult.errors import ErrorRecord
from auscult.jobs.options import MixturesOptions
from auscult.jobs.runner import (
    Indivisible,
    NumberedVerb,
    Progress,
    Result,
    ResultWriter,
    finish_tables,
    run_manifest,
    run_verb,
)
from auscult.record.schema import Summary, error_to_json
from auscult.report.tables import Table
from auscult.scenes.mixtures.catalogue import GENERATED, PARTS, Catalogue
from auscult.scenes.mixtures.layout import files_of, item_line
from auscult.scenes.mixtures.plan import Planner
from auscult.scenes.mixtures.recorded import open_recorded
from auscult.scenes.mixtures.sound import render

ITEMS: Final = "items.jsonl"
PLANS: Final = "plans.jsonl"


@dataclass(frozen=True, slots=True)
class MixtureTask(Indivisible):
    """A mixture that is to be made."""

    index: int
    key: str

    def failed(self, error: ErrorRecord) -> list[dict[str, Any]]:
        """The row of ``errors.jsonl`` of a mixture that could not be made."""
        return [error_to_json(self.key, error)]


class MixtureMaker:
    """Makes mixtures by their number; made once in each worker process."""

    def __init__(self, options: MixturesOptions, catalogue: Catalogue) -> None:
        self._seed, self._catalogue = options.seed, catalogue
        self._planner = Planner(catalogue, options.mixture)

    def __call__(self, task: MixtureTask) -> list[Result]:
        """Choose a mixture, make it, and measure what is true of it."""
        plan = self._planner.plan(self._seed, task.index)
        made = render(plan, self._catalogue)
        item = item_line(plan, made, scores={}, difficulty={})
        line = {
            "id": plan.id,
            "plan": plan.as_json(),
            "loudness_lufs": dict(made.loudness_lufs),
            "heard_s": [list(span) for span in made.spans],
            "overlap": made.overlap,
        }
        return [Result(id=plan.id, files=files_of(plan, made), rows={ITEMS: [item], PLANS: [line]})]


def make_mixtures(options: MixturesOptions, progress: Progress | None = None) -> tuple[Summary, list[Table]]:
    """Make mixtures into an output folder."""
    return run_verb(MakeMixtures(options), progress)


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
        found: tuple[Catalogue, tuple[ErrorRecord, ...]] = (GENERATED, ())
        self._catalogue, self._left_out = found if options.assets is None else open_recorded(options.assets)
        Planner(self._catalogue, options.mixture)  # too few sounds are told before anything is made

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        catalogue = self._catalogue
        return run_manifest("make mixtures", self.options, inputs={"assets": catalogue.name, "files": catalogue.digest})

    def unlisted(self) -> Iterable[tuple[str | None, ErrorRecord]]:
        """The files of assets that cannot be used."""
        return ((None, error) for error in self._left_out)

    def worker(self) -> partial[MixtureMaker]:
        """Makes the function of one mixture in a worker process."""
        return partial(MixtureMaker, self.options, self._catalogue)

    def wanted(self) -> Iterator[MixtureTask]:
        """Mixtures by their number."""
        for index in range(self.options.count):
            yield MixtureTask(index, f"s{self.options.seed}-{index:05d}")

    def finish(self, writer: ResultWriter) -> tuple[Summary, list[Table]]:
        """Put the lines in order, and write summary and tables."""
        run = writer.run
        made = self.ordered(run)
        items = {row["id"]: row for row in run.lines(ITEMS)}
        run.write_lines(ITEMS, [items[row["id"]] for row in made])
        tables = {"settings": settings_table(made), "classes": classes_table(self._catalogue)}
        return finish_tables(run, self.counted("make mixtures", run, made), tables)


def settings_table(made: Sequence[Mapping[str, Any]]) -> Table:
    """Mixtures of each setting by part, and those whose target's class is unseen."""
    plans = [row["plan"] for row in made]
    counts = Counter((plan["setting"], plan["split"]) for plan in plans)
    unseen = Counter(plan["setting"] for plan in plans if not plan["seen"])
    return Table(
        title="mixtures",
        header=("setting", *PARTS, "unseen"),
        rows=tuple(
            (setting, *(str(counts[setting, part]) for part in PARTS), str(unseen[setting]))
            for setting in sorted({plan["setting"] for plan in plans})
        ),
        note="no recording is in two parts; unseen: tests whose target is of a class that training never uses",
    )


THIN: Final = 4


def classes_table(catalogue: Catalogue) -> Table:
    """Recordings of each class by part, thin classes marked."""
    recordings: dict[str, dict[str, set[str]]] = {}
    unseen = {clip.label for clip in catalogue.clips if not clip.seen}
    for clip in catalogue.clips:
        recordings.setdefault(clip.label, {}).setdefault(clip.part, set()).add(clip.recording)
    rows = []
    for label in sorted(recordings, key=lambda label: (catalogue.classes.of(label).domain, label)):
        counts = [len(recordings[label].get(part, ())) for part in PARTS]
        marks = [*(["unseen"] if label in unseen else []), *(["thin"] if sum(counts) < THIN else [])]
        rows.append((catalogue.classes.of(label).domain, label, *map(str, counts), ", ".join(marks)))
    thin = sum("thin" in row[-1] for row in rows)
    return Table(
        title="recordings",
        header=("domain", "class", *PARTS, ""),
        rows=tuple(rows),
        note=f"{thin} of {len(rows)} classes are thin: fewer than {THIN} recordings",
    )
