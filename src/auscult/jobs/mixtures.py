"""``auscult make mixtures``: sounds mixed with all stems known, as an INPUT; the same command again goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from auscult.scenes.mixtures.catalogue import GENERATED, Catalogue
from auscult.scenes.mixtures.layout import files_of, item_line
from auscult.scenes.mixtures.plan import Planner
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
        self._catalogue = GENERATED
        Planner(self._catalogue, options.mixture)

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        return run_manifest("make mixtures", self.options, inputs={"assets": self._catalogue.name})

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
        return finish_tables(run, self.counted("make mixtures", run, made), {"settings": settings_table(made)})


def settings_table(made: Sequence[Mapping[str, Any]]) -> Table:
    """Mixtures of each setting by part, and those whose target's class is unseen."""
    plans = [row["plan"] for row in made]
    counts = Counter((plan["setting"], plan["split"]) for plan in plans)
    unseen = Counter(plan["setting"] for plan in plans if not plan["seen"])
    parts = ("train", "calibration", "test")
    return Table(
        title="mixtures",
        header=("setting", *parts, "unseen"),
        rows=tuple(
            (setting, *(str(counts[setting, part]) for part in parts), str(unseen[setting]))
            for setting in sorted({plan["setting"] for plan in plans})
        ),
        note="no recording is in two parts; unseen: tests whose target is of a class that training never uses",
    )
